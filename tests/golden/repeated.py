"""Proteins of repeated and shuffled domains, for the table of several alignments a target.

``python tests/golden/repeated.py`` writes ``repeated_queries.fasta`` and ``repeated_targets.fasta``
beside this file, the same each time.

It draws nine domains. A query is a row of domains, some of them repeated; a target is another row
of them. Each copy of a domain has its own substitutions, insertions and deletions, and there are
linkers between the copies. Nothing of swdual is imported.
"""

from __future__ import annotations

import random
from pathlib import Path

HERE = Path(__file__).parent

BACKGROUND = {
    **{"A": 8.25, "R": 5.53, "N": 4.06, "D": 5.46, "C": 1.38, "Q": 3.93, "E": 6.72, "G": 7.07},
    **{"H": 2.27, "I": 5.91, "L": 9.65, "K": 5.80, "M": 2.41, "F": 3.86, "P": 4.74, "S": 6.65},
    **{"T": 5.36, "W": 1.10, "Y": 2.92, "V": 6.86},
}
"""Percentages of the residues in Swiss-Prot."""

SEED, DOMAINS, TARGETS = 2026, "ABCDEFGHI", 40
QUERIES = ["ABC", "DDDDD", "AEA", "BFGBF", "HIHIHI", "CCC", "ABCDEFGHI", "EE", "GAGAGA", "IFD"]


def draw(rng: random.Random, length: int) -> str:
    """Return residues of the usual composition."""
    return "".join(rng.choices(list(BACKGROUND), list(BACKGROUND.values()), k=length))


def vary(rng: random.Random, domain: str, distance: float) -> str:
    """Return a domain with substitutions, and a tenth as many insertions and deletions."""
    letters = []
    for letter in domain:
        if rng.random() < distance:
            letter = draw(rng, 1)
        if rng.random() < distance / 20:
            continue
        letters.append(letter)
        if rng.random() < distance / 20:
            letters.append(draw(rng, rng.randint(1, 6)))
    return "".join(letters)


def write(name: str, records: list[tuple[str, str]]) -> None:
    """Write a FASTA file."""
    text = "".join(f">{header}\n{sequence}\n" for header, sequence in records)
    (HERE / name).write_text(text)


def main() -> None:
    """Write both files."""
    rng = random.Random(SEED)
    domains = {name: draw(rng, rng.randint(45, 130)) for name in DOMAINS}

    def chain(names: str, low: float, high: float) -> str:
        parts = [draw(rng, rng.randint(0, 25))]
        for name in names:
            parts.append(vary(rng, domains[name], rng.uniform(low, high)))
            parts.append(draw(rng, rng.randint(0, 25)))
        return "".join(parts)

    write(
        "repeated_queries.fasta",
        [(f"chain{k} {names}", chain(names, 0.1, 0.5)) for k, names in enumerate(QUERIES)],
    )
    rows = ["".join(rng.choices(DOMAINS, k=rng.randint(1, 7))) for _ in range(TARGETS)]
    write(
        "repeated_targets.fasta",
        [(f"row{k} {names}", chain(names, 0.1, 0.6)) for k, names in enumerate(rows)],
    )


if __name__ == "__main__":
    main()
