"""What would searches with profiles find with gap costs by position, or with sums of alignments?

    python bench/profile_scores.py --keep

Needs jackhmmer. Domains of known structure are searched in three rounds among all domains and
proteins of unknown structure, by `swdual iterate` and by jackhmmer. The profiles that the last
round searches with are then scored against all domains in several ways:

- constant costs: the best alignment, with gap penalties 11/1
- costs by position: the best alignment, with the costs of opening and of extending gaps at each
  position: those of jackhmmer's models; and of swdual's profiles, estimated from the aligned hits
  with HMMER's prior, as they are, shifted so that a position without hits costs 11/1, and these
  rounded to whole units, as kernels need them
- sums: the logarithm of the sum of the odds of all alignments (Forward), of jackhmmer's models

Numbers are not rounded otherwise. E-values are those of `--stats fit`; for sums also of a Gumbel
distribution with the scale 1 (Eddy 2008, PLoS Comput. Biol. 4, e1000069), whose place is fitted.
The kernels follow the recurrences and are not fast.
"""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import click
import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from _accuracy import (
    SUPERFAMILY,
    Floats,
    Found,
    Integers,
    areas,
    judge,
    mean_areas,
    observed_errors,
    read_truth,
    resamples,
    sensitivities,
)
from _report import limits, run, save, table
from sensitivity import CLAIMS, ERRORS, choose_files, read_background, read_domains

import swdual
from swdual.multiple_alignment.multiple_alignment import MultipleAlignment
from swdual.sequences.alphabet import PAD, PROTEIN
from swdual.sequences.matrices import load
from swdual.statistics.fit import fit, histogram

UNIT = 0.3176
"""Nats in a unit of score: the scale of BLOSUM62 without gaps."""

GAPS = 12.0, 1.0
"""Costs of the first and of each further residue of a gap."""

FINE = 8
"""Parts of a unit in which scores are counted for the fit."""

REPORTED = 10.0
"""Largest E-value that counts."""

LANES = 16

LARGE = 1e100

MATCH = np.array([0.7939, 0.0278, 0.0135])
INSERT = np.array([0.1551, 0.1331])
DELETE = np.array([0.9002, 0.5630])
"""HMMER3's prior of transitions: from a match to match, insertion, deletion; from an insertion to
match, insertion; from a deletion to match, deletion (HMMER 3.3, p7_prior.c)."""

AMINO = "ACDEFGHIKLMNPQRSTVWY"


class Model(NamedTuple):
    """A profile: scores, and probabilities of transitions."""

    scores: Floats
    """(L, 32) scores in `UNIT`."""

    transitions: Floats
    """(L, 7) probabilities behind each position: MM, MI, MD, IM, II, DM, DD."""


Costs = tuple[Floats, Floats, Floats, Floats]
"""(L,) each: first and further residues of an insertion behind a position, and of a deletion whose
last residue is at the position."""


def find_costs(transitions: Floats) -> Costs:
    """Return the costs of gaps, in `UNIT`, relative to a match that follows a match.

    What closes a gap is paid where it begins. A deletion may be closed at each position, so the
    cost of its further residues is the difference::

        first[i] = close[i] - ln MD[i-1]        further[i] = close[i] - close[i-1] - ln DD[i-1]
    """
    MM, MI, MD, IM, II, DM, DD = np.log(np.maximum(transitions, 1e-9)).T
    close = MM - DM

    def before(values: Floats) -> Floats:
        return np.concatenate([values[:1], values[:-1]])

    costs = MM - MI - IM, -II, close - before(MD), close - before(close) - before(DD)
    return tuple(np.maximum(cost, 0) / UNIT for cost in costs)  # type: ignore[return-value]


def shift_costs(costs: Costs) -> Costs:
    """Return the costs, shifted so that positions without hits have those of `GAPS`."""
    prior = np.concatenate([x / x.sum() for x in (MATCH, INSERT, DELETE)])
    default = find_costs(prior[None])
    least = GAPS[0] / 4, 0.1
    return tuple(
        np.maximum(cost - own + GAPS[k % 2], least[k % 2])
        for k, (cost, own) in enumerate(zip(costs, default, strict=True))
    )  # type: ignore[return-value]


