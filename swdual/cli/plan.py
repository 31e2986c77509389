"""`swdual plan`: who would do what, and how long it would take."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._complete import complete_names
from swdual.cli._inputs import (
    PROFILE_PHRASES,
    ProfileSource,
    check_sources,
    name_input,
    profile_options,
)
from swdual.cli._options import (
    Command,
    Count,
    OutputPath,
    fill_groups,
    named_inputs,
    option,
    read_mask,
    search_options,
)
from swdual.cli._search_options import read_target_lists
from swdual.io.progress import progress_bar
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    from swdual.prediction.cluster_preview import ClusterPreview
    from swdual.prediction.forecast import Forecast

Sources = tuple[ProfileSource | str, ...]
"""Queries and database."""

WITHOUT = ("machine", "resume", "output", "planner", "checks")
"""Topics of options of a search that the plan does not depend on, or that it has in another way."""

GROUPS = fill_groups(
    {
        "Input": "pssm msa master ignore_master *",
        "Filters": "*",
        "Scoring": "* adjust",
        "Machine": "threads cpus gpus rates nodes times",
        "Plan": "planner gantt force as_json",
    },
    *WITHOUT,
)

EXAMPLES = """
swdual plan queries.fasta proteins.db --planner all
swdual plan queries.fasta proteins.db --cpus 16 --gpus 4 --rates cluster.json
swdual plan queries.fasta proteins.db --nodes nodes.toml
swdual plan --pssm family.asn proteins.db
swdual plan --times times.csv --cpus 3 --gpus 1 --json
"""


@click.command(
    "plan",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    phrases=PROFILE_PHRASES,
    short_help="Predict how long a search takes, here or elsewhere.",
)
@click.argument("files", nargs=-1, metavar="[QUERIES DB]", type=click.Path(allow_dash=True))
@option(
    "--times",
    type=click.Path(allow_dash=True),
    help="Plan the tasks of a CSV file instead, with the columns cpu and gpu: seconds of each "
    "task. Needs --cpus or --gpus.",
)
@option(
    "--nodes",
    type=click.Path(),
    help="Plan for the cluster that a TOML file describes: kinds of nodes, with the number of "
    "nodes, cpus and gpus of each. Leave out DB if the file describes a database.",
)
@option(
    "--cpus",
    type=Count(min=0),
    metavar="N",
    help="Number of CPU workers.  [default: as on this machine; with --times 0]",
)
@option(
    "--gpus",
    type=Count(min=0),
    metavar="N",
    help="Number of GPU workers.  [default: as on this machine; with --times 0]",
)
@option(
    "--rates",
    type=click.Path(),
    metavar="JSON|FILE",
    help="Speed of the workers in GCUPS (10^9 cells a second), such as "
    '\'{"cpu": 45, "gpu": 1500}\', or a file with that, or with the output of --json on another '
    "machine.  [default: this machine's]",
)
@option(
    "--planner",
    shell_complete=complete_names("planners", "all"),
    metavar="NAME",
    default="dual",
    show_default=True,
    help="Scheduling algorithm: see 'swdual list planners'; \"all\" compares them.",
)
@profile_options
@option("--json", "as_json", is_flag=True, help="Print one JSON object, with all tasks.")
@option("--gantt", type=OutputPath(), help="Draw the plan: an SVG, PNG or PDF file.")
@option("--force", is_flag=True, help="Replace the drawing if it exists.")
@search_options(*WITHOUT)
@logging_options
def command(
    files: tuple[str, ...],
    times: str | None,
    nodes: str | None,
    cpus: int | None,
    gpus: int | None,
    rates: str | None,
    planner: str,
    as_json: bool,
    gantt: str | None,
    force: bool,
    progress: bool,
    **options: Any,
) -> None:
    """Predict how long a search of QUERIES in DB takes, and which worker does what.

    With --pssm or --msa, a profile takes the place of QUERIES. Nothing is searched. The plan may be
    for another machine: give its numbers of CPUs and GPUs, and how fast they are. No plan of the
    same tasks can be shorter than the lower bound.
    """
    from swdual.io.file_kind import DRAWING
    from swdual.io.output import check_target
    from swdual.planning.gantt import check_path

    options["mask"] = read_mask(options["mask"])
    read_target_lists(options)
    progress = progress and "-" not in files
    profile = ProfileSource.take(options)
    if profile is not None and len(files) > 1:
        profile.refuse_queries()
    sources: Sources = files if profile is None else (profile, *files)
    if gantt is not None:
        check_path(gantt)
        check_target(gantt, DRAWING, force=force, inputs=named_inputs())
    if nodes is not None:
        from swdual.cli._nodes import show

        given = {"--times": times, "--cpus": cpus, "--gpus": gpus, "--rates": rates}
        _check_cluster_usage(sources, given, planner)
        cluster, forecast = _forecast(sources, nodes, planner, options, progress=progress)
        if gantt is not None:
            forecast.gantt(gantt, force=force)
        show(cluster, forecast, as_json=as_json)
        return
    if times is None:
        check_sources(len(sources) > 0, len(sources) > 1, files[2:], instead="--times FILE")
    elif sources:
        raise click.UsageError("--times FILE takes the place of queries and database.")
    if files == ("-", "-"):
        raise click.UsageError("Only one of queries and database can be standard input.")
    if times is not None:
        from swdual.cli._times import read_times
        from swdual.planning.planner import make_plan

        if rates is not None:
            raise click.UsageError("--rates and --times exclude each other.")
        columns = read_times(times)
        plans, refused = _make_plans(
            planner, lambda name: make_plan(*columns, cpus=cpus or 0, gpus=gpus or 0, planner=name)
        )
        facts, lines = {"tasks": len(columns[0])}, [pluralize(len(columns[0]), "task", "tasks")]
    else:
        from swdual.prediction.preview import Preview
        from swdual.request.options import SearchOptions

        queries, database = _read_sources(sources, options)
        known = _parse_rates(rates)
        with progress_bar("planning", "", 1, shown=progress):
            preview = Preview(queries, database, cpus, gpus, known, SearchOptions(**options))
            plans, refused = _make_plans(planner, preview.plan)
        facts, lines = _describe_search(preview, given=isinstance(known, dict))
    if gantt is not None:
        from swdual.planning.gantt import save

        save([plan.panel() for plan in plans], gantt, force=force)
    if as_json:
        shown = [plan.to_dict() for plan in plans]
        everything = facts | (
            shown[0] if planner != "all" else {"plans": shown, "cannot_plan": refused}
        )
        click.echo(json.dumps(everything))
        return
    for line in lines:
        click.echo(sanitize(line))
    _print_table(plans)
    for name, why in refused.items():
        click.echo(f"{name:<17}{why}")
    if planner != "all":
        click.echo("")
        _print_workers(plans[0])


def _parse_rates(given: str | None) -> str | dict[str, Any] | None:
    """Return the rates that are given as JSON, or the name of the file that has them."""
    if given is None or not given.lstrip().startswith("{"):
        return given
    try:
        rates: dict[str, Any] = json.loads(given)
    except json.JSONDecodeError as error:
        raise click.UsageError(
            f'--rates {given}: not JSON ({error}); write --rates \'{{"cpu": 45, "gpu": 1500}}\'.'
        ) from error
    return rates


def _read_sources(sources: Sources, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return queries and database for the functions of the library; None where one is missing."""
    queries, *database = sources
    read = name_input(queries) if isinstance(queries, str) else queries.read(options)
    return read, database[0] if database else None


