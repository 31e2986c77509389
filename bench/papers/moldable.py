"""Does highest revenue first shorten the turnaround of moldable jobs, as its authors say?

    python bench/papers/moldable.py --keep
    python bench/papers/moldable.py --judge
    python bench/papers/moldable.py --workloads 100 --out results
    python bench/papers/moldable.py --figure 5

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
from collections.abc import Callable, Iterator, Sequence
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
from _campaign import Row, Rows, Run, column
from _command import campaign
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    SIMILAR,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_number,
    as_percent,
    as_points,
    claim,
    considerably,
    estimate,
    every,
    exactly,
    judge,
    less,
    mean_difference,
    more,
    ratio_of_means,
    slightly,
    unjudged,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling.simulation import simulate
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

READING_NAMES = ("renewal", "budget", "surplus")

NONE: Reading = ("none", "none", "none")
"""Of other policies."""

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
LIGHT = (PALETTE[1], PALETTE[4])

QUICK = {"workloads": 2, "size": 25}

SECONDS = 2e-4
"""What a job of a schedule takes a core (Zen 3)."""


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
            names = ("alpha", "threshold", *READING_NAMES)
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
    kinds += [(scheme, 0.0, 0.0, *NONE) for scheme in (*RIVALS, *OURS)]
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
        Of the table; those that are asked for are made.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._groups: dict[tuple[Any, ...], list[Row]] = {}
        for task in rows.tasks:
            names = ("load", "scheme", "backfilling", "alpha", "threshold", *READING_NAMES)
            self._groups.setdefault(tuple(task[name] for name in names), []).append(task)
        self.workloads = len(rows.distinct("seed"))

    def _column(self, metric: str, *key: Any) -> Floats:
        return column(self._rows.of(self._groups[key]), metric)

    def at(
        self, metric: str, load: str, backfilling: str, alpha: float, threshold: float,
        reading: Reading,
    ) -> Floats:  # fmt: skip
        """Return (workloads,) a metric of HRF."""
        return self._column(metric, load, "hrf", backfilling, alpha, threshold, *reading)

    def combined(self, metric: str, load: str, scheme: str, backfilling: str) -> Floats:
        """Return (workloads,) a metric of any scheme, of HRF its mean over the parameters."""
        if scheme != "hrf":
            return self._column(metric, load, scheme, backfilling, 0.0, 0.0, *NONE)
        grid = [self.at(metric, load, backfilling, a, t, USUAL) for a in ALPHAS for t in COMBINED]
        return np.mean(grid, axis=0)

    def by_alpha(self, metric: str, load: str, backfilling: str, reading: Reading) -> Floats:
        """Return (alphas, workloads), as in figure 5."""
        return np.array([self.at(metric, load, backfilling, a, 0.9, reading) for a in ALPHAS])

    def by_threshold(self, metric: str, load: str, backfilling: str, reading: Reading) -> Floats:
        """Return (thresholds, workloads), as in figure 6."""
        grid = [self.at(metric, load, backfilling, 1.0, t, reading) for t in THRESHOLDS]
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


OF_ONE = {CONTRADICTED: "the paper's one workload may have been so, but the mean of ours is not"}

ONE_WORKLOAD = {
    CONTRADICTED: "the paper's one workload is none of ours: its number is outside their range",
}

EXAMPLE = ((10.0, 5.0), (10.0, 7.0), (10.0, 9.0))
"""Section 4.1: seconds of the three jobs on one and on two processors."""

STRATEGIES = {"A": ((2, 2, 1), 9.0), "B": ((2, 1, 2), 9.67), "C": ((1, 2, 2), 11.0)}
"""Processors of the three jobs, and the mean turnaround time that section 4.1 prints."""


def claims_of(found: Found) -> list[Claim]:
    """Return the verdicts on what sections 4.1, 6.2 and 6.3 say."""
    return [
        *_example_claims(),
        *_alpha_claims(found, USUAL),
        *_threshold_claims(found, USUAL),
        *_policy_claims(found),
        *_number_claims(found),
    ]


def beyond_of(found: Found) -> list[Claim]:
    """Return the same by other readings of algorithm 1, and an alpha that follows the load."""
    beyond: list[Claim] = []
    for where, reading in OTHER_READINGS.items():
        claims = [*_alpha_claims(found, reading)]
        if reading == FIRST_FREE:
            claims += _threshold_claims(found, reading)
        beyond += [each._replace(where=f"{each.where}, {where}") for each in claims]
    return [*beyond, *_adaptive(found)]


def _example_claims() -> Iterator[Claim]:
    """Yield the worked example."""

    def strategy(name: str) -> Judgement:
        sizes, printed = STRATEGIES[name]
        times = [EXAMPLE[job][size - 1] for job, size in enumerate(sizes)]
        schedule = simulate(Workload.from_arrays(0, times, list(sizes)), 3, "easy")
        mean = float(schedule.turnaround_time.mean())
        return judge(exactly(mean), f"{printed:g} s", printed - 5e-3, printed + 5e-3, name=name)

    yield claim(
        "section 4.1",
        "The average turnaround time of this strategy is 9 seconds. When adopting Strategy B and "
        "Strategy C ..., the average turnaround times are 9.67 seconds and 11 seconds",
        "three jobs on three processors",
        "the three strategies as rigid jobs under EASY",
        lambda: every([*map(strategy, STRATEGIES)]),
        {REPRODUCED: "all three are the printed numbers"},
    )


def _alpha_claims(found: Found, reading: Reading) -> Iterator[Claim]:
    def curve(metric: str, load: str, backfilling: str) -> Floats:
        return found.by_alpha(metric, load, backfilling, reading)

    def slope(load: str, backfilling: str) -> Floats:
        return _slopes(curve("att", load, backfilling), ALPHAS)

    def difference(backfilling: str) -> Estimate:
        return estimate(mean_difference, slope("heavy", backfilling), slope("light", backfilling))

    yield from _trends(
        "figure 5", "for both HRFFcfs and HRFBf, AWT increases while ART decreases with "
        "increasing α", "α from 0.5 to 1.2", curve, ALPHAS,
    )  # fmt: skip
    for load in ("light", "middle"):
        yield claim(
            "figure 5",
            "ATT of HRFFcfs in Figure 5(a) and 5(b) decreases at the beginning and then increases",
            load,
            "mean ATT at α 0.5, and at 1.2, over the least one between them",
            lambda: _valley(curve("att", load, "none")),
            {
                CONTRADICTED: "the least mean ATT is at an end of the range, not within it; that "
                "of the paper's one workload may be"
            },
        )
    for load, best in (("light", 0.8), ("middle", 0.7)):
        yield claim(
            "figure 5",
            "the shortest ATT happens when α is 0.8 and 0.7",
            load,
            "the α of the least mean ATT",
            lambda: judge(
                estimate(_place_of_least, *curve("att", load, "none")), f"{best:g}",
                best - 0.05, best + 0.05,
            ),
        )  # fmt: skip
    yield claim(
        "figure 5",
        "In Figure 5(c), HRFFcfs monotonously increases with greater α",
        "heavy",
        "slope of the mean ATT over α, by its mean",
        lambda: _trend(curve("att", "heavy", "none"), ALPHAS, 1),
    )
    for load in GAPS:
        yield claim(
            "figure 5",
            "ATT of HRFBf decreases at the beginning and then increases in Figure 5(a), while "
            "monotonously decreasing with greater α in Figure 5(b) and 5(c)",
            load,
            "light: as for HRFFcfs; others: slope of the mean ATT over α, by its mean",
            lambda: (
                _valley(curve("att", load, "aggressive"))
                if load == "light"
                else _trend(curve("att", load, "aggressive"), ALPHAS, -1)
            ),
        )
    for backfilling, text, sign in (
        ("none", "when adopting the FCFS scheme, smaller α can achieve better performance in "
         "heavier load clusters", 1),
        ("aggressive", "when adopting a backfilling scheme, greater α is more suitable in heavier "
         "load clusters", -1),
    ):  # fmt: skip
        limits = (0.0, np.inf) if sign > 0 else (-np.inf, 0.0)
        yield claim(
            "section 6.2",
            text,
            "heavy against light",
            "relative slope of ATT over α at heavy load less that at light load",
            lambda: judge(difference(backfilling), "above 0" if sign > 0 else "below 0", *limits),
            {CONTRADICTED: "ATT grows with α at all loads, the less the heavier the load"},
        )


def _threshold_claims(found: Found, reading: Reading) -> Iterator[Claim]:
    def curve(metric: str, load: str, backfilling: str) -> Floats:
        return found.by_threshold(metric, load, backfilling, reading)

    yield from _trends(
        "figure 6", "for both HRFFcfs and HRFBf, AWT increases while ART decreases with "
        "increasing threshold", "the threshold from 0.1 to 1", curve, THRESHOLDS,
    )  # fmt: skip
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            for part, judgement in (("fluctuant", _fluctuant), ("stable", _stable)):
                yield claim(
                    "figure 6",
                    "ATT is very fluctuant at the beginning (when threshold < 0.3) and then "
                    f"becomes stable (when threshold > 0.3) [{part}, {selection}]",
                    load,
                    "fluctuant: mean change of the mean ATT from a threshold to the next up to 0.3 "
                    "less that from 0.4 on; stable: range of the mean ATT from 0.4 on; by its mean",
                    lambda: judgement(curve("att", load, backfilling)),
                    OF_ONE,
                )


def _trends(
    place: str,
    text: str,
    across: str,
    curve: Callable[[str, str, str], Floats],
    points: Sequence[float],
) -> Iterator[Claim]:
    """Yield whether waiting times rise, and run times fall, at each load."""
    for load in GAPS:
        for metric, sign in (("awt", 1), ("art", -1)):
            for backfilling, selection in BACKFILLING.items():
                yield claim(
                    place,
                    f"{text} [{metric.upper()} {selection}]",
                    load,
                    f"slope of each mean over {across}, by its mean",
                    lambda: _trend(curve(metric, load, backfilling), points, sign),
                )


def _policy_claims(found: Found) -> Iterator[Claim]:
    att = partial(found.combined, "att")

    def ratio(
        load: str, one: tuple[str, str], other: tuple[str, str], metric: str = "att"
    ) -> Estimate:
        both = (found.combined(metric, load, *each) for each in (one, other))
        return estimate(ratio_of_means, *both)

    def all_less(
        load: str, one: tuple[str, str], *others: tuple[str, str], metric: str = "att"
    ) -> Judgement:
        return every([
            less(ratio(load, one, other, metric), f"to {_name(*other)}") for other in others
        ])  # fmt: skip

    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            yield claim(
                "figure 7",
                "HRFFcs and HRFBf perform the best compared with state-of-the-art scheduling "
                f"policies adopting FCFS and backfilling, respectively [{selection}]",
                load,
                "mean combined ATT over that of each other scheme, paired by workload",
                lambda: all_less(
                    load, ("hrf", backfilling), *((each, backfilling) for each in RIVALS)
                ),
            )
    for load in ("light", "heavy"):
        for backfilling, selection in BACKFILLING.items():
            yield claim(
                "section 6.3",
                "can significantly improve performance of moldable jobs in the cluster under both "
                f"light and heavy load [{selection}]",
                load,
                "mean combined ATT over the least of the other schemes: considerably less",
                lambda: considerably(
                    estimate(
                        _to_least, att(load, "hrf", backfilling),
                        *(att(load, each, backfilling) for each in RIVALS),
                    )
                ),
            )  # fmt: skip
    for load in GAPS:
        yield claim(
            "figure 7",
            "combined-ATT of SbmGrdyFcfs is the longest",
            load,
            "its mean combined ATT over that of each other scheme under FCFS",
            lambda: every([
                more(
                    ratio(load, ("submit_time_greedy", "none"), (scheme, "none")),
                    f"to {_name(scheme, 'none')}",
                )
                for scheme in SCHEMES
                if scheme != "submit_time_greedy"
            ]),
        )  # fmt: skip
    fair = (("schedule_time_fair", "none"), ("submit_time_fair", "none"))
    for load in GAPS:
        yield claim(
            "figure 7",
            "The result of SchFairFcfs is slightly worse than SbmFairFcfs in Figure 7(b) but "
            "better in Figure 7(a) and Figure 7(c)",
            load,
            "mean combined ATT over SbmFairFcfs's: slightly more at middle load, less at others",
            lambda: (
                slightly(ratio(load, *fair), less=False)
                if load == "middle"
                else all_less(load, *fair)
            ),
            OF_ONE,
        )
    yield claim(
        "section 6.3",
        "SbmGrdyFcfs uses the shortest combined-ART among all scheduling policies adopting FCFS",
        "middle",
        "mean combined ART over that of each other scheme",
        lambda: all_less(
            "middle", ("submit_time_greedy", "none"),
            *((each, "none") for each in SCHEMES if each != "submit_time_greedy"), metric="art",
        ),
    )  # fmt: skip
    for scheme, short in SCHEMES.items():
        yield claim(
            "section 6.3",
            "when adopting the same resource allocation scheme, policies adopting back-filling "
            f"perform better than policies adopting FCFS scheme [{short}]",
            "middle",
            "mean combined ATT with backfilling over that under FCFS",
            lambda: less(ratio("middle", (scheme, "aggressive"), (scheme, "none"))),
        )
    policies = [(scheme, backfilling) for scheme in SCHEMES for backfilling in BACKFILLING]
    for lighter, heavier in pairwise(GAPS):
        yield claim(
            "section 6.3",
            "the heavier the load of jobs, the longer combined-ATT is",
            heavier,
            "mean combined ATT over that at the next lighter load, of the same jobs: the least "
            "ratio of all policies",
            lambda: more(
                estimate(
                    _least_ratio,
                    *(att(load, *each) for each in policies for load in (heavier, lighter)),
                )
            ),
        )


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

    def within(one: tuple[str, str], other: tuple[str, str], printed: float) -> Judgement:
        values = found.combined("att", "middle", *one) / found.combined("att", "middle", *other)
        low, high = np.quantile(values, [0.025, 0.975])
        ends = f"between {as_number(low)} and {as_number(high)}"
        judged = judge(exactly(printed, len(values)), ends, float(low), float(high))
        if judged.verdict == REPRODUCED:
            judged = unjudged(judged, "the paper's one workload may be one of ours, or another one")
        return judged._replace(
            number=f"95 % of the workloads {ends}; the paper {printed:g}",
            brief=f"{as_number(low)} to {as_number(high)}; the paper {printed:g}",
        )

    for text, one, other, printed, note in (
        ("combined-ATT of SbmGrdyFcfs is ... 2.63 times SchFairFcfs", greedy, at_start, 2.63, ""),
        ("only 29%, 77.7%, and 73.3% of combined-ATT [of SbmGrdyFcfs]", hrf, greedy, 0.29,
         ""),
        ("only 29%, 77.7%, and 73.3% of combined-ATT [of SbmFairFcfs]", hrf, at_submission, 0.777,
         ""),
        ("only 29%, 77.7%, and 73.3% of combined-ATT [of SchFairFcfs]", hrf, at_start, 0.763,
         "; by the printed seconds it is 76.3 %"),
        ("is 13309 seconds, which is 50.3% better than", ("hrf", "aggressive"), hrf, 0.564,
         "; by the printed seconds it is 43.6 % less"),
    ):  # fmt: skip
        yield claim(
            "section 6.3",
            text,
            "middle",
            f"ratio of the combined ATTs of one workload{note}",
            lambda: within(one, other, printed),
            ONE_WORKLOAD,
        )


def _adaptive(found: Found) -> Iterator[Claim]:
    """Yield what the paper leaves as future work: an alpha that follows the load."""
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            yield claim(
                "section 7",
                "we will make our algorithm adaptive to the load of jobs",
                f"{load}, {selection}, an adaptive α",
                "mean ATT with an adaptive α over HRF's combined ATT",
                lambda: less(
                    estimate(
                        ratio_of_means,
                        *(found.combined("att", load, x, backfilling) for x in ("adaptive", "hrf")),
                    )
                ),
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


def _valley(curves: NDArray[np.float64]) -> Judgement:
    """Return whether curves are higher at both ends than at their least mean between."""
    return every([
        more(estimate(_to_least, curves[end], *curves[1:-1]), name)
        for end, name in ((0, "at 0.5"), (-1, "at 1.2"))
    ])  # fmt: skip


def _place_of_least(*curve: Floats) -> Floats:
    """Return the alpha at which the mean is least."""
    return np.array(ALPHAS)[np.argmin([each.mean(-1) for each in curve], axis=0)]


def _fluctuant(curves: Floats) -> Judgement:
    """Return whether a curve changes more, point by point, up to threshold 0.3 than from 0.4 on."""

    def steps(*points: Floats) -> Floats:
        means = np.array([each.mean(-1) for each in points])
        changes = np.abs(np.diff(means, axis=0))
        return (changes[:2].mean(axis=0) - changes[3:].mean(axis=0)) / means.mean(axis=0)

    return judge(estimate(steps, *curves), "above 0", 0, form=as_points)


def _stable(curves: Floats) -> Judgement:
    """Return whether a curve keeps its value from threshold 0.4 on."""

    def width(*points: Floats) -> Floats:
        means = np.array([each.mean(-1) for each in points])
        return np.ptp(means, axis=0) / means.mean(axis=0)

    limit = f"below {100 * SIMILAR:g} %"
    return judge(estimate(width, *curves[3:]), limit, high=SIMILAR, form=as_percent)


def figure_of(found: Found, shown: Sequence[str]) -> Any:
    """Return the figure with the panels of figures 5 to 7, or of some of these."""
    from matplotlib.figure import Figure

    rows = {"5": _draw_alphas, "6": _draw_thresholds, "7": _draw_policies}
    figure = Figure(figsize=(13, 0.6 + 3.3 * len(shown)), layout="constrained")
    panels = figure.subplots(len(shown), len(GAPS), squeeze=False)
    for row, number in zip(panels, shown, strict=True):
        for axes, load in zip(row, GAPS, strict=True):
            rows[number](axes, found, load)
        row[0].set_ylabel("mean over workloads (1000 s)")
    curves = panels[0, 0].get_legend_handles_labels()
    if shown[0] != "7":
        figure.legend(*curves, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"Moldable jobs on 128 processors, means of {found.workloads} workloads")
    return figure


LINES = {"att": "-", "awt": "--", "art": ":"}


def _draw_alphas(axes: Any, found: Found, load: str) -> None:
    for colour, light, (b, selection) in zip(COLOURS, LIGHT, BACKFILLING.items(), strict=True):
        for metric, line in LINES.items():
            y = found.by_alpha(metric, load, b, USUAL).mean(axis=1) / 1000
            axes.plot(ALPHAS, y, line, color=colour, label=f"{metric.upper()} HRF{selection}")
        y = found.by_alpha("att", load, b, LETTER).mean(axis=1) / 1000
        label = f"ATT HRF{selection}, algorithm 1 by the letter"
        axes.plot(ALPHAS, y, "-o", color=light, markersize=3, label=label)
    axes.set(title=f"as figure 5: {load} load, threshold 0.9", xlabel="alpha", ylim=(0, None))


def _draw_thresholds(axes: Any, found: Found, load: str) -> None:
    for colour, (b, selection) in zip(COLOURS, BACKFILLING.items(), strict=True):
        for metric, line in LINES.items():
            y = found.by_threshold(metric, load, b, USUAL).mean(axis=1) / 1000
            axes.plot(THRESHOLDS, y, line, color=colour, label=f"{metric.upper()} HRF{selection}")
    axes.set(title=f"as figure 6: {load} load, alpha 1", xlabel="threshold", ylim=(0, None))


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
def main(run: Run, workloads: int, size: int, processors: int, seed: int) -> Study:
    """Simulate the workloads, print verdicts."""
    if run.quick:
        workloads, size = QUICK["workloads"], QUICK["size"]
    about = {"processors": processors, "size": size, "seed": seed}
    rows = run.rows(
        "moldable", lambda: tasks_of(about, workloads), work, lambda task: SECONDS * task["size"]
    )
    found = Found(rows)
    return Study(
        rows=[rows],
        claims=partial(claims_of, found),
        beyond=partial(beyond_of, found),
        summary=partial(summary_of, found),
        drawings=[Drawing("moldable", ("5", "6", "7"), partial(figure_of, found))],
    )


if __name__ == "__main__":
    main()
