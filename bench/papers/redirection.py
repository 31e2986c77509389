"""What does it bring to redirect heavy tasks, as in chapter 3 of the thesis?

    python bench/papers/redirection.py --keep
    python bench/papers/redirection.py --judge
    python bench/papers/redirection.py --trace kth-sp2 --tuning 20 --out results

Figures 3.2 to 3.13 and tables 3.1 and 3.2 of Machado Mendonca's thesis: 20 instances of each of
seven traces, all jobs of some days after a random instant, made sequential by method C. In the
comparison each policy runs with the parameters of table 3.2; for figures 3.3 to 3.6 SPT-RD has all
parameters on the first instances of two traces (`TUNING`).

The thesis says that an instance has the machine's processors / Q, Q the mean processors of a job.
The numbers in its table 3.1 say otherwise: in all seven traces they are what the widest job of the
instance has / Q. That is the default here; `--machine whole` does as the text says, and then
hardly a task of LLNL-Thunder and Metacentrum waits.

The stretch is F / max(p, 10 s), as the thesis prints it, p the task's run time: what a redirected
task has run in vain is in its flow F only. Values are means over the instances. An instance of few
processors keeps one for common tasks: it has fewer dedicated ones than table 3.2 says.

RD, counting, is RJ in one paragraph of the thesis.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Rows, Run, check_traces, column, trace
from _command import campaign
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    SIMILAR,
    UNDECIDED,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_change,
    as_percent,
    claim,
    considerably,
    estimate,
    every,
    exactly,
    judge,
    mean,
    ratio_of_means,
    similar,
    some,
    unjudged,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.sample import windows
from swdual.scheduling.workload.sequential import sequential
from swdual.scheduling.workload.workload import DAY, Workload

BOUND = 10.0
"""Seconds that a task counts at least in the stretch, B in the thesis."""

SHARE = 0.02
"""The part of the longest task so far from which on tasks are redirected at random, b."""


class Instances(NamedTuple):
    """A line of tables 3.1 and 3.2.

    Parameters
    ----------
    processors
        Of the machine.
    days
        The length of an instance.
    thesis_processors, thesis_tasks
        Means over the thesis's instances.
    parameters
        For spt_rd, gspt_rd, spt_rr and gspt_rr: dedicated processors, and threshold or
        probability.
    """

    processors: int
    days: int
    thesis_processors: int
    thesis_tasks: int
    parameters: tuple[tuple[int, float], ...]


INSTANCES = {
    "curie": Instances(80640, 60, 160, 70215, ((10, 10), (10, 4), (9, 0.8), (10, 0.8))),
    "hpc2n": Instances(240, 30, 17, 4516, ((5, 2), (10, 1), (5, 1.0), (10, 1.0))),
    "kth-sp2": Instances(100, 15, 12, 860, ((8, 1), (7, 1), (2, 0.8), (3, 0.8))),
    "llnl-thunder": Instances(4096, 7, 48, 4601, ((7, 2), (10, 5), (8, 1.0), (9, 1.0))),
    "metacentrum": Instances(806, 7, 18, 4155, ((4, 5), (3, 4), (3, 0.4), (2, 0.2))),
    "ricc": Instances(8192, 7, 200, 19401, ((10, 5), (10, 10), (5, 0.2), (5, 0.2))),
    "sdsc-blue": Instances(1152, 30, 27, 6263, ((5, 2), (10, 1), (10, 1.0), (8, 0.8))),
}
FIGURES = {name: f"3.{number}" for number, name in enumerate(INSTANCES, 7)}
LONG = ("curie", "ricc")
PLAIN = ("fcfs", "gspt", "gsrpt", "spt", "srpt")
COUNTING = ("spt_rd", "gspt_rd")
RANDOM = ("spt_rr", "gspt_rr")
REDIRECTING = (*COUNTING, *RANDOM)
TUNING = {"curie": 3, "llnl-thunder": 20}
"""On how many instances SPT-RD is simulated with all parameters, for figures 3.3 to 3.6."""

MIN_INSTANCES = 6
"""Those that decide on a trend: all of fewer err to one side in more than 5 of 100 cases."""

ORDER = ("fcfs", "spt", "gspt", "srpt", "gsrpt", *REDIRECTING)

FIGURES_OF_TUNING = {"curie": ("3.3", "3.5"), "llnl-thunder": ("3.4", "3.6")}
"""By dedicated processors, and by the threshold."""

DEDICATED = tuple(range(1, 11))
PROBABILITIES = (0.2, 0.4, 0.6, 0.8, 1.0)

STRETCH = ("sum_stretch", "max_stretch", "norm_stretch")
FLOW = ("sum_flow", "max_flow", "norm_flow")
OBJECTIVES = (*STRETCH, *FLOW)

MORE = {"curie": 20}
"""More dedicated processors than those of table 3.2, for SPT-RD: twice as many."""

SECONDS = {
    **{"curie": 3.5, "hpc2n": 0.25, "kth-sp2": 0.05, "llnl-thunder": 0.3, "metacentrum": 0.2},
    **{"ricc": 1.2, "sdsc-blue": 0.35},
}
"""What a policy takes with an instance a core (Zen 3)."""

QUICK = ("curie", "kth-sp2", "llnl-thunder")
QUICK_DAYS = 1

LENGTHS = (16, 64, 256, 1024)
"""The times of the big task of figure 3.2, p."""

WAITING = ("fcfs", "spt", "gspt")
"""Online policies that let its small tasks wait."""

LIMIT = 3
"""Of small tasks in figure 3.2, tau."""

OPTIMAL = "optimum"

HEAVY = 10
"""On how many instances it is looked at which tasks are redirected."""


@cache
def instances(
    folder: Path, name: str, field: str, machine: str, days: int, seed: int
) -> list[Workload]:
    """Return the 20 instances of a trace."""
    whole = INSTANCES[name].processors
    jobs = trace(folder, name, field, whole)
    return [
        sequential(part, "C", whole if machine == "whole" else int(part.processors.max()))
        for part in windows(jobs, days, 20, seed=seed, period=DAY, aligned=False)
    ]


def settings(
    jobs: Workload, policy: str, dedicated: int, parameter: float, seed: int
) -> tuple[int, dict[str, Any]]:
    """Return the processors of an instance, and a policy's options on as many."""
    processors = jobs.machine_processors or 1
    if policy in PLAIN:
        return processors, {}
    chosen: dict[str, Any] = {"dedicated": min(dedicated, max(processors - 1, 1))}
    if policy in COUNTING:
        chosen["threshold"] = parameter
    else:
        chosen |= {"probability": parameter, "share": SHARE, "seed": seed}
    return max(processors, 2), chosen


