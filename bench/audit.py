"""What do BLAST, DIAMOND and MMseqs2 miss of the hits of an exact search?

    python bench/audit.py --threads 2 --keep
    python bench/audit.py --set proteomes --method blastp --method "diamond --fast"

Each method is a program with options. It searches with E-values up to 10 and without a limit on
the targets of a query; all else is the program's default. `swdual audit` compares its table with an
exact search that scores as blastp does by default: BLOSUM62, 11/1, composition-based statistics of
mode 2. Methods whose program is not on PATH are skipped.

There are two sets of the shared data. `proteomes`: the 20 queries that SWIPE and CUDASW++ were
measured with, against 14 proteomes. `domains`: every tenth domain of SCOP40 against all of them.
"""

from __future__ import annotations

import gzip
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import RESULTS, markdown_table, run, write_report

import swdual
from swdual.auditing.audit import Audit
from swdual.version import __version__

PROTEINS = Path(__file__).resolve().parents[1] / ".." / "shared" / "proteins"

SETS = {
    "proteomes": ("queries20.fasta.gz", "refprot14.fasta.gz", 1),
    "domains": ("scop40.fasta.gz", "scop40.fasta.gz", 10),
}
"""Files of queries and targets, and which part of the queries is taken: each n-th."""

METHODS = (
    "blastp",
    *("diamond --fast", "diamond", "diamond --mid-sensitive", "diamond --sensitive"),
    *("diamond --more-sensitive", "diamond --very-sensitive", "diamond --ultra-sensitive"),
    "mmseqs",
    "mmseqs -s 7.5",
)

EVALUE = 10

PREPARATIONS = {
    "blastp": ["makeblastdb -in db.fasta -dbtype prot -out db"],
    "diamond": ["diamond makedb --in db.fasta -d dm"],
    "mmseqs": ["mmseqs createdb db.fasta mm", "mmseqs createdb q.fasta mq"],
}

COMMANDS = {
    "blastp": "blastp -query q.fasta -db db -num_threads {threads} -evalue {evalue} "
    "-max_target_seqs {targets} -outfmt 7 -out {table}",
    "diamond": "diamond blastp -q q.fasta -d dm -p {threads} -e {evalue} -k 0 --header -o {table}",
    "mmseqs": "mmseqs easy-search q.fasta mm {table} tmp --threads {threads} -e {evalue} "
    "--max-seqs {targets}",
}


def command_of(method: str, **values: Any) -> list[str]:
    """Return the command of a method."""
    name, *options = shlex.split(method)
    return [*shlex.split(COMMANDS[name].format(**values)), *options]


def read_records(path: Path) -> list[str]:
    """Return the records of a FASTA file, each without its ">"."""
    with gzip.open(path, "rt") as stream:
        return stream.read().strip().removeprefix(">").split("\n>")


def measure(
    queries: Sequence[str],
    targets: Sequence[str],
    methods: Sequence[str],
    sample: int | None,
    threads: int,
) -> tuple[Audit, dict[str, dict[str, Any]]]:
    """Return the audit of the tables of all methods; and the command of each."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, records in {"q": queries, "db": targets}.items():
            (folder / f"{name}.fasta").write_text("".join(f">{each}\n" for each in records))
        runs, tables, prepared = {}, [], set()
        for number, method in enumerate(methods):
            name = method.split()[0]
            if not shutil.which(name):
                click.echo(f"skipped: {method}: {name} is not on PATH", err=True)
                continue
            if name not in prepared:
                for preparation in PREPARATIONS[name]:
                    run(shlex.split(preparation), folder)
                prepared.add(name)
            table = f"{number}.tsv"
            command = command_of(
                method, threads=threads, evalue=EVALUE, targets=len(targets), table=table
            )
            run(command, folder)
            click.echo(f"{method}: done", err=True)
            runs[method] = {"command": shlex.join(command)}
            tables.append(folder / table)
        if not tables:
            raise click.ClickException("no method ran")
        found = swdual.audit(
            tables,
            folder / "q.fasta",
            folder / "db.fasta",
            evalue=EVALUE,
            max_target_seqs=0,
            sample=None if sample is None else min(sample, len(queries)),
            threads=threads,
        )
        return found, runs


def figures_of(found: Audit, runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of an audit, by method."""
    size, rows = len(found.bins), found.summary()
    for number, (own, measures) in enumerate(zip(runs.values(), found.measures(), strict=True)):
        bins = rows[number * size : (number + 1) * size]
        left_out = ("table", "unlisted")
        own["bins"] = [{k: v for k, v in row.items() if k not in left_out} for row in bins]
        own["differences"] = measures | {"table": f"{number}.tsv"}
    return {
        "queries": len(found.queries),
        "sample": None if found.sample is None else found.sample._asdict(),
        "hits": len(found.truth),
        **found.facts,
        "database": "db.fasta",
        "runs": runs,
    }


