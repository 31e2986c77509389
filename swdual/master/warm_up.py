"""Small jobs whose only purpose is to compile the kernels that common searches use.

`swdual.master.compilation` runs them in processes of their own.
"""

from __future__ import annotations

import gc
import multiprocessing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.pairs import TargetMatrices
from swdual.alignment.tracer import Tracer
from swdual.backends.simd import bind, score_pack
from swdual.composition.adjust import adjust
from swdual.composition.adjuster import Adjuster
from swdual.composition.tables import SCALE, find_tables
from swdual.database.database import Database
from swdual.lanes.pack import make_block, pack
from swdual.lanes.registers import register_bytes, register_count
from swdual.lanes.score_widths import (
    find_bound,
    number_rows,
    score_widths,
    score_widths_per_target,
)
from swdual.masking.seg import find_low_complexity
from swdual.master.compilation import Job
from swdual.planning.instance import Instance
from swdual.planning.planner import plan_instance
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

RESIDUES = {8: 30, 16: 300}
"""Lengths of proteins whose scores with themselves need 8 bits, and 16."""

SCALED_RESIDUES = {16: 150, 32: 1500}
"""The same for scores in units of 1 / `SCALE`."""

FIRST_SCALED = 16
"""The narrowest of these: bounds are computed in the narrowest numbers only."""


def run(jobs: list[Job]) -> None:
    """Run some jobs, as many at a time as there are CPUs.

    The processes are copies of this one, which has loaded Numba, where a system can copy them. A
    job that needs what another one is compiling waits for it.
    """
    from swdual.runtime import codegen, system

    gc.disable()  # collecting garbage takes an eighth of Numba's time
    codegen.load_numba()
    processes = min(system.available_threads(), len(jobs))
    with multiprocessing.get_context(system.START_METHOD).Pool(processes) as pool:
        pool.map(_call, jobs, chunksize=1)


def _call(job: Job) -> None:
    name, *numbers = job
    globals()[name](*numbers)


def compile_scores() -> None:
    """Compile what scores targets: many side by side, few in half the lanes, or a single one.

    Short queries are scored without `swdual.lanes.score_widths.Offsets`.
    """
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    query, stranger = _random_codes(RESIDUES[16]), _random_codes(RESIDUES[16], seed=2)
    count = 4 * register_bytes()
    targets = count * [query] + count * [stranger]
    batch = batch_of(Sequence(str(k), codes) for k, codes in enumerate(targets))
    scorer = bind(Database.from_batches([batch], PROTEIN, ""), scheme)
    for part in (query, query[: RESIDUES[8]]):
        for last in (1, register_bytes(), len(targets)):
            scorer(part, 0, 0, last, lambda _: None)


def compile_bounds() -> None:
    """Compile what computes upper bounds of the scores of many targets."""
    query, stranger = _random_codes(RESIDUES[16]), _random_codes(RESIDUES[16], seed=2)
    numbers = score_widths(
        ScoringScheme(matrices.load("BLOSUM62")), register_bytes() * register_count() // 16
    )[0]
    bound = find_bound(numbers)
    assert bound is not None
    packed = pack(make_block([stranger]), np.zeros(1, np.int64), bound.lanes)
    score_pack(number_rows(query), packed, bound, np.zeros(1, np.bool_), lambda _: None)


def compile_plans() -> None:
    """Compile what plans a search."""
    times, speeds = np.ones(8), np.ones(2)
    plan_instance(Instance(times, times, speeds, np.empty(0)), SearchOptions().planner)


def compile_masks() -> None:
    """Compile what finds regions of low complexity in proteins."""
    find_low_complexity(_random_codes(RESIDUES[16]))


def compile_alignments(bits: int) -> None:
    """Compile what aligns targets, one by itself and some tens side by side, in 8 bits or 16."""
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    codes = _random_codes(RESIDUES[bits])
    score, query = _score(scheme, codes), Sequence("query", codes)
    for count in (1, 2 * register_bytes()):
        scores, frames = np.full(count, score), np.ones(count, np.int8)
        Tracer(scheme)(query, [codes] * count, scores, frames)


def compile_adjustments() -> None:
    """Compile what adjusts matrices for composition."""
    codes = _random_codes(RESIDUES[16])
    adjust(codes, [codes], find_tables(ScoringScheme(matrices.load("BLOSUM62"))), 2)


def compile_near_identical() -> None:
    """Compile what tells that a query and a target are nearly identical."""
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    codes = _random_codes(RESIDUES[16]) + 30 * PROTEIN.encode("Q")  # part of it is masked
    query, score = Sequence("query", codes), _score(scheme, codes)
    Adjuster(scheme, 2).adjust(query, [codes], np.array([score]))


def compile_adjusted_scores(bits: int) -> None:
    """Compile what scores targets with a matrix each, in 16 bits or 32."""
    letters, target, tables, gaps, _ = _scaled_protein(SCALED_RESIDUES[bits])
    residues = letters.astype(np.uint8)
    widths = score_widths_per_target(letters, residues, tables, *gaps, register_bytes())
    width = next(width for width in widths if width.bits == bits)
    packed = pack(make_block([target]), np.zeros(1, np.int64), width.lanes)
    for one_by_one in (True, False):
        score_pack(letters, packed, width, np.array([one_by_one]), lambda _: None)
    if bits == FIRST_SCALED:
        bound = find_bound(width)
        assert bound is not None
        score_pack(letters, packed, bound, np.zeros(1, np.bool_), lambda _: None)


def compile_adjusted_alignments(bits: int) -> None:
    """Compile what aligns targets that have a matrix each, in 16 bits or 32.

    One target is aligned by itself, some tens are aligned side by side.
    """
    tracer = Tracer(ScoringScheme(matrices.load("BLOSUM62")))
    letters, target, tables, gaps, score = _scaled_protein(SCALED_RESIDUES[bits])
    for count in (1, 2 * register_bytes()):
        targets, scores = [target] * count, np.full(count, score)
        repeated = np.repeat(tables, count, axis=0)
        scoring = TargetMatrices(repeated, gaps)
        tracer.trace_adjusted(letters, targets, scoring, scores, target, targets)


class _Scaled(NamedTuple):
    """A protein, the table of a target, and gap costs in units of 1 / `SCALE`; its own score."""

    letters: NDArray[np.int64]
    codes: bytes
    tables: NDArray[np.int32]
    gap_penalties: tuple[int, int]
    score: int


def _scaled_protein(residues: int) -> _Scaled:
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    size = len(PROTEIN.letters)
    tables = np.zeros((1, CODES, CODES), np.int32)
    tables[0, :size, :size] = SCALE * scheme.matrix.scores[:size, :size]
    codes = _random_codes(residues)
    letters = np.frombuffer(codes, np.uint8).astype(np.int64)
    gaps = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    return _Scaled(letters, codes, tables, gaps, int(tables[0, letters, letters].sum()))


def _random_codes(residues: int, seed: int = 1) -> bytes:
    letters = np.random.default_rng(seed).choice([*"ACDEFGHIKLMNPQRSTVWY"], residues)
    return PROTEIN.encode("".join(letters))


def _score(scheme: ScoringScheme, codes: bytes) -> int:
    """Return the score of a protein with itself."""
    return int(scheme.matrix.scores[[*codes], [*codes]].sum())
