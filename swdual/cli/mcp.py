"""`swdual mcp`: tools for agents."""

from __future__ import annotations

from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._options import Command, combine, declare, limit_threads
from swdual.cli.serve import LIMITS, job_limit_options

MACHINE = ("threads", "device", "memory_limit", "gpu_memory_limit")
GROUPS = {
    "Speed and memory": " ".join(MACHINE),
    "Limits": "max_query_size max_cells max_time max_result_size",
}
EXAMPLES = "swdual mcp proteins.db genomes.db --max-time 60"


@click.command("mcp", cls=Command, groups=GROUPS, examples=EXAMPLES, short_help="Serve an agent.")
@click.argument("databases", nargs=-1, required=True, metavar="DB...", type=click.Path())
@combine(*map(declare, MACHINE))
@job_limit_options
@logging_options
def command(databases: tuple[str, ...], progress: bool, **options: Any) -> None:
    """Offer searches and more as tools to an agent, by the Model Context Protocol.

    DB is a database that 'swdual makedb' wrote; tools know it by the name of its file, and read no
    other file. A client of the protocol runs this command, and talks with it by standard input and
    output; it ends with the input.
    """
    machine = {name: options.pop(name) for name in MACHINE}
    machine["threads"] = limit_threads(machine["threads"])
    from swdual.runtime.extras import import_extra
    from swdual.server.limits import Limits

    agents = import_extra("swdual.server.agents", "mcp", "tools for agents need the library mcp")
    from swdual.server.service import ServerOptions, open_databases

    limits = Limits(**{LIMITS[name]: value for name, value in options.items()})
    with open_databases(databases) as opened:
        agents.serve(opened, ServerOptions(limits=limits, **machine))
