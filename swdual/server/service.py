"""Opens the databases, runs the server, and stops it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from swdual.database.database import Database
from swdual.errors import InputError, ServerError
from swdual.master.compilation import compile_kernels
from swdual.runtime.memory import find_allowance
from swdual.runtime.system import available_threads, bind_alone
from swdual.server.app import make_app
from swdual.server.connections import (
    BACKLOG,
    allow_connections,
    end_stalled,
    make_connection_class,
)
from swdual.server.jobs import JobQueue
from swdual.server.limits import Limits
from swdual.server.tokens import LOOPBACK, VARIABLE, Tokens
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

UNFINISHED = "ASGI callable returned without completing response."
"""What uvicorn logs when a result is cut off, as is meant."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server runs.

    Parameters
    ----------
    host, port
        Where it listens; port 0 is any free one.
    allowed_hosts
        Other names by which clients address it.
    tokens
        Secrets of clients.
    jobs
        Jobs that run at a time.
    threads
        CPU threads of all jobs together; by default as many as the process may use.
    device, memory_limit, gpu_memory_limit
        As for `swdual.search`; the memory is that of all jobs together.
    grace_seconds
        How long jobs whose results are being read may go on when the server is to stop.
    limits
        How much clients may ask for.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    allowed_hosts: Sequence[str] = ()
    tokens: Sequence[str] = ()
    jobs: int = 1
    threads: int | None = None
    device: str = "auto"
    memory_limit: int | None = None
    gpu_memory_limit: int | None = None
    grace_seconds: float = 30.0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        exposed = "allow_host" if self.allowed_hosts else ""
        exposed = exposed if _is_loopback(self.host) else "host"
        if exposed and not self.tokens:
            raise InputError(
                f"`{exposed}` lets other machines in, which needs a token: give `token_file`, or "
                f"set {VARIABLE}"
            )

    @property
    def hosts(self) -> list[str]:
        """The names by which clients may address the server."""
        return [*LOOPBACK, self.host, *self.allowed_hosts]

    @property
    def search_options(self) -> dict[str, Any]:
        """The options of `SearchOptions` of each job."""
        threads = max(1, (self.threads or available_threads()) // self.jobs)
        memory = self.memory_limit
        if self.jobs > 1:
            memory = find_allowance(memory).bytes // self.jobs
        return {
            "threads": threads,
            "device": self.device,
            "memory_limit": memory,
            "gpu_memory_limit": self.gpu_memory_limit,
        }


@contextmanager
def open_databases(paths: Iterable[str]) -> Iterator[dict[str, Database]]:
    """Open and check databases in this block; yields them by the names of their files.

    Clients see these names only, never the paths.

    Parameters
    ----------
    paths
        Databases that `makedb` wrote.

    Raises
    ------
    DatabaseError
        If one cannot be opened, or is damaged.
    InputError
        If two have the same name.
    """
    opened: dict[str, Database] = {}
    with ExitStack() as files:
        for path in paths:
            name = os.path.basename(path)
            if name in opened:
                raise InputError(f"two databases are called {name}; rename one", file=path)
            database = files.enter_context(Database.open(path, check=True))
            database.name = name
            opened[name] = database
            logger.info(
                "%s: %s, %s",
                name,
                database.describe_sequences(),
                pluralize(database.residues, "residue", "residues"),
            )
        yield opened


def serve(databases: Mapping[str, Database], options: ServerOptions) -> None:
    """Answer requests until SIGINT or SIGTERM.

    The first signal ends it in order: no more jobs are taken, those that wait or whose results
    nobody reads are cancelled, and the others may finish for a while. The second one cancels all.

    Parameters
    ----------
    databases
        The databases by their names.
    options
        How it runs.

    Raises
    ------
    ServerError
        If the address cannot be used.
    """
    compile_kernels(adjusts=True)
    logging.getLogger("uvicorn.error").addFilter(_is_no_cut)
    with tempfile.TemporaryDirectory(prefix="swdual-serve-") as folder:
        search_options = options.search_options
        queue = JobQueue(databases, options.limits, options.jobs, search_options, Path(folder))
        config = make_config(queue, options)
        logger.addFilter(queue.keep_message)
        with listen(options.host, options.port, options.limits.stall_seconds) as listener:
            host, port = listener.getsockname()[:2]
            logger.info(
                "listening on http://%s:%d/ (%s at a time, %s each)",
                f"[{host}]" if ":" in host else host,
                port,
                pluralize(options.jobs, "job", "jobs"),
                pluralize(search_options["threads"], "thread", "threads"),
            )
            try:
                _Server(config, queue).run([listener])
            finally:
                logger.removeFilter(queue.keep_message)
    logger.info("stopped")


def make_config(queue: JobQueue, options: ServerOptions) -> uvicorn.Config:
    """Return how uvicorn answers requests.

    Parameters
    ----------
    queue
        Runs the jobs.
    options
        How the server runs.

    Raises
    ------
    ServerError
        If the system does not allow enough files.
    """
    responses: Counter[int] = Counter()
    most = allow_connections(options.limits, options.jobs)
    return uvicorn.Config(
        make_app(queue, options.hosts, Tokens(options.tokens), responses),
        http=make_connection_class(options.limits, most, responses),
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(options.grace_seconds),
        ws="none",
        lifespan="on",
    )


class _Server(uvicorn.Server):
    """A server that tells which jobs go on when it is to stop."""

    def __init__(self, config: uvicorn.Config, queue: JobQueue) -> None:
        super().__init__(config)
        self._queue = queue

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; at the second signal, stop at once. See `uvicorn.Server`."""
        # The signal may have come while the loop changes what is to be changed here.
        asyncio.get_running_loop().call_soon_threadsafe(self._begin_to_stop, sig)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer those who wait, and end the jobs, also at the second signal."""
        await super().shutdown(sockets)
        if self.force_exit:
            for task in self.server_state.tasks:
                task.cancel()
            await self.lifespan.shutdown()

    def _begin_to_stop(self, number: int) -> None:
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        going, cancelled = self._queue.stop()
        logger.info(
            "%s: %s may finish; %s cancelled",
            signal.Signals(number).name,
            pluralize(going, "job whose result is being read", "jobs whose results are being read"),
            pluralize(cancelled, "other is", "others are"),
        )


def listen(host: str, port: int, stall_seconds: float) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host, port
        The address.
    stall_seconds
        As in `Limits`.

    Raises
    ------
    ServerError
        If the address cannot be used.
    """
    with ExitStack() as failed:
        try:
            kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = failed.enter_context(socket.socket(kind))
            bind_alone(listener)
            # Connections inherit it. asyncio sets it only for sockets that name their protocol:
            # without it a body waits up to 40 ms, until the client acknowledges the header lines.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end_stalled(listener, stall_seconds)
            listener.bind(address)
        except OSError as error:
            raise ServerError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; choose another "
                "`port`"
            ) from error
        failed.pop_all()
    return listener


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_no_cut(record: logging.LogRecord) -> bool:
    return record.getMessage() != UNFINISHED
