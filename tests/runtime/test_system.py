"""What differs between systems, in the forms of all of them: see `support.systems`."""

from __future__ import annotations

import errno
import mmap
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import systems
from support.systems import MEMORY, PROCESSOR, lacking, load_system

try:
    import psutil
except ImportError:
    psutil = None

SYSTEMS = ["linux", "darwin", "win32"]
NONE = resource.RLIM_INFINITY


@pytest.fixture(params=SYSTEMS)
def platform(request):
    return request.param


@pytest.fixture
def system(platform):
    """The module as it is on a system, with what this system lacks taken away."""
    with lacking(platform):
        yield load_system(platform)


@pytest.fixture
def limits(monkeypatch):
    """Set limits of the process, by their names, and note what is set."""
    chosen, given = [], {}
    monkeypatch.setattr(resource, "getrlimit", lambda which: given.get(which, (NONE, NONE)))
    monkeypatch.setattr(resource, "setrlimit", lambda which, limit: chosen.append(limit))

    def give(**values):
        given.update({getattr(resource, name): limit for name, limit in values.items()})
        return chosen

    return give


def test_a_lock_holds_until_the_file_is_closed(system, tmp_path):
    """Whatever was read before: the place in the file does not matter."""
    first, second = (system.open_own(tmp_path / "x") for _ in range(2))
    assert system.try_lock(first)
    assert not system.try_lock(second)
    os.close(first)
    assert system.try_lock(second)
    assert os.lseek(second, 0, os.SEEK_CUR) == 0
    os.close(second)


