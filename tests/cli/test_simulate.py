"""``swdual simulate``: from a trace to tables, files and explanations."""

from __future__ import annotations

import csv
import gzip
import html
import json
import os
import random
import re
from datetime import UTC, datetime, timedelta

import pytest

from swdual import registry
from swdual.scheduling import campaign, read_swf, resample
from swdual.scheduling.metrics import ENERGY_METRICS, METRICS, NODE_METRICS
from swdual.scheduling.plugins import find_policy
from swdual.scheduling.policy import OWN

POLICIES = registry.available("swdual.scheduling.policies")
ALLOCATORS = registry.available("swdual.scheduling.allocators")

TIES = [(1, 10, 6, 20), (2, 100, 10, 100), (11, 5, 4, 5)]
"""(submit, run, processors, requested): the first ends when the last is submitted."""

QUIET = "--quiet"


def swf(jobs, header="; MaxProcs: 10\n"):
    """Return a trace of jobs (submit, run, processors, requested), numbered from 1."""
    lines = [
        f"{number} {submit} -1 {run} {wide} -1 -1 {wide} {requested} -1 1 1 1 1 1 1 -1 -1"
        for number, (submit, run, wide, requested) in enumerate(jobs, 1)
    ]
    return header + "\n".join(lines) + "\n"


def some(count, seed=0, processors=10):
    """Return random jobs, some of which run into their limit."""
    draw = random.Random(seed)
    submit = 0
    jobs = []
    for _ in range(count):
        submit += draw.choice([0, 0, 5, 40])
        run = draw.randint(1, 60)
        jobs.append((submit, run, draw.randint(1, processors), max(1, run + draw.randint(-9, 40))))
    return jobs


@pytest.fixture
def trace(here):
    """Write a trace of jobs, by default the three with ties."""

    def write(jobs=TIES, **more):
        (here / "t.swf").write_text(swf(jobs, **more))

    write()
    return write


def shown(outcome):
    """Return the one JSON object of a run that went well."""
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.count("\n") == 1
    return json.loads(outcome.out, parse_constant=pytest.fail)


def rows(path):
    with open(path, newline="") as file:
        return [*csv.DictReader(file)]


# One schedule.


def test_ends_come_before_submissions_and_there_is_one_pass(run, trace, here):
    """At 11 s the first job ends, so the second starts and the third has to wait for it."""
    assert run("simulate", "t.swf", "--jobs-out", "jobs.csv").code == 0
    starts = {row["job_id"]: row["starting_time"] for row in rows(here / "jobs.csv")}
    assert starts == {"1": "1", "2": "11", "3": "111"}


def test_the_table_shows_every_metric(run, trace):
    """Head, quantities by statistics, then all others; what was repaired goes to standard error."""
    outcome = run("simulate", "t.swf")
    assert outcome.code == 0
    assert outcome.err == "swdual: 3 of 3 jobs kept\n"
    lines = outcome.out.splitlines()
    assert lines[0] == "t: 3 jobs in 0.0 days on 10 processors"
    assert lines[1].split()[:2] == ["policy", "easy"]
    assert lines[2].split() == ["allocator", "basic"]
    assert lines[4].split() == ["mean", "median", "max", "sum", "norm"]
    assert re.match(r"waiting time +36\.333 s +9 s +100 s +109 s +100\.4 s$", lines[5])
    names = {line[:22].strip() for line in lines[10:]}
    assert {name.replace("_", " ") for name in METRICS if "_time" not in name} >= names - {""}
    assert re.search(r"(?m)^makespan +115 s$", outcome.out)
    assert "expanded" not in outcome.out  # where no job shrinks, it is the stretch
    assert "multiprogramming" not in outcome.out
    assert all(line == line.rstrip() for line in lines)


def test_json_is_one_object_with_every_metric(run, trace):
    """Numbers as numbers; makespan and waiting times worked out by hand."""
    facts = shown(run("simulate", "t.swf", "--json", QUIET))
    assert set(METRICS) <= set(facts)
    assert {facts[name] for name in (*ENERGY_METRICS, *NODE_METRICS)} == {None}
    assert (facts["jobs"], facts["policy"], facts["allocator"]) == (3, "easy", "basic")
    assert facts["platform"]["processors"] == 10
    assert (facts["makespan"], facts["sum_waiting_time"]) == (115, 109)
    assert facts["utilisation"] == (60 + 1000 + 20) / 1150
    assert facts["repairs"] == {"read": 3, "kept": 3, "hits": []}
    dropped = {"rule": "overrun", "jobs": 1, "deed": "dropped: run time above requested time"}
    trace([*TIES, (12, 5, 1, 4)])
    facts = shown(run("simulate", "t.swf", "--repair", "overrun=drop", "--json", QUIET))
    assert facts["repairs"]["hits"] == [dropped]


def test_jobs_without_a_run_time_are_dropped_or_run_for_a_second(run, trace, refuses):
    """Where none is left, that is an error."""
    trace([(0, 0, 1, 5)])
    refuses(1, ["t.swf: no job is left"], "simulate", "t.swf", QUIET)
    kept = shown(run("simulate", "t.swf", "--repair", "run_time=one_second", "--json", QUIET))
    assert (kept["jobs"], kept["sum_turnaround_time"]) == (1, 1)


def test_the_trace_may_come_from_standard_input(spawn, trace, here):
    """As any file may."""
    text = (here / "t.swf").read_text()
    outcome = spawn("simulate", "-", "--json", "--quiet", input=text.encode())
    assert shown(outcome)["makespan"] == 115


def test_jobs_may_go_to_standard_output(run, trace, here):
    """Then nothing else does."""
    alone = run("simulate", "t.swf", "--jobs-out", "-")
    assert run("simulate", "t.swf", "--jobs-out", "jobs.csv").code == 0
    assert alone.out == (here / "jobs.csv").read_text()
    assert run("simulate", "t.swf", "--jobs-out", "-", "--json").code == 1


def test_the_reserve_depth_reaches_the_policy(run, trace):
    """All reservations: what conservative backfilling does; none: the head may be delayed."""
    trace(some(60, seed=2))
    depths = {
        depth: shown(run("simulate", "t.swf", "--reserve-depth", depth, "--json", QUIET))
        for depth in ("0", "1", "all")
    }
    conservative = shown(run("simulate", "t.swf", "--policy", "conservative", "--json", QUIET))
    assert depths["all"]["sum_waiting_time"] == conservative["sum_waiting_time"]
    assert len({facts["sum_waiting_time"] for facts in depths.values()}) == 3
    assert depths["0"]["options"]["reserve_depth"] == "0"
    same = shown(run("simulate", "t.swf", "--option", "reserve-depth=0", "--json", QUIET))
    assert same == depths["0"]


