"""A pytest plugin: where the time of a run goes.

A run writes the seconds of its tests to the file ``SWDUAL_TEST_CLOCK``, if that is set, and prints
those of each folder and of the slowest tests. Seconds of the CPU depend little on what else the
machine does. They are those of the test's process and of the children that it waited for; the first
test that needs a fixture or a kernel pays for it. The seconds in which Numba compiles in the test's
process are in a column of their own. The last one tells whether the profile scales the number of
examples of a test (see `support.properties`).
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest
from numba.core import event

from swdual.runtime.system import available_threads

HEADER = ("test", "CPU seconds", "seconds", "compiling", "scaled")
SLOWEST = 50
"""How many tests are printed."""


class Seconds(NamedTuple):
    """Seconds of the CPU, of the clock, and of compiling."""

    cpu: float
    wall: float
    compiling: float

    def __add__(self, other):
        return Seconds(*(x + y for x, y in zip(self, other, strict=True)))

    def __sub__(self, other):
        return Seconds(*(x - y for x, y in zip(self, other, strict=True)))


NONE = Seconds(0, 0, 0)


def pytest_configure(config: pytest.Config) -> None:
    """Measure if a file is named. Runs of pytest that a test starts do not write to it."""
    path = os.environ.pop("SWDUAL_TEST_CLOCK", None)
    if path is not None:
        config.pluginmanager.register(_Stopwatch(is_worker=False))
        config.pluginmanager.register(_Table(Path(path)))
    elif "clock" in getattr(config, "workerinput", {}):
        config.pluginmanager.register(_Stopwatch(is_worker=True))


class _Stopwatch:
    """Measures in the process that runs the tests."""

    def __init__(self, is_worker):
        self.is_worker = is_worker
        self.processors = available_threads()
        self.compiling = event.TimingListener()
        event.register("numba:compiler_lock", self.compiling)
        self.last = self.now()

    def now(self):
        """Return what has passed in this process so far."""
        compiled = self.compiling.duration if self.compiling.done else 0.0
        return Seconds(sum(os.times()[:4]), time.perf_counter(), compiled)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self):
        """What comes between two tests belongs to none."""
        self.last = self.now()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        """Give a report the seconds since the last one of the same test."""
        now = self.now()
        passed, self.last = now - self.last, now
        # The children of a session are waited for in its last test; they count in no test.
        passed = passed._replace(cpu=min(passed.cpu, passed.wall * self.processors))
        report = yield
        report.user_properties.append(("seconds", list(passed)))
        return report

    def pytest_sessionfinish(self, session):
        """Tell the first process the largest memory of this one."""
        if self.is_worker:
            session.config.workeroutput["memory"] = _largest_memory()


class _Table:
    """Adds up in the first process."""

    def __init__(self, path):
        self.path = path
        self.tests = defaultdict(lambda: NONE)
        self.scaled = set()
        self.memory = {}

    def pytest_runtest_logreport(self, report):
        """Add the seconds of a phase."""
        known = dict(report.user_properties)
        self.tests[report.nodeid] += Seconds(*known.get("seconds", NONE))
        if report.when == "call" and not known.get("complete", True):
            self.scaled.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        """Let a worker measure."""
        node.workerinput["clock"] = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Take the memory of a worker."""
        if "memory" in getattr(node, "workeroutput", {}):
            self.memory[node.gateway.id] = node.workeroutput["memory"]

    def pytest_terminal_summary(self, terminalreporter):
        """Write the file, and print folders and the slowest tests."""
        slowest = sorted(self.tests.items(), key=lambda test: -test[1].cpu)
        scaled = (f"\t{'yes' if name in self.scaled else 'no'}" for name, _ in slowest)
        lines = map("".join, zip(_lines(slowest), scaled, strict=True))
        self.path.write_text("\n".join(["\t".join(HEADER), *lines]) + "\n")
        folders = defaultdict(lambda: NONE)
        for name, seconds in slowest:
            folders[folder_of(name)] += seconds
        terminalreporter.section("where the time went")
        order = sorted(folders.items(), key=lambda folder: -folder[1].cpu)
        for what, rows in (("folder", order), ("test", slowest[:SLOWEST])):
            terminalreporter.write_line("\t".join([what, *HEADER[1:-1]]))
            for line in _lines(rows):
                terminalreporter.write_line(line)
            terminalreporter.write_line("")
        own = {"this process": _largest_memory()}
        for name, size in (self.memory or own).items():
            terminalreporter.write_line(f"memory of {name}: {size / 2**20:,.0f} MiB")


def folder_of(name):
    """Return the folder of a test; files of ``tests/`` itself count by themselves.

    >>> folder_of("tests/io/test_text.py::test_one"), folder_of("tests/test_site.py::test_two")
    ('tests/io', 'tests/test_site.py')
    """
    parts = name.partition("::")[0].split("/")
    return "/".join(parts[:2])


def _largest_memory():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _lines(rows):
    for name, seconds in rows:
        yield "\t".join([name, *(f"{each:.2f}" for each in seconds)])
