"""What differs between Linux, macOS and Windows: the rest of swdual asks here.

Files that are locked, replaced or read in place; processors, memory and limits of this process;
processes, signals and streams.
"""

from __future__ import annotations

import _thread
import errno
import io
import mmap
import os
import platform
import re
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

if sys.platform == "win32":
    import msvcrt
    import winreg
else:
    import fcntl
    import grp
    import pwd
    import resource

if TYPE_CHECKING:
    from subprocess import Popen

START_METHOD = "fork" if sys.platform == "linux" else "spawn"
"""How processes of a pool begin: as copies of this one, or by importing what they need."""

MAX_POOL = 61 if sys.platform == "win32" else 4096
"""The most processes that a pool can wait for."""

THREAD_TIME_STEP = (
    1 / 64 if sys.platform == "win32" else time.get_clock_info("thread_time").resolution
)
"""Seconds by which `time.thread_time` grows at a time; Windows tells a finer number than that."""

SIGPIPE: int | None = getattr(signal, "SIGPIPE", None)

ENDING_SIGNALS = [*filter(None, (signal.SIGINT, signal.SIGTERM, SIGPIPE))]
"""Signals that end a command."""

NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)
"""Errors of file systems that cannot lock files: then nothing is locked."""

_PATIENCE, _PAUSE = 2.0, 0.05
"""Seconds for which a file is tried to be replaced that another program has open, and between."""

_MAPPED = 1224
"""Windows' error for changes of a file that is mapped into memory."""

_LOCKED_BYTE = 0x7FFFFFFE
"""The byte that is locked: Windows lets no other process read what is locked."""

_MAX_OPEN_FILES = 10_240
"""What macOS allows a process, also where it says that there is no limit."""

_PARTS = {
    **{(0x41, 0xD08): "Cortex-A72", (0x41, 0xD0B): "Cortex-A76"},
    **{(0x41, 0xD0C): "Neoverse N1", (0x41, 0xD40): "Neoverse V1"},
    **{(0x41, 0xD49): "Neoverse N2", (0x41, 0xD4F): "Neoverse V2"},
    **{(0x41, 0xD84): "Neoverse V3", (0x41, 0xD8E): "Neoverse N3"},
}
"""Names of ARM's processors by implementer and part, which is all that Linux tells of them."""

_IMPLEMENTERS = {0x41: "ARM", 0x61: "Apple", 0xC0: "Ampere"}

_seeking = threading.Lock()


# Files


def open_own(path: str | os.PathLike[str], mode: int = 0o666) -> int:
    """Open a file for reading and writing, made if it does not exist; no link is followed."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, mode)


def is_own(state: os.stat_result) -> bool:
    """Return whether a file belongs to this user, as far as the system has owners."""
    if sys.platform == "win32":
        return True
    else:
        return state.st_uid == os.geteuid()


def try_lock(descriptor: int) -> bool:
    """Lock a file; return False if another process has it. It is freed when the file is closed.

    Raises
    ------
    OSError
        If it cannot be locked; see `NO_LOCKS`.
    """
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def find_holder(descriptor: int) -> int | None:
    """Return the process that has locked a file, if the system tells."""
    if sys.platform == "linux":
        state = os.fstat(descriptor)
        device = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
        with suppress(OSError, ValueError):
            for line in Path("/proc/locks").read_text().splitlines():
                _, kind, _, _, process, held, *_ = line.split()
                if kind == "FLOCK" and held == device and int(process) > 0:
                    return int(process)
    return None


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a file the name of another one, which it replaces.

    Raises
    ------
    OSError
        If that fails, as on Windows while another program has the file open.
    """
    if sys.platform == "win32":
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                os.replace(source, target)
                return
            except OSError as error:
                if not isinstance(error, PermissionError) and error.winerror != _MAPPED:
                    raise
                if time.monotonic() >= end:
                    cause = "another program has it open; close it there, or write to another file"
                    raise PermissionError(errno.EACCES, cause, os.fspath(target)) from error
            time.sleep(_PAUSE)
    else:
        os.replace(source, target)


def rename_open(stream: IO[bytes], path: Path, target: Path) -> None:
    """Give an open, locked file its final name, and close it.

    Windows renames no open file. If another process opens it as soon as it is closed, it cannot be
    renamed either, until that one has written it anew.
    """
    if sys.platform == "win32":
        stream.close()
        replace(path, target)
    else:
        replace(path, target)
        with suppress(OSError):  # some systems store names by themselves
            descriptor = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        stream.close()


