"""A folder with two small files, and three ways to run the command in it."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from swdual.runtime.compilation import COMPILING, compilation

QUERIES = b">q1 first query\nMKVLAWGGHERMKVLAWDEF\n>q2\nACDEFGHIKLMNPQRSTVWY\n"
TARGETS = b">t1 one\nMKVLAWGGHERMKV\n>t2 two\nGGGGWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n"


MANY_CPUS = 64
"""What the command line takes for the CPUs of this machine, so that no test's threads are cut."""


compilation.announced = True  # tests of messages do not depend on which kernels are compiled


class Outcome(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


class _Kept(io.BytesIO):
    """Bytes that can still be read when the stream was closed."""

    def close(self):
        pass


def _is_worker(thread):
    return thread.name.startswith("swdual cpu") and thread.is_alive()


def _text(stream):
    return io.TextIOWrapper(stream, encoding="utf-8", newline="")


@pytest.fixture(autouse=True)
def _same_messages():
    """Leave the package's logger as it was: a command run in this process sets it up anew."""
    logger = logging.getLogger("swdual")
    level, logger_propagates = logger.level, logger.propagate
    yield
    logger.setLevel(level)
    logger.propagate = logger_propagates


@pytest.fixture
def umask():
    """A function that sets the umask until the test ends."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder with ``q.fa`` and ``t.fa``; temporary files go to ``scratch`` in it."""
    (tmp_path / "q.fa").write_bytes(QUERIES)
    (tmp_path / "t.fa").write_bytes(TARGETS)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here, monkeypatch):
    """Run the command in this process, with the given bytes as standard input."""
    from swdual.cli import main

    logger = logging.getLogger("swdual")
    state = (logger.level, logger.propagate, logger.handlers)
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def call(*arguments, stdin=b""):
        before = set(threading.enumerate())
        out, err = _Kept(), _Kept()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", _text(io.BufferedReader(io.BytesIO(stdin))))
            patch.setattr(sys, "stdout", _text(out))
            patch.setattr(sys, "stderr", _text(err))
            patch.setattr("swdual.cli._options.cpus", lambda: MANY_CPUS)
            with pytest.raises(SystemExit) as stop:
                main([os.fspath(argument) for argument in arguments])
            sys.stderr.flush()
        # A command that has ended, well or not, leaves no worker behind.
        assert not [each for each in set(threading.enumerate()) - before if _is_worker(each)]
        texts = (stream.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err))
        return Outcome(stop.value.code or 0, *texts)

    yield call
    for added in logger.handlers:
        if added not in state[2]:
            added.close()
    logger.level, logger.propagate, logger.handlers = state
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def refuses(run, here):
    """Run the command, which must fail with this code, say these words and change no file."""

    def call(code, words, *arguments, stdin=b""):
        before = _files(here)
        outcome = run(*arguments, stdin=stdin)
        assert "internal error" not in outcome.err
        assert outcome.code == code, outcome.err
        for word in words:
            assert word in outcome.err
        assert outcome.out == ""
        assert _files(here) == before
        return outcome

    return call


@pytest.fixture
def spawn(here):
    """Run the command in a process of its own."""

    def call(*arguments, **options):
        environment = {**os.environ, **options.pop("env", {})}
        command = [sys.executable, "-m", "swdual", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if "input" in options:
            del pipes["stdin"]
        done = subprocess.run(
            command, **{"timeout": 300, **pipes, **options}, env=environment, check=False
        )
        texts = (
            (text or b"").decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr)
        )
        out, err = texts
        return Outcome(done.returncode, out, err.replace(f"swdual: {COMPILING}\n", ""))

    return call


def _files(folder: Path) -> dict[str, bytes | None]:
    """Return every file below a folder and its bytes (None for folders, pipes and the like)."""
    return {
        os.fspath(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }
