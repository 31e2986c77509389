"""Whole searches of random rounds: any workers and any cutting, one result; and its alignments.

One search by one worker is compared with the oracle, hit by hit. Others, by workers of any kind
that plan by any planner and cut the work in any way, must find the same and write the same bytes.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from fuzz.scorers import bind_emulated, by_oracle, database_of
from oracles.alignment import rescore_cigar, spans
from support.scoring_cases import LANES
from support.traced import oracle as traced
from support.traced import score_in

import swdual
from kernels import emulator
from swdual import registry
from swdual.backend import Device
from swdual.backends import cuda
from swdual.master import partition, ranges, setup
from swdual.planning.planner import PACKAGE
from swdual.sequences.alphabet import NUCLEOTIDE
from swdual.sequences.scoring import PREFERRED_GAPS
from swdual.statistics.parameters import default_stats

PARTS = ("whole searches", "alignments", "small alignments")

OTHERS = 2
"""Searches by other workers."""

EVERY = 10
"""One round of so many is searched as a whole."""

FORMATS = ("6 std qlen slen rank", "10", "0")
SCORES_ONLY = ("6 qseqid sseqid score bitscore evalue",)
SMALL_CELLS = 2500
"""A pair whose alignment is also found from its definition, in Python."""


class Checked(NamedTuple):
    """What was checked: which part, (scores, cells, differences, seconds), and what was wrong."""

    part: str
    counts: tuple
    complaints: list[str]


def check(drawn, seed, cells):
    """Yield what was checked on a part of a round with at most so many cells.

    Queries are searched by their letters, also where a round scores them as profiles.
    """
    rng = np.random.default_rng(seed)
    places = drawn.fitting(rng, cells)
    if len(places) == 0 or rng.integers(EVERY):
        return
    drawn = replace(drawn.only(places), profiled=None)
    options = drawn_options(rng, drawn.scheme)
    scores, strands = expected(drawn, options["strand"])
    begin = time.perf_counter()
    alone = searched(drawn, rng, options, [Device()])
    complaints = wrong_hits(alone, scores, strands, options)
    for _ in range(OTHERS):
        pool = drawn_crew(rng)
        kinds = {device.kind for device in pool}
        usable = [name for name in registry.available(PACKAGE) if usable_for(name, kinds)]
        more = {"planner": str(rng.choice(usable))}
        with cut_anyhow(rng):
            found = searched(drawn, rng, {**options, **more}, pool)
        if (unlike := difference(found, alone, options["align"])) is not None:
            complaints.append(f"search by {[d.name for d in pool]}, {more}: other {unlike}")
    sides = 2 if options["strand"] == "both" else 1
    counts = drawn.cells * sides * (1 + OTHERS), len(complaints), time.perf_counter() - begin
    yield Checked(PARTS[0], (np.tile(scores, (1 + OTHERS, 1)), *counts), complaints)
    if options["align"]:
        yield from wrong_alignments(alone, drawn.scheme)


def drawn_options(rng, scheme):
    """Return how to search: any number of hits, with statistics where there may be some."""
    matrix = scheme.matrix
    gaps = scheme.gap_open, scheme.gap_extend
    known = PREFERRED_GAPS.get(matrix.name) == gaps
    tabled = ["table"] * (default_stats(scheme) == "table")
    bases = matrix.alphabet is NUCLEOTIDE
    return {
        "matrix": matrix,
        "gap_open": scheme.gap_open,
        "gap_extend": scheme.gap_extend,
        "max_target_seqs": int(rng.choice([0, 1, 3, 20])),
        "stats": str(rng.choice([*tabled, "fit", "none"])) if known else "none",
        "align": bool(rng.random() < 0.7),
        "comp_based_stats": 0,
        "strand": str(rng.choice(["plus", "minus", "both"])) if bases else None,
        "dbtype": matrix.alphabet.name,
    }


def expected(drawn, strand):
    """Return the scores of the better strands, and which these are."""
    plus = by_oracle(drawn, None)
    if drawn.scheme.matrix.alphabet is not NUCLEOTIDE:
        return plus, np.ones_like(plus)
    turned = tuple(NUCLEOTIDE.reverse_complement(query) for query in drawn.queries)
    minus = by_oracle(replace(drawn, queries=turned), None)
    taken = {"plus": plus >= 0, "minus": plus < 0, "both": plus >= minus}[strand]
    return np.where(taken, plus, minus), np.where(taken, 1, -1)


def searched(drawn, rng, options, devices):
    """Return what a search finds."""
    letters = drawn.scheme.matrix.alphabet.decode
    queries = [(f"q{k}", letters(codes)) for k, codes in enumerate(drawn.queries)]
    return swdual.search(queries, database_of(drawn, rng), device=devices, **options)


def wrong_hits(found, scores, strands, options):
    """Return how the hits are not those of the oracle; without statistics, all of them."""
    wrong = []
    for number, (row, sides) in enumerate(zip(scores, strands, strict=True)):
        hits = found[number]
        ordinals = hits.ordinals.astype(np.int64)
        if options["stats"] == "none":
            order = np.lexsort((np.arange(len(row)), -row))
            right = order[row[order] > 0][: options["max_target_seqs"] or None]
        else:
            right = ordinals
        same = (
            np.array_equal(ordinals, right)
            and np.array_equal(hits.scores, row[right])
            and np.array_equal(hits.frames, sides[right])
        )
        if not same:
            wrong.append(
                f"query {number}: hits {ordinals.tolist()} of scores {hits.scores.tolist()}, "
                f"for {right.tolist()} of {row[right].tolist()}; {options}"
            )
    return wrong


def drawn_crew(rng):
    """Return workers: CPUs, others that play GPUs, at times slow ones or emulated cards."""
    pool = [Device()] * int(rng.integers(0, 5))
    for _ in range(rng.integers(0, 3)):
        pool.append(Device("gpu", "simd", {"lanes": int(rng.choice(LANES))}))
    if rng.random() < 0.1:
        pool.append(Device("cpu", "reference"))
    if rng.random() < 0.2 and not emulator.missing():
        pool.append(Device("gpu", "cuda", {"number": int(rng.integers(1 << 31))}))
    return pool or [Device()]


def usable_for(planner, kinds):
    """Return whether a planner plans for workers of these kinds."""
    return planner.removesuffix("_only") in kinds or not planner.endswith("_only")


@contextmanager
def cut_anyhow(rng):
    """Have tasks of any size, waves of few queries, and cards that are emulated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ranges, "MIN_RANGE_RESIDUES", int(rng.choice([50, 1000, ranges.MIN_RANGE_RESIDUES]))
        )
        patch.setattr(partition, "GOOD_ENOUGH", int(rng.integers(2)))
        patch.setattr(setup, "MAX_BATCH_QUERIES", int(rng.choice([1, 2, setup.MAX_BATCH_QUERIES])))
        patch.setattr(
            cuda,
            "bind",
            lambda database, scheme, number: bind_emulated(
                database, scheme, np.random.default_rng(number)
            ),
        )
        yield


