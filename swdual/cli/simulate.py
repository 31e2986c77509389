"""`swdual simulate`: what cluster schedulers would have made of a recorded workload."""

from __future__ import annotations

import json
import logging
from typing import Any

import click

from swdual.cli import logging_options
from swdual.cli._complete import complete_names
from swdual.cli._options import Command, Count, OutputPath, Real, named_inputs, option

logger = logging.getLogger("swdual")


GROUPS = {
    "Scheduler": "policies allocators options reserve_depth processes",
    "Platform": "processors cluster_size platform penalty power signal outages checkpoint",
    "Jobs": "columns weeks start first sample seed kind offline clairvoyant rules repairs",
    "Resampling": "resample user_factor max_load long_term_weeks",
    "Results": "shown slowdown_bound explain as_json",
    "Files": "report report_jobs comparison_out jobs_out workload_out gantt usage distribution "
    "force",
}

EXAMPLES = """
swdual simulate KTH-SP2.swf.gz --policy fcfs,easy,conservative --policy easy:reserve_depth=4
swdual simulate Curie.swf --platform curie --weeks 1 --policy mine.py --comparison-out curie.csv
swdual simulate KTH-SP2.swf.gz --first 1000 --explain 17 --gantt gantt.svg
swdual simulate KTH-SP2.swf.gz --resample 20 --policy easy,conservative --metric mean_waiting_time
"""


