"""BLAST's format 7: its tables, with comments that name query, database and fields."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, NamedTuple

from swdual.errors import InputError
from swdual.format import Table, print_column
from swdual.formats._text import MAX_ROW_LENGTH, check_named, read_chunks
from swdual.hits.fields import BLAST_STANDARD, STANDARD, columns
from swdual.hits.query_result import QueryResult
from swdual.io.input import read_lines
from swdual.io.output import Output, Utf8
from swdual.io.text import pluralize, sanitize
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
    "score": "score",
    "bitscore": "bit score",
    "relscore": "relative score",
    "evalue": "evalue",
    "log10_evalue": "log10 evalue",
    "pident": "% identity",
    "nident": "identical",
    "sallacc": "subject accs.",
    "qgi": "query gi",
    "sgi": "subject gi",
    "sallgi": "subject gis",
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
    "scovhsp": "% subject coverage per hsp",
    "btop": "BTOP",
    "cigar": "CIGAR",
    "qseq": "query seq",
    "sseq": "subject seq",
    "qseq_gapped": "gapped query seq",
    "sseq_gapped": "gapped subject seq",
    "qcovus": "% query coverage per uniq subject",
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

_OLDER_NAMES = {"qcovs": "% subject coverage", "qcovhsp": "% hsp coverage"}
_FIELDS_BY_NAME = {word: name for names in (NAMES, _OLDER_NAMES) for name, word in names.items()}
HEAD_LINES = 10
"""Lines at the top of a file whose comments are kept: they name the program and the database."""

_HITS_FOUND = re.compile(r"# (\d+) hits found")


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
    organisms = result.params.organisms
    method += f"# Taxonomy: targets {organisms}\n" if organisms else ""
    iteration = f"# Iteration: {result.round}\n" if result.round else ""
    return (
        f"# {program} swdual-{__version__}\n"
        f"{iteration}"
        f"# Query: {sanitize(result.query.title)}\n"
        f"# Database: {sanitize(result.targets.name)}\n"
        f"{method}{names}# {len(result) + len(result.further.scores)} hits found\n"
    )


class _Row(NamedTuple):
    """A row of a file, with its line number and the fields named above it."""

    line: int
    fields: tuple[str, ...]
    values: list[str]


def read_table(stream: IO[bytes], name: str, fields: tuple[str, ...] = ()) -> Table:
    """Return the table in a file: see `TableFormat.read_table`.

    Comments name the fields; without them they are `fields`, or BLAST's twelve.

    Raises
    ------
    InputError
        If there are fewer or more rows than the comments say, a field is unknown, the comments
        name others than `fields`, the fields change, a row has more or fewer values than there are
        fields, or a value should be a number and is not.
    """
    comments: list[str] = []
    rows = _rows(stream, name, fields or STANDARD, comments)
    first = next(rows, None)
    if first is None:
        return Table(fields or STANDARD, iter(()), comments=comments)
    check_named(first.fields, fields, name, first.line)
    same = _of_same_fields(itertools.chain([first], rows), first.fields, name)
    lines = array("q")
    chunks = read_chunks(same, first.fields, name, lines)
    return Table(first.fields, chunks, lines, tuple(comments))


def _rows(
    stream: IO[bytes], name: str, fields: tuple[str, ...], comments: list[str]
) -> Iterator[_Row]:
    number = expected = 0
    for number, raw in enumerate(read_lines(stream, name, MAX_ROW_LENGTH), start=1):
        line = raw.decode(errors="replace").rstrip("\r\n")
        if expected:
            # Whatever it begins with: an identifier may well begin with '#'.
            expected -= 1
            yield _Row(number, fields, line.split("\t"))
            continue
        if line.startswith("#") and number <= HEAD_LINES:
            comments.append(line)
        if line.startswith("# Fields: "):
            fields = _fields(line.removeprefix("# Fields: "), name, number)
        elif found := _HITS_FOUND.fullmatch(line):
            expected = int(found[1])
        elif line and not line.startswith("#"):
            raise InputError(
                "a row without a comment '# ... hits found' before it", file=name, line=number
            )
    if expected:
        raise InputError(
            f"{pluralize(expected, 'row is', 'rows are')} missing at the end",
            file=name,
            line=number,
        )


def _fields(text: str, name: str, line: int) -> tuple[str, ...]:
    words = text.split(", ")
    for word in words:
        if word not in _FIELDS_BY_NAME:
            raise InputError(
                f"unknown field {word!r}; there are: {', '.join(_FIELDS_BY_NAME)}",
                file=name,
                line=line,
            )
    return tuple(_FIELDS_BY_NAME[word] for word in words)


def _of_same_fields(
    rows: Iterator[_Row], fields: tuple[str, ...], name: str
) -> Iterator[tuple[int, list[str]]]:
    for row in rows:
        if row.fields != fields:
            raise InputError(
                f"the fields are not those of the first rows: {' '.join(fields)}",
                file=name,
                line=row.line,
            )
        yield row.line, row.values
