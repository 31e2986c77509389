"""What papers claim, and how it is judged: a verdict on each distinct claim, by an interval.

A claim is judged by an estimate of a number that the claim is about: its value over the instances
that were simulated, with a 95 % interval. Policies meet the same instances, so that instances are
drawn anew together (a paired bootstrap). A number without sampling, of one given workload, has an
interval of no width. The rule says where the claim wants the number:

- *reproduced*: the whole interval is there;
- *contradicted*: no part of it is;
- *undecided*: a part;
- *cannot be judged*: the workload is measurably not the one of the paper, or is not known.

A claim that asks for several things is reproduced if all are, contradicted if one is.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, Run, write

REPRODUCED = "reproduced"
CONTRADICTED = "contradicted"
UNDECIDED = "undecided"
UNJUDGED = "cannot be judged"
VERDICTS = (REPRODUCED, CONTRADICTED, UNDECIDED, UNJUDGED)

RESAMPLES = 2000
CONFIDENCE = 0.95

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A number, its 95 % interval, and how many instances it is from."""

    value: float
    low: float
    high: float
    instances: int


def exactly(value: float, instances: int = 1) -> Estimate:
    """Return the estimate of a number that has no sampling error."""
    return Estimate(value, value, value, instances)


def estimate(statistic: Callable[..., Floats], *samples: Floats, seed: int = 1) -> Estimate:
    """Return a statistic of paired samples, with its bootstrap interval.

    Parameters
    ----------
    statistic
        Takes samples of shape (..., instances), and reduces the last axis.
    samples
        (instances,) each; entry i of each belongs to the same instance.
    seed
        The same seed gives the same interval.

    The percentiles are widened as a t interval is beside a normal one, without which the interval
    of few instances is too narrow (Hesterberg, The American Statistician 69:4, 2015).
    """
    count = len(samples[0])
    if not count:
        return Estimate(np.nan, -np.inf, np.inf, 0)
    value = float(statistic(*samples))
    if count < 2:
        return Estimate(value, -np.inf, np.inf, count)
    drawn = np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))
    found = np.sort(statistic(*(sample[drawn] for sample in samples)))
    tail = _tail(count)
    low, high = np.quantile(found, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), count)


def _tail(count: int) -> float:
    """Return the part of the resamples that lies beyond a limit of the interval."""
    from scipy.stats import norm, t

    quantile = t.ppf((1 - CONFIDENCE) / 2, count - 1) * np.sqrt(count / (count - 1))
    return float(norm.cdf(quantile))


def share(which: NDArray[np.bool_]) -> Estimate:
    """Return the part of the instances for which something holds, with its exact interval."""
    from scipy.stats import binomtest

    held, count = int(which.sum()), len(which)
    low, high = binomtest(held, count).proportion_ci(CONFIDENCE, "exact")
    return Estimate(held / count, float(low), float(high), count)


def ratio_of_means(one: Floats, other: Floats) -> Floats:
    return one.mean(-1) / other.mean(-1)


def mean_ratio(one: Floats, other: Floats) -> Floats:
    return (one / other).mean(-1)


def mean_difference(one: Floats, other: Floats) -> Floats:
    return (one - other).mean(-1)


def mean(one: Floats) -> Floats:
    return one.mean(-1)


def spread(one: Floats) -> Floats:
    return one.std(-1)


def as_change(ratio: float) -> str:
    """Return a ratio as its difference from 1: +1.23 %."""
    return f"{100 * (ratio - 1):+.2f} %"


def as_percent(part: float) -> str:
    return f"{100 * part:.2f} %"


def as_points(difference: float) -> str:
    return f"{100 * difference:+.2f} points"


def as_number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


class Judgement(NamedTuple):
    """A verdict, the number that it is by, the rule in words, and which number decides."""

    verdict: str
    number: str
    instances: int
    asked: str
    decisive: str = ""


def judge(
    found: Estimate,
    asked: str,
    low: float = -np.inf,
    high: float = np.inf,
    form: Callable[[float], str] = as_number,
    name: str = "",
) -> Judgement:
    """Return whether a number lies between two limits.

    Parameters
    ----------
    found
        The number.
    asked
        Where the claim wants it, in words that follow "is".
    low, high
        The limits.
    form
        How the number is printed.
    name
        What it is of.
    """
    if low < found.low and found.high < high:
        verdict = REPRODUCED
    elif found.high <= low or found.low >= high:
        verdict = CONTRADICTED
    else:
        verdict = UNDECIDED
    text = form(found.value) if found.instances else "not simulated"
    if found.instances and found.low != found.high:
        text += f" [{form(found.low)}, {form(found.high)}]"
    return Judgement(verdict, f"{name} {text}".strip(), found.instances, asked, name)


