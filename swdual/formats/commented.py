"""BLAST's format 7: its tables, with comments that name query, database and fields."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

from swdual.errors import InputError
from swdual.format import Table, print_column
from swdual.formats._text import (
    MAX_ROW_LENGTH,
    SourceColumn,
    check_named,
    find_columns,
    keep_known,
    read_chunks,
)
from swdual.hits.fields import BLAST_STANDARD, STANDARD, columns
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8
from swdual.text.messages import LATIN_1, pluralize, sanitize
from swdual.version import __version__

FIELDS = STD = BLAST_STANDARD

NAMES = {
    "qseqid": "query id",
    "sseqid": "subject id",
    "qaccver": "query acc.ver",
    "saccver": "subject acc.ver",
    "qacc": "query acc.",
    "sacc": "subject acc.",
    "sallseqid": "subject ids",
    "salltitles": "subject titles",
    "frames": "query/sbjct frames",
    "sallacc": "subject accs.",
    "qgi": "query gi",
    "sgi": "subject gi",
    "sallgi": "subject gis",
    "score": "score",
    "bitscore": "bit score",
    "relscore": "relative score",
    "evalue": "evalue",
    "log10_evalue": "log10 evalue",
    "pident": "% identity",
    "nident": "identical",
    "length": "alignment length",
    "mismatch": "mismatches",
    "positive": "positives",
    "ppos": "% positives",
    "gapopen": "gap opens",
    "gaps": "gaps",
    "qstart": "q. start",
    "qend": "q. end",
    "sstart": "s. start",
    "send": "s. end",
    "qlen": "query length",
    "slen": "subject length",
    "qcovhsp": "% query coverage per hsp",
    "qcovs": "% query coverage per subject",
    "qcovus": "% query coverage per uniq subject",
    "scovhsp": "% subject coverage per hsp",
    "btop": "BTOP",
    "cigar": "CIGAR",
    "qseq": "query seq",
    "sseq": "subject seq",
    "qseq_gapped": "gapped query seq",
    "sseq_gapped": "gapped subject seq",
    "n_flank": "subject seq before",
    "c_flank": "subject seq behind",
    "full_qseq": "full query seq",
    "full_sseq": "full subject seq",
    "qframe": "query frame",
    "sframe": "sbjct frame",
    "sstrand": "subject strand",
    "qtitle": "query title",
    "stitle": "subject title",
    "qnum": "query number",
    "snum": "subject number",
    "rank": "rank",
    "adjustment": "adjustment",
    "lambda_ratio": "lambda ratio",
    "round": "round",
    "first_round": "first round",
    "first_evalue": "first evalue",
    "first_qstart": "first q. start",
    "first_qend": "first q. end",
    "first_sstart": "first s. start",
    "first_send": "first s. end",
    "device": "device",
    "staxid": "subject tax id",
    "staxids": "subject tax ids",
    "ssciname": "subject sci name",
    "sscinames": "subject sci names",
    "scomname": "subject com name",
    "scomnames": "subject com names",
    "sskingdom": "subject super kingdom",
    "sskingdoms": "subject super kingdoms",
    "slineage": "subject lineage",
}
"""What '# Fields:' calls each field: BLAST's words, and the like for the fields it lacks."""

_OLDER_NAMES = {
    **{"qcovs": "% subject coverage", "qcovhsp": "% hsp coverage"},
    # Of blastall -m 9.
    **{"gapopen": "gap openings", "evalue": "e-value"},
}
_FIELDS_BY_NAME = {
    word.lower(): name for names in (NAMES, _OLDER_NAMES) for name, word in names.items()
}
_LENGTHS = (1, 3)
"""Where comments of the FASTA programs name lengths, which rows have only with -m 8CBL."""

HEAD_LINES = 10
"""Lines at the top of a file whose comments are kept: they name the program and the database."""

START = re.compile(rb"(?:\xef\xbb\xbf)?(?:#[^\n]*\n){1,4}?# Query: ")
"""How a file begins that BLAST, blastall (-m 9) or a FASTA program (-m 8C) wrote."""

