"""Multiple alignments from files: a3m, aligned FASTA, Stockholm and Clustal."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.profiles.letters import EMPTY, GAP
from swdual.profiles.rows import read_row
from swdual.profiles.text import read_text
from swdual.sequences.alphabet import INVALID, NUCLEOTIDE, PROTEIN
from swdual.sequences.detection import TypeRule
from swdual.text.messages import pluralize, quote, sanitize

logger = logging.getLogger("swdual")

MAX_MSA_BYTES = 1 << 30

LONG_GAP = 10
"""A gap of a row from this length on counts as not aligned, as for psiblast's -in_msa."""

_INSERTIONS = re.compile("[a-z.]")
_CLUSTAL = re.compile(r"(CLUSTAL|MUSCLE|PROBCONS|Kalign|MAFFT|T-COFFEE|MSAPROBS)", re.IGNORECASE)
_ANNOTATION = re.compile(r"(ss|sa|aa)_|[Cc]ons([-_]|ensus\b)")
"""Names of rows that are no sequences: HH-suite's secondary structure (`ss_pred`, `ss_conf`),
solvent accessibility, residues of a structure, and consensus."""
_ENTRY_END = re.compile(r"\n?\0+\s*(?=[>#]|\Z)")
"""What MMseqs2 writes behind each alignment of a file."""
_CHAINS = re.compile(r"#([0-9]+(?:,[0-9]+)+)\t[0-9,]+\s*")
"""ColabFold's first line for a complex: the lengths of its chains, and how often each occurs."""


@dataclass(frozen=True, eq=False)
class Msa:
    """A multiple alignment by the columns of its query.

    Parameters
    ----------
    title, codes
        Header line and (L,) residue codes of the query.
    rows
        (n, L) residue codes of the others, `GAP` or `EMPTY`.
    left_out
        (L,) the columns in which the query is in lower case: there it is no row, as for psiblast.
    """

    title: str
    codes: bytes
    rows: NDArray[np.uint8]
    left_out: NDArray[np.bool_]


@dataclass
class _Row:
    """A sequence of a file: its name, its text, and where it begins."""

    title: str
    line: int
    text: list[str]


def read_msa(path: str | os.PathLike[str], master: int = 1) -> Msa:
    """Return the multiple alignment in a file.

    Columns where the query has a gap are left out. Gaps at the ends of a row, and those of 10
    columns or more, count as not aligned.

    Parameters
    ----------
    path
        The file: Stockholm, Clustal, aligned FASTA or a3m. The content tells the format.
    master
        The number of the sequence that is the query, from 1. It changes places with the first one.
        Rows of annotation do not count.

    Raises
    ------
    InputError
        If the file cannot be read, is in no such format, has several alignments or that of a
        complex, has no such sequence, or its rows are of different lengths.
    """
    entries = _ENTRY_END.split(read_text(path, MAX_MSA_BYTES, nul_separates=True))
    lines = "\n".join(entries).split("\n")
    heads = (line for line in lines if line.strip() and not _is_comment(line))
    head = next(heads, "")
    if head.startswith(">"):
        _refuse_several(entries, path)
        rows, may_insert = _read_fasta(lines), True
    elif head.startswith("# STOCKHOLM"):
        rows, may_insert = _read_blocks(lines, _stockholm, path), False
    elif _CLUSTAL.match(head):
        rows, may_insert = _read_blocks(lines, _clustal, path), False
    else:
        raise InputError(
            "not a multiple alignment; expected Stockholm, Clustal, aligned FASTA or a3m; "
            "`read_profile` reads a profile",
            file=path,
        )
    rows = _skip_annotations(rows, path)
    if not rows:
        raise InputError("the multiple alignment has no sequences", file=path)
    if not (isinstance(master, int | np.integer) and 1 <= master <= len(rows)):
        count = pluralize(len(rows), "sequence", "sequences")
        raise InputError(
            f"`master` is {master}, but the file has {count}; give the number of one, from 1",
            file=path,
        )
    return _align(rows, master - 1, path, may_insert=may_insert)


def require_proteins(codes: bytes, path: str | os.PathLike[str], dbtype: str) -> None:
    """Raise an error if the query of a profile looks like nucleotides; warn if it may be some.

    Parameters
    ----------
    codes, path
        Residue codes of the query, and the file that it was read from.
    dbtype
        "prot" takes it for a protein whatever its letters are.

    Raises
    ------
    InputError
        If it looks like nucleotides.
    """
    rule = TypeRule("prot" if dbtype == "prot" else "auto", in_doubt=lambda: PROTEIN)
    decision = rule.decide(PROTEIN.decode(codes).encode())
    if decision.alphabet is NUCLEOTIDE:
        raise InputError(
            "looks like nucleotides, but a profile scores proteins; translate them first, or use "
            "`dbtype='prot'` if they are proteins",
            file=path,
        )
    if decision.is_doubtful:
        logger.warning("%s: could be nucleotides or proteins; a profile scores proteins", path)


def _is_comment(line: str) -> bool:
    """Return whether a line says something about an a3m, such as ``#A3M#`` or ``#158<TAB>1``."""
    return line.startswith("#") and not line.startswith("# STOCKHOLM")


def _refuse_several(entries: list[str], path: str | os.PathLike[str]) -> None:
    """Raise an error if parts of an a3m are of several queries, or of several chains at once.

    Parts of one query are one alignment: MMseqs2's server has a part for each database.
    """
    records = (entry.partition(">")[2].partition(">")[0].strip() for entry in entries)
    queries = {record for record in records if record}
    if len(queries) > 1:
        raise InputError(
            f"the file has multiple alignments of {pluralize(len(queries), 'query', 'queries')}, "
            "with NUL between them; write each one to a file of its own",
            file=path,
        )
    chains = _CHAINS.fullmatch(entries[0].lstrip().partition("\n")[0])
    if chains:
        raise InputError(
            f"this is the alignment of a complex of {chains[1].count(',') + 1} chains, but a "
            "profile is of one; write the columns of one chain to a file of its own",
            file=path,
        )


