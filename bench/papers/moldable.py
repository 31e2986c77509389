"""Does highest revenue first shorten the turnaround of moldable jobs, as its authors say?

    python bench/papers/moldable.py --keep
    python bench/papers/moldable.py --judge
    python bench/papers/moldable.py --workloads 100 --out results

Figures 5 to 7 of Wu, Tuo, Jin, Yan and Weng, "HRF: a resource allocation scheme for moldable jobs"
(Computing Frontiers 2015): 200 jobs of the Cirne-Berman model in Downey mode, ANL pattern, on 128
processors, submitted every 2000, 1000 and 600 s on average: light, middle and heavy load. They
simulated one workload each. Here there are many; all policies, parameters and loads get the same
jobs, and users request what their jobs run.

Combined figures are means over alpha 0.5 to 1.2 and threshold 0.4 to 1, where a policy has these.
"adaptive" is ours: alpha follows the numbers of waiting and running jobs. That rule was chosen from
eleven on the workloads with seeds 0 to 9, so those here begin at 101. "rigid" are the same jobs
in the sizes that the model gave them before they were moldable, under FCFS and EASY.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Run, column, draw
from _command import campaign
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    Claim,
    Floats,
    Judgement,
    as_change,
    as_number,
    claim,
    estimate,
    every,
    exactly,
    judge,
    mean_difference,
    ratio_of_means,
    report,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling.engine import simulate
from swdual.scheduling.workload.moldable import generate
from swdual.scheduling.workload.workload import Workload

GAPS = {"light": 2000, "middle": 1000, "heavy": 600}
ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COMBINED = THRESHOLDS[3:]

SCHEMES = {
    "hrf": "HRF",
    "submit_time_greedy": "SbmGrdy",
    "submit_time_fair": "SbmFair",
    "schedule_time_fair": "SchFair",
}
"""The policies, and what the paper calls them."""

RIVALS = tuple(SCHEMES)[1:]
OURS = {"adaptive": "adaptive", "rigid": "rigid"}
BACKFILLING = {"none": "Fcfs", "aggressive": "Bf"}

PRINTED = {
    ("hrf", "none"): 23_617,
    ("hrf", "aggressive"): 13_309,
    ("submit_time_greedy", "none"): 81_444,
    ("submit_time_fair", "none"): 30_400,
    ("schedule_time_fair", "none"): 30_935,
}
"""Combined average turnaround at middle load that the text of section 6.3 gives, in seconds."""

Reading = tuple[str, str, str]
"""Renewal, budget and surplus: options of HRF."""

USUAL: Reading = ("instant", "total", "no")
FIRST_FREE: Reading = ("instant", "extra", "no")
LETTER: Reading = ("instant", "extra", "yes")
OTHER_READINGS = {
    "the first processors of jobs do not count": FIRST_FREE,
    "the whole budget is handed out": ("instant", "total", "yes"),
    "algorithm 1 by the letter": LETTER,
    "new sizes after each start": ("start", "total", "no"),
}
"""By the letter the first processors do not count, and the whole budget is handed out."""

COLOURS = (PALETTE[0], PALETTE[3])

QUICK = {"workloads": 2, "size": 25}


@cache
def workload(seed: int, size: int, processors: int, gap: int) -> Workload:
    return generate(size, processors, seed=seed, mean_gap=gap).clairvoyant()


def work(task: Row) -> Row:
    """Return what one policy makes of one workload: ATT, AWT and ART."""
    processors = task["processors"]
    jobs = workload(task["seed"], task["size"], processors, GAPS[task["load"]])
    scheme, backfilling = task["scheme"], task["backfilling"]
    if scheme == "rigid":
        schedule = simulate(jobs, processors, "fcfs" if backfilling == "none" else "easy")
    else:
        chosen: dict[str, Any] = {"backfilling": backfilling}
        if scheme == "hrf":
            names = ("alpha", "threshold", "renewal", "budget", "surplus")
            chosen |= {name: task[name] for name in names}
        if scheme == "adaptive":
            chosen |= {"adaptive": "yes"}
        policy = "hrf" if scheme == "adaptive" else scheme
        schedule = simulate(jobs, processors, policy, options=chosen)
    return {
        "att": round(float(schedule.turnaround_time.mean()), 1),
        "awt": round(float(schedule.waiting_time.mean()), 1),
        "art": round(float(schedule.execution_time.mean()), 1),
    }


def tasks_of(about: Row, workloads: int) -> list[Row]:
    """Return all schedules: the parameters of other policies than HRF are 0."""
    grid = [(a, t, *USUAL) for a in ALPHAS for t in COMBINED]
    grid += [(1.0, t, *USUAL) for t in THRESHOLDS[:3]]
    for reading in OTHER_READINGS.values():
        grid += [(a, 0.9, *reading) for a in ALPHAS]
    grid += [(1.0, t, *FIRST_FREE) for t in THRESHOLDS if t != 0.9]
    kinds = [("hrf", *point) for point in grid]
    kinds += [(scheme, 0.0, 0.0, "none", "none", "none") for scheme in (*RIVALS, *OURS)]
    return [
        {
            **about,
            "load": load,
            "seed": about["seed"] + number,
            "scheme": scheme,
            "backfilling": backfilling,
            "alpha": alpha,
            "threshold": threshold,
            "renewal": renewal,
            "budget": budget,
            "surplus": surplus,
        }
        for load in GAPS
        for number in range(workloads)
        for scheme, alpha, threshold, renewal, budget, surplus in kinds
        for backfilling in BACKFILLING
    ]


class Found:
    """The rows, by what the figures ask for: an entry for each workload.

    Parameters
    ----------
    rows
        Of the table.
    """

    def __init__(self, rows: list[Row]) -> None:
        self._groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            names = ("load", "scheme", "backfilling", "alpha", "threshold", "renewal", "budget")
            self._groups.setdefault(tuple(row[name] for name in names), []).append(row)
        self.workloads = len({row["seed"] for row in rows})

    def at(
        self, metric: str, load: str, backfilling: str, alpha: float, threshold: float,
        renewal: str = "instant", budget: str = "total",
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return (workloads,) a metric of HRF."""
        key = (load, "hrf", backfilling, alpha, threshold, renewal, budget)
        return column(self._groups[key], metric)

    def combined(
        self, metric: str, load: str, scheme: str, backfilling: str
    ) -> NDArray[np.float64]:
        """Return (workloads,) a metric of any scheme, of HRF its mean over the parameters."""
        if scheme != "hrf":
            key = (load, scheme, backfilling, 0.0, 0.0, "none", "none")
            return column(self._groups[key], metric)
        grid = [self.at(metric, load, backfilling, a, t) for a in ALPHAS for t in COMBINED]
        return np.mean(grid, axis=0)

    def by_alpha(
        self, metric: str, load: str, backfilling: str, *reading: str
    ) -> NDArray[np.float64]:
        """Return (alphas, workloads), as in figure 5; the reading is renewal and budget."""
        return np.array([self.at(metric, load, backfilling, a, 0.9, *reading) for a in ALPHAS])

    def by_threshold(
        self, metric: str, load: str, backfilling: str, budget: str = "total"
    ) -> NDArray[np.float64]:
        """Return (thresholds, workloads), as in figure 6."""
        grid = [self.at(metric, load, backfilling, 1.0, t, budget=budget) for t in THRESHOLDS]
        return np.array(grid)