@click.command(
    "simulate",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Replay a trace under cluster schedulers.",
)
@click.argument("trace", type=click.Path(allow_dash=True))
@option(
    "--policy",
    "policies",
    multiple=True,
    shell_complete=complete_names("policies", "all", files=True, several=True),
    default=("easy",),
    metavar="NAME|FILE,...",
    help="Scheduling policy: decides which job starts when. A name (see 'swdual list policies'), "
    'a Python file of your own, several of them, or "all". Write options of a policy behind it, '
    "and repeat --policy: --policy easy:reserve_depth=4.  [default: easy]",
)
@option(
    "--allocator",
    "allocators",
    multiple=True,
    shell_complete=complete_names("allocators", "all", files=True, several=True),
    default=("basic",),
    metavar="NAME|FILE,...",
    help="Allocator: decides which processors a job gets. Names (see 'swdual list allocators'), "
    'Python files, or "all".  [default: basic]',
)
@option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option of all policies that have it. Can be repeated.",
)
@option(
    "--reserve-depth",
    metavar="0|1|2|...|all",
    help="Number of waiting jobs that have a reservation, for the policies with this option.",
)
@option(
    "--processes",
    type=Count(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Number of simulations at a time, if there are several policies, allocators or workloads.",
)
@option(
    "--processors",
    type=Count(min=1),
    metavar="N",
    help="Number of processors of the platform.  [default: what the header of the trace says]",
)
@option(
    "--cluster-size",
    type=Count(min=1),
    metavar="N",
    help="Number of processors of a cluster, which are close together: level 1 of the tree.",
)
@option(
    "--platform",
    shell_complete=complete_names("platforms", files=True),
    metavar="NAME|FILE",
    help="Platform: a name of 'swdual list platforms', or a TOML or JSON file.",
)
@option(
    "--penalty",
    metavar="KIND:FACTOR",
    help="How much longer jobs run on processors that are far apart: linear:F or quadratic:F.",
)
@option(
    "--power",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Power model: watts of a busy and of an idle processor, busy=190,idle=95; off=10 when "
    "its node is switched off, after idle_timeout=600 seconds; boot_time=150 and boot=125 watts "
    "to switch it on, likewise shutdown_time and shutdown; keep_idle=4 idle nodes stay on; "
    "node_size=16 processors of a node. Can be repeated.",
)
@option(
    "--outages",
    multiple=True,
    metavar="FILE|NAME=VALUE,...",
    help="Outages of nodes: a CSV file with the columns kind (reservation, drain, failure), start, "
    "end (seconds) and nodes (0-3 7); or failures at random, mean_uptime=2592000,mean_repair=3600. "
    "Jobs on nodes that fail wait again. Can be repeated.",
)
@option(
    "--checkpoint",
    type=Real(),
    metavar="SECONDS",
    help="Jobs that a failure stops go on where they were a multiple of this time after their "
    "start.  [default: they begin anew]",
)
@option(
    "--signal",
    multiple=True,
    metavar="NAME=FILE",
    help="Price (per kWh), carbon (g of CO2 per kWh) or cap (watts of the platform) over time: "
    "price=FILE.csv, with the columns time,value; price=FILE.csv:repeat=day repeats it each day, "
    "or week, or number of seconds. Can be repeated.",
)
@option(
    "--columns",
    metavar="PRESET|FIELD=COLUMN,...",
    help="Which column of a table (CSV, Parquet) holds which field: submit_time=qtime,"
    "requested_time=limit*60, or fdata, pm100, helios.  [default: as the header says]",
)
@option(
    "--kind",
    type=click.Choice(["rigid", "moldable", "sequential", "threads"]),
    default="rigid",
    show_default=True,
    help="Kind of jobs to make of the trace. rigid: as they are. moldable: of any size, by "
    "Downey's speed-up (for hrf, ...). sequential: tasks of one processor each, on fewer "
    "processors (for spt, ...). threads: a thread for each processor (for thread_matrix).",
)
@option("--offline", is_flag=True, help="Submit all jobs at 0 s, with known run times.")
@option("--clairvoyant", is_flag=True, help="Let each job request exactly its run time.")
@option(
    "--rules",
    default="standard",
    show_default=True,
    metavar="standard|thesis",
    help="Set of rules that repair or drop damaged jobs.",
)
@option(
    "--repair",
    "repairs",
    multiple=True,
    metavar="RULE=CHOICE",
    help="Change one of these rules: see 'swdual list repairs'. Can be repeated.",
)
@option(
    "--first",
    type=Count(min=1),
    metavar="N",
    help="Simulate only the first N jobs (of the weeks, with --weeks).",
)
@option(
    "--weeks",
    type=Count(min=1),
    metavar="W",
    help="Simulate only W weeks: from --start, or drawn at random. They are printed. With "
    "--resample: the length of each workload.",
)
@option("--start", type=Real(), metavar="SECONDS", help="Time of the trace at which --weeks begin.")
@option(
    "--sample",
    type=Count(min=1),
    metavar="N",
    help="Simulate only N of these jobs, drawn at random.",
)
@option(
    "--seed",
    type=Count(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the random choices.",
)
@option(
    "--resample",
    type=Count(min=2),
    metavar="N",
    help="Simulate N random workloads that recombine the users of the trace, and print means and "
    "differences with 95 % intervals. Files of schedules are those of the first workload.",
)
@option(
    "--user-factor",
    type=Real(),
    default=1.0,
    show_default=True,
    metavar="F",
    help="Number of users at a time, as a multiple of that of the trace: 1.2 gives a load that is "
    "20 % higher in the mean.",
)
@option(
    "--max-load",
    type=Real(),
    metavar="LOAD",
    help="Add no users once the jobs demand this part of the platform, such as 0.8.",
)
@option(
    "--long-term-weeks",
    type=Count(min=1),
    default=12,
    show_default=True,
    metavar="W",
    help="Weeks from the first job to the last from which on a user is there all the time.",
)
@option(
    "--metric",
    "shown",
    multiple=True,
    shell_complete=complete_names("metrics", several=True),
    metavar="NAME,...",
    help="Metrics to print: see 'swdual list metrics'.",
)
@option(
    "--slowdown-bound",
    type=Real(),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Lower bound on run time in the bounded slowdown.",
)
@option("--json", "as_json", is_flag=True, help="Print one JSON object, with all metrics.")
@option(
    "--explain",
    multiple=True,
    type=Count(),
    metavar="JOB",
    help="Print why the job with this number waited and started. Can be repeated.",
)
@option(
    "--report",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help="Write a page to look at (.html): metrics of all schedules, and for each one a Gantt "
    "chart, its jobs, and why they waited.",
)
@option(
    "--report-jobs",
    type=Count(min=1),
    metavar="N",
    help="Number of jobs of a schedule that --report holds. If there are more: half the first "
    "ones, half those that waited longest.  [default: 30,000, and 300,000 of all schedules]",
)
@option(
    "--comparison-out",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help='Write all metrics as CSV, one line for each schedule; "-": standard output.',
)
@option(
    "--jobs-out",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help='Write all jobs as CSV, or as Parquet (.parquet); "-": standard output. In file names, '
    "{policy} and {allocator} are replaced.",
)
@option(
    "--workload-out",
    type=OutputPath(),
    metavar="FILE",
    help="Write the simulated jobs as a trace: .swf, .csv, .parquet, or .json for Batsim.",
)
@option(
    "--gantt",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help="Draw which job ran where: an SVG (with tooltips), PNG or PDF file.",
)
@option(
    "--usage",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help="Draw busy processors and waiting jobs over time.",
)
@option(
    "--distribution",
    type=OutputPath(allow_dash=True),
    metavar="FILE",
    help="Draw the distributions of waiting time and bounded slowdown of all schedules.",
)
@option("--force", is_flag=True, help="Replace files that exist.")
@logging_options
def command(
    trace: str,
    policies: tuple[str, ...],
    allocators: tuple[str, ...],
    options: tuple[str, ...],
    reserve_depth: str | None,
    penalty: str | None,
    power: tuple[str, ...],
    signal: tuple[str, ...],
    shown: tuple[str, ...],
    slowdown_bound: float,
    as_json: bool,
    explain: tuple[int, ...],
    processes: int,
    progress: bool,
    **chosen: Any,
) -> None:
    """Replay TRACE under scheduling policies.

    TRACE is a file in the Standard Workload Format, output of sacct --parsable2, a table (CSV,
    Parquet), or JSON of Batsim or ElastiSim; its first bytes tell which.

    At each instant, first jobs end, then jobs are submitted, then the policy decides. Policies know
    requested times, not run times; a job is killed when its requested time is over. All times are
    in seconds of the trace.
    """
    from swdual.cli import _simulated
    from swdual.cli._replayed import ReplayOptions, find_outages, load
    from swdual.scheduling import penalty as penalties
    from swdual.scheduling import power as powers
    from swdual.scheduling import signals as signal_files
    from swdual.scheduling.campaign import CampaignOptions

    files = _simulated.Files(**{name: chosen.pop(name) for name in GROUPS["Files"].split()})
    files.check_stdout(alone=not as_json and not explain)
    campaign = _simulated.combine(policies, allocators, options, reserve_depth)
    cost = None if penalty is None else penalties.parse(penalty)
    power_model = powers.parse(",".join(power)) if power else None
    files.check(campaign, named_inputs())
    measures = _simulated.Measures.parse(shown, slowdown_bound)
    jobs = ReplayOptions(**chosen)
    replay = load(trace, jobs)
    signals = signal_files.parse(signal, replay.workload.unix_start_time)
    for line in str(replay.workload.report).splitlines():
        logger.info("%s", line)
    settings = CampaignOptions(
        penalty=cost,
        power=power_model,
        outages=find_outages(replay, jobs),
        signals=signals,
        shown=measures.list_shown(with_energy=power_model is not None, signals=signals),
        metrics=measures.metrics,
        explain=explain,
        remedies=_simulated.find_remedies(jobs),
        progress=progress,
        processes=processes,
    )
    outcome = _simulated.run(campaign, replay, settings, files, measures)
    if files.on_stdout:
        return
    if as_json:
        click.echo(json.dumps(_simulated.to_dict(outcome, replay, cost)))
        return
    for line in _simulated.to_lines(outcome, replay, measures, one=len(campaign) == 1):
        click.echo(line)
