"""Which shape of the distribution of chance scores gives E-values that hold?

    python bench/shapes.py
    python bench/shapes.py --scheme PFASUM31:13/2 --shape 1.5 --shape 2

Domains of SCOP40 are searched against all of them, with the scores of Smith-Waterman. E-values come
from the fit of each query, with a shape (`swdual.statistics.log_gamma`). Domains of different folds
are errors; up to an E-value of x there should be x per query. The table shows observed over claimed
errors with a 95 % interval from a bootstrap over queries.

The domains that `sensitivity.py` searches for by default are not among the queries. So a shape that
is chosen here is tested there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import Floats, Integers, judge, observed_errors, read_truth, resamples
from _report import cell, limits, markdown_table
from sensitivity import PROTEINS, read_domains

from swdual.backends import simd
from swdual.database.database import Database
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.statistics.fit import fit, histogram
from swdual.statistics.log_gamma import LogGamma

SCHEMES = ("PFASUM31:12/2", "PFASUM43:10/2", "VTML200:10/2", "BLOSUM62:11/1")

SHAPES = (1.0, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)

CLAIMS = np.array([0.01, 0.1, 1, 10])


def score(queries: list[Sequence], database: Database, scheme: ScoringScheme) -> Integers:
    """Return (queries, targets) scores."""
    scorer = simd.bind(database, scheme)
    scores = np.empty((len(queries), len(database)), np.int64)
    for row, query in zip(scores, queries, strict=True):
        for number, block in enumerate(database.manifest.blocks):
            found = scorer(query.codes, number, 0, block.sequences, lambda cells: None)
            row[database.block(number).ordinals] = found
    return scores


def evaluate(scores: Integers, query_length: int, lengths: Integers, shape: float) -> Floats:
    """Return (targets,) E-values of a query's scores."""
    size = int(lengths.sum()), len(lengths)
    counts = histogram(scores, lengths)
    fitted = fit(counts, query_length, *size, PROTEIN, LogGamma(shape))
    return np.exp(fitted.evaluate(scores, query_length, lengths).log_evalues)


@click.command(help=__doc__.split("\n\n", 1)[0])
@click.option("--scheme", "schemes", multiple=True, default=SCHEMES, help="MATRIX:OPEN/EXTEND.")
@click.option("--shape", "shapes", multiple=True, type=float, default=SHAPES)
@click.option("--queries", default=1122, help="Draw so many.")
@click.option("--seed", default=2, help="Of the queries.")
def main(schemes: tuple[str, ...], shapes: tuple[float, ...], queries: int, seed: int) -> None:
    domains = read_domains(PROTEINS / "scop40.fasta.gz", None)
    truth = read_truth([x.scope for x in domains])
    tested = np.random.default_rng(1).choice(len(domains), 1121, replace=False)
    others = np.setdiff1d(np.arange(len(domains)), tested)
    chosen = np.sort(np.random.default_rng(seed).choice(others, queries, replace=False))
    sequences = [Sequence(x.name, PROTEIN.encode(x.sequence)) for x in domains]
    lengths = np.array([len(x.codes) for x in sequences])
    database = Database.from_batches([batch_of(sequences)], PROTEIN, "domains")
    rows = [["scheme", "shape", *(f"E <= {x:g}" for x in CLAIMS)]]
    for text in schemes:
        name, gaps = text.split(":")
        scheme = ScoringScheme(matrices.load(name), *map(int, gaps.split("/")))
        scores = score([sequences[k] for k in chosen], database, scheme)
        for shape in shapes:
            evalues = np.array(
                [
                    evaluate(x, lengths[k], lengths, shape)
                    for x, k in zip(scores, chosen, strict=True)
                ]
            )
            query, target = np.nonzero(evalues <= CLAIMS[-1])
            found = judge(truth, chosen, (chosen[query], target), evalues[query, target])
            weights = resamples(len(found.members), 1000, 1)
            ratios = observed_errors(found, weights, CLAIMS) / CLAIMS
            rows.append([text, f"{shape:g}", *(cell(limits(x)) for x in ratios.T)])
    click.echo(markdown_table(rows))


if __name__ == "__main__":
    main()
