"""What do contiguity and locality cost, and what do they bring, as in chapter 4 of the thesis?

    python bench/papers/contiguity.py --keep
    python bench/papers/contiguity.py --judge
    python bench/papers/contiguity.py --instances 64 --out results

Figures 4.7 to 4.12 of Machado Mendonca's thesis: instances of 300 random jobs of the Curie trace
that fit on 512 processors in clusters of 16. All jobs are known at time 0, with their real run
times, and are backfilled conservatively (algorithm 1) by each variant of choosing processors.

Jobs are drawn with replacement and are queued in the order in which they were drawn, as in the
program of the thesis's author at the time. Best effort contiguity takes the largest ranges first,
as in that program and in the text of chapter 5; algorithm 3 of chapter 4, which takes the lowest
range that is long enough or else any processors, is beyond the paper here, and so are jobs in the
order of the trace. The mean difference of a tenth of a per cent needs more instances than the
thesis had: of these there are only two variants and their makespans.

Theorems 2 to 5 are tried on the example of their proof, and on small random instances: a search of
all schedules finds the least makespan with and without contiguity and locality, and `shelves` is
the algorithm of theorem 4.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import click
import numpy as np

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Rows, Run, check_traces, column, density, trace
from _command import campaign
from _study import Drawing, Study
from _verdicts import (
    CONTRADICTED,
    SIMILAR,
    Claim,
    Estimate,
    Floats,
    Judgement,
    as_percent,
    as_points,
    claim,
    estimate,
    every,
    exactly,
    judge,
    mean,
    mean_difference,
    ratio_of_means,
    share,
    similar,
    slightly,
    spread,
)

from swdual.planning.gantt import PALETTE
from swdual.scheduling import metrics
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.workload.sample import sample
from swdual.scheduling.workload.workload import Workload

VARIANTS = (
    *("basic", "best_effort_contiguous", "best_effort_local", "contiguous", "local"),
    "contiguous_or_basic",
)
COMPARED = VARIANTS[:5]
"""The variants of the thesis; the last one of `VARIANTS` is algorithm 3."""

THESIS: Row = {
    **{"trace": "curie", "processors": 512, "cluster_size": 16, "size": 300},
    "order": "random",
}
"""The setting that the thesis shows."""

SIZES = (32, 64, 128)
"""Of clusters."""

OTHERS: tuple[Row, ...] = (
    *({"processors": processors} for processors in (64, 256, 1000)),
    *({"cluster_size": size} for size in SIZES),
    {"size": 600},
    {"trace": "ricc"},
    {"trace": "metacentrum"},
    {"order": "trace"},
)
"""Settings that section 4.6 mentions, by what differs; and our order, that of the trace."""

INSTANCES = {"thesis": 512, "others": 256, "makespans": 8000, "optima": 300}

QUICK = {"thesis": 4, "others": 2, "makespans": 6, "optima": 10}

SECONDS = 0.015
"""What a variant takes with 300 jobs a core (Zen 3)."""

SECONDS_OF_OPTIMA = 0.25
"""What the least makespans of a small instance take."""


def settings() -> list[Row]:
    return [THESIS, *(THESIS | other for other in OTHERS)]


def instance(folder: Path, task: Row) -> Workload:
    """Return random jobs, all known at time 0, in the order in which they are queued."""
    jobs = trace(folder, task["trace"], "allocated")
    seed = (1, task["instance"])
    if task["order"] == "trace":
        return sample(jobs, task["size"], seed=seed, max_processors=task["processors"]).offline()
    fitting = np.flatnonzero(jobs.processors <= task["processors"])
    drawn = np.random.default_rng(seed).choice(fitting, task["size"])
    return Workload.from_arrays(0, jobs.run_time[drawn], jobs.processors[drawn])


def work(folder: Path, task: Row) -> Row:
    """Return what all variants make of an instance: makespan, jobs and clusters by locality."""
    jobs, processors = instance(folder, task), task["processors"]
    platform = Platform(processors, (task["cluster_size"], processors))
    row: Row = {"needed": int(platform.clusters_needed(jobs.processors).sum())}
    for variant in VARIANTS:
        schedule = simulate(jobs, platform, "conservative", variant, options={"by": "processors"})
        used = platform.clusters(schedule.offsets, schedule.ranges)
        row |= {
            f"{variant} makespan": int(metrics.makespan(schedule)),
            f"{variant} contiguous": round(len(jobs) * metrics.contiguous_share(schedule)),
            f"{variant} local": round(len(jobs) * metrics.local_share(schedule)),
            f"{variant} clusters": int(used.sum()),
        }
    return row


def makespan_work(folder: Path, task: Row) -> Row:
    """Return the makespans of an instance, basic and with best effort contiguity."""
    jobs, processors = instance(folder, task), task["processors"]
    platform = Platform(processors, (task["cluster_size"], processors))
    row: Row = {}
    for variant in VARIANTS[:2]:
        schedule = simulate(jobs, platform, "conservative", variant, options={"by": "processors"})
        row[f"{variant} makespan"] = int(metrics.makespan(schedule))
    return row


Jobs = tuple[tuple[int, int], ...]
"""Processors and times."""

Clusters = tuple[tuple[int, ...], ...]
"""How long each processor of each cluster is still busy."""

EXAMPLE = 2, 3, ((2, 1), (2, 1), (2, 1))
"""Clusters, their size and the jobs of figure 4.2, which the proofs have for tightness."""


def small_instance(number: int) -> tuple[int, int, Jobs]:
    """Return clusters, their size and jobs: the thesis's example, or random ones.

    Half of them are just wider than half a cluster: two of these do not fit into one.
    """
    if not number:
        return EXAMPLE
    generator = np.random.default_rng((4, number))
    clusters = int(generator.integers(2, 4))
    size = int(generator.integers(3, 6 if clusters == 2 else 4))
    count = int(generator.integers(3, 7))
    widths = generator.integers(1, size + 1, count)
    wide = generator.random(count) < 0.5
    widths = np.where(wide, size // 2 + 1, widths).tolist()
    times = generator.integers(1, 4, count).tolist()
    return clusters, size, tuple(zip(widths, times, strict=True))


def optimum(clusters: int, size: int, jobs: Jobs, *, contiguous: bool, local: bool) -> int:
    """Return the least makespan of jobs that each fit into a cluster, by trying all schedules.

    A job starts at 0 or when another one ends: whatever starts later can be moved there.

    >>> [optimum(*EXAMPLE, contiguous=False, local=local) for local in (False, True)]
    [1, 2]
    """

    @cache
    def rest(waiting: Jobs, busy: Clusters, first: int) -> int:
        """Return the least time until all have ended, if those before the first do not start."""
        if not waiting:
            return max(map(max, busy))
        found = []
        running = [time for each in busy for time in each if time]
        if running:
            step = min(running)
            later = tuple(tuple(max(time - step, 0) for time in each) for each in busy)
            found.append(step + rest(waiting, _ordered(later, contiguous), 0))
        for place in range(first, len(waiting)):
            others = waiting[:place] + waiting[place + 1 :]
            found += [
                rest(others, placed, place)
                for placed in _placements(busy, *waiting[place], contiguous)
            ]
        return min(found)

    idle = ((0,) * size,) * clusters if local else ((0,) * (clusters * size),)
    return rest(tuple(sorted(jobs, reverse=True)), idle, 0)


def _placements(busy: Clusters, width: int, time: int, contiguous: bool) -> set[Clusters]:
    """Return how busy processors are if a job starts, for each place that it may have."""
    found = set()
    for number, each in enumerate(busy):
        if contiguous:
            ranges = [range(k, k + width) for k in range(len(each) - width + 1)]
            places = [used for used in ranges if not any(each[k] for k in used)]
        else:
            places = [range(width)] if not any(each[:width]) else []
        for used in places:
            after = tuple(time if k in used else left for k, left in enumerate(each))
            found.add(_ordered((*busy[:number], after, *busy[number + 1 :]), contiguous))
    return found


def _ordered(busy: Clusters, contiguous: bool) -> Clusters:
    """Return the same state, if processors and clusters are as good as others, always the same."""
    return tuple(sorted(busy if contiguous else (tuple(sorted(each)) for each in busy)))


def optima_work(task: Row) -> Row:
    """Return least makespans, that of shelves, and what bounds each schedule from below."""
    clusters, size, jobs = small_instance(task["instance"])
    processors = clusters * size
    widths, times = np.array(jobs).T
    workload = Workload.from_arrays(0, times, widths)
    platform = Platform(processors, (size, processors), cluster_size=size)
    least = partial(optimum, clusters, size, jobs)
    return {
        **{"clusters": clusters, "cluster_size": size, "jobs": len(jobs)},
        "basic": least(contiguous=False, local=False),
        "contiguous": least(contiguous=True, local=False),
        "local": least(contiguous=False, local=True),
        "contiguous_local": least(contiguous=True, local=True),
        "shelves": int(metrics.makespan(simulate(workload, platform, "shelves"))),
        "bound": max(float(widths @ times) / processors, float(times.max())),
    }


LARGEST, LOWEST = "best_effort_contiguous", "contiguous_or_basic"
"""Best effort contiguity in the author's program, and by algorithm 3."""