def test_offline_jobs_are_known_at_0_and_never_killed(run, trace):
    """And clairvoyant ones are submitted when they were."""
    trace(some(40, seed=3))
    real = shown(run("simulate", "t.swf", "--json", QUIET))
    offline = shown(run("simulate", "t.swf", "--offline", "--json", QUIET))
    knowing = shown(run("simulate", "t.swf", "--clairvoyant", "--json", QUIET))
    assert real["killed_jobs"] > 0
    assert offline["killed_jobs"] == knowing["killed_jobs"] == 0
    assert offline["sum_waiting_time"] > knowing["sum_waiting_time"]


def test_idle_nodes_are_switched_off(run, trace, here):
    """Energy in the summary, the comparison, JSON and the table of jobs; jobs start later."""
    trace([(0, 10, 4, 20), (100, 10, 4, 20)])
    words = ("simulate", "t.swf", "--processors", "4", QUIET, "--power", "busy=20,idle=10")
    away = ("--power", "off=1,idle_timeout=30,boot_time=5", "--jobs-out", "j.csv")
    usual, switched = shown(run(*words, "--json")), shown(run(*words, *away, "--json"))
    assert usual["power"] == "busy=20,idle=10"
    assert usual["energy"] == 4 * (20 * 20 + 90 * 10)
    assert switched["power"] == "busy=20,idle=10,off=1,boot_time=5,idle_timeout=30"
    assert switched["energy"] == 4 * (20 * 20 + 30 * 10 + 60 * 1 + 5 * 10)
    assert (switched["max_waiting_time"], switched["boots"]) == (5, 4)
    assert [row["consumed_energy"] for row in rows(here / "j.csv")] == ["800", "800"]
    out = run(*words, *away, "--force").out
    assert "\npower      busy=20,idle=10,off=1,boot_time=5,idle_timeout=30\n" in out
    assert "\nenergy                    3,240 J\n" in out
    table = run(*words, "--policy", "easy,fcfs").out.splitlines()
    assert table[2].split()[-1] == "energy"
    assert table[3].split()[-2:] == ["5,200", "J"]


def test_signals_price_the_energy_and_jobs_wait_for_them(run, trace, here):
    """In the table and in JSON, and errors have the name of the file."""
    trace([(0, 10, 4, 20), (100, 10, 4, 20)])
    (here / "p.csv").write_text("time,value\n0,36000\n200,18000\n")
    (here / "c.csv").write_text("time,value\n0,60\n5,80\n")
    words = ("simulate", "t.swf", "--processors", "4", QUIET, "--signal", "price=p.csv")
    words = (*words, "--policy", "easy,temporal_shifting")
    power = ("--power", "busy=20,idle=10", "--signal", "cap=c.csv:repeat=200")
    easy, late = shown(run(*words, *power, "--json"))["schedules"]
    assert easy["energy_cost"] == pytest.approx((20 * 80 + 90 * 40) / 100)
    assert (easy["time_over_cap"], easy["max_power"], easy["carbon"]) == (5, 80, None)
    assert late["energy_cost"] == pytest.approx(200 * 40 / 100 + (5 * 40 + 20 * 80) / 200)
    assert (late["time_over_cap"], late["makespan"]) == (0, 225)
    table = run(*words, *power).out.splitlines()
    assert table[2].split()[-3:] == ["energy", "cost", "cap"]
    assert "cost" not in run(*words).out
    refused = run(*words, "--signal", "carbon=p.csv:repeat=100")
    assert "p.csv: steps of 200 s cannot repeat after 100 s" in refused.err


def test_a_penalty_makes_jobs_longer_and_kills_some(run, trace):
    """On a platform whose clusters are small."""
    trace(some(60, seed=4))
    words = ("simulate", "t.swf", "--cluster-size", "2", "--json", QUIET)
    free, dear = shown(run(*words)), shown(run(*words, "--penalty", "quadratic:2"))
    assert free["platform"]["block_sizes"] == [2, 10]
    assert dear["penalty"] == "quadratic:2"
    said = run(*words[:4], "--penalty", "quadratic:2", QUIET).out
    assert "\npenalty    quadratic:2\n" in said
    assert dear["success_rate"] < free["success_rate"]


def test_platforms_come_by_name_and_from_files(run, trace, here):
    """Either way with their levels."""
    (here / "p.toml").write_text('name = "mine"\nprocessors = 12\nblock_sizes = [4, 12]\n')
    assert (
        run("simulate", "t.swf", "--platform", "p.toml")
        .out.splitlines()[0]
        .endswith("on mine (12 processors)")
    )
    facts = shown(run("simulate", "t.swf", "--platform", "kth-sp2", "--json", QUIET))
    assert facts["platform"]["block_sizes"] == [10, 50, 100]
    facts = shown(run("simulate", "t.swf", "--processors", "20", "--json", QUIET))
    assert facts["makespan"] == 102 - 1  # there is room for the second job at once


def test_parts_of_a_trace_keep_its_seconds(run, trace, here):
    """First jobs, weeks from a place or at random, and samples, by seed."""
    week = 7 * 86_400
    trace([(day * 86_400, 60, 1, 60) for day in range(60)])
    out = ("--jobs-out", "jobs.csv", "--force", QUIET)

    def submitted(*words):
        assert run("simulate", "t.swf", *words, *out).code == 0
        return [int(row["submission_time"]) for row in rows(here / "jobs.csv")]

    assert submitted("--first", "3") == [0, 86_400, 172_800]
    assert submitted("--weeks", "2", "--start", str(week)) == [d * 86_400 for d in range(7, 21)]
    drawn = submitted("--weeks", "1", "--seed", "5")
    assert len(drawn) == 7
    assert drawn[0] % week == 0
    assert submitted("--weeks", "1", "--seed", "5") == drawn
    assert {submitted("--weeks", "1", "--seed", str(s))[0] for s in range(9)} != {drawn[0]}
    picked = submitted("--sample", "9", "--seed", "1")
    assert len({*picked}) == 9
    assert submitted("--sample", "9", "--seed", "2") != picked


