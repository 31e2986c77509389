"""Rows of a multiple alignment, by the columns of its query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError, StatisticsUnavailable
from swdual.profiles.letters import EMPTY, GAP
from swdual.sequences.alphabet import INVALID, PROTEIN, raise_case
from swdual.text.messages import quote

PAIR, QUERY_ONLY, TARGET_ONLY = 0, 1, 2
"""Operations of alignments, as SAM numbers them: M, I and D."""

MIN_LOG_EVALUE = math.log(1e-180)
"""PSI-BLAST takes smaller E-values for equal."""

_READ = bytearray(PROTEIN.encoding)
for _letter, _code in (("-", GAP), (".", GAP), (" ", EMPTY)):
    _READ[ord(_letter)] = _code
_O_AS_X = bytes.maketrans(PROTEIN.encode("O"), PROTEIN.encode("X"))
_SHOWN = bytearray(PROTEIN.decoding)
_SHOWN[GAP], _SHOWN[EMPTY] = ord("-"), ord("-")


class AlignmentRuns(Protocol):
    """Alignments of a query with some targets; `swdual.alignment.tracebacks.Tracebacks` is one."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Numbers of each alignment, by column."""
        ...

    @property
    def run_starts(self) -> NDArray[np.int64]:
        """Where the runs of each alignment begin."""
        ...

    @property
    def runs(self) -> NDArray[np.uint32]:
        """Length and operation of each run."""
        ...


class QueryHits(Protocol):
    """The hits of a query; `swdual.QueryResult` is one."""

    @property
    def query(self) -> Any:
        """The query."""
        ...

    @property
    def params(self) -> Any:
        """The options of the search."""
        ...

    @property
    def scores(self) -> NDArray[np.int64]:
        """Raw scores."""
        ...

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """Numbers of the targets in the database."""
        ...

    @property
    def log_evalues(self) -> NDArray[np.float64]:
        """Natural logarithms of the E-values."""
        ...

    @property
    def target_codes(self) -> list[bytes]:
        """Residue codes of the targets."""
        ...

    @property
    def tracebacks(self) -> AlignmentRuns:
        """The alignments."""
        ...


def read_query(text: str) -> bytes:
    """Return the codes of a query.

    Raises
    ------
    InputError
        If it has something that is no residue of a protein.
    """
    codes = PROTEIN.encode(text)
    if bytes([INVALID]) in codes:
        letter = quote(text[codes.index(INVALID)])
        raise InputError(f"the query has {letter}, which is no residue of a protein")
    return codes


def replace_o(codes: bytes) -> bytes:
    """Return the codes of a query with X for O, as PSI-BLAST has it in searches."""
    return codes.translate(_O_AS_X)


def read_row(text: str) -> bytes:
    """Return the codes of a row; `INVALID` for what is no letter and no gap.

    Parameters
    ----------
    text
        Residues in any case; ``-`` or ``.`` is a gap, a space is not aligned.
    """
    return text.encode("latin-1", "replace").translate(bytes(_READ))


def read_rows(rows: Iterable[str], length: int) -> NDArray[np.uint8]:
    """Return (n, length) codes of rows that are given as text.

    Raises
    ------
    InputError
        If a row has another length, or a character that is not a residue.
    """
    found = []
    for number, text in enumerate(rows, start=1):
        codes = read_row(text)
        if len(codes) != length:
            raise InputError(
                f"row {number} of the alignment has {len(codes)} columns, the query {length}"
            )
        if bytes([INVALID]) in codes:
            letter = quote(text[codes.index(INVALID)])
            raise InputError(f"row {number} of the alignment has {letter}, which is no residue")
        found.append(codes)
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, length)


def show_rows(rows: NDArray[np.uint8]) -> Iterator[str]:
    """Yield rows as text, with ``-`` for gaps and for columns that are not aligned."""
    for row in rows:
        yield row.tobytes().translate(bytes(_SHOWN)).decode()