def count_transitions(rows: list[bytes], query: str, observations: Floats) -> Floats:
    """Return (L, 7) probabilities of transitions, from the rows of an alignment in a3m.

    Rows weigh as in Henikoff & Henikoff (1994), J. Mol. Biol. 243, 574-578; the counts behind a
    position are scaled to its independent observations, and HMMER's prior is added.
    """
    length = len(query)
    columns, paths = [np.frombuffer(query.encode(), np.uint8)], []
    for row in rows:
        letters = np.frombuffer(row, np.uint8)
        upper = (letters >= ord("A")) & (letters <= ord("Z"))
        inside = np.flatnonzero(upper)
        part = slice(inside[0], inside[-1] + 1)
        place = np.cumsum(upper | (letters == ord("-"))) - 1
        column = np.zeros(length, np.uint8)
        matched = place[part][letters[part] < ord("a")]
        column[matched] = letters[part][letters[part] < ord("a")]
        columns.append(column)
        states = np.select([letters[part] == ord("-"), letters[part] >= ord("a")], [2, 1], 0)
        paths.append((states, place[part]))
    aligned = np.stack(columns)
    weights, counted = np.zeros(len(aligned)), np.zeros(len(aligned))
    for column in aligned.T:
        present = column > 0
        _, kinds, sizes = np.unique(column[present], return_inverse=True, return_counts=True)
        weights[present] += 1 / (len(sizes) * sizes[kinds])
        counted[present] += 1
    weights /= counted
    paths.insert(0, (np.zeros(length, int), np.arange(length)))
    counts = np.zeros((length, 3, 3))
    for (states, place), weight in zip(paths, weights, strict=True):
        np.add.at(counts, (place[:-1], states[:-1], states[1:]), weight)
    total = np.array([weights[column > 0].sum() for column in aligned.T])
    counts *= (observations / total)[:, None, None]
    parts = (
        (counts[:, 0, [0, 1, 2]], MATCH),
        (counts[:, 1, [0, 1]], INSERT),
        (counts[:, 2, [0, 2]], DELETE),
    )
    shares = [(part + prior) / (part + prior).sum(axis=1, keepdims=True) for part, prior in parts]
    return np.concatenate(shares, axis=1)


def read_model(path: Path, scores: Floats) -> Model:
    """Return a model of HMMER3; letters that are no amino acids score as in `scores`, a matrix."""
    lines = path.read_text().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("HMM "))
    start += 4 + lines[start + 2].split()[0].startswith("COMPO")
    values = [
        [math.inf if word == "*" else float(word) for word in line.split()[1:21]]
        for line in lines[start:-1:3]
    ]
    transitions = [
        [math.inf if word == "*" else float(word) for word in line.split()[:7]]
        for line in lines[start + 2 : -1 : 3]
    ]
    places = np.frombuffer(PROTEIN.encode(AMINO), np.uint8)
    own = np.tile(scores[PROTEIN.encode("X")[0]], (len(values), 1)).astype(np.float64)
    own[:, places] = (-np.array(values) - np.log(BACKGROUND)) / UNIT
    return Model(own, np.exp(-np.array(transitions)))


BACKGROUND = np.array(
    [
        *(0.0787945, 0.0151600, 0.0535222, 0.0668298, 0.0397062, 0.0695071, 0.0229198),
        *(0.0590092, 0.0594422, 0.0963728, 0.0237718, 0.0414386, 0.0482904, 0.0395639),
        *(0.0540978, 0.0683364, 0.0540687, 0.0673417, 0.0114135, 0.0304133),
    ]
)
"""HMMER3's frequencies of amino acids without a model, in the order of `AMINO`."""