def test_which_weeks_were_drawn_is_told_so_that_they_can_be_drawn_again(run, trace):
    """As text and JSON: place, dates if the trace has them, and the first jobs."""
    jobs = [(500 + day * 86_400, 60, 1, 60) for day in range(60)]
    trace(jobs, header="; UnixStartTime: 843480031\n; MaxProcs: 10\n")
    words = ("simulate", "t.swf", "--weeks", "2", QUIET)
    drawn = shown(run(*words, "--seed", "5", "--json"))
    part = drawn["part"]
    assert part["seed"] == 5
    assert part["start"] == 500 + (part["week"] - 1) * 7 * 86_400
    assert part["end"] - part["start"] == 14 * 86_400
    assert part["first_jobs"] == [7 * (part["week"] - 1) + k for k in range(1, 6)]
    begin = datetime(1996, 9, 23, 12, 0, 31, tzinfo=UTC) + timedelta(seconds=part["start"])
    assert part["instants"][0] == f"{begin:%Y-%m-%d %H:%M}"
    line, jobs_line = run(*words, "--seed", "5").out.splitlines()[1:3]
    week = part["week"]
    assert line.startswith(f"weeks {week} to {week + 1}: from {part['start']:.0f} s to ")
    assert f", {part['instants'][0]} to {part['instants'][1]} UTC" in line
    assert jobs_line == f"jobs {', '.join(map(str, part['first_jobs']))}, ...; drawn with --seed 5"
    again = line.partition("again: ")[2].rstrip(")").split()
    same = shown(run("simulate", "t.swf", *again, "--json", QUIET))
    assert same["part"] == part | {"seed": None}
    assert same["mean_turnaround_time"] == drawn["mean_turnaround_time"]
    trace(jobs)
    odd = shown(run("simulate", "t.swf", "--weeks", "1", "--start", "800", "--json", QUIET))["part"]
    assert (odd["week"], odd["instants"], odd["seed"]) == (None, None, None)
    assert "jobs 1, 2, 3" not in run("simulate", "t.swf", QUIET).out
    assert "with --seed 0" in run("simulate", "t.swf", "--sample", "9", QUIET).out


@pytest.fixture
def users_trace(here):
    """Write a trace of 20 users in 20 weeks, some of them there for a few weeks."""
    draw = random.Random(3)
    jobs = []
    for user in range(20):
        first = 0 if user < 6 else draw.randint(0, 17)
        last = 20 if user < 6 else first + 3
        for _ in range(3 * (last - first)):
            submit = draw.randrange(first * 604_800, last * 604_800)
            run = draw.randint(1, 60_000)
            jobs.append((submit, run, draw.randint(1, 10), run + draw.randint(0, 999), user))
    jobs.sort()
    lines = [
        f"{number} {submit} -1 {run} {wide} -1 -1 {wide} {requested} -1 1 {user} 1 1 1 1 -1 -1"
        for number, (submit, run, wide, requested, user) in enumerate(jobs, 1)
    ]
    (here / "u.swf").write_text("; MaxProcs: 10\n" + "\n".join(lines) + "\n")


def test_resampled_workloads_are_those_of_python(run, users_trace, here):
    """Text, JSON and CSV: means, intervals and differences; files are of the first workload."""
    words = ("simulate", "u.swf", "--resample", "4", "--weeks", "6", "--seed", "3", QUIET)
    words += ("--user-factor", "1.5", "--max-load", "0.6", "--long-term-weeks", "5")
    words += ("--policy", "easy,fcfs", "--metric", "mean_waiting_time,makespan")
    found = resample(
        *(read_swf(here / "u.swf"), 4),
        **{"seed": 3, "weeks": 6, "user_factor": 1.5, "max_load": 0.6, "long_term_weeks": 5},
    )
    comparison = campaign.run(found, 10, ["easy", "fcfs"], shown=["mean_waiting_time", "makespan"])
    average, differences = comparison.comparison.average(), comparison.comparison.differences()
    outcome = run(*words, "--comparison-out", "c.csv", "--jobs-out", "{policy}.csv")
    headline, which, how, *table = outcome.out.splitlines()
    assert headline.startswith("u: ")
    assert which.startswith("4 workloads of 6 weeks that recombine the users of these jobs")
    assert how == "means over the workloads, with 95 % intervals"
    assert table == [
        *average.lines(),
        *("", "differences from easy, basic with the same workload"),
        *differences.lines(),
    ]
    told = shown(run(*words, "--json"))
    assert told["part"] == told["part"] | {"resamples": 4, "weeks": 6, "seed": 3}
    for name, expected in (("schedules", average), ("differences", differences)):
        for row, other in zip(told[name], expected.to_dicts(), strict=True):
            for metric in METRICS.keys() - {*ENERGY_METRICS, *NODE_METRICS}:
                for key in (metric, f"{metric}_half_width"):
                    assert row[key] == pytest.approx(other[key])
    names = [row["workload"] for row in rows(here / "c.csv")]
    assert names == [f"u, resample {number}" for number in (1, 1, 2, 2, 3, 3, 4, 4)]
    (first,) = resample(
        *(read_swf(here / "u.swf"), 1),
        **{"seed": 3, "weeks": 6, "user_factor": 1.5, "max_load": 0.6, "long_term_weeks": 5},
    )
    submitted = [float(row["submission_time"]) for row in rows(here / "fcfs.csv")]
    assert sorted(submitted) == first.submit_time.tolist()


def test_a_report_of_resampled_workloads_shows_intervals(run, users_trace, here):
    """Means and differences, with and without the script."""
    words = ("simulate", "u.swf", "--resample", "3", "--long-term-weeks", "5", QUIET)
    words += ("--policy", "easy,fcfs", "--metric", "mean_waiting_time")
    outcome = run(*words, "--report", "r.html")
    text = html.unescape((here / "r.html").read_text())
    assert "3 workloads: means with 95 % intervals" in text
    easy, fcfs, _, _, _, _, _, difference = (
        line.split("  ")[-1].strip() for line in outcome.out.splitlines()[5:]
    )
    (simulation,) = re.findall('id="data-simulation">(.*?)</script>', text)
    facts = json.loads(simulation)
    assert facts["metrics"]["mean_waiting_time"]["texts"] == [easy, fcfs]
    assert len(facts["runs"]) == 2
    head, _, _ = text.partition("<main")
    assert f"<td class=number>{difference}</td>" in head


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-load", "0.5"), "give it, too"),
        (("--resample", "3", "--weeks", "2", "--start", "0"), "omit --start"),
        (("--resample", "3", "--kind", "sequential"), "omit --resample"),
        (("--resample", "3", "--user-factor", "-1"), "user factor is -1.0"),
        (("--resample", "3", "--long-term-weeks", "19"), "fewer weeks for long-term users"),
    ],
)
def test_what_cannot_be_resampled_is_refused_with_a_remedy(refuses, users_trace, words, said):
    refuses(1, [said], "simulate", "u.swf", *words, QUIET)