MANY = 0.996
NEAR = 0.02

ORIGIN = {
    CONTRADICTED: "one job that is reserved elsewhere changes all that follow; no order, status or "
    "field of the jobs that we tried gives the thesis's number",
}


class Group:
    """The instances of a setting, simulated when they are first asked for.

    Parameters
    ----------
    rows
        All rows.
    setting
        Which of them.
    """

    def __init__(self, rows: Rows, setting: Row) -> None:
        self._all, self.setting = rows, setting

    @cached_property
    def rows(self) -> list[Row]:
        return self._all.where(**self.setting)

    def makespan(self, variant: str) -> Floats:
        """Return (instances,) makespans."""
        return column(self.rows, f"{variant} makespan")

    def cost(self, variant: str) -> Floats:
        """Return (instances,) makespans over those of basic."""
        return self.makespan(variant) / self.makespan("basic")

    def part(self, what: str, variant: str) -> Floats:
        """Return (instances,) the part of the jobs that are contiguous, or local."""
        return column(self.rows, f"{variant} {what}") / column(self.rows, "size")

    def clusters(self, variant: str) -> Floats:
        """Return (instances,) locality ratios."""
        return column(self.rows, f"{variant} clusters") / column(self.rows, "needed")

    def ratio(self, variant: str, other: str = "basic") -> Estimate:
        """Return how many times as large one mean makespan is as the other."""
        return estimate(ratio_of_means, self.makespan(variant), self.makespan(other))