def test_that_files_cannot_be_locked_is_told(system, platform, tmp_path, monkeypatch):
    """As on some network file systems."""

    def fail(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    place = (system.msvcrt, "locking") if platform == "win32" else (system.fcntl, "flock")
    monkeypatch.setattr(*place, fail)
    with (tmp_path / "x").open("wb") as file, pytest.raises(OSError, match="No locks") as error:
        system.try_lock(file.fileno())
    assert error.value.errno in system.NO_LOCKS


def test_who_holds_a_lock_is_told_by_linux_alone(system, platform, tmp_path):
    """Of others there is no such list."""
    with (tmp_path / "x").open("wb") as file:
        assert system.find_holder(file.fileno()) is None
        assert system.try_lock(file.fileno())
        found = system.find_holder(file.fileno())
    assert found == (os.getpid() if platform == "linux" else None)


def test_no_link_is_followed_where_that_can_be_forbidden(system, platform, tmp_path):
    """Windows lets users make links only if they are trusted."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    if platform == "win32":
        os.close(system.open_own(tmp_path / "link"))
        return
    with pytest.raises(OSError, match="symbolic links"):
        system.open_own(tmp_path / "link")


def test_a_file_of_another_user_is_not_ours(system, platform):
    """Windows says nothing by numbers."""
    ours, others = (SimpleNamespace(st_uid=os.stat("/proc/self").st_uid + k) for k in (0, 1))
    assert system.is_own(ours)
    assert system.is_own(others) == (platform == "win32")


def test_a_file_that_is_open_is_replaced_as_soon_as_it_is_not(system, platform, monkeypatch):
    """Windows refuses meanwhile; elsewhere the first error counts."""
    left = [PermissionError(errno.EACCES, "in use"), PermissionError(errno.EACCES, "in use")]
    calls = []

    def replace(source, target):
        calls.append((source, target))
        if left:
            raise left.pop()

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(system.time, "sleep", lambda seconds: None)
    if platform != "win32":
        with pytest.raises(PermissionError, match="in use"):
            system.replace("a", "b")
        return
    system.replace("a", "b")
    assert calls == [("a", "b")] * 3


def test_a_file_that_stays_open_is_given_up(monkeypatch, tmp_path):
    """Windows: the message tells what to do; other errors are passed on at once."""
    with lacking("win32"):
        system = load_system("win32")
    failure = PermissionError(errno.EACCES, "Access is denied")

    def fail(source, target):
        raise failure

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(system, "_PATIENCE", 0.0)
    with pytest.raises(PermissionError, match="another program has it open; close it"):
        system.replace(tmp_path / "a", tmp_path / "b")
    failure = OSError(errno.EINVAL, "Invalid argument")
    failure.winerror = system._MAPPED
    with pytest.raises(PermissionError, match="another program has it open"):
        system.replace(tmp_path / "a", tmp_path / "b")
    failure = OSError(errno.ENOSPC, "No space left on device")
    failure.winerror = 112
    with pytest.raises(OSError, match="No space left"):
        system.replace(tmp_path / "a", tmp_path / "b")


def test_an_open_file_gets_its_name_or_is_removed(system, platform, tmp_path, monkeypatch):
    """Windows does neither to a file that is open; elsewhere it is locked until that is done."""
    if platform == "win32":
        monkeypatch.setattr(os, "replace", systems.refuse_open(os.replace))
        monkeypatch.setattr(os, "unlink", systems.refuse_open(os.unlink))
    part = tmp_path / "part"
    stream = part.open("wb")
    stream.write(b"text")
    system.rename_open(stream, part, tmp_path / "whole")
    assert stream.closed
    stream = part.open("wb")
    system.remove_open(stream, part)
    assert stream.closed
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("whole", b"text")]


def test_a_file_is_removed_though_not_all_could_be_written(system, tmp_path):
    """As on a full disk, which closing the file tells."""

    class Full(BytesIO):
        def close(self):
            super().close()
            raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "part").touch()
    with suppress(OSError):
        system.remove_open(Full(), tmp_path / "part")
    assert not (tmp_path / "part").exists()


def test_a_file_is_closed_though_it_cannot_be_removed(system, tmp_path):
    """It may be gone already."""
    stream = (tmp_path / "part").open("wb")
    (tmp_path / "part").unlink()
    with pytest.raises(FileNotFoundError):
        system.remove_open(stream, tmp_path / "part")
    assert stream.closed


def test_bytes_are_read_and_written_in_place(system, tmp_path):
    """In any order."""
    number = system.open_own(tmp_path / "x")
    assert system.write_at(number, b"defg", 3) == 4
    assert system.write_at(number, memoryview(b"abc"), 0) == 3
    assert system.read_at(number, 3, 2) == b"cde"
    assert system.read_at(number, 9, 6) == b"g"
    os.close(number)


def test_attributes_are_those_of_linux(system, platform, tmp_path):
    """Elsewhere, and on file systems without them, an error says so."""
    path = os.fspath(tmp_path / "x")
    with open(path, "wb") as file:
        if platform == "linux":
            try:
                system.write_attribute(file.fileno(), "user.x", b"value")
            except OSError:
                pytest.skip("this file system has no attributes")
            assert system.read_attribute(path, "user.x") == b"value"
            return
        with pytest.raises(OSError, match="not supported"):
            system.write_attribute(file.fileno(), "user.x", b"value")
    with pytest.raises(OSError, match="not supported"):
        system.read_attribute(path, "user.x")


def test_what_a_file_takes_on_the_disk(system, platform):
    """Its blocks, where the system counts these."""
    state = SimpleNamespace(st_size=5, st_blocks=8)
    assert system.disk_bytes(state) == (5 if platform == "win32" else 4096)


def test_memory_of_a_mapping_is_freed_where_that_is_possible(system, platform):
    """As Linux and macOS are asked to."""
    asked = []
    system.free_pages(SimpleNamespace(madvise=asked.append))
    assert len(asked) == (platform != "win32")


def test_users_have_numbers_but_on_windows(system, platform):
    """There owner and mode of a folder do not tell who can write."""
    assert (system.user_number() is None) == (platform == "win32")
    if platform == "win32":
        assert not system.is_private_group(0)


@pytest.mark.parametrize(
    ("user", "group", "private"),
    [
        (("ann", 7), ("ann", []), True),
        (("ann", 7), ("ann", ["ann"]), True),
        (("ann", 7), ("ann", ["ann", "bob"]), False),
        (("ann", 7), ("lab", []), False),
        (("ann", 8), ("ann", []), False),
        (("ann", 7), None, False),
        (None, None, True),
        (None, ("lab", []), False),
    ],
)
def test_a_private_group_has_the_name_of_its_only_user(monkeypatch, user, group, private):
    """That is how the programs that set umask 002 tell them, too; None has a number alone."""
    system = load_system("linux")

    def look_up(entry):
        if entry is None:
            raise KeyError("no entry")
        return entry

    monkeypatch.setattr("os.getuid", lambda: 7)
    monkeypatch.setattr("os.getgid", lambda: 7)
    monkeypatch.setattr("pwd.getpwuid", lambda _: look_up(user and (user[0], "x", 7, user[1])))
    monkeypatch.setattr("grp.getgrgid", lambda _: look_up(group and (group[0], "x", 7, group[1])))
    assert system.is_private_group(7) == private


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max 100000", 8),
        ("250000 100000", 3),
        ("50000 100000", 1),
        ("9900000 100000", 8),
        ("", 8),
        ("100000", 8),
        (None, 8),
    ],
)
def test_available_threads_obeys_affinity_and_quota(monkeypatch, text, expected):
    """The smaller of both, at least 1; a quota that is not there limits nothing."""

    def read_text(path):
        if text is None:
            raise FileNotFoundError(path)
        return text

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(Path, "read_text", read_text)
    assert load_system("linux").available_threads() == expected


@pytest.mark.parametrize("other", ["darwin", "win32"])
@pytest.mark.parametrize("name", ["cpu_count", "process_cpu_count"])
@pytest.mark.parametrize(("cpus", "expected"), [(5, 5), (None, 1)])
def test_where_there_is_no_affinity_all_cpus_are_available(
    monkeypatch, other, name, cpus, expected
):
    """One, where nobody knows; since Python 3.13 it is told how many it may use."""
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, name, lambda: cpus, raising=False)
    with lacking(other):
        assert load_system(other).available_threads() == expected


def test_the_processor_has_a_name(system, platform, monkeypatch):
    """Each system has another place for it."""
    asked = []

    def run(arguments, **options):
        asked.append(arguments)
        return SimpleNamespace(stdout=f"{PROCESSOR}\n")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(Path, "read_text", lambda _: f"processor\t: 0\nmodel name\t: {PROCESSOR}\n")
    assert system.processor_name() == PROCESSOR
    assert len(asked) == (platform == "darwin")


def test_a_processor_without_a_name_has_that_of_python(system, monkeypatch):
    """If the system does not answer."""

    def fail(*_, **__):
        raise FileNotFoundError(errno.ENOENT, "none")

    monkeypatch.setattr(subprocess, "run", fail)
    monkeypatch.setattr(Path, "read_text", fail)
    if hasattr(system, "winreg"):
        monkeypatch.setattr(system.winreg, "OpenKey", fail)
    monkeypatch.setattr(system.platform, "processor", lambda: "some")
    assert system.processor_name() == "some"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("processor\t: 0\nmodel name\t: AMD EPYC 9\nprocessor\t: 1\n", "AMD EPYC 9"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "Neoverse N1"),
        ("CPU implementer\t: 0x61\nCPU part\t: 0x022\n", "Apple part 0x022"),
        (
            "CPU implementer: 0x41\nCPU part: 0xd40\n\nCPU implementer: 0x41\nCPU part: 0xd08\n",
            "Neoverse V1",
        ),
        ("model name\t: ARMv8\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "ARMv8"),
    ],
)
def test_linux_describes_processors_by_names_or_numbers(text, name):
    """The first one counts."""
    assert load_system("linux").parse_processor_name(text) == name


def test_the_memory_of_the_machine_is_told(system, platform, tmp_path):
    """By files of Linux, and by psutil."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(f"MemTotal: {MEMORY >> 10} kB\n")
    assert [*system.find_memory_limits(tmp_path)] == [(MEMORY, "this machine's memory")]
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/self/statm").write_text("9 7 5")
    expected = 7 * mmap.PAGESIZE if platform == "linux" else 5 << 20
    assert system.resident_bytes(tmp_path) == expected


def test_the_limits_of_the_process_count(system, platform, limits):
    """Windows has none."""
    limits(RLIMIT_AS=(10, NONE), RLIMIT_RSS=(20, NONE))
    expected = [] if platform == "win32" else [(10, "ulimit -v"), (20, "ulimit -m")]
    assert [*system.find_process_limits()] == expected


@pytest.mark.parametrize(
    ("soft", "hard", "most", "raised"),
    [
        (256, NONE, {"linux": None, "darwin": 10_240}, {"linux": 20_000, "darwin": 10_240}),
        (256, 4096, {"linux": 4096, "darwin": 4096}, {"linux": 4096, "darwin": 4096}),
        (256, 15_000, {"linux": 15_000, "darwin": 10_240}, {"linux": 15_000, "darwin": 10_240}),
        (30_000, 40_000, {"linux": 40_000, "darwin": 10_240}, {}),
        (NONE, NONE, {"linux": None, "darwin": 10_240}, {}),
    ],
)
def test_the_limit_of_open_files_is_raised_as_far_as_may_be(
    system, platform, limits, soft, hard, most, raised
):
    """MacOS says that there is no limit, but refuses more than 10,240; Windows has none."""
    chosen = limits(RLIMIT_NOFILE=(soft, hard))
    assert system.most_open_files() == most.get(platform)
    before = system.allow_open_files(20_000)
    assert chosen == ([(raised[platform], hard)] if platform in raised else [])
    assert before == (soft if platform in raised else None)


def test_the_limit_of_open_files_is_lowered_again(system, platform, limits):
    """What is open already counts."""
    chosen = limits(RLIMIT_NOFILE=(256, 4096))
    with system.more_open_files(1000):
        during = [*chosen]
    if platform == "win32":
        assert chosen == []
        return
    assert len(during) == 1
    assert 1000 < during[0][0] < 2000
    assert chosen[1:] == [(256, 4096)]


@pytest.mark.process
@pytest.mark.smoke
@pytest.mark.skipif(os.name == "nt", reason="starts a shell")
def test_a_process_is_killed_with_those_that_it_has_started(system, platform, monkeypatch):
    """Those of Windows are found by psutil."""
    if platform == "win32":
        if psutil is None:
            pytest.skip("psutil is not installed")
        monkeypatch.setitem(sys.modules, "psutil", psutil)
        monkeypatch.setattr(signal, "SIGKILL", 9, raising=False)
    read, write = os.pipe()
    process = subprocess.Popen(
        ["sh", "-c", "sleep 600 & echo started; wait"], stdout=write, process_group=0
    )
    os.close(write)
    with open(read, "rb") as output:
        assert output.readline() == b"started\n"
        system.kill_group(process)
        process.wait()
        assert output.read() == b""  # no process has the other end
    system.kill_group(process)


def test_a_signal_reaches_the_main_thread(system):
    """Sent by another one."""
    seen = threading.Event()
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.set())
    try:
        thread = threading.Thread(target=system.signal_main_thread, args=[signal.SIGINT])
        thread.start()
        thread.join()
        assert seen.wait(10)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("leaves", [True, False])