def test_metrics_may_be_chosen_for_one_schedule(run, trace):
    """Only they are printed, in the order given, and long times in hours or days, too."""
    trace([(0, 100_000, 10, 200_000), (1, 7300, 10, 8000)])
    out = run("simulate", "t.swf", "--metric", "makespan,mean_waiting_time", QUIET).out
    assert out.splitlines()[4:] == [
        "makespan                107,300 s  (29.8 h)",
        "mean waiting time        50,000 s  (13.9 h)",
    ]
    lines = run("simulate", "t.swf", QUIET).out.splitlines()
    place = next(k for k, line in enumerate(lines) if line.startswith("waiting time"))
    assert lines[place + 1].split() == ["13.9", "h"] * 2 + ["27.8", "h"] * 3


def test_a_comparison_is_written_as_csv(run, refuses, trace, here):
    """Every metric and the options, a row a schedule; compressed if the name says so."""
    trace(some(40))
    words = ("simulate", "t.swf", "--policy", "fcfs,easy", "--allocator", "basic,local", QUIET)
    outcome = run(*words, "--comparison-out", "c.csv", "--metric", "makespan")
    assert outcome.code == 0
    assert "makespan" in outcome.out
    table = rows(here / "c.csv")
    facts = shown(run(*words, "--json"))["schedules"]
    assert [(row["policy"], row["allocator"]) for row in table] == [
        (row["policy"], row["allocator"]) for row in facts
    ]
    for row, known in zip(table, facts, strict=True):
        names = METRICS.keys() - {*ENERGY_METRICS, *NODE_METRICS}
        assert {name: float(row[name]) for name in names} == {n: known[n] for n in names}
    assert table[-1]["options"].startswith("reserve_depth=1 by=count order=submission ")
    alone = run(*words, "--comparison-out", "-")
    assert alone.out == (here / "c.csv").read_text()
    assert run(*words, "--comparison-out", "c.csv.gz").code == 0
    assert gzip.decompress((here / "c.csv.gz").read_bytes()) == (here / "c.csv").read_bytes()
    one = ("simulate", "t.swf", QUIET)
    assert run(*one, "--comparison-out", "one.csv").code == 0
    assert len(rows(here / "one.csv")) == 1
    refuses(6, ["c.csv: exists"], *words, "--comparison-out", "c.csv")
    for name in ("c.xlsx", "c.json", "c.tsv"):
        refuses(1, [f"{name}: the table is written as CSV"], *words, "--comparison-out", name)
    refuses(1, ["j.xlsx: the table is written as CSV"], *one, "--jobs-out", "j.xlsx")
    refuses(1, ["standard output holds one"], *one, "--jobs-out", "-", "--comparison-out", "-")
    refuses(1, ["standard output holds the jobs of one schedule"], *words, "--jobs-out", "-")


@pytest.mark.parametrize("ending", ["swf", "csv.gz", "parquet", "json"])
def test_the_simulated_jobs_are_written_and_simulated_again(run, refuses, trace, here, ending):
    """The same schedule; of several, the jobs are written once."""
    trace(some(40))
    words = ("simulate", "t.swf", "--first", "20", "--policy", "fcfs,easy", "--json", QUIET)
    facts = shown(run(*words, "--workload-out", f"u.{ending}"))["schedules"]
    refuses(6, [f"u.{ending}: exists"], *words, "--workload-out", f"u.{ending}")
    again = shown(run("simulate", f"u.{ending}", "--policy", "fcfs,easy", "--json", QUIET))
    for one, other in zip(facts, again["schedules"], strict=True):
        measured = ("mean_waiting_time", "makespan", "utilisation")
        assert [one[x] for x in measured if x in one] == [other[x] for x in measured if x in one]
    refuses(1, ["u.xlsx: has no ending of a format"], *words, "--workload-out", "u.xlsx")


def test_the_jobs_are_written_with_the_size_that_was_simulated(run, here):
    """That of the platform, which a table does not tell; what is lost is said."""
    (here / "t.csv").write_text("submit_time,run_time,processors,gpus\n0,1,2,4\n")
    done = run("simulate", "t.csv", "--processors", "64", "--workload-out", "u.json")
    assert "1 job's gpus: not kept by .json" in done.err
    assert json.loads((here / "u.json").read_text())["nb_res"] == 64


@pytest.mark.parametrize("option", ["--first", "--explain", "--start"])
def test_numbers_have_no_underscores(refuses, trace, option):
    """Python would read 1_0 as 10, and 102_1, a job of an array of Slurm, as 1021."""
    trace(some(4))
    refuses(1, [option, "'102_1' is not a valid"], "simulate", "t.swf", option, "102_1")


def test_columns_of_a_table_are_told(run, refuses, here):
    """By pairs with factors, or found by the header; a preset that does not fit is an error."""
    (here / "t.csv").write_text("when,minutes,processors\n0,1,2\n5,2,1\n")
    words = ("simulate", "t.csv", "--processors", "2", "--metric", "makespan", QUIET)
    done = run(*words, "--columns", "submit_time=when,run_time=minutes*60,processors=processors")
    assert "makespan" in done.out
    assert "180" in done.out
    refuses(1, ["t.csv: tells no submit_time"], *words)
    refuses(1, ["t.csv: has no column"], *words, "--columns", "pm100")
    refuses(1, ["unknown preset of columns 'pm10'"], *words, "--columns", "pm10")


def test_verbose_tells_the_steps(run, trace):
    """What was read, the platform, and each simulation."""
    lines = run("simulate", "t.swf", "--policy", "fcfs,easy", "-v").err.splitlines()
    said = [re.sub(r"[\d.]+ s$", "T", line.removeprefix("swdual: ")) for line in lines]
    assert said == [
        "read t.swf: 3 jobs in T",
        "platform: 10 processors, blocks of 10",
        "3 of 3 jobs kept",
        "simulated fcfs, basic in T",
        "simulated easy, basic in T",
    ]


def test_processors_are_counted_alike(run, trace):
    """With separators, whether the platform has a name or not."""
    assert "on 163,840 processors\n" in run("simulate", "t.swf", "--processors", "163840").out


