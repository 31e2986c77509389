"""Policies and allocators of files, classes and other packages."""

from __future__ import annotations

import os
import sys
from typing import ClassVar

import numpy as np
import pytest
from support.random_jobs import jobs_at_random, workload_of

from swdual.errors import InputError
from swdual.scheduling import simulate
from swdual.scheduling.placing import start_now
from swdual.scheduling.plugins import (
    allocator_names,
    find_allocator,
    find_policy,
    policy_names,
)
from swdual.scheduling.policies import _malleable, easy, fcfs_malleable
from swdual.scheduling.policy import DecisionError, Option, Start

GOOD = """\
from swdual.scheduling import Option, start_now

OPTIONS = {"widest": Option("no", "Whether the widest come first.", ("no", "yes"))}


class BySize:
    def __init__(self, platform, allocator, widest):
        self.sign = -1 if widest == "yes" else 1

    def decide(self, view):
        for job in sorted(view.queue.values(), key=lambda job: self.sign * job.processors):
            start = start_now(view, job)
            if start is not None:
                yield start
"""

WORKLOAD = workload_of(jobs_at_random(1, 80, 8))


class BySize:
    """The policy of the file, as a class."""

    OPTIONS: ClassVar = {"widest": Option("no", "Whether the widest come first.", ("no", "yes"))}

    def __init__(self, platform, allocator, widest):
        self.sign = -1 if widest == "yes" else 1

    def decide(self, view):
        for job in sorted(view.queue.values(), key=lambda job: self.sign * job.processors):
            start = start_now(view, job)
            if start is not None:
                yield start


def body(decisions, more=""):
    """Return a file whose policy decides so."""
    return (
        "from swdual.scheduling import Start, Stop\n\n\nclass Mine:\n"
        "    def __init__(self, platform, allocator):\n        pass\n\n"
        f"    def decide(self, view):\n        {decisions}\n{more}"
    )


