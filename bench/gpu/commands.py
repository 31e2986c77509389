"""How long do whole commands take: one query, and twenty, on a GPU, on CPUs, and by default?

    python bench/gpu/commands.py --db FILE --queries FILE --keep

By turns, as processes, with databases built beforehand: one query, which is mostly the start of
Python and CUDA; all queries with scores alone, and with up to 500 alignments each; memory limits of
a half and of a third of the database; --only names some of them. In the end, all queries run once
more on all devices, for what was planned, the lower bound of all plans, what was taken and, with
--gantt, a chart of it; and one query runs once with an empty cache of compiled kernels.

What a command writes must be the same on all devices. Where it is not, or a command fails, this is
noted in the figures, and the exit code is 4 in the end. Figures are written after every turn.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import the_card
from _checks import Checks
from _data import LENGTHS, families, queries, write_database
from _report import run, save, table

from swdual import Database
from swdual.sequences import synthesis
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.records import as_sequences

FIRST, PLANNED = "one query, nothing compiled", "scores, auto"
PLAN = re.compile(r"predicted (\S+) s, lower bound (\S+) s.*scoring took (\S+) s", re.DOTALL)
ONE, ALL = "one.fasta", "all.fasta"
SCORES, ALIGNMENTS = ["-k", "10", "-f", "6 qseqid sseqid score"], ["-f", "6"]


class Command(NamedTuple):
    """A search: its queries, what it writes, and its other options."""

    queries: str
    output: list[str]
    options: list[str]


def commands(number: int, residues: int) -> dict[str, Command]:
    """Return the commands; `residues` is the size of the database."""
    card, limit = ["--device", f"cuda:{number}"], "--gpu-memory-limit"
    return {
        "one query, GPU": Command(ONE, ALIGNMENTS, card),
        "one query, auto": Command(ONE, ALIGNMENTS, ["--device", "auto"]),
        "one query, CPUs": Command(ONE, ALIGNMENTS, ["--device", "cpu"]),
        "scores, GPU": Command(ALL, SCORES, card),
        "scores, auto": Command(ALL, SCORES, ["--device", "auto"]),
        "scores, half in memory": Command(ALL, SCORES, [*card, limit, str(residues // 2)]),
        "scores, a third in memory": Command(ALL, SCORES, [*card, limit, str(residues // 3)]),
        "alignments, GPU": Command(ALL, ALIGNMENTS, card),
        "alignments, auto": Command(ALL, ALIGNMENTS, ["--device", "auto"]),
        "alignments, CPUs": Command(ALL, ALIGNMENTS, ["--device", "cpu"]),
    }


@click.command()
@click.option("--db", type=click.Path(path_type=Path), help="By default synthetic families.")
@click.option("--queries", "query_file", type=click.Path(path_type=Path), help="By default made.")
@click.option("--residues", default=200_000_000, help="Size of the synthetic database.")
@click.option("--length", default=400, help="Residues of the one query; it is made.")
@click.option("--number", default=0, help="Which GPU.")
@click.option("--repeats", default=3)
@click.option("--only", multiple=True, help="A command by its name; by default all.")
@click.option("--gantt", type=click.Path(path_type=Path), help="Draw the search on all devices.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    db: Path | None,
    query_file: Path | None,
    residues: int,
    length: int,
    number: int,
    repeats: int,
    only: tuple[str, ...],
    gantt: Path | None,
    keep: bool,
) -> None:
    card, checks = the_card(number), Checks()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if db is None:
            db = folder / "families.swdual"
            write_database(families(residues), db)
        with Database.open(db) as database:
            residues = database.residues
        _write([length], folder / ONE)
        if query_file is None:
            _write(LENGTHS, folder / ALL)
        else:
            (folder / ALL).symlink_to(query_file.absolute())
        cells = {
            name: residues * sum(len(x.codes) for x in as_sequences(folder / name, PROTEIN))
            for name in (ONE, ALL)
        }
        searches = Searches(folder, db.absolute(), checks)
        every, found = commands(number, residues), searches.found
        if unknown := set(only) - every.keys():
            raise click.BadParameter(f"no such command: {', '.join(sorted(unknown))}")
        left = {name: command for name, command in every.items() if name in (only or every)}
        plan: dict[str, float] = {}

        def write(quiet: bool) -> None:
            figures = {"residues": residues, "cells": cells, "seconds": found, "plan": plan}
            everything = {"device": card.facts(), **figures, "notes": checks.notes}
            save(f"gpu_commands_{card.short_name}", everything, kept=keep, quiet=quiet)

        for turn in range(repeats + 1):
            for name, command in [*left.items()]:
                if not searches.measure(name, command, counted=turn > 0):
                    del left[name]
            write(quiet=True)
        empty = ["env", f"SWDUAL_CACHE_DIR={folder / 'cache'}"]
        plan |= searches.plan(every[PLANNED], gantt)
        searches.measure(FIRST, every["one query, GPU"], prefix=empty)
        write(quiet=False)
    click.echo(f"swdual on {card.name}: {residues} residues")
    rows = []
    for name, times in found.items():
        middle = statistics.median(times)
        work = cells[ONE if name == FIRST else every[name].queries]
        rows.append((name, middle, min(times), max(times), work / middle / 1e9))
    table([("command", "seconds", "least", "most", "GCUPS"), *rows])
    click.echo(", ".join(f"{name} {seconds:.3f} s" for name, seconds in plan.items()))
    checks.end()


class Searches:
    """Whole commands, how long they took, and whether they write the same.

    Parameters
    ----------
    folder, database, checks
        Where the queries are, what is searched, and what notes outputs that differ.
    """

    def __init__(self, folder: Path, database: Path, checks: Checks) -> None:
        self._folder, self._database, self._checks = folder, database, checks
        self._outputs: dict[tuple[str, ...], bytes] = {}
        self.found: dict[str, list[float]] = {}

    def measure(
        self, name: str, command: Command, *, counted: bool = True, prefix: Iterable[str] = ()
    ) -> bool:
        """Run a command, behind the words of a prefix; return whether it ended well."""
        output = self._folder / "hits.tsv"
        output.unlink(missing_ok=True)
        with self._checks.noted(name):
            done = run([*prefix, *self._words(command, output.name)], self._folder)
            if counted:
                self.found.setdefault(name, []).append(done.seconds)
            written = output.read_bytes()
            if self._outputs.setdefault((command.queries, *command.output), written) != written:
                self._checks.note(f"{name}: other hits than those of a command before")
            return True
        return False

    def _words(self, command: Command, output: str) -> list[str]:
        """Return a search that writes to a file."""
        line = [sys.executable, "-m", "swdual", "search", command.queries, str(self._database)]
        return [*line, *command.options, *command.output, "-o", output]

    def plan(self, command: Command, gantt: Path | None) -> dict[str, float]:
        """Return the seconds that a search's plan predicts, those of its bound, and those taken."""
        drawn = [] if gantt is None else ["--gantt", str(gantt.absolute())]
        with self._checks.noted("plan"):
            run([*self._words(command, "planned.tsv"), "-v", *drawn], self._folder)
            said = PLAN.search((self._folder / "messages").read_text())
            if said is None:
                raise click.ClickException("the search says nothing of its plan")
            return dict(
                zip(("predicted", "lower bound", "taken"), map(float, said.groups()), strict=True)
            )
        return {}


def _write(lengths: Iterable[int], path: Path) -> None:
    with path.open("w") as stream:
        synthesis.write_fasta(queries(lengths), stream)


if __name__ == "__main__":
    main()