def test_a_job_is_explained(run, trace):
    """Why it waited, its promise, its start, and who overtook it."""
    trace([(0, 50, 6, 100), (1, 10, 10, 10), (2, 20, 4, 30)])
    outcome = run("simulate", "t.swf", "--explain", "2", "--explain", "3", QUIET)
    assert outcome.code == 0
    said = outcome.out[outcome.out.index("job 2: ") :]
    assert "needs 10 processors, 4 are free" in said
    assert "promised to start at 100 s at the latest" in said
    assert "started at 50 s, 49 s after its submission, on processors 0-9" in said
    assert "overtaken by 1 job: 3" in said
    assert "started at 2 s by backfilling" in said
    facts = shown(run("simulate", "t.swf", "--explain", "2", "--json", QUIET))
    assert facts["explanations"]["easy, basic"][0].startswith("job 2: ")


def test_schedules_are_drawn(run, trace, here):
    """Gantt chart, usage and distribution, in the format of the name."""
    pytest.importorskip("matplotlib")
    words = ("--gantt", "g.svg", "--usage", "u.png", "--distribution", "d.pdf")
    assert run("simulate", "t.swf", *words).code == 0
    assert (here / "g.svg").read_bytes().startswith(b"<?xml")
    assert (here / "u.png").read_bytes().startswith(b"\x89PNG")
    assert (here / "d.pdf").read_bytes().startswith(b"%PDF")


# Several schedules.


def test_a_report_tells_what_the_command_did(run, trace, here):
    """Its command, seed, repairs and refused policies; what is printed is the same."""
    trace([*some(60, seed=4), (9000, 0, 1, 5)])
    words = ("simulate", "t.swf", "--policy", "all", "--sample", "40", "--seed", "7", QUIET)
    plain = run(*words)
    outcome = run(*words, "--report", "r.html", "--report-jobs", "10")
    assert (outcome.code, outcome.out) == (0, plain.out)
    text = html.unescape((here / "r.html").read_text())
    assert "<dt>Command</dt><dd>swdual simulate t.swf --policy all --sample 40 --seed 7" in text
    assert "drawn with --seed 7" in text
    assert "1 job dropped: run time 0 or less" in text
    refused = [line for line in plain.out.splitlines() if line.startswith("not simulated")]
    assert refused
    assert all(f'<p class="note">{line}</p>' in text for line in refused)
    (simulation,) = re.findall('id="data-simulation">(.*?)</script>', text)
    facts = json.loads(simulation)
    printed = shown(run(*words, "--json"))["schedules"]
    for name in ("mean_waiting_time", "utilisation", "killed_jobs"):
        assert facts["metrics"][name]["values"] == [row[name] for row in printed]
    assert len(facts["runs"]) == len(printed) > 5
    (block,) = re.findall('id="data-run-0">(.*?)</script>', text)
    assert json.loads(block)["count"] == 40
    assert len(json.loads(block)["jobs"]["number"]) == 10


def test_a_report_explains_jobs_as_the_command_does(run, trace, here):
    """With the notes of the jobs that were asked for."""
    words = ("--policy", "fcfs,easy", "--explain", "2", "--explain", "3")
    outcome = run("simulate", "t.swf", *words, "--report", "r.html", QUIET)
    text = (here / "r.html").read_text()
    _, *printed = outcome.out.split("\n\n")
    assert len(printed) == 2
    for number, lines in enumerate(printed):
        (block,) = re.findall(f'id="data-explanations-{number}-0">(.*?)</script>', text)
        head, *told = lines.rstrip("\n").split("\n")
        assert head == f"{('fcfs', 'easy')[number]}, basic"
        assert "\n".join(json.loads(block)[1:]) == "\n".join(told)


def test_the_chosen_metrics_are_those_of_the_report(run, trace, here):
    """With the bound of the slowdown."""
    words = ("--metric", "max_stretch,makespan", "--slowdown-bound", "100")
    assert run("simulate", "t.swf", *words, "--report", "r.html", QUIET).code == 0
    (simulation,) = re.findall('id="data-simulation">(.*?)</script>', (here / "r.html").read_text())
    facts = json.loads(simulation)
    assert (facts["shown"], facts["slowdownBound"]) == (["max_stretch", "makespan"], 100)
    assert "100 s" in facts["metrics"]["mean_bounded_slowdown"]["formula"]


def test_a_report_of_a_simulation_that_fails_is_not_left(run, trace, here):
    """Nor a part of it."""
    (here / "p.py").write_text(MINE.replace("sorted(", "sortet("))
    words = ("simulate", "t.swf", "--policy", "easy,p.py", "--report", "r.html", QUIET)
    assert run(*words).code == 1
    assert {path.name for path in here.iterdir()} >= {"p.py", "t.swf"}
    assert [path.name for path in here.iterdir() if "r.html" in path.name] == []


def test_policies_and_allocators_are_compared_each_with_each(run, trace):
    """A line each, with the metrics that were asked for; JSON has all metrics."""
    trace(some(40))
    words = ("simulate", "t.swf", "--policy", "fcfs,easy", "--policy", "conservative")
    words += ("--allocator", "basic,contiguous", QUIET)
    outcome = run(*words, "--metric", "max_stretch,makespan")
    lines = outcome.out.splitlines()
    pairs = [(p, a) for p in ("fcfs", "easy", "conservative") for a in ("basic", "contiguous")]
    assert [tuple(line.split()[:2]) for line in lines[3:]] == pairs
    assert lines[2].split() == ["policy", "allocator", "stretch", "makespan"]
    facts = shown(run(*words, "--json"))
    assert [(row["policy"], row["allocator"]) for row in facts["schedules"]] == pairs
    assert all(set(METRICS) <= set(row) for row in facts["schedules"])
    assert facts["refused"] == {}
    alone = shown(run("simulate", "t.swf", "--policy", "fcfs", "--json", QUIET))
    assert facts["schedules"][0] == {key: alone[key] for key in facts["schedules"][0]}