def claims_of(rows: Rows, makespans: Rows, optima: Rows) -> list[Claim]:
    """Return what the thesis says in sections 4.4, 4.6 and 4.7, and what was found."""
    return [
        *_theorem_claims(optima),
        *_setting_claims(rows),
        *_claims_on(Group(rows, THESIS), _name(THESIS), LARGEST, Group(makespans, THESIS)),
    ]


def beyond_of(rows: Rows) -> list[Claim]:
    """Return the same by algorithm 3, and in other settings."""
    shown = Group(rows, THESIS)
    where = f"{_name(THESIS)}, algorithm 3"
    beyond = [each for each in _claims_on(shown, where, LOWEST, shown) if LOWEST in each.reading]
    for setting in settings()[1:]:
        group = Group(rows, setting)
        beyond += _claims_on(group, _name(setting), LARGEST, group)
    return beyond


def _name(setting: Row) -> str:
    order = "" if setting["order"] == "random" else ", order of the trace"
    return (
        f"{setting['trace']}, {setting['processors']} processors, clusters of "
        f"{setting['cluster_size']}, {setting['size']} jobs{order}"
    )


SYMBOLS = {"basic": "Cmax", "contiguous": "C^C max", "local": "C^L max",
           "contiguous_local": "C^(C+L) max"}  # fmt: skip
