"""Which tests a run takes, and how many examples properties try."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from hypothesis import settings
from support import nightly
from support.clock import HEADER
from support.properties import PARTS, PERCENT, examples, seeds
from support.tiers import TIERS, is_quick, sample

ROOT = Path(__file__).parents[1]

TESTS = """
import pytest
from hypothesis import given, strategies
from support.properties import seeds

def test_quick():
    pass

@pytest.mark.cluster
def test_slow():
    pass

@pytest.mark.cluster
@pytest.mark.smoke(1)
@pytest.mark.parametrize("name", ["first", "last"])
def test_smoke(name):
    pass

@pytest.mark.sample("values")
@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize("b", [3, 4])
def test_product(a, b):
    pass
"""
QUICK = {"test_quick", "test_smoke[first]", "test_product[3-1]", "test_product[4-2]"}
ALL = {
    *QUICK,
    *("test_slow", "test_smoke[last]", "test_product[3-2]", "test_product[4-1]"),
}


@pytest.fixture
def run(tmp_path):
    """Run pytest in a small project; return the names of its tests, and what it printed."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    text = (ROOT / "pyproject.toml").read_text()
    options = text[text.index("[tool.pytest") : text.index("[tool.ruff]")]
    (tmp_path / "pyproject.toml").write_text(options)
    (tmp_path / "conftest.py").write_text(
        "from support.properties import register_profiles\n"
        "pytest_plugins = ['support.tiers']\nregister_profiles()\n"
    )

    own = (
        "PYTEST_ADDOPTS",
        *(f"SWDUAL_TEST_{x}" for x in ("CLOCK", "NIGHTLY", "PASSED", "SECONDS")),
    )
    outer = {name: value for name, value in os.environ.items() if name not in own}

    def call(*arguments, code=0, **environment):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path,
            env={**outer, "PYTHONPATH": os.fspath(ROOT / "tests"), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith("PASSED ")]
        return {line.partition("::")[2] for line in lines}, done.stdout

    return call


@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.process)])
def test_pytest_alone_runs_the_quick_tests_and_says_so(run, processes):
    """With a smoke test of the tier, and a sample of a test with many cases."""
    names, printed = run("-n", processes)
    assert names == QUICK
    assert "4 slow tests were not run. All tests: pytest -m ''." in printed


@pytest.mark.parametrize(
    "arguments",
    [
        ["-n0", "-m", ""],
        ["-n0", "tests/test_some.py"],
        pytest.param(["-n2", "tests/test_some.py"], marks=pytest.mark.process),
    ],
    ids=" ".join,
)
def test_an_empty_expression_or_a_path_runs_all_tests(run, arguments):
    """Also in processes of their own."""
    names, printed = run(*arguments)
    assert names == ALL
    assert "were not run" not in printed


def test_a_tier_or_a_test_can_be_named(run):
    """By its marker, or by its name."""
    assert run("-n0", "-m", "cluster")[0] == {"test_slow", "test_smoke[first]", "test_smoke[last]"}
    assert run("-n0", "tests/test_some.py::test_slow")[0] == {"test_slow"}


def test_a_quick_test_must_be_quick_where_a_limit_is_set(run):
    """Tests of slow tiers may take any time, also those that run in any case."""
    names, printed = run("-n0", "-m", "", code=1, SWDUAL_TEST_SECONDS="-1")
    assert names == (ALL - QUICK) | {"test_smoke[first]"}
    assert "took 0 s, more than SWDUAL_TEST_SECONDS=-1: make it faster" in printed


MORE = """
@given(strategies.integers())
def test_property(number):
    pass

def test_seeds():
    assert list(seeds(10))

def test_unlucky():
    pytest.skip("something is missing")
"""


@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.process)])
def test_what_passed_is_left_out_of_all_tests(run, tmp_path, processes):
    """Except for tests that were skipped, and those that try more examples then."""
    with (tmp_path / "tests" / "test_some.py").open("a") as file:
        file.write(MORE)
    environment = {"SWDUAL_TEST_PASSED": os.fspath(tmp_path / "passed")}
    assert run("-n", processes, **environment)[0] == QUICK | {"test_property", "test_seeds"}
    names, printed = run("-n", processes, "-m", "", **environment)
    assert names == (ALL - QUICK) | {"test_property", "test_seeds"}
    assert "SKIPPED [1] tests/test_some.py" in printed
    assert run("-n", processes, "-m", "")[0] == ALL | {"test_property", "test_seeds"}


NIGHTLY = """
@pytest.mark.nightly("old")
@pytest.mark.cluster
def test_of_old_files():
    pass

@pytest.mark.nightly("old", "new")
@pytest.mark.cluster
def test_of_a_new_file():
    pass

@pytest.mark.nightly("old")
def test_that_is_quick():
    pass
"""


