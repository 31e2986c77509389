"""Jobs, their queue, and the searches that they run in threads.

All methods are called in the thread of the event loop, unless they say otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

from swdual.database.database import Database
from swdual.errors import OutputError, SwdualError
from swdual.format import check_taxonomy, check_translated
from swdual.io.output import Output
from swdual.master.kept_scorers import KeptScorers
from swdual.master.run import RunResults
from swdual.master.search import Search
from swdual.master.threads import ThreadExecutor
from swdual.request.options import SearchOptions
from swdual.results.file_types import SELF_COMPRESSED
from swdual.runtime.stopping import stoppable
from swdual.server.limits import Limits
from swdual.server.problems import Problem, Refused, explain
from swdual.server.requests import SearchRequest
from swdual.server.spool import Spool
from swdual.text.messages import sanitize

logger = logging.getLogger("swdual")

MAX_MESSAGES = 100
"""Messages of a job that are kept."""

NOTIFY_SECONDS = 0.05
"""Watchers hear of progress at most this often."""

QUEUED, RUNNING, FINISHED, FAILED, CANCELLED = (
    *("queued", "running", "finished", "failed", "cancelled"),
)
STATES = (QUEUED, RUNNING, FINISHED, FAILED, CANCELLED)


class _Stopped(Exception):
    """The job has to stop; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class SearchJob:
    """A search that a client asked for.

    Parameters
    ----------
    request, client
        What was asked for, and by whom.
    limits
        How long it may take, and how large it may be.
    folder
        Where its files are.
    """

    def __init__(self, request: SearchRequest, client: str, limits: Limits, folder: Path) -> None:
        self.id = secrets.token_urlsafe(16)
        self.client = client
        self.format = request.format.name
        self.outfmt = request.outfmt
        self.database = request.database
        self.state = QUEUED
        self.cells = self.cells_done = self.hits = 0
        self.messages: list[dict[str, str]] = []
        self.summary = ""
        self.problem: Problem | None = None
        self.readers = 0
        self.is_forgotten = False
        self.spool: Spool | None = None
        self.ended = 0.0
        self._request: SearchRequest | None = request
        self._limits = limits
        self._folder = folder
        self._created = time.monotonic()
        self._started = 0.0
        self._stop: Problem | None = None
        self._loop = asyncio.get_running_loop()
        self.change = asyncio.Event()  # the next change sets it: take it, then look at the state
        self._notified = 0.0
        self._path = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.state not in (QUEUED, RUNNING)

    @property
    def is_streamed(self) -> bool:
        """Whether the first bytes of the result are final before the last ones are written."""
        return self.format not in SELF_COMPRESSED

    @property
    def size(self) -> int:
        """Bytes of the result that can be read."""
        return 0 if self.spool is None else self.spool.flushed

    def describe(self, position: int | None = None) -> dict[str, Any]:
        """Return the state as a JSON object: see `description.JOB`."""
        now = self.ended if self.has_ended else time.monotonic()
        started = self._started or now
        return {
            "id": self.id,
            "state": self.state,
            "database": self.database,
            "format": self.outfmt,
            "position": position,
            "cells": self.cells,
            "cells_done": self.cells_done,
            "hits": self.hits,
            "result_bytes": self.size,
            "waited_seconds": round(started - self._created, 3),
            "run_seconds": round(now - started, 3),
            "messages": [*self.messages],
            "summary": self.summary,
            "problem": None if self.problem is None else self.problem.to_dict(),
        }

    def notify(self) -> None:
        """Wake those who wait."""
        change, self.change = self.change, asyncio.Event()
        change.set()

    def stop(self, problem: Problem) -> None:
        """Have the job stop as soon as its thread looks."""
        self._stop = problem

    def begin(self) -> None:
        """Note that the job runs now."""
        self.state, self._started = RUNNING, time.monotonic()
        self.notify()

    def end(self, state: str, problem: Problem | None = None) -> None:
        """Note how the job ended."""
        self.state, self.problem, self.ended = state, problem, time.monotonic()
        self._request = None
        self.notify()

    def run(
        self, database: Database, options: Mapping[str, Any], scorers: KeptScorers
    ) -> tuple[str, Problem | None]:
        """Search, and write the result; return how it ended. A thread of its own calls it.

        Parameters
        ----------
        database
            What is searched.
        options
            Options of `SearchOptions` that the server decides about.
        scorers
            Scorers of earlier jobs.
        """
        assert self._request is not None
        descriptor, path = tempfile.mkstemp(dir=self._folder)
        self._path = path
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._request.queries)
            with stoppable(self._check):
                self._work(self._request, Path(path), database, options, scorers)
        except _Stopped as stop:
            return (CANCELLED if stop.problem.status == 410 else FAILED), stop.problem
        except (SwdualError, MemoryError) as error:
            if getattr(error, "exit_code", 255) not in (1, 4):
                logger.error("job %s: %s", self.id, error)
            return FAILED, explain(error, path, self._request.queries_name)
        except OSError as error:
            logger.error("job %s: %s", self.id, error)
            cause = error.strerror or error
            return FAILED, explain(OutputError(f"the server cannot store the result: {cause}"))
        except Exception as error:
            logger.exception("job %s: internal error", self.id)
            kind = type(error).__name__
            return FAILED, Problem(500, f"internal error: {kind}; the log of the server has more")
        finally:
            os.unlink(path)
        return FINISHED, None

    def _work(
        self,
        request: SearchRequest,
        queries: Path,
        database: Database,
        options: Mapping[str, Any],
        scorers: KeptScorers,
    ) -> None:
        self._check()
        spool = self.spool = Spool(self._folder, self._notify_soon)
        chosen = SearchOptions(**request.options, **options, progress=self._report)
        search = Search(
            queries, database, chosen, ThreadExecutor(compiles_first=False, kept_scorers=scorers)
        )
        self._report(0, search.cells)
        search.prepare()
        self._check()
        check_translated(request.format.name, search.params)
        check_taxonomy(request.format.name, request.format.fields, search.targets)
        stream = Output(cast(IO[bytes], _Stream(self, spool)), "the result")
        output = request.format
        with RunResults(search, request.report_alignments, request.command) as results:
            output.format.write(results, stream, output.fields, header=output.header)
        spool.flush()
        self._check()
        self.hits, self.summary = results.hits, results.describe()

    def add_message(self, level: str, text: str) -> None:
        """Keep a message of the search for the client. The thread of the job calls it."""
        if len(self.messages) < MAX_MESSAGES and self._request is not None:
            text = sanitize(text.replace(self._path, self._request.queries_name))
            self.messages.append({"level": level, "text": text})

    def check_size(self, size: int) -> None:
        """Stop if the result is too large, or as `_check` does. The thread of the job calls it."""
        if size > self._limits.result_bytes:
            raise _Stopped(
                Problem(
                    413,
                    f"the result is larger than {self._limits.result_bytes:,} bytes; ask for fewer "
                    "hits (`max_target_seqs`), or send fewer queries at a time",
                )
            )
        self._check()

    def _check(self) -> None:
        """Stop if somebody wants it, or the time is over. The thread of the job calls it."""
        if self._stop is not None:
            raise _Stopped(self._stop)
        if time.monotonic() - self._started > self._limits.job_seconds:
            raise _Stopped(
                Problem(
                    413,
                    f"the job ran longer than {self._limits.job_seconds:g} seconds; send fewer "
                    "queries at a time",
                )
            )

    def _report(self, done: int, total: int) -> None:
        """Note the cells; stop if there are too many. The thread of the job calls it."""
        self._check()
        self.cells, self.cells_done = total, done
        if total > self._limits.cells:
            raise _Stopped(
                Problem(
                    413,
                    f"the search has {total:,} cells, but a job may have at most "
                    f"{self._limits.cells:,}; send fewer queries at a time",
                )
            )
        if time.monotonic() - self._notified > NOTIFY_SECONDS or done == total:
            self._notify_soon()

    def _notify_soon(self) -> None:
        """Wake those who wait, from the thread of the job."""
        self._notified = time.monotonic()
        self._loop.call_soon_threadsafe(self.notify)