def summary_of(found: Found) -> list[Row]:
    """Return combined figures, as in figure 7, with what the paper prints."""
    summary = []
    for load in GAPS:
        for scheme, short in {**SCHEMES, **OURS}.items():
            for backfilling, selection in BACKFILLING.items():
                att, awt, art = (
                    found.combined(m, load, scheme, backfilling) for m in ("att", "awt", "art")
                )
                printed = PRINTED.get((scheme, backfilling), "") if load == "middle" else ""
                summary.append(
                    {
                        "load": load,
                        "policy": short + selection,
                        "workloads": found.workloads,
                        "ATT (s)": float(att.mean()),
                        "standard error": _error(att),
                        "median": float(np.median(att)),
                        "AWT (s)": float(awt.mean()),
                        "ART (s)": float(art.mean()),
                        "paper's ATT (s)": printed,
                    }
                )
    return summary


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


Table = tuple[list[Claim], list[Claim]]
"""The claims of the paper, and what is beyond it."""


OF_ONE = {CONTRADICTED: "the paper's one workload may have been so, but the mean of ours is not"}

ONE_WORKLOAD = {
    CONTRADICTED: "the paper has one workload, whose number is outside the range of ours",
    REPRODUCED: "the paper has one workload, whose number is within the range of ours",
}