@pytest.fixture
def write(tmp_path):
    """Write a Python file and return its path."""

    def written(text, name="mine.py"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return written


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package, for Python to find, that offers a policy and an allocator."""

    def installed(text, target="of_others:BySize"):
        (tmp_path / "of_others.py").write_text(text)
        facts = tmp_path / "of_others-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: of-others\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(
            f"[swdual.policies]\nby_size = {target}\neasy = of_others:BySize\n\n"
            "[swdual.allocators]\nlast = of_others\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, "of_others", raising=False)

    yield installed
    sys.modules.pop("of_others", None)


def same(one, other):
    assert one.start_time.tolist() == other.start_time.tolist()
    assert one.ranges.tolist() == other.ranges.tolist()


@pytest.mark.parametrize("widest", ["no", "yes"])
def test_a_file_and_a_class_are_policies_like_others(write, widest):
    """With their options; what is wrong with these is said as for others."""
    path = write(GOOD)
    one = simulate(WORKLOAD, 8, path, options={"widest": widest})
    other = simulate(WORKLOAD, 8, BySize, options={"widest": widest})
    same(one, other)
    assert (one.policy, other.policy, one.allocator) == ("mine", "BySize", "basic")
    assert one.options == other.options == {"widest": widest}
    assert one.violations() == []
    with pytest.raises(InputError, match="value of widest: 'yess'; did you mean yes"):
        simulate(WORKLOAD, 8, path, options={"widest": "yess"})
    with pytest.raises(InputError, match="option of the policy mine: 'wide'"):
        simulate(WORKLOAD, 8, path, options={"wide": "yes"})


def test_a_file_that_has_changed_is_read_again_and_nothing_lies_beside_it(write, tmp_path):
    """As in a notebook, where it is tried again and again."""
    path = write(GOOD)
    first = simulate(WORKLOAD, 8, path)
    write(GOOD.replace("-1 if", "-2 if").replace('"no", "W', '"yes", "W'))
    second = simulate(WORKLOAD, 8, path)
    assert first.start_time.tolist() != second.start_time.tolist()
    assert os.listdir(tmp_path) == ["mine.py"]


def test_a_class_of_this_package_keeps_what_its_file_says():
    """Also one that is derived from it."""
    same(simulate(WORKLOAD, 8, easy.Policy), simulate(WORKLOAD, 8, "easy"))
    assert find_policy(easy.Policy).name == "easy"
    derived = find_policy(type("Mine", (fcfs_malleable.Policy,), {}))
    assert derived.traits.malleable
    assert derived.options == _malleable.OPTIONS


def test_a_file_is_not_called_like_a_policy_that_there_is(write):
    """So that a comparison tells them apart."""
    assert find_policy(write(GOOD, "easy.py")).name == "easy.py"
    assert find_policy(write(GOOD, "easier.py")).name == "easier"


@pytest.mark.parametrize("target", ["of_others:BySize", "of_others"])
def test_other_packages_offer_policies_by_entry_points(package, target):
    """A class or a module; a name of this package's stays what it is."""
    package(GOOD + "\n\nFORCED = False\n\n\ndef choose(free, count, platform):\n    return None\n")
    package_names = {"by_size", "easy"}
    assert package_names <= set(policy_names())
    assert "last" in allocator_names()
    same(simulate(WORKLOAD, 8, "by_size"), simulate(WORKLOAD, 8, BySize))
    assert find_policy("easy").make is easy.Policy
    with pytest.raises(InputError, match=r"unknown policy 'by_siz'; did you mean by_size"):
        find_policy("by_siz")


def test_a_name_of_this_package_is_found_without_a_look_at_others(monkeypatch):
    """It would take a tenth of a second where many packages are installed."""
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    assert find_policy("easy").make is easy.Policy
    assert not find_allocator("basic").allocator.FORCED
    with pytest.raises(TypeError):
        find_policy("esy")


def test_an_entry_point_that_cannot_be_loaded_says_why(package):
    """With its name, value and group."""
    package("import nothing_of_the_kind\n")
    with pytest.raises(InputError, match=r"by_size = of_others:BySize of swdual.policies .*kind"):
        find_policy("by_size")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", r"mine.py: has no class with a method decide\(self, view\)"),
        (GOOD + GOOD.replace("BySize", "Other"), "mine.py: has 2 classes .* BySize, Other; name"),
        (body("yield").replace("self, view", "self"), r"mine.py:8: decide of Mine must take \(sel"),
        (body("yield").replace(", allocator", ""), r"mine.py:5: Mine must take \(platform, alloc"),
        (GOOD.replace(", widest)", ")"), r"mine.py:7: BySize must take .*'widest'"),
        (GOOD.replace('Option("no", "Whe', 'list("no" "Whe'), "mine.py:3: TypeError: "),
        (GOOD.replace("OPTIONS = {", "OPTIONS = 1 or {"), "mine.py: OPTIONS must be a dict"),
        ("import nothing_of_the_kind\n", "mine.py:1: ModuleNotFoundError: No module named"),
        ("def f():\n    1 +\n", r"mine.py:2: SyntaxError: invalid syntax"),
        ("raise SystemExit(1)\n", "mine.py:1: SystemExit: 1"),
        (GOOD + "\nJOBS = 'rigit'\n", "mine.py: unknown value of JOBS: 'rigit'; did you mean rig"),
    ],
)
def test_a_file_that_holds_no_policy_is_refused_with_what_is_missing(write, text, said):
    """File, line where there is one, and cause."""
    with pytest.raises(InputError, match=said):
        find_policy(write(text))