WORDS = {
    "basic": "basic",
    "contiguous": "contiguous",
    "local": "local",
    "contiguous_local": "contiguous and local",
}


def _theorem_claims(optima: Rows) -> Iterator[Claim]:
    where = f"{len(optima.tasks):,} small instances"

    def largest(one: str, other: str, low: float, high: float, asked: str) -> Judgement:
        found = column(optima.where(), one) / column(optima.where(), other)
        most = exactly(float(found.max()), len(found))
        return judge(most, asked, np.nextafter(low, -np.inf), np.nextafter(high, np.inf))

    for number, one, other in ((2, "local", "basic"), (3, "contiguous_local", "contiguous")):
        yield claim(
            f"theorem {number}",
            f"max{{{SYMBOLS[one]} / {SYMBOLS[other]}}} ≤ 2. This ratio is tight",
            where,
            f"largest ratio of least makespans, {WORDS[one]} over {WORDS[other]}: 2",
            lambda one=one, other=other: largest(one, other, 2, 2, "2"),
        )
    yield claim(
        "theorem 4",
        "There is an algorithm for the problem with contiguity and locality constraints which "
        "returns a schedule with makespan C ≤ 3 max{A/m, pmax}",
        where,
        "largest makespan of `shelves` over max{A/m, pmax}: at most 3",
        lambda: largest("shelves", "bound", -np.inf, 3, "at most 3"),
    )
    one, other = "contiguous_local", "basic"
    yield claim(
        "theorem 5",
        f"2 ≤ max{{{SYMBOLS[one]} / {SYMBOLS[other]}}} ≤ 3",
        where,
        f"largest ratio of least makespans, {WORDS[one]} over {WORDS[other]}: 2 to 3",
        lambda: largest(one, other, 2, 3, "2 to 3"),
    )


def _setting_claims(rows: Rows) -> Iterator[Claim]:
    """Yield what section 4.6 says of other machines, numbers of jobs and traces."""
    shown = Group(rows, THESIS)

    def other(**changed: Any) -> Group:
        return Group(rows, THESIS | changed)

    def worse(processors: int) -> Judgement:
        group = other(processors=processors)
        return every([
            judge(
                estimate(mean_difference, shown.cost(variant)[: len(group.rows)],
                         group.cost(variant)),
                "above 0", 0, form=as_points, name=variant,
            )
            for variant in COMPARED[1:]
        ])  # fmt: skip

    def all_similar(group: Group) -> Judgement:
        return every([similar(group.ratio(variant), variant) for variant in COMPARED[1:]])

    for processors in (64, 256, 1000):
        yield claim(
            "section 4.6",
            "we present in this Chapter the results for 512 processors which correspond to the "
            f"worst performances for our algorithms [at {processors} processors]",
            f"{processors} processors",
            "mean makespan of each variant over basic's at 512 processors, less that at N "
            "processors: above 0",
            lambda processors=processors: worse(processors),
        )
    reading = f"mean makespan of each variant over basic's: within {100 * SIMILAR:g} %, as shown"
    for size in SIZES:
        yield claim(
            "section 4.6",
            "The results are presented for a cluster size of 16, while similar results are "
            f"achieved for larger sizes [{size}]",
            f"clusters of {size}",
            reading,
            lambda size=size: all_similar(other(cluster_size=size)),
        )
    yield claim(
        "section 4.6",
        "Instances for higher number of jobs lead to similar results",
        "600 jobs",
        reading,
        lambda: all_similar(other(size=600)),
    )
    for name, why in (
        ("ricc", "one job of three days is the longest of nearly every instance of RICC and "
         "decides the makespan; forced variants hold wide jobs back, so that it starts earlier"),
        ("metacentrum", ""),
    ):  # fmt: skip
        yield claim(
            "section 4.6.1",
            f"Experimenting with other traces gives very similar results [{name}]",
            name,
            reading,
            lambda name=name: all_similar(other(trace=name)),
            {CONTRADICTED: why} if why else None,
        )
    changes: list[tuple[str, dict[str, Any]]] = [
        *((f"clusters of {size}", {"cluster_size": size}) for size in SIZES),
        *((name, {"trace": name}) for name in ("ricc", "metacentrum")),
    ]
    for part, changed in changes:
        yield claim(
            "section 4.6.2",
            "Similar results are achieved for varying cluster sizes and trace files with similar "
            "performances for the different algorithms. As such they are not presented within this "
            f"Chapter [{part}]",
            part,
            "order of the mean locality ratios as in figure 4.12: best_effort_local below "
            f"contiguous, that below {LARGEST} and basic; not the ratios themselves, which by "
            "definition depend on the cluster size",
            lambda changed=changed: _ordered_ratios(other(**changed), LARGEST),
        )