def claims_of(found: Found) -> Table:
    """Return the verdicts on what sections 6.2 and 6.3 say."""
    claims = [*_alpha_claims(found, USUAL), *_threshold_claims(found, "total")]
    claims += [*_policy_claims(found), *_number_claims(found)]
    beyond = [
        each._replace(where=f"{each.where}, {where}")
        for where, reading in OTHER_READINGS.items()
        for each in _alpha_claims(found, reading)
    ]
    where = "the first processors of jobs do not count"
    beyond += [
        each._replace(where=f"{each.where}, {where}") for each in _threshold_claims(found, "extra")
    ]
    return claims, [*beyond, *_adaptive(found)]


def _alpha_claims(found: Found, reading: tuple[str, str]) -> Iterator[Claim]:
    def curve(metric: str, load: str, backfilling: str) -> NDArray[np.float64]:
        return found.by_alpha(metric, load, backfilling, *reading)

    def slope(load: str, backfilling: str) -> NDArray[np.float64]:
        return _slopes(curve("att", load, backfilling), ALPHAS)

    for metric, text, sign in (
        ("awt", "AWT increases ... with increasing α", 1),
        ("art", "ART decreases with increasing α", -1),
    ):
        for backfilling, selection in BACKFILLING.items():
            yield claim(
                "figure 5",
                f"{text} [for HRF{selection}]",
                "all loads",
                f"slope of the mean {metric.upper()} over α from 0.5 to 1.2, by its mean",
                every([
                    _trend(curve(metric, load, backfilling), ALPHAS, sign, load) for load in GAPS
                ]),
            )  # fmt: skip
    for figure, load, best in (("figure 5(a)", "light", 0.8), ("figure 5(b)", "middle", 0.7)):
        yield claim(
            figure,
            f"ATT of HRFFcfs ... decreases at the beginning and then increases, ... [shortest at]"
            f" α {best}",
            load,
            f"mean ATT at α 0.5 and at 1.2 over that at {best}: both above 1",
            _valley(curve("att", load, "none"), [ALPHAS.index(best)]),
            {CONTRADICTED: "the least mean ATT is at an end of the range, not within it"},
        )
    yield claim(
        "figure 5(c)",
        "HRFFcfs monotonously increases with greater α",
        "heavy",
        "slope of the mean ATT over α, by its mean",
        _trend(curve("att", "heavy", "none"), ALPHAS, 1),
    )
    yield claim(
        "figure 5(a)",
        "ATT of HRFBf decreases at the beginning and then increases",
        "light",
        "mean ATT at α 0.5 and at 1.2 over the mean of those from 0.7 to 1: both above 1",
        _valley(curve("att", "light", "aggressive"), range(2, 6)),
    )
    for figure, load in (("figure 5(b)", "middle"), ("figure 5(c)", "heavy")):
        yield claim(
            figure,
            "[ATT of HRFBf] monotonously decreasing with greater α",
            load,
            "slope of the mean ATT over α, by its mean",
            _trend(curve("att", load, "aggressive"), ALPHAS, -1),
        )
    for backfilling, text, sign in (
        ("none", "FCFS scheme, smaller α can achieve better performance in heavier load", 1),
        ("aggressive", "backfilling scheme, greater α is more suitable in heavier load", -1),
    ):
        difference = estimate(
            mean_difference, slope("heavy", backfilling), slope("light", backfilling)
        )
        limits = (0.0, np.inf) if sign > 0 else (-np.inf, 0.0)
        yield claim(
            "section 6.2",
            text,
            "heavy against light",
            "relative slope of ATT over α at heavy load less that at light load",
            judge(difference, "above 0" if sign > 0 else "below 0", *limits),
            {CONTRADICTED: "ATT grows with α at all loads, the less the heavier the load"},
        )


