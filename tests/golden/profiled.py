"""Protein families, for the tables of position-specific score matrices.

``python tests/golden/profiled.py`` writes ``profile_queries.fasta``, ``profile_targets.fasta`` and
``profile_alignments.tsv`` beside this file, the same each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from biased import Maker, Record, write

HERE = Path(__file__).parent
ODD = "BZJXUO"

Rows = list[tuple[str, str]]


class Families(Maker):
    """Draws families of proteins."""

    def with_odd_letters(self, sequence: str, share: float) -> str:
        """Return a sequence of which a share was replaced by letters of no single residue."""
        return "".join(
            self.random.choice(ODD) if self.random.random() < share else letter
            for letter in sequence
        )

    def with_x(self, sequence: str, start: int, length: int) -> str:
        """Return a sequence with a run of X."""
        return sequence[:start] + "X" * length + sequence[start + length :]

    def with_indels(self, sequence: str, count: int, longest: int) -> str:
        """Return a sequence with indels of up to some residues, the half of them insertions."""
        letters = list(sequence)
        for number in range(count):
            at, length = self.random.randrange(len(letters)), self.random.randint(1, longest)
            if number % 2:
                letters[at:at] = self.plain(length)
            else:
                del letters[at : at + length]
        return "".join(letters)

    def flanked(self, sequence: str, longest: int) -> str:
        """Return a sequence between unrelated residues."""
        left, right = (self.random.randint(0, longest) for _ in range(2))
        return self.plain(left) + sequence + self.plain(right)

    def ordinary(self, founder: str) -> list[str]:
        """Return relatives of many degrees."""
        shares = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)
        return [
            self.flanked(self.relative(founder, share, number % 4), 40)
            for number, share in enumerate(shares)
        ]

    def alike(self, founder: str) -> list[str]:
        """Return relatives that repeat each other, in whole or in part."""
        found = [founder, founder[20:90], self.with_x(founder, 50, 12)]
        found += [self.relative(founder, share) for share in (0.01, 0.02, 0.05)]
        for share in (0.3, 0.4, 0.45):
            centre = self.relative(founder, share, 1)
            found += [centre, self.with_x(centre, 0, 9), self.with_x(centre, 40, 15)]
            found += [centre[:70], centre[60:], self.flanked(centre[30:], 20)]
            found += [self.relative(centre, part) for part in (0.02, 0.04, 0.05, 0.06, 0.07, 0.09)]
        return found

    def gapped(self, founder: str) -> list[str]:
        """Return relatives with many and long gaps."""
        return [
            self.with_indels(self.relative(founder, share), count, longest)
            for share in (0.3, 0.45)
            for count, longest in ((2, 30), (5, 4), (6, 12), (9, 3), (12, 2))
        ]

    def fragments(self, founder: str) -> list[str]:
        """Return relatives of parts of a long protein, some of two parts in another order."""
        found = [self.relative(founder, share, 6) for share in (0.3, 0.5, 0.6)]
        for start in range(0, len(founder) - 100, 60):
            part = founder[start : start + self.random.randint(80, 260)]
            found.append(self.flanked(self.relative(part, self.random.uniform(0.25, 0.55), 1), 80))
        for _ in range(4):
            first, second = (self.random.randrange(0, len(founder) - 120) for _ in range(2))
            parts = [founder[first : first + 110], self.plain(30), founder[second : second + 120]]
            found.append("".join(self.relative(part, 0.35) for part in parts))
        return found

    def repeats(self, unit: str, counts: tuple[int, ...]) -> list[str]:
        """Return sequences of diverged copies of a unit with a few residues between them."""
        return [
            "".join(
                self.relative(unit, 0.35) + self.plain(self.random.randint(0, 6))
                for _ in range(count)
            )
            for count in counts
        ]


def families() -> tuple[list[Record], list[Record]]:
    """Return the queries and the targets."""
    maker = Families(23)
    plain, relative = maker.plain, maker.relative
    found: dict[str, tuple[str, list[str]]] = {}

    founder = plain(160)
    found["ordinary"] = founder, maker.ordinary(founder)

    founder = plain(130)
    odd = maker.with_x(maker.with_x(founder, 30, 7), 90, 1)
    for place, letter in zip((12, 18, 45, 55, 64, 71, 100, 101), "BZUJOUXB", strict=True):
        odd = odd[:place] + letter + odd[place + 1 :]
    related = [relative(founder, share, 1) for share in (0.1, 0.2, 0.25, 0.3, 0.3, 0.35, 0.4, 0.45)]
    found["odd"] = odd, [maker.with_odd_letters(each, 0.06) for each in related] + related[3:6]

    founder = plain(120)
    found["alike"] = founder, maker.alike(founder)

    founder = plain(170)
    found["gapped"] = founder, maker.gapped(founder)

    founder = plain(28)
    found["brief"] = (
        founder,
        [maker.flanked(relative(founder, share), 60) for share in (0, 0.1, 0.15, 0.2, 0.25, 0.3)],
    )

    founder = plain(560)
    found["long"] = founder, maker.fragments(founder)

    unit = plain(44)
    query, *related = maker.repeats(unit, (4, 2, 3, 3, 4, 5, 6))
    found["repeats"] = query, related

    founder = plain(80)
    found["single"] = founder, [founder, founder[10:70]]
    found["orphan"] = plain(90), []

    founder = (
        plain(40) + maker.rich("Q", 0.8, 30) + plain(40) + maker.rich("ST", 0.85, 20) + plain(30)
    )
    found["biased"] = (
        founder,
        [
            *(relative(founder, share) for share in (0.02, 0.03, 0.04, 0.05)),
            *(
                maker.flanked(relative(founder, share, 2), 30)
                for share in (0.2, 0.3, 0.4, 0.5, 0.55)
            ),
        ],
    )

    ancestor = plain(150)
    related = [maker.flanked(relative(ancestor, share, 1), 30) for share in (0.4, 0.45, 0.5) * 4]
    related += [maker.flanked(relative(each, 0.35, 1), 30) for each in related[::2]]
    found["distant"] = relative(ancestor, 0.5), related

    queries = [(name, query) for name, (query, _) in found.items()]
    targets = [
        (f"{name}{number}", target)
        for name, (_, related) in found.items()
        for number, target in enumerate(related)
    ]
    return queries, targets


def alignments() -> dict[str, Rows]:
    """Return multiple alignments of several kinds, the query first."""
    maker = Families(29)
    founder = maker.plain(90)

    def row(sequence: str, *gaps: tuple[int, int]) -> str:
        letters = list(sequence)
        for start, length in gaps:
            letters[start : start + length] = "-" * len(letters[start : start + length])
        return "".join(letters)

    def named(*rows: str) -> Rows:
        return [(f"row{number}", each) for number, each in enumerate(rows)]

    related = [maker.relative(founder, share) for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)]
    gaps = [(0, 5), (30, 9), (50, 10), (70, 4), (84, 6)]
    edges = [row(each, gap) for each, gap in zip(related, gaps, strict=False)]
    query = row(founder, (20, 3), (61, 12))
    return {
        "straight": named(founder, *related),
        "edges": named(founder, *edges, row(related[5], *gaps)),
        "wide": named(query, *related, row(related[0], (10, 12), (40, 25))),
        "odd": named(
            maker.with_x(founder, 40, 5), *(maker.with_odd_letters(each, 0.1) for each in related)
        ),
        "rare": named("OUBZJX".join((founder[:20], founder[26:])), *related[:4]),
        "lower": named(founder[:25].lower() + founder[25:], *edges, related[5]),
        "overlaps": named(
            founder,
            related[3][:32] + founder[32:40] + "-" * 50,
            "-" * 32 + founder[32:40] + related[4][40:70] + "-" * 20,
            "-" * 65 + related[5][65:],
        ),
        "leading": named(
            founder,
            related[2][:50] + "-" * 40,
            "XXXX" + related[2][4:50] + "-" * 40,
            "-" * 40 + "XXXXX" + related[4][45:],
            "-" * 42 + related[4][42:],
        ),
        "alike": named(
            founder,
            row(founder, (80, 10)),
            *(maker.relative(related[1], share) for share in (0.02, 0.04, 0.06, 0.08)),
            *related[1:3],
        ),
    }


def main() -> None:
    """Write the files."""
    for name, records in zip(("queries", "targets"), families(), strict=True):
        write(HERE / f"profile_{name}.fasta", records)
    lines = ["alignment\tsequence\trow"]
    for name, rows in alignments().items():
        lines += ["\t".join((name, *row)) for row in rows]
    (HERE / "profile_alignments.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
