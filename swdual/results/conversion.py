"""Conversion of tables of hits between formats."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from swdual import registry
from swdual.errors import InputError
from swdual.format import Column, Table, TableFormat, full_name, is_format, load_format
from swdual.formats._text import parse_names
from swdual.formats.commented import START
from swdual.hits.fields import STANDARD
from swdual.io.endings import TEXT_ENDINGS, detect_format
from swdual.io.output import replace_file, split_compression
from swdual.io.stream import open_bytes, open_text, source_name
from swdual.results.checks import check_table
from swdual.results.file_types import SELF_COMPRESSED, choose_format

NAMED_FIELDS = ("tabular", "commented", "csv")
"""Formats whose fields can be given, as a file may not name them."""

BINARY = {b"ARROW1": "arrow", b"PAR1": "parquet"}
"""How tables begin that are no text, and their formats."""

HEAD_BYTES = 4096
"""Bytes of a file that tell what it is: some names do not, and no ending tells format 7."""

_TABLE = "write BLAST's format 6"

_CONTENTS = (
    (rb"PAR1", "a Parquet file", "parquet"),
    (rb"ARROW1", "an Arrow file", "arrow"),
    (rb"\s*\{\s*\"BlastOutput2\"", "JSON of BLAST", None),
    (rb"\s*\[\s*[{\]]", "JSON", "json"),
    (rb"\s*\{\"[^\n]*\}\s*(\n|\Z)", "JSON Lines", "jsonl"),
    (rb">", "a FASTA file; give a table of hits", None),
    (rb"Blast4-archive ", f"an archive of BLAST; {_TABLE} with 'blast_formatter'", None),
    (rb"(\w*BLAST\w?|swdual) [0-9][^\t\n]*\r?\n\s*\n", "BLAST's format 0, to read", None),
    (rb"[^\t\n]+(\t[0-9]+){3}\t[+-]\t", "PAF", None),
)
"""How files begin, what they are, and their format if its tables are read."""


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    before: str | None = None,
    after: str | None = None,
    header: bool | None = None,
    force: bool = False,
) -> int:
    """Convert a table of hits to another format; return the number of hits.

    Parameters
    ----------
    source, target
        Files, compressed or not; "-" is standard input or output.
    before, after
        Formats by name or by BLAST's number; by default those of the files' names. After the
        format, `before` may name the fields of a text table: "6 std qcovs stitle".
    header
        Write the names of the fields in the first line of a text table. By default for the format
        "csv", and if the fields are not BLAST's twelve, as the table could not be read again
        without them.
    force
        Replace `target`.

    Raises
    ------
    InputError, OutputError
        If a format is unknown or cannot be converted, the fields are not those that the table
        names, the table is damaged, or `target` cannot be written.
    """
    name = after or _detect_format(target, "write")
    if name is None:
        raise _unknown_format(target, "write")
    writer = _load_format(name, "write")
    chosen = choose_format(target, name)
    rows = 0

    def count_rows(table: Table) -> Iterator[list[Column]]:
        nonlocal rows
        for chunk in table.chunks:
            rows += len(chunk[0]) if chunk else 0
            yield chunk

    with open_table(source, before) as table:
        if header is None:
            header = chosen.header or table.fields != STANDARD
        with replace_file(
            target, chosen.kind, force=force, inputs=[source], compress=True
        ) as output:
            writer.write_table(table._replace(chunks=count_rows(table)), output, header=header)
    return rows


@contextmanager
def open_table(source: str | os.PathLike[str], before: str | None = None) -> Iterator[Table]:
    """Open a table of hits.

    For the parameters see `convert`.

    Raises
    ------
    InputError
        As `convert` documents.
    """
    before, names = _split_fields(before)
    told = before or _detect_format(source, "read")
    if told is not None:
        _load_format(told, "read")  # which refuses one that has no tables, before the file is read
    binary = full_name(told or "") in SELF_COMPRESSED
    with open_bytes(source) if binary else open_text(source, unless=(*BINARY,)) as stream:
        head = cast(io.BufferedReader, stream).peek(HEAD_BYTES)
        if before is None and not binary and START.match(head):
            told = "commented"
        elif not names:  # else any values may come first
            told = _recognize(head, told, source)
        if told is None:
            raise _unknown_format(source, "read")
        file = os.fspath(source)
        reader = _load_format(told, "read")
        yield check_table(reader.read_table(stream, file, **names), file)


def _recognize(head: bytes, told: str | None, source: str | os.PathLike[str]) -> str | None:
    r"""Return the format of a table.

    Parameters
    ----------
    head, source
        How it begins, and the file.
    told
        The format that is given, or that its name tells, or None.

    Raises
    ------
    InputError
        If it begins as one of another format; the message names it.

    >>> [_recognize(head, None, "x") for head in (b"q1\tt1\t98.5\n", b"{", b"q1 t1")]
    ['tabular', 'jsonl', None]
    """
    for begin, what, name in _CONTENTS:
        if name != full_name(told or "") and re.match(begin, head):
            if told is None and name is not None:
                return name
            remedy = _TABLE if name is None else f"use `before={name!r}`"
            raise InputError(f"is {what}" if ";" in what else f"is {what}; {remedy}", file=source)
    if told is not None:
        return told
    for start, name in ((b"[", "json"), (b"{", "jsonl")):
        if head.lstrip().startswith(start):
            return name
    return "tabular" if b"\t" in head else "csv" if b"," in head else None


def _split_fields(before: str | None) -> tuple[str | None, dict[str, tuple[str, ...]]]:
    """Return the format that `before` names, and its fields as an option of `read_table`.

    >>> _split_fields("6 qseqid score")
    ('6', {'fields': ('qseqid', 'score')})
    """
    name, *words = (before or "").replace(",", " ").split() or [""]
    if not words:
        return before, {}
    if full_name(name) not in NAMED_FIELDS and is_format(name):
        raise InputError(
            f"format {name} names its fields itself, but {' '.join(words)} was given; fields can "
            f"be given for {', '.join(NAMED_FIELDS)}"
        )
    return name, {"fields": parse_names(words)}


def _detect_format(path: str | os.PathLike[str], verb: str) -> str | None:
    """Return the format that the name of a file tells, or None."""
    name = detect_format(path, verb=verb)
    stem, _ = split_compression(path)
    if name is None and os.path.splitext(stem)[1].lower() in TEXT_ENDINGS:
        return "tabular"
    return name


def _unknown_format(path: str | os.PathLike[str], verb: str) -> InputError:
    """Return the error about a file whose format nothing tells."""
    formats = ", ".join(_list_formats(verb))
    if verb == "read":
        text = f"neither name nor content tells the format; give `before=6`, or another ({formats})"
        return InputError(text, file=source_name(path))
    text = f"the name does not tell the format; give `after=csv`, or another ({formats})"
    return InputError(text, file="standard output" if path == "-" else path)


def _load_format(name: str, verb: str) -> TableFormat:
    """Return the module of a format, if its tables can be read, or written."""
    module = load_format(name)
    if not hasattr(module, f"{verb}_table"):
        raise InputError(
            f"format {full_name(name)} cannot be converted; these can: "
            f"{', '.join(_list_formats(verb))}"
        )
    return cast(TableFormat, module)


def _list_formats(verb: str) -> list[str]:
    """Return the formats whose tables can be read, or written."""
    package = "swdual.formats"
    names = registry.available(package)
    return [name for name in names if hasattr(registry.load(package, name), f"{verb}_table")]