def _threshold_claims(found: Found, budget: str) -> Iterator[Claim]:
    curve = partial(found.by_threshold, budget=budget)
    for metric, text, sign in (
        ("awt", "AWT increases ... with increasing threshold", 1),
        ("art", "ART decreases with increasing threshold", -1),
    ):
        for backfilling, selection in BACKFILLING.items():
            yield claim(
                "figure 6",
                f"{text} [for HRF{selection}]",
                "all loads",
                f"slope of the mean {metric.upper()} over the threshold from 0.1 to 1, by its mean",
                every([
                    _trend(curve(metric, load, backfilling), THRESHOLDS, sign, load)
                    for load in GAPS
                ]),
            )  # fmt: skip
    for load, part in zip(GAPS, "abc", strict=True):
        yield claim(
            f"figure 6({part})",
            "ATT is very fluctuant at the beginning (when threshold < 0.3) and then becomes stable",
            load,
            "range of ATT from threshold 0.4 on over its range up to 0.3, by workload: less than "
            "half as wide, under FCFS and with backfilling",
            every([
                judge(
                    estimate(ratio_of_means, *_ranges(curve("att", load, backfilling))),
                    "below 0.5",
                    high=0.5,
                    name=f"HRF{selection}",
                )
                for backfilling, selection in BACKFILLING.items()
            ]),
            OF_ONE,
        )  # fmt: skip


def _policy_claims(found: Found) -> Iterator[Claim]:
    att = partial(found.combined, "att")

    def less(
        load: str, one: tuple[str, str], other: tuple[str, str], metric: str = "att"
    ) -> Judgement:
        values = (found.combined(metric, load, *each) for each in (one, other))
        name = f"{_name(*one)} to {_name(*other)}"
        return judge(
            estimate(ratio_of_means, *values), "below 0", high=1, form=as_change, name=name
        )

    reading = "mean combined ATT over that of each other scheme, paired by workload"
    for load, part in zip(GAPS, "abc", strict=True):
        for backfilling, selection in BACKFILLING.items():
            judged = [less(load, ("hrf", backfilling), (each, backfilling)) for each in RIVALS]
            yield claim(
                f"figure 7({part})",
                "HRFFcfs and HRFBf perform the best compared with state-of-the-art scheduling "
                f"policies [{selection}]",
                load,
                reading,
                every(judged),
            )
        others = [scheme for scheme in SCHEMES if scheme != "submit_time_greedy"]
        yield claim(
            f"figure 7({part})",
            "combined-ATT of SbmGrdyFcfs is the longest",
            load,
            "mean combined ATT of the others under FCFS over its",
            every([less(load, (each, "none"), ("submit_time_greedy", "none")) for each in others]),
        )
        better = "worse" if load == "middle" else "better"
        ratio = estimate(
            ratio_of_means,
            att(load, "schedule_time_fair", "none"),
            att(load, "submit_time_fair", "none"),
        )
        limits = (1.0, np.inf) if better == "worse" else (-np.inf, 1.0)
        asked = "above 0" if better == "worse" else "below 0"
        yield claim(
            f"figure 7({part})",
            f"SchFairFcfs is {'slightly ' * (better == 'worse')}{better} [than SbmFairFcfs]",
            load,
            "mean combined ATT over SbmFairFcfs's",
            judge(ratio, asked, *limits, form=as_change),
            OF_ONE,
        )
    arts = [
        less("middle", ("submit_time_greedy", "none"), (each, "none"), "art")
        for each in SCHEMES
        if each != "submit_time_greedy"
    ]
    yield claim(
        "section 6.3",
        "SbmGrdyFcfs uses the shortest combined-ART among all scheduling policies adopting FCFS",
        "middle",
        "mean combined ART over that of each other scheme",
        every(arts),
    )
    for scheme, short in SCHEMES.items():
        yield claim(
            "section 6.3",
            f"policies adopting backfilling perform better than policies adopting FCFS [{short}]",
            "middle",
            "mean combined ATT with backfilling over that under FCFS",
            less("middle", (scheme, "aggressive"), (scheme, "none")),
        )
    policies = [(scheme, backfilling) for scheme in SCHEMES for backfilling in BACKFILLING]
    yield claim(
        "section 6.3",
        "the heavier the load of jobs, the longer combined-ATT is",
        "all policies",
        "mean combined ATT at a load over that at the next lighter one, of the same jobs: the "
        "least ratio of all policies",
        every([
            judge(
                estimate(
                    _least_ratio,
                    *(att(load, *each) for each in policies for load in (heavier, lighter)),
                ),
                "above 0", 1, form=as_change, name=f"{heavier} to {lighter}",
            )
            for lighter, heavier in pairwise(GAPS)
        ]),
    )  # fmt: skip
    yield claim(
        "section 6.4",
        "HRF with backfilling can always achieve the shortest average turnaround time among all "
        "policies",
        "all loads",
        "its mean combined ATT over the least of all other policies",
        every([
            judge(
                estimate(
                    _to_least,
                    att(load, "hrf", "aggressive"),
                    *(att(load, *each) for each in policies if each != ("hrf", "aggressive")),
                ),
                "below 0", high=1, form=as_change, name=load,
            )
            for load in GAPS
        ]),
    )  # fmt: skip