def _skip_annotations(rows: list[_Row], path: str | os.PathLike[str]) -> list[_Row]:
    """Return the rows that are sequences; the log names the others."""
    kept: list[_Row] = []
    skipped: list[_Row] = []
    for row in rows:
        (skipped if _ANNOTATION.match(row.title) else kept).append(row)
    if skipped:
        names = ", ".join(quote(row.title.split()[0]) for row in skipped[:5])
        logger.warning(
            "%s: %s skipped, as annotation and not a sequence: %s%s; if this is wrong, give %s "
            "another name",
            sanitize(os.fspath(path)),
            pluralize(len(skipped), "row was", "rows were"),
            names,
            ", ..." if len(skipped) > 5 else "",
            "it" if len(skipped) == 1 else "them",
        )
    return kept


def _read_fasta(lines: list[str]) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            rows.append(_Row(line[1:].strip(), number, []))
        elif line.strip() and rows and not _is_comment(line):
            rows[-1].text.append("".join(line.split()))
    return rows


def _stockholm(line: str) -> list[str]:
    """Return name and residues of a line of a Stockholm file."""
    return [] if line.startswith(("#", "//")) else line.split()


def _clustal(line: str) -> list[str]:
    """Return name and residues of a line of a Clustal file."""
    words = line.split()
    if not words or line[:1].isspace() or _is_comment(line) or _CLUSTAL.match(line):
        return []
    return words[:-1] if len(words) == 3 and words[2].isdigit() else words


def _read_blocks(
    lines: list[str], parse: Callable[[str], list[str]], path: str | os.PathLike[str]
) -> list[_Row]:
    """Return the rows of a file that has them in blocks of lines, each with the row's name."""
    rows: dict[str, _Row] = {}
    ended = False
    for number, line in enumerate(lines, start=1):
        if ended and line.startswith("# STOCKHOLM"):
            raise InputError(
                "the file has several multiple alignments; take one out with esl-afetch",
                file=path,
                line=number,
            )
        ended = ended or line.startswith("//")
        if ended:
            continue
        words = parse(line)
        if not words:
            continue
        if len(words) != 2:
            raise InputError(
                "expected a name and a row of residues; write the file again",
                file=path,
                line=number,
            )
        name, text = words
        rows.setdefault(name, _Row(name, number, [])).text.append(text)
    return list(rows.values())


def _align(rows: list[_Row], master: int, path: str | os.PathLike[str], *, may_insert: bool) -> Msa:
    """Return rows by the columns of one of them."""
    texts = ["".join(row.text) for row in rows]
    # Aligned FASTA has rows of one length. In a3m, insertions are in lower case, and nothing is
    # where the other rows have none.
    if may_insert and len({*map(len, texts)}) > 1:
        texts = [_INSERTIONS.sub("", text) for text in texts]
        if len(texts[master]) != len("".join(rows[master].text).replace(".", "")):
            raise InputError(
                f"row {quote(rows[master].title)} is the query, but has insertions (a3m: letters "
                "in lower case); write aligned FASTA, with rows of one length",
                file=path,
                line=rows[master].line,
            )
    width = len(texts[0])
    coded = []
    for row, text in zip(rows, texts, strict=True):
        codes = read_row(text)
        if len(codes) != width:
            raise InputError(
                f"row {quote(row.title)} has {pluralize(len(codes), 'column', 'columns')}, the "
                f"first one {width:,}; align all of them, or write insertions in lower case (a3m)",
                file=path,
                line=row.line,
            )
        if bytes([INVALID]) in codes:
            letter = quote(text[codes.index(INVALID)])
            raise InputError(
                f"row {quote(row.title)} has {letter}, which is no residue of a protein",
                file=path,
                line=row.line,
            )
        coded.append(codes)
    order = [*range(len(rows))]
    order[0], order[master] = order[master], order[0]
    rows, texts, coded = ([each[k] for k in order] for each in (rows, texts, coded))
    table = np.frombuffer(b"".join(coded), np.uint8).reshape(len(rows), width)
    columns = table[0] != GAP
    if not columns.any():
        raise InputError(
            f"row {quote(rows[0].title)} is the query, but has no residues",
            file=path,
            line=rows[0].line,
        )
    letters = np.frombuffer(texts[0].encode("latin-1"), np.uint8)[columns]
    left_out = (letters >= ord("a")) & (letters <= ord("z"))
    query = table[0, columns].tobytes()
    return Msa(rows[0].title, query, _clear_long_gaps(table[1:, columns]), left_out)


def _clear_long_gaps(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return rows with `EMPTY` for gaps from `LONG_GAP` columns on."""
    gaps = np.pad(rows == GAP, ((0, 0), (1, 1))).ravel()
    edges = np.flatnonzero(np.diff(gaps.astype(np.int8), prepend=0))
    starts, ends = edges[::2], edges[1::2]
    long = ends - starts >= LONG_GAP
    change = np.zeros(len(gaps) + 1, np.int8)
    change[starts[long]] += 1
    change[ends[long]] -= 1
    width = rows.shape[1] + 2
    inside = np.cumsum(change[:-1], dtype=np.int8).reshape(len(rows), width)[:, 1:-1] > 0
    return np.where(inside, np.uint8(EMPTY), rows)