@numba.njit(nogil=True)
def find_best(scores, costs, codes, H, E, out):  # type: ignore[no-untyped-def]
    """Write the score of the best alignment of each lane; ``codes`` are (columns, lanes).

    ::

        E[i, j] = max(H[i, j-1] - insert_first[i], E[i, j-1] - insert_next[i])
        F[i, j] = max(H[i-1, j] - delete_first[i], F[i-1, j] - delete_next[i])
    """
    F, above, diagonal = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    H[:], E[:], out[:] = 0, -1e9, 0
    for column in codes:
        F[:], above[:], diagonal[:] = -1e9, 0, 0
        for i in range(len(scores)):
            for k in range(LANES):
                e = max(H[i, k] - costs[i, 0], E[i, k] - costs[i, 1])
                f = max(above[k] - costs[i, 2], F[k] - costs[i, 3])
                h = max(0, diagonal[k] + scores[i, column[k]], e, f)
                diagonal[k] = H[i, k]
                H[i, k], E[i, k], F[k], above[k] = h, e, f, h
                out[k] = max(out[k], h)


@numba.njit(nogil=True)
def find_sum(odds, transitions, codes, M, I, D, out):  # type: ignore[no-untyped-def]  # noqa: E741
    """Write the logarithm of the sum of the odds of all alignments of each lane (Forward).

    Numbers that grow large are scaled, with those that are added to them.
    """
    before_M, before_I, before_D = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    match, delete, begin, scaled = np.empty((4, LANES))
    M[:], I[:], D[:], out[:], begin[:], scaled[:] = 0, 0, 0, 0, 1, 0
    for column in codes:
        before_M[:], before_I[:], before_D[:], match[:], delete[:] = 0, 0, 0, 0, 0
        for i in range(len(odds)):
            above, own = transitions[max(i - 1, 0)], transitions[i]
            for k in range(LANES):
                entering = before_M[k] * above[0] + before_I[k] * above[3] + before_D[k] * above[5]
                deleted = match[k] * above[2] + delete[k] * above[6]
                before_M[k], before_I[k], before_D[k] = M[i, k], I[i, k], D[i, k]
                I[i, k] = M[i, k] * own[1] + I[i, k] * own[4]
                match[k] = odds[i, column[k]] * (entering + begin[k])
                M[i, k], D[i, k], delete[k] = match[k], deleted, deleted
                out[k] += match[k]
        for k in range(LANES):
            if out[k] > LARGE:
                begin[k] /= LARGE
                out[k] /= LARGE
                M[:, k] /= LARGE
                I[:, k] /= LARGE
                D[:, k] /= LARGE
                scaled[k] += 1
    for k in range(LANES):
        out[k] = math.log(out[k] + 1e-300) + scaled[k] * math.log(LARGE)


class Targets:
    """Sequences in batches of lanes, of similar lengths."""

    def __init__(self, sequences: list[str]) -> None:
        codes = [np.frombuffer(PROTEIN.encode(x), np.uint8) for x in sequences]
        self.lengths = np.array([len(x) for x in codes])
        order = np.argsort(-self.lengths, kind="stable")
        self.batches = []
        for first in range(0, len(order), LANES):
            some = order[first : first + LANES]
            columns = np.full((self.lengths[some[0]], LANES), PAD, np.uint8)
            for lane, k in enumerate(some):
                columns[: len(codes[k]), lane] = codes[k]
            self.batches.append((some, columns))

    def best(self, model: Model, costs: Costs) -> Floats:
        """Return the scores of the best alignments, in `UNIT`."""
        scores = model.scores.copy()
        scores[:, PAD] = -1e4
        H, E = np.empty((2, len(scores), LANES))
        return self._each(find_best, scores, np.stack(costs, axis=1), H, E)

    def sums(self, model: Model) -> Floats:
        """Return the logarithms of the sums over all alignments, in nats."""
        odds = np.exp(UNIT * model.scores)
        odds[:, PAD] = 0
        return self._each(find_sum, odds, model.transitions, *np.empty((3, len(odds), LANES)))

    def _each(self, kernel: Callable[..., None], *arguments: Any) -> Floats:
        found, out = np.empty(len(self.lengths)), np.empty(LANES)
        scores, parameters, *space = arguments
        for some, columns in self.batches:
            kernel(scores, parameters, columns, *space, out)
            found[some] = out[: len(some)]
        return found