def _least_ratio(*drawn: Floats) -> Floats:
    """Return the least ratio of means: of the first to the second, the third to the fourth, ..."""
    ratios = [a.mean(-1) / b.mean(-1) for a, b in zip(drawn[::2], drawn[1::2], strict=True)]
    return np.min(ratios, axis=0)


def _to_least(one: Floats, *others: Floats) -> Floats:
    return one.mean(-1) / np.min([other.mean(-1) for other in others], axis=0)


def _number_claims(found: Found) -> Iterator[Claim]:
    """Yield numbers of the paper's one workload: is it one of ours?"""
    hrf, greedy = ("hrf", "none"), ("submit_time_greedy", "none")
    at_start, at_submission = ("schedule_time_fair", "none"), ("submit_time_fair", "none")
    for text, one, other, printed, note in (
        ("[SbmGrdyFcfs is] 2.63 times SchFairFcfs", greedy, at_start, 2.63, ""),
        ("[HRFFcfs is] only 29% ... of combined-ATT of SbmGrdyFcfs", hrf, greedy, 0.29,
         "; the abstract's improvement of up to 71 %"),
        ("[HRFFcfs is] 77.7% [of] SbmFairFcfs", hrf, at_submission, 0.777, ""),
        ("[HRFFcfs is] 73.3% [of] SchFairFcfs", hrf, at_start, 0.763,
         "; by the printed seconds it is 76.3 %"),
        ("HRFBf is 13309 seconds, which is 50.3% better than HRFFcfs", ("hrf", "aggressive"), hrf,
         0.564, "; by the printed seconds it is 43.6 % less"),
    ):  # fmt: skip
        values = found.combined("att", "middle", *one) / found.combined("att", "middle", *other)
        low, high = np.quantile(values, [0.025, 0.975])
        judged = judge(
            exactly(printed, len(values)),
            f"between {as_number(low)} and {as_number(high)}, as 95 % of our workloads are",
            float(low),
            float(high),
        )
        number = f"95 % of the workloads between {as_number(low)} and {as_number(high)}"
        yield claim(
            "section 6.3",
            text,
            "middle",
            f"ratio of the combined ATTs of one workload{note}",
            judged._replace(number=number),
            ONE_WORKLOAD,
        )


def _adaptive(found: Found) -> Iterator[Claim]:
    """Yield what the paper leaves as future work: an alpha that follows the load."""
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            adaptive, own = (
                found.combined("att", load, scheme, backfilling) for scheme in ("adaptive", "hrf")
            )
            yield claim(
                "section 7",
                "we will make our algorithm adaptive to the load of jobs",
                f"{load}, {selection}",
                "mean ATT with an adaptive α over HRF's combined ATT",
                judge(estimate(ratio_of_means, adaptive, own), "below 0", high=1, form=as_change),
            )


def _name(scheme: str, backfilling: str) -> str:
    return SCHEMES[scheme] + BACKFILLING[backfilling]


def _slopes(curves: NDArray[np.float64], points: Sequence[float]) -> NDArray[np.float64]:
    """Return (workloads,) least squares slopes of (points, workloads) curves, by their means."""
    places = np.array(points) - np.mean(points)
    return (places @ curves / (places @ places)) / curves.mean(axis=0)


def _trend(
    curves: NDArray[np.float64], points: Sequence[float], sign: int, name: str = ""
) -> Judgement:
    """Return whether curves rise, or fall, by the slope of their mean."""
    places = np.array(points) - np.mean(points)
    slopes = places @ curves / (places @ places)
    found = estimate(ratio_of_means, slopes, curves.mean(axis=0))
    limits = (0.0, np.inf) if sign > 0 else (-np.inf, 0.0)
    return judge(found, "above 0" if sign > 0 else "below 0", *limits, name=name)