def _check_cluster_usage(sources: Sources, others: dict[str, Any], planner: str) -> None:
    """Check the options of a plan for the nodes that a file describes.

    Parameters
    ----------
    sources
        Queries and database of the command.
    others
        The values of options that --nodes excludes.
    planner
        The value of --planner.
    """
    for name, value in others.items():
        if value is not None:
            raise click.UsageError(f"--nodes and {name} exclude each other.")
    check_sources(len(sources) > 0, True, [str(each) for each in sources[2:]])
    if sources == ("-", "-"):
        raise click.UsageError("Only one of queries and database can be standard input.")
    if planner == "all":
        raise click.UsageError("--planner all compares plans for one machine, not for --nodes.")


def _forecast(
    sources: Sources, nodes: str, planner: str, options: dict[str, Any], *, progress: bool
) -> tuple[ClusterPreview, Forecast]:
    """Return the search on the nodes that a file describes, and its plan."""
    from swdual.prediction.cluster_preview import ClusterPreview
    from swdual.request.options import SearchOptions

    queries, database = _read_sources(sources, options)
    with progress_bar("planning", "", 1, shown=progress):
        preview = ClusterPreview(queries, database, nodes, SearchOptions(**options))
        return preview, preview.forecast(planner)


def _make_plans(planner: str, make: Any) -> tuple[list[Any], dict[str, str]]:
    """Return the plan of one planner, or of all that can plan this, and why the others cannot."""
    from swdual import registry
    from swdual.errors import InputError
    from swdual.planning.planner import PACKAGE

    if planner != "all":
        return [make(planner)], {}
    plans, refused = [], {}
    for name in registry.available(PACKAGE):
        try:
            plans.append(make(name))
        except InputError as error:
            refused[name] = error.message
    if not plans:
        raise InputError(next(iter(refused.values())))
    return sorted(plans, key=lambda plan: plan.makespan), refused


