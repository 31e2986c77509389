"""Proteins of unusual composition with relatives, for the tables of composition-based statistics.

``python tests/golden/biased.py`` writes ``biased_queries.fasta`` and ``biased_targets.fasta``
beside this file, the same each time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
RESIDUES = "ARNDCQEGHILKMFPSTWYV"
COMMON = [78, 51, 45, 54, 19, 43, 63, 74, 22, 51, 90, 57, 22, 39, 52, 71, 58, 13, 32, 64]
"""Residues in a thousand (Robinson and Robinson 1991), in the order of `RESIDUES`."""

NEARLY_IDENTICAL = ("polyq", "serine", "histidine", "spotted")
"""Families with low complexity and relatives around the limit of BLAST's near-identical test."""

Record = tuple[str, str]


class Maker:
    """Draws sequences.

    Parameters
    ----------
    seed : int
        Of the random numbers.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def plain(self, length: int) -> str:
        """Return residues with the usual frequencies."""
        return "".join(self.random.choices(RESIDUES, COMMON, k=length))

    def rich(self, favoured: str, share: float, length: int) -> str:
        """Return residues of which a share is favoured, the others as usual."""
        return "".join(
            self.random.choice(favoured) if self.random.random() < share else self.plain(1)
            for _ in range(length)
        )

    def pattern(self, places: str, count: int, **choices: str) -> str:
        """Return a pattern again and again.

        Each letter of `places` is a residue, the name of some residues to choose from, or ``.``
        for any residue.
        """
        return "".join(
            self.plain(1) if place == "." else self.random.choice(choices.get(place, place))
            for _ in range(count)
            for place in places
        )

    def relative(self, sequence: str, share: float, gaps: int = 0) -> str:
        """Return a sequence of which a share was replaced by residues of the same composition.

        Each of `gaps` indels removes or inserts one to eight residues.
        """
        letters = list(sequence)
        for at in self.random.sample(range(len(letters)), round(share * len(letters))):
            others = [letter for letter in sequence if letter != letters[at]] or RESIDUES
            letters[at] = self.random.choice(others)
        for _ in range(gaps):
            at, length = self.random.randrange(len(letters)), self.random.randint(1, 8)
            new = self.random.choices(sequence, k=length) if self.random.random() < 0.5 else []
            letters[at : at + (0 if new else length)] = new
        return "".join(letters)

    def stretched(self, sequence: str, share: float) -> str:
        """Return a relative with 9 more residues in three places."""
        changed = self.relative(sequence, share)
        thirds = (len(changed) // 6, len(changed) // 2, 5 * len(changed) // 6)
        parts = [changed[a:b] for a, b in pairwise((0, *thirds, len(changed)))]
        return "".join(part + self.plain(9) for part in parts[:-1]) + parts[-1]


def families(maker: Maker) -> dict[str, str]:
    """Return a founder of each family."""
    plain = maker.plain
    return {
        "polyq": plain(60) + maker.rich("Q", 0.85, 45) + plain(70),
        "collagen": maker.pattern("G12", 55, **{"1": "PPPAEKSL", "2": "PPPAKRQT"}),
        "coil": maker.pattern("LabIcde", 22, a="EKQR", b="EKAS", c="KEQR", d="EKDN", e="LEKA"),
        "leucine": maker.pattern("L..L..L.L..N.L..LP...F..", 7),
        "acidic": maker.rich("DE", 0.5, 150),
        "basic": maker.rich("KR", 0.45, 130),
        "serine": plain(70) + maker.pattern("RS", 20) + maker.rich("RS", 0.6, 50),
        "asparagine": maker.rich("NNNNKDI", 0.65, 190),
        "proline": maker.rich("P", 0.4, 140),
        "membrane": maker.rich("LIVFAG", 0.8, 180),
        "glycine": maker.rich("GGGSYF", 0.7, 120),
        "cysteine": maker.pattern("C..CK.", 10),
        "histidine": plain(50) + maker.pattern("HH.", 12) + plain(60),
        "spotted": plain(70) + maker.rich("E", 0.9, 22) + plain(80) + maker.rich("S", 0.9, 18),
        "short": maker.pattern("PQPQPF", 7) + plain(3),
        "plain": plain(220),
    }


def records() -> tuple[list[Record], list[Record]]:
    """Return the queries and the targets."""
    maker = Maker(21)
    queries, targets = [], []
    for family, founder in families(maker).items():
        queries.append((family, founder))
        relatives: list[Callable[[], str]] = [
            lambda s=founder: s,
            lambda s=founder: maker.relative(s, 0.02),
            lambda s=founder: maker.relative(s, 0.05, 1),
            lambda s=founder: maker.relative(s, 0.08),
            lambda s=founder: maker.relative(s, 0.3, 2),
            lambda s=founder: maker.relative(s, 0.55, 2),
            lambda s=founder: maker.relative(s, 0.7, 1),
            lambda s=founder: maker.plain(90) + maker.relative(s, 0.45) + maker.plain(4 * len(s)),
        ]
        if family in NEARLY_IDENTICAL:
            shares = (0.03, 0.035, 0.04, 0.045, 0.05)
            relatives += [lambda s=founder, d=d: maker.relative(s, d) for d in shares]
            relatives += [lambda s=founder, d=d: maker.stretched(s, d) for d in (0.01, *shares)]
        for number, make in enumerate(relatives):
            targets.append((f"{family}{number}", make()))
    return queries, targets


def write(path: Path, found: list[Record]) -> None:
    """Write a FASTA file."""
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in found))


if __name__ == "__main__":
    for name, found in zip(("queries", "targets"), records(), strict=True):
        write(HERE / f"biased_{name}.fasta", found)
