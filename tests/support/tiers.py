"""A pytest plugin: which tests a run takes.

``pytest`` alone runs the quick tests. Slow tests have the marker of a tier: `cluster`, `process`,
`fuzz`, `bench` or `exhaustive`; `slow` are those that took long in the last nightly run
(`support/nightly.py`). They run with ``pytest -m ""``, and where the command line names their
file or folder. A smoke test of each tier runs in any case. ``.ci/run`` leaves those nightly tests
out that a change does not need.

A test with many cases has the marker ``sample(keep)``: the quick tests are a sample of its cases.
The other cases are in the tier `exhaustive`. In the same way, ``smoke(keep)`` limits the smoke test
of a tier to a sample of its cases.

The quick tests write the names of those that passed to the file ``SWDUAL_TEST_PASSED``, if that is
set. All other runs leave these tests out. Tests whose number of examples depends on the profile are
not among them, as the quick tests try fewer examples.
"""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import settings
from support import nightly, properties

TIERS = ("cluster", "process", "fuzz", "bench", "exhaustive", "slow")
SIZES = {"values": 1, "pairs": 2}
"""How many parameters are combined in each kind of sample."""


class _LeftOut:
    """The number of tests of slow tiers that this run leaves out."""

    count = 0


_left_out = _LeftOut()
_passed: set[str] = set()
_SECONDS = pytest.StashKey[float]()
_COMPLETE = pytest.StashKey[bool]()


def sample(cases: list[dict[str, int]], keep: int | str) -> set[int]:
    """Choose cases of a test.

    Parameters
    ----------
    cases
        Of each case, a number for the value of each parameter.
    keep
        The number of cases, which are then evenly spaced; or ``"values"``: each value of each
        parameter is in a case that is kept; or ``"pairs"``: each pair of values of two parameters.

    Returns
    -------
    Indices of the cases that are kept.
    """
    if isinstance(keep, int):
        last = len(cases) - 1
        return {round(k * last / max(keep - 1, 1)) for k in range(min(keep, last + 1))}
    covered_by = [
        set(combinations(sorted(case.items()), min(SIZES[keep], len(case)))) for case in cases
    ]
    missing = set().union(*covered_by)
    chosen = set()
    while missing:
        best = max(range(len(cases)), key=lambda k: len(covered_by[k] & missing))
        chosen.add(best)
        missing -= covered_by[best]
    return chosen


def is_slow(item: pytest.Item) -> bool:
    """Return whether a test is left out of the quick tests."""
    return item.get_closest_marker("smoke") is None and _tier_of(item) is not None


def _tier_of(item: pytest.Item) -> str | None:
    return next((tier for tier in TIERS if item.get_closest_marker(tier)), None)


def is_quick(config: pytest.Config) -> bool:
    """Return whether the run is of the quick tests: the expression is the one of pyproject.toml."""
    return config.option.markexpr in config.getini("addopts")


def _names_a_part(config: pytest.Config) -> bool:
    """Return whether the command line names files or folders within those of all tests."""
    roots = {config.rootpath, *(config.rootpath / path for path in config.getini("testpaths"))}
    paths = (Path(argument.partition("::")[0]) for argument in config.args)
    return any((config.invocation_params.dir / path).resolve() not in roots for path in paths)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the tests and, for properties, the number of examples."""
    if is_quick(config) and _names_a_part(config):
        config.option.markexpr = ""
    if not config.getoption("--hypothesis-profile", default=None):
        settings.load_profile("quick" if is_quick(config) else "ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases that are in no sample out of the quick tests, and those out that passed."""
    for name in ("sample", "smoke"):
        tests = defaultdict(list)
        for item in items:
            marker = item.get_closest_marker(name)
            if marker and marker.args and hasattr(item, "callspec") and not is_slow(item):
                tests[item.parent, item.originalname].append(item)
        for cases in tests.values():
            cases.sort(key=_place)  # a plugin may have shuffled them
            (keep,) = cases[0].get_closest_marker(name).args
            # Cases that share a value share the object.
            values = [{k: id(v) for k, v in case.callspec.params.items()} for case in cases]
            chosen = sample(values, keep)
            for case in (cases[index] for index in set(range(len(cases))) - chosen):
                case.add_marker("exhaustive")
                case.own_markers = [mark for mark in case.own_markers if mark.name != "smoke"]
    for item in items:
        if nightly.tiers().get(item.nodeid) in ("slow", "nightly"):
            item.add_marker("slow")
    _leave_out_passed(config, items)
    if os.environ.get("SWDUAL_TEST_NIGHTLY") == "changed" and not is_quick(config):
        _leave_out(config, items, {item for item in items if _is_unchanged(config, item)})