def place_alignments(
    length: int, traced: AlignmentRuns, targets: Sequence[bytes], chosen: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Return the rows of some alignments of a query.

    Parameters
    ----------
    length
        Residues of the query.
    traced
        The alignments.
    targets
        Residue codes of the target of each, of which letters in lower case count as others.
    chosen
        (n,) the alignments that become rows, in this order.

    Returns
    -------
    (n, length) residue codes, `GAP` or `EMPTY`. Residues at a gap of the query are left out.
    """
    counts = np.diff(traced.run_starts)[chosen]
    # Runs of the chosen alignments, one after the other.
    alignments = np.repeat(np.arange(len(chosen)), counts)
    within = np.arange(len(alignments)) - np.repeat(np.cumsum(counts) - counts, counts)
    runs = traced.runs[traced.run_starts[:-1][chosen][alignments] + within].astype(np.int64)
    operations, sizes = runs & 15, runs >> 4
    residues = raise_case(b"".join(targets[k] for k in chosen.tolist()))
    lengths = np.array([len(targets[k]) for k in chosen.tolist()], np.int64)
    query_starts = traced.numbers[0, chosen]
    target_starts = traced.numbers[2, chosen] + np.cumsum(lengths) - lengths
    query_at = query_starts[alignments] + _places(sizes * (operations != TARGET_ONLY), counts)
    target_at = target_starts[alignments] + _places(sizes * (operations != QUERY_ONLY), counts)
    shown = operations != TARGET_ONLY
    sizes = sizes[shown]
    steps = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pairs = np.repeat(operations[shown] == PAIR, sizes)
    letters = np.full(len(steps), GAP, np.uint8)
    places = np.repeat(target_at[shown], sizes) + steps
    letters[pairs] = np.frombuffer(residues, np.uint8)[places[pairs]]
    rows = np.full((len(chosen), length), EMPTY, np.uint8)
    rows[
        np.repeat(alignments[shown], sizes),
        np.repeat(query_at[shown], sizes) + steps,
    ] = letters
    return rows


def seed_rows(codes: bytes, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows with the query's residues at gaps and where they are not aligned.

    So psisearch2 --query_seed does (Pearson, Li and Lopez 2017, Nucleic Acids Research 45, e46):
    residues of the query hold alignments of the next round back from regions that are not
    homologous.

    Parameters
    ----------
    codes
        (L,) residue codes of the query.
    rows
        (n, L) residue codes, `GAP` or `EMPTY`.
    """
    query = np.frombuffer(codes, np.uint8)
    return np.where((rows == GAP) | (rows == EMPTY), query, rows)


def place_hits(result: QueryHits, inclusion: float) -> NDArray[np.uint8]:
    """Return the rows of the hits of a query whose E-values are small enough.

    Parameters
    ----------
    result
        The hits.
    inclusion
        E-values below this are small enough.

    Returns
    -------
    (n, residues) codes, `GAP` or `EMPTY`, in the order of PSI-BLAST's hits: the
    smallest E-value first, of equal ones the highest score, then the last target of the database.
    E-values below 1e-180 count as equal.
    """
    if result.params.comparison.translates:
        raise InputError("a profile needs hits of proteins, not of translated nucleotides")
    if result.params.scheme.matrix.alphabet is not PROTEIN:
        raise InputError("a profile needs hits of proteins, not of nucleotides")
    log_evalues = np.asarray(result.log_evalues)
    if np.isnan(log_evalues).any():
        raise StatisticsUnavailable(
            "a profile needs E-values of the hits; search without `stats='none'`"
        )
    included = np.flatnonzero(log_evalues < math.log(inclusion))
    keys = -result.ordinals, -result.scores, np.maximum(log_evalues, MIN_LOG_EVALUE)
    order = included[np.lexsort([key[included] for key in keys])]
    codes = result.query.unmasked
    return place_alignments(len(codes), result.tracebacks, result.target_codes, order)


def _places(sizes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each run begins in its alignment.

    Parameters
    ----------
    sizes, counts
        Residues of the runs, and the runs of each alignment.
    """
    ends = np.cumsum(sizes)
    before = np.concatenate([[0], ends])[np.cumsum(counts) - counts]
    places: NDArray[np.int64] = ends - sizes - np.repeat(before, counts)
    return places
