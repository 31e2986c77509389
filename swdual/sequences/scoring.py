"""The scoring scheme: a substitution matrix and gap penalties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.runtime.keywords import plain_number, require_types
from swdual.sequences.matrices import SubstitutionMatrix

MAX_GAP_COST = 2**28
"""The largest gap penalty; values near it forbid gaps altogether."""


PREFERRED_GAPS = {
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (15, 2),
    "PFASUM31": (12, 2),
    "PFASUM43": (10, 2),
    "VTML200": (10, 2),
}
"""Default gap penalties of each built-in matrix: opening and extension.

Those of NCBI's matrices are BLAST's. For the others, `bench/sensitivity.py` found related domains
best with these.
"""


class BlastTask(NamedTuple):
    """Default scoring parameters of a BLAST task.

    Parameters
    ----------
    dbtype
        The type of sequences that it compares: "prot" or "nucl".
    matrix
        The matrix of proteins.
    reward, penalty
        Scores of equal and of different bases.
    gap_open, gap_extend
        Gap penalties of bases; those of proteins are the matrix's.
    translates_queries, translates_targets
        Whether nucleotides are translated into the proteins that are compared.
    options
        What other options of the search are where they are not given.
    """

    dbtype: str
    matrix: str = "BLOSUM62"
    reward: int = 2
    penalty: int = -3
    gap_open: int = 5
    gap_extend: int = 2
    translates_queries: bool = False
    translates_targets: bool = False
    options: Mapping[str, Any] = MappingProxyType({})


TASKS = {
    "blastp": BlastTask("prot"),
    "blastp-fast": BlastTask("prot"),
    "blastp-short": BlastTask("prot", matrix="PAM30"),
    "sensitive": BlastTask("prot", matrix="PFASUM43"),
    "blastx": BlastTask("prot", translates_queries=True),
    "blastx-fast": BlastTask("prot", translates_queries=True),
    "tblastn": BlastTask("prot", translates_targets=True),
    "tblastn-fast": BlastTask("prot", translates_targets=True),
    "tblastx": BlastTask("prot", translates_queries=True, translates_targets=True),
    "blastn": BlastTask("nucl"),
    "dc-megablast": BlastTask("nucl"),
    "blastn-short": BlastTask("nucl", reward=1),
    "peptide": BlastTask("prot", options={"stats": "none", "max_target_seqs": 0, "max_hsps": 0}),
}
"""BLAST's tasks; those that differ in speed only score alike.

And two more: "sensitive" ranks more distant relatives above unrelated proteins, and "peptide" finds
whole peptides.
"""

NO_TASKS = {
    "megablast": "its gap extension penalty is not a whole number (2.5); use blastn, the default "
    "for nucleotides",
    "rmblastn": "its scores are those of RepeatMasker's own matrices; give yours as `matrix`",
}
"""Tasks of BLAST that swdual does not have, with the reason and a remedy."""


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
        raise InputError(unknown("task", name, TASKS))
    return TASKS[name]


@dataclass(frozen=True)
class ScoringScheme:
    """Substitution matrix and gap penalties.

    A gap of k residues costs ``gap_open + k * gap_extend`` (BLAST's convention). Programs that
    count the first residue in the opening penalty (parasail, Biopython, MMseqs2) write ``gap_open +
    gap_extend`` and ``gap_extend`` for the same scheme: BLAST's 11/1 is their 12/1.

    Parameters
    ----------
    matrix
        Scores of letter pairs.
    gap_open, gap_extend
        Penalties, at least 0.
    frameshift
        Penalty of a change of the frame within an alignment of translated nucleotides; 0 allows
        none.

    Raises
    ------
    InputError
        If a penalty is no whole number, negative or above `MAX_GAP_COST`, or the matrix is none.
    """

    matrix: SubstitutionMatrix
    gap_open: int = 11
    gap_extend: int = 1
    frameshift: int = 0

    def __post_init__(self) -> None:
        require_types((SubstitutionMatrix,), "a SubstitutionMatrix", matrix=self.matrix)
        for name in ("gap_open", "gap_extend", "frameshift"):
            cost = plain_number(name, getattr(self, name), int)
            object.__setattr__(self, name, cost)
            if not 0 <= cost <= MAX_GAP_COST:
                raise InputError(
                    f"`{name}` is {cost}, but gap penalties are positive numbers up to "
                    f"{MAX_GAP_COST:,} that are subtracted: 11 and 1, not -11 and -1"
                )
