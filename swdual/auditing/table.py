"""The hits that a table lists, and what its header tells of the run that wrote it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.format import Table
from swdual.formats._text import QUERY_IDS, TARGET_IDS
from swdual.formats.tabular import INVOCATION
from swdual.results.conversion import open_table

DIAMOND_EVALUE, DIAMOND_TARGETS = 0.001, 25
"""DIAMOND's defaults of --evalue and --max-target-seqs."""

DIAMOND_FILES = (
    "q",
    "query",
    "d",
    "db",
    "o",
    "out",
    "f",
    "outfmt",
    "header",
    "p",
    "threads",
    "quiet",
)
"""Options of DIAMOND that do not decide about hits; the others are shown."""

DIAMOND_FILTERS = ("id", "query-cover", "subject-cover", "min-score")

DIAMOND_SCORING: Mapping[str, tuple[str, type]] = {
    "matrix": ("matrix", str),
    "gapopen": ("gap_open", int),
    "gapextend": ("gap_extend", int),
    "dbsize": ("dbsize", int),
    "query-gencode": ("query_gencode", int),
    "strand": ("strand", str),
}
"""Options of DIAMOND that mean the same as ours, and our names."""

_SHORT = {"e": "evalue", "k": "max-target-seqs", "F": "frameshift"}


@dataclass(frozen=True)
class Run:
    """How a table was made, as far as its header tells.

    Parameters
    ----------
    program
        Program and version; empty if there is no header.
    options
        The options that decide about hits, as they were written.
    evalue
        The largest E-value that was asked for, if it is known.
    max_targets
        The largest number of targets of a query, if it is known; 0 if there is no limit.
    cuts_all
        Whether every list ends above further hits: DIAMOND's --top.
    scoring
        Options of ours that mean the same as the program's.
    remarks
        What of it sets the table apart from an exact search.
    """

    program: str = ""
    options: str = ""
    evalue: float | None = None
    max_targets: int | None = None
    cuts_all: bool = False
    scoring: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class HitTable:
    """The rows of a table, in its order.

    Parameters
    ----------
    path
        The file.
    queries, targets
        (rows,) identifiers.
    evalues, bits
        (rows,) E-values and bit scores; not-a-number where the table has none.
    lines
        (rows,) the line of each row; empty for formats without lines.
    run
        What its header tells.
    """

    path: str
    queries: list[str]
    targets: list[str]
    evalues: NDArray[np.float64]
    bits: NDArray[np.float64]
    lines: Sequence[int]
    run: Run

    def fail(self, message: str, row: int) -> InputError:
        """Return an error about a row."""
        return InputError(message, file=self.path, line=self.lines[row] if self.lines else None)

    def number(
        self, names: Sequence[str], find: Callable[[Iterable[str]], Mapping[str, int | str]]
    ) -> NDArray[np.int64]:
        """Return the numbers that identifiers stand for, (rows,).

        Parameters
        ----------
        names
            `queries` or `targets`.
        find
            Returns the number of each name, or a text that says why it has none.

        Raises
        ------
        InputError
            If one has none; with file and line.
        """
        known = find(dict.fromkeys(names))
        for row, name in enumerate(names):
            if isinstance(found := known[name], str):
                raise self.fail(found, row)
        return np.array([known[name] for name in names], np.int64)


def read_hits(path: str | os.PathLike[str], before: str | None = None) -> HitTable:
    """Return the rows of a table.

    For the parameters see `swdual.results.conversion.convert`.

    Raises
    ------
    InputError
        If the table is damaged, or does not name queries and targets; with file and line.
    """
    with open_table(path, before) as table:
        columns = table.collect()
        run = read_run(table)
    name = os.fspath(path)
    queries, targets = (_choose(columns, names, name) for names in (QUERY_IDS, TARGET_IDS))
    nothing = np.full(len(queries), np.nan)
    evalues, bits = (
        np.array(columns[field], np.float64) if field in columns else nothing
        for field in ("evalue", "bitscore")
    )
    return HitTable(name, queries, targets, evalues, bits, table.lines, run)


def _choose(columns: Mapping[str, list[str]], names: Sequence[str], file: str) -> list[str]:
    """Return the first of some columns that is there."""
    for name in names:
        if name in columns:
            return columns[name]
    raise InputError(
        f"there is no column {names[0]}; an audit needs the identifiers of query and target",
        file=file,
    )


def read_run(table: Table) -> Run:
    """Return what the comments of a table tell of its run.

    Parameters
    ----------
    table
        The table.
    """
    comments = [comment.removeprefix("# ") for comment in table.comments]
    if not comments:
        return Run()
    invocation = INVOCATION.removeprefix("# ")
    for comment in comments:
        if comment.startswith(invocation):
            version = comments[0].removesuffix(". http://github.com/bbuchfink/diamond")
            return _read_diamond(version, comment.removeprefix(invocation).split())
    ours = [each for each in comments if each.startswith("Composition-based statistics: ")]
    # The FASTA programs write their command line before the name of the program.
    first = len(comments) > 2 and comments[2].startswith("Query: ")
    return Run(comments[int(first and "Iteration: " not in comments[1])], "; ".join(ours))


def _read_diamond(version: str, words: Sequence[str]) -> Run:
    """Return what a command line of DIAMOND tells.

    Parameters
    ----------
    version, words
        The program with its version, and the words of the command line.

    >>> run = _read_diamond("DIAMOND v2", ["diamond", "blastp", "--fast", "-q", "a.fa", "-k0"])
    >>> run.program, run.options, run.max_targets, run.evalue
    ('DIAMOND v2 blastp', '--fast -k0', 0, 0.001)
    """
    values: dict[str, str] = {}
    shown: list[str] = []
    name = ""
    for word in words[2:]:
        if match := re.fullmatch(r"--?([A-Za-z][\w-]*?)(?:=(.*)|(?<=-\w)(\d.*))?", word):
            name = _SHORT.get(match[1], match[1])
            values[name] = match[2] or match[3] or ""
        elif name:
            values[name] = values[name] or word
        if name and name not in DIAMOND_FILES:
            shown.append(word)
    remarks = []
    mode = values.get("comp-based-stats", "1")
    if mode != "0":
        remarks.append(f"composition-based statistics are DIAMOND's mode {mode}, not BLAST's")
    if values.get("masking", "tantan") not in ("0", "none"):
        remarks.append("DIAMOND masks repeats unless --masking 0 is given")
    filters = [f"--{each} {values[each]}" for each in DIAMOND_FILTERS if each in values]
    if filters:
        remarks.append(f"hits are filtered by {', '.join(filters)}, which this audit does not know")
    scoring = {}
    for theirs, (own, kind) in DIAMOND_SCORING.items():
        if theirs in values:
            try:
                scoring[own] = kind(values[theirs])
            except ValueError:
                remarks.append(f"--{theirs} is not understood")
    limit = _read_number(values.get("max-target-seqs"), DIAMOND_TARGETS)
    return Run(
        " ".join([version, *words[1:2]]),
        " ".join(shown),
        _read_number(values.get("evalue"), DIAMOND_EVALUE),
        None if limit is None else int(limit),
        "top" in values,
        scoring,
        tuple(remarks),
    )


def _read_number(text: str | None, default: float) -> float | None:
    """Return a number that was written; the default without a text, None if it is no number."""
    try:
        return default if text is None else float(text)
    except ValueError:
        return None
