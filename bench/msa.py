"""Are the alignments of `swdual msa` as deep, and as good, as those of jackhmmer, and sooner?

    python bench/msa.py --keep
    python bench/msa.py --method swdual --method "jackhmmer -N 1" --queries 10

Domains of known structure are searched in a database of all these domains and of proteins of
unknown structure, with one E-value for reports and profiles. The programs are swdual, jackhmmer,
and mmseqs: the last one with the options of ColabFold's search, as far as they do not need a
database of clusters. Those that are not on PATH, or that fail, are skipped.

The measures, of each query's alignment, without rows that no residue of the query is aligned with:

- rows, and effective rows: each counts one part of those that equal it in 80 % of the columns
- the share of the query's family and superfamily that has a row; and false rows, of other folds
- agreement with jackhmmer, over the targets that both have: the pairs of residues that both align,
  as a share of those that jackhmmer aligns, and of those that the method aligns

Times are those of whole commands.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import FALSE, FAMILY, SUPERFAMILY, Integers, Truth, read_truth
from _report import RESULTS, Run, markdown_table, run, table, write_report
from _searches import SWDUAL
from sensitivity import choose_files, read_background, read_domains

from swdual.multiple_alignment.filters import count_effective
from swdual.version import __version__

METHODS = ("swdual", "jackhmmer -N 3", "mmseqs")

REFERENCE = "jackhmmer"
"""The program whose columns others are compared with."""

MIN_MEMBERS = 2
"""Other members of its family that a query has, at least."""


class Row(NamedTuple):
    """A row in a3m: the target, and letters in upper case, lower case, and gaps."""

    target: str
    letters: str


def read_a3m(text: str) -> list[Row]:
    """Return the rows of a3m, the query first."""
    rows = []
    for record in text.replace("\0", "").split("\n>"):
        header, _, letters = record.removeprefix(">").partition("\n")
        if header.strip():
            rows.append(Row(re.split(r"[\s/]", header)[0], "".join(letters.split())))
    return rows


def read_stockholm(lines: Iterator[str]) -> Iterator[list[Row]]:
    """Yield the rows of each alignment, in a3m by the columns of its first row."""
    rows: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("//"):
            texts = {name: "".join(parts) for name, parts in rows.items()}
            query = np.frombuffer(next(iter(texts.values())).encode(), np.uint8)
            matched = (query != ord("-")) & (query != ord("."))
            yield [Row(name.split("/")[0], _as_a3m(text, matched)) for name, text in texts.items()]
            rows = {}
        elif line.strip() and line[0] != "#":
            name, text = line.split()
            rows.setdefault(name, []).append(text)


def _as_a3m(text: str, matched: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Return a row with insertions in lower case, and gaps only where columns match."""
    upper = text.upper().replace(".", "-")
    return "".join(
        letter if inside else letter.lower()
        for letter, inside in zip(upper, matched.tolist(), strict=True)
        if inside or letter != "-"
    )


class Program(NamedTuple):
    """How to run a program in a folder with ``q.fasta`` and ``db.fasta``."""

    preparations: list[list[str]]
    commands: Callable[[str, str, list[str]], list[list[str]]]
    """Returns its commands, from threads, the E-value, and options."""

    read: Callable[[Path], Iterator[list[Row]]]
    """Yields the rows of each query from a folder."""


def _read_folder(folder: Path, pattern: str) -> Iterator[list[Row]]:
    for path in sorted(folder.glob(pattern)):
        yield read_a3m(path.read_text())


def _read_jackhmmer(folder: Path) -> Iterator[list[Row]]:
    with (folder / "out.sto").open() as lines:
        yield from read_stockholm(lines)


