"""`swdual simulate`: what cluster schedulers would have made of a recorded workload."""

from __future__ import annotations

import json
import logging
from typing import Any

import click

from swdual.cli import set_up_messages, talking
from swdual.cli._complete import complete_names
from swdual.text import harmless

logger = logging.getLogger("swdual")


@click.command("simulate", short_help="Replay a trace under cluster schedulers.")
@click.argument("trace", type=click.Path(allow_dash=True))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    shell_complete=complete_names("policies", "all", files=True, several=True),
    default=("easy",),
    metavar="NAME,...",
    help="Who starts when; several, or \"all\", are compared: see 'swdual list policies'. One with "
    "options of its own, such as easy:reserve_depth=4, has a --policy for itself.  "
    "[default: easy]",
)
@click.option(
    "--allocator",
    "allocators",
    multiple=True,
    shell_complete=complete_names("allocators", "all", several=True),
    default=("basic",),
    metavar="NAME,...",
    help="Who gets which processors: see 'swdual list allocators'.  [default: basic]",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the policies that have it.",
)
@click.option(
    "--reserve-depth",
    metavar="0|1|2|...|all",
    help="How many waiting jobs have a reservation, for the policies that have this option.",
)
@click.option("--processors", type=click.IntRange(min=1), help="Size of the platform.")
@click.option(
    "--cluster-size",
    type=click.IntRange(min=1),
    help="Processors of a cluster, which are close together; also level 1 of the tree.",
)
@click.option(
    "--platform",
    shell_complete=complete_names("platforms", files=True),
    metavar="NAME|FILE",
    help="One of 'swdual list platforms', or a TOML or JSON file.  [default: what the trace's "
    "header says]",
)
@click.option(
    "--penalty",
    metavar="KIND:FACTOR",
    help="How much longer jobs run when their processors lie far apart: linear:F or quadratic:F.",
)
@click.option(
    "--kind",
    type=click.Choice(["rigid", "moldable", "sequential", "threads"]),
    default="rigid",
    show_default=True,
    help="What the jobs become: jobs of any size by Downey's speed-up (hrf and its rivals), tasks "
    "for one processor each on fewer processors (spt, srpt, ...), or a thread a processor "
    "(thread_matrix).",
)
@click.option(
    "--offline", is_flag=True, help="Submit all jobs at 0, and let them request their run times."
)
@click.option("--clairvoyant", is_flag=True, help="Let all jobs request their run times.")
@click.option(
    "--rules",
    default="standard",
    show_default=True,
    metavar="standard|thesis",
    help="What is done about damaged jobs.",
)
@click.option(
    "--repair",
    "repairs",
    multiple=True,
    metavar="RULE=CHOICE",
    help="One of the rules otherwise: see 'swdual list repairs'.",
)
@click.option(
    "--first",
    type=click.IntRange(min=1),
    metavar="N",
    help="The first N jobs only, of the weeks if there are any.",
)
@click.option(
    "--weeks",
    type=click.IntRange(min=1),
    metavar="W",
    help="W whole weeks only, from --start, or at random.",
)
@click.option("--start", type=float, metavar="SECONDS", help="Where the weeks begin in the trace.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="N of these jobs only, drawn at random.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of chance.")
@click.option(
    "--metric",
    "shown",
    multiple=True,
    shell_complete=complete_names("metrics", several=True),
    metavar="NAME,...",
    help="Columns of a comparison: see 'swdual list metrics'.",
)
@click.option(
    "--slowdown-bound",
    type=float,
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="What a job counts at least in the bounded slowdown.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all metrics.")
@click.option(
    "--explain",
    multiple=True,
    type=int,
    metavar="JOB",
    help="Say why the job with this number waited and started; may be repeated.",
)
@click.option(
    "--jobs-out",
    metavar="FILE",
    help='Write all jobs as CSV, "-" to standard output instead of the table. In names of files, '
    "{policy} and {allocator} are filled in.",
)
@click.option(
    "--comparison-out",
    metavar="FILE",
    help='Write all metrics of each schedule as CSV, a row each; "-" to standard output.',
)
@click.option("--gantt", metavar="FILE", help="Draw who ran where: SVG, PNG or PDF.")
@click.option("--usage", metavar="FILE", help="Draw busy processors and waiting jobs over time.")
@click.option(
    "--distribution",
    metavar="FILE",
    help="Draw how waiting times and bounded slowdowns are distributed, for all schedules.",
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@talking
def command(
    trace: str,
    policies: tuple[str, ...],
    allocators: tuple[str, ...],
    options: tuple[str, ...],
    reserve_depth: str | None,
    penalty: str | None,
    shown: tuple[str, ...],
    slowdown_bound: float,
    as_json: bool,
    explain: tuple[int, ...],
    jobs_out: str | None,
    comparison_out: str | None,
    gantt: str | None,
    usage: str | None,
    distribution: str | None,
    force: bool,
    quiet: bool,
    verbose: bool,
    no_progress: bool,
    log: str | None,
    **chosen: Any,
) -> None:
    """Replay TRACE, in the Standard Workload Format, under scheduling policies and allocators.

    Each instant has one pass: first jobs end, then jobs are submitted, then the policy decides.
    It knows requested times only, at which jobs are killed. Times are the trace's own seconds.

    \b
    swdual simulate KTH-SP2.swf.gz --policy easy --jobs-out jobs.csv
    swdual simulate KTH-SP2.swf.gz --policy fcfs,easy,conservative --policy easy:reserve_depth=4
    swdual simulate Curie.swf --platform curie --allocator all --penalty quadratic:2 --weeks 1
    swdual simulate KTH-SP2.swf.gz --first 1000 --explain 17 --gantt gantt.svg
    """
    set_up_messages(quiet=quiet, verbose=verbose, log=log)
    tables = {"--jobs-out": jobs_out, "--comparison-out": comparison_out}
    alone = [name for name, path in tables.items() if path in ("-", "/dev/stdout")]
    if alone and (as_json or explain or len(alone) > 1):
        raise click.UsageError(
            f"{' and '.join(f'{name} -' for name in alone)}: standard output holds one table, "
            "without --json and --explain."
        )
    from swdual.cli import _simulated
    from swdual.cli._replayed import load
    from swdual.scheduling.comparison import SHOWN, compare
    from swdual.scheduling.metrics import metrics

    kind = "offline" if chosen["offline"] and chosen["kind"] == "rigid" else chosen["kind"]
    runs = _simulated.Runs.of(policies, allocators, options, reserve_depth, penalty, kind)
    files = _simulated.Files(comparison_out, jobs_out, gantt, usage, distribution, force)
    files.check(runs)
    columns = [name.strip() for names in shown for name in names.split(",")]
    nothing = compare((), shown=columns or SHOWN, chosen=metrics(slowdown_bound))
    workload, platform, part = load(trace, **chosen)
    for line in str(workload.report).splitlines():
        logger.info("%s", line)
    done = _simulated.run(
        runs, files, workload, platform, nothing, explain, progress=not (quiet or no_progress)
    )
    if alone:
        return
    if as_json:
        click.echo(json.dumps(_simulated.as_dict(done, workload, platform, runs, part)))
        return
    click.echo(_simulated.head(workload, platform))
    for line in part.lines():
        click.echo(harmless(line))
    one = len(runs) == 1
    for line in _simulated.summary(done, columns) if one else done.comparison.lines():
        click.echo(harmless(line))
    for line in done.refusals():
        click.echo(harmless(line))
    for who, lines in done.explanations.items():
        click.echo("" if len(runs) == 1 else f"\n{harmless(who)}")
        for line in lines:
            click.echo(line)
