"""What papers claim, and how it is judged: a verdict on each sentence of a paper, by intervals.

A claim is judged by an estimate of a number that it is about: its value over the instances that
were simulated, with a 95 % interval. Policies meet the same instances, so that instances are drawn
anew together (a paired bootstrap); of the windows of chapter 5 of the thesis, which overlap, whole
blocks of time are drawn. A number without sampling, of one given workload, has an interval of no
width. The rule says where the claim wants the number:

- *reproduced*: the whole interval is there;
- *contradicted*: no part of it is;
- *undecided*: a part;
- *cannot be judged*: the workload is measurably not the one of the paper, or is not known; or two
  readings of the sentence differ; or our number was made by the very number that it would be
  compared with.

A claim that asks for several things is reproduced if all are, contradicted if one is. A sentence of
a paper may be a claim on several machines, loads or variants: it holds if each of these that can be
judged is reproduced, and fails if one is contradicted.

Words for sizes mean the same everywhere: see `SIMILAR`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

REPRODUCED = "reproduced"
CONTRADICTED = "contradicted"
UNDECIDED = "undecided"
UNJUDGED = "cannot be judged"
VERDICTS = (REPRODUCED, CONTRADICTED, UNDECIDED, UNJUDGED)

SIMILAR = 0.05
"""The scale of words for sizes. Two numbers are similar, close, stable or alike if this part of the
other one lies between them at most. One is slightly or marginally better if it is better by less
than that, and considerably, significantly, substantially, highly or very much better by more."""

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


def estimate(
    statistic: Callable[..., Floats],
    *samples: Floats,
    blocks: NDArray[np.int64] | None = None,
    seed: int = 1,
) -> Estimate:
    """Return a statistic of paired samples, with its bootstrap interval.

    Parameters
    ----------
    statistic
        Takes samples of shape (..., instances), and reduces the last axis.
    samples
        (instances,) each; entry i of each belongs to the same instance.
    blocks
        (instances,) the block of each; instances of a block, which depend on each other, are drawn
        together (a block bootstrap). By default each is a block of its own.
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
    own = (
        tuple(range(count)) if blocks is None else tuple(np.unique(blocks, return_inverse=True)[1])
    )
    drawn, independent = _resampled(own, seed)
    if independent < 2:
        return Estimate(value, -np.inf, np.inf, count)
    found = np.sort(statistic(*(sample[drawn] for sample in samples)))
    tail = _tail(independent)
    low, high = np.quantile(found, [tail, 1 - tail])
    return Estimate(value, float(low), float(high), count)


@cache
def _resampled(blocks: tuple[int, ...], seed: int) -> tuple[NDArray[np.int64], int]:
    """Return (RESAMPLES, instances) the instances of each resample, and how many blocks there are.

    Blocks of different lengths follow on each other until there are as many instances as before.
    """
    generator = np.random.default_rng(seed)
    count, number = len(blocks), max(blocks) + 1
    if number == count:
        return generator.integers(count, size=(RESAMPLES, count)), count
    members = [np.flatnonzero(np.array(blocks) == block) for block in range(number)]
    drawn = np.empty((RESAMPLES, count), np.int64)
    for row in drawn:
        filled = 0
        while filled < count:
            chosen = members[generator.integers(number)][: count - filled]
            row[filled : filled + len(chosen)] = chosen
            filled += len(chosen)
    return drawn, number


def _tail(count: int) -> float:
    """Return the part of the resamples that lies beyond a limit of the interval."""
    from scipy.stats import norm, t

    quantile = t.ppf((1 - CONFIDENCE) / 2, count - 1) * np.sqrt(count / (count - 1))
    return float(norm.cdf(quantile))


def share(which: NDArray[np.bool_], blocks: NDArray[np.int64] | None = None) -> Estimate:
    """Return the part of the instances for which something holds, with its exact interval.

    Of instances in blocks, which depend on each other, the interval is that of `estimate`.
    """
    from scipy.stats import binomtest

    if blocks is not None:
        return estimate(mean, which.astype(np.float64), blocks=blocks)

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
    """A verdict, and what it is by.

    Parameters
    ----------
    verdict
        One of `VERDICTS`.
    number
        Our number, with its interval; of several things, all numbers.
    instances
        How many it is from.
    asked
        The rule in words.
    brief
        The number that decides, without its interval.
    decisive
        What that is of.
    """

    verdict: str
    number: str
    instances: int
    asked: str
    brief: str = ""
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
    brief = f"{name} {form(found.value)}".strip() if found.instances else ""
    return Judgement(verdict, f"{name} {text}".strip(), found.instances, asked, brief, name)


def similar(ratio: Estimate, name: str = "", room: float = SIMILAR) -> Judgement:
    """Return whether a ratio is that of similar numbers."""
    return judge(ratio, f"within {100 * room:g} %", 1 - room, 1 + room, as_change, name)


def less(ratio: Estimate, name: str = "") -> Judgement:
    """Return whether a ratio is that of a number less than another."""
    return judge(ratio, "below 0", high=1, form=as_change, name=name)


def more(ratio: Estimate, name: str = "") -> Judgement:
    """Return whether a ratio is that of a number more than another."""
    return judge(ratio, "above 0", 1, form=as_change, name=name)


