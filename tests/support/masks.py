"""Golden tables of masks, and masks that a program prints now."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from swdual.sequences.alphabet import Alphabet
from swdual.sequences.fasta import read_sequences

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared" / "proteins"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="real data lies beside the project only"
)

Intervals = list[tuple[int, int]]


def pairs(intervals) -> Intervals:
    """Return an array of intervals as a list of pairs."""
    return [(start, end) for start, end in intervals.tolist()]


def golden_masks(table: str) -> dict[tuple[float, ...], dict[str, Intervals]]:
    """Return the intervals of each sequence for each set of parameters of a golden table."""
    found: dict[tuple[float, ...], dict[str, Intervals]] = {}
    with gzip.open(GOLDEN / table, "rt") as stream:
        lines = [line for line in stream.read().splitlines() if not line.startswith("#")]
    assert lines[0] == "options\tqseqid\tstart\tend"
    for line in lines[1:]:
        options, name, start, end = line.split("\t")
        parameters = tuple(map(float, options.split("_")))
        masks = found.setdefault(parameters, {})
        masks.setdefault(name, []).append((int(start), int(end)))
    return found


def printed_intervals(command: list[str], sequences: list[str], folder: Path) -> list[Intervals]:
    """Return what segmasker, dustmasker or tantan prints for some sequences, half-open.

    The test is skipped where the program is not installed.
    """
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    path = folder / "sequences.fasta"
    path.write_text("".join(f">{k}\n{letters}\n" for k, letters in enumerate(sequences)))
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True)
    found: list[Intervals] = [[] for _ in sequences]
    name = ""
    for line in done.stdout.splitlines():
        if line.startswith(">"):
            name = line[1:]
        elif "\t" in line:
            name, start, end = line.split("\t")
            found[int(name)].append((int(start), int(end)))
        else:
            start, end = line.split(" - ")
            found[int(name)].append((int(start), int(end) + 1))
    return found


def shared_letters(name: str, alphabet: Alphabet) -> list[str]:
    """Return the sequences of a set beside the project."""
    return [str(each) for each in read_sequences(SHARED / f"{name}.fasta.gz", alphabet)]
