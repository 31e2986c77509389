"""A pytest plugin: skips tests that need what Python lacks on this system, such as ``os.fork``.

A test is skipped if it, and not what it tests, asks for what is there only on Linux: a module or a
function that is missing. So a fault of swdual is never skipped.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ACTIVE = os.name == "nt"

TESTS = os.fspath(Path(__file__).parents[1])

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios")

_MISSING = re.compile(
    r"module '(os|signal|select|mmap|time)' has no attribute '(\w+)'"
    r"|<module '(os|signal|select|mmap|time)'.*> has no attribute '(\w+)'"
)

LINKS_FORBIDDEN = 1314
"""What Windows says if the user may not make symbolic links."""


def find_lack(error: BaseException) -> str | None:
    """Return what a test needs that this system lacks, if an error says so."""
    if isinstance(error, ModuleNotFoundError) and error.name in MODULES:
        return f"there is no module {error.name}"
    if isinstance(error, AttributeError) and (found := _MISSING.search(str(error))):
        return f"there is no {'.'.join(filter(None, found.groups()))}"
    if isinstance(error, OSError) and getattr(error, "winerror", None) == LINKS_FORBIDDEN:
        return "symbolic links may not be made"
    return None


def is_of_test(error: BaseException) -> bool:
    """Return whether a test or a helper of tests has asked, and not swdual."""
    files = []
    trace = error.__traceback__
    while trace is not None:
        files.append(os.path.abspath(trace.tb_frame.f_code.co_filename))
        trace = trace.tb_next
    ours = [file for file in files if file.startswith(os.path.dirname(TESTS))]
    return not ours or ours[-1].startswith(TESTS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn the failure of a test that lacks something into a skip."""
    report = yield
    if ACTIVE and call.excinfo is not None and report.failed:
        reason = find_lack(call.excinfo.value)
        if reason is not None and is_of_test(call.excinfo.value):
            report.outcome = "skipped"
            report.longrepr = (*item.location[:1], item.location[1] or 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Leave out a file of tests that imports a module that is not there."""
    report = yield
    error = getattr(report, "call", None) and report.call.excinfo
    if ACTIVE and report.failed and error is not None:
        reason = find_lack(error.value.__cause__ or error.value)
        if reason is not None:
            report.outcome = "skipped"
            report.longrepr = (os.fspath(collector.path), 0, f"Skipped: {reason}")
    return report