def test_nightly_tests_of_what_has_not_changed_can_be_left_out(run, tmp_path):
    """Quick tests never are."""
    with (tmp_path / "tests" / "test_some.py").open("a") as file:
        file.write(NIGHTLY)
    with (tmp_path / "conftest.py").open("a") as file:
        file.write("from support import nightly\nnightly.is_changed = lambda x: 'new' in x\n")
    more = {"test_of_a_new_file", "test_that_is_quick"}
    assert run("-n0", "-m", "", SWDUAL_TEST_NIGHTLY="changed")[0] == ALL | more
    assert run("-n0", "-m", "")[0] == ALL | more | {"test_of_old_files"}


def test_what_took_long_is_slow_or_nightly(run, tmp_path):
    """Also without a marker; of a property, the further examples may be nightly alone."""
    with (tmp_path / "tests" / "test_some.py").open("a") as file:
        file.write(MORE)
    kept = {"test_quick": "slow", "test_product[3-1]": "nightly", "test_property": "examples"}
    with (tmp_path / "conftest.py").open("a") as file:
        file.write(
            "from support import nightly\n"
            f"kept = {{'tests/test_some.py::' + name: tier for name, tier in {kept}.items()}}\n"
            "nightly.tiers = lambda: kept\nnightly.is_changed = lambda paths: False\n"
        )
    quick = {"test_smoke[first]", "test_product[4-2]", "test_property", "test_seeds"}
    assert run("-n0", SWDUAL_TEST_NIGHTLY="changed")[0] == quick
    names = ALL | {"test_property", "test_seeds"}
    assert run("-n0", "-m", "")[0] == names
    left_out = {"test_product[3-1]", "test_property"}
    assert run("-n0", "-m", "", SWDUAL_TEST_NIGHTLY="changed")[0] == names - left_out


def test_the_tier_of_a_test_is_chosen_by_its_time():
    """One near a limit stays; a test keeps a quick case if one is fast enough, or for a rule."""
    seconds = {"f::a": 0.1, "f::b[1]": 0.4, "f::b[2]": 0.45, "f::c": 0.9, "f::d": 0.1}
    more = {"f::a": 0.3, "f::d": 0.8}
    tiers = {"f::b[2]": "slow", "f::c": "nightly", "f::d": "examples"}
    assert nightly.choose_tiers(seconds, more, {}) == tiers
    faster = {"f::a": 0.3, "f::b[1]": 0.1, "f::b[2]": 0.12, "f::c": 0.4, "f::d": 0.1}
    assert nightly.choose_tiers(faster, {"f::d": 0.4}, tiers) == tiers
    kept = {"f::b[2]": "slow", "f::d": "examples"}
    assert nightly.choose_tiers(seconds, more, {}, {"f::b", "f::c"}) == kept
    other = {"f::b[1]": "slow", "f::c": "nightly", "f::d": "examples"}
    assert nightly.choose_tiers(seconds, more, {}, quick_tests={"f::b[2]"}) == other
    fast = {"f::b[1]": 0.01, "f::b[2]": 0.07, "f::c": 0.3, "f::d": 0.1}
    assert nightly.choose_tiers(fast, {"f::d": 0.3}, tiers) == {"f::c": "slow"}


def test_compiling_counts_in_no_test(tmp_path):
    """The first one that needs a kernel pays for it; else the longer of the two times counts."""
    table = tmp_path / "clock.tsv"
    table.write_text("\t".join(HEADER) + "\nf::a\t5\t6\t4\tno\nf::b\t3\t2\t0\tyes\n")
    assert nightly.read_seconds(table) == {"f::a": 2, "f::b": 3}
    assert nightly.read_seconds(table, 0.25) == {"f::a": 2, "f::b": 0.75}  # of its examples


def test_a_test_that_hangs_fails_and_is_named(run, tmp_path):
    """The others run all the same."""
    with (tmp_path / "tests" / "test_some.py").open("a") as file:
        file.write("\ndef test_hangs():\n    import threading\n    threading.Event().wait()\n")
    names, printed = run("-n1", "-o", "faulthandler_timeout=2", code=1)
    assert names == QUICK
    assert "crashed while running 'tests/test_some.py::test_hangs'" in printed


def test_a_folder_has_changed_if_any_file_has(tmp_path, monkeypatch):
    """Its text, its name, or whether it is there; compiled Python does not count."""
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    folder = tmp_path / "some"
    (folder / "deep" / "__pycache__").mkdir(parents=True)
    texts = {"one.py": "1", "deep/two.py": "2"}

    def changed():
        nightly.digest.cache_clear()
        return nightly.is_changed(("some", "some/one.py"))

    def write():
        for name, text in texts.items():
            (folder / name).write_text(text)

    write()
    nightly.digest.cache_clear()
    kept = {path: nightly.digest(path) for path in ("some", "some/one.py")}
    monkeypatch.setattr(nightly, "kept", lambda: kept)
    (folder / "deep" / "__pycache__" / "two.pyc").touch()
    assert not changed()
    (folder / "deep" / "two.py").write_text("3")
    assert changed()
    write()
    assert not changed()
    (folder / "deep" / "two.py").rename(folder / "two.py")
    assert changed()
    nightly.digest.cache_clear()
    assert nightly.is_changed(("other",))


