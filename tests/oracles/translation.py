"""Translated searches by their definition: every frame of every sequence, codon by codon.

The tables of the genetic codes are Biopython's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

FRAMES = (1, 2, 3, -1, -2, -3)

_COMPLEMENTS = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
_MEANINGS = {
    **{"A": "A", "C": "C", "G": "G", "T": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT"},
    **{"K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
}


class Found(NamedTuple):
    """The best pair of frames of a query and a target: 0 of a protein."""

    target: int
    score: int
    query_frame: int
    target_frame: int


def translate(bases: str, frame: int, genetic_code: int) -> str:
    """Return the protein of a frame; X for a codon that may stand for several amino acids."""
    from Bio.Data import CodonTable

    table = CodonTable.unambiguous_dna_by_id[genetic_code].forward_table
    text = bases.translate(_COMPLEMENTS)[::-1] if frame < 0 else bases
    letters = []
    for start in range(abs(frame) - 1, len(text) - 2, 3):
        codons = product(*(_MEANINGS[base] for base in text[start : start + 3]))
        meanings = {table.get("".join(codon), "*") for codon in codons}
        letters.append(meanings.pop() if len(meanings) == 1 else "X")
    return "".join(letters)


def search(
    query: str,
    targets: Sequence[str],
    score: Callable[[str, str], int],
    query_code: int | None,
    target_code: int | None,
    frames: Sequence[int] = FRAMES,
) -> list[Found]:
    """Return the best pair of frames of each target, best first, equal ones in their order.

    Of equal pairs of a target the first frame of the target wins, then the shorter frame of the
    query, then the first.

    Parameters
    ----------
    query, targets
        Letters.
    score
        Of two proteins.
    query_code, target_code
        Genetic codes; None where there are proteins.
    frames
        The frames of the query that are compared.
    """

    def read(letters: str, code: int | None, some: Sequence[int]) -> Iterator[tuple[int, str]]:
        if code is None:
            yield 0, letters
            return
        for frame in some:
            protein = translate(letters, frame, code)
            if protein:
                yield frame, protein

    found = []
    for number, target in enumerate(targets):
        best = None
        for target_frame, theirs in read(target, target_code, FRAMES):
            ours = sorted(read(query, query_code, frames), key=lambda pair: len(pair[1]))
            for query_frame, own in ours:
                value = score(own, theirs)
                if best is None or value > best.score:
                    best = Found(number, value, query_frame, target_frame)
        if best is not None and best.score > 0:
            found.append(best)
    return sorted(found, key=lambda each: (-each.score, each.target))
