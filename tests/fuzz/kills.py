"""Kill a search at random moments, resume it, and compare: nothing may be lost or left behind.

    python tests/fuzz/kills.py --kills 200 --seed 1 queries.fasta proteins.db
    python tests/fuzz/kills.py --command iterate queries.fasta proteins.db -- --out-pssm q.asn

Each round begins a search anew, ends it by a random signal at a random moment, resumes it, often
to be ended again, and at last lets it finish: its files must have the bytes of those of an
undisturbed search, nothing else may be left in its folder, and none of its processes may be left.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from swdual.io.journal import Journal
from swdual.master.checkpoint import read_completion

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}

AGAIN = 0.4
"""How often what was resumed is ended again."""

PATIENCE = 120.0
"""Seconds in which any search ends, and a search that was told to end does not count as hanging."""


@dataclass
class Tally:
    """What was seen."""

    kills: dict[signal.Signals, int] = field(default_factory=lambda: dict.fromkeys(SIGNALS, 0))
    too_late: int = 0
    resumed: int = 0
    kept: int = 0
    slowest_end: float = 0.0

    def __str__(self) -> str:
        kills = ", ".join(f"{count} {each.name}" for each, count in self.kills.items())
        return (
            f"{sum(self.kills.values())} kills ({kills}), {self.too_late} signals too late; "
            f"{self.kept} times something was kept; {self.resumed} searches resumed, all with the "
            f"same bytes; SIGINT and SIGTERM ended within {self.slowest_end:.2f} s"
        )


def torment(
    queries: Path,
    database: Path,
    kills: int,
    seed: int,
    options: tuple[str, ...] = (),
    name: str = "search",
) -> Tally:
    """Return what was seen in so many kills; an assertion fails where something is amiss."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        command = [sys.executable, "-m", "swdual", name, os.fspath(queries)]
        command += [os.fspath(database), "-o", "hits.tsv", "--no-progress", *options]
        started = time.monotonic()
        assert _ended(command, folder) == 0
        usual = time.monotonic() - started
        wanted = _contents(folder)
        while sum(tally.kills.values()) < kills:
            for file in wanted:
                (folder / file).unlink()
            mode: list[str] = []
            while True:
                started = time.monotonic()
                killed = _killed([*command, *mode], folder, usual, rng, tally)
                if not killed and not mode:
                    usual = time.monotonic() - started
                mode = ["--resume"]
                if not killed or rng.random() >= AGAIN:
                    break
            if killed:
                assert _ended([*command, *mode], folder) == 0
                tally.resumed += 1
            assert left_over(folder) == sorted(wanted)
            assert _contents(folder) == wanted
    return tally


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the files that a search has written."""
    return {name: (folder / name).read_bytes() for name in left_over(folder)}


def left_over(folder: Path) -> list[str]:
    """Return what is in a folder, but not a journal that says that its output is complete.

    That is there only where files have no extended attributes.
    """
    names = sorted(os.listdir(folder))
    for name in names:
        if name.endswith(".journal"):
            journal = Journal(folder / name)
            if read_completion(journal) is not None:
                names = [each for each in names if each != name]
            journal.close()
    return names


def _start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _ended(command: list[str], folder: Path) -> int:
    process = _start(command, folder)
    _, errors = process.communicate(timeout=PATIENCE)
    if process.returncode:
        print(errors.decode(), file=sys.stderr)
    return process.returncode


def _killed(
    command: list[str], folder: Path, usual: float, rng: np.random.Generator, tally: Tally
) -> bool:
    """End a search at a random moment; return whether it had not ended by itself."""
    which = SIGNALS[rng.integers(len(SIGNALS))]
    process = _start(command, folder)
    try:
        _, errors = process.communicate(timeout=rng.uniform(0, 1.1 * usual))
    except subprocess.TimeoutExpired:
        pass
    else:
        assert process.returncode == 0, errors.decode()
        tally.too_late += 1
        return False
    sent = time.monotonic()
    process.send_signal(which)
    _, errors = process.communicate(timeout=PATIENCE)
    took = time.monotonic() - sent
    if process.returncode == 0:
        tally.too_late += 1
        return False
    # Before the command is there to hear them, signals do what they do to Python. What is more, it
    # ends by SIGINT after all, handled or not, if that came while it ran a string of code.
    early = b"KeyboardInterrupt" in errors or not errors
    same = (-which,) if early or which == signal.SIGINT else ()
    assert process.returncode in (CODES[which], *same), (process.returncode, errors.decode())
    tally.kills[which] += 1
    tally.kept += (folder / "hits.tsv.journal").exists()
    if which != signal.SIGKILL:
        tally.slowest_end = max(tally.slowest_end, took)
        if process.returncode == CODES[which] and b"--resume" in errors:
            assert (folder / "hits.tsv.journal").exists()
    _refuse_orphans(process.pid)
    return True


def _refuse_orphans(group: int) -> None:
    """Fail if a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return
    raise AssertionError(f"processes of group {group} are left")


def main() -> None:
    """Do what the command line says, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", type=Path)
    parser.add_argument("database", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default="search", help="search or iterate")
    parser.add_argument("options", nargs="*", help="Of the search, after --.")
    given = parser.parse_args()
    places = given.queries.resolve(), given.database.resolve()
    print(torment(*places, given.kills, given.seed, tuple(given.options), given.command))


if __name__ == "__main__":
    main()
