"""Linux without what Windows or macOS lacks, and with stand-ins for what they have instead.

`load_system` loads `swdual.runtime.system` as that system does. `become` makes this whole process
take itself for one: call it before anything else of swdual is imported.
"""

from __future__ import annotations

import errno
import fcntl
import grp  # noqa: F401  (what is imported here, nobody loads as another system)
import importlib.util
import os
import pwd  # noqa: F401
import resource  # noqa: F401
import select
import signal
import sys
from contextlib import ExitStack, contextmanager
from types import ModuleType, SimpleNamespace
from unittest import mock

NAME = "swdual.runtime.system"

_FOR_EVER = ExitStack()

PROCESSOR, MEMORY = "Some Processor", 8 << 30
"""What the stand-ins say of the machine."""

MODULES = {
    "win32": ("fcntl", "grp", "pwd", "resource", "termios"),
    **dict.fromkeys(("darwin", "linux"), ()),
}

_LINUX = ((os, "sched_getaffinity"), (os, "getxattr"), (os, "setxattr"))

FUNCTIONS = {
    "win32": (
        *_LINUX,
        *((os, name) for name in ("fork", "getuid", "geteuid", "getgid", "getegid", "killpg")),
        *((os, name) for name in ("pread", "pwrite", "O_NOFOLLOW", "sysconf")),
        *((signal, name) for name in ("SIGPIPE", "SIGKILL", "pthread_kill")),
        *((select, name) for name in ("poll", "epoll")),
    ),
    "darwin": _LINUX,
    "linux": (),
}
"""What each system lacks of what Python has on Linux."""


def stand_ins(platform):
    """Return modules that Python has on that system, by their names."""
    psutil = ModuleType("psutil")
    psutil.NoSuchProcess = ProcessLookupError
    psutil.virtual_memory = lambda: SimpleNamespace(total=MEMORY)
    psutil.Process = lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=5 << 20))
    if platform == "linux":
        return {}
    if platform == "darwin":
        return {"psutil": psutil}
    msvcrt, winreg = ModuleType("msvcrt"), ModuleType("winreg")
    msvcrt.LK_NBLCK, msvcrt.locking = 2, _lock
    winreg.HKEY_LOCAL_MACHINE = 0
    winreg.OpenKey = lambda key, path: mock.MagicMock()
    winreg.QueryValueEx = lambda key, name: (f" {PROCESSOR}  ", 1)
    return {"psutil": psutil, "msvcrt": msvcrt, "winreg": winreg}


def _lock(descriptor, mode, count):
    assert (mode, count) == (2, 1)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


@contextmanager
def lacking(platform):
    """Take away in the block what a system lacks, and put stand-ins there."""
    modules = dict.fromkeys(MODULES[platform]) | stand_ins(platform)
    taken = [(place, name, getattr(place, name)) for place, name in FUNCTIONS[platform]]
    with mock.patch.dict(sys.modules, modules):
        for place, name, _ in taken:
            delattr(place, name)
        try:
            yield
        finally:
            for place, name, value in taken:
                setattr(place, name, value)


def load_system(platform):
    """Return the module as it is on a system; it goes on to take this for that system."""
    seen = ModuleType("sys")
    seen.__getattr__ = lambda name: getattr(sys, name)
    seen.platform = platform
    spec = importlib.util.find_spec(NAME)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {"sys": seen}):
        spec.loader.exec_module(module)
    return module


def refuse_open(function):
    """Return a function of paths that refuses files that this process has open, as Windows does."""

    def call(*paths, **options):
        opened = set()
        for number in os.listdir("/proc/self/fd"):
            try:
                opened.add(os.readlink(f"/proc/self/fd/{number}"))
            except OSError:
                continue
        for path in paths:
            if os.path.realpath(path) in opened:
                raise PermissionError(errno.EACCES, "The file is being used", os.fspath(path))
        return function(*paths, **options)

    return call


def become(platform):
    """Take this process for one of another system, to its end."""
    _FOR_EVER.enter_context(lacking(platform))
    if platform == "win32":
        os.unlink, os.replace = refuse_open(os.unlink), refuse_open(os.replace)
    sys.modules[NAME] = load_system(platform)
    sys.modules["swdual.runtime"].system = sys.modules[NAME]
