"""`swdual serve`: a search server."""

from __future__ import annotations

import importlib
from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._on_server import token_option
from swdual.cli._options import Command, Count, Real, combine, declare, limit_threads, option
from swdual.cli._size import Size

GROUPS = {
    "Address": "host port allow_host token_file",
    "Speed and memory": "threads jobs device memory_limit gpu_memory_limit",
    "Limits": "max_query_size max_cells max_time max_result_size max_queued max_client_jobs "
    "max_client_running keep_time keep_jobs keep_size grace",
}

EXAMPLES = """
swdual serve proteins.db
swdual serve proteins.db genomes.db --port 8081 --max-time 60
swdual serve proteins.db --host 0.0.0.0 --allow-host search.example.org --token-file tokens
swdual search queries.fasta proteins.db --server http://127.0.0.1:8080
"""

address_options = combine(
    option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        metavar="ADDRESS",
        help="Address to listen on. Any but a loopback address needs a token.",
    ),
    option(
        "--port",
        type=Count(min=0, max=65535),
        default=8080,
        show_default=True,
        help="Port to listen on; 0 is any free one.",
    ),
    option(
        "--allow-host",
        multiple=True,
        metavar="NAME",
        help="Another name by which clients address the server, such as that of a proxy. Needs a "
        "token. May be repeated.",
    ),
)
"""Where the server listens."""

job_limit_options = combine(
    option(
        "--max-query-size",
        type=Size(1024),
        default="4M",
        show_default=True,
        help="Largest request.",
    ),
    option(
        "--max-cells",
        type=Size(1000),
        default="10000G",
        show_default=True,
        metavar="N",
        help="Largest job: residues of its queries, times those of the database.",
    ),
    option(
        "--max-time",
        type=Real(min=0),
        default=600.0,
        show_default=True,
        metavar="SECONDS",
        help="Longest run time of a job.",
    ),
    option(
        "--max-result-size",
        type=Size(1024),
        default="1G",
        show_default=True,
        help="Largest result.",
    ),
)
"""How large a job may be."""

limit_options = combine(
    job_limit_options,
    option(
        "--max-queued",
        type=Count(min=1),
        default=64,
        show_default=True,
        help="Most jobs that wait.",
    ),
    option(
        "--max-client-jobs",
        type=Count(min=1),
        default=8,
        show_default=True,
        help="Most jobs of a client that wait or run. Clients are told apart by their tokens, or "
        "else by their addresses.",
    ),
    option(
        "--max-client-running",
        type=Count(min=1),
        default=1,
        show_default=True,
        help="Most jobs of a client that run at a time.",
    ),
    option(
        "--keep-time",
        type=Real(min=0),
        default=900.0,
        show_default=True,
        metavar="SECONDS",
        help="How long the result of a job is kept.",
    ),
    option(
        "--keep-jobs",
        type=Count(min=1),
        default=256,
        show_default=True,
        help="Most finished jobs that are kept.",
    ),
    option(
        "--keep-size",
        type=Size(1024),
        default="4G",
        show_default=True,
        help="Size of all results that are kept, in the folder for temporary files.",
    ),
    option(
        "--grace",
        type=Real(min=0),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="How long jobs whose results are being read may go on when the server is stopped.",
    ),
)
"""How much clients may ask for."""

LIMITS = {
    **{"max_query_size": "query_bytes", "max_cells": "cells", "max_time": "job_seconds"},
    **{"max_result_size": "result_bytes", "max_queued": "queued_jobs"},
    **{"max_client_jobs": "client_jobs", "max_client_running": "client_running"},
    **{"keep_time": "kept_seconds", "keep_jobs": "kept_jobs", "keep_size": "kept_bytes"},
}
"""The fields of `Limits`, by the parameters of these options."""


@click.command(
    "serve", cls=Command, groups=GROUPS, examples=EXAMPLES, short_help="Run a search server."
)
@click.argument("databases", nargs=-1, required=True, metavar="DB...", type=click.Path())
@address_options
@token_option
@option(
    "-p",
    "--threads",
    type=Count(min=1),
    metavar="N",
    envvar="SWDUAL_THREADS",
    show_envvar=True,
    help="Number of CPU threads of all jobs together.  [default: all that this process may use]",
)
@option(
    "--jobs",
    type=Count(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Jobs that run at a time; they divide the threads.",
)
@combine(*map(declare, ["device", "memory_limit", "gpu_memory_limit"]))
@limit_options
@logging_options
def command(
    databases: tuple[str, ...],
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    token_file: str | None,
    threads: int | None,
    jobs: int,
    device: str,
    memory_limit: int | None,
    gpu_memory_limit: int | None,
    grace: float,
    progress: bool,
    **limits: Any,
) -> None:
    """Answer searches by HTTP, with databases and kernels that are ready.

    DB is a database that 'swdual makedb' wrote; clients name it by the name of its file. It is
    checked at the start, and stays open.

    The server has a page to search from, at its address, and describes its interface in
    /openapi.json. 'swdual search --server URL' writes what a search on this machine writes. SIGINT
    or SIGTERM ends the server in order, a second one at once.
    """
    threads = limit_threads(threads)
    from swdual.errors import ServerError
    from swdual.runtime.extras import install_command
    from swdual.server.limits import Limits
    from swdual.server.tokens import read_tokens

    try:
        service = importlib.import_module("swdual.server.service")
    except ModuleNotFoundError as error:
        raise ServerError(
            f"a server needs Starlette and uvicorn ({error}); install them: "
            f"{install_command('serve')}"
        ) from error
    options = service.ServerOptions(
        host=host,
        port=port,
        allowed_hosts=allow_host,
        tokens=read_tokens(token_file),
        jobs=jobs,
        threads=threads,
        device=device,
        memory_limit=memory_limit,
        gpu_memory_limit=gpu_memory_limit,
        grace_seconds=grace,
        limits=Limits(**{LIMITS[name]: value for name, value in limits.items()}),
    )
    with service.open_databases(databases) as opened:
        service.serve(opened, options)