def _mmseqs(threads: str, evalue: str, options: list[str]) -> list[list[str]]:
    """Return ColabFold's steps: search in three rounds, filter, write a3m."""
    several = ["--threads", threads]
    return [
        ["mmseqs", "search", "mq", "mm", "res", "tmp", *several, "--num-iterations", "3", "-s", "8",
         "-e", evalue, "--e-profile", evalue, "--max-seqs", "10000", "-a", *options],
        ["mmseqs", "filterresult", "mq", "mm", "res", "filtered", *several, "--qid", "0",
         "--qsc", "0.8", "--diff", "0", "--max-seq-id", "1.0", "--filter-min-enable", "100"],
        ["mmseqs", "result2msa", "mq", "mm", "filtered", "msa", *several, "--msa-format-mode", "6",
         "--filter-msa", "1", "--filter-min-enable", "1000", "--diff", "3000",
         "--qid", "0.0,0.2,0.4,0.6,0.8,1.0", "--qsc", "0", "--max-seq-id", "0.95"],
        ["mmseqs", "unpackdb", "msa", "unpacked", "--unpack-name-mode", "0", "--unpack-suffix",
         ".a3m"],
    ]  # fmt: skip


PROGRAMS = {
    "swdual": Program(
        [[*SWDUAL, "makedb", "db.fasta", "db.swdual"],
         [*SWDUAL, "msa", "one.fasta", "db.swdual", "-o", "one.a3m"]],  # compiles the kernels
        lambda n, e, more: [[*SWDUAL, "msa", "q.fasta", "db.swdual", "-o", "msas/", "-f", "a3m",
                             "-p", n, "--inclusion", e, *more]],
        lambda folder: _read_folder(folder, "msas/*.a3m"),
    ),
    "jackhmmer": Program(
        [],
        lambda n, e, more: [["jackhmmer", "--cpu", n, "-E", e, "--domE", e, "--incE", e,
                             "--incdomE", e, "--noali", "-o", "out", "-A", "out.sto", *more,
                             "q.fasta", "db.fasta"]],
        _read_jackhmmer,
    ),
    "mmseqs": Program(
        [["mmseqs", "createdb", "db.fasta", "mm"], ["mmseqs", "createdb", "q.fasta", "mq"]],
        _mmseqs,
        lambda folder: _read_folder(folder, "unpacked/*.a3m"),
    ),
}  # fmt: skip


class Alignments(NamedTuple):
    """What a program made: the rows of each query by its name, and what it cost."""

    rows: dict[str, list[Row]]
    cost: Run


def align(
    method: str,
    queries: list[tuple[str, str]],
    targets: list[tuple[str, str]],
    threads: int,
    evalue: float,
) -> Alignments:
    """Run a method and return its alignments.

    Parameters
    ----------
    method
        A program with options.
    queries, targets
        Names and residues.
    threads, evalue
        Threads of the program, and the largest E-value of a row.

    Raises
    ------
    click.ClickException
        If the program is unknown, is missing or fails.
    """
    name, *options = shlex.split(method)
    if name not in PROGRAMS:
        raise click.ClickException(f"unknown program {name}; known: {', '.join(PROGRAMS)}")
    if name != "swdual" and not shutil.which(name):
        raise click.ClickException(f"{name} is not on PATH")
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file, part in {"db": targets, "q": queries, "one": queries[:1]}.items():
            text = "".join(f">{name}\n{sequence}\n" for name, sequence in part)
            (folder / f"{file}.fasta").write_text(text)
        (folder / "unpacked").mkdir()
        for command in program.preparations:
            run(command, folder)
        costs = [
            run(command, folder)
            for command in program.commands(str(threads), f"{evalue:g}", options)
        ]
        rows = {found[0].target: found for found in program.read(folder)}
    total = Run(
        sum(cost.seconds for cost in costs),
        sum(cost.cpu_seconds for cost in costs),
        max(cost.peak_mib for cost in costs),
    )
    return Alignments(rows, total)