def markdown(sets: dict[str, dict[str, Any]]) -> str:
    """Return the tables of all sets."""
    parts = ["# Hits that other programs miss\n\n"]
    for name, figures in sets.items():
        first = next(iter(figures["runs"].values()))["bins"]
        parts.append(
            f"## {name}\n\n{figures['queries']:,} queries against {figures['sequences']}, "
            f"{figures['hits']:,} hits with E-values up to {EVALUE}. Hits found, in %, by exact "
            "E-value:\n\n"
        )
        rows = [["method", *(row["evalues"] for row in first)]]
        rows.append(["hits", *(f"{row['hits']:,}" for row in first)])
        for method, own in figures["runs"].items():
            rows.append([f"`{method}`", *map(share_of, own["bins"])])
        parts.append(markdown_table(rows))
        parts.append("\nAll hits that are found:\n\n")
        rows = [
            ["method", "lower scores", "by bits: median", "most", "pairs out of order", "first hit "
             "is no best hit", "no hit at all", "above the cutoff"]
        ]  # fmt: skip
        for method, own in figures["runs"].items():
            x = own["differences"]
            queries = sum(x["tops"].values())
            rows.append(
                [
                    f"`{method}`",
                    percent_of(x["lower"], x["scored"]),
                    f"{x['median_lower']:.1f}",
                    f"{x['most_lower']:.0f}",
                    percent_of(x["disorder"], x["comparable"]),
                    f"{x['tops']['other']:,} of {queries:,}",
                    f"{x['tops']['none']:,} of {queries:,}",
                    f"{x['extra']:,}",
                ]
            )
        parts.append(markdown_table(rows))
        parts.append("\nCommands:\n\n```text\n")
        parts += [f"{own['command']}\n" for own in figures["runs"].values()]
        parts.append("```\n\n")
    return "".join(parts).rstrip() + "\n"


def share_of(row: dict[str, Any]) -> str:
    """Return the share of hits found, in %, with its limits if it is that of a sample."""
    text = percent_of(row["found"], row["found"] + row["missed"]).removesuffix(" %")
    if row.get("low") is None:
        return text
    return f"{text} ({100 * row['low']:.1f} to {100 * row['high']:.1f})"


def percent_of(part: int, whole: int) -> str:
    """Return a share in %; "-" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def figure_of(sets: dict[str, dict[str, Any]]) -> Any:
    """Return a picture: the share of hits found by E-value, a line for each method."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    figure, axes = plt.subplots(
        1, len(sets), figsize=(5 * len(sets) + 1.6, 4.2), sharey=True, squeeze=False
    )
    for ax, (name, figures) in zip(axes[0], sets.items(), strict=True):
        for number, (method, own) in enumerate(figures["runs"].items()):
            bins = own["bins"][:-1]
            ax.plot(
                [row["evalues"] for row in bins],
                [100 * row["found"] / max(1, row["found"] + row["missed"]) for row in bins],
                marker="os^v"[number % 4],
                linestyle=("-", "--", ":")[number // 4 % 3],
                label=method,
            )
        ax.set_title(f"{name}: {figures['queries']:,} queries")
        ax.set_xlabel("exact E-value")
        ax.tick_params(axis="x", rotation=40)
        ax.set_ylim(0, 103)
    axes[0, 0].set_ylabel("hits found, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return figure


@click.command(help=__doc__.split("\n\n", 1)[0])
@click.option("--set", "names", multiple=True, type=click.Choice([*SETS]), help="Repeatable.")
@click.option("--method", "methods", multiple=True, help="Program with options; repeatable.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), default=PROTEINS,
              help="Folder of the sets.")  # fmt: skip
@click.option("--every", type=click.IntRange(min=1), help="Take each n-th query.")
@click.option("--sample", type=click.IntRange(min=1), help="Audit so many random queries.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write the results to.")
@click.option("--keep", is_flag=True, help="Write them to bench/results.")
def main(
    names: tuple[str, ...],
    methods: tuple[str, ...],
    data: Path,
    every: int | None,
    sample: int | None,
    threads: int,
    out: Path | None,
    keep: bool,
) -> None:
    sets = {}
    for name in names or SETS:
        queries, targets, step = SETS[name]
        records = read_records(data / queries)[:: every or step]
        sets[name] = figures_of(
            *measure(records, read_records(data / targets), methods or METHODS, sample, threads)
        )
    click.echo(markdown(sets))
    if folder := RESULTS / __version__ if keep else out:
        write_report(
            folder,
            "audit",
            {"evalue": EVALUE, "threads": threads, "sets": sets},
            markdown(sets),
            lambda: figure_of(sets),
        )


if __name__ == "__main__":
    main()
