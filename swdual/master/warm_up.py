"""Small jobs whose only purpose is to compile the kernels that common searches use.

`swdual.master.compilation` runs each in a process of its own.
"""

from __future__ import annotations

import gc

import numpy as np

from swdual.alignment.tracer import Tracer
from swdual.backend import Device
from swdual.backends.simd import score_pack
from swdual.composition.adjuster import Adjuster
from swdual.composition.tables import SCALE
from swdual.lanes.pack import make_block, pack
from swdual.lanes.registers import register_bytes
from swdual.lanes.score_widths import score_widths_per_target
from swdual.masking.seg import find_low_complexity
from swdual.master.search import Search
from swdual.master.threads import ThreadExecutor
from swdual.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence

QUERY_RESIDUES = 300
"""The query's score with itself needs 16 bits, that with a tenth of itself needs 8."""


def compile_scores() -> None:
    """Compile what scores targets: many side by side, or a single one; in 8 bits and in 16."""
    gc.disable()  # collecting garbage takes an eighth of Numba's time
    generator = np.random.default_rng(1)
    query = _random_protein(generator, QUERY_RESIDUES)
    many = {f"relative{number}": query for number in range(200)}
    many |= {
        f"stranger{number}": _random_protein(generator, 100 + number % 7) for number in range(400)
    }
    for targets in (many, {"relative": query}):
        # Two workers, so that a plan is made.
        options = SearchOptions(align=False, comp_based_stats=0, device=[Device()] * 2)
        executor = ThreadExecutor(compiles_first=False)
        for _ in Search({"query": query}, targets, options, executor).results():
            pass


def compile_alignments() -> None:
    """Compile what aligns a query with targets, in 8 bits and in 16, and what masks proteins."""
    gc.disable()
    matrix = matrices.load("BLOSUM62")
    query = _random_protein(np.random.default_rng(1), QUERY_RESIDUES)
    targets = [PROTEIN.encode(query[:residues]) for residues in (len(query) // 10, len(query))]
    scores = [int(matrix.scores[[*codes], [*codes]].sum()) for codes in targets]
    frames = np.ones(len(targets), np.int8)
    whole = Sequence("query", targets[-1])
    Tracer(ScoringScheme(matrix))(whole, targets, np.array(scores), frames)
    find_low_complexity(targets[-1])


def compile_adjustments() -> None:
    """Compile what adjusts scores for composition, and aligns with them, in 16 bits and in 32."""
    gc.disable()
    scheme = ScoringScheme(matrices.load("BLOSUM62"))
    adjuster = Adjuster(scheme, 2)
    protein = _random_protein(np.random.default_rng(1), QUERY_RESIDUES // 2)
    for copies in (1, 10):
        codes = PROTEIN.encode(f"{protein}{'Q' * 30}" * copies)  # part of it is masked
        score = int(scheme.matrix.scores[[*codes], [*codes]].sum())
        query = Sequence("query", codes)
        adjusted = adjuster.adjust(query, [codes], np.array([score]))
        adjuster.trace(query, [codes], adjusted)
    assert adjusted.matrices is not None
    letters = np.frombuffer(codes, np.uint8)
    gap_penalties = SCALE * scheme.gap_open, SCALE * scheme.gap_extend
    for width in score_widths_per_target(
        letters, letters, adjusted.matrices, *gap_penalties, register_bytes()
    ):
        packed = pack(make_block([codes]), np.zeros(1, np.int64), width.lanes)
        for one_by_one in (True, False):
            score_pack(
                letters.astype(np.int64), packed, width, np.array([one_by_one]), lambda _: None
            )


def _random_protein(generator: np.random.Generator, residues: int) -> str:
    return "".join(generator.choice([*"ACDEFGHIKLMNPQRSTVWY"], residues))