def _valley(curves: NDArray[np.float64], bottom: Sequence[int]) -> Judgement:
    """Return whether curves are higher at both ends than at their bottom."""
    low = curves[[*bottom]].mean(axis=0)
    return every([
        judge(
            estimate(ratio_of_means, curves[end], low), "above 0", 1, form=as_change, name=name
        )
        for end, name in ((0, "at 0.5"), (-1, "at 1.2"))
    ])  # fmt: skip


def _ranges(curves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (workloads,) ranges from threshold 0.4 on, and up to 0.3."""
    return np.ptp(curves[3:], axis=0), np.ptp(curves[:3], axis=0)


def figure_of(found: Found) -> Any:
    """Return the figure with the panels of figures 5 to 7."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 10.5), layout="constrained")
    panels = figure.subplots(3, 3)
    lines = {"att": "-", "awt": "--", "art": ":"}
    for axes, load in zip(panels[0], GAPS, strict=True):
        for colour, (b, selection) in zip(COLOURS, BACKFILLING.items(), strict=True):
            for metric, line in lines.items():
                y = found.by_alpha(metric, load, b).mean(axis=1) / 1000
                axes.plot(ALPHAS, y, line, color=colour, label=f"{metric.upper()} HRF{selection}")
        axes.set(title=f"as figure 5: {load} load, threshold 0.9", xlabel="alpha", ylim=(0, None))
    for axes, load in zip(panels[1], GAPS, strict=True):
        for colour, b in zip(COLOURS, BACKFILLING, strict=True):
            for metric, line in lines.items():
                y = found.by_threshold(metric, load, b).mean(axis=1) / 1000
                axes.plot(THRESHOLDS, y, line, color=colour)
        axes.set(title=f"as figure 6: {load} load, alpha 1", xlabel="threshold", ylim=(0, None))
    for axes, load in zip(panels[2], GAPS, strict=True):
        _draw_policies(axes, found, load)
    for axes in panels[:, 0]:
        axes.set_ylabel("mean over workloads (1000 s)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(f"Moldable jobs on 128 processors, means of {found.workloads} workloads")
    return figure


def _draw_policies(axes: Any, found: Found, load: str) -> None:
    policies = [(s, b) for b in BACKFILLING for s in ("adaptive", *SCHEMES)]
    places = np.arange(len(policies))
    for metric, marker in {"att": "o", "awt": "v", "art": "x"}.items():
        values = np.array([found.combined(metric, load, *policy) for policy in policies]) / 1000
        errors = [_error(each) for each in values] if metric == "att" else None
        axes.errorbar(
            places, values.mean(axis=1), errors, fmt=marker, markersize=5, capsize=2, linewidth=1,
            color=PALETTE[2] if metric == "att" else "#888888", label=metric.upper(),
        )  # fmt: skip
    printed = {p: PRINTED[each] / 1000 for p, each in enumerate(policies) if each in PRINTED}
    if load == "middle":
        axes.plot(
            [*printed], [*printed.values()], "_", color="black", markersize=14, label="paper's ATT"
        )
    names = [{**SCHEMES, **OURS}[s] + BACKFILLING[b] for s, b in policies]
    axes.set_xticks(places, names, rotation=60, ha="right", fontsize=8)
    axes.set(title=f"as figure 7: {load} load, combined", yscale="log", ylim=(0.3, None))
    axes.legend(frameon=False, fontsize=8)


@click.option("--workloads", default=60)
@click.option("--size", default=200, help="Jobs of a workload.")
@click.option("--processors", default=128)
@click.option("--seed", default=101, help="Of the first workload; the next one has the next.")
@campaign("moldable")
def main(run: Run, workloads: int, size: int, processors: int, seed: int) -> None:
    """Simulate the workloads, print verdicts."""
    if run.quick:
        workloads, size = QUICK["workloads"], QUICK["size"]
    about = {"processors": processors, "size": size, "seed": seed}
    rows = run.rows("moldable", lambda: tasks_of(about, workloads), work)
    found = Found(rows)
    claims, beyond = claims_of(found)
    report("moldable", claims, beyond, summary_of(found), run)
    if run.folder is not None:
        draw(run.folder / "moldable.svg", partial(figure_of, found))


if __name__ == "__main__":
    main()