def _simulated(
    folder: Path, task: Row, dedicated: int, parameter: float
) -> tuple[Workload, int, Schedule, NDArray[np.bool_]]:
    """Return an instance, its processors, what a policy makes of it, and what it redirects."""
    key = (task[name] for name in ("trace", "field", "machine", "days", "seed"))
    jobs = instances(folder, *key)[task["instance"]]
    policy = task["policy"]
    processors, chosen = settings(jobs, policy, dedicated, parameter, task["instance"])
    schedule = simulate(jobs, processors, policy, options=chosen)
    apart = schedule.ranges[:, 0] >= processors - chosen.get("dedicated", 0)
    return jobs, processors, schedule, apart


def work(folder: Path, task: Row) -> Row:
    """Return what one policy makes of one instance."""
    jobs, processors, schedule, apart = _simulated(
        folder, task, task["dedicated"], task["parameter"]
    )
    flow = schedule.turnaround_time
    stretch = flow / np.maximum(jobs.run_time, BOUND)
    lost = schedule.interrupted
    in_vain = float(((lost.end - lost.start) * ~lost.kept).sum())
    return {
        "tasks": len(jobs),
        "processors": processors,
        **_objectives("stretch", stretch),
        **_objectives("flow", flow),
        "redirected": int(apart.sum()),
        "in_vain": in_vain / float(jobs.run_time.sum()),
    }


def _objectives(name: str, values: NDArray[np.float64]) -> Row:
    return {
        f"sum_{name}": float(values.sum()),
        f"max_{name}": float(values.max()),
        f"norm_{name}": float(np.sqrt(values @ values)),
    }


def heavy_work(folder: Path, task: Row) -> Row:
    """Return how many tasks are redirected by counting, and how many of these are big."""
    jobs, _, _, apart = _simulated(folder, task, *parameters_of(task["trace"], task["policy"]))
    big = jobs.run_time >= SHARE * np.maximum.accumulate(jobs.run_time)
    return {
        "tasks": len(jobs),
        "big": int(big.sum()),
        "redirected": int(apart.sum()),
        "big_redirected": int((big & apart).sum()),
        "longer_redirected": int((apart & (jobs.run_time > np.median(jobs.run_time))).sum()),
    }


def intuition_work(task: Row) -> Row:
    """Return what one policy makes of figure 3.2: a task of p seconds, and p of a second.

    The optimum holds the big task back until the small ones are done.
    """
    length, policy = task["length"], task["schedule"]
    release = np.arange(length + 1.0)
    release[0] = length + 1 if policy == OPTIMAL else 0
    jobs = Workload.from_arrays(release, [length, *[1] * length], 1)
    redirecting = policy in COUNTING
    ends = simulate(
        jobs, 1 + redirecting, "fcfs" if policy == OPTIMAL else policy,
        options={"dedicated": 1, "threshold": LIMIT} if redirecting else {},
    ).finish_time  # fmt: skip
    small = jobs.run_time < length
    return {
        "sum_flow": float(ends.sum() - small.sum() * (length + 1) / 2),
        "small_end": float(ends[small].mean()),
    }


def parameters_of(name: str, policy: str) -> tuple[int, float]:
    """Return table 3.2's dedicated processors, and threshold or probability."""
    if policy in PLAIN:
        return 0, 0
    return INSTANCES[name].parameters[REDIRECTING.index(policy)]


def grid(name: str, policy: str) -> Iterator[tuple[int, float]]:
    """Yield all parameters that the thesis tried."""
    thresholds = range(1, 11 if name in LONG else 6)
    for dedicated in DEDICATED:
        for parameter in thresholds if policy in COUNTING else PROBABILITIES:
            yield dedicated, parameter