def match_columns(rows: list[Row]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return (rows, L) the letters in the columns of the query."""
    texts = [re.sub("[a-z]", "", row.letters) for row in rows]
    return np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(rows), -1)


def find_pairs(row: Row, target: str) -> set[tuple[int, int]]:
    """Return the pairs of columns and residues of the target that a row aligns, from 0.

    >>> sorted(find_pairs(Row("t", "K-vLA"), "MKVLAW"))
    [(0, 1), (2, 3), (3, 4)]
    """
    residues = row.letters.replace("-", "")
    place = target.find(residues.upper())
    column, pairs = 0, set()
    if place < 0:  # letters that a program does not know are others in its row
        return pairs
    for letter in row.letters:
        if letter.isupper():
            pairs.add((column, place))
        column += not letter.islower()
        place += letter != "-"
    return pairs


def agree(ours: list[Row], theirs: list[Row], targets: dict[str, str]) -> tuple[int, int, int]:
    """Return the pairs of residues that both align, that they align, and that we align.

    Of each target that both have, all rows count, so that the alignments of repeats do.
    """
    pairs: list[dict[str, set[tuple[int, int]]]] = []
    for rows in (ours, theirs):
        found: dict[str, set[tuple[int, int]]] = {}
        for row in rows[1:]:
            found.setdefault(row.target, set()).update(find_pairs(row, targets[row.target]))
        pairs.append(found)
    own, others = pairs
    both = [name for name in own if own[name] and others.get(name)]
    return (
        sum(len(own[name] & others[name]) for name in both),
        sum(len(others[name]) for name in both),
        sum(len(own[name]) for name in both),
    )


def judge(
    found: list[Row], query: int, numbers: dict[str, int], truth: Truth, members: Integers
) -> dict[str, float]:
    """Return the measures of a query's alignment, without the agreement.

    Parameters
    ----------
    found
        Its rows.
    query, numbers
        The number of its domain, and those of all domains by their names.
    truth, members
        The classification, and how many members the query's groups have.
    """
    columns = match_columns(found)
    known = {numbers[row.target] for row in found[1:] if row.target in numbers} - {query}
    targets = np.array(sorted(known), np.int64)
    related = truth.relations(np.full(len(targets), query), targets)
    of_family, of_superfamily = np.sum(related == FAMILY), np.sum(related <= SUPERFAMILY)
    return {
        "rows": len(found) - 1,
        "effective": count_effective(columns),
        "family": of_family / members[FAMILY],
        "superfamily": of_superfamily / members[: SUPERFAMILY + 1].sum(),
        "false": float(np.sum(related == FALSE)),
    }


def summarize(each: list[dict[str, float]]) -> dict[str, float]:
    """Return the means over queries, the median of effective rows, and shares of agreement."""
    means = {key: float(np.mean([x[key] for x in each])) for key in each[0]}
    means["median effective"] = float(np.median([x["effective"] for x in each]))
    common = means.pop("common pairs")
    for side in ("theirs", "ours"):
        pairs = means.pop(f"pairs of {side}")
        means[f"agreement, {side}"] = common / pairs if pairs else float("nan")
    return means


def figure_of(values: dict[str, list[dict[str, float]]], reference: str) -> Any:
    """Return the figure: effective rows of each query, and agreement, against the reference."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout="constrained")
    depth, agreement = figure.subplots(1, 2)
    theirs = [x["effective"] for x in values[reference]]
    for number, (name, each) in enumerate(values.items()):
        if name == reference:
            continue
        style = {"color": f"C{number}", "s": 22, "alpha": 0.8, "label": name}
        depth.scatter(theirs, [x["effective"] for x in each], **style)
        shared = [x for x in each if x["pairs of theirs"]]
        agreement.scatter(
            [x["common pairs"] / x["pairs of theirs"] for x in shared],
            [x["common pairs"] / x["pairs of ours"] for x in shared],
            **style,
        )
    ends = [1, max(x["effective"] for each in values.values() for x in each) * 1.2]
    depth.plot(ends, ends, color="black", lw=0.8)
    depth.set(xscale="log", yscale="log", xlabel=f"effective rows of {reference}",
              ylabel="effective rows", title="depth; above the line is deeper")  # fmt: skip
    agreement.set(xlim=(0, 1.02), ylim=(0, 1.02), title="pairs of residues in common targets",
                  xlabel=f"share of those of {reference} that are aligned",
                  ylabel=f"share of its own that {reference} aligns")  # fmt: skip
    for axes in (depth, agreement):
        axes.grid(which="major", lw=0.3)
    depth.legend(frameon=False)
    return figure


def markdown(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    counts = [f"{figures[key]:,} {key}" for key in ("queries", "domains", "other sequences")]
    keys = list(next(iter(figures["methods"].values())))
    rows = [["method", *keys]]
    rows += [
        [f"`{name}`", *(f"{x[key]:.3g}" if key != "rows" else f"{x[key]:.0f}" for key in keys)]
        for name, x in figures["methods"].items()
    ]
    return (
        f"# Multiple alignments: {', '.join(counts)}\n\nMeans over queries; E-values up to "
        f"{figures['evalue']:g}, {figures['threads']} thread(s).\n\n{markdown_table(rows)}"
    )


@click.command()
@click.option("--method", "methods", multiple=True, help="Program with options; repeatable.")
@click.option("--queries", default=50, help="Draw so many domains as queries.")
@click.option("--seed", default=1, help="Of the queries.")
@click.option("--evalue", default=0.001, help="Largest E-value of rows and of profiles.")
@click.option("--threads", default=1)
@click.option("--domains", "fasta", type=click.Path(path_type=Path, exists=True),
              help="As for sensitivity.py.")  # fmt: skip
@click.option("--background", "others", multiple=True,
              type=click.Path(path_type=Path, exists=True), help="As for sensitivity.py.  "
              "[default: the reference proteomes of the shared data]")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write the results to.")
@click.option("--keep", is_flag=True, help="Write them to bench/results.")
def main(
    methods: tuple[str, ...],
    queries: int,
    seed: int,
    evalue: float,
    threads: int,
    fasta: Path | None,
    others: tuple[Path, ...],
    out: Path | None,
    keep: bool,
) -> None:
    fasta, others = choose_files(fasta, others)
    domains = read_domains(fasta, None)
    truth = read_truth([x.scope for x in domains])
    everything = np.arange(len(domains))
    members = truth.members(everything, everything)
    eligible = np.flatnonzero(members[:, FAMILY] >= MIN_MEMBERS)
    random = np.random.default_rng(seed)
    chosen = np.sort(random.choice(eligible, min(queries, len(eligible)), replace=False))
    background = read_background(others)
    targets = [(x.name, x.sequence.upper()) for x in [*domains, *background]]
    sequences, numbers = dict(targets), {x.name: k for k, x in enumerate(domains)}
    names = [domains[k].name for k in chosen]

    made: dict[str, Alignments] = {}
    for method in methods or METHODS:
        try:
            made[method] = align(method, [targets[k] for k in chosen], targets, threads, evalue)
        except click.ClickException as error:
            click.echo(f"skipped: {method}: {error.message.strip()}", err=True)
        else:
            click.echo(f"{method}: {made[method].cost.seconds:.1f} s", err=True)
    if not made:
        raise click.ClickException("no method ran")
    reference = next((x for x in made if x.startswith(REFERENCE)), next(iter(made)))

    values: dict[str, list[dict[str, float]]] = {}
    for method, alignments in made.items():
        values[method] = []
        for k, name in zip(chosen.tolist(), names, strict=True):
            alone = [Row(name, sequences[name])]
            ours = alignments.rows.get(name, alone)
            theirs = made[reference].rows.get(name, alone)
            common = dict(
                zip(
                    ("common pairs", "pairs of theirs", "pairs of ours"),
                    agree(ours, theirs, sequences),
                    strict=True,
                )
            )
            values[method].append({**judge(ours, k, numbers, truth, members[k]), **common})
    summaries = {
        method: {
            **summarize(each),
            "seconds": made[method].cost.seconds,
            "CPU seconds": made[method].cost.cpu_seconds,
        }
        for method, each in values.items()
    }
    table(
        [["", *next(iter(summaries.values()))]]
        + [[name, *(f"{x:.3g}" for x in row.values())] for name, row in summaries.items()]
    )
    figures = {
        **{"evalue": evalue, "queries": len(chosen), "seed": seed, "threads": threads},
        **{"domains": len(domains), "other sequences": len(background), "reference": reference},
        **{"methods": summaries, "names": names, "each": values},
    }
    if folder := RESULTS / __version__ if keep else out:
        write_report(folder, "msa", figures, markdown(figures),
                     lambda: figure_of(values, reference))  # fmt: skip


if __name__ == "__main__":
    main()
