"""The command line: real options with awkward values, in a folder with all kinds of files.

Each byte of an input is a choice: the command, then option after option with its value. The command
runs in this process; it must end with a documented exit code, and what it prints must be fit for a
terminal.
"""

from __future__ import annotations

import importlib
import io
import os
import shutil
import sys
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import click
from fuzz.target import folder, pick, unshown
from support.formats import TEXT

from swdual import cli

CODES = {0, 1, 2, 3, 4, 6, 141}
"""Documented exit codes; nobody interrupts these commands."""

MAX_WORDS = 12

FILES = {
    "q.fa": b">q1 first\nMKVLAWGGHERMKVLAWDEF\n>q2\nACDEFGHIKLMNPQRSTVWY\n",
    "t.fa": b">t1 one\nMKVLAWGGHERMKV\n>t2 two\nGGGGWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n",
    "n.fa": b">n1\nACGTACGTACGTACGTNNACGTACGTACGTACGTACGTACGTACGTACGTACGT\n",
    "bad.fa": b">b\x1b[31m one\nMK-V1\xff\n",
    "empty.fa": b"",
    "trace.swf": b"; MaxProcs: 8\n1 0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 -1 -1 -1\n"
    b"2 5 -1 50 8 -1 -1 8 60 -1 1 1 1 1 1 -1 -1 -1\n"
    b"3 6 -1 10 2 -1 -1 2 20 -1 1 2 1 1 1 -1 -1 -1\n",
    "p.toml": b"processors = 8\nblock_sizes = [2, 4, 8]\n",
    "rates.json": b'{"cpu": 45, "gpu": 1500}',
    "times.csv": b"cpu,gpu\n3,1\n4,\n,2\n",
    "m.txt": b"   A  C  G  T\nA  2 -3 -3 -3\nC -3  2 -3 -3\nG -3 -3  2 -3\nT -3 -3 -3  2\n",
    "hits.tsv": b"q1\tt1\t100.000\t6\t0\t0\t1\t6\t1\t6\t1e-5\t20.1\n",
}
INPUTS = (*FILES, "t.db", "folder", "none", "-", "")
OUTPUTS = ("new.tsv", "new.svg", "new.db", "t.db", "q.fa", "none/x", "folder", "/dev/full", "-", "")
NUMBERS = (
    *(
        "0",
        "1",
        "2",
        "3",
        "7",
        "-1",
        "1.5",
        "1e-300",
        "1e999",
        "nan",
        "inf",
        "99999999999999999999",
    ),
    *("0x10", "1_0", "\u0663", "1k", "650k", "2147483648", "all", "9" * 5000),
)
WORDS = (
    *("auto", "prot", "nucl", "error", "replace", "skip", "both", "plus", "minus"),
    *("table", "fit", "none", "cpu", "cuda", "cuda:0,1", "hybrid", "simd", "reference"),
    *("BLOSUM62", "pam30", "m.txt", "dual", "dual_dp", "self_scheduling", "rigid", "moldable"),
    *(
        "6",
        "0",
        "5",
        "7",
        "10",
        "17",
        *TEXT,
        "6 std cigar qtitle stitle",
    ),
    *("easy", "fcfs,easy", "easy:reserve_depth=2", "conservative", "first_fit", "basic", "reserve"),
    *("linear:2", "quadratic:1e300", "p.toml", "curie", "thesis", "standard", "too_wide=cap"),
    *("mean_waiting_time", "1e999:x", "=", ":", ",", "x=y", "MKVLAW", "ACGT", "policies"),
    *("\x1b[31mred", "line\nfeed", "\u202eright", "caf\udce9", "caf\xe9 ", "x" * 300, "{policy}"),
)
VALUES = (*INPUTS, *OUTPUTS, *NUMBERS, *WORDS)
SIZES = ("0", "1", "500", "2k", "-1", "x", "")
"""What `swdual synth` is told to write: no more than a moment's work."""