def test_all_that_can_are_compared_and_others_say_why(run, trace):
    """A policy may need more than the trace gives."""
    trace(some(15))
    facts = shown(
        run("simulate", "t.swf", "--policy", "all", "--allocator", "all", "--json", QUIET)
    )
    done = {(row["policy"], row["allocator"]) for row in facts["schedules"]}
    refused = {tuple(who.split(", ")) for who in facts["refused"]}
    assert not done & refused
    assert done | refused == {
        (p, a) for p in POLICIES for a in ([OWN] if find_policy(p).traits.places else ALLOCATORS)
    }
    assert {(p, a) for p in ("fcfs", "easy", "conservative") for a in ALLOCATORS} <= done
    assert "offline" in facts["refused"]["shelves, own"]
    outcome = run("simulate", "t.swf", "--policy", "all", QUIET)
    said = [line for line in outcome.out.splitlines() if line.startswith("not simulated: ")]
    assert len(said) == 4
    assert any("hrf" in line and "use --kind moldable" in line for line in said)
    assert any("gspt, gspt_rd" in line and "use --kind sequential" in line for line in said)
    assert any(": shelves: only for" in line and "use --offline" in line for line in said)
    assert any(": thread_matrix with basic: only for jobs that are split" in line for line in said)


def test_an_option_goes_to_the_policies_that_have_it(run, trace):
    """And to no other."""
    trace(some(20))
    words = ("simulate", "t.swf", "--policy", "fcfs,easy,conservative", "--json", QUIET)
    rows = shown(run(*words, "--option", "compression=none"))["schedules"]
    assert [row["options"].get("compression") for row in rows] == [None, None, "none"]


def test_a_policy_may_come_with_several_options(run, trace, here):
    """Each is a run of its own, with files of its own; what is given to all goes to all."""
    trace(some(60, seed=2))
    words = ("simulate", "t.swf", "--policy", "easy:reserve_depth=0", QUIET)
    words += ("--policy", "fcfs,easy", "--policy", "easy:reserve-depth=3:by=processors")
    lines = run(*words, "--jobs-out", "{policy}.csv").out.splitlines()
    assert [line.split()[0] for line in lines[3:]] == ["easy", "fcfs", "easy", "easy"]
    assert [re.findall(r"reserve_depth=\w+", line) for line in lines[3:]] == [
        ["reserve_depth=0"],
        [],
        ["reserve_depth=1"],
        ["reserve_depth=3"],
    ]
    assert len({path.read_text() for path in here.glob("easy*.csv")}) == 3
    told = shown(run(*words, "--option", "backfill_order=sjf", "--json"))["schedules"]
    assert [row["options"].get("backfill_order") for row in told] == ["sjf", None, *2 * ["sjf"]]
    alone = shown(run("simulate", "t.swf", "--reserve-depth", "0", "--json", QUIET))
    first = shown(run(*words, "--json"))["schedules"][0]
    assert first == {key: alone[key] for key in first}


def test_each_schedule_has_files_of_its_own(run, trace, refuses, here):
    """Their names must tell them apart."""
    words = ("simulate", "t.swf", "--policy", "fcfs,easy", QUIET)
    refuses(1, ["jobs.csv", "{policy}"], *words, "--jobs-out", "jobs.csv")
    assert run(*words, "--jobs-out", "{policy}.csv").code == 0
    assert run("simulate", "t.swf", "--policy", "easy", "--jobs-out", "one.csv").code == 0
    assert (here / "easy.csv").read_text() == (here / "one.csv").read_text()
    assert (here / "fcfs.csv").is_file()


MINE = """\
from swdual.scheduling import Option, start_now

OPTIONS = {"widest": Option("no", "Whether the widest come first.", ("no", "yes"))}


class BySize:
    def __init__(self, platform, allocator, widest):
        self.sign = -1 if widest == "yes" else 1

    def decide(self, view):
        for job in sorted(view.queue.values(), key=lambda job: self.sign * job.processors):
            start = start_now(view, job)
            if start is not None:
                view.note(job, "there is room")
                yield start
"""


def test_a_policy_may_come_from_a_file(run, trace, here):
    """With its options, files of its own, explanations, and beside others."""
    trace(some(60, seed=2))
    (here / "a-dir").mkdir()
    (here / "a-dir" / "mine.py").write_text(MINE)
    path = "a-dir/mine.py"
    words = ("simulate", "t.swf", "--policy", f"easy,{path}", "--policy", f"{path}:widest=yes")
    rows = shown(run(*words, "--jobs-out", "{policy}.csv", "--json", QUIET))["schedules"]
    assert [(row["policy"], row["options"].get("widest")) for row in rows] == [
        ("easy", None),
        ("mine", "no"),
        ("mine", "yes"),
    ]
    assert len({row["mean_waiting_time"] for row in rows}) == 3
    assert {path.name for path in here.glob("*.csv")} == {
        "easy.csv", "mine.csv", "mine:widest=yes.csv"
    }  # fmt: skip
    said = run("simulate", "t.swf", "--policy", path, "--explain", "1", QUIET).out
    assert "there is room" in said
    told = run("simulate", "t.swf", "--policy", path, "--option", "widest=yes", "--json", QUIET)
    assert shown(told)["mean_waiting_time"] == rows[2]["mean_waiting_time"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("yield start", "yield start.jobs", ["p.py:15: AttributeError: 'Start' object has no"]),
        ("yield start", "yield start; yield start", ["p.py:15: p starts job 1, which does not"]),
        ("sorted(", "sortet(", ["p.py:11: NameError: name 'sortet' is not defined"]),
        ("def decide", "def deside", ["p.py: has no class with a method decide(self, view)"]),
        ("class", "clas", ["p.py:6: SyntaxError: invalid syntax"]),
    ],
)
def test_a_mistake_in_a_policy_is_told_with_its_line(refuses, trace, here, old, new, said):
    """It is the user's file: not an internal error."""
    (here / "p.py").write_text(MINE.replace(old, new))
    refuses(1, said, "simulate", "t.swf", "--policy", "p.py", QUIET)


def test_two_policies_of_one_name_are_refused(refuses, trace, here):
    """A comparison could not tell them apart."""
    for folder in ("a", "b"):
        (here / folder).mkdir()
        (here / folder / "mine.py").write_text(MINE)
    refuses(
        1, ["two policies are called mine"], "simulate", "t.swf", "--policy", "a/mine.py,b/mine.py"
    )


@pytest.mark.parametrize(
    ("policy", "needed"),
    [("spt", "--kind sequential"), ("shelves", "--offline"), ("thread_matrix", "--kind threads")],
)
def test_a_policy_for_other_jobs_names_the_option_that_makes_them(refuses, trace, policy, needed):
    """Not the function of Python."""
    outcome = refuses(1, [policy, f"use {needed}"], "simulate", "t.swf", "--policy", policy, QUIET)
    assert "swdual.scheduling" not in outcome.err