def _leave_out_passed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that passed in a run of the quick tests."""
    path = _passed_path()
    if path is None or is_quick(config) or not path.exists():
        return
    names = set(path.read_text().splitlines())
    _leave_out(config, items, {item for item in items if item.nodeid in names})


def _leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item in unwanted])
    items[:] = [item for item in items if item not in unwanted]


def _is_unchanged(config: pytest.Config, item: pytest.Item) -> bool:
    """Return whether a test is nightly, and what it tests is what the last nightly run tested."""
    marker = item.get_closest_marker("nightly")
    is_marked = marker is not None and is_slow(item)
    if not is_marked and nightly.tiers().get(item.nodeid) not in ("nightly", "examples"):
        return False
    own = item.path.relative_to(config.rootpath).as_posix()
    return not nightly.is_changed((own, *(nightly.depends(own) if marker is None else marker.args)))


def _passed_path() -> Path | None:
    name = os.environ.get("SWDUAL_TEST_PASSED")
    return None if name is None else Path(name)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember the tests that passed, and would try the same examples in any run."""
    if report.when == "call" and report.passed and ("complete", True) in report.user_properties:
        _passed.add(report.nodeid)


def _place(case: pytest.Function) -> tuple[int, ...]:
    """Return the place of a case among those of its test: the index of each of its values."""
    return tuple(case.callspec.indices.values())


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count what is left out for its tier, not what ``-k`` leaves out."""
    if all(map(is_slow, items)):
        _left_out.count += len(items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell the first process the count; each worker has seen all tests. Write what passed."""
    if hasattr(session.config, "workerinput"):
        session.config.workeroutput["left_out"] = _left_out.count
    elif _passed_path() is not None and is_quick(session.config):
        _passed_path().write_text("".join(f"{name}\n" for name in sorted(_passed)))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Take the count of a worker."""
    _left_out.count = max(_left_out.count, getattr(node, "workeroutput", {}).get("left_out", 0))


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    """Say how many tests were left out, and how to run them."""
    if _left_out.count and is_quick(config):
        terminalreporter.write_line(
            f"{_left_out.count:,} slow tests were not run. All tests: pytest -m ''. "
            "All tests of a file or folder: pytest PATH."
        )


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Measure a test in CPU seconds, which depend little on what else the machine does."""
    before, calls = _cpu_seconds(), properties.calls.count
    try:
        return (yield)
    finally:
        item.stash[_SECONDS] = _cpu_seconds() - before
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        item.stash[_COMPLETE] = not is_property and properties.calls.count == calls


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Fail a quick test that takes more than ``SWDUAL_TEST_SECONDS``, if that is set."""
    report = yield
    report.user_properties.append(("complete", item.stash.get(_COMPLETE, False)))
    limit = float(os.environ.get("SWDUAL_TEST_SECONDS", "inf"))
    seconds = item.stash.get(_SECONDS, 0.0)
    if report.when == "call" and report.passed and not _tier_of(item) and seconds > limit:
        report.outcome = "failed"
        report.longrepr = (
            f"took {seconds:.0f} s, more than SWDUAL_TEST_SECONDS={limit:g}: make it faster, "
            f"or give it the marker of a tier ({', '.join(TIERS)})"
        )
    return report
