"""Does highest revenue first shorten the turnaround of moldable jobs, as its authors say?

    python bench/papers/moldable.py --keep
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

import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import (
    Claim,
    Row,
    collect,
    column,
    draw,
    options,
    report,
    results,
    signed,
    texts,
    write,
)
from _report import table

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
            chosen |= {name: task[name] for name in ("alpha", "threshold", "renewal")}
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
    grid = [(a, t, "instant") for a in ALPHAS for t in COMBINED]
    grid += [(1.0, t, "instant") for t in THRESHOLDS[:3]]
    grid += [(a, 0.9, "start") for a in ALPHAS]
    kinds = [("hrf", *point) for point in grid]
    kinds += [(scheme, 0.0, 0.0, "none") for scheme in (*RIVALS, *OURS)]
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
        }
        for load in GAPS
        for number in range(workloads)
        for scheme, alpha, threshold, renewal in kinds
        for backfilling in BACKFILLING
    ]


class Found:
    """The rows, by what the figures ask for: an entry for each workload.

    Parameters
    ----------
    rows
        Of the table.
    workloads
        How many.
    """

    def __init__(self, rows: list[Row], workloads: int) -> None:
        self._groups: dict[tuple[Any, ...], list[Row]] = {}
        self.workloads = workloads
        for row in rows:
            names = ("load", "scheme", "backfilling", "alpha", "threshold", "renewal")
            self._groups.setdefault(tuple(row[name] for name in names), []).append(row)

    def at(
        self, metric: str, load: str, backfilling: str, alpha: float, threshold: float,
        renewal: str = "instant",
    ) -> NDArray[np.float64]:  # fmt: skip
        """Return (workloads,) a metric of HRF."""
        group = self._groups[load, "hrf", backfilling, alpha, threshold, renewal]
        return column(group, metric)

    def combined(
        self, metric: str, load: str, scheme: str, backfilling: str
    ) -> NDArray[np.float64]:
        """Return (workloads,) a metric of any scheme, of HRF its mean over the parameters."""
        if scheme != "hrf":
            return column(self._groups[load, scheme, backfilling, 0.0, 0.0, "none"], metric)
        grid = [self.at(metric, load, backfilling, a, t) for a in ALPHAS for t in COMBINED]
        return np.mean(grid, axis=0)

    def by_alpha(
        self, metric: str, load: str, backfilling: str, renewal: str = "instant"
    ) -> NDArray[np.float64]:
        """Return (alphas, workloads), as in figure 5."""
        return np.array([self.at(metric, load, backfilling, a, 0.9, renewal) for a in ALPHAS])

    def by_threshold(self, metric: str, load: str, backfilling: str) -> NDArray[np.float64]:
        """Return (thresholds, workloads), as in figure 6."""
        return np.array([self.at(metric, load, backfilling, 1.0, t) for t in THRESHOLDS])


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


def claims_of(found: Found) -> list[Claim]:
    """Return what sections 6.2 and 6.3 say, and what was found."""
    return [*_alpha_claims(found), *_threshold_claims(found), *_policy_claims(found)]


def _alpha_claims(found: Found) -> list[Claim]:
    claims = []
    best: dict[tuple[str, str], float] = {}
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            where = f"{load}, HRF{selection}"
            awt, art, att = (found.by_alpha(m, load, backfilling) for m in ("awt", "art", "att"))
            claims.append(_trend("figure 5", "AWT grows with alpha", where, awt, ALPHAS, 1))
            claims.append(_trend("figure 5", "ART falls with alpha", where, art, ALPHAS, -1))
            mean = att.mean(axis=1)
            place = int(mean.argmin())
            best[load, backfilling] = ALPHAS[place]
            inside = 0 < place < len(ALPHAS) - 1
            if backfilling == "none" and load != "heavy":
                text = "ATT of HRFFcfs falls, then grows: best at alpha 0.8 (light), 0.7 (middle)"
                held = inside
            elif backfilling == "none":
                text, held = "ATT of HRFFcfs grows with alpha", bool((np.diff(mean) > 0).all())
            elif load == "light":
                text, held = "ATT of HRFBf falls, then grows", inside
            else:
                text, held = "ATT of HRFBf falls with alpha", bool((np.diff(mean) < 0).all())
            found_text = f"{_series(mean, ALPHAS)}; {_by_workload(att, ALPHAS)}"
            claims.append(Claim("figure 5", text, where, found_text, held))
    for backfilling, text, sign in (
        ("none", "under FCFS a smaller alpha is better the heavier the load", -1),
        ("aggressive", "with backfilling a greater alpha is better the heavier the load", 1),
    ):
        points = [best[load, backfilling] for load in GAPS]
        steps = sign * np.diff(points)
        held = bool((steps >= 0).all() and (steps > 0).any())
        texts = ", ".join(f"{load} {point}" for load, point in zip(GAPS, points, strict=True))
        claims.append(Claim("section 6.2", text, "best alpha", texts, held))
    return claims


def _threshold_claims(found: Found) -> list[Claim]:
    claims = []
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            where = f"{load}, HRF{selection}"
            awt, art, att = (
                found.by_threshold(m, load, backfilling) for m in ("awt", "art", "att")
            )
            for text, values, sign in (
                ("AWT grows with threshold", awt, 1),
                ("ART falls with threshold", art, -1),
            ):
                claims.append(_trend("figure 6", text, where, values, THRESHOLDS, sign))
            mean = att.mean(axis=1)
            below, above = np.ptp(mean[:3]) / mean[:3].mean(), np.ptp(mean[3:]) / mean[3:].mean()
            claims.append(
                Claim(
                    "figure 6",
                    "ATT changes much below threshold 0.3, and is stable above (we ask for less "
                    "than half as wide a range)",
                    where,
                    f"range {100 * below:.0f} % of the mean up to 0.3, {100 * above:.0f} % from "
                    f"0.4; {_series(mean, THRESHOLDS)}",
                    bool(above < below / 2),
                )
            )
    return claims


def _policy_claims(found: Found) -> list[Claim]:
    claims = []

    def att(load: str, scheme: str, backfilling: str) -> NDArray[np.float64]:
        return found.combined("att", load, scheme, backfilling)

    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            own = att(load, "hrf", backfilling)
            others = {s: att(load, s, backfilling) for s in RIVALS}
            least = np.min([*others.values()], axis=0)
            ratios = ", ".join(
                f"{100 * own.mean() / x.mean():.1f} % of {SCHEMES[s]}{selection}"
                for s, x in others.items()
            )
            claims.append(
                Claim(
                    "figure 7",
                    "HRF has the shortest combined ATT of the four schemes (middle, FCFS: 29, "
                    "77.7 and 76.3 % of the others')",
                    f"{load}, {selection}",
                    f"{ratios}; shortest in {_share(own < least)}",
                    bool(own.mean() < min(x.mean() for x in others.values())),
                )
            )
            greedy = others["submit_time_greedy"]
            rest = np.max([own, *(others[s] for s in RIVALS[1:])], axis=0)
            claims.append(
                Claim(
                    "figure 7",
                    "submit-time greedy has the longest combined ATT",
                    f"{load}, {selection}",
                    f"{greedy.mean():.0f} s; longest in {_share(greedy > rest)}",
                    bool(greedy.mean() > max(own.mean(), *(others[s].mean() for s in RIVALS[1:]))),
                )
            )
        art = {s: found.combined("art", load, s, "none").mean() for s in SCHEMES}
        claims.append(
            Claim(
                "section 6.3",
                "submit-time greedy has the shortest ART under FCFS",
                load,
                ", ".join(f"{SCHEMES[s]} {x:.0f} s" for s, x in art.items()),
                min(art, key=art.__getitem__) == "submit_time_greedy",
            )
        )
        for scheme, short in SCHEMES.items():
            plain, filled = att(load, scheme, "none"), att(load, scheme, "aggressive")
            claims.append(
                Claim(
                    "section 6.3",
                    "backfilling shortens the combined ATT (HRF, middle load: by 50.3 %, by the "
                    "printed seconds 43.6 %)",
                    f"{load}, {short}",
                    f"by {100 * (1 - filled.mean() / plain.mean()):.1f} %, in "
                    f"{_share(filled < plain)}",
                    bool(filled.mean() < plain.mean()),
                )
            )
        at_submission = att(load, "submit_time_fair", "none")
        at_start = att(load, "schedule_time_fair", "none")
        better = "worse" if load == "middle" else "better"
        held = at_start.mean() < at_submission.mean()
        claims.append(
            Claim(
                "section 6.3",
                "SchFairFcfs is better than SbmFairFcfs at light and heavy load, at middle load "
                "slightly worse",
                f"{load}: {better}",
                f"{at_start.mean():.0f} against {at_submission.mean():.0f} s; better in "
                f"{_share(at_start < at_submission)}",
                bool(held == (better == "better")),
            )
        )
    for scheme, short in SCHEMES.items():
        for backfilling, selection in BACKFILLING.items():
            means = [att(load, scheme, backfilling).mean() for load in GAPS]
            claims.append(
                Claim(
                    "section 6.3",
                    "the heavier the load, the longer the combined ATT",
                    short + selection,
                    ", ".join(f"{mean:.0f} s" for mean in means),
                    bool((np.diff(means) > 0).all()),
                )
            )
    gains = {
        f"{load}, {SCHEMES[s]}{selection}": 1 - att(load, "hrf", b).mean() / att(load, s, b).mean()
        for load in GAPS
        for b, selection in BACKFILLING.items()
        for s in RIVALS
    }
    most = max(gains, key=gains.__getitem__)
    claims.append(
        Claim(
            "abstract",
            "HRF reduces ATT by up to 71 % (we ask for 60 to 100 %)",
            most,
            f"{100 * gains[most]:.1f} %",
            bool(gains[most] >= 0.6),
        )
    )
    return claims


def ours_of(found: Found) -> list[Row]:
    """Return what the paper does not ask: the adaptive alpha, and when sizes are chosen anew.

    The best alpha and threshold are those of the same workloads, which nobody knows beforehand.
    """
    rows = []
    for load in GAPS:
        for backfilling, selection in BACKFILLING.items():
            adaptive = found.combined("att", load, "adaptive", backfilling)
            combined = found.combined("att", load, "hrf", backfilling)
            grid = {
                (a, t): found.at("att", load, backfilling, a, t) for a in ALPHAS for t in COMBINED
            }
            best = min(grid, key=lambda point: float(grid[point].mean()))
            once, always = (
                found.by_alpha("att", load, backfilling, r).mean() for r in ("instant", "start")
            )
            rows.append(
                {
                    "load": load,
                    "selection": selection,
                    "adaptive ATT (s)": float(adaptive.mean()),
                    "best ATT (s)": float(grid[best].mean()),
                    "best alpha": best[0],
                    "best threshold": best[1],
                    "adaptive minus best (s)": float((adaptive - grid[best]).mean()),
                    "standard error": _error(adaptive - grid[best]),
                    "combined ATT (s)": float(combined.mean()),
                    "adaptive below combined": _share(adaptive < combined),
                    "sizes after each start": signed(always / once),
                }
            )
    return rows


def _trend(
    figure: str, text: str, where: str, values: NDArray[np.float64], points: Any, sign: int
) -> Claim:
    """Return a claim that means grow or fall: by their rank correlation with the points."""
    mean = values.mean(axis=1)
    ranks = np.argsort(np.argsort(mean))
    correlation = float(np.corrcoef(ranks, np.arange(len(mean)))[0, 1])
    held = sign * correlation > 0.8 and sign * (mean[-1] - mean[0]) > 0
    text = f"{text} (we ask for a rank correlation above 0.8)"
    found = f"rank correlation {correlation:+.2f}; {_series(mean, points)}"
    return Claim(figure, text, where, found, held)


def _series(mean: NDArray[np.float64], points: Any) -> str:
    best = points[int(mean.argmin())]
    return f"{mean[0]:.0f} s at {points[0]} to {mean[-1]:.0f} s at {points[-1]}, least at {best}"


def _by_workload(values: NDArray[np.float64], points: Any) -> str:
    places = values.argmin(axis=0)
    ends = float(((places == 0) | (places == len(points) - 1)).mean())
    return f"least at an end of the range in {100 * ends:.0f} % of the workloads"


def _share(which: NDArray[np.bool_]) -> str:
    return f"{int(which.sum())} of {len(which)} workloads"


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


@click.command()
@click.option("--workloads", default=30)
@click.option("--size", default=200, help="Jobs of a workload.")
@click.option("--processors", default=128)
@click.option("--seed", default=101, help="Of the first workload; the next one has the next.")
@click.option("--jobs", default=os.cpu_count() or 1, help="Processes.")
@click.option("--quick", is_flag=True, help="A few small workloads.")
@click.option("--keep", is_flag=True, help="Write, and continue, bench/results.")
@click.option("--out", type=click.Path(path_type=Path), help="Write, and continue, this folder.")
def main(
    workloads: int,
    size: int,
    processors: int,
    seed: int,
    jobs: int,
    quick: bool,
    keep: bool,
    out: Path | None,
) -> None:
    """Simulate the workloads, print means and claims."""
    if quick:
        workloads, size = QUICK["workloads"], QUICK["size"]
    about = {"processors": processors, "size": size, "seed": seed}
    click.echo(f"highest revenue first, {workloads} workloads: {options(about)}")
    folder = results(keep, out)
    path = None if folder is None else folder / "moldable_rows.csv"
    rows = collect(tasks_of(about, workloads), work, path, jobs)
    found = Found(rows, workloads)
    report("moldable", claims_of(found), summary_of(found), folder)
    ours = ours_of(found)
    click.echo("\nours: adaptive alpha, and sizes after each start instead of once an instant")
    table([list(ours[0]), *(texts(row.values()) for row in ours)])
    if folder is not None:
        write(folder / "moldable_ours.csv", ours)
        draw(folder / "moldable.svg", partial(figure_of, found))


if __name__ == "__main__":
    main()