def _claims_on(group: Group, where: str, contiguous: str, makespans: Group) -> Iterator[Claim]:
    """Yield the claims of a setting, with a variant as best effort contiguous."""
    yield from _makespan_claims(group, where, contiguous, makespans)
    yield from _placement_claims(group, where, contiguous)


def _makespan_claims(
    group: Group, where: str, contiguous: str, makespans: Group
) -> Iterator[Claim]:
    reading = "mean makespan of {} over that of {}: within {:g} %"

    def within(found: Estimate, room: float) -> Judgement:
        return similar(found, room=room)

    yield claim(
        "figure 4.7",
        "their average performance differs by less than 0.1%",
        where,
        reading.format(contiguous, "basic", 0.1),
        lambda: within(makespans.ratio(contiguous), 0.001),
    )
    others = (contiguous, "best_effort_local", "local")
    yield claim(
        "figure 4.8",
        "results are less stable for this algorithm",
        where,
        f"standard deviation of makespan over basic's, contiguous less {', '.join(others)}",
        lambda: every([
            judge(
                estimate(_spread_difference, group.cost("contiguous"), group.cost(variant)),
                "above 0", 0, form=as_points, name=f"less {variant}",
            )
            for variant in others
        ]),
    )  # fmt: skip
    yield claim(
        "figure 4.8",
        "its performance is still close to the one of the basic algorithm with under two percents "
        "of difference in average",
        where,
        reading.format("contiguous", "basic", 100 * NEAR),
        lambda: within(group.ratio("contiguous"), NEAR),
    )
    for place, text, one, other in (
        ("figure 4.9", "Forced local shows a similar behavior as best effort contiguous",
         "local", contiguous),
        ("section 4.6.1", "it compares to basic in a similar way as forced local",
         "best_effort_local", "local"),
    ):  # fmt: skip
        yield claim(
            place,
            text,
            where,
            reading.format(one, other, 100 * SIMILAR),
            lambda one=one, other=other: within(group.ratio(one, other), SIMILAR),
        )
    for variant in others:
        yield claim(
            "section 4.7",
            "All algorithms with the exception of forced contiguous show a strong stability with "
            "more than 99.6% of instances with a makespan deviation of less than 2% from the basic "
            f"one [{variant}]",
            where,
            "part of the instances",
            lambda variant=variant: judge(
                share(np.abs(group.cost(variant) - 1) < NEAR),
                f"above {100 * MANY} %", MANY, form=as_percent,
            ),
            ORIGIN,
        )  # fmt: skip