# What goes wrong.


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "esay"), ["unknown policy 'esay'", "did you mean easy"]),
        (("--policy", "fcfs,esay"), ["unknown policy 'esay'"]),
        (("--allocator", "continuous"), ["unknown allocator", "contiguous"]),
        (("--platform", "currie"), ["unknown platform 'currie'", "did you mean curie"]),
        (("--platform", "none.toml"), ["none.toml: cannot be opened"]),
        (("--platform", "curie", "--processors", "9"), ["excludes"]),
        (("--option", "reserve_dept=2"), ["unknown option", "did you mean reserve_depth"]),
        (("--option", "reserve_depth"), ["write NAME=VALUE"]),
        (("--policy", "spt", "--option", "by=count"), ["spt has no options"]),
        (("--policy", "easy:reserve_dept=2"), ["unknown option", "did you mean reserve_depth"]),
        (("--policy", "easy:reserve_depth"), ["write NAME=VALUE"]),
        (("--policy", "spt:by=count"), ["spt has no options"]),
        (("--platform", "kth.tom"), ["kth.tom: ", ".toml or .json"]),
        (("--cluster-size", "11"), ["--cluster-size 11 is more than the 10 processors"]),
        (("--slowdown-bound", "nan"), ["must be above 0 s, not nan"]),
        (("--slowdown-bound", "0"), ["must be above 0 s, not 0"]),
        (("--slowdown-bound", "-1"), ["must be above 0 s, not -1"]),
        (("--weeks", "1", "--start", "nan"), ["--start nan: write seconds"]),
        (("--weeks", "3"), ["t.swf: --weeks 3: ", "ask for less"]),
        (("--sample", "4"), ["t.swf: cannot draw 4 of the 3 jobs"]),
        (("--processors", "9"), ["t.swf:3: job 2 ", "(1 such job)", "--repair too_wide=drop"]),
        (("--reserve-depth", "some"), ["reserve_depth cannot be 'some'"]),
        (("--penalty", "cubic:2"), ["unknown penalty 'cubic'"]),
        (("--power", "busy=1"), ["a power model needs idle, in watts"]),
        (
            ("--policy", "easy_malleable", "--power", "busy=1,idle=1,idle_timeout=1"),
            ["the policy stops or resizes jobs", "leave idle_timeout out"],
        ),
        (("--penalty", "linear:x"), ["'x' is no number"]),
        (("--rules", "strict"), ["standard, thesis"]),
        (("--repair", "overun=drop"), ["'overun=drop' is about no rule"]),
        (("--metric", "mean_strech"), ["unknown metric", "did you mean mean_stretch"]),
        (("--explain", "77"), ["t.swf", "number 77; they are from 1 to 3"]),
        (("--start", "5"), ["--weeks"]),
        (("--first", "0"), ["--first"]),
        (("--gantt", "g.gif"), ["g.gif: the name of a drawing must end in"]),
        (("--report", "r.svg"), ["r.svg: the name of a report must end in .html"]),
        (("--report", "-"), ["-: the name of a report must end in .html"]),
        (("--report-jobs", "0"), ["--report-jobs"]),
        (("--processors", "5"), ["t.swf:2: job 1 needs 6 processors", "has 5"]),
        (("--processors", "7", "--policy", "all"), ["t.swf:3: job 2 needs 10 processors"]),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(refuses, trace, words, said):
    """One line on standard error, exit code 1, and no file."""
    outcome = refuses(1, said, "simulate", "t.swf", *words, QUIET)
    assert outcome.err.count("swdual: error") + outcome.err.count("Error: ") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 2 3\n", ["t.swf:1: "]),
        (swf(TIES).replace("2 2 -1 100", "2 -5 -1 100"), ["t.swf:3: "]),
        (swf(TIES).replace("2 2 -1 100", "2 2 -1 nan"), ["t.swf:3: "]),
        ("; only a header\n", ["t.swf: has no job lines"]),
        (swf(TIES, header=""), ["t.swf: does not say how many processors", "--processors"]),
    ],
)
def test_a_malformed_trace_is_an_error_with_file_and_line(refuses, here, text, said):
    """The line is the file's."""
    (here / "t.swf").write_text(text)
    refuses(1, said, "simulate", "t.swf")


def test_existing_files_are_found_before_the_work(refuses, trace, here):
    """Exit code 6, and nothing was simulated; --force replaces them."""
    (here / "x.csv").write_text("mine")
    refuses(6, ["x.csv: exists; use --force"], "simulate", "t.swf", "--jobs-out", "x.csv", QUIET)
    (here / "x.html").write_text("mine")
    refuses(6, ["x.html: exists; use --force"], "simulate", "t.swf", "--report", "x.html", QUIET)
    assert (here / "x.html").read_text() == "mine"


def test_wide_jobs_outside_the_part_do_not_matter(run, trace):
    """Only what is simulated must fit; and wide jobs can be dropped or capped."""
    trace([*TIES, (50, 1, 99, 1)])
    assert run("simulate", "t.swf").code == 1
    assert run("simulate", "t.swf", "--first", "3").code == 0
    dropped = shown(run("simulate", "t.swf", "--repair", "too_wide=drop", "--json", QUIET))
    capped = shown(run("simulate", "t.swf", "--repair", "too_wide=cap", "--json", QUIET))
    assert (dropped["jobs"], capped["jobs"]) == (3, 4)


def test_files_that_cannot_be_written_are_found_before_the_work(run, refuses, trace, here):
    """Folders that are missing or not ours, folders as files, and one name for two files."""
    (here / "folder.csv").mkdir()
    words = ("simulate", "t.swf", QUIET)
    refuses(6, ["none/x.csv: cannot be written", "make it"], *words, "--jobs-out", "none/x.csv")
    refuses(6, ["folder.csv: is a folder"], *words, "--jobs-out", "folder.csv", "--force")
    pytest.importorskip("matplotlib")
    refuses(6, ["none/x.svg: cannot"], *words, "--distribution", "none/x.svg")
    refuses(6, ["none/x.html: cannot"], *words, "--report", "none/x.html")
    refuses(1, ["written twice"], *words, "--gantt", "x.svg", "--usage", "./x.svg")
    refuses(1, ["written twice"], *words, "--gantt", "x.svg", "--distribution", "x.svg")
    if os.geteuid():
        (here / "folder.csv").chmod(0o500)
        name = "folder.csv/x.csv"
        refuses(6, [f"{name}: cannot be written", "not yours"], *words, "--jobs-out", name)
    assert run(*words, "--jobs-out", os.devnull).code == 0


