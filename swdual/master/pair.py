"""The alignment of one pair."""

from __future__ import annotations

from typing import Any

from swdual.alignment.alignment import Alignment
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.master.search import Search
from swdual.options import SearchOptions
from swdual.sequences.alphabet import ALPHABETS
from swdual.sequences.records import as_sequences
from swdual.sequences.sequence import batch_of


def align(query: Any, target: Any, *, dbtype: str = "prot", **scheme: Any) -> Alignment:
    """Return the best local alignment of two sequences.

    Parameters
    ----------
    query, target
        Text, a Biopython record, an (id, sequence) pair, or the path of a file with one sequence.
    dbtype
        "prot" or "nucl".
    **scheme
        `matrix`, `gap_open`, `gap_extend`, `reward`, `penalty`, `strand`: see `iter_search`.

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