def test_of_a_package_only_the_code_counts(tmp_path, monkeypatch):
    """A module by itself, and all of swdual, counts with its comments and docstrings."""
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    module = tmp_path / "swdual" / "some" / "one.py"
    module.parent.mkdir(parents=True)
    paths = ("swdual/some", "swdual/some/one.py", "swdual")

    def digests(text):
        module.write_text(text)
        nightly.digest.cache_clear()
        return [nightly.digest(path) for path in paths]

    code = '''"""Module."""\n\ndef f():\n    """Help."""\n    # One.\n    return "# 1"\n'''
    first = digests(code)
    for words in ("Module", "Help", "One"):
        changed = digests(code.replace(words, "Other"))
        assert [old == new for old, new in zip(first, changed, strict=True)] == [True, False, False]
    for words in ("# 1", "def"):
        assert not set(first) & set(digests(code.replace(words, "class")))
    nightly.digest.cache_clear()


def test_what_nightly_tests_depend_on_is_there():
    """Each file and folder."""
    assert len(nightly.all_paths()) > 100
    assert all((ROOT / path).exists() for path in nightly.all_paths())


@pytest.mark.parametrize(
    ("file", "words", "parts"),
    [
        ("README.md", r"and runs them \((\d+) minutes", slice(2, 3)),
        ("CONTRIBUTING.md", r"what matters for most changes, in (\d+) minutes", slice(2, 3)),
        ("CONTRIBUTING.md", r"`.ci/nightly` takes (\d+) minutes", slice(None)),
    ],
)
def test_the_times_in_texts_are_those_of_the_last_nightly_run(file, words, parts):
    """On two cores, within a quarter."""
    rows = (ROOT / "tests" / "parts.tsv").read_text().splitlines()
    seconds = [float(row.split("\t")[1]) for row in rows]
    (told,) = re.findall(words, (ROOT / file).read_text())
    assert int(told) == pytest.approx(sum(seconds[parts]) / 60, rel=0.25)


def test_each_rule_has_a_quick_test_and_a_thorough_one(request):
    """The thorough one is there; so is the quick one, which is among the quick tests."""
    found = nightly.rules()
    assert len(found) > 10
    for tests in found:
        for test in tests:
            file, _, name = test.partition("::")
            assert f"def {name}(" in (ROOT / "tests" / file).read_text(), test
    if is_quick(request.config) and not request.config.option.keyword:
        collected = {item.nodeid.partition("[")[0] for item in request.session.items}
        assert {f"tests/{quick}" for quick, _ in found} <= collected


def test_a_sample_covers_values_or_pairs():
    """In few cases."""
    cases = [{"a": a, "b": b, "c": c} for a, b, c in product(range(4), range(3), range(2))]
    values = [cases[k] for k in sample(cases, "values")]
    assert len(values) == 4
    assert {case["b"] for case in values} == {0, 1, 2}
    assert {case["c"] for case in values} == {0, 1}
    pairs = [cases[k] for k in sample(cases, "pairs")]
    assert 12 <= len(pairs) < len(cases)
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        assert len({(case[one], case[other]) for case in pairs}) == len(
            {(case[one], case[other]) for case in cases}
        )


@pytest.mark.parametrize(("keep", "chosen"), [(1, {0}), (2, {0, 9}), (4, {0, 3, 6, 9})])
def test_a_sample_of_a_number_is_evenly_spaced(keep, chosen):
    """From the first case to the last."""
    assert sample([{"a": k} for k in range(10)], keep) == chosen
    assert sample([{"a": 1}], keep) == {0}


def test_the_profile_scales_numbers_of_examples():
    """Those of Hypothesis, and those that tests draw themselves."""
    before = settings.get_current_profile_name()
    try:
        for name, percent in PERCENT.items():
            settings.load_profile(name)
            assert examples(50).max_examples == len(seeds(50)) == percent / 2
            parts = [[*seeds(200, part)] for part in range(PARTS)]
            assert [len(part) for part in parts] == [40 * percent / 100] * PARTS
            assert [part[0] for part in parts] == [0, 40, 80, 120, 160]
        settings.load_profile("quick")
        assert examples(1).max_examples == 1
        assert examples(50).derandomize
    finally:
        settings.load_profile(before)


def test_every_tier_has_a_marker_that_the_quick_tests_leave_out(request):
    """In pyproject.toml."""
    known = {line.partition(":")[0] for line in request.config.getini("markers")}
    assert known >= {*TIERS, "smoke"}
    (expression,) = [word for word in request.config.getini("addopts") if " or " in word]
    assert expression == f"smoke or not ({' or '.join(TIERS)})"
