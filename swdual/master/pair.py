"""The alignment of one pair."""

from __future__ import annotations

import os
from typing import Any, TypedDict, Unpack

from swdual.alignment.alignment import Alignment
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.master.search import Search
from swdual.options import SearchOptions
from swdual.runtime.keywords import refuse_unknown
from swdual.sequences.alphabet import ALPHABETS
from swdual.sequences.matrices import LetterScores, SubstitutionMatrix
from swdual.sequences.objects import plain_source
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import batch_of


class PairKeywords(TypedDict, total=False):
    """The names and types of the options of `align`, as keyword arguments."""

    task: str | None
    matrix: str | os.PathLike[str] | SubstitutionMatrix | LetterScores | None
    gap_open: int | None
    gap_extend: int | None
    reward: int | None
    penalty: int | None
    strand: str | None


def align(
    query: Any, target: Any, *, dbtype: str = "prot", **scheme: Unpack[PairKeywords]
) -> Alignment:
    """Return the best local alignment of two sequences.

    Parameters
    ----------
    query, target
        Text, a Biopython record, an (id, sequence) pair, or a file with one sequence: its path, or
        the open file.
    dbtype
        "prot" or "nucl".
    **scheme
        `task`, `matrix`, `gap_open`, `gap_extend`, `reward`, `penalty`, `strand`: see
        `iter_search`.

    Raises
    ------
    InputError
        If one of them is not one sequence.

    Examples
    --------
    >>> print(align("MKVLAWGGHE", "PPMKVAWGGHEK"))
    Query  1   MKVLAWGGHE  10
               MKV AWGGHE
    Sbjct  3   MKV-AWGGHE  11
    """
    refuse_unknown("align", scheme, {"dbtype", *PairKeywords.__annotations__})
    query = plain_source(query, none="there is no query (None); give a path, or sequences")
    target = plain_source(target, none="there is no target (None); give a path, or sequences")
    if dbtype not in ALPHABETS:
        raise InputError(f"`dbtype` is {dbtype!r}, but it must be {' or '.join(ALPHABETS)}")
    alphabet = ALPHABETS[dbtype]
    ours = list(as_sequences(query, alphabet, unnamed="query"))
    theirs = list(as_sequences(target, alphabet, unnamed="target"))
    for name, found in (("query", ours), ("target", theirs)):
        if len(found) != 1:
            raise InputError(f"the {name} is {len(found)} sequences, but a pair has one each")
    database = Database.from_batches([batch_of(theirs)], alphabet, theirs[0].id)
    options = SearchOptions(stats="none", min_raw_score=0, threads=1, **scheme)
    return next(Search(ours, database, options).results())[0].alignment