_QUERY = "# Query: "
_HITS_FOUND = re.compile(r"# ([0-9]+) hits found")


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. Comments always name the fields."""
    text = Utf8(stream)
    queries = 0
    for result in results:
        text.write(_comments(result, fields))
        for piece in result.pieces():
            rows = columns(piece.per_alignment(), fields)
            texts = [
                print_column(field, column) for field, column in zip(fields, rows, strict=True)
            ]
            text.write("".join("\t".join(row) + "\n" for row in zip(*texts, strict=True)))
        queries += 1
    text.write(f"# BLAST processed {queries} queries\n")


def _comments(result: QueryResult, fields: Sequence[str]) -> str:
    # Bio.Align takes a first line without the name of a BLAST program for one of FASTA's, and
    # Bio.SearchIO's index ends a file at "# BLAST processed". So the program is named by what
    # it compares; the version, which readers hand on as it is, says which program it was.
    program = result.params.program.upper()
    # BLAST names no fields where there are no rows, and Bio.SearchIO relies on that.
    names = f"# Fields: {', '.join(NAMES[field] for field in fields)}\n" if len(result) else ""
    composition = result.params.composition
    method = f"# Composition-based statistics: {composition}\n" if composition else ""
    translated = result.params.translation
    method += f"# Translation: {translated}\n" if translated else ""
    chosen = result.params.chosen_targets
    method += f"# Targets: {chosen}\n" if chosen else ""
    iteration = f"# Iteration: {result.round}\n" if result.round else ""
    return (
        f"# {program} swdual-{__version__}\n"
        f"{iteration}"
        f"# Query: {sanitize(result.query.title)}\n"
        f"# Database: {sanitize(result.targets.name)}\n"
        f"{method}{names}# {len(result) + len(result.further.scores)} hits found\n"
    )


class _Row(NamedTuple):
    """A row of a file, with its line number and the columns named above it."""

    line: int
    columns: tuple[SourceColumn, ...]
    values: list[str]


def read_table(stream: IO[bytes], name: str, fields: tuple[str, ...] = ()) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    Comments name the columns; without them they are `fields`, or BLAST's twelve.

    Raises
    ------
    InputError
        If there are fewer or more rows than the comments say, the comments name other columns than
        `fields`, the columns change, a row has more or fewer values than there are columns, or a
        value should be a number and is not.
    """
    comments: list[str] = []
    without_hits: dict[str, None] = {}
    given = find_columns(fields or STANDARD)
    rows = _rows(stream, name, given, comments, without_hits)
    first = next(rows, None)
    if first is None:
        known = keep_known(given, name)
        return Table(known, iter(()), comments=comments, without_hits=without_hits)
    columns = first.columns
    if fields:
        check_named(columns, given, name, first.line)
    same = _of_same_columns(itertools.chain([first], rows), columns, name)
    if len(first.values) == len(columns) - len(_LENGTHS):
        lengths = [columns[place].field for place in _LENGTHS if place < len(columns)]
        if lengths == ["qlen", "slen"]:
            columns = tuple(x for place, x in enumerate(columns) if place not in _LENGTHS)
    lines = array("q")
    chunks = read_chunks(same, columns, name, lines)
    known = keep_known(columns, name, first.line)
    return Table(known, chunks, lines, tuple(comments), without_hits)


def _rows(
    stream: IO[bytes],
    name: str,
    columns: tuple[SourceColumn, ...],
    comments: list[str],
    without_hits: dict[str, None],
) -> Iterator[_Row]:
    """Yield the rows of a file.

    Parameters
    ----------
    stream, name
        The file, and its name for messages.
    columns
        The columns of rows above which no comment names them.
    comments, without_hits
        Get the comments at the top, and the queries for which no hits were found.
    """
    number = expected = told = queries = 0
    query = count = ""
    for number, raw in enumerate(read_lines(stream, name, MAX_ROW_LENGTH), start=1):
        line = raw.decode(errors=LATIN_1).rstrip("\r\n")
        # A row may begin with anything, as an identifier may; but it has tabs.
        if expected and ("\t" in line or not line.startswith("# ") or len(columns) == 1):
            expected -= 1
            yield _Row(number, columns, line.split("\t"))
            continue
        if expected:
            raise _missing(expected, told, count, f"before line {number}", name)
        if line.startswith("#") and number <= HEAD_LINES:
            comments.append(line)
        if line.startswith("# Fields: "):
            columns = _find_columns(line.removeprefix("# Fields: "))
        elif found := _HITS_FOUND.fullmatch(line):
            expected, told, count = int(found[1]), number, line
            if not expected and query:
                without_hits[query] = None
        elif line.startswith(_QUERY):
            queries += 1
            query = next(iter(line.removeprefix(_QUERY).split()), f"Query_{queries}")
            told = 0
        elif line and not line.startswith("#"):
            if told:
                raise InputError(
                    f"a row too many: line {told} says {count!r}", file=name, line=number
                )
            yield _Row(number, columns, line.split("\t"))
    if expected:
        raise _missing(expected, told, count, "at the end", name)


def _missing(missing: int, told: int, count: str, place: str, name: str) -> InputError:
    """Return the error about rows that are missing.

    Parameters
    ----------
    missing, told, count, place, name
        How many rows are missing; the line of the comment that tells of them, and the comment;
        where they are missing, and in which file.
    """
    return InputError(
        f"{count!r}, but {pluralize(missing, 'row is', 'rows are')} missing {place}; was the file "
        "cut, or filtered? Without comments, as format 6, it can be read",
        file=name,
        line=told,
    )


def _find_columns(text: str) -> tuple[SourceColumn, ...]:
    """Return the columns that a comment names.

    >>> [column.field for column in _find_columns("query acc.ver, Subject id, aln_code")]
    ['qaccver', 'sseqid', None]
    """
    names = text.split(", ")
    found = [_FIELDS_BY_NAME.get(name.lower(), name if name in NAMES else "") for name in names]
    columns = find_columns(found)
    return tuple(
        column if column.field else SourceColumn(name, None)
        for column, name in zip(columns, names, strict=True)
    )


def _of_same_columns(
    rows: Iterator[_Row], columns: tuple[SourceColumn, ...], name: str
) -> Iterator[tuple[int, list[str]]]:
    for row in rows:
        if row.columns != columns:
            raise InputError(
                "the fields are not those of the first rows: "
                f"{' '.join(column.name for column in columns)}",
                file=name,
                line=row.line,
            )
        yield row.line, row.values
