"""How many related domains does a search find, and are its E-values true?

    python bench/sensitivity.py --evalue 1000 --name scop40 --keep
    python bench/sensitivity.py --method swdual --method "swdual --stats fit --matrix BLOSUM50"

Domains of known structure (SCOPe, at most 40 % identical) are searched against all of them. Domains
of the same superfamily are related; domains of different folds are not. A method is a program with
options: swdual, swdual iterate, blastp, psiblast, ssearch36, diamond, mmseqs, phmmer or jackhmmer.
Those that are not on PATH, or that fail, are skipped. `--background` adds sequences of unknown
structure to the targets: what is found of them does not count, but profiles are made of it.

`--proteins` names other queries, whose headers have a class of one domain:

    python bench/sensitivity.py --domains mmseqs_scop20.fasta.gz \\
        --proteins mmseqs_scop_query.fasta.gz

They may have domains of other classes, too. So some of their false pairs are related.

The measures, each with a 95 % interval from a bootstrap over queries:

- the share of its family, superfamily and fold that a query finds before its first false pair
- the share of all true pairs at so many false ones per query, all pairs ranked by E-value; all that
  a search reports if it has fewer false ones
- false pairs per query up to an E-value, which should be equal to it

For programs that tell their rounds, the errors that the profile of each round includes are counted,
per query: false pairs with an E-value below 0.002.

They are computed for the classes of SCOPe, and for superfamilies that were curated. `_accuracy.py`
defines them. Times are those of whole commands; they report all targets up to a large E-value.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import (
    FALSE,
    FAMILY,
    LEVELS,
    SUPERFAMILY,
    Floats,
    Found,
    Integers,
    Truth,
    areas,
    judge,
    mean_areas,
    observed_errors,
    read_truth,
    resamples,
    sensitivities,
)
from _report import RESULTS, cell, limits, markdown_table, table, write_report
from _searches import Table, attempt, search

from swdual.version import __version__

PROTEINS = Path(__file__).resolve().parents[1] / ".." / "shared" / "proteins"

METHODS = (
    "swdual --task sensitive",
    "swdual",
    "ssearch36 -s VT160",
    "ssearch36 -s BL50",
    "blastp",
    "diamond --swipe",
    "diamond --ultra-sensitive",
    "phmmer",
    "mmseqs -s 7.5",
)

ERRORS = np.array([0.001, 0.01, 0.1, 1, 10])
"""Errors per query at which sensitivity is measured."""

CLAIMS = np.array([0.001, 0.01, 0.1, 1, 10, 100])
"""E-values at which errors are counted."""


class Domain(NamedTuple):
    """A domain of known structure."""

    name: str
    sequence: str
    scope: str | None
    """Class, fold, superfamily and family: ``a.1.1.2``; None if unknown."""

    curated: str | None
    """The same with the superfamily as curated, if there is one."""


def read_domains(fasta: Path, lookup: Path | None) -> list[Domain]:
    """Return the domains of a FASTA file, whose headers begin with name and class."""
    curated = {}
    if lookup is not None:
        with gzip.open(lookup, "rt") as lines:
            curated = dict(line.split() for line in lines)
    with gzip.open(fasta, "rt") as stream:
        records = [x.split("\n", 1) for x in stream.read().removeprefix(">").split("\n>")]
    domains = []
    for header, letters in records:
        name, scope, *_ = header.split()
        domains.append(Domain(name, "".join(letters.split()), scope, curated.get(name)))
    return domains


def read_background(fastas: Sequence[Path]) -> list[Domain]:
    """Return the sequences of FASTA files, of unknown structure, with new names."""
    records = []
    for fasta in fastas:
        with gzip.open(fasta, "rt") as stream:
            records += [x.split("\n", 1)[1] for x in stream.read().split("\n>")]
    return [Domain(f"other{k}", "".join(x.split()), None, None) for k, x in enumerate(records)]


def choose_files(fasta: Path | None, others: tuple[Path, ...]) -> tuple[Path, tuple[Path, ...]]:
    """Return the files of domains and background; by default SCOP40 and reference proteomes."""
    if fasta is not None:
        return fasta, others
    fasta = PROTEINS / "scop40.fasta.gz"
    if not fasta.exists():
        raise click.ClickException(f"{fasta} is missing; name a file by --domains")
    return fasta, others or (PROTEINS / "refprot14.fasta.gz",)


def included_errors(found: Table, truth: Truth, queries: Integers) -> dict[str, float]:
    """Return the false pairs that the profiles of each round include, per query."""
    rounds, query, target = found.included.T
    known = (truth.groups[query, 0] >= 0) & (truth.groups[target, 0] >= 0)
    false = known & (truth.relations(query, target) == FALSE)
    counts = np.bincount(rounds[false], minlength=rounds.max(initial=0) + 1)[1:]
    judged = (truth.groups[queries, 0] >= 0).sum()
    return {str(k): count / judged for k, count in enumerate(counts.tolist(), 1)}


def kept_or_new(tables: Path | None, about: dict[str, Any], find: Callable[[], Table]) -> Table:
    """Return the table of a method from a folder, or find it and keep it there."""
    if tables is None:
        return find()
    path = tables / (re.sub(r"[^A-Za-z0-9.]+", "_", about["method"]) + ".npz")
    description = json.dumps(about)
    if path.exists():
        with np.load(path) as stored:
            if stored["about"] == description:
                return Table(*(stored[field] for field in Table._fields))
    found = find()
    tables.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(part, about=description, **found._asdict())
    part.rename(path)
    return found


def measure(found: Found, samples: int, seed: int) -> dict[str, dict[str, Floats]]:
    """Return each measure at each of its points, (samples + 1,) values; see `resamples`."""
    weights = resamples(len(found.members), samples, seed)
    before = mean_areas(areas(found), weights)
    at = [sensitivities(found, weights, level, ERRORS) for level in (FAMILY, SUPERFAMILY)]
    observed = observed_errors(found, weights, CLAIMS)
    points = [f"{x:g}" for x in ERRORS]
    return {
        "share before the first error": dict(zip(LEVELS, before.T, strict=True)),
        "family, share at errors per query": dict(zip(points, at[0].T, strict=True)),
        "superfamily, share at errors per query": dict(zip(points, at[1].T, strict=True)),
        "errors per query at E-value": dict(
            zip([f"{x:g}" for x in CLAIMS], observed.T, strict=True)
        ),
    }


def _rounded(measures: dict[str, dict[str, Floats]]) -> dict[str, dict[str, list[float | None]]]:
    """Return the `limits` of each point of each measure."""
    return {
        name: {point: limits(values) for point, values in points.items()}
        for name, points in measures.items()
    }


def markdown(figures: dict[str, Any]) -> str:
    """Return all measures as Markdown, a table for each truth and measure."""
    methods, against = figures["methods"], figures["against"]
    counts = [f"{figures[key]} {key}" for key in ("queries", "domains", "other sequences")]
    text = [
        f"# Sensitivity and calibration: {', '.join(counts)}"
        "\n\nBeside each value: its 95 % interval from a bootstrap over queries. Differences are"
        f" from {against}, over the same resamples.\n"
    ]
    rows = [["method", "seconds", "CPU seconds", "pairs reported"]]
    rows += [
        [name, f"{x['seconds']:.1f}", f"{x['cpu_seconds']:.1f}", str(x["pairs"])]
        for name, x in methods.items()
    ]
    text.append(markdown_table(rows))
    for truth in figures["truths"]:
        included = {name: x[truth]["included"] for name, x in methods.items()}
        in_rounds = {name: errors for name, errors in included.items() if len(errors) > 1}
        if last := max(map(len, in_rounds.values()), default=0):
            text.append(f"\n## {truth}: errors that profiles include, per query, by round\n\n")
            rows = [["method", *(str(k + 1) for k in range(last))]]
            rows += [
                [name, *(f"{errors.get(str(k + 1), 0):.3g}" for k in range(last))]
                for name, errors in in_rounds.items()
            ]
            text.append(markdown_table(rows))
        for part in ("measures", "differences"):
            for title in next(iter(methods.values()))[truth]["measures"]:
                more = f", difference from {against}" if part == "differences" else ""
                text.append(f"\n## {truth}: {title}{more}\n\n")
                rows = [["method", *methods[against][truth]["measures"][title]]]
                rows += [
                    [name, *map(cell, x[truth][part][title].values())]
                    for name, x in methods.items()
                    if part == "measures" or name != against
                ]
                text.append(markdown_table(rows))
    return "".join(text)


def figure_of(curves: dict[str, dict[str, list[float]]]) -> Any:
    """Return the figure: observed against claimed errors, and errors against sensitivity.

    A program has a colour, its methods have different strokes.
    """
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    figure, (calibration, sensitivity) = plt.subplots(1, 2, figsize=(11, 4.8))
    programs = list(dict.fromkeys(name.split()[0] for name in curves))
    drawn = dict.fromkeys(programs, 0)
    ends = [1e-3, max(max(curve["claimed"]) for curve in curves.values())]
    calibration.plot(ends, ends, color="black", lw=0.8)
    for name, curve in curves.items():
        program = name.split()[0]
        style = {
            "color": f"C{programs.index(program)}",
            "ls": ("-", "--", ":", "-.")[drawn[program] % 4],
            "lw": 2.2 if program == "swdual" else 1.3,
        }
        drawn[program] += 1
        claimed, observed = np.array(curve["claimed"]), np.array(curve["observed"])
        seen = observed > 0
        calibration.plot(claimed[seen], observed[seen], **style)
        sensitivity.plot(curve["share"], curve["errors"], label=name, **style)
    calibration.set(xscale="log", yscale="log", xlim=ends, xlabel="E-value",
                    ylabel="errors per query up to this E-value",
                    title="errors; the black line is ideal")  # fmt: skip
    sensitivity.set(
        yscale="log",
        xlabel="share of the pairs of a superfamily",
        ylabel="errors per query",
        title="relatives found; right is better",
    )
    figure.legend(*sensitivity.get_legend_handles_labels(), loc="outside right center")
    return figure


def _curve(found: Found, limit: float) -> dict[str, list[float]]:
    """Return what is drawn of a method, from all queries: from one error to all that it has."""
    queries = len(found.members)
    once = resamples(queries, 0, 0)
    claims = np.logspace(-3, np.log10(limit), 61)
    most = (found.relations == FALSE).sum() / queries
    errors = np.logspace(-3, 1, 41)
    errors = errors[(errors >= 1 / queries) & (errors <= most)]
    return {
        "claimed": claims.tolist(),
        "observed": observed_errors(found, once, claims)[0].tolist(),
        "errors": errors.tolist(),
        "share": sensitivities(found, once, SUPERFAMILY, errors)[0].tolist() if len(errors) else [],
    }


@click.command()
@click.option("--method", "methods", multiple=True, help="Program with options; repeatable.")
@click.option("--against", help="Method whose difference is shown.  [default: the first]")
@click.option("--queries", default=1121, help="Draw so many domains as queries.")
@click.option("--seed", default=1, help="Of the queries, and of the bootstrap.")
@click.option("--resamples", "samples", default=1000, help="Of the bootstrap.")
@click.option("--evalue", default=10000.0, help="Largest E-value that is reported.")
@click.option("--threads", default=1)
@click.option("--domains", "fasta", type=click.Path(path_type=Path, exists=True),
              help="FASTA file, gzip'ed; headers begin with name and class.fold.superfamily.family."
              "  [default: SCOP40 of the shared data]")  # fmt: skip
@click.option("--proteins", type=click.Path(path_type=Path, exists=True),
              help="FASTA file, gzip'ed, of queries with such headers.  [default: domains]"
              )  # fmt: skip
@click.option(
    "--background",
    "others",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="FASTA file, gzip'ed, of more targets, whose structure is unknown; repeatable.",
)
@click.option("--lookup", type=click.Path(path_type=Path, exists=True),
              help="Curated classes: name and class, gzip'ed.")  # fmt: skip
@click.option("--tables", type=click.Path(path_type=Path),
              help="Folder for what is found, and not searched for again.")  # fmt: skip
@click.option("--name", default="sensitivity", help="Name of the results.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write the results to.")
@click.option("--keep", is_flag=True, help="Write them to bench/results.")
def main(
    methods: tuple[str, ...],
    against: str | None,
    queries: int,
    seed: int,
    samples: int,
    evalue: float,
    threads: int,
    fasta: Path | None,
    proteins: Path | None,
    others: tuple[Path, ...],
    lookup: Path | None,
    tables: Path | None,
    name: str,
    out: Path | None,
    keep: bool,
) -> None:
    if fasta is None:
        fasta, lookup = PROTEINS / "scop40.fasta.gz", PROTEINS / "scop40c_lookup.tsv.gz"
        if not fasta.exists():
            raise click.ClickException(f"{fasta} is missing; name a file by --domains")
    domains = read_domains(fasta, lookup)
    known = len(domains)
    drawn_from = np.arange(known)
    domains += read_background(others)
    targets = np.arange(len(domains))
    if proteins is not None:
        domains += read_domains(proteins, None)
        drawn_from = np.arange(len(targets), len(domains))
    random = np.random.default_rng(seed)
    count = min(queries, len(drawn_from))
    chosen = np.sort(random.choice(drawn_from, count, replace=False))
    truths = {"SCOPe": read_truth([x.scope for x in domains])}
    if lookup is not None:
        truths["curated"] = read_truth([x.curated for x in domains])
    digest = hashlib.sha256("".join(f"{x.name} {x.sequence}\n" for x in domains).encode())
    about = {"evalue": evalue, "queries": len(chosen), "seed": seed,
             "domains": digest.hexdigest()}  # fmt: skip

    sequences = [(x.name, x.sequence) for x in domains]
    found: dict[str, Any] = {}
    values: dict[str, dict[str, Any]] = {}
    curves = {}
    for method in methods or METHODS:
        result = attempt(
            method,
            partial(
                kept_or_new,
                tables,
                {"method": method, **about},
                partial(search, method, sequences, chosen, targets, evalue, threads),
            ),
        )
        if result is None:
            continue
        pairs = result.queries, result.targets
        judged = {
            key: judge(truth, chosen, pairs, result.evalues, targets)
            for key, truth in truths.items()
        }
        values[method] = {key: measure(x, samples, seed) for key, x in judged.items()}
        curves[method] = _curve(judged["SCOPe"], evalue)
        costs = {"seconds": float(result.seconds), "cpu_seconds": float(result.cpu_seconds)}
        found[method] = {**costs, "pairs": len(result.evalues)}
        for key, truth in truths.items():
            found[method][key] = {"included": included_errors(result, truth, chosen)}

    if not values:
        raise click.ClickException("no method ran")
    base = against if against in values else next(iter(values))
    for method, by_truth in values.items():
        for truth, measures in by_truth.items():
            differences = {
                title: {point: x - values[base][truth][title][point] for point, x in points.items()}
                for title, points in measures.items()
            }
            found[method][truth] |= {
                "measures": _rounded(measures),
                "differences": _rounded(differences) if method != base else {},
            }
    figures = {**about, "domains": known, "other sequences": len(targets) - known,
               "threads": threads, "resamples": samples,
               "truths": list(truths), "against": base, "methods": found}  # fmt: skip
    _print(found)
    if folder := RESULTS / __version__ if keep else out:
        write_report(folder, name, {**figures, "curves": curves}, markdown(figures),
                     lambda: figure_of(curves))  # fmt: skip


def _print(found: dict[str, Any]) -> None:
    """Print the measures by SCOPe without their intervals."""
    rows: list[list[object]] = []
    for method, x in found.items():
        measures = x["SCOPe"]["measures"].values()
        head = ["", *(point for points in measures for point in points), ""]
        values = [limits[0] for points in measures for limits in points.values()]
        rows = rows or [head]
        rows.append(
            [method, *("-" if v is None else f"{v:.3g}" for v in values), f"{x['seconds']:.1f}"]
        )
    titles = list(next(iter(found.values()))["SCOPe"]["measures"])
    click.echo(f"columns: {'; '.join(titles)}; seconds")
    table(rows)


if __name__ == "__main__":
    main()