def tasks_of(name: str, count: int, tuned: int, about: Row) -> list[Row]:
    """Return what to simulate of a trace: the comparison, then the tuning of SPT-RD."""
    wanted = [(k, policy, *parameters_of(name, policy)) for k in range(count) for policy in ORDER]
    wanted += [
        (k, "spt_rd", *parameters)
        for k in range(min(count, tuned))
        for parameters in grid(name, "spt_rd")
    ]
    if name in MORE:
        _, threshold = parameters_of(name, "spt_rd")
        wanted += [(k, "spt_rd", MORE[name], threshold) for k in range(count)]
    columns = ("instance", "policy", "dedicated", "parameter")
    return [
        {"trace": name, **about, **dict(zip(columns, values, strict=True))}
        for values in dict.fromkeys(wanted)
    ]


def trace_work(folder: Path, task: Row) -> Row:
    """Return the 0.8n longest run time of a whole trace, as a part of the longest."""
    run_time = trace(folder, task["trace"], "allocated").run_time
    return {"share": float(np.quantile(run_time, 0.8) / run_time.max())}


class Found:
    """The rows of a trace, as arrays.

    Parameters
    ----------
    rows
        All rows.
    name
        The trace.
    """

    def __init__(self, rows: Rows, name: str) -> None:
        self.name = name
        self._rows = rows

    def compared(self, policy: str, what: str, dedicated: int | None = None) -> Floats:
        """Return (instances,) values with the parameters of table 3.2, but for these processors."""
        usual, parameter = parameters_of(self.name, policy)
        rows = self._rows.where(
            trace=self.name, policy=policy, dedicated=dedicated or usual, parameter=parameter
        )
        return column(rows, what)

    def mean(self, policy: str, what: str) -> float:
        """Return the mean with the parameters of table 3.2."""
        return float(self.compared(policy, what).mean())

    def ratio(self, policy: str, other: str, what: str) -> Estimate:
        """Return how many times as large one mean is as the other."""
        both = (self.compared(each, what) for each in (policy, other))
        return estimate(ratio_of_means, *both)

    def surfaces(self, what: str) -> NDArray[np.float64]:
        """Return (instances, dedicated, parameter) values of SPT-RD with all parameters."""
        tuned, parameters = self.tuned, [*grid(self.name, "spt_rd")]
        wanted = set(parameters)
        rows = self._rows.of(
            [
                task
                for task in self._rows.tasks_where(trace=self.name, policy="spt_rd")
                if task["instance"] < tuned and (task["dedicated"], task["parameter"]) in wanted
            ]
        )
        values = {(row["instance"], row["dedicated"], row["parameter"]): row[what] for row in rows}
        found = [values[k, *each] for k in range(tuned) for each in parameters]
        return np.array(found).reshape(tuned, len(DEDICATED), -1)

    @cached_property
    def tuned(self) -> int:
        """How many instances are simulated with all parameters."""
        counts = Counter(
            (task["dedicated"], task["parameter"])
            for task in self._rows.tasks_where(trace=self.name, policy="spt_rd")
        )
        return min(counts[parameters] for parameters in grid(self.name, "spt_rd"))

    def trends(self, *, by_dedicated: bool, least: int = 1) -> tuple[Floats, Floats]:
        """Return (instances,) mean rank correlations of stretch, and flow, of SPT-RD.

        With the dedicated processors from 4 on, or else with the threshold from the least on.
        """
        stretch, flow = (self.surfaces(what) for what in ("sum_stretch", "sum_flow"))
        if by_dedicated:
            stretch, flow = (x[:, 3:].transpose(0, 2, 1) for x in (stretch, flow))
        else:
            stretch, flow = (x[:, :, least - 1 :] for x in (stretch, flow))
        return _correlations(stretch), _correlations(flow)