BEGINNINGS = (
    ("search", "q.fa", "t.fa"),
    ("search", "q.fa", "t.db"),
    ("search", "q.fa", "t.db", "-f", "0"),
    ("search", "n.fa", "n.fa", "--dbtype", "nucl"),
    ("search", "q.fa", "t.db", "-f", "6 std cigar qtitle stitle", "--stats", "none"),
    ("search", "q.fa", "t.db", "-o", "new.tsv", "-p", "2", "-e", "inf"),
    ("search", "q.fa", "bad.fa", "--on-invalid", "replace", "-k", "0"),
    ("align", "MKVLAW", "t.fa", "-f", "paf"),
    ("align", "q.fa", "t.fa"),
    ("convert", "hits.tsv", "new.csv"),
    ("convert", "hits.tsv", "-", "--to", "jsonl"),
    ("extract", "t.db", "t1", "no"),
    ("extract", "t.db", "--all", "--range", "2-9"),
    ("info", "t.db"),
    ("info", "--system"),
    ("list", "policies"),
    ("makedb", "t.fa", "new.db"),
    ("makedb", "bad.fa", "q.fa", "new.db", "--on-invalid", "skip"),
    ("plan", "q.fa", "t.db", "--cpus", "2", "--gpus", "1", "--rates", "rates.json"),
    ("plan", "--times", "times.csv", "--cpus", "2", "--gpus", "1"),
    ("simulate", "trace.swf", "--policy", "easy", "--platform", "p.toml"),
    ("simulate", "trace.swf", "--kind", "moldable", "--policy", "hrf", "--explain", "3"),
    ("synth", "500"),
    *((command,) for command in (*cli.COMMANDS, "serch", "")),
)
"""Command lines that are right, to which options are added."""


def target(data):
    """Run the command that the bytes choose."""
    if not data:
        return
    words = words_of(data)
    with _in_a_folder(), _streams() as (out, err):
        try:
            code = cli._run(words)
        finally:
            lost = cli._close_messages()
        code = code or (lost.exit_code if lost else 0)
        left = [name for name in os.listdir() if name.endswith(".part")]
    assert code in CODES, f"{words} ends with {code}: {_text(err)}"
    for stream in (out, err):
        bad = unshown(_text(stream), allowed="\n\t")
        assert not bad, f"{words} prints {bad}: {_text(stream)!r}"
    assert not left, f"{words} leaves {left}"


def words_of(data):
    """Return the words of a command line: sensible ones, and what the other bytes add to them."""
    words = [*pick(BEGINNINGS, data[0])]
    values = SIZES if words[0] == "synth" else VALUES
    choices = iter(data[1:])
    for kind in choices:
        if len(words) > MAX_WORDS:
            break
        value = pick(values, next(choices, 0))
        option, valued = pick(options(words[0]), kind // 2 + 128 * next(choices, 0))
        if kind % 16 == 1:
            words.append(value)
        else:
            words += [option, value] if valued else [option]
    return words


@cache
def options(command):
    """Return the options of a command, each with whether it takes a value."""
    if command not in cli.COMMANDS:
        return [("--help", False), ("--version", False), ("--log", True)]
    params = importlib.import_module(f"swdual.cli.{command}").command.params
    known = [each for each in params if isinstance(each, click.Option)]
    return [
        *(
            (name, not each.is_flag)
            for each in known
            for name in (*each.opts, *each.secondary_opts)
        ),
        ("--help", False),
        ("--nothing", True),
    ]


@cache
def _database():
    """Return a database file."""
    from swdual.database.makedb import makedb

    fasta, path = folder() / "t.fa", folder() / "t.db"
    fasta.write_bytes(FILES["t.fa"])
    makedb(fasta, path, title="t").close()
    return path.read_bytes()


@contextmanager
def _in_a_folder():
    """Go to a folder with nothing but the known files."""
    here, place = os.getcwd(), folder() / "here"
    database = _database()
    shutil.rmtree(place, ignore_errors=True)
    (place / "folder").mkdir(parents=True)
    for name, content in {**FILES, "t.db": database}.items():
        (place / name).write_bytes(content)
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(here)


class _Kept(io.BytesIO):
    """Bytes that can still be read when the stream was closed."""

    def close(self):
        pass


@contextmanager
def _streams():
    """Replace the standard streams; the input is a file of sequences."""
    out, err, given = _Kept(), _Kept(), io.BufferedReader(io.BytesIO(FILES["q.fa"]))
    with (
        patch.object(sys, "stdin", io.TextIOWrapper(given)),
        patch.object(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", newline="")),
        patch.object(
            sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace")
        ),
    ):
        yield out, err
        sys.stdout.flush()
        sys.stderr.flush()


def _text(stream):
    return stream.getvalue().decode("utf-8", "surrogateescape")


def seeds():
    """Return sensible commands with each of their options and one of its values."""
    found = [bytes([number]) for number in range(len(BEGINNINGS))]
    for number, (command, *_) in enumerate(BEGINNINGS):
        count = len(options(command))
        found += (bytes([number, 2 * k, 17 * k % 256, 0]) for k in range(number % 5, count, 5))
    return found
