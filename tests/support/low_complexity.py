"""Random sequences of which parts have few kinds of letters, or repeat a unit."""

from __future__ import annotations

import random

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
BASES = "ACGT"


def biased_sequence(draw: random.Random, letters: str, length: int, rare: str = "") -> str:
    """Return a sequence whose composition changes every 50 letters or so.

    Parameters
    ----------
    draw
        The generator.
    letters
        The letters of parts of normal composition.
    length
        The length of the sequence.
    rare
        Letters of which one is drawn now and then, in some sequences often.
    """
    share = draw.choice([0, 0, 0.01, 0.1]) if rare else 0
    found: list[str] = []
    some, weights = letters, [1.0] * len(letters)
    while len(found) < length:
        if draw.random() < 0.02:
            some = "".join(draw.sample(letters, draw.randint(1, min(6, len(letters)))))
            if draw.random() < 0.5:
                some = letters
            weights = [draw.random() ** 2 + 0.01 for _ in some]
        if draw.random() < 0.005:
            unit = draw.choices(letters, k=draw.randint(1, 12))
            found += unit * draw.randint(2, 8)
        found.append(draw.choice(rare) if draw.random() < share else draw.choices(some, weights)[0])
    return "".join(found[:length])


def biased_records(
    seed: int, letters: str, count: int, longest: int, rare: str = ""
) -> dict[str, str]:
    """Return sequences by their names.

    Parameters
    ----------
    seed
        Of the generator.
    letters, rare
        As for `biased_sequence`.
    count
        The number of sequences.
    longest
        The length of the longest one, at most; lengths are drawn between 1 and this.
    """
    draw = random.Random(seed)
    return {
        f"biased{k}": biased_sequence(draw, letters, draw.randint(1, longest), rare)
        for k in range(count)
    }


def golden_records(kind: str) -> dict[str, str]:
    """Return what the golden tables of masks are recorded of: "proteins" or "nucleotides"."""
    if kind == "proteins":
        return biased_records(1, AMINO_ACIDS, 120, 500, "BJZXUO*")
    return biased_records(2, BASES, 50, 1000, "RYSWKM")
