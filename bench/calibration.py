"""Do searches find as many unrelated proteins as their E-values claim?

    python bench/calibration.py --keep
    python bench/calibration.py --method "swdual --stats fit" --method "ssearch36 -s BL50"
    python bench/calibration.py --shortest 700 --longest 2000 --queries 400 --name calibration_long

No query is related to a target, so each pair that a search reports is an error. Up to an E-value of
x there should be x errors per query. The targets are real proteins, shuffled. There are three sets
of queries, of the same lengths:

- random: residues drawn from the background of the statistics (Robinson and Robinson 1991)
- ordinary: shuffled proteins, of the half whose compositions are nearest to that background
- biased: shuffled proteins, of the tenth whose compositions are farthest from it

The distance is the relative entropy of the composition, in bits per residue. Shuffled proteins keep
their composition and lose regions of low complexity.

The table has the observed errors over the claimed ones, with a 95 % interval from a bootstrap over
queries; the targets stay the same. A method is a program with options, as in sensitivity.py.
"""

from __future__ import annotations

import gzip
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Found, Integers, judge, observed_errors, read_truth, resamples
from _report import RESULTS, cell, limits, markdown_table, table, write_report
from _searches import Table, attempt, search

from swdual.statistics.karlin_altschul import ROBINSON
from swdual.version import __version__

PROTEINS = Path(__file__).resolve().parents[1] / ".." / "shared" / "proteins"

METHODS = (
    "swdual --comp-based-stats 0",
    "swdual --comp-based-stats 2",
    "swdual --task sensitive",
    "blastp",
)

SETS = ("random", "ordinary", "biased")

CLAIMS = np.array([0.0105, 0.105, 1.05, 10.5])
"""E-values up to which errors are counted: between two values that BLAST prints."""

CURVE = np.append(np.outer([0.01, 0.1, 1], [1.05, 1.55, 2.05, 3.05, 5.05, 7.05]), 10.5)
"""The same for the figure."""

LETTERS = np.frombuffer("".join(ROBINSON).encode(), np.uint8)
BACKGROUND = np.array([*ROBINSON.values()]) / sum(ROBINSON.values())

Letters = NDArray[np.uint8]


class Sample(NamedTuple):
    """The sequences of a measurement."""

    sequences: list[tuple[str, str]]
    """Name and residues: the queries of one set after the other, then the targets."""

    sets: dict[str, Integers]
    """The numbers of the queries of each set of `SETS`."""

    targets: Integers
    """The numbers of the targets."""

    bits: dict[str, float]
    """Median relative entropy of the queries of each set, and of the targets."""


def read_proteins(fasta: Path) -> list[Letters]:
    """Return the proteins of a gzip'ed FASTA file that have no other letters than the 20."""
    with gzip.open(fasta, "rt") as stream:
        records = stream.read().split(">")[1:]
    texts = ("".join(record.split("\n")[1:]).encode() for record in records)
    proteins = [np.frombuffer(text, np.uint8) for text in texts]
    known = np.zeros(256, np.bool_)
    known[LETTERS] = True
    return [protein for protein in proteins if len(protein) and known[protein].all()]


def relative_entropy(protein: Letters) -> float:
    """Return the bits per residue by which a composition differs from the background."""
    counts = np.bincount(protein, minlength=256)[LETTERS]
    seen = counts > 0
    shares = counts[seen] / len(protein)
    return float(shares @ np.log2(shares / BACKGROUND[seen]))