def slightly(ratio: Estimate, name: str = "", *, less: bool = True) -> Judgement:
    """Return whether a ratio is that of a number slightly less than another, or more."""
    low, high = (1 - SIMILAR, 1.0) if less else (1.0, 1 + SIMILAR)
    asked = f"between {100 * (low - 1):g} and {100 * (high - 1):g} %"
    return _told_side(judge(ratio, asked, low, high, as_change, name), ratio, less=less)


def considerably(ratio: Estimate, name: str = "", *, less: bool = True) -> Judgement:
    """Return whether a ratio is that of a number considerably less than another, or more."""
    limit = 1 - SIMILAR if less else 1 + SIMILAR
    limits = (-np.inf, limit) if less else (limit, np.inf)
    asked = f"{'below' if less else 'above'} {100 * (limit - 1):g} %"
    return _told_side(judge(ratio, asked, *limits, as_change, name), ratio, less=less)


def _told_side(judged: Judgement, ratio: Estimate, *, less: bool) -> Judgement:
    """Return a judgement that says if only the size is another one, and not the sign."""
    if judged.verdict == REPRODUCED or (ratio.high >= 1 if less else ratio.low <= 1):
        return judged
    return judged._replace(
        asked=f"{judged.asked}, though all of it is {'below' if less else 'above'} 0"
    )


def every(judgements: Sequence[Judgement], asked: str = "") -> Judgement:
    """Return the judgement on a claim that asks for several things."""
    numbers = "; ".join(dict.fromkeys(each.number for each in judgements))
    instances = min(each.instances for each in judgements)
    for verdict in (CONTRADICTED, UNJUDGED, UNDECIDED):
        for each in judgements:
            if each.verdict == verdict:
                return each._replace(number=numbers, instances=instances)
    words = asked or " and ".join(dict.fromkeys(each.asked for each in judgements))
    return Judgement(REPRODUCED, numbers, instances, words, judgements[0].brief)


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
        What it says; in brackets at the end, the part of it that is judged here.
    where
        The workload, trace or setting.
    reading
        What we take it to mean.
    number, instances
        Ours, with its interval, and how many instances it is from.
    brief
        The number that decides, without its interval.
    verdict, reason
        One of `VERDICTS`, and why; none if nobody asked.
    """

    place: str
    quotation: str
    where: str
    reading: str
    number: str
    instances: int
    brief: str
    verdict: str
    reason: str

    @property
    def sentence(self) -> tuple[str, str]:
        """The place, and the quotation without the part that is judged here."""
        return self.place, split_quotation(self.quotation)[0]


def split_quotation(quotation: str) -> tuple[str, str]:
    """Return a sentence, and the part of it that its brackets at the end name."""
    found = re.fullmatch(r"(.+?)\s*\[([^\]]*)\]", quotation)
    return (found[1], found[2]) if found else (quotation, "")


Asked = Callable[[Claim], bool]

_ASKED: ContextVar[Asked] = ContextVar("asked", default=lambda claim: True)


@contextmanager
def asking(asked: Asked) -> Iterator[None]:
    """Let claims be judged only if they are asked for, by their place and quotation."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def claim(
    place: str,
    quotation: str,
    where: str,
    reading: str,
    judgement: Callable[[], Judgement],
    why: Mapping[Any, str] | None = None,
) -> Claim:
    """Return the claim with its verdict, if it is asked for.

    Parameters
    ----------
    place, quotation, where, reading
        As of `Claim`.
    judgement
        Judges it. It is called at once, or not at all: rows that nobody asks for are not made.
    why
        A sentence for verdicts that need their own; for a pair of a verdict and what decides it,
        if that is what does.
    """
    unasked = Claim(place, quotation, where, reading, "", 0, "", "", "")
    if not _ASKED.get()(unasked):
        return unasked
    judged = judgement()
    interval = f"interval ({judged.decisive})" if judged.decisive else "interval"
    reason = {
        REPRODUCED: f"the whole {interval} is {judged.asked}",
        CONTRADICTED: f"no part of the {interval} is {judged.asked}",
        UNDECIDED: f"a part of the {interval} is {judged.asked}",
        UNJUDGED: judged.asked,
        **{k: text for k, text in (why or {}).items() if isinstance(k, str)},
    }
    if not judged.instances:
        reason[UNDECIDED] = "no instance was simulated"
    why_this = (why or {}).get((judged.verdict, judged.decisive), reason[judged.verdict])
    return unasked._replace(
        number=judged.number, instances=judged.instances, brief=judged.brief,
        verdict=judged.verdict, reason=why_this,
    )  # fmt: skip


def count(verdicts: Iterable[str]) -> dict[str, int]:
    """Return how often each verdict is there."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def verdict_on_sentence(verdicts: Iterable[str]) -> str:
    """Return the verdict on a sentence, by those on its parts.

    What fails somewhere is contradicted, what is open somewhere undecided. What cannot be judged
    somewhere holds if it does wherever it can be.
    """
    found = set(verdicts)
    return next(each for each in (CONTRADICTED, UNDECIDED, REPRODUCED, UNJUDGED) if each in found)


def verdicts_on_sentences(claims: Iterable[Claim]) -> dict[tuple[str, str], str]:
    """Return the verdict on each sentence, in the order of their first claims."""
    parts: dict[tuple[str, str], list[str]] = {}
    for each in claims:
        parts.setdefault(each.sentence, []).append(each.verdict)
    return {sentence: verdict_on_sentence(found) for sentence, found in parts.items()}


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts of sentences as words: of 7 sentences 4 reproduced, ..."""
    parts = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
    return f"of {sum(counts.values())} sentences {parts}"
