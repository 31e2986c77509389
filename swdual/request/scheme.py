"""The scoring scheme that the options of a search ask for."""

from __future__ import annotations

from swdual.database.database import Database
from swdual.errors import InputError
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme, find_task


def choose_scheme(database: Database, options: SearchOptions) -> ScoringScheme:
    """Return the scoring scheme of a search.

    Parameters
    ----------
    database
        What is scored.
    options
        All options of the search. What is not given is the default of the task; the default task is
        that of the database's kind.

    Raises
    ------
    InputError, MatrixError
        If the options contradict each other or the database, or there is no such task or matrix.
    """
    bases = database.alphabet is NUCLEOTIDE
    task, matrix = options.task, options.matrix
    reward, penalty = options.reward, options.penalty
    chosen_task = find_task(task or ("blastn" if bases else "blastp"))
    if chosen_task.dbtype != database.alphabet.name:
        raise InputError(
            f"`task={task!r}` compares {ALPHABETS[chosen_task.dbtype].plural}, but "
            f"{database.name} holds {database.alphabet.plural}"
        )
    if (reward, penalty) != (None, None):
        if not bases:
            raise InputError(
                "`reward` and `penalty` score nucleotides, but proteins are compared; leave them "
                "out"
            )
        if matrix is not None:
            raise InputError(
                "`reward` and `penalty` cannot be combined with `matrix`; leave out one of them"
            )
    if isinstance(matrix, matrices.SubstitutionMatrix):
        if matrix.alphabet is not database.alphabet:
            raise InputError(
                f"matrix {matrix.name} scores {matrix.alphabet.plural}, but {database.name} holds "
                f"{database.alphabet.plural}"
            )
        chosen = matrix
    elif matrix is None and bases:
        chosen = matrices.match_mismatch(
            chosen_task.reward if reward is None else reward,
            chosen_task.penalty if penalty is None else penalty,
        )
    else:
        chosen = matrices.load(chosen_task.matrix if matrix is None else matrix, database.alphabet)
    # A matrix without preferred gap penalties has those of BLOSUM62.
    default_open, default_extend = (
        (chosen_task.gap_open, chosen_task.gap_extend)
        if bases
        else PREFERRED_GAPS.get(chosen.name, (11, 1))
    )
    return ScoringScheme(
        chosen,
        default_open if options.gap_open is None else options.gap_open,
        default_extend if options.gap_extend is None else options.gap_extend,
    )