def test_a_reader_that_leaves_is_noticed(system, platform, leaves):
    """Though nothing is written; but not if the writing ends at the same time."""
    (reader, writer), (ended, end) = os.pipe(), os.pipe()
    os.close(reader if leaves else end)
    assert system.wait_for_reader(writer, ended) == (leaves and platform != "win32")
    for number in (writer, ended, end if leaves else reader):
        os.close(number)


def test_a_poll_that_errs_tells_no_reader_away(monkeypatch):
    """A wrong end of a pipe must not end a search."""
    system = load_system("darwin")
    answer = SimpleNamespace(register=lambda *_: None, poll=lambda: [(7, select.POLLNVAL)])
    monkeypatch.setattr(system.select, "poll", lambda: answer)
    assert not system.wait_for_reader(7, 8)


def test_writing_tells_that_the_reader_has_left(system, platform):
    """Windows' C library says only that something is wrong; the system's own errors are others."""
    odd, named = OSError(errno.EINVAL, "Invalid argument"), OSError(errno.EINVAL, "no such name")
    odd.winerror, named.winerror = None, 123
    assert system.is_reader_gone(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert system.is_reader_gone(odd) == (platform == "win32")
    assert not system.is_reader_gone(named)


def test_text_has_the_same_bytes_on_all_systems(system, platform):
    """But on a console; a stream that is none of Python's is left as it is."""
    kept, shown = BytesIO(), BytesIO()
    shown.isatty = lambda: True
    system.sys.stdout = TextIOWrapper(kept, encoding="cp1252", newline="\r\n", errors="strict")
    system.sys.stderr = TextIOWrapper(shown, encoding="cp1252", newline="\r\n")
    system.prepare_streams()
    for stream in (system.sys.stdout, system.sys.stderr):
        stream.write("é\n")
        stream.flush()
    assert kept.getvalue() == ("é\n".encode() if platform == "win32" else b"\xe9\r\n")
    assert shown.getvalue() == b"\xe9\r\n"
    system.sys.stdout = None
    system.prepare_streams()


def test_a_server_s_address_is_its_own(system, platform, monkeypatch):
    """What others call reuse lets Windows' programs share an address."""
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)
    chosen = []
    system.bind_alone(SimpleNamespace(setsockopt=lambda *option: chosen.append(option[1])))
    assert chosen == [-5 if platform == "win32" else socket.SO_REUSEADDR]


