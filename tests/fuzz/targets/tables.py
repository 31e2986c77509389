"""Tables of hits, by whichever program: conversions and audits read the same, or refuse it alike.

What is read is in range, as a check without a line of swdual's code says.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from fuzz import mutation
from fuzz.target import explained, folder, listening, pick, stored

from swdual.auditing.table import read_hits
from swdual.errors import InputError
from swdual.results.conversion import convert

FOREIGN = Path(__file__).parents[2] / "golden" / "foreign"
ENDINGS = ("tsv", "csv", "txt", "m9", "json", "jsonl")
NAMES = (
    None,
    "6",
    "6 std qlen slen",
    "6 query target fident alnlen mismatch gapopen qstart qend tstart tend evalue bits qcov tcov",
    "6 qseqid evalue bitscore approx_pident",
    "10 std qcovs stitle",
)
OUTPUTS = ("csv", "tsv", "jsonl", "html")
WORDS = (
    *(b"-1", b"0", b"1", b"1.000", b"0.5", b"101", b"-0.0", b"nan", b"NA", b"N/A", b"inf", b"*"),
    *(b"e-105", b"1e-400", b"1e999", b" 667", b"1_0", b"+5", b"2.5E+03", b"", b"\xd9\xa3"),
    *(b"qseqid", b"sseqid", b"query", b"target", b"fident", b"pident", b"evalue", b"qlen"),
    *(b"# 10 hits found", b"# 0 hits found", b"# Query: q1", b"# Fields: query id, aln_code"),
)
"""What cells of tables may hold, and comments."""

PERCENTAGES = ("pident", "ppos", "qcovhsp", "qcovs", "qcovus", "scovhsp")
COUNTS = ("length", "nident", "mismatch", "positive", "gapopen", "gaps", "score", "evalue")

WHOLE = re.compile(r"input\.\w+: (neither name nor content tells|is |has more)")
"""How messages about a file as a whole begin, which name no line."""


def target(data):
    """Convert a table, and read it as an audit does."""
    if len(data) < 3:
        return
    path = stored(data[3:], f"input.{pick(ENDINGS, data[0])}")
    before = pick(NAMES, data[1]) if data[0] % len(ENDINGS) < 4 else None
    output = folder() / f"output.{pick(OUTPUTS, data[2])}"
    outcomes = []
    with listening():
        for read in (
            lambda: convert(path, folder() / "output.json", before=before, force=True),
            lambda: read_hits(path, before),
            lambda: convert(path, output, before=before, force=True),
        ):
            with explained():
                outcomes.append((read(), ""))
                continue
            outcomes.append((None, _message(read)))
    (count, refused), (table, unread), (again, unwritten) = outcomes
    assert refused == unwritten
    assert count == again
    if refused:
        whole = path.suffix == ".json" or WHOLE.search(refused)
        place = r"input\.\w+(:[0-9]+|, object [0-9]+)?: " if whole else r"input\.\w+:[0-9]+: "
        assert re.search(place, refused), refused
        no_ids = unread and "an audit needs the identifiers" in unread
        assert unread == refused or no_ids, (unread, refused)
        return
    rows = json.loads((folder() / "output.json").read_text())
    assert len(rows) == count
    for row in rows:
        _check(row)
    if unread:
        assert "an audit needs the identifiers" in unread, unread
    else:
        assert len(table.queries) == count
        listed = [math.nan if row.get("evalue") is None else row["evalue"] for row in rows]
        assert str(table.evalues.tolist()) == str(listed)


def _message(read):
    """Return the message that a reader refuses its file with."""
    try:
        read()
    except InputError as error:
        return str(error)
    raise AssertionError("it was refused before")


def _check(row):
    """Check that the values of a hit can be what they are called."""
    for name, value in row.items():
        if isinstance(value, str) or value is None:
            continue
        assert math.isfinite(value), (name, value)
        if name in PERCENTAGES:
            assert 0 <= value <= 100, (name, value)
        elif name in COUNTS:
            assert value >= 0, (name, value)
        elif name in ("qstart", "qend", "sstart", "send"):
            assert value >= (row.get("length", 0) != 0), (name, value)


def mutated(data, others, rng):
    """Return an input with any change, or another cell, or a line left out or doubled."""
    if rng.random() < 0.3 or len(data) < 4:
        return mutation.mutated(data, others, rng)
    head, lines = data[:3], data[3:].split(b"\n")
    place = rng.randrange(len(lines))
    choice = rng.random()
    if choice < 0.7:
        gap = b"," if b"\t" not in lines[place] else b"\t"
        cells = lines[place].split(gap)
        cells[rng.randrange(len(cells))] = rng.choice(WORDS)
        lines[place] = gap.join(cells)
    elif choice < 0.85:
        del lines[place]
    else:
        lines.insert(place, rng.choice(lines))
    return head + b"\n".join(lines)


def seeds():
    """Return tables of several programs as they are."""
    names = {
        "blastp_6.txt": (2, 0),
        "blastp_7_more.txt": (3, 0),
        "blastp_10.csv": (1, 0),
        "diamond_unal.m8": (0, 0),
        "diamond_verbose.tsv": (0, 0),
        "diamond_unal_more.tsv": (0, 0),
        "mmseqs_0.m8": (0, 1),
        "mmseqs_2.m8": (0, 2),
        "mmseqs_4_more.tsv": (0, 0),
        "ssearch_8CC.txt": (2, 0),
    }
    tables = [
        bytes([ending, given, number % 4]) + (FOREIGN / name).read_bytes()
        for number, (name, (ending, given)) in enumerate(names.items())
    ]
    row = {"qseqid": "q", "sseqid": "t", "evalue": 1e-9, "pident": 35.5, "length": 9, "qstart": 1}
    more = [row, row | {"evalue": None, "sseqid": "*"}, row | {"sseqid": "u"}]
    lines = "\n".join(map(json.dumps, more)).encode()
    return [
        *tables,
        bytes([4, 0, 0]) + json.dumps(more).encode(),
        bytes([5, 0, 1]) + lines,
        bytes([5, 0, 1]) + lines.replace(b"null", b"NaN"),
        bytes([0, 4, 0]) + b"q\te-105\t 667\t99\n",
    ]
