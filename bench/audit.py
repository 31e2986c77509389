"""What do BLAST, DIAMOND, MMseqs2 and HMMER miss of the hits of an exact search?

    python bench/audit.py --threads 2 --keep
    python bench/audit.py --set domains --every 100 --method blastp --method "diamond --fast"
    python bench/audit.py --queries mine.fasta --db proteins.fasta --out found

Each method is a program with options. It searches with E-values up to 10 and without a limit on
the targets of a query; all else is the program's default. `swdual audit` compares its table with an
exact search that scores as blastp does by default: BLOSUM62, 11/1, composition-based statistics of
mode 2. Methods whose program is not on PATH, or fails, are skipped.

The tables have the shares of hits found by exact E-value, and by length and composition of the
target. Composition is told by its bias: the relative entropy of its amino acids, in bits per
residue, to the background of the statistics, less what chance adds in so short a sequence. Each
share has a 95 % interval from a bootstrap over queries; that of 0 or 100 % has no width. Pairs of a
sequence with itself do not count; sequences are the same if their identifiers are.

There are two sets of the shared data. `proteomes`: every 200th of a sample of 14 proteomes against
all of it. `domains`: every 40th domain of SCOP40 against all of them.
"""

from __future__ import annotations

import gzip
import math
import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Floats, Integers, resamples
from _report import RESULTS, limits, markdown_table, write_report
from _searches import (
    PROGRAMS,
    Execution,
    attempt,
    execute,
    find_program,
    prepare,
    read_output,
    version_of,
)
from calibration import LETTERS, relative_entropy

import swdual
from swdual.auditing.audit import Audit
from swdual.auditing.comparison import choose_edges, label_bins
from swdual.auditing.findings import ALL
from swdual.version import __version__

PROTEINS = Path(__file__).resolve().parents[1] / ".." / "shared" / "proteins"

SETS = {
    "proteomes": ("bench20k.fasta.gz", "bench20k.fasta.gz", 200),
    "domains": ("scop40.fasta.gz", "scop40.fasta.gz", 40),
}
"""Files of queries and targets, and which part of the queries is taken: each n-th."""

METHODS = (
    *("blastp", "blastp -word_size 2 -threshold 8 -window_size 0"),
    *("diamond", "diamond --ultra-sensitive", "diamond --swipe --masking 0", "diamond --swipe"),
    *("mmseqs", "mmseqs -s 7.5", "mmseqs --prefilter-mode 2"),
    "phmmer",
)
"""The default of each program; its most sensitive mode; and, where that still looks for candidates,
the mode that aligns all pairs, nothing masked, so that only scores make a difference. DIAMOND's
with masked repeats tells what masking does. The most sensitive mode of phmmer, `--max`, is left
out: it takes some 40 times as long as the default.
"""

EVALUE = 10

SIGNIFICANT = 1e-3
"""Hits up to this E-value, and weaker ones, have shares of their own by length and composition."""

LENGTHS = (100, 200, 400, 800)
"""Residues of a target, between the bins."""

BIASES = (0.05, 0.1, 0.2, 0.4)
"""Bits per residue, between the bins."""

Record = tuple[str, str]
"""The title of a sequence, and its residues."""


