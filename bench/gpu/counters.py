"""What do the hardware's counters say of the kernels: pipes, stalls, bank conflicts?

    python bench/gpu/counters.py --keep

Nsight Compute's `ncu` profiles some launches of a search, and of CUDASW++4.0 if --cudasw4 or the
environment variable CUDASW4 names the folder of its programs. The figures hold the sections of
each launch, and all counters by name, as ncu prints them. ncu runs each kernel several times: its
times are no benchmark.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import the_card
from _checks import Checks
from _cudasw4 import KINDS, Cudasw4
from _data import LENGTHS, families, queries, write_fasta
from _report import run, save, table

from swdual.sequences import synthesis

SECTIONS = (
    *("SpeedOfLight", "ComputeWorkloadAnalysis", "SchedulerStats", "WarpStateStats"),
    *("MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables", "LaunchStats", "Occupancy"),
)
"""Sections that are collected."""

OURS, THEIRS = "regex:^(q[12]|s2)_", "regex:NW_local_affine"
"""Names of the kernels."""

SHOWN = (
    *("Duration", "Registers Per Thread", "Executed Ipc Active", "SM Busy", "Achieved Occupancy"),
    "No Eligible",
)
"""Metrics of the sections that are printed."""

Launches = dict[str, dict[str, Any]]


@click.command()
@click.option("--db", type=click.Path(path_type=Path), help="FASTA; by default synthetic families.")
@click.option("--queries", "query_file", type=click.Path(path_type=Path), help="By default made.")
@click.option("--residues", default=50_000_000, help="Size of the synthetic database.")
@click.option(
    "--cudasw4",
    "programs",
    type=click.Path(path_type=Path),
    envvar="CUDASW4",
    help="Folder of CUDASW++4.0's programs, built; by default $CUDASW4.",
)
@click.option("--skip", default=3, help="Launches before the first that is profiled.")
@click.option("--skip-cudasw4", default=200, help="The same for CUDASW++4.0, which makes many.")
@click.option("--count", default=4, help="Launches that are profiled.")
@click.option("--number", default=0, help="Which GPU.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    db: Path | None,
    query_file: Path | None,
    residues: int,
    programs: Path | None,
    skip: int,
    skip_cudasw4: int,
    count: int,
    number: int,
    keep: bool,
) -> None:
    card, checks = the_card(number), Checks()
    if shutil.which("ncu") is None:
        raise click.ClickException("ncu is not on PATH; it is a part of Nsight Compute")
    other = None if programs is None else Cudasw4(programs)
    if other is not None:
        other.check()
    figures: dict[str, Launches] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if db is None:
            db = folder / "families.fasta"
            write_fasta(families(residues), db)
        if query_file is None:
            query_file = folder / "queries.fasta"
            with query_file.open("w") as stream:
                synthesis.write_fasta(queries(LENGTHS), stream)
        db, query_file, ours = db.absolute(), query_file.absolute(), folder / "db.swdual"
        run([sys.executable, "-m", "swdual", "makedb", str(db), str(ours)], folder)
        search = [sys.executable, "-m", "swdual", "search", str(query_file), str(ours)]
        search += ["--device", f"cuda:{number}", "-k", "10", "-o", str(folder / "hits.tsv")]
        commands = {"swdual": (OURS, search)}
        if other is not None:
            theirs = folder / "cudasw4" / "db"
            with checks.noted("CUDASW++4.0"):
                other.makedb(db, theirs)
                commands |= {
                    f"CUDASW++4.0 {kind}": (
                        THEIRS,
                        other.command(kind, query_file, theirs, 10, folder / "theirs.tsv"),
                    )
                    for kind in KINDS
                }
        for name, (kernels, command) in commands.items():
            before = skip if kernels == OURS else skip_cudasw4
            with checks.noted(name):
                figures[name] = profiled(command, kernels, folder, before, count)
            about = {"device": card.facts(), "notes": checks.notes}
            everything = {**about, "launches": figures}
            save(f"gpu_counters_{card.short_name}", everything, kept=keep, quiet=True)
    click.echo(f"swdual on {card.name}")
    rows = [
        (name, launch["kernel"][:40], *(_metric(launch, metric) for metric in SHOWN))
        for name, launches in figures.items()
        for launch in launches.values()
    ]
    table([("program", "kernel", *SHOWN), *rows])
    checks.end()


def profiled(command: list[str], kernels: str, folder: Path, skip: int, count: int) -> Launches:
    """Return the sections and the counters of some launches of a command, by their numbers."""
    report = folder / "report"
    sections = [word for section in SECTIONS for word in ("--section", section)]
    run(
        ["ncu", "--force-overwrite", "--export", str(report), "--clock-control", "none",
         "--target-processes", "all", "--kernel-name", kernels, "--launch-skip", str(skip),
         "--launch-count", str(count), *sections, *command],
        folder,
    )  # fmt: skip
    pages = {page: _page(report.with_suffix(".ncu-rep"), page) for page in ("details", "raw")}
    launches = launches_in(pages["details"])
    for number, counters in counters_in(pages["raw"]).items():
        launches[number]["counters"] = counters
    return launches


def _page(report: Path, page: str) -> str:
    command = ["ncu", "--import", str(report), "--csv", "--page", page, "--print-units", "base"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"ncu cannot read its report: {done.stdout}{done.stderr}")
    return done.stdout


def _rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table of ncu's, which may stand behind other lines."""
    lines = text.splitlines()
    head = next((k for k, line in enumerate(lines) if line.startswith('"ID",')), None)
    if head is None:
        raise click.ClickException(f"ncu's output is not understood:\n{text[:2000]}")
    return [*csv.DictReader(lines[head:])]


def _value(text: str) -> float | str:
    """Return a number, which may have commas between thousands, or the text.

    >>> _value("1,234.5"), _value("(512, 1, 1)")
    (1234.5, '(512, 1, 1)')
    """
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def launches_in(text: str) -> Launches:
    """Return kernel and sections of each launch in ncu's page of details.

    >>> rows = '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"'
    >>> rows += '\\n"0","q2_s16","Launch Statistics","Registers Per Thread","register/thread","128"'
    >>> launches_in(rows)["0"]["sections"]
    {'Launch Statistics': {'Registers Per Thread': [128.0, 'register/thread']}}
    """
    launches: Launches = {}
    for row in _rows(text):
        if not row["Metric Name"]:  # the remark of a rule
            continue
        new = {"kernel": row["Kernel Name"], "sections": {}}
        sections = launches.setdefault(row["ID"], new)["sections"]
        value = [_value(row["Metric Value"]), row["Metric Unit"]]
        sections.setdefault(row["Section Name"], {})[row["Metric Name"]] = value
    return launches


def counters_in(text: str) -> dict[str, dict[str, list[float | str]]]:
    """Return all counters of each launch in ncu's raw page, whose second line has the units.

    >>> counters_in('"ID","Kernel Name","sm__inst.sum"\\n"","","inst"\\n"0","k","1,000"')
    {'0': {'sm__inst.sum': [1000.0, 'inst']}}
    """
    units, *rows = _rows(text)
    return {
        row["ID"]: {
            name: [_value(row[name]), units[name]]
            for name in row
            if "__" in name and not name.startswith("device__")  # facts about the card
        }
        for row in rows
    }


def _metric(launch: dict[str, Any], name: str) -> str:
    """Return a metric of any section, with its unit."""
    for metrics in launch["sections"].values():
        if name in metrics:
            value, unit = metrics[name]
            return f"{value:g} {unit}" if isinstance(value, float) else f"{value} {unit}"
    return "-"


if __name__ == "__main__":
    main()
