"""`--server`: sends the search of a command to a server."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from swdual.cli._inputs import Inputs
from swdual.cli._options import combine, find_written_option, named_inputs, option

if TYPE_CHECKING:
    from swdual.results.file_types import OutputFormat

LOCAL = (
    *("pssm", "msa", "master", "ignore_master", "cluster", "threads", "device", "memory_limit"),
    *("gpu_memory_limit", "backend", "planner", "verify", "resume"),
    *("trace", "gantt", "taxonomy"),
)
"""Options of a search on this machine, or on a cluster."""

LISTS = {"taxids": ",", "not_taxids": ",", "target_ids": " ", "not_target_ids": " "}
"""Options that are lists, and what separates what they have in a request."""

token_option = option(
    "--token-file",
    type=click.Path(),
    metavar="FILE",
    help="File with the token of the server.  [default: the variable SWDUAL_TOKEN]",
)

server_options = combine(
    option(
        "--server",
        metavar="URL",
        help="Search on a server that 'swdual serve' runs, such as http://127.0.0.1:8080; DB is "
        "the name of a database there.",
    ),
    token_option,
)
"""Which server searches."""


def refuse_local() -> None:
    """Raise an error if an option was written that a search on a server cannot have."""
    context = click.get_current_context()
    for name in LOCAL:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--server searches on another machine, which {find_written_option(name)} does not "
                "reach; leave out one."
            )


def search_on_server(
    url: str,
    token_file: str | None,
    inputs: Inputs,
    chosen: OutputFormat,
    outfmt: str | None,
    out: str,
    options: Mapping[str, Any],
    *,
    force: bool,
    progress: bool,
    report_alignments: int,
) -> None:
    """Search on a server, and write the output, which appears under its name when it is complete.

    Parameters
    ----------
    url, token_file
        The values of `server_options`.
    inputs
        Queries, and the name of the database.
    chosen, outfmt
        How the output is written, and what the user wrote of it.
    out, force, progress, report_alignments
        The values of these options.
    options
        Options of the search.

    Raises
    ------
    SwdualError
        As `swdual.server.client.search_on_server` documents.
    """
    from swdual.io.output import replace_file
    from swdual.io.stream import source_name
    from swdual.request.options import SearchOptions
    from swdual.server import client
    from swdual.server.tokens import read_tokens

    assert inputs.query is not None
    defaults = SearchOptions(**options)  # checks them, too
    changed = {
        name: value
        for name, value in options.items()
        if name != "align" and getattr(defaults, name) != getattr(SearchOptions, name)
    }
    for name, mark in LISTS.items():
        if name in changed:
            changed[name] = mark.join(map(str, getattr(defaults, name)))
    if "matrix" in changed:
        changed["matrix"] = changed["matrix"].upper()
    tokens = read_tokens(token_file)
    request = {
        "database": inputs.db,
        "queries_name": source_name(inputs.query),
        "format": outfmt or chosen.name,
        "header": chosen.header,
        "report_alignments": report_alignments,
        "command": shlex.join(click.get_current_context().meta["command"]),
        "options": changed,
    }
    with replace_file(
        out, chosen.kind, force=force, inputs=named_inputs(), compress=True
    ) as stream:
        request["queries"] = client.read_queries(inputs.query)
        token = tokens[0] if tokens else None
        client.search_on_server(url, token, request, stream, progress=progress)
