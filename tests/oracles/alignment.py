"""One optimum Smith-Waterman alignment, chosen by a fixed rule, and prices of given alignments.

A gap of ``k`` residues costs ``gap_open + k * gap_extend``; a gap in one sequence may directly
follow a gap in the other, and each is charged on its own.  With ``H[i][j]`` the best score, at
least 0, of an alignment that ends at query residue ``i`` and target residue ``j``, both counted
from 1, and ``E[i][j]`` and ``F[i][j]`` the best scores of those that end with target residue ``j``
or query residue ``i`` unpaired,

- ``E[i][j] = max(H[i][j-1] - gap_open - gap_extend, E[i][j-1] - gap_extend)``,
- ``F[i][j] = max(H[i-1][j] - gap_open - gap_extend, F[i-1][j] - gap_extend)``,
- ``H[i][j] = max(0, H[i-1][j-1] + score, E[i][j], F[i][j])``.

Of the optimum alignments `best_alignment` gives the one that ends at the smallest target
position, then at the smallest query position, and is found backwards from there:

- where ``H`` is 0 it begins, so it is as short as it can be;
- else it takes a pair if that gives ``H``, else a gap in the query (``E``), else one in the target;
- in a gap it goes back to ``H`` as soon as that gives the gap's score, so the gap is as short as
  it can be.

Operations have SAM's letters with the query as the read: ``M`` (or ``=`` and ``X``) for a pair,
``I`` for query residues against a gap in the target, ``D`` for target residues against a gap in
the query.  Everything is Python integers and full matrices: hundreds of residues, exact.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

Score = Callable[[str, str], int]
Operations = Iterable[tuple[str, int]]


@dataclass(frozen=True)
class Alignment:
    """One local alignment.

    Attributes
    ----------
    score : int
        What it scores.
    query_start, query_end, target_start, target_end : int
        The aligned parts, counted from 0, ends exclusive.
    operations : list of (str, int)
        Letters and how often, from start to end; neighbours differ in letter.
    """

    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    operations: list[tuple[str, int]]

    @property
    def cigar(self) -> str:
        """The operations as SAM writes them."""
        return "".join(f"{count}{letter}" for letter, count in self.operations)


@dataclass(frozen=True)
class Statistics:
    """Counts of the columns of one alignment.

    Attributes
    ----------
    identities, positives, mismatches : int
        Pairs of equal letters; these, and pairs without J that score above 0; pairs of unequal
        letters.
    gap_openings, gap_residues : int
        Gaps, and residues in them.
    length : int
        All columns.
    """

    identities: int
    positives: int
    mismatches: int
    gap_openings: int
    gap_residues: int
    length: int


def best_alignment(
    query: str, target: str, score: Score, gap_open: int, gap_extend: int
) -> Alignment | None:
    """Return the optimum alignment that the module's rule chooses, None if nothing scores above 0.

    Parameters
    ----------
    query, target : str
        The sequences, one character a residue; either may be empty.
    score : callable
        ``score(a, b)`` is the score of query residue ``a`` paired with target residue ``b``.
    gap_open, gap_extend : int
        The price of having a gap, and of each residue in it; neither is negative.

    Returns
    -------
    Alignment or None
        Its first and last columns are pairs.
    """
    rows, columns = len(query), len(target)
    first = gap_open + gap_extend
    h: list[list[int]] = [[0] * (columns + 1) for _ in range(rows + 1)]
    e: list[list[int | None]] = [[None] * (columns + 1) for _ in range(rows + 1)]  # None: no gap
    f: list[list[int | None]] = [[None] * (columns + 1) for _ in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            pair = h[i - 1][j - 1] + score(query[i - 1], target[j - 1])
            in_query = _in_gap(h[i][j - 1] - first, e[i][j - 1], gap_extend)
            in_target = _in_gap(h[i - 1][j] - first, f[i - 1][j], gap_extend)
            e[i][j], f[i][j] = in_query, in_target
            h[i][j] = max(0, pair, in_query, in_target)

    best = max(max(row) for row in h)
    if best == 0:
        return None
    cells = [(j, i) for i in range(rows + 1) for j in range(columns + 1) if h[i][j] == best]
    target_end, query_end = min(cells)

    backwards = ""
    i, j, state = query_end, target_end, "H"
    while state != "H" or h[i][j] > 0:
        if state == "H":
            if h[i - 1][j - 1] + score(query[i - 1], target[j - 1]) == h[i][j]:
                backwards += "M"
                i, j = i - 1, j - 1
            elif e[i][j] == h[i][j]:
                state = "E"
            else:
                assert f[i][j] == h[i][j]
                state = "F"
        elif state == "E":
            state = "H" if h[i][j - 1] - first == e[i][j] else "E"
            backwards += "D"
            j -= 1
        else:
            state = "H" if h[i - 1][j] - first == f[i][j] else "F"
            backwards += "I"
            i -= 1
    return Alignment(best, i, query_end, j, target_end, runs(backwards[::-1]))


def _in_gap(opened: int, earlier: int | None, gap_extend: int) -> int:
    """Return the greater of a newly opened gap's score and an earlier gap's, extended by one."""
    return opened if earlier is None else max(opened, earlier - gap_extend)


def runs(letters: str) -> list[tuple[str, int]]:
    """Return the runs of equal letters with their lengths."""
    return [(run[0], len(run)) for run in (m[0] for m in re.finditer(r"(.)\1*", letters))]


def spans(operations: Operations) -> tuple[int, int]:
    """Return how many query and how many target residues the operations take."""
    query = target = 0
    for letter, count in operations:
        query += count * (letter in "M=XI")
        target += count * (letter in "M=XD")
    return query, target


def parse_cigar(text: str) -> list[tuple[str, int]]:
    """Return the operations of a CIGAR of ``M``, ``=``, ``X``, ``I`` and ``D``.

    Raises
    ------
    ValueError
        If the text is anything else, a count is 0 or two neighbours have the same letter.
    """
    if not re.fullmatch(r"([1-9][0-9]*[M=XID])+", text):
        raise ValueError(f"not a CIGAR: {text!r}")
    operations = [(m[2], int(m[1])) for m in re.finditer(r"(\d+)(.)", text)]
    if any(a[0] == b[0] for a, b in pairwise(operations)):
        raise ValueError(f"neighbours have the same letter: {text!r}")
    return operations


def gapped(
    query: str, target: str, operations: Operations, query_start: int, target_start: int
) -> tuple[str, str]:
    """Return both aligned parts with ``-`` in their gaps.

    Raises
    ------
    ValueError
        If the operations leave the sequences, or ``=`` or ``X`` says what the letters do not.
    """
    i, j = query_start, target_start
    if min(i, j) < 0:
        raise ValueError("an alignment starts within both sequences")
    upper = lower = ""
    for letter, count in operations:
        if letter not in "M=XID" or count < 1:
            raise ValueError(f"unknown operation {letter!r} {count}")
        row = query[i : i + count] if letter != "D" else "-" * count
        column = target[j : j + count] if letter != "I" else "-" * count
        if len(row) != count or len(column) != count:
            raise ValueError(f"{count}{letter} at {i}, {j} leaves the sequences")
        if letter in "=X" and _untrue(letter, row, column):
            raise ValueError(f"{count}{letter} at {i}, {j} is not so: {row} on {column}")
        i += count * (letter != "D")
        j += count * (letter != "I")
        upper, lower = upper + row, lower + column
    return upper, lower


def _untrue(letter: str, row: str, column: str) -> bool:
    """Return whether a pair is not as ``=`` or ``X`` says."""
    return any((a == b) != (letter == "=") for a, b in zip(row, column, strict=True))


def score_of(
    gapped_query: str, gapped_target: str, score: Score, gap_open: int, gap_extend: int
) -> int:
    """Return what an alignment scores that is written with ``-`` in its gaps."""
    total = 0
    for letter, count in runs(column_letters(gapped_query, gapped_target)):
        if letter != "M":
            total -= gap_open + count * gap_extend
    pairs = zip(gapped_query, gapped_target, strict=True)
    return total + sum(score(a, b) for a, b in pairs if "-" not in (a, b))


def column_letters(gapped_query: str, gapped_target: str) -> str:
    """Return ``M``, ``I`` or ``D`` for every column.

    Raises
    ------
    ValueError
        If the lengths differ or a column has two gaps.
    """
    letters = ""
    for a, b in zip(gapped_query, gapped_target, strict=True):
        if a == b == "-":
            raise ValueError("a column has a gap in both sequences")
        letters += "D" if a == "-" else "I" if b == "-" else "M"
    return letters


def rescore(
    query: str,
    target: str,
    operations: Operations,
    query_start: int,
    target_start: int,
    score: Score,
    gap_open: int,
    gap_extend: int,
) -> int:
    """Return what the alignment of these operations scores from these starts, counted from 0."""
    rows = gapped(query, target, operations, query_start, target_start)
    return score_of(*rows, score, gap_open, gap_extend)


def rescore_cigar(
    cigar: str,
    query: str,
    target: str,
    query_start: int,
    target_start: int,
    score: Score,
    gap_open: int,
    gap_extend: int,
) -> int:
    """Return what the alignment of this CIGAR scores from these starts, counted from 0."""
    operations = parse_cigar(cigar)
    return rescore(
        query, target, operations, query_start, target_start, score, gap_open, gap_extend
    )


def rescore_btop(
    btop: str,
    query: str,
    query_start: int,
    score: Score,
    gap_open: int,
    gap_extend: int,
    *,
    target: str | None = None,
    target_start: int = 0,
) -> tuple[int, str, str]:
    """Return what the alignment of BLAST's BTOP scores, and both its gapped rows.

    A number is a run of identities.  Two letters are a column, the query's first; ``-`` stands
    for a gap, so ``A-`` is a query residue against a gap in the target.  The target's letters
    follow from the query and the BTOP.

    Parameters
    ----------
    btop : str
        The operations.
    query : str
        The whole query.
    query_start : int
        Where its aligned part starts, counted from 0.
    score, gap_open, gap_extend
        The scoring, as in `best_alignment`.
    target : str, optional
        The whole target, for a check that it has the letters which the BTOP says; for a hit on
        the minus strand its reverse complement.
    target_start : int
        Where its aligned part starts, counted from 0.

    Returns
    -------
    tuple of int, str, str
        The score, the query's row and the target's.

    Raises
    ------
    ValueError
        If the text is no BTOP, or its letters are not those of the sequences.
    """
    if min(query_start, target_start) < 0:
        raise ValueError("an alignment starts within both sequences")
    if not re.fullmatch(r"([1-9][0-9]*|[A-Za-z*-]{2})+", btop):
        raise ValueError(f"not a BTOP: {btop!r}")
    upper = lower = ""
    i = query_start
    for token in re.findall(r"\d+|\D{2}", btop):
        if token.isdigit():
            run = query[i : i + int(token)]
            if len(run) != int(token):
                raise ValueError(f"{token} identities at {i} leave the query")
            upper, lower, i = upper + run, lower + run, i + len(run)
            continue
        if token[0] != "-":
            if query[i : i + 1] != token[0]:
                raise ValueError(f"the query has {query[i : i + 1]!r} at {i}, not {token[0]!r}")
            i += 1
        upper, lower = upper + token[0], lower + token[1]
    residues = lower.replace("-", "")
    if target is not None and target[target_start : target_start + len(residues)] != residues:
        raise ValueError(f"the target has other letters at {target_start}")
    return score_of(upper, lower, score, gap_open, gap_extend), upper, lower


def statistics_of(gapped_query: str, gapped_target: str, score: Score) -> Statistics:
    """Return the counts of an alignment that is written with ``-`` in its gaps."""
    letters = column_letters(gapped_query, gapped_target)
    pairs = [(a, b) for a, b in zip(gapped_query, gapped_target, strict=True) if "-" not in (a, b)]
    identities = sum(a == b for a, b in pairs)
    return Statistics(
        identities=identities,
        positives=sum(a == b or (score(a, b) > 0 and "J" not in (a, b)) for a, b in pairs),
        mismatches=len(pairs) - identities,
        gap_openings=sum(letter != "M" for letter, _ in runs(letters)),
        gap_residues=len(letters) - len(pairs),
        length=len(letters),
    )
