"""Clusters of separate processes on this machine, and what their workers run first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import ExitStack, contextmanager
from itertools import count

PATIENCE = 150.0
"""Seconds in which a scheduler or a worker has started, also on a busy machine."""

EXIT_ON_EOF = """
    import os
    import sys
    import threading

    def wait():
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
"""
"""What a scheduler runs first: it ends with the tests that hold its stdin, however they end."""


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


def held(hold, free=0):
    """Return what a worker runs first that begins no share as long as there is a file.

    Each share takes a moment longer, so that a test can make the file before all are done.
    It begins its first `free` shares all the same. Such a worker needs a second thread where it
    must send blocks to others meanwhile.
    """
    return f"""
        import os
        import time
        import swdual.cluster.remote as node

        free = [None] * {free}

        def score(*arguments, real=node.score, free=free):
            while os.path.exists({os.fspath(hold)!r}) and not free:
                time.sleep(0.01)
            del free[:1]
            time.sleep(0.03)
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
                stdin=subprocess.PIPE,
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
        self.process.stdin.close()

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
            "--preload",
            self._program(EXIT_ON_EOF),
            command=command,
        )
        self.address = self.scheduler.hears("Scheduler at:").split()[-1]

    def begin(self, *arguments, program="", threads=1, **options):
        """Begin to start a worker, which runs a program first; options as of `Part`."""
        words = [self.address, "--no-nanny", "--nthreads", threads, "--death-timeout", "300"]
        words += ["--preload", self._program(program)]
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

    def _program(self, text):
        """Write what a process runs first; return its file."""
        file = self.folder / f"preload{next(self._count)}.py"
        file.write_text(textwrap.dedent(text))
        return file

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
