"""The alignment of one pair."""

from __future__ import annotations

import os
from typing import Any, TypedDict, Unpack

from swdual.alignment.alignment import Alignment
from swdual.database.database import Database
from swdual.database.source import log_type
from swdual.errors import InputError
from swdual.master.search import Search
from swdual.request.options import SearchOptions
from swdual.request.sequence_types import look_at, make_database_rule, make_query_rule
from swdual.runtime.keywords import refuse_unknown
from swdual.sequences.alphabet import Alphabet
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
    query: Any, target: Any, *, dbtype: str = "auto", **scheme: Unpack[PairKeywords]
) -> Alignment:
    """Return the best local alignment of two sequences.

    Parameters
    ----------
    query, target
        Text, a Biopython record, an (id, sequence) pair, or a file with one sequence: its path, or
        the open file.
    dbtype
        "prot", "nucl", or "auto": then other options and the letters of both decide, as for a
        file.
    **scheme
        `task`, `matrix`, `gap_open`, `gap_extend`, `reward`, `penalty`, `strand`: see
        `iter_search`.

    Raises
    ------
    InputError
        If one of them is not one sequence, or one looks like nucleotides and the other does not.

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
    options = SearchOptions(stats="none", min_raw_score=0, threads=1, dbtype=dbtype, **scheme)
    alphabet = _find_alphabet(query, target, options)
    ours = list(as_sequences(query, alphabet, unnamed="query"))
    theirs = list(as_sequences(target, alphabet, unnamed="target"))
    for name, found in (("query", ours), ("target", theirs)):
        if len(found) != 1:
            raise InputError(f"the {name} is {len(found)} sequences, but a pair has one each")
    database = Database.from_batches([batch_of(theirs)], alphabet, theirs[0].id)
    return next(Search(ours, database, options).results())[0].alignment


def _find_alphabet(query: Any, target: Any, options: SearchOptions) -> Alphabet:
    """Return the type of two sequences.

    Raises
    ------
    InputError
        If they are of different types.
    """
    theirs = look_at(target, make_database_rule(options, query))
    log_type("the target", theirs)
    ours = look_at(query, make_query_rule(options, theirs.alphabet))
    if options.dbtype == "auto" and ours.alphabet is not theirs.alphabet:
        raise InputError(
            f"the query looks like {ours.alphabet.plural}, the target like "
            f"{theirs.alphabet.plural}; use `dbtype='prot'` to align them as they are, or "
            "`search`, which translates nucleotides"
        )
    return theirs.alphabet
