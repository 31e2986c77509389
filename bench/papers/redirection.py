"""What does it bring to redirect heavy tasks, as in chapter 3 of the thesis?

    python bench/papers/redirection.py --keep
    python bench/papers/redirection.py --judge
    python bench/papers/redirection.py --trace kth-sp2 --tuning 20 --out results

Figures 3.3 to 3.13 and tables 3.1 and 3.2 of Machado Mendonca's thesis: 20 instances of each of
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

Where the thesis says "significant", "close" or "in general" and gives no number, the claim says
what we take it to mean.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Run, check_traces, column, draw, trace
from _command import campaign
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    UNDECIDED,
    Claim,
    Estimate,
    Floats,
    Judgement,
    claim,
    estimate,
    every,
    exactly,
    judge,
    mean,
    ratio_of_means,
    report,
    some,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling.engine import simulate
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
FIGURES = dict(zip(INSTANCES, range(7, 14), strict=True))
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

DEDICATED = tuple(range(1, 11))
PROBABILITIES = (0.2, 0.4, 0.6, 0.8, 1.0)

STRETCH = ("sum_stretch", "max_stretch", "norm_stretch")
FLOW = ("sum_flow", "max_flow", "norm_flow")
OBJECTIVES = (*STRETCH, *FLOW)

SIGNIFICANT = 0.9
"""What is at most this part of the other is significantly better."""

CLOSE = 1.25
"""What is at most so many times a lower bound is close to it."""


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


def work(folder: Path, task: Row) -> Row:
    """Return what one policy makes of one instance."""
    key = (task[name] for name in ("trace", "field", "machine", "days", "seed"))
    jobs = instances(folder, *key)[task["instance"]]
    policy = task["policy"]
    processors, chosen = settings(
        jobs, policy, task["dedicated"], task["parameter"], task["instance"]
    )
    schedule = simulate(jobs, processors, policy, options=chosen)
    flow = schedule.turnaround_time
    stretch = flow / np.maximum(jobs.run_time, BOUND)
    apart = schedule.ranges[:, 0] >= processors - chosen.get("dedicated", 0)
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

    def __init__(self, rows: Iterable[Row], name: str) -> None:
        self.name = name
        self._rows = [row for row in rows if row["trace"] == name]

    def compared(self, policy: str, what: str) -> NDArray[np.float64]:
        """Return (instances,) values with the parameters of table 3.2."""
        dedicated, parameter = parameters_of(self.name, policy)
        where = {"policy": policy, "dedicated": dedicated, "parameter": parameter}
        return column(self._rows, what, **where)

    def mean(self, policy: str, what: str) -> float:
        """Return the mean with the parameters of table 3.2."""
        return float(self.compared(policy, what).mean())

    def ratio(self, policy: str, other: str, what: str) -> Estimate:
        """Return how many times as large one mean is as the other."""
        both = (self.compared(each, what) for each in (policy, other))
        return estimate(ratio_of_means, *both)

    def surfaces(self, policy: str, what: str) -> NDArray[np.float64]:
        """Return (instances, dedicated, parameter) values of the instances that were tuned."""
        values = {
            (row["instance"], row["dedicated"], row["parameter"]): row[what]
            for row in self._rows
            if row["policy"] == policy
        }
        parameters = [*grid(self.name, policy)]
        tuned = [[values[k, *each] for each in parameters] for k in range(self.tuned(policy))]
        return np.array(tuned).reshape(
            len(tuned), len(DEDICATED), len(parameters) // len(DEDICATED)
        )

    def tuned(self, policy: str) -> int:
        """Return how many instances were simulated with all parameters."""
        counts = Counter(
            (row["dedicated"], row["parameter"]) for row in self._rows if row["policy"] == policy
        )
        return min(counts[parameters] for parameters in grid(self.name, policy))

    def trends(self, *, by_dedicated: bool, least: int = 1) -> tuple[Floats, Floats]:
        """Return (instances,) mean rank correlations of stretch, and flow, of SPT-RD.

        With the dedicated processors from 4 on, or else with the threshold from the least on.
        """
        stretch, flow = (self.surfaces("spt_rd", x) for x in ("sum_stretch", "sum_flow"))
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


def summary_of(found: Found) -> list[Row]:
    """Return means over the instances for each policy."""
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


Table = tuple[list[Claim], list[Claim]]
"""The claims of the thesis, and what is beyond it."""

RATIOS = "total, maximum and 2-norm of stretch over those without redirection"


def claims_of(every_trace: Sequence[Found], shares: Mapping[str, float]) -> Table:
    """Return what the thesis says in section 3.5, and what the traces give."""
    by_name = {found.name: found for found in every_trace}
    claims = [_instance_claim(found) for found in every_trace]
    if shares:
        claims.append(_share_claim(shares))
    if "curie" in by_name:
        claims += _curie_claims(by_name["curie"])
    if "llnl-thunder" in by_name:
        claims += _thunder_claims(by_name["llnl-thunder"])
    claims += _overall_claims(every_trace)
    return claims, [each for found in every_trace for each in _beyond(found)]


def _instance_claim(found: Found) -> Claim:
    thesis = INSTANCES[found.name]
    judged = []
    for what, theirs in (("tasks", thesis.thesis_tasks), ("processors", thesis.thesis_processors)):
        ours = found.compared("spt", what)
        # The thesis has a mean of as many random instances: it errs as much as ours.
        room = 2 * np.sqrt(2) * ours.std(ddof=1) / np.sqrt(len(ours))
        low, high = ours.mean() - room, ours.mean() + room
        asked = "where a mean of 20 random instances is in 95 of 100 cases"
        each = judge(exactly(theirs, len(ours)), asked, low, high)
        judged.append(each._replace(number=f"{what} {low:,.0f} to {high:,.0f}"))
    return claim(
        "table 3.1",
        f"{thesis.thesis_processors} [processors], {thesis.thesis_tasks} [tasks] ... the average "
        "over the 20 instances",
        found.name,
        "the thesis's means are within the 95 % range of a mean of 20 random instances",
        every(judged, judged[0].asked),
        {
            REPRODUCED: "both numbers are in that range",
            CONTRADICTED: "a number of the thesis is outside that range",
        },
    )


def _share_claim(shares: Mapping[str, float]) -> Claim:
    value = float(np.mean([*shares.values()]))
    numbers = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
    judged = judge(exactly(value, len(shares)), "0.02 when rounded", 0.015, 0.025)
    return claim(
        "section 3.5.2",
        "the ratio of the 0.8n longest task of each trace over the longest task ... is equal to "
        "0.02 in average for all traces",
        "all traces",
        "quantile 0.8 of the run times of a whole trace over the longest, mean of seven traces",
        judged._replace(number=f"{value:.4f}: {numbers}"),
        {
            REPRODUCED: "the mean of the seven numbers is 0.02 when rounded",
            CONTRADICTED: "the mean of the seven numbers is not 0.02 when rounded",
        },
    )


def _curie_claims(found: Found) -> Iterator[Claim]:
    yield claim(
        "figures 3.3 and 3.5",
        "while the stretch is, in general, increasing with the number of dedicated processors "
        "for md ≥ 4, the flow-time decreases",
        "curie, SPT-RD",
        "mean rank correlation of total stretch, and of total flow, with the dedicated "
        "processors from 4 on, over thresholds and instances",
        _up_and_down(found.trends(by_dedicated=True)),
        {UNDECIDED: f"fewer than {MIN_INSTANCES} instances do not decide"}
        if found.tuned("spt_rd") < MIN_INSTANCES
        else None,
    )
    flow, stretch = (found.ratio("spt", "srpt", what) for what in ("sum_flow", "sum_stretch"))
    yield claim(
        "figure 3.7",
        "SPT is stable for the flow metric ... with regard to the lower bounds",
        "curie",
        f"total flow of SPT over SRPT's: at most {CLOSE} times",
        judge(flow, f"below {CLOSE}", high=CLOSE),
    )
    yield claim(
        "figure 3.7",
        "it is highly detrimental to the stretch metric",
        "curie",
        f"total stretch of SPT over SRPT's: more than {CLOSE} times",
        judge(stretch, f"above {CLOSE}", CLOSE),
    )
    for policy in ("gspt_rd", *RANDOM):
        yield claim(
            "figure 3.7",
            "there is a significant decrease in all stretch metrics for the GSPT-RJ, SPT-RR and "
            f"GSPT-RR methods [{_print(policy)}]",
            "curie",
            f"{RATIOS}: each at most {SIGNIFICANT}",
            _improvement(found, policy),
        )
    asked = f"above {SIGNIFICANT}"
    ratios = [
        judge(found.ratio("spt_rd", "spt", what), asked, SIGNIFICANT, name=name)
        for what, name in zip(STRETCH, NAMES, strict=True)
    ]
    yield claim(
        "figure 3.7",
        "the same improvement cannot be seen for the SPT-RJ method",
        "curie",
        f"{RATIOS}: not each of them at most {SIGNIFICANT}",
        some(ratios, f"{asked} for one of them"),
    )


def _thunder_claims(found: Found) -> Iterator[Claim]:
    by_dedicated = found.trends(by_dedicated=True)
    stretch, flow = _up_and_down_parts(by_dedicated)
    opposite = {CONTRADICTED: REPRODUCED, REPRODUCED: CONTRADICTED}
    both = every([stretch, flow])
    yield claim(
        "figures 3.4 and 3.6",
        "this is not true for the LLNL-Thunder trace [for dedicated processors]",
        "llnl-thunder, SPT-RD",
        "not both: total stretch rises, and total flow falls, with the dedicated processors from "
        "4 on (mean rank correlations)",
        both._replace(verdict=opposite.get(both.verdict, both.verdict)),
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
        "a similar situation is observed for this trace with the threshold increase",
        where,
        f"mean rank correlation of total stretch, and of total flow, with the threshold{since}",
        _up_and_down(found.trends(by_dedicated=False, least=least)),
        {
            UNDECIDED: "from threshold 2 on stretch rises and flow falls, but with threshold 1 "
            "stretch is larger than with any other"
        },
    )


def _overall_claims(every_trace: Sequence[Found]) -> Iterator[Claim]:
    cases = [(found, policy) for found in every_trace for policy in REDIRECTING]
    half = len(cases) / 2
    yield claim(
        "section 3.5.2",
        "in most of the cases there is a significant improvement in all stretch metrics if "
        "redirection is used comparing to the SPT and GSPT methods",
        "all traces",
        f"number of the {len(cases)} traces and methods in which {RATIOS} are each at most "
        f"{SIGNIFICANT}",
        judge(_count(cases, STRETCH, None, SIGNIFICANT), f"above {half:g}", half),
    )
    yield claim(
        "section 3.5.2",
        "in some cases the stretch metric for the methods that employ redirections is even close "
        "to the SRPT and GSRPT methods",
        "all traces",
        f"number of the {len(cases)} traces and methods whose total stretch is at most {CLOSE} "
        "times GSRPT's: two or more",
        judge(_count(cases, STRETCH[:1], "gsrpt", CLOSE), "above 1", 1),
    )
    yield claim(
        "section 3.6",
        "both methods focus mainly on stretch metrics at the expense of flow-time metrics",
        "all traces",
        "total flow with redirection over that without, geometric mean of the traces, each method",
        every([
            judge(_across(every_trace, p, "sum_flow"), "above 1", 1, name=_print(p))
            for p in REDIRECTING
        ]),
    )  # fmt: skip
    yield claim(
        "section 3.6",
        "in general, the deterministic method outperforms the standard SPT policy",
        "all traces",
        "total stretch with redirection by counting over that without, geometric mean of the "
        "traces",
        every([
            judge(_across(every_trace, p, "sum_stretch"), "below 1", high=1, name=_print(p))
            for p in COUNTING
        ]),
    )  # fmt: skip
    yield claim(
        "section 3.6",
        "the gains for the random method are smaller",
        "all traces",
        "total stretch by counting over that at random, geometric mean of the traces",
        every([
            judge(
                _across(every_trace, one, "sum_stretch", other), "below 1", high=1,
                name=f"{_print(one)} to {_print(other)}",
            )
            for one, other in zip(COUNTING, RANDOM, strict=True)
        ]),
    )  # fmt: skip
    random = [(found, policy) for found, policy in cases if policy in RANDOM]
    yield claim(
        "section 3.6",
        "but, in several cases, significant comparing again with SPT",
        "all traces",
        f"number of the {len(random)} traces and random methods in which {RATIOS} are each at most "
        f"{SIGNIFICANT}: two or more",
        judge(_count(random, STRETCH, None, SIGNIFICANT), "above 1", 1),
    )


def _beyond(found: Found) -> Iterator[Claim]:
    if found.name == "llnl-thunder":
        yield _threshold_claim(found, 2)
    figure = f"figure 3.{FIGURES[found.name]}"
    for policy in REDIRECTING:
        if found.name != "curie":
            yield claim(
                figure,
                "in most of the cases there is a significant improvement in all stretch metrics",
                f"{found.name}, {_print(policy)}",
                f"{RATIOS}: each at most {SIGNIFICANT}",
                _improvement(found, policy),
            )
        yield claim(
            figure,
            "at the expense of flow-time metrics",
            f"{found.name}, {_print(policy)}",
            "total flow over that without redirection",
            judge(found.ratio(policy, _base(policy), "sum_flow"), "above 1", 1),
        )


NAMES = ("total", "maximum", "2-norm")


def _improvement(found: Found, policy: str) -> Judgement:
    base = _base(policy)
    judged = every([
        judge(
            found.ratio(policy, base, what), f"below {SIGNIFICANT}", high=SIGNIFICANT, name=name
        )
        for what, name in zip(STRETCH, NAMES, strict=True)
    ])  # fmt: skip
    wins = found.compared(policy, "sum_stretch") < found.compared(base, "sum_stretch")
    told = f"; total less in {wins.sum()} of {len(wins)} instances"
    return judged._replace(number=judged.number + told)


def _count(
    cases: Sequence[tuple[Found, str]], metrics: Sequence[str], other: str | None, most: float
) -> Estimate:
    """Return in how many cases all metrics are at most so many times those of another policy."""
    samples = [
        values
        for found, policy in cases
        for what in metrics
        for values in (
            found.compared(policy, what), found.compared(other or _base(policy), what)
        )
    ]  # fmt: skip

    def count(*drawn: Floats) -> Floats:
        ratios = [a.mean(-1) / b.mean(-1) for a, b in zip(drawn[::2], drawn[1::2], strict=True)]
        held = np.array(ratios).reshape(len(cases), len(metrics), -1).max(axis=1) <= most
        return np.squeeze(held.sum(axis=0).astype(np.float64))

    return estimate(count, *samples)


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
        f"{found.name}, as figure 3.{FIGURES[found.name]}: means of {count} instances, their "
        "standard errors; parameters of table 3.2"
    )
    return figure


def tuning_figure(found: Found) -> Any:
    """Return the figure with the panels of figures 3.3 and 3.5, or 3.4 and 3.6."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    thresholds = sorted({parameter for _, parameter in grid(found.name, "spt_rd")})
    for column_of_axes, what in zip(figure.subplots(2, 2).T, ("sum_stretch", "sum_flow"),
                                    strict=True):  # fmt: skip
        surface = found.surfaces("spt_rd", what).mean(axis=0)
        for axes, lines, places, label, other, others in (
            (column_of_axes[0], surface.T, DEDICATED, "dedicated processors", "threshold",
             thresholds),
            (column_of_axes[1], surface, thresholds, "threshold", "dedicated", DEDICATED),
        ):  # fmt: skip
            shades = colormaps["viridis"](np.linspace(0, 0.9, len(lines)))
            for line, value, shade in zip(lines, others, shades, strict=True):
                axes.plot(places, line, color=shade, marker=".", label=f"{value:g}")
            axes.set(xlabel=label, ylabel=LABELS[what], yscale="log", xticks=places)
            axes.legend(title=other, frameon=False, fontsize=7, title_fontsize=8, ncols=2)
    figure.suptitle(
        f"{found.name}: SPT-RD by parameters, means of {found.tuned('spt_rd')} instances"
    )
    return figure


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
) -> None:
    """Simulate the instances, print verdicts."""
    names = names or tuple(INSTANCES)
    if run.quick:
        names, count, tuning = ("kth-sp2",), 2, 1
    about = {"field": field, "machine": machine, "seed": seed}

    def tasks() -> list[Row]:
        check_traces(run.traces, names)
        return [
            task
            for name in names
            for task in tasks_of(
                name,
                count,
                TUNING.get(name, 0) if tuning is None else tuning,
                {**about, "days": 3 if run.quick else INSTANCES[name].days},
            )
        ]

    rows = run.rows("redirection", tasks, partial(work, run.traces))
    whole = run.rows(
        "redirection_traces",
        lambda: [{"trace": name} for name in names],
        partial(trace_work, run.traces),
    )
    found = [Found(rows, name) for name in names if name in {row["trace"] for row in rows}]
    claims, beyond = claims_of(found, {row["trace"]: row["share"] for row in whole})
    summary = [row for each in found for row in summary_of(each)]
    report("redirection", claims, beyond, summary, run)
    if run.folder is not None:
        for each in found:
            draw(run.folder / f"redirection_{each.name}.svg", partial(comparison_figure, each))
            if each.name in TUNING and each.tuned("spt_rd"):
                path = run.folder / f"redirection_tuning_{each.name}.svg"
                draw(path, partial(tuning_figure, each))


if __name__ == "__main__":
    main()
