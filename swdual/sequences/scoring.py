"""The scoring scheme: a substitution matrix and the price of a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from swdual.errors import InputError
from swdual.sequences.matrices import SubstitutionMatrix

MAX_GAP_COST = 2**28
"""The largest gap price; anything near it forbids gaps altogether."""


PREFERRED_GAPS = {
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (14, 2),
}
"""The gap prices that BLAST takes for each of NCBI's matrices: opening and extension."""


class BlastTask(NamedTuple):
    """The scoring scheme of a BLAST task, for what is not given otherwise.

    Parameters
    ----------
    dbtype
        The type of sequences it compares: "prot" or "nucl".
    matrix
        The matrix of proteins.
    reward, penalty
        Scores of equal and of different bases.
    gap_open, gap_extend
        Gap penalties of bases; those of proteins are the matrix's.
    """

    dbtype: str
    matrix: str = "BLOSUM62"
    reward: int = 2
    penalty: int = -3
    gap_open: int = 5
    gap_extend: int = 2


TASKS = {
    "blastp": BlastTask("prot"),
    "blastp-fast": BlastTask("prot"),
    "blastp-short": BlastTask("prot", matrix="PAM30"),
    "blastn": BlastTask("nucl"),
    "dc-megablast": BlastTask("nucl"),
    "blastn-short": BlastTask("nucl", reward=1),
}
"""BLAST's tasks; those that differ in speed only score alike."""

NO_TASKS = {
    "megablast": "its gap extension penalty is no whole number (2.5); use blastn, swdual's default "
    "for nucleotides",
    "rmblastn": "its scores are those of RepeatMasker's own matrices; give yours as `matrix`",
}
"""Tasks of BLAST that swdual does not have: why, and what to do instead."""


def find_task(name: str) -> BlastTask:
    """Return a task by its name.

    Raises
    ------
    InputError
        If there is no such task.
    """
    if name in NO_TASKS:
        raise InputError(f"task {name!r} is not supported: {NO_TASKS[name]}")
    if name not in TASKS:
        raise InputError(f"`task` is {name!r}, but it must be one of {', '.join(TASKS)}")
    return TASKS[name]


@dataclass(frozen=True)
class ScoringScheme:
    """What an alignment scores.

    A gap of k residues costs ``gap_open + k * gap_extend`` (BLAST's convention). Programs that
    count the first residue in the opening price (parasail, Biopython, MMseqs2) write
    ``gap_open + gap_extend`` and ``gap_extend`` for the same scheme: BLAST's 11/1 is their 12/1.

    Parameters
    ----------
    matrix
        Scores of letter pairs.
    gap_open, gap_extend
        Prices, at least 0.

    Raises
    ------
    InputError
        If a price is negative or absurdly large.
    """

    matrix: SubstitutionMatrix
    gap_open: int = 11
    gap_extend: int = 1

    def __post_init__(self) -> None:
        for name in ("gap_open", "gap_extend"):
            price = getattr(self, name)
            if not 0 <= price <= MAX_GAP_COST:
                raise InputError(
                    f"`{name}` is {price}, but gap penalties are positive numbers up to "
                    f"{MAX_GAP_COST:,} that are subtracted: 11 and 1, not -11 and -1"
                )