def _correlations(lines: NDArray[np.float64]) -> Floats:
    """Return (instances,) the mean over lines of the rank correlation with the place in them.

    Equal values have their mean rank; a line without different ones has no trend.
    """
    from scipy.stats import rankdata

    places = np.arange(lines.shape[-1]) - (lines.shape[-1] - 1) / 2
    ranks = rankdata(lines, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    norms = np.sqrt((ranks**2).sum(axis=-1) * (places @ places))
    found = np.divide(ranks @ places, norms, out=np.zeros_like(norms), where=norms > 0)
    return found.mean(axis=-1)


def summary_of(rows: Rows) -> list[Row]:
    """Return means over the instances for each trace and policy."""
    return [row for found in founds(rows) for row in _summary_of(found)]


def _summary_of(found: Found) -> list[Row]:
    rows = []
    for policy in ORDER:
        dedicated, parameter = parameters_of(found.name, policy)
        row: Row = {"trace": found.name, "policy": policy}
        row |= {"dedicated": dedicated, "parameter": parameter}
        row |= {what: found.mean(policy, what) for what in OBJECTIVES}
        redirected = found.compared(policy, "redirected") / found.compared(policy, "tasks")
        row |= {"redirected": float(redirected.mean()), "in vain": found.mean(policy, "in_vain")}
        rows.append(row)
    return rows


RATIOS = "total, maximum and 2-norm of stretch over those without redirection"

MOST = f"each at least {100 * SIMILAR:g} % less"
"""What a significant improvement of these is."""


def founds(rows: Rows) -> list[Found]:
    """Return the traces that there are."""
    names = rows.distinct("trace")
    return [Found(rows, name) for name in INSTANCES if name in names]


def claims_of(rows: Rows, heavy: Rows, intuition: Rows) -> list[Claim]:
    """Return what the thesis says in sections 3.4 to 3.6, and what we found."""
    every_trace = founds(rows)
    by_name = {found.name: found for found in every_trace}
    claims = [*_intuition_claims(intuition), *_heavy_claims(heavy)]
    if "curie" in by_name:
        claims += _curie_trend_claims(by_name["curie"])
    if "llnl-thunder" in by_name:
        claims += _thunder_claims(by_name["llnl-thunder"])
    if "curie" in by_name:
        claims += _curie_claims(by_name["curie"])
    claims += _overall_claims(every_trace)
    return claims


def inputs_of(rows: Rows, whole: Rows) -> list[Claim]:
    """Return how the thesis describes traces and instances, and how they are here."""
    return [*(_instance_input(found) for found in founds(rows)), _share_input(whole)]


def beyond_of(rows: Rows) -> list[Claim]:
    """Return what single traces give, and thresholds from 2 on."""
    return [each for found in founds(rows) for each in _beyond(found)]


def _instance_input(found: Found) -> Claim:
    thesis = INSTANCES[found.name]
    asked = "where a mean of 20 random instances is in 95 of 100 cases"

    def within(what: str, theirs: int) -> Judgement:
        ours = found.compared("spt", what)
        # The thesis has a mean of as many random instances: it errs as much as ours.
        room = 2 * np.sqrt(2) * ours.std(ddof=1) / np.sqrt(len(ours))
        low, high = ours.mean() - room, ours.mean() + room
        judged = judge(exactly(theirs, len(ours)), asked, low, high)
        return judged._replace(number=f"{what} {low:,.0f} to {high:,.0f}")

    return claim(
        "table 3.1",
        f"# CPUs # tasks ... {thesis.thesis_processors} {thesis.thesis_tasks}",
        found.name,
        "the thesis's means are within the 95 % range of a mean of 20 random instances",
        lambda: every(
            [
                within("tasks", thesis.thesis_tasks),
                within("processors", thesis.thesis_processors),
            ],
            asked,
        ),
        {
            REPRODUCED: "both numbers are in that range",
            CONTRADICTED: "a number of the thesis is outside that range",
        },
    )


def _share_input(whole: Rows) -> Claim:
    def judged() -> Judgement:
        shares = {row["trace"]: row["share"] for row in whole.where()}
        value = float(np.mean([*shares.values()]))
        numbers = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
        rounded = judge(exactly(value, len(shares)), "0.02 when rounded", 0.015, 0.025)
        return rounded._replace(number=f"{value:.4f}: {numbers}")

    return claim(
        "section 3.5.2",
        "we calculated the ratio of the 0.8n longest task of each trace over the longest task of "
        "it, and this is equal to 0.02 in average for all traces",
        "all traces",
        "quantile 0.8 of the run times of a whole trace over the longest, mean of the traces",
        judged,
        {
            REPRODUCED: "the mean of the numbers is 0.02 when rounded",
            CONTRADICTED: "the mean of the numbers is not 0.02 when rounded",
        },
    )


def _intuition_claims(intuition: Rows) -> Iterator[Claim]:
    def values(schedule: str, what: str) -> Floats:
        return column(intuition.where(schedule=schedule), what)

    def exponent(schedule: str, of: float) -> Judgement:
        """Return whether the total flow grows as p to the power of a number."""
        flow = values(schedule, "sum_flow")
        slope = float(np.polyfit(np.log(column(intuition.where(schedule=schedule), "length")),
                                 np.log(flow), 1)[0])  # fmt: skip
        return judge(
            exactly(slope, len(flow)), f"within {100 * SIMILAR:g} % of {of:g}",
            of * (1 - SIMILAR), of * (1 + SIMILAR), name=_print(schedule),
        )  # fmt: skip

    def between(policy: str) -> Judgement:
        ends = values(policy, "small_end")
        latest = float((ends / values(_base(policy), "small_end")).max())
        earliest = float((ends / values(OPTIMAL, "small_end")).min())
        return every([
            judge(exactly(latest, len(ends)), "below 0 beside A", high=1, form=as_change,
                  name=f"{_print(policy)} to {_print(_base(policy))}"),
            judge(exactly(earliest, len(ends)), "above 0 beside the optimum", 1, form=as_change,
                  name=f"{_print(policy)} to the optimum"),
        ])  # fmt: skip

    lengths = f"p = {', '.join(map(str, LENGTHS))}"
    yield claim(
        "figure 3.2",
        "The total flow-time of any such schedule is O(p²). On the other hand, the offline optimal "
        "non-preemptive schedule ... gives a schedule of total flow-time only O(p)",
        lengths,
        f"exponent of p, by least squares, in the total flow of {', '.join(map(_print, WAITING))}, "
        f"and of the optimum; {lengths}",
        lambda: every([*(exponent(policy, 2) for policy in WAITING), exponent(OPTIMAL, 1)]),
    )
    yield claim(
        "figure 3.2",
        "the remaining tasks can start their execution and complete earlier than in the schedule "
        "of A but later than in the optimal schedule",
        lengths,
        f"mean end of the small tasks with a threshold of {LIMIT} over those in both, the worst p",
        lambda: every([between(policy) for policy in COUNTING]),
    )


MEANINGS = {"big": f"at least {SHARE} of the longest", "longer": "above the median"}
"""What big tasks take: as the thesis tells them in section 3.5.2, and by the median task."""


def _heavy_claims(heavy: Rows) -> Iterator[Claim]:
    for policy in COUNTING:
        yield claim(
            "section 3.4.3",
            f"the tasks redirected based on it are in general big tasks [{_print(policy)}]",
            "all traces",
            f"part of the redirected tasks that take at least {SHARE} of the longest so far, as in "
            "section 3.5.2, and part of those above the median task: both above 50 % (our limit)",
            lambda policy=policy: _mostly_big(heavy, policy),
        )


def _mostly_big(heavy: Rows, policy: str) -> Judgement:
    """Return whether most redirected tasks are big, if both meanings of that agree."""
    each = [_redirected(heavy, policy, which) for which in MEANINGS]
    judged = every(each)
    if len({one.verdict for one in each}) == 1:
        return judged
    told = "section 3.4.3 has no number for big tasks, and the two that we tried differ"
    return unjudged(judged, told)._replace(brief="; ".join(one.brief for one in each))


def _redirected(heavy: Rows, policy: str, which: str) -> Judgement:
    """Return whether most redirected tasks are big by one of `MEANINGS`."""
    groups = [heavy.where(trace=name, policy=policy) for name in heavy.distinct("trace")]
    samples = [
        column(group, what) for group in groups for what in (f"{which}_redirected", "redirected")
    ]
    judged = judge(
        estimate(_ratio_of_sums, *samples), "above 50 %", 0.5, form=as_percent,
        name=MEANINGS[which],
    )  # fmt: skip
    each = ", ".join(
        f"{group[0]['trace']} {as_percent(part.sum() / whole.sum())}"
        for group, part, whole in zip(groups, samples[::2], samples[1::2], strict=True)
        if whole.any()
    )
    return judged._replace(number=f"{judged.number}: {each}")


def _curie_trend_claims(found: Found) -> Iterator[Claim]:
    yield claim(
        "figure 3.3",
        "while the stretch is, in general, increasing with the number of dedicated processors "
        "for md ≥ 4, the flow-time decreases",
        "curie, SPT-RD",
        "mean rank correlation of total stretch, and of total flow, with the dedicated "
        "processors from 4 on, over thresholds and instances",
        lambda: _up_and_down(found.trends(by_dedicated=True)),
        {UNDECIDED: f"fewer than {MIN_INSTANCES} instances do not decide"}
        if found.tuned < MIN_INSTANCES
        else None,
    )


def _curie_claims(found: Found) -> Iterator[Claim]:
    for what, size in (("flow", similar), ("stretch", partial(considerably, less=False))):
        yield claim(
            "figure 3.7",
            "although SPT is stable for the flow metric, it is highly detrimental to the stretch "
            f"metric with regard to the lower bounds (SRPT and GSRPT) [{what}]",
            "curie",
            "total flow, and total stretch, of SPT over SRPT's and GSRPT's: flow within "
            f"{100 * SIMILAR:g} %, stretch above that",
            lambda what=what, size=size: every([
                size(found.ratio("spt", bound, f"sum_{what}"), f"to {_print(bound)}")
                for bound in ("srpt", "gsrpt")
            ]),
        )  # fmt: skip
    for policy in ("gspt_rd", *RANDOM):
        yield claim(
            "figure 3.7",
            "there is a significant decrease in all stretch metrics for the GSPT-RJ, SPT-RR and "
            f"GSPT-RR methods [{_print(policy)}]",
            "curie",
            f"{RATIOS}: {MOST}",
            lambda policy=policy: _improvement(found, policy),
        )
    yield claim(
        "figure 3.7",
        "the same improvement cannot be seen for the SPT-RJ method",
        "curie",
        f"{RATIOS}: not {MOST}",
        lambda: some(
            [
                judge(
                    found.ratio("spt_rd", "spt", what), f"above {-100 * SIMILAR:g} %",
                    1 - SIMILAR, form=as_change, name=name,
                )
                for what, name in zip(STRETCH, NAMES, strict=True)
            ],
            f"above {-100 * SIMILAR:g} % for one of them",
        ),
    )  # fmt: skip
    parameters = parameters_of("curie", "spt_rd")
    yield claim(
        "figure 3.7",
        "we can safely say that the flow metric would see significant improvement if more "
        "dedicated processors were used",
        "curie, SPT-RD",
        f"total flow with {MORE['curie']} dedicated processors over that with the {parameters[0]} "
        f"of table 3.2, threshold {parameters[1]}: considerably less",
        lambda: considerably(
            estimate(
                ratio_of_means,
                *(found.compared("spt_rd", "sum_flow", each) for each in (MORE["curie"], None)),
            )
        ),
        {
            CONTRADICTED: "common tasks have fewer processors then: they wait longer, and more of "
            "them are redirected"
        },
    )


THUNDER = (
    "This is not true for the LLNL-Thunder trace, but a similar situation is observed for this "
    "trace with the threshold increase"
)


def _thunder_claims(found: Found) -> Iterator[Claim]:
    opposite = {CONTRADICTED: REPRODUCED, REPRODUCED: CONTRADICTED}

    def not_both() -> Judgement:
        both = every(_up_and_down_parts(found.trends(by_dedicated=True)))
        return both._replace(verdict=opposite.get(both.verdict, both.verdict))

    yield claim(
        "figures 3.4 and 3.6",
        f"{THUNDER} [dedicated processors]",
        "llnl-thunder, SPT-RD",
        "mean rank correlations of total stretch, and of total flow: not both rise and fall with "
        "the dedicated processors from 4 on; they do with the threshold",
        not_both,
        {
            REPRODUCED: "stretch does not rise, or flow does not fall, by the whole interval",
            CONTRADICTED: "stretch rises and flow falls, by the whole intervals",
        },
    )
    yield _threshold_claim(found, 1)


def _threshold_claim(found: Found, least: int) -> Claim:
    where, since = "llnl-thunder, SPT-RD", ""
    if least > 1:
        where, since = f"{where}, thresholds from {least} on", f" from {least} on"
    return claim(
        "figures 3.4 and 3.6",
        f"{THUNDER} [threshold]",
        where,
        f"mean rank correlation of total stretch, and of total flow, with the threshold{since}",
        lambda: _up_and_down(found.trends(by_dedicated=False, least=least)),
        {
            UNDECIDED: "from threshold 2 on stretch rises and flow falls, but with threshold 1 "
            "stretch is larger than with any other"
        },
    )


def _overall_claims(every_trace: Sequence[Found]) -> Iterator[Claim]:
    cases = [(found, policy) for found in every_trace for policy in REDIRECTING]
    counting = [(found, policy) for found, policy in cases if policy in COUNTING]
    random = [(found, policy) for found, policy in cases if policy in RANDOM]
    half = len(cases) / 2
    yield claim(
        "section 3.5.2",
        "in most of the cases there is a significant improvement in all stretch metrics if "
        "redirection is used comparing to the SPT and GSPT methods",
        "all traces",
        f"number of the {len(cases)} traces and methods in which {RATIOS} are {MOST}: more than "
        "half",
        lambda: judge(_count_improved(cases), f"above {half:g}", half),
    )
    yield claim(
        "section 3.5.2",
        "in some cases the stretch metric for the methods that employ redirections is even close "
        "to the SRPT and GSRPT methods",
        "all traces",
        f"number of the {len(cases)} traces and methods whose total stretch is at most "
        f"{100 * SIMILAR:g} % above SRPT's, or for global methods GSRPT's: two or more (our limit)",
        lambda: _close(cases),
    )
    yield claim(
        "section 3.6",
        "Both methods focus mainly on stretch metrics at the expense of flow-time metrics",
        "all traces",
        "total flow with redirection over that without, geometric mean of the traces, each method",
        lambda: every([
            judge(_across(every_trace, p, "sum_flow"), "above 1", 1, name=_print(p))
            for p in REDIRECTING
        ]),
    )  # fmt: skip
    deterministic = (
        "In general, the deterministic method outperforms the standard SPT policy and in many "
        "cases its performance approached the performance of the preemptive policy SRPT"
    )
    reading = (
        "total stretch with redirection by counting: less than without, geometric mean of the "
        f"traces; in more than half of the {len(counting)} traces and methods, nearer to that of "
        "SRPT or GSRPT than to that of SPT or GSPT (our limits)"
    )
    yield claim(
        "section 3.6",
        f"{deterministic} [SPT]",
        "all traces",
        reading,
        lambda: every([
            judge(_across(every_trace, p, "sum_stretch"), "below 1", high=1, name=_print(p))
            for p in COUNTING
        ]),
    )  # fmt: skip
    yield claim(
        "section 3.6",
        f"{deterministic} [SRPT]",
        "all traces",
        reading,
        lambda: judge(_count_approaching(counting), f"above {len(counting) / 2:g}",
                      len(counting) / 2),
    )  # fmt: skip
    gains = (
        "The gains for the random method are smaller but, in several cases, significant comparing "
        "again with SPT"
    )
    reading = (
        "total stretch by counting over that at random: less, geometric mean of the traces; number "
        f"of the {len(random)} traces and random methods in which {RATIOS} are {MOST}: two or more "
        "(our limit)"
    )
    yield claim(
        "section 3.6",
        f"{gains} [smaller]",
        "all traces",
        reading,
        lambda: every([
            judge(
                _across(every_trace, one, "sum_stretch", other), "below 1", high=1,
                name=f"{_print(one)} to {_print(other)}",
            )
            for one, other in zip(COUNTING, RANDOM, strict=True)
        ]),
    )  # fmt: skip
    yield claim(
        "section 3.6",
        f"{gains} [significant]",
        "all traces",
        reading,
        lambda: judge(_count_improved(random), "above 1", 1),
    )


def _beyond(found: Found) -> Iterator[Claim]:
    if found.name == "llnl-thunder":
        yield _threshold_claim(found, 2)
    figure = FIGURES[found.name]
    for policy in REDIRECTING:
        if found.name != "curie":
            yield claim(
                f"figure {figure}",
                "in most of the cases there is a significant improvement in all stretch metrics",
                f"{found.name}, {_print(policy)}",
                f"{RATIOS}: {MOST}",
                lambda policy=policy: _improvement(found, policy),
            )
        yield claim(
            f"figure {figure}",
            "at the expense of flow-time metrics",
            f"{found.name}, {_print(policy)}",
            "total flow over that without redirection",
            lambda policy=policy: judge(
                found.ratio(policy, _base(policy), "sum_flow"), "above 1", 1
            ),
        )


NAMES = ("total", "maximum", "2-norm")


def _improvement(found: Found, policy: str) -> Judgement:
    base = _base(policy)
    judged = every([
        considerably(found.ratio(policy, base, what), name)
        for what, name in zip(STRETCH, NAMES, strict=True)
    ])  # fmt: skip
    wins = found.compared(policy, "sum_stretch") < found.compared(base, "sum_stretch")
    told = f"; total less in {wins.sum()} of {len(wins)} instances"
    return judged._replace(number=judged.number + told)


Cases = Sequence[tuple[Found, str]]
"""Traces, and policies that redirect."""


def _count_improved(cases: Cases) -> Estimate:
    """Return in how many cases all metrics of stretch are significantly less than without."""
    samples = [
        found.compared(each, what)
        for found, policy in cases
        for what in STRETCH
        for each in (policy, _base(policy))
    ]

    def improved(means: Floats) -> NDArray[np.bool_]:
        ratios = means.reshape(len(cases), len(STRETCH), 2, -1)
        return (ratios[:, :, 0] < (1 - SIMILAR) * ratios[:, :, 1]).all(axis=1)

    return estimate(partial(_count, improved), *samples)


def _count_approaching(cases: Cases) -> Estimate:
    """Return in how many cases total stretch is nearer to the lower bound than without."""
    samples = [
        found.compared(each, "sum_stretch")
        for found, policy in cases
        for each in (policy, _base(policy), _bound(policy))
    ]

    def nearer(means: Floats) -> NDArray[np.bool_]:
        with_it, without, bound = means.reshape(len(cases), 3, -1).swapaxes(0, 1)
        return 2 * with_it < without + bound

    return estimate(partial(_count, nearer), *samples)


def _close(cases: Cases) -> Judgement:
    """Return whether total stretch is close to the lower bound in two cases or more."""
    samples = [
        found.compared(each, "sum_stretch")
        for found, policy in cases
        for each in (policy, _bound(policy))
    ]

    def close(means: Floats) -> NDArray[np.bool_]:
        ones, others = means.reshape(len(cases), 2, -1).swapaxes(0, 1)
        return ones < (1 + SIMILAR) * others

    judged = judge(estimate(partial(_count, close), *samples), "above 1", 1)
    ratios = [a.mean() / b.mean() for a, b in zip(samples[::2], samples[1::2], strict=True)]
    found, policy = cases[int(np.argmin(ratios))]
    told = f"; the least is {as_change(min(ratios))}, {_print(policy)} on {found.name}"
    return judged._replace(number=judged.number + told)


def _count(held: Callable[[Floats], NDArray[np.bool_]], *drawn: Floats) -> Floats:
    """Return how many cases hold by the means of samples: (cases, resamples) of (samples, ...)."""
    means = np.array([each.mean(-1) for each in drawn])
    return np.squeeze(held(means).sum(axis=0).astype(np.float64))


def _ratio_of_sums(*drawn: Floats) -> Floats:
    """Return the sum of every other sample's mean over that of the others."""
    means = [each.mean(-1) for each in drawn]
    return np.sum(means[::2], axis=0) / np.sum(means[1::2], axis=0)


def _across(
    every_trace: Sequence[Found], policy: str, what: str, other: str | None = None
) -> Estimate:
    """Return the geometric mean over the traces of a ratio of means."""
    samples = [
        values
        for found in every_trace
        for values in (found.compared(policy, what), found.compared(other or _base(policy), what))
    ]

    def ratio(*drawn: Floats) -> Floats:
        logs = [
            np.log(a.mean(-1) / b.mean(-1)) for a, b in zip(drawn[::2], drawn[1::2], strict=True)
        ]
        return np.exp(np.mean(logs, axis=0))

    return estimate(ratio, *samples)


def _up_and_down_parts(trends: tuple[Floats, Floats]) -> tuple[Judgement, Judgement]:
    stretch, flow = (estimate(mean, each) for each in trends)
    return (
        judge(stretch, "above 0 for stretch", 0, name="stretch"),
        judge(flow, "below 0 for flow", high=0, name="flow"),
    )


def _up_and_down(trends: tuple[Floats, Floats]) -> Judgement:
    judged = every(_up_and_down_parts(trends))
    if judged.instances < MIN_INSTANCES:
        return judged._replace(verdict=UNDECIDED)
    return judged


def _bound(policy: str) -> str:
    """Return the lower bound of a policy."""
    return _base(policy).replace("spt", "srpt")


def _base(policy: str) -> str:
    return policy.partition("_")[0]


def _print(policy: str) -> str:
    return policy.upper().replace("_", "-")


LABELS = {
    "sum_stretch": "total stretch",
    "max_stretch": "maximum stretch",
    "norm_stretch": "2-norm of stretch",
    "sum_flow": "total flow (s)",
    "max_flow": "maximum flow (s)",
    "norm_flow": "2-norm of flow (s)",
}


def comparison_figure(found: Found) -> Any:
    """Return the figure with the panels of one of figures 3.7 to 3.13."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7), layout="constrained")
    groups = {
        "without redirection": ("fcfs", "spt", "gspt"),
        "preemptive": ("srpt", "gsrpt"),
        "with redirection": REDIRECTING,
    }
    panels = figure.subplots(2, 3)
    for axes, what in zip(panels.flat, OBJECTIVES, strict=True):
        for colour, (label, policies) in zip(PALETTE, groups.items(), strict=False):
            values = [found.compared(policy, what) for policy in policies]
            axes.errorbar(
                [policy.upper().replace("_", "-") for policy in policies],
                [x.mean() for x in values],
                [x.std() / np.sqrt(len(x)) for x in values],
                fmt="o",
                color=colour,
                label=label,
            )
        axes.set(title=LABELS[what], yscale="log")
        axes.grid(axis="y", alpha=0.3)
        axes.tick_params("x", rotation=60, labelsize=8)
    panels[0, 0].legend(frameon=False, fontsize=8)
    count = len(found.compared("spt", "tasks"))
    figure.suptitle(
        f"{found.name}, as figure {FIGURES[found.name]}: means of {count} instances, their "
        "standard errors; parameters of table 3.2"
    )
    return figure


def tuning_figure(found: Found, shown: Sequence[str]) -> Any:
    """Return the figure with the panels of figures 3.3 and 3.5, or 3.4 and 3.6, or one of them."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    by_dedicated, by_threshold = FIGURES_OF_TUNING[found.name]
    thresholds = sorted({parameter for _, parameter in grid(found.name, "spt_rd")})
    figure = Figure(figsize=(11, 4 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for row, number in zip(panels, shown, strict=True):
        for axes, what in zip(row, ("sum_stretch", "sum_flow"), strict=True):
            surface = found.surfaces(what).mean(axis=0)
            lines, places, label, other, others = {
                by_dedicated: (surface.T, DEDICATED, "dedicated processors", "threshold",
                               thresholds),
                by_threshold: (surface, thresholds, "threshold", "dedicated", DEDICATED),
            }[number]  # fmt: skip
            shades = colormaps["viridis"](np.linspace(0, 0.9, len(lines)))
            for line, value, shade in zip(lines, others, shades, strict=True):
                axes.plot(places, line, color=shade, marker=".", label=f"{value:g}")
            axes.set(title=f"as figure {number}", xlabel=label, ylabel=LABELS[what])
            axes.set(yscale="log", xticks=places)
            axes.legend(title=other, frameon=False, fontsize=7, title_fontsize=8, ncols=2)
    figure.suptitle(f"{found.name}: SPT-RD by parameters, means of {found.tuned} instances")
    return figure


def drawings_of(rows: Rows) -> list[Drawing]:
    """Return the comparison of each trace, and the tuning of those that have it."""
    drawings = []
    for found in founds(rows):
        drawings.append(
            Drawing(f"redirection_{found.name}", (FIGURES[found.name],),
                    lambda shown, found=found: comparison_figure(found))
        )  # fmt: skip
        if found.name in FIGURES_OF_TUNING and found.tuned:
            drawings.append(
                Drawing(f"redirection_tuning_{found.name}", FIGURES_OF_TUNING[found.name],
                        partial(tuning_figure, found))
            )  # fmt: skip
    return drawings


@click.option("--trace", "names", type=click.Choice(list(INSTANCES)), multiple=True,
              help="By default all seven.")  # fmt: skip
@click.option("--instances", "count", type=click.IntRange(2, 20), default=20)
@click.option("--tuning", type=click.IntRange(0, 20),
              help="Instances on which SPT-RD has all parameters.  [default: some of Curie and"
              " LLNL-Thunder]")  # fmt: skip
@click.option("--field", type=click.Choice(["allocated", "requested"]), default="allocated",
              help="Which processors of the trace count, field 5 or 8.")  # fmt: skip
@click.option("--machine", type=click.Choice(["widest", "whole"]), default="widest",
              help="Its processors: of the instance's widest job, or all there were.")  # fmt: skip
@click.option("--seed", default=1)
@campaign("redirection")
def main(
    run: Run,
    names: tuple[str, ...],
    count: int,
    tuning: int | None,
    field: str,
    machine: str,
    seed: int,
) -> Study:
    """Simulate the instances, print verdicts."""
    names = names or (QUICK if run.quick else tuple(INSTANCES))
    if run.quick:
        count, tuning = 2, 1

    def about(name: str) -> Row:
        days = QUICK_DAYS if run.quick else INSTANCES[name].days
        return {"field": field, "machine": machine, "seed": seed, "days": days}

    def tasks() -> list[Row]:
        check_traces(run.traces, names)
        return [
            task
            for name in names
            for task in tasks_of(
                name, count, TUNING.get(name, 0) if tuning is None else tuning, about(name)
            )
        ]

    def heavy_tasks() -> list[Row]:
        return [
            {"trace": name, **about(name), "instance": number, "policy": policy}
            for name in names
            for number in range(min(count, HEAVY))
            for policy in COUNTING
        ]

    def seconds(task: Row) -> float:
        return SECONDS[task["trace"]] * task["days"] / INSTANCES[task["trace"]].days

    rows = run.rows("redirection", tasks, partial(work, run.traces), seconds)
    heavy = run.rows("redirection_heavy", heavy_tasks, partial(heavy_work, run.traces), seconds)
    whole = run.rows(
        "redirection_traces",
        lambda: [{"trace": name} for name in names],
        partial(trace_work, run.traces),
    )
    intuition = run.rows(
        "redirection_intuition",
        lambda: [
            {"schedule": schedule, "length": length}
            for schedule in (*WAITING, OPTIMAL, *COUNTING)
            for length in LENGTHS
        ],
        intuition_work,
    )
    return Study(
        rows=[rows, heavy, whole, intuition],
        claims=partial(claims_of, rows, heavy, intuition),
        inputs=partial(inputs_of, rows, whole),
        beyond=partial(beyond_of, rows),
        summary=partial(summary_of, rows),
        drawings=drawings_of(rows),
    )


if __name__ == "__main__":
    main()