def fitted(scores: Floats, lengths: Integers, query_length: int) -> Floats:
    """Return the logarithms of E-values as ``--stats fit`` has them."""
    counts = np.rint(np.maximum(scores, 0) * FINE).astype(np.int64)
    statistics = fit(
        histogram(counts, lengths), query_length, int(lengths.sum()), len(lengths), PROTEIN
    )
    return statistics.evaluate(counts, query_length, lengths).log_evalues


def universal(scores: Floats, lengths: Integers, query_length: int) -> Floats:
    """Return the logarithms of E-values of a Gumbel distribution with the scale 1."""
    beyond = scores - np.log(lengths)
    place = float(np.median(beyond)) + math.log(math.log(2))
    return place - beyond + math.log(len(lengths))


def find_profiles(folder: Path, queries: list[str]) -> list[tuple[Model, float]]:
    """Return the profiles of the last rounds of `swdual iterate`, as models."""
    before: dict[int, Any] = {}
    used: dict[int, Model] = {}
    for done in swdual.iterate(folder / "q.fasta", folder / "db.swdual", max_target_seqs=0):
        for place, result in enumerate(done.results):
            used |= {result.number: before[result.number]} if result.number in before else {}
            profile = done.profile(place)
            if profile is None:
                continue
            included = np.flatnonzero(np.exp(result.log_evalues) < done.rules.inclusion)
            rows = MultipleAlignment.from_hits(result).rows[1:]
            before[result.number] = Model(
                np.asarray(profile.scores, np.float64),
                count_transitions(
                    [rows[k] for k in included], queries[result.number], profile.observations
                ),
            )
    return [used[k] for k in range(len(queries))]


def find_models(folder: Path, count: int) -> tuple[list[Model], list[list[tuple[str, float]]]]:
    """Return the models of the last rounds of jackhmmer, and what it reports itself."""
    scores = load("BLOSUM62").scores
    models, reported = [], []
    for k in range(count):
        command = ["jackhmmer", "-N", "3", "-E", str(REPORTED), "--noali", "--tblout", "table"]
        command += ["--chkhmm", f"model{k}", f"{k}.fasta", "db.fasta"]
        run(command, folder)
        *_, last = sorted(folder.glob(f"model{k}-*.hmm"))
        models.append(read_model(last, scores))
        lines = (folder / "table").read_text().splitlines()
        words = [line.split() for line in lines if not line.startswith("#")]
        reported.append([(x[0], float(x[4])) for x in words])
    return models, reported


def measure(found: Found) -> dict[str, list[list[float | None]]]:
    """Return the measures of `sensitivity.py`, each with its interval."""
    weights = resamples(len(found.members), 1000, 1)
    return {
        "family and superfamily": [limits(x) for x in mean_areas(areas(found), weights).T[:2]],
        "superfamily at errors": [
            limits(x) for x in sensitivities(found, weights, SUPERFAMILY, ERRORS).T
        ],
        "errors at E-value": [limits(x) for x in observed_errors(found, weights, CLAIMS[:5]).T],
    }


@click.command()
@click.option("--queries", default=200, help="Draw so many domains as queries.")
@click.option("--seed", default=1, help="Of the queries.")
@click.option("--threads", default=1)
@click.option("--domains", "fasta", type=click.Path(path_type=Path, exists=True),
              help="As for sensitivity.py.")  # fmt: skip
@click.option("--background", "others", multiple=True,
              type=click.Path(path_type=Path, exists=True), help="As for sensitivity.py.  "
              "[default: the reference proteomes of the shared data]")  # fmt: skip