def every(judgements: Sequence[Judgement], asked: str = "") -> Judgement:
    """Return the judgement on a claim that asks for several things."""
    numbers = "; ".join(dict.fromkeys(each.number for each in judgements))
    instances = min(each.instances for each in judgements)
    for verdict in (CONTRADICTED, UNJUDGED, UNDECIDED):
        for each in judgements:
            if each.verdict == verdict:
                return each._replace(number=numbers, instances=instances)
    words = asked or " and ".join(dict.fromkeys(each.asked for each in judgements))
    return Judgement(REPRODUCED, numbers, instances, words)


def some(judgements: Sequence[Judgement], asked: str) -> Judgement:
    """Return the judgement on a claim that asks for one of several things."""
    found = {each.verdict for each in judgements}
    verdict = next((v for v in (REPRODUCED, UNDECIDED, UNJUDGED) if v in found), CONTRADICTED)
    return every(judgements)._replace(verdict=verdict, asked=asked, decisive="")


def given(premise: Judgement, judged: Judgement) -> Judgement:
    """Return a judgement if what it presupposes of the workload is so, else that it cannot be."""
    if premise.verdict != CONTRADICTED:
        return judged
    return judged._replace(
        verdict=UNJUDGED, asked=f"{premise.number}, where the paper has {premise.asked}"
    )


def unjudged(judged: Judgement, why: str) -> Judgement:
    """Return that a claim cannot be judged, as our workload was made by what it says."""
    return judged._replace(verdict=UNJUDGED, asked=why)


class Claim(NamedTuple):
    """A row of the table of verdicts.

    Parameters
    ----------
    place
        The section, figure or table of the paper.
    quotation
        What it says.
    where
        The workload, trace or setting.
    reading
        What we take it to mean.
    number, instances
        Ours, with its interval, and how many instances it is from.
    verdict, reason
        One of `VERDICTS`, and why.
    """

    place: str
    quotation: str
    where: str
    reading: str
    number: str
    instances: int
    verdict: str
    reason: str


def claim(
    place: str,
    quotation: str,
    where: str,
    reading: str,
    judged: Judgement,
    why: Mapping[str, str] | None = None,
) -> Claim:
    """Return the claim with its verdict; `why` has a sentence for verdicts that need their own."""
    interval = f"interval ({judged.decisive})" if judged.decisive else "interval"
    reason = {
        REPRODUCED: f"the whole {interval} is {judged.asked}",
        CONTRADICTED: f"no part of the {interval} is {judged.asked}",
        UNDECIDED: f"a part of the {interval} is {judged.asked}",
        UNJUDGED: judged.asked,
    } | dict(why or {})
    if not judged.instances:
        reason[UNDECIDED] = "no instance was simulated"
    return Claim(
        place, quotation, where, reading, judged.number, judged.instances, judged.verdict,
        reason[judged.verdict],
    )  # fmt: skip


def count(claims: Iterable[Claim | Row]) -> dict[str, int]:
    """Return how many claims have each verdict."""
    rows = [each._asdict() if isinstance(each, Claim) else each for each in claims]
    counts = Counter(row["verdict"] for row in rows)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts as words: of 7 claims 4 reproduced, ..."""
    parts = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return f"of {sum(counts.values())} claims {parts}"


def report(
    name: str, claims: Sequence[Claim], beyond: Sequence[Claim], summary: Sequence[Row], run: Run
) -> None:
    """Print the verdicts, and write them, their summary, and what is beyond the paper.

    Parameters
    ----------
    name
        Of the campaign.
    claims
        The distinct claims of the paper.
    beyond
        The same claims on other workloads or by other readings, which are not counted.
    summary
        Means over the instances.
    run
        Where files go.
    """
    for each in claims:
        click.echo(f"{each.place}: {each.quotation}")
        click.echo(f"    {each.where}: {each.number} ({each.instances} instances)")
        click.echo(f"    {each.verdict}: {each.reason}")
    click.echo(f"\n{name}: {in_words(count(claims))}")
    if run.folder is None:
        return
    for ending, rows in (
        ("verdicts.csv", [each._asdict() for each in claims]),
        ("beyond.csv.gz", [each._asdict() for each in beyond]),
        ("summary.csv", summary),
    ):
        if rows:
            write(run.folder / f"{name}_{ending}", rows)
    click.echo(f"written to {run.folder}")
