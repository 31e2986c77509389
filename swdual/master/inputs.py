"""What a search is given, made into queries, a database and a scoring scheme."""

from __future__ import annotations

import os
from typing import Any

from swdual.database.database import Database
from swdual.database.source import is_database
from swdual.errors import InputError
from swdual.master.memory import holdable
from swdual.memory import allowance
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import looks_like_nucleotides
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme, task_of
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.validation import OnInvalid

STRANDS = ("plus", "minus", "both")


def open_database(
    source: Any,
    on_invalid: OnInvalid = "error",
    dbtype: str = "auto",
    memory_limit: int | None = None,
) -> Database:
    """Return the database that is meant: one that is open, a file, or sequences to index."""
    if isinstance(source, (str, os.PathLike)) and is_database(source):
        source = Database.open(source)
    if isinstance(source, Database):
        if dbtype not in ("auto", source.alphabet.name):
            raise InputError(f"{source.name} is of type {source.alphabet.name}, not {dbtype}")
        return source
    if isinstance(source, (str, os.PathLike)):
        return Database.from_fasta(
            source, dbtype=dbtype, on_invalid=on_invalid, memory_limit=memory_limit
        )
    if dbtype not in ("auto", *ALPHABETS):
        raise InputError(f"dbtype {dbtype!r} is none of auto, {', '.join(ALPHABETS)}")
    alphabet = ALPHABETS.get(dbtype, PROTEIN)
    targets = as_sequences(source, alphabet, on_invalid=on_invalid, unnamed="target")
    batch = batch_of(targets)
    if len(batch.lengths) == 0:
        raise InputError("the database has no sequences")
    return Database.from_batches([batch], alphabet, "sequences in memory")


def chosen_strand(database: Database, strand: str | None) -> str:
    """Return the strand to compare: what was asked for, or both of nucleotides."""
    bases = database.alphabet is NUCLEOTIDE
    if strand is None:
        return "both" if bases else "plus"
    if strand not in STRANDS:
        raise InputError(f"strand is {strand!r}, none of {', '.join(STRANDS)}")
    if not bases:
        raise InputError(f"only nucleotides have strands, but {database.name} holds proteins")
    return strand


def read_queries(
    source: Any,
    database: Database,
    dbtype: str,
    on_invalid: OnInvalid,
    memory_limit: int | None = None,
) -> list[Sequence]:
    """Return the queries, of the database's type."""
    found = as_sequences(source, database.alphabet, on_invalid=on_invalid, unnamed="query")
    queries = list(holdable(found, database.held_bytes, allowance(memory_limit)))
    if dbtype != "prot":
        _refuse_other_type(queries, database, source)
    return queries


def _refuse_other_type(queries: list[Sequence], database: Database, source: Any) -> None:
    if database.alphabet is PROTEIN and queries and looks_like_nucleotides(batch_of(queries)):
        raise InputError(
            f"the queries look like nucleotides, but {database.name} holds proteins; "
            "search a database of nucleotides (--dbtype nucl), or say --dbtype prot",
            file=source if isinstance(source, os.PathLike) else None,
        )


def scoring_scheme(
    database: Database,
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | None,
    gap_open: int | None,
    gap_extend: int | None,
    reward: int | None,
    penalty: int | None,
    task: str | None = None,
) -> ScoringScheme:
    """Return the scoring scheme: what was asked for, or the defaults for the kind of database."""
    bases = database.alphabet is NUCLEOTIDE
    chosen_task = task_of(task or ("blastn" if bases else "blastp"))
    if chosen_task.dbtype != database.alphabet.name:
        kind = "nucleotides" if chosen_task.dbtype == NUCLEOTIDE.name else "proteins"
        raise InputError(
            f"`task={task!r}` compares {kind}, but {database.name} holds "
            f"{'nucleotides' if bases else 'proteins'}"
        )
    if (reward, penalty) != (None, None) and (matrix is not None or not bases):
        raise InputError("reward and penalty score nucleotides, and stand instead of a matrix")
    if isinstance(matrix, matrices.SubstitutionMatrix):
        if matrix.alphabet is not database.alphabet:
            raise InputError(
                f"matrix {matrix.name} scores {matrix.alphabet.name}, but {database.name} holds "
                f"{database.alphabet.name}"
            )
        chosen = matrix
    elif matrix is None and bases:
        chosen = matrices.match_mismatch(
            chosen_task.reward if reward is None else reward,
            chosen_task.penalty if penalty is None else penalty,
        )
    else:
        chosen = matrices.load(chosen_task.matrix if matrix is None else matrix, database.alphabet)
    default_open, default_extend = (
        (chosen_task.gap_open, chosen_task.gap_extend)
        if bases
        else PREFERRED_GAPS.get(chosen.name, (11, 1))
    )
    return ScoringScheme(
        chosen,
        default_open if gap_open is None else gap_open,
        default_extend if gap_extend is None else gap_extend,
    )