def _describe_search(preview: Any, *, given: bool) -> tuple[dict[str, Any], list[str]]:
    """Return what would be searched, with what, for JSON and as lines.

    Parameters
    ----------
    preview
        The search.
    given
        Whether the command line has the rates.
    """
    memory = preview.memory
    facts = {
        "queries": len(preview.lengths),
        "targets": len(preview.database),
        "cells": preview.cells,
        "memory": {
            **memory.to_dict(),
            "least": preview.min_memory.total,
            "each_gpu": preview.gpu_bytes,
        },
        "rates": {kind: rates.to_dict() for kind, rates in preview.rates.items()},
        "rates_file": preview.rates_file,
    }
    lines = [
        f"{pluralize(len(preview.lengths), 'query', 'queries')} x "
        f"{pluralize(len(preview.database), 'target', 'targets')}: "
        f"{preview.cells / 1e9:,.1f} Gcells",
        f"memory    {memory.total / 2**30:.2f} GiB, or down to "
        f"{preview.min_memory.total / 2**30:.2f} with --memory-limit"
        + (f"; on each GPU {preview.gpu_bytes / 2**30:.2f}" if preview.gpu_bytes else ""),
    ]
    origin = "as given" if given else preview.rates_file or "measured now"
    lines.append(f"rates     {origin}")
    if preview.adjustment.candidates:
        wall = preview.adjusting_seconds
        facts["adjustment"] = preview.adjustment.to_dict(wall)
        lines.append(preview.adjustment.describe(wall))
    return facts, [*lines, ""]


def _print_table(plans: list[Any]) -> None:
    click.echo(
        f"{'planner':<17}{'tasks':>9}{'makespan':>12}{'bound':>12}{'/ bound':>9}"
        f"{'mean idle':>11}{'guesses':>9}"
    )
    for plan in plans:
        ratio = plan.makespan / plan.lower_bound if plan.lower_bound else 1.0
        click.echo(
            f"{plan.planner:<17}{len(plan.workers):>9}{_seconds(plan.makespan):>12}"
            f"{_seconds(plan.lower_bound):>12}{ratio:>9.3f}"
            f"{100 * abs(plan.idle.mean()):>9.1f} %{plan.guesses:>9}"
        )


def _print_workers(plan: Any) -> None:
    click.echo(f"{'worker':<17}{'busy':>12}{'idle':>9}{'tasks':>9}")
    rows = zip(plan.kinds, plan.busy, plan.idle, plan.queues, strict=True)
    for number, (kind, busy, idle, queue) in enumerate(rows):
        click.echo(
            f"{number:<4}{kind:<13}{_seconds(busy):>12}{100 * abs(idle):>7.1f} %{len(queue):>9}"
        )


def _seconds(seconds: float) -> str:
    return f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