class _Stream:
    """What a format writes to: the spool, as long as it is not too large."""

    def __init__(self, job: SearchJob, spool: Spool) -> None:
        self._job = job
        self._spool = spool

    def write(self, data: bytes | memoryview, /) -> int:
        self._job.check_size(self._spool.size + len(data))
        return self._spool.write(data)


class JobQueue:
    """Runs jobs in the order in which they came, some at a time, and keeps the results for a while.

    Parameters
    ----------
    databases
        The databases by their names.
    limits
        How much clients may ask for.
    at_once
        Jobs that run at a time.
    options
        Options of `SearchOptions` that the server decides about.
    folder
        Where files of jobs are.
    """

    def __init__(
        self,
        databases: Mapping[str, Database],
        limits: Limits,
        at_once: int,
        options: Mapping[str, Any],
        folder: Path,
    ) -> None:
        self.databases = databases
        self.limits = limits
        self.ended: Counter[str] = Counter()
        self.cells = 0
        self.result_bytes = 0
        self.run_seconds = 0.0
        self._at_once = at_once
        self._options = options
        self._folder = folder
        self._jobs: dict[str, SearchJob] = {}  # in the order of their submission
        self._queued: deque[SearchJob] = deque()
        self._running: set[SearchJob] = set()
        self._read: set[SearchJob] = set()  # whose results are being read, also forgotten ones
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads: dict[int, SearchJob] = {}
        self._scorers = KeptScorers()
        self._executor = ThreadPoolExecutor(at_once, thread_name_prefix="swdual job")
        self._stopping = False

    @property
    def queued(self) -> int:
        """Number of jobs that wait."""
        return len(self._queued)

    @property
    def running(self) -> int:
        """Number of jobs that run."""
        return len(self._running)

    @property
    def kept(self) -> int:
        """Number of jobs that are known."""
        return len(self._jobs)

    @property
    def readers(self) -> int:
        """Number of requests that read results."""
        return sum(job.readers for job in self._read)

    def list_databases(self) -> list[dict[str, Any]]:
        """Return what clients may know of the databases: see `description.DATABASE`."""
        return [
            {
                "name": name,
                "type": database.alphabet.name,
                "sequences": len(database),
                "residues": database.residues,
                "digest": database.content_digest,
                "masks": list(database.masks),
            }
            for name, database in self.databases.items()
        ]

    def find(self, identifier: str, client: str) -> SearchJob:
        """Return a job of a client.

        Raises
        ------
        Refused
            If the client has no such job.
        """
        self.forget_old()
        job = self._jobs.get(identifier)
        if job is None or job.client != client:
            raise Refused(404, "there is no such job of yours; finished jobs are kept for a while")
        return job

    def describe(self, job: SearchJob) -> dict[str, Any]:
        """Return the state of a job, with its position in the queue (from 1)."""
        waits = job.state == QUEUED and job in self._queued
        return job.describe(self._queued.index(job) + 1 if waits else None)

    def submit(
        self, request: SearchRequest, client: str, kind: Callable[..., SearchJob] = SearchJob
    ) -> SearchJob:
        """Return a new job, which waits for its turn; `kind` makes it, as `SearchJob` does.

        Raises
        ------
        Refused
            If there is no such database, or there are too many jobs.
        """
        if request.database not in self.databases:
            there = ", ".join(self.databases)
            raise Refused(
                422, f"there is no database {sanitize(request.database)[:80]!r}; there are: {there}"
            )
        if self._stopping:
            raise Refused(503, "the server stops; send the search again later", Retry_After="30")
        own = [job for job in self._jobs.values() if job.client == client and not job.has_ended]
        if len(own) >= self.limits.client_jobs:
            raise Refused(
                429,
                f"you have {len(own)} jobs that wait or run, and may have "
                f"{self.limits.client_jobs}; wait for one, or cancel it",
                Retry_After="5",
            )
        if len(self._queued) >= self.limits.queued_jobs:
            raise Refused(
                503,
                f"{len(self._queued)} jobs wait already; send the search again later",
                Retry_After="10",
            )
        job = kind(request, client, self.limits, self._folder)
        self._jobs[job.id] = job
        self._queued.append(job)
        self._start_next()
        self.forget_old()
        return job

    def cancel(self, job: SearchJob, why: str = "the job was cancelled") -> None:
        """Stop a job; one that has ended stays as it is."""
        if job.has_ended:
            return
        problem = Problem(410, why)
        if job.state == RUNNING:
            job.stop(problem)
        else:
            self._queued.remove(job)
            job.end(CANCELLED, problem)
            self.ended[CANCELLED] += 1

    def forget(self, job: SearchJob) -> None:
        """Cancel a job, and free its result as soon as nobody reads it."""
        self.cancel(job)
        self._jobs.pop(job.id, None)
        if job.has_ended and not job.is_forgotten:
            job.is_forgotten = True
            if job.spool is not None:
                job.spool.drop()

    def begin_reading(self, job: SearchJob) -> None:
        """Note that a client reads the result of a job."""
        job.readers += 1
        self._read.add(job)

    def end_reading(self, job: SearchJob) -> None:
        """Note that it does so no longer."""
        job.readers -= 1
        if not job.readers:
            self._read.discard(job)
            self._start_next()

    def stop(self) -> tuple[int, int]:
        """Take no more jobs, and cancel those whose result nobody is reading.

        Returns
        -------
        The number of jobs that go on, and of those that were cancelled.
        """
        self._stopping = True
        going = [job for job in self._jobs.values() if not job.has_ended]
        idle = [job for job in going if job.state == QUEUED or not job.readers]
        for job in idle:
            self.cancel(job, "the server stops")
        return len(going) - len(idle), len(idle)

    async def close(self) -> None:
        """Cancel all jobs, and wait for their threads."""
        self._stopping = True
        for job in [*self._jobs.values()]:
            self.cancel(job, "the server stops")
        await asyncio.gather(*self._tasks)
        for job in [*self._jobs.values()]:
            self.forget(job)
        self._executor.shutdown()
        self._scorers.close()

    def keep_message(self, record: logging.LogRecord) -> bool:
        """Keep a message of a search with its job; return whether it is somebody else's.

        A filter of the logger: any thread calls it.
        """
        job = self._threads.get(threading.get_ident())
        if job is None or record.levelno >= logging.ERROR:
            return True
        if record.levelno >= logging.INFO:
            job.add_message(record.levelname.lower(), record.getMessage())
        return False

    def _start_next(self) -> None:
        while len(self._running) < self._at_once:
            busy = Counter(job.client for job in self._running)
            held: Counter[str] = Counter()
            for each in self._read:
                held[each.client] += each.size
            full = held.total() > self.limits.kept_bytes
            free = (
                job
                for job in self._queued
                if busy[job.client] < self.limits.client_running and not (full and held[job.client])
            )
            job = next(free, None)
            if job is None:
                return
            self._queued.remove(job)
            self._running.add(job)
            job.begin()
            task = asyncio.create_task(self._run(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, job: SearchJob) -> None:
        loop = asyncio.get_running_loop()
        state, problem = await loop.run_in_executor(self._executor, self._run_in_thread, job)
        self._running.discard(job)
        job.end(state, problem)
        self.ended[state] += 1
        self.cells += job.cells_done
        self.result_bytes += job.size
        self.run_seconds += job.describe()["run_seconds"]
        if job.id not in self._jobs:
            self.forget(job)
        self._start_next()

    def _run_in_thread(self, job: SearchJob) -> tuple[str, Problem | None]:
        self._threads[threading.get_ident()] = job
        try:
            return job.run(self.databases[job.database], self._options, self._scorers)
        finally:
            del self._threads[threading.get_ident()]

    def forget_old(self) -> None:
        """Forget finished jobs that are too old, too many or too large."""
        over = [job for job in self._jobs.values() if job.has_ended and not job.readers]
        over.sort(key=lambda job: job.ended)
        size = sum(job.size for job in over)
        end = time.monotonic() - self.limits.kept_seconds
        for position, job in enumerate(over):
            many = len(over) - position > self.limits.kept_jobs
            if job.ended < end or many or size > self.limits.kept_bytes:
                size -= job.size
                self.forget(job)