def read_records(path: Path) -> list[Record]:
    """Return the sequences of a FASTA file, which may be gzip'ed."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    records = (record.split("\n") for record in f"\n{text}".split("\n>")[1:])
    return [(title.strip(), "".join("".join(lines).split())) for title, *lines in records]


def identifier_of(record: Record) -> str:
    """Return the first word of a title."""
    return record[0].split()[0]


def bias_of(residues: str) -> float:
    """Return by how many bits per residue a composition differs from the background.

    The estimate from n residues exceeds the true value by about 19 / (2 n) nats, which are
    subtracted (Miller 1955). So unbiased sequences have values about 0. Other letters than the 20
    do not count.
    """
    letters = np.frombuffer(residues.upper().encode(), np.uint8)
    letters = letters[np.isin(letters, LETTERS)]
    if not len(letters):
        return math.nan
    return relative_entropy(letters) - (len(LETTERS) - 1) / (2 * len(letters) * math.log(2))


def count_shares(
    queries: Integers, bins: Integers, found: NDArray[np.bool_], size: int, weights: Integers
) -> Floats:
    """Return (samples, size) the share of the hits that are found in each bin; NaN of none.

    Parameters
    ----------
    queries, bins, found
        (hits,) number of the query, number of the bin, and whether it is found, of each hit.
    size
        Number of bins.
    weights
        (samples, queries) how often each query is in a sample.
    """
    count = weights.shape[1]
    cells = queries * size + bins
    could = np.bincount(cells, minlength=count * size).reshape(count, size)
    own = np.bincount(cells[found], minlength=count * size).reshape(count, size)
    with np.errstate(invalid="ignore"):
        return (weights @ own) / (weights @ could)


def tell_shares(
    queries: Integers,
    values: Floats,
    found: NDArray[np.bool_],
    edges: tuple[float, ...],
    labels: Sequence[str],
    weights: Integers,
) -> list[dict[str, Any]]:
    """Return hits, hits found, and their share with its limits, of each bin of some values.

    Parameters
    ----------
    queries, values, found
        (hits,) number of the query, what decides about the bin, and whether it is found.
    edges
        The values between the bins; a hit at an edge belongs to the bin above.
    labels
        What the bins are called.
    weights
        What `resamples` returned.
    """
    bins = np.searchsorted(edges, values, "right")
    shares = count_shares(queries, bins, found, len(labels), weights)
    rows = []
    for number, label in enumerate(labels):
        inside = bins == number
        rows.append(
            {
                "bin": label,
                "hits": int(inside.sum()),
                "found": int(found[inside].sum()),
                "share": limits(shares[:, number]) if inside.any() else [None] * 3,
            }
        )
    return rows


def describe(targets: Iterable[Record]) -> dict[str, tuple[float, float]]:
    """Return length and bias of each target, by its identifier."""
    return {identifier_of(x): (float(len(x[1])), bias_of(x[1])) for x in targets}


def shares_of(
    found: Audit, properties: Mapping[str, tuple[float, float]], count: int
) -> list[dict[str, Any]]:
    """Return the shares of hits found by each table of an audit.

    Parameters
    ----------
    found
        The audit.
    properties
        What `describe` returned.
    count
        Number of samples of the queries.

    Returns
    -------
    For each table: "evalue", the rows of `tell_shares` by exact E-value; "length" and "bias", the
    same for the ranges "significant" and "weak" of E-values; and "all", one row.
    """
    columns = {name: np.array(values) for name, values in found.columns().items()}
    counted = (columns["query"] != columns["target"]) & np.isin(
        columns["verdict"], ("found", "missed")
    )
    names = {found.query_ids[k]: number for number, k in enumerate(found.queries.tolist())}
    weights = resamples(len(found.queries), count, seed=1)
    tables = []
    for label in found.labels:
        own = counted & (columns["table"] == label)
        queries = np.array([names[x] for x in columns["query"][own]], np.int64)
        evalues = columns["evalue"][own].astype(np.float64)
        lengths, biases = np.array([properties[x] for x in columns["target"][own]]).reshape(-1, 2).T
        there = columns["verdict"][own] == "found"
        weak = evalues > SIGNIFICANT
        shares: dict[str, Any] = {
            "all": tell_shares(queries, evalues, there, (), [ALL], weights),
            "evalue": tell_shares(
                queries, evalues, there, choose_edges(EVALUE), found.bins[:-1], weights
            ),
        }
        for name, values, edges in ("length", lengths, LENGTHS), ("bias", biases, BIASES):
            shares[name] = {
                title: tell_shares(
                    queries[x], values[x], there[x], edges, label_bins(edges), weights
                )
                for title, x in {"significant": ~weak, "weak": weak}.items()
            }
        tables.append(shares)
    return tables


def measure(
    queries: Sequence[Record],
    targets: Sequence[Record],
    methods: Sequence[str],
    sample: int | None,
    threads: int,
    count: int,
) -> dict[str, Any]:
    """Return what all methods find of the hits of an exact search.

    Parameters
    ----------
    queries, targets
        What is searched for, and in what.
    methods
        Programs with options.
    sample
        Audit so many random queries; None for all.
    threads
        Threads of the programs.
    count
        Number of samples of the queries for the intervals.
    """
    names = [*dict.fromkeys(map(identifier_of, [*queries, *targets]))]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, records in {"q": queries, "one": queries[:1], "db": targets}.items():
            text = "".join(f">{title}\n{residues}\n" for title, residues in records)
            (folder / f"{name}.fasta").write_text(text)
        runs: dict[str, dict[str, Any]] = {}
        tables = []

        def find(method: str) -> Execution:
            prepare(method, folder)
            return execute(method, folder, len(targets), EVALUE, threads, twelve=True)

        for method in methods:
            if done := attempt(method, lambda method=method: find(method)):
                tables.append(take_table(method, folder, names, folder / f"{len(tables)}.tsv"))
                runs[method] = {
                    "version": version_of(method),
                    "command": shlex.join(done.command).replace(sys.executable, "python"),
                    "seconds": done.seconds,
                }
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
    properties = describe(targets)
    shares = shares_of(found, properties, count)
    for number, (own, measures) in enumerate(zip(runs.values(), found.measures(), strict=True)):
        own["shares"] = shares[number]
        own["differences"] = measures | {"table": f"{number}.tsv"}
    return {
        "queries": len(found.queries),
        "sample": None if found.sample is None else found.sample._asdict(),
        **found.facts,
        "database": "db.fasta",
        "deciles of the bias": np.nanpercentile(
            [bias for _, bias in properties.values()], np.arange(10, 100, 10)
        ).tolist(),
        "runs": runs,
    }


def take_table(method: str, folder: Path, names: Sequence[str], path: Path) -> Path:
    """Keep the table that `execute` wrote; return its path.

    A program that cannot write BLAST's columns gives queries, targets and E-values.
    """
    program = PROGRAMS[find_program(method)[0]]
    if program.twelve is not None:
        return (folder / program.output).rename(path)
    queries, targets, evalues, _ = read_output(method, folder, names, EVALUE)
    rows = (
        f"{names[query]}\t{names[target]}\t{evalue:g}\n"
        for query, target, evalue in zip(queries, targets, evalues, strict=True)
    )
    path.write_text("".join(["qseqid\tsseqid\tevalue\n", *rows]))
    return path


RANGES = {"significant": f"up to {SIGNIFICANT:g}", "weak": f"from {SIGNIFICANT:g} to {EVALUE}"}


def markdown(sets: Mapping[str, dict[str, Any]]) -> str:
    """Return the tables of all sets."""
    parts = ["# Hits that other programs miss\n\n"]
    for name, figures in sets.items():
        runs = figures["runs"]
        first = next(iter(runs.values()))["shares"]
        parts.append(
            f"## {name}\n\n{figures['queries']:,} queries against {figures['sequences']}. Hits "
            "found, in %, with 95 % intervals from a bootstrap over queries; "
            f"{first['all'][0]['hits']:,} hits with E-values up to {EVALUE}, without those of a "
            "sequence with itself. By exact E-value:\n\n"
        )
        parts.append(
            table_of({method: x["shares"]["evalue"] + x["shares"]["all"] for method, x in
                      runs.items()})
        )  # fmt: skip
        for key, title in {
            "length": "residues of the target",
            "bias": "bias of the target's composition, in bits per residue",
        }.items():
            for part, label in RANGES.items():
                parts.append(f"\nHits with E-values {label}, by {title}:\n\n")
                parts.append(table_of({m: x["shares"][key][part] for m, x in runs.items()}))
        parts.append("\nAll hits that are found:\n\n")
        rows = [
            ["method", "lower scores", "by bits: median", "most", "pairs out of order", "first hit "
             "is no best hit", "no hit at all", "above the cutoff"]
        ]  # fmt: skip
        for method, own in runs.items():
            x = own["differences"]
            queries = sum(x["tops"].values())
            rows.append(
                [
                    f"`{method}`",
                    percent_of(x["lower"], x["scored"]),
                    f"{x['median_lower']:.1f}" if x["scored"] else "-",
                    f"{x['most_lower']:.0f}" if x["scored"] else "-",
                    percent_of(x["disorder"], x["comparable"]),
                    f"{x['tops']['other']:,} of {queries:,}",
                    f"{x['tops']['none']:,} of {queries:,}",
                    f"{x['extra']:,}",
                ]
            )
        parts.append(markdown_table(rows))
        parts.append("\nThe runs, of whole commands without the making of databases:\n\n")
        rows = [["method", "version", "seconds"]]
        rows += [[f"`{method}`", x["version"], f"{x['seconds']:.1f}"] for method, x in runs.items()]
        parts.append(markdown_table(rows))
        parts.append("\n```text\n")
        parts += [f"{own['command']}\n" for own in runs.values()]
        parts.append("```\n\n")
    return "".join(parts).rstrip() + "\n"


def table_of(rows: Mapping[str, Sequence[dict[str, Any]]]) -> str:
    """Return the shares of each method as a table."""
    bins = next(iter(rows.values()))
    table = [["method", *(row["bin"] for row in bins)]]
    table.append(["hits", *(f"{row['hits']:,}" for row in bins)])
    table += [[f"`{method}`", *map(cell_of, own)] for method, own in rows.items()]
    return markdown_table(table)


def cell_of(row: dict[str, Any]) -> str:
    """Return a share with its limits, in %."""
    share, low, high = row["share"]
    return "-" if share is None else f"{100 * share:.1f} ({100 * low:.0f} to {100 * high:.0f})"


def percent_of(part: int, whole: int) -> str:
    """Return a share in %; "-" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def figure_of(sets: Mapping[str, dict[str, Any]]) -> Any:
    """Return a picture: the share of hits found by E-value, a line for each method."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    figure, axes = plt.subplots(
        1, len(sets), figsize=(5 * len(sets) + 2.4, 4.2), sharey=True, squeeze=False
    )
    programs = [*dict.fromkeys(method.split()[0] for x in sets.values() for method in x["runs"])]
    for ax, (name, figures) in zip(axes[0], sets.items(), strict=True):
        before: list[str] = []
        for method, own in figures["runs"].items():
            program = method.split()[0]
            mode = before.count(program)
            before.append(program)
            shares = [row["share"][0] for row in own["shares"]["evalue"]]
            ax.plot(
                [row["bin"] for row in own["shares"]["evalue"]],
                [math.nan if x is None else 100 * x for x in shares],
                color=f"C{programs.index(program)}",
                marker="os^v"[mode % 4],
                linestyle=("--", "-", ":", "-.")[mode % 4],
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
@click.option("--queries", type=click.Path(path_type=Path, exists=True), help="Own queries, FASTA.")
@click.option("--db", type=click.Path(path_type=Path, exists=True), help="Own proteins, FASTA.")
@click.option("--every", type=click.IntRange(min=1), help="Take each n-th query.")
@click.option("--sample", type=click.IntRange(min=1), help="Audit so many random queries.")
@click.option("--resamples", "count", type=click.IntRange(min=1), default=1000, show_default=True,
              help="Of the queries, for intervals.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write the results to.")
@click.option("--keep", is_flag=True, help="Write them to bench/results.")
def main(
    names: tuple[str, ...],
    methods: tuple[str, ...],
    data: Path,
    queries: Path | None,
    db: Path | None,
    every: int | None,
    sample: int | None,
    count: int,
    threads: int,
    out: Path | None,
    keep: bool,
) -> None:
    if (queries is None) != (db is None):
        raise click.UsageError("--queries and --db belong together")
    files = {name: SETS[name] for name in names or SETS}
    if queries and db:
        files = {"own": (str(queries.absolute()), str(db.absolute()), 1)}
    sets = {}
    for name, (query_file, target_file, step) in files.items():
        chosen = read_records(data / query_file)[:: every or step]
        sets[name] = measure(
            chosen, read_records(data / target_file), methods or METHODS, sample, threads, count
        )
    click.echo(markdown(sets))
    if folder := RESULTS / __version__ if keep else out:
        write_report(
            folder,
            "audit",
            {"evalue": EVALUE, "threads": threads, "resamples": count, "sets": sets},
            markdown(sets),
            lambda: figure_of(sets),
        )


if __name__ == "__main__":
    main()