def test_what_is_no_policy_is_refused(write, tmp_path):
    """Instances, other classes, and files that are not there."""
    with pytest.raises(InputError, match="give the class, not an instance"):
        find_policy(BySize(None, None, "no"))
    with pytest.raises(InputError, match="class int has no method decide"):
        find_policy(int)
    with pytest.raises(InputError, match=r"none\.py: cannot be read: No such file"):
        find_policy(tmp_path / "none.py")
    with pytest.raises(InputError, match=r"mine\.txt: a policy or an allocator is a Python file"):
        find_policy(write(GOOD, "mine.txt"))


@pytest.mark.parametrize(
    ("decisions", "line", "said"),
    [
        (
            "for job in view.queue.values():\n            yield Start(job)",
            9,
            "iterate over a copy",
        ),
        ("yield from [Start(j) for j in view.queue.values()] * 2", 9, "does not wait"),
        ("yield from [Stop(j, True) for j in view.queue.values()]", 9, "does not run"),
        ("yield from [Start(j, width=99) for j in view.queue.values()]", 9, "no 99 processors"),
        ("return []", 0, r"returns \[\]; it must yield decisions"),
        ("yield from view.queue", 9, "yields 0; a decision is a Start, Resize or Stop"),
    ],
)
def test_a_wrong_decision_names_the_file_and_the_line(write, decisions, line, said):
    """Also from a class, which has no file."""
    path = write(body(decisions))
    with pytest.raises(DecisionError, match=said) as caught:
        simulate(WORKLOAD, 8, path)
    assert caught.value.file == path
    if line:
        assert caught.value.line == line
    with pytest.raises(DecisionError, match=said) as caught:
        simulate(WORKLOAD, 8, find_policy(path).make)
    assert caught.value.file is None


def test_an_allocator_may_be_a_file_or_an_object(write):
    """It takes the last processors; without FORCED or choose it is refused."""
    text = (
        "import numpy as np\n\nFORCED = False\n\n\n"
        "def choose(free, count, platform):\n"
        "    each = np.concatenate([np.arange(*r) for r in free])\n"
        "    if len(each) < count:\n        return None\n"
        "    taken = each[len(each) - count :]\n"
        "    cut = np.flatnonzero(np.diff(taken) > 1) + 1\n"
        "    parts = np.split(taken, cut)\n"
        "    return np.array([[p[0], p[-1] + 1] for p in parts])\n"
    )
    path = write(text, "last.py")
    schedule = simulate(WORKLOAD, 8, "easy", path)
    assert schedule.allocator == "last"
    assert schedule.violations() == []
    assert int(schedule.allocation(0)[-1, 1]) == 8
    found = find_allocator(path)
    same(simulate(WORKLOAD, 8, "easy", found.allocator), schedule)
    with pytest.raises(InputError, match=r"last.py: the allocator last does not say FORCED"):
        find_allocator(write(text.replace("FORCED", "forced"), "last.py"))
    with pytest.raises(InputError, match=r"last.py: .* has no function choose\(free, count"):
        find_allocator(write("FORCED = True\n", "last.py"))
    with pytest.raises(InputError, match=r"last.py:6: choose of last must take \(free, count, pl"):
        find_allocator(write(text.replace(", platform", ""), "last.py"))
    with pytest.raises(InputError, match="unknown allocator 'lst'"):
        find_allocator("lst")


def test_a_policy_may_explain_and_places_what_it_starts(write):
    """As those of this package."""
    path = write(
        body(
            "start = [Start(j, np.array([[0, j.processors]])) for j in view.queue.values()][:1]\n"
            "        if not view.running and start:\n"
            '            view.note(start[0].job, "its turn")\n'
            "            yield start[0]",
            "\n\nPLACES = True\n",
        ).replace("from swdual", "import numpy as np\nfrom swdual", 1)
    )
    schedule = simulate(WORKLOAD, 8, path, "platform_level", explain=[1])
    assert schedule.allocator == "own"
    assert schedule.violations() == []
    assert "its turn" in schedule.explain(1)
    assert (np.diff(np.sort(schedule.start_time)) > 0).all()
    assert isinstance(Start(None), Start)