def draw(
    proteins: list[Letters], queries: int, targets: int, lengths: tuple[int, int], seed: int
) -> Sample:
    """Return random queries of each set, and targets.

    Parameters
    ----------
    proteins
        Real ones.
    queries
        How many of each set. Several may come from the same protein.
    targets
        How many; each from another protein.
    lengths
        Residues of the shortest and of the longest query.
    seed
        Equal seeds give equal sequences.
    """
    random = np.random.default_rng(seed)
    least, most = lengths
    eligible = [x for x in proteins if least <= len(x) <= most]
    if not eligible or targets > len(proteins):
        raise click.ClickException("there are too few proteins")
    entropies = np.array([relative_entropy(x) for x in eligible])
    order = np.argsort(entropies)
    ordinary = random.choice(order[: (len(order) + 1) // 2], queries)
    biased = random.choice(order[-((len(order) + 9) // 10) :], queries)
    chosen: dict[str, list[Letters]] = {
        "random": [random.choice(LETTERS, len(eligible[k]), p=BACKGROUND) for k in ordinary],
        "ordinary": [random.permutation(eligible[k]) for k in ordinary],
        "biased": [random.permutation(eligible[k]) for k in biased],
    }
    numbers = random.choice(len(proteins), targets, replace=False)
    chosen["targets"] = [random.permutation(proteins[k]) for k in numbers]
    sequences = [
        (f"{name}{k}", x.tobytes().decode())
        for name, xs in chosen.items()
        for k, x in enumerate(xs)
    ]
    return Sample(
        sequences,
        {name: np.arange(k * queries, (k + 1) * queries) for k, name in enumerate(SETS)},
        np.arange(len(SETS) * queries, len(sequences)),
        {name: float(np.median([*map(relative_entropy, xs)])) for name, xs in chosen.items()},
    )


def errors_of(sample: Sample, queries: Integers, found: Table) -> Found:
    """Return the errors of some of the queries; no two sequences of a sample are related."""
    unrelated = read_truth([f"a.{k}.1.1" for k in range(len(sample.sequences))])
    return judge(unrelated, queries, (found.queries, found.targets), found.evalues)


def measure(errors: Found, samples: int, seed: int) -> dict[str, list[Any]]:
    """Return the errors and, with limits, observed over claimed errors, at each of `CLAIMS`.

    The curve is the same at each of `CURVE`.
    """
    weights = resamples(len(errors.members), samples, seed)
    observed = observed_errors(errors, weights, CLAIMS)
    curve = observed_errors(errors, weights, CURVE) / CURVE
    return {
        "errors": np.rint(observed[0] * len(errors.members)).astype(int).tolist(),
        "ratios": [limits(values) for values in (observed / CLAIMS).T],
        "curve": [limits(values) for values in curve.T],
    }


def table_rows(figures: dict[str, Any], text: Any) -> list[list[str]]:
    """Return a row for each set and method, from the ratios as `text` shows them."""
    head = ["queries", "method", *(f"E <= {x:g}" for x in figures["claims"]), "errors"]
    rows = [
        [
            name,
            method,
            *map(text, x["sets"][name]["ratios"]),
            ", ".join(f"{n:,}" for n in x["sets"][name]["errors"]),
        ]
        for name in SETS
        for method, x in figures["methods"].items()
    ]
    return [head, *rows]


def markdown(figures: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    bits = figures["bits"]
    claimed = ", ".join(f"{figures['queries'] * x:,.0f}" for x in figures["claims"])
    costs = [["method", "seconds", "CPU seconds"]]
    costs += [
        [method, f"{x['seconds']:.1f}", f"{x['cpu_seconds']:.1f}"]
        for method, x in figures["methods"].items()
    ]
    return (
        f"# Calibration: {figures['queries']:,} unrelated queries of each set, of"
        f" {figures['shortest']:,} to {figures['longest']:,} residues; {figures['targets']:,}"
        " targets\n\n"
        "Errors observed over errors claimed, with a 95 % interval from a bootstrap over queries. "
        f"Claimed are {claimed} errors.\n\nRelative entropy of the composition, median in bits per "
        f"residue: {', '.join(f'{name} {x:.3f}' for name, x in bits.items())}.\n\n"
        + markdown_table(table_rows(figures, cell))
        + "\n"
        + markdown_table(costs)
    )


def figure_of(figures: dict[str, Any]) -> Any:
    """Return the figure: for each set of queries, observed over claimed errors by E-value."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.5), layout="constrained")
    shades = colormaps["tab10"]
    for axes, name in zip(figure.subplots(1, len(SETS), sharey=True), SETS, strict=True):
        for number, (method, x) in enumerate(figures["methods"].items()):
            # A logarithmic axis has no place for 0: what has no errors is left out.
            value, least, most = np.array(x["sets"][name]["curve"]).T
            value = np.where(value > 0, value, np.nan)
            least = np.where(least > 0, least, value)
            shade = shades(number % 10)
            axes.plot(CURVE, value, color=shade, lw=1.4, label=method)
            axes.fill_between(CURVE, least, most, color=shade, alpha=0.2, lw=0)
        axes.axhline(1, color="black", lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel="E-value", title=f"{name} queries")
        axes.grid(which="major", lw=0.3)
    figure.axes[0].set_ylabel("errors observed / claimed")
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


@click.command()
@click.option("--method", "methods", multiple=True, help="Program with options; repeatable.")
@click.option("--queries", default=2000, help="Of each set.")
@click.option("--targets", default=500)
@click.option("--shortest", default=100, show_default=True,
              help="Residues of the shortest query: short ones are biased by chance.")  # fmt: skip
@click.option("--longest", default=400, show_default=True, help="Residues of the longest query.")
@click.option("--seed", default=1, help="Of the sequences, and of the bootstrap.")
@click.option("--resamples", "samples", default=1000, help="Of the bootstrap.")
@click.option("--threads", default=2)
@click.option("--proteins", "fasta", type=click.Path(path_type=Path, exists=True),
              help="FASTA file, gzip'ed.  [default: 14 proteomes of the shared data]")  # fmt: skip
@click.option("--name", default="calibration", help="Name of the results.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write the results to.")
@click.option("--keep", is_flag=True, help="Write them to bench/results.")
def main(
    methods: tuple[str, ...],
    queries: int,
    targets: int,
    shortest: int,
    longest: int,
    seed: int,
    samples: int,
    threads: int,
    fasta: Path | None,
    name: str,
    out: Path | None,
    keep: bool,
) -> None:
    fasta = fasta or PROTEINS / "refprot14.fasta.gz"
    if not fasta.exists():
        raise click.ClickException(f"{fasta} is missing; name a file by --proteins")
    sample = draw(read_proteins(fasta), queries, targets, (shortest, longest), seed)
    everyone = np.concatenate([*sample.sets.values()])
    found: dict[str, Any] = {}
    for method in methods or METHODS:
        result = attempt(
            method,
            partial(
                search, method, sample.sequences, everyone, sample.targets, CLAIMS[-1], threads
            ),
        )
        if result is None:
            continue
        found[method] = {
            "seconds": result.seconds,
            "cpu_seconds": result.cpu_seconds,
            "sets": {
                name: measure(errors_of(sample, numbers, result), samples, seed)
                for name, numbers in sample.sets.items()
            },
        }
    if not found:
        raise click.ClickException("no method ran")
    figures = {"queries": queries, "targets": targets, "shortest": shortest, "longest": longest,
               "seed": seed, "threads": threads, "resamples": samples, "bits": sample.bits,
               "claims": CLAIMS.tolist(), "curve": CURVE.tolist(), "methods": found}  # fmt: skip
    table(table_rows(figures, lambda ratio: f"{ratio[0]:.3g}"))
    if folder := RESULTS / __version__ if keep else out:
        write_report(folder, name, figures, markdown(figures), lambda: figure_of(figures))


if __name__ == "__main__":
    main()