PROGRAM = """
import importlib, pkgutil, sys
import {libraries}
from support.systems import become
become({platform!r})
{work}
"""

LIBRARIES = "click, rich.console, numpy, llvmlite.binding, xopen, platformdirs.unix"
MORE_LIBRARIES = (
    f"{LIBRARIES}, numba, pandas, Bio.SearchIO, multiprocessing.pool, concurrent.futures.process, "
    "distributed, starlette.applications, uvicorn, httpx, mcp, gymnasium, matplotlib.figure, "
    "pyarrow, scipy.sparse, fsspec, aiohttp, xlsxwriter"
)
"""Other packages are for the system that really runs: they are loaded before."""


def _run(platform, work, folder, libraries=LIBRARIES):
    code = PROGRAM.format(platform=platform, libraries=libraries, work=work)
    roots = [os.fspath(Path(systems.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))},
        capture_output=True,
        timeout=300,
        check=False,
    )


IMPORT_ALL = """
import swdual
names = [each.name for each in pkgutil.walk_packages(swdual.__path__, "swdual.")]
for name in names:
    if not name.endswith("__main__") and "cupy_card" not in name:
        importlib.import_module(name)
print(len(names))
"""


@pytest.mark.process
@pytest.mark.nightly("swdual")
@pytest.mark.parametrize("other", ["darwin", "win32"])
def test_every_module_is_loaded_without_what_a_system_lacks(other, tmp_path):
    done = _run(other, IMPORT_ALL, tmp_path, MORE_LIBRARIES)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > 500