def remove_open(stream: IO[bytes], path: str | os.PathLike[str]) -> None:
    """Remove an open, locked file, and close it; Windows removes no open file."""
    if sys.platform == "win32":
        with suppress(OSError):  # of what was to be written
            stream.close()
    try:
        os.unlink(path)
    finally:
        stream.close()


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Read bytes of an open file from an offset; several threads may."""
    if sys.platform == "win32":
        with _seeking:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.read(descriptor, size)
    else:
        return os.pread(descriptor, size, offset)


def write_at(descriptor: int, data: bytes | memoryview, offset: int) -> int:
    """Write bytes to an open file from an offset, and return their number; several threads may."""
    if sys.platform == "win32":
        with _seeking:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return os.write(descriptor, data)
    else:
        return os.pwrite(descriptor, data, offset)


def read_attribute(path: str, name: str) -> bytes:
    """Return an extended attribute of a file; an OSError says that there is none."""
    if sys.platform == "linux":
        return os.getxattr(path, name)
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def write_attribute(descriptor: int, name: str, value: bytes) -> None:
    """Set an extended attribute of a file; an OSError says that it cannot be."""
    if sys.platform == "linux":
        os.setxattr(descriptor, name, value)
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def disk_bytes(state: os.stat_result) -> int:
    """Return the bytes that a file takes on the disk."""
    if sys.platform == "win32":
        return state.st_size
    else:
        return 512 * state.st_blocks


def free_pages(mapping: mmap.mmap) -> None:
    """Free the memory that a mapped file was read into, where the system can be asked to."""
    if sys.platform != "win32":
        mapping.madvise(mmap.MADV_DONTNEED)


# Users


def user_number() -> int | None:
    """Return the number of the user; None where owner and mode of a file do not say who writes."""
    if sys.platform == "win32":
        return None
    else:
        return os.getuid()


def is_private_group(group: int) -> bool:
    """Return whether a group is that of this user alone, as most systems make one for each user."""
    if sys.platform == "win32":
        return False
    else:
        user, primary, name, members = str(os.getuid()), os.getgid(), str(group), set[str]()
        with suppress(KeyError):  # in a container, users and groups may be numbers without a name
            user, _, _, primary, *_ = pwd.getpwuid(os.getuid())
        with suppress(KeyError):
            name, _, _, others = grp.getgrgid(group)
            members = set(others)
        return group == primary and name == user and members <= {user}


# Processors


def available_threads() -> int:
    """Return the number of CPUs that this process may use: affinity, and its cgroup's quota."""
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
        with suppress(OSError, ValueError):
            quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
            allowed = min(allowed, max(1, -(-int(quota) // int(period))))
        return allowed
    else:
        count: int | None = getattr(os, "process_cpu_count", os.cpu_count)()
        return count or 1


@cache
def processor_name() -> str:
    """Return the name of the processor; empty if nobody tells it."""
    with suppress(OSError):
        if sys.platform == "win32":
            place = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
                return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
        elif sys.platform == "darwin":
            import subprocess

            query = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
        else:
            return parse_processor_name(Path("/proc/cpuinfo").read_text())
    return platform.processor()


def parse_processor_name(text: str) -> str:
    """Return the name of the processor that Linux describes; of ARM's only numbers are told.

    >>> parse_processor_name("CPU implementer : 0x41\\nCPU part : 0xd4f\\n")
    'Neoverse V2'
    >>> parse_processor_name("CPU implementer : 0x46\\nCPU part : 0x001\\n")
    'implementer 0x46 part 0x001'
    """
    lines = re.findall(r"^([^:\n]*[^:\s])\s*:[ \t]*(.*)$", text, re.MULTILINE)
    facts: dict[str, str] = dict(reversed(lines))  # of the first processor
    if "model name" in facts:
        return facts["model name"].strip()
    if "CPU part" not in facts:
        return ""
    implementer, part = facts.get("CPU implementer", "0"), facts["CPU part"]
    numbers = int(implementer, 16), int(part, 16)
    maker = _IMPLEMENTERS.get(numbers[0], f"implementer {implementer}")
    return _PARTS.get(numbers, f"{maker} part {part}")


# Memory and limits


def find_memory_limits(root: Path) -> Iterator[tuple[int, str]]:
    """Yield the bytes of the machine and the limits of this process's cgroups, with their names.

    Parameters
    ----------
    root
        Folder with Linux's ``proc`` and ``sys``.
    """
    if sys.platform == "linux":
        yield from _find_machine_memory(root)
        yield from _find_cgroup_limits(root)
    else:
        import psutil

        yield psutil.virtual_memory().total, "this machine's memory"


def _find_machine_memory(root: Path) -> Iterator[tuple[int, str]]:
    with suppress(OSError):
        text = (root / "proc/meminfo").read_text()
        if found := re.search(r"^MemTotal:\s*(\d+) kB", text, re.MULTILINE):
            yield int(found[1]) << 10, "this machine's memory"


def _find_cgroup_limits(root: Path) -> Iterator[tuple[int, str]]:
    """Yield the limits of the process's cgroups and of their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, file = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            mount, file = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = mount / path.strip("/")
        for folder in (group, *group.parents):
            try:
                limit = (folder / file).read_text().strip()
            except OSError:
                limit = ""
            if limit.isdecimal():
                yield int(limit), "the limit of this process's cgroup"
            if folder == mount:
                break


def find_process_limits() -> Iterator[tuple[int, str]]:
    """Yield the bytes that this process may have by its own limits, and the commands that set them.

    They may change while it runs.
    """
    if sys.platform == "win32":
        yield from ()
    else:
        for number, source in (
            (resource.RLIMIT_AS, "ulimit -v"),
            (resource.RLIMIT_RSS, "ulimit -m"),
        ):
            limit, _ = resource.getrlimit(number)
            if limit != resource.RLIM_INFINITY:
                yield limit, source


def resident_bytes(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process holds; 0 if the system does not tell."""
    if sys.platform == "linux":
        try:
            pages = (root / "proc/self/statm").read_text().split()[1]
        except (OSError, IndexError):
            return 0
        return int(pages) * mmap.PAGESIZE
    else:
        import psutil

        held: int = psutil.Process().memory_info().rss
        return held


def most_open_files() -> int | None:
    """Return the number of files that this process may open at most; None if nothing limits it."""
    if sys.platform == "win32":
        return None
    else:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limits = [hard] if hard != resource.RLIM_INFINITY else []
        if sys.platform == "darwin":
            limits.append(_MAX_OPEN_FILES)
        return min(limits, default=None)


def allow_open_files(count: int) -> int | None:
    """Let this process open so many files, or the most that it may; return the limit before.

    None says that it could already.
    """
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = most_open_files()
        count = count if most is None else min(count, most)
        if soft != resource.RLIM_INFINITY and soft < count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
            return soft
    return None


@contextmanager
def more_open_files(count: int) -> Iterator[None]:
    """Let this process open so many more files in this block, as far as the system lets it."""
    if sys.platform == "win32":
        yield
    else:
        before = allow_open_files(count + len(os.listdir("/dev/fd")))
        try:
            yield
        finally:
            if before is not None:
                hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


# Processes, signals and streams


def kill_group(process: Popen[bytes]) -> None:
    """Kill a process that was started with a group of its own, and those that it has started."""
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    each.kill()
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def signal_main_thread(number: int) -> None:
    """Send a signal to the main thread; a lock that it waits for is interrupted where it can be."""
    if sys.platform == "win32":
        _thread.interrupt_main(signal.Signals(number))
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def wait_for_reader(descriptor: int, ended: int) -> bool:
    """Wait until nobody reads a pipe any more, or nobody writes another one.

    Not for Windows, where only writing tells it.

    Parameters
    ----------
    descriptor
        An end of a pipe for writing.
    ended
        An end of another pipe, for reading.

    Returns
    -------
    bool
        Whether the reader of the first has left.
    """
    if sys.platform == "win32":
        return False
    else:
        poll = select.poll()
        for each in (descriptor, ended):
            poll.register(each, select.POLLHUP)  # which macOS tells only if asked
        events = dict(poll.poll())
        gone = events.get(descriptor, 0) & (select.POLLERR | select.POLLHUP)
        return ended not in events and bool(gone)


def is_reader_gone(error: OSError) -> bool:
    """Return whether an error of writing says that nobody reads the pipe any more."""
    if isinstance(error, BrokenPipeError):
        return True
    # That is all that Windows' C library tells; errors of names have a number of Windows.
    return sys.platform == "win32" and error.errno == errno.EINVAL and error.winerror is None


def prepare_streams() -> None:
    """Have text that is printed give the same bytes on all systems, but for a console."""
    if sys.platform == "win32":
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
                stream.reconfigure(encoding="utf-8", newline="\n")


def bind_alone(listener: socket.socket) -> None:
    """Let a socket have an address that was in use a moment ago, but no other process's."""
    if sys.platform == "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
    else:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
