"""Clusters of separate processes on this machine, and data for searches that take a moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack, contextmanager
from itertools import count

import numpy as np
import pytest
from cluster.moments import OPTIONS

import swdual
from swdual.cluster import partition
from swdual.database import build

PATIENCE = 150.0
"""Seconds in which a scheduler or a worker has started, also on a busy machine."""

LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
BASES = np.frombuffer(b"ACGT", np.uint8)


def slow(seconds):
    """Return what a worker runs first that rests before each share, so that much can happen."""
    return f"""
        import time
        import swdual.cluster.remote as node

        def score(*arguments, real=node.score, sleep=time.sleep):
            sleep({seconds})
            return real(*arguments)

        node.score = score
    """


def held(hold):
    """Return what a worker runs first that begins no share as long as there is a file.

    Such a worker needs a second thread where it must send blocks to others meanwhile.
    """
    return f"""
        import os
        import time
        import swdual.cluster.remote as node

        def score(*arguments, real=node.score):
            while os.path.exists({os.fspath(hold)!r}):
                time.sleep(0.01)
            return real(*arguments)

        node.score = score
    """


def releasing(hold):
    """Return what a worker runs first that deletes the file when it has done a share."""
    return f"""
        import pathlib
        import swdual.cluster.remote as node

        def score(*arguments, real=node.score):
            found = real(*arguments)
            pathlib.Path({os.fspath(hold)!r}).unlink(missing_ok=True)
            return found

        node.score = score
    """


class Part:
    """A scheduler or a worker, in a process of its own.

    `command` runs it; `environment` is added to that of this process.
    """

    def __init__(self, kind, folder, *arguments, command=(), environment=()):
        folder.mkdir()
        self.log = folder / "log"
        self.folder = folder
        words = [*command, sys.executable, "-m", "dask", kind, *arguments, "--no-dashboard"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [os.fspath(word) for word in words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **dict(environment)},
                start_new_session=True,
            )

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def kill(self):
        """End it as a machine does that loses its power."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.process.wait(60)

    def hears(self, word):
        """Wait until its log has a word; return the line."""
        until = time.monotonic() + PATIENCE
        while True:
            ended = self.process.poll() is not None
            for line in self.log.read_text(errors="replace").splitlines():
                if word in line:
                    return line
            assert not ended, self.log.read_text(errors="replace")
            assert time.monotonic() < until, self.log.read_text(errors="replace")
            time.sleep(0.02)


class Cluster:
    """A scheduler and workers that come and go, all on this machine; `close` ends everything.

    The scheduler listens at `host`; `command` runs it.
    """

    def __init__(self, folder, host="127.0.0.1", command=()):
        self.folder = folder
        self.workers = []
        self._count = count()
        self._end = ExitStack()
        self.scheduler = self._started(
            "scheduler",
            "--host",
            host,
            "--port",
            "0",
            "--idle-timeout",
            "15 minutes",
            command=command,
        )
        self.address = self.scheduler.hears("Scheduler at:").split()[-1]

    def begin(self, *arguments, program="", threads=1, **options):
        """Begin to start a worker, which runs a program first; options as of `Part`."""
        words = [self.address, "--no-nanny", "--nthreads", threads, "--death-timeout", "300"]
        preload = self.folder / f"preload{next(self._count)}.py"
        preload.write_text(textwrap.dedent(program))
        words += ["--preload", preload]
        worker = self._started("worker", *words, *arguments, **options)
        self.workers.append(worker)
        return worker

    def add(self, *arguments, **options):
        """Start a worker, and wait until it is there."""
        return self.there(self.begin(*arguments, **options))

    def there(self, worker):
        """Wait until the scheduler knows a worker."""
        worker.hears("Registered to:")
        worker.address = worker.hears("Start worker at:").split()[-1]
        return worker

    def close(self):
        self._end.close()

    def _started(self, kind, *arguments, **options):
        folder = self.folder / f"{kind}{next(self._count)}"
        words = [str(word) for word in arguments]
        if kind == "worker":
            words += ["--local-directory", folder / "local"]
            words += [] if "--memory-limit" in words else ["--memory-limit", "4GB"]
        part = Part(kind, folder, *words, **options)
        self._end.callback(part.kill)
        return part


@contextmanager
def cluster_of(folder, workers, **options):
    """A cluster with so many workers; it is gone in the end."""
    cluster = Cluster(folder)
    try:
        for worker in [cluster.begin(**options) for _ in range(workers)]:
            cluster.there(worker)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def many_shares(monkeypatch):
    """Searches are cut into many shares, though they take a moment only."""
    monkeypatch.setattr(partition, "BRIEFEST", 0.03)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """A cluster of two workers with a thread each; tests leave it as it is."""
    with cluster_of(tmp_path_factory.mktemp("pair"), 2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A cluster of two workers as Dask itself starts it: it starts again those that end."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        local_directory=os.fspath(tmp_path_factory.mktemp("dask")),
    ) as cluster:
        yield cluster


@pytest.fixture
def make_cluster(tmp_path_factory):
    """A function that makes a cluster of so many workers, which may be harmed."""
    with ExitStack() as end:

        def make(workers=2, **options):
            folder = tmp_path_factory.mktemp("cluster")
            return end.enter_context(cluster_of(folder, workers, **options))

        yield make


def drawn(rng, letters, length):
    return rng.choice(letters, length).tobytes().decode()


def family(seed, letters, queries, targets):
    """Return queries, and targets of which some hold pieces of them; lengths as given."""
    rng = np.random.default_rng(seed)
    asked = [drawn(rng, letters, length) for length in queries]
    found = []
    for number, length in enumerate(targets):
        text = drawn(rng, letters, length)
        if number % 7 == 0:
            query = asked[number % len(asked)]
            cut = int(rng.integers(0, len(query) // 2))
            text = text[: length // 3] + query[cut : cut + 60] + text[length // 3 :]
        found.append(text)
    return asked, found


def write(path, name, texts):
    path.write_text("".join(f">{name}{k} number {k}\n{text}\n" for k, text in enumerate(texts)))


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with small and large searches of proteins and nucleotides, and their databases.

    ``q.fa`` in ``d.db`` takes a moment, ``long.fa`` in ``wide.db`` a second or a few of a thread.
    """
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(9)
    for queries, targets, seed, letters, shape in (
        ("q", "d", 1, LETTERS, ((5, 30, 120, 7, 60, 300), rng.integers(1, 300, 700))),
        ("nq", "nd", 2, BASES, ((40, 200, 25), rng.integers(20, 400, 300))),
        ("long", "wide", 3, LETTERS, ((1000,) * 24, rng.integers(300, 500, 1500))),
    ):
        asked, found = family(seed, letters, *shape)
        write(folder / f"{queries}.fa", "q", asked)
        write(folder / f"{targets}.fa", "t", found)
        kind = "nucl" if letters is BASES else "prot"
        swdual.makedb(folder / f"{targets}.fa", folder / f"{targets}.db", dbtype=kind)
    return folder


@pytest.fixture(scope="session")
def local(data):
    """What the large search finds on one machine."""
    return swdual.search(data / "long.fa", data / "wide.db", **OPTIONS)


@pytest.fixture
def sharded(data, here, monkeypatch):
    """A database in three parts, of several blocks, each of which is in one file only."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 1 << 14)
    swdual.makedb(data / "d.fa", here / "s.db", shards=3)
    return here / "s.db"