SEARCH = """
from swdual.cli import main
names = "q.fa", "t.db"
for arguments in (
    ["makedb", "t.fa", "t.db"],
    ["makedb", "t.fa", "t.db", "--force"],
    ["search", *names, "--resume", "-o", "hits.tsv"],
    ["search", *names, "-o", "hits.json.gz", "--outfmt", "json"],
    ["search", *names, "--resume", "-o", "hits.tsv"],
    ["search", *names],
):
    try:
        main(arguments)
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"{arguments}: {stop.code}")
"""


@pytest.mark.process
def test_a_search_gives_the_same_bytes_on_all_systems(tmp_path):
    """Outputs are renamed, journals removed and kernels found as each system does it."""
    results = []
    for platform in SYSTEMS:
        folder = tmp_path / platform
        folder.mkdir()
        (folder / "q.fa").write_text(">q1\nMKVLAWGGHERMKVLAWDEF\n>q2\nACDEFGHIKLMNPQRSTVWY\n")
        (folder / "t.fa").write_text(">t1 one\nMKVLAWGGHERMKV\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n")
        done = _run(platform, SEARCH, folder)
        assert done.returncode == 0, done.stderr.decode()
        assert b"complete: nothing to resume" in done.stderr
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        kept = files.pop("hits.tsv.journal", None)
        assert (kept is None) == (platform == "linux")  # where a file can tell its search
        results.append((done.stdout, files))
    assert results[0][0]
    assert {*results[0][1]} == {"q.fa", "t.fa", "t.db", "hits.tsv", "hits.json.gz"}
    assert results[1:] == results[:1] * 2