def _placement_claims(group: Group, where: str, contiguous: str) -> Iterator[Claim]:
    Values = Callable[[str], Floats]
    jobs, local = partial(group.part, "contiguous"), partial(group.part, "local")

    def more(values: Values, one: str, other: str) -> Judgement:
        found = estimate(mean_difference, values(one), values(other))
        return judge(found, "above 0", 0, form=as_points, name=f"{one} less {other}")

    yield claim(
        "figure 4.10",
        "basic and best effort local have similar behaviors",
        where,
        f"mean parts of contiguous jobs: they differ by less than {100 * SIMILAR:g} %",
        lambda: similar(estimate(ratio_of_means, jobs("best_effort_local"), jobs("basic"))),
    )
    yield claim(
        "figure 4.10",
        "Forced local improves the number of contiguous jobs, closely followed by best effort "
        "contiguous",
        where,
        f"mean parts of contiguous jobs: local above {contiguous}, but by less than "
        f"{100 * SIMILAR:g} %, that above basic and best_effort_local",
        lambda: every([
            slightly(
                estimate(ratio_of_means, jobs(contiguous), jobs("local")), f"{contiguous} to local"
            ),
            more(jobs, contiguous, "basic"),
            more(jobs, contiguous, "best_effort_local"),
        ]),
    )  # fmt: skip
    yield claim(
        "figure 4.11",
        "best effort contiguous achieves worse results than basic",
        where,
        f"mean parts of local jobs: basic above {contiguous}",
        lambda: more(local, "basic", contiguous),
        {
            CONTRADICTED: "the lowest range that is long enough is often local; the largest ones, "
            "which the author's program took, are not",
        },
    )
    outperforms = (
        "Forced contiguous outperforms basic with however more variability in the performance"
    )
    reading = "mean, and standard deviation, of the part of local jobs: contiguous above basic"
    yield claim(
        "figure 4.11",
        f"{outperforms} [mean]",
        where,
        reading,
        lambda: more(local, "contiguous", "basic"),
    )
    yield claim(
        "figure 4.11",
        f"{outperforms} [variability]",
        where,
        reading,
        lambda: judge(
            estimate(_spread_difference, local("contiguous"), local("basic")),
            "above 0", 0, form=as_points,
        ),
    )  # fmt: skip
    yield claim(
        "figure 4.11",
        "best effort local achieves the best results by scheduling jobs locally 90% of the time",
        where,
        "mean part of local jobs between 85 and 95 %, above that of the others that may leave a "
        "cluster",
        lambda: every([
            judge(
                estimate(mean, local("best_effort_local")), "between 85 and 95 %", 0.85, 0.95,
                as_percent, "best_effort_local",
            ),
            *(
                more(local, "best_effort_local", other)
                for other in ("basic", contiguous, "contiguous")
            ),
        ]),
    )  # fmt: skip
    yield claim(
        "figure 4.12",
        "Best effort local gives the best results, followed by forced contiguous",
        where,
        f"mean locality ratios: best_effort_local below contiguous, that below {contiguous} and "
        "basic",
        lambda: _ordered_ratios(group, contiguous),
    )
    yield claim(
        "figure 4.12",
        "Basic and best effort contiguous show similar performances with a slight advantage for "
        "best effort contiguous",
        where,
        f"mean locality ratio of {contiguous} over basic's: slightly less",
        lambda: slightly(
            estimate(ratio_of_means, group.clusters(contiguous), group.clusters("basic"))
        ),
    )


def _ordered_ratios(group: Group, contiguous: str) -> Judgement:
    """Return whether locality ratios are in the order of figure 4.12."""
    return every([
        judge(
            estimate(mean_difference, group.clusters(one), group.clusters(other)),
            "below 0", high=0, name=f"{one} less {other}",
        )
        for one, other in (
            ("best_effort_local", "contiguous"), ("contiguous", contiguous), ("contiguous", "basic")
        )
    ])  # fmt: skip


def _spread_difference(one: Floats, other: Floats) -> Floats:
    return spread(one) - spread(other)


def summary_of(rows: Rows) -> list[Row]:
    """Return means over the instances for each setting and variant."""
    found = []
    for setting in settings():
        group = Group(rows, setting)
        for variant in VARIANTS:
            cost = group.cost(variant)
            values: Row = {
                "variant": variant,
                "instances": len(group.rows),
                "mean makespan": float(group.makespan(variant).mean()),
                "to basic's": float(cost.mean()),
                "sd of that": float(cost.std()),
                "within 2 %": float((np.abs(cost - 1) < NEAR).mean()),
                "contiguous": float(group.part("contiguous", variant).mean()),
                "local": float(group.part("local", variant).mean()),
                "locality ratio": float(group.clusters(variant).mean()),
            }
            found.append({**setting, **{k: _rounded(v) for k, v in values.items()}})
    return found