@click.option("--keep", is_flag=True, help="Write the figures to bench/results.")
def main(
    queries: int,
    seed: int,
    threads: int,
    fasta: Path | None,
    others: tuple[Path, ...],
    keep: bool,
) -> None:
    if not shutil.which("jackhmmer"):
        raise click.ClickException("jackhmmer is not on PATH")
    fasta, others = choose_files(fasta, others)
    domains = read_domains(fasta, None)
    truth = read_truth([x.scope for x in domains])
    random = np.random.default_rng(seed)
    chosen = np.sort(random.choice(len(domains), min(queries, len(domains)), replace=False))
    asked = [domains[k] for k in chosen]
    sequences = [x.sequence.upper() for x in asked]
    numbers = {x.name: k for k, x in enumerate(domains)}
    targets = Targets([x.sequence.upper() for x in domains])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        texts = [f">{x.name}\n{x.sequence.upper()}\n" for x in [*domains, *read_background(others)]]
        (folder / "db.fasta").write_text("".join(texts))
        (folder / "q.fasta").write_text("".join(texts[k] for k in chosen))
        for k, number in enumerate(chosen):
            (folder / f"{k}.fasta").write_text(texts[number])
        swdual.makedb(folder / "db.fasta", folder / "db.swdual").close()
        profiles = find_profiles(folder, sequences)
        models, reported = find_models(folder, len(asked))

    def constant(model: Model) -> Floats:
        level = np.ones(len(model.scores))
        return targets.best(model, (GAPS[0] * level, GAPS[1] * level) * 2)

    def as_estimated(model: Model) -> Floats:
        return targets.best(model, find_costs(model.transitions))

    def shifted(model: Model) -> Floats:
        return targets.best(model, shift_costs(find_costs(model.transitions)))

    def rounded(model: Model) -> Floats:
        costs = shift_costs(find_costs(model.transitions))
        return targets.best(model, tuple(np.rint(cost) for cost in costs))  # type: ignore[arg-type]

    ways: list[tuple[str, list[Model], Callable[[Model], Floats], Callable[..., Floats]]] = [
        ("swdual, constant costs", profiles, constant, fitted),
        ("swdual, costs by position", profiles, as_estimated, fitted),
        ("swdual, costs by position, shifted", profiles, shifted, fitted),
        ("swdual, costs by position, shifted and rounded", profiles, rounded, fitted),
        ("jackhmmer, constant costs", models, constant, fitted),
        ("jackhmmer, costs by position", models, as_estimated, fitted),
        ("jackhmmer, sums", models, targets.sums, fitted),
        ("jackhmmer, sums, scale 1", models, targets.sums, universal),
    ]
    figures: dict[str, Any] = {}
    scored: dict[tuple[int, Any], list[Floats]] = {}

    def note(name: str, pairs: list[tuple[Integers, Floats]]) -> None:
        query = np.repeat(chosen, [len(x) for x, _ in pairs])
        target, evalues = (np.concatenate(x) for x in zip(*pairs, strict=True))
        figures[name] = measure(judge(truth, chosen, (query, target), evalues))

    own = [{numbers[x]: e for x, e in found if x in numbers} for found in reported]
    pairs = [(np.array([*x], np.int64), np.array([*x.values()], np.float64)) for x in own]
    note("jackhmmer itself", pairs)
    for name, some, score, evaluate in ways:
        started = time.perf_counter()
        key = id(some), score
        if key not in scored:
            with ThreadPoolExecutor(threads) as executor:
                scored[key] = list(executor.map(score, some))
        pairs = []
        for scores, model in zip(scored[key], some, strict=True):
            logs = evaluate(scores, targets.lengths, len(model.scores))
            reached = np.flatnonzero(logs < math.log(REPORTED))
            pairs.append((reached, np.exp(logs[reached])))
        note(name, pairs)
        click.echo(f"{name}: {time.perf_counter() - started:.0f} s", err=True)
    rows = [["", "family", "superfamily", *(f"{x:g}" for x in ERRORS),
             *(f"E {x:g}" for x in CLAIMS[:5])]]  # fmt: skip
    for name, measures in figures.items():
        values = [limits[0] for each in measures.values() for limits in each]
        rows.append([name, *("-" if x is None else f"{x:.3f}" for x in values)])
    click.echo("swdual: shares before the first error; of superfamilies at errors; errors at E")
    table(rows)
    facts = {"queries": len(chosen), "seed": seed, "domains": len(domains)}
    save("profile_scores", {**facts, "ways": figures}, kept=keep)


if __name__ == "__main__":
    main()