def difference(found, alone, aligned):
    """Return in what two results differ, or None."""
    if found != alone:
        return "hits"
    for result, other in zip(found, alone, strict=True):
        for column in ("log_evalues", "bits"):
            if getattr(result, column).tobytes() != getattr(other, column).tobytes():
                return column
    with tempfile.TemporaryDirectory() as folder:
        for number, outfmt in enumerate(FORMATS if aligned else SCORES_ONLY):
            paths = [Path(folder, f"{name}{number}") for name in ("found", "alone")]
            for path, results in zip(paths, (found, alone), strict=True):
                results.write(path, outfmt)
            if paths[0].read_bytes() != paths[1].read_bytes():
                return f"bytes in format {outfmt}"
    return None


def wrong_alignments(found, scheme):
    """Yield how the alignments of a result do not score what they say, or are not the rule's."""
    for part, chosen in ((PARTS[1], rescored_wrong), (PARTS[2], unlike_the_rule)):
        begin, cells, scores, complaints = time.perf_counter(), 0, [], []
        for hit in itertools.chain.from_iterable(found):
            size = len(hit.query.codes) * hit.target_length
            if part == PARTS[2] and size > SMALL_CELLS:
                continue
            cells += size
            scores.append(hit.score)
            if (unlike := chosen(hit, scheme)) is not None:
                complaints.append(f"query {hit.result.number}, target {hit.ordinal}: {unlike}")
        if scores:
            seconds = time.perf_counter() - begin
            yield Checked(part, (np.array(scores), cells, len(complaints), seconds), complaints)


def rescored_wrong(hit, scheme):
    """Return how an alignment does not score what the hit does, or None."""
    aligned = hit.alignment
    alphabet = scheme.matrix.alphabet
    query, start, operations = hit.query.codes, aligned.query_start, aligned.operations
    if hit.strand < 0:
        query = alphabet.reverse_complement(query)
        start, operations = len(query) - aligned.query_end, operations[::-1]
    cigar = "".join(f"{count}{letter}" for letter, count in operations)
    extent = aligned.query_end - aligned.query_start, aligned.target_end - aligned.target_start
    try:
        score = rescore_cigar(
            *(cigar, alphabet.decode(query), alphabet.decode(hit.target.codes)),
            *(start, aligned.target_start, score_in(scheme), scheme.gap_open, scheme.gap_extend),
        )
    except ValueError as error:
        return str(error)
    if score != hit.score or spans(operations) != extent:
        return f"{cigar} from {start}, {aligned.target_start} scores {score} for {hit.score}"
    return None


def unlike_the_rule(hit, scheme):
    """Return how an alignment is not the one that the rule chooses, or None."""
    _, numbers, operations = traced(hit.query.codes, hit.target.codes, scheme, hit.strand)
    aligned = hit.alignment
    ours = [
        *(aligned.query_start, aligned.query_end, aligned.target_start, aligned.target_end),
        *(aligned.length, aligned.identities, aligned.positives),
        *(aligned.gap_openings, aligned.gaps),
    ]
    if (ours, aligned.operations) != (numbers, operations):
        return f"{ours} {aligned.operations} for {numbers} {operations}"
    return None