def test_a_file_name_that_is_not_utf_8_can_be_simulated_and_drawn(run, trace, here):
    """What cannot be shown of it is replaced."""
    (here / "t.swf").rename(here / "_caf\udce9$.swf")
    pytest.importorskip("matplotlib")
    words = (
        "--gantt",
        "g.svg",
        "--usage",
        "u.svg",
        "--distribution",
        "d.svg",
        "--report",
        "r.html",
    )
    outcome = run("simulate", "_caf\udce9$.swf", *words, QUIET)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("_caf?$: 3 jobs")


# Lists.


def test_the_list_names_all_that_simulates(run):
    """And the lists of one kind tell more."""
    out = run("list").out
    for name in (*POLICIES, *ALLOCATORS, "curie", "sdsc-blue"):
        assert re.search(rf"(?<!\S){name}(?!\S)", out)
    policies = run("list", "policies").out
    for name in POLICIES:
        assert re.search(rf"(?m)^{name}$", policies)
    assert "--option reserve_depth=1" in policies
    assert "Feitelson" in policies
    assert all(re.search(rf"(?m)^{name}$", run("list", "allocators").out) for name in ALLOCATORS)
    assert re.search(r"(?m)^curie +80,640  24, 1152, 40320, 80640$", run("list", "platforms").out)
    for name, metric in METRICS.items():
        assert re.search(rf"(?m)^{name} +{re.escape(metric.formula)}$", run("list", "metrics").out)
    assert "overrun=keep|extend|drop" in run("list", "repairs").out


@pytest.mark.parametrize(
    ("kind", "policies"),
    [
        ("moldable", "hrf,submit_time_greedy"),
        ("sequential", "fcfs,spt,srpt,gspt_rd"),
        ("threads", "thread_matrix"),
    ],
)
def test_jobs_become_what_other_policies_take(kind, policies, run, trace):
    """And the same by the same seed."""
    trace(some(40))
    arguments = ("simulate", "t.swf", "--kind", kind, "--policy", policies, "--json", QUIET)
    once, again = (run(*arguments) for _ in range(2))
    assert once.code == 0, once.err
    assert once.out == again.out
    facts = json.loads(once.out)
    made = facts["schedules"] if "," in policies else [facts]
    assert [each["policy"] for each in made] == policies.split(",")


def test_the_value_of_an_option_is_bounded(refuses, trace):
    """A number of so many digits was an internal error."""
    words = ["reserve_depth cannot be '9999", "...'"]
    refuses(1, words, "simulate", "t.swf", "--policy", "easy", "--reserve-depth", "9" * 5000)


def test_a_policy_with_options_stands_alone(refuses, trace):
    """Values of options have commas, so that names before a colon are not a list."""
    words = [
        "--policy easy,easy:order=shortest: a policy with options needs a --policy of its own."
    ]
    refuses(1, words, "simulate", "t.swf", "--policy", "easy,easy:order=shortest", QUIET)


def test_the_jobs_ahead_are_counted(run, here):
    """One job is, two jobs are; the head of the queue says what it needs and what is free."""
    (here / "queue.swf").write_text(swf([(0, 9, 10, 9), (1, 9, 6, 9), (2, 9, 1, 9), (3, 9, 1, 9)]))
    explain = [word for number in "234" for word in ("--explain", number)]
    outcome = run("simulate", "queue.swf", "--policy", "fcfs", *explain, QUIET)
    assert outcome.code == 0, outcome.err
    for words in ("needs 6 processors, 0 are free", "1 job is before it", "2 jobs are before it"):
        assert words in outcome.out + outcome.err


# Nodes, and outages of them.

CLUSTER = """
[[nodes]]
count = 2
processors = 5
partitions = ["1"]
"""


@pytest.fixture
def cluster(here):
    """Write the platform cluster.toml: two nodes of five processors."""
    (here / "cluster.toml").write_text(CLUSTER)


def test_jobs_on_nodes_that_fail_wait_again(run, trace, cluster, here):
    """The first job, on both nodes, is stopped at 6 s; it has kept four of its ten seconds."""
    (here / "outages.csv").write_text("kind,start,end,nodes\nfailure,6,8,1\n")
    arguments = ["--platform", "cluster.toml", "--outages", "outages.csv"]
    assert run("simulate", "t.swf", *arguments, "--jobs-out", "jobs.csv").code == 0
    assert rows(here / "jobs.csv")[0]["finish_time"] == "18"
    kept = run("simulate", "t.swf", *arguments, "--checkpoint", "4", "--jobs-out", "kept.csv")
    assert kept.code == 0
    assert rows(here / "kept.csv")[0]["finish_time"] == "14"


def test_failures_are_drawn_from_the_seed(run, trace, cluster):
    """The same seed gives the same schedule; without a failure it would be another one."""
    drawn = ["--platform", "cluster.toml", "--outages", "mean_uptime=40,mean_repair=9", "--json"]
    one, same, other = (
        shown(run("simulate", "t.swf", *drawn, "--seed", seed, QUIET)) for seed in "112"
    )
    assert one == same != other


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--checkpoint", "60"], "--checkpoint is for jobs that --outages stop"),
        (
            ["--platform", "cluster.toml", "--outages", "x.csv", "--resample", "2", "--weeks", "1"],
            "omit --resample",
        ),
    ],
)
def test_outages_belong_to_one_trace(run, trace, cluster, arguments, cause):
    """Otherwise the command is used wrongly."""
    outcome = run("simulate", "t.swf", *arguments)
    assert outcome.code == 1
    assert cause in outcome.err


def test_outages_need_nodes(run, trace):
    """A platform of processors has none."""
    outcome = run("simulate", "t.swf", "--outages", "outages.csv")
    assert outcome.code == 1
    assert "give a --platform that has nodes" in outcome.err


def test_nodes_that_the_platform_lacks_are_named(run, here, cluster):
    """Jobs that ask for nodes are simulated on processors all the same."""
    (here / "t.csv").write_text("submit_time,run_time,processors,nodes,gpus\n0,5,2,2,\n")
    outcome = run("simulate", "t.csv", "--processors", "4")
    assert (outcome.code, "jobs ask for nodes, which a platform" in outcome.err) == (0, True)
    outcome = run("simulate", "t.csv", "--platform", "cluster.toml")
    assert (outcome.code, "ask for" in outcome.err) == (0, False)