def _rounded(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


CLOUDS = {
    "4.7": ("basic", LARGEST),
    "4.8": ("basic", "contiguous"),
    "4.9": (LARGEST, "local"),
}
"""Variants on the two axes."""

DENSITIES = {
    "4.10": ("contiguous", "contiguous jobs (%)", "contiguous"),
    "4.11": ("local", "local jobs (%)", "local"),
    "4.12": ("clusters", "locality ratio", "local"),
}
"""What is counted, how it is called, and the variant that the thesis leaves out."""


def figure_of(group: Group, shown: Sequence[str]) -> Any:
    """Return the figure with the panels of figures 4.7 to 4.12, or of some of these."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    across = min(len(shown), 3)
    down = -(-len(shown) // across)
    figure = Figure(figsize=(13 * across / 3, 0.5 + 3.5 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).flat
    for axes, number in zip(panels, shown, strict=False):
        if number in CLOUDS:
            x, y = (group.makespan(variant) / 86_400 for variant in CLOUDS[number])
            axes.scatter(x, y, s=6, color=PALETTE[0], alpha=0.5, linewidths=0, rasterized=True)
            axes.axline((x.mean(), x.mean()), slope=1, color="#555555", linewidth=0.8)
            label, other = CLOUDS[number]
            axes.set(title=f"as figure {number}: makespan (days)", xlabel=label, ylabel=other)
        else:
            metric, label, missing = DENSITIES[number]
            values = {
                v: group.clusters(v) if metric == "clusters" else 100 * group.part(metric, v)
                for v in VARIANTS
                if v != missing
            }
            every_value = np.concatenate([*values.values()])
            points = np.linspace(every_value.min(), every_value.max(), 200)
            for variant, each in values.items():
                colour = PALETTE[VARIANTS.index(variant)]
                axes.plot(points, density(each, points), color=colour)
            axes.set(title=f"as figure {number}", xlabel=label, ylabel="density over instances")
    if any(number in DENSITIES for number in shown):
        lines = [Line2D([], [], color=PALETTE[place]) for place in range(len(VARIANTS))]
        figure.legend(
            lines, VARIANTS, loc="outside lower center", ncols=2 * across, frameon=False, fontsize=8
        )
    figure.suptitle(_name(THESIS), fontsize=10)
    return figure


@click.option("--instances", type=click.IntRange(min=2), help="Of each setting.")
@campaign("contiguity")
def main(run: Run, instances: int | None) -> Study:
    """Simulate the instances, print verdicts."""
    counts = QUICK if run.quick else INSTANCES
    if instances:
        counts = dict.fromkeys(INSTANCES, instances)

    def tasks() -> list[Row]:
        check_traces(run.traces, {setting["trace"] for setting in settings()})
        return [
            {**setting, "instance": number}
            for setting in settings()
            for number in range(counts["thesis" if setting == THESIS else "others"])
        ]

    def makespan_tasks() -> list[Row]:
        return [{**THESIS, "instance": number} for number in range(counts["makespans"])]

    rows = run.rows(
        "contiguity", tasks, partial(work, run.traces),
        lambda task: SECONDS * len(VARIANTS) * task["size"] / 300,
    )  # fmt: skip
    makespans = run.rows(
        "contiguity_makespans", makespan_tasks, partial(makespan_work, run.traces),
        lambda task: SECONDS * 2,
    )  # fmt: skip
    optima = run.rows(
        "contiguity_optima",
        lambda: [{"instance": number} for number in range(counts["optima"])],
        optima_work,
        lambda task: SECONDS_OF_OPTIMA,
    )
    shown = Group(rows, THESIS)
    return Study(
        rows=[rows, makespans, optima],
        claims=partial(claims_of, rows, makespans, optima),
        beyond=partial(beyond_of, rows),
        summary=partial(summary_of, rows),
        drawings=[
            Drawing("contiguity_curie", (*CLOUDS, *DENSITIES), partial(figure_of, shown))
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
