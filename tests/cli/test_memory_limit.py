"""Memory as the system measures it: within the limit that was set, and the same bytes come out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from swdual.runtime.memory import MIB
from swdual.sequences.alphabet import PROTEIN

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not Path("/proc/self/statm").exists(), reason="peaks are measured as Linux counts them"
    ),
]

TOLERANCE = 1.05
"""What a peak may be, to the limit."""

MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
"""A process so small that what its child was forked from does not count."""


FOUR_CPUS = """
import sys
from swdual.cli import _options, main
_options.cpus = lambda: 4
main(sys.argv[1:])
"""
"""The command on a machine with four CPUs, so that four threads are taken."""


class Measured(NamedTuple):
    """How a command ended, what it wrote and said, and the most memory it had, in bytes."""

    code: int
    out: bytes
    err: str
    peak: int


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A database of some thousand targets, with giants among them, and two long queries."""
    folder = tmp_path_factory.mktemp("limits")
    letters = np.frombuffer(PROTEIN.letters[:20].encode(), np.uint8)
    rng = np.random.default_rng(8)

    def text(length):
        return letters[rng.integers(0, 20, length)].tobytes()

    queries = [text(3000), text(800)]
    # Half of the targets have a stretch of a query in them, so that there is much to align.
    targets = [text(n) for n in [20_000, 9000, *rng.integers(50, 3200, 2500)]]
    for k in range(0, len(targets), 2):
        part = queries[k // 2 % 2][k % 700 :][: rng.integers(60, 2000)]
        targets[k] = targets[k][: len(targets[k]) // 2] + part + targets[k][-20:]
    for name, records in (("q.fa", queries), ("t.fa", targets)):
        lines = (b">%s%d a title\n%s\n" % (name[:1].encode(), *each) for each in enumerate(records))
        (folder / name).write_bytes(b"".join(lines))
    measured(folder, "makedb", "t.fa", "t.db")
    return folder


def measured(folder, *arguments, **environment):
    """Run the command in a folder, and measure it from outside."""
    command = [sys.executable, "-c", FOUR_CPUS, *arguments]
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )
    *said, peak = done.stderr.decode().splitlines()
    return Measured(done.returncode, done.stdout, "\n".join(said), int(peak) << 10)


def smallest(folder, *arguments):
    """Return the smallest workable limit, in MiB, as a refusal names it."""
    outcome = measured(folder, *arguments, "--memory-limit", "9M")
    assert (outcome.code, outcome.out) == (4, b"")
    assert "9 MiB of memory (--memory-limit) are too little" in outcome.err
    return int(re.search(r"smallest workable limit is --memory-limit (\d+)M", outcome.err)[1])


SEARCH = ("search", "q.fa", "t.db", "--no-progress", "--threads", "4", "--device", "cpu")
EVERYTHING = ("-k", "0", "-e", "1e9")


@pytest.mark.case(number=25)
@pytest.mark.case(number=28)
@pytest.mark.parametrize(
    "options",
    [
        ("-f", "6 std stitle"),
        (*EVERYTHING, "-f", "6 std rank qseq sseq"),
        ("-f", "0", "--stats", "fit"),
    ],
    ids=["usual", "all hits", "fitted"],
)
def test_a_search_stays_within_its_limit(folder, options):
    """From the smallest limit upwards: the peak is no larger, and the output is the same.

    Where all hits are kept, the smallest limit also lowers the peak. The other searches have little
    to save: most of theirs are the program and what a thread needs at least.
    """
    free = measured(folder, *SEARCH, *options)
    assert free.code == 0, free.err
    least = smallest(folder, *SEARCH, *options)
    limits = (least, least + 40, 2 * least)
    peaks = []
    for limit in limits:
        bound = measured(folder, *SEARCH, *options, "--memory-limit", f"{limit}M")
        assert bound.code == 0, bound.err
        assert bound.out == free.out
        peaks.append(bound.peak)
    for limit, peak in zip(limits, peaks, strict=True):
        assert peak <= TOLERANCE * limit * MIB, (limits, peaks)
    if "-k" in options:
        assert peaks[0] < 0.9 * free.peak, (peaks, free.peak)


@pytest.mark.case(number=25)
def test_a_database_that_is_indexed_in_memory_counts(folder):
    """It takes more than the file does, which the message says; the hits are the same."""
    from_file = measured(folder, *SEARCH)
    in_memory = ("search", "q.fa", "t.fa", *SEARCH[3:])
    least = smallest(folder, *in_memory)
    assert least > smallest(folder, *SEARCH)
    bound = measured(folder, *in_memory, "--memory-limit", f"{least}M")
    assert (bound.code, bound.out) == (0, from_file.out)
    assert bound.peak <= TOLERANCE * least * MIB


@pytest.mark.case(number=25)
def test_makedb_stays_within_its_limit(folder):
    """A file much larger than the limit leaves room for; the database is the same."""
    text = (folder / "t.fa").read_bytes()
    with (folder / "large.fa").open("wb") as stream:
        for copy in range(80):
            stream.write(text.replace(b">t", b">c%dt" % copy))
    least = smallest(folder, "makedb", "large.fa", "small.db")
    free = measured(folder, "makedb", "large.fa", "large.db")
    assert free.code == 0, free.err
    assert free.peak > TOLERANCE * least * MIB
    bound = measured(folder, "makedb", "large.fa", "small.db", "--memory-limit", f"{least}M")
    assert bound.code == 0, bound.err
    assert bound.peak <= TOLERANCE * least * MIB
    assert (folder / "small.db").read_bytes() == (folder / "large.db").read_bytes()
    for name in ("large.fa", "large.db", "small.db"):
        (folder / name).unlink()


@pytest.mark.smoke(1)
@pytest.mark.case(number=25)
@pytest.mark.parametrize("command", [SEARCH, ("makedb", "t.fa", "other.db")], ids=lambda x: x[0])
def test_what_slurm_gave_the_job_is_a_limit(folder, command):
    """Without --memory-limit; the message says whose limit it is."""
    outcome = measured(folder, *command, SLURM_MEM_PER_NODE="100")
    assert (outcome.code, outcome.out) == (4, b"")
    assert "90 MiB of memory (SLURM's limit for this job) are too little" in outcome.err
    assert not (folder / "other.db").exists()


@pytest.mark.smoke
def test_a_size_is_a_positive_number(refuses):
    """Anything else is refused as an option."""
    for text in ("0", "-5", "1T", "some", "1.5G"):
        refuses(
            1, ["--memory-limit", "not a size"], "search", "q.fa", "t.fa", "--memory-limit", text
        )
