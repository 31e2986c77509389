"""Databases that are not here: as many targets and residues as were said, cut like real ones."""

from __future__ import annotations

import numpy as np
import pytest

from swdual.database.build import BLOCK_RECORDS
from swdual.database.database import Database
from swdual.database.layout import BLOCK_BYTES
from swdual.errors import InputError
from swdual.prediction.synthetic_database import TARGET_BYTES, SyntheticDatabase, block_bytes
from swdual.sequences.alphabet import ALIGNMENT, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

SIZES = [
    (60_000_000_000, 184_000_000, 45_000),
    (200_000_000, 570_000, 35_000),
    (3_000_000_000, 20_000_000, 300),
    (100_000_000, 1, 100_000_000),
    (1_000_000, 1_000_000, 1),
    (1, 1, 1),
]


@pytest.mark.parametrize("sizes", SIZES)
def test_it_has_what_was_said(sizes):
    """Residues within a thousandth, sequences exactly, and one target of the longest length."""
    database = SyntheticDatabase(*sizes)
    assert database.residues == pytest.approx(sizes[0], rel=1e-3)
    assert (len(database), database.manifest.longest) == sizes[1:]
    assert database.manifest.sequences == sizes[1]


@pytest.mark.parametrize("sizes", SIZES)
def test_blocks_follow_each_other_and_say_what_is_in_them(sizes):
    """Lengths descend, within blocks and from block to block; none is larger than a block."""
    database = SyntheticDatabase(*sizes)
    first = 0
    shortest = sizes[2]
    blocks = database.manifest.blocks
    for number, block in enumerate(blocks):
        assert block.first == first
        first += block.sequences
        if number not in (0, 1, len(blocks) // 2, len(blocks) - 1):
            shortest = block.shortest
            continue
        lengths = database.lengths(number).astype(np.int64)
        assert len(lengths) == block.sequences <= BLOCK_RECORDS
        assert lengths.sum() == block.residues
        assert (lengths[0], lengths[-1]) == (block.longest, block.shortest)
        assert (np.diff(lengths) <= 0).all()
        assert block.longest <= shortest
        shortest = block.shortest
        padded = (lengths + -lengths % ALIGNMENT).sum()
        assert padded <= BLOCK_BYTES or block.sequences == 1
    assert first == len(database)


def test_blocks_are_those_that_makedb_would_cut():
    """The same targets, in a real database, fill as many blocks with as many targets each."""
    described = SyntheticDatabase(150_000_000, 300_000, 30_000)
    lengths = np.concatenate([described.lengths(k) for k in range(len(described.manifest.blocks))])
    targets = [Sequence(f"{k}", bytes(length)) for k, length in enumerate(lengths.tolist())]
    real = Database.from_batches([batch_of(targets)], PROTEIN, "t")
    assert [(b.first, b.sequences, b.residues) for b in described.manifest.blocks] == [
        (b.first, b.sequences, b.residues) for b in real.manifest.blocks
    ]
    for number, block in enumerate(real.manifest.blocks):
        sections = (x for x in real.manifest.sections if x.name.endswith(f"/{number}"))
        assert block_bytes(block) == pytest.approx(sum(x.bytes for x in sections), rel=0.01)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 1, 1), "residues is 0, but it must be from 1"),
        ((10**13, 10, 10), "residues is 10,000,000,000,000"),
        ((100, 101, 5), "sequences is 101, but it must be from 1 to 100"),
        ((10**11, 10**11, 5), "sequences is 100,000,000,000, but it must be from 1 to 10,000,"),
        ((100, 10, 101), "longest is 101"),
        ((100, 10, 9), "10 sequences of at most 9 residues have no 100"),
    ],
)
def test_what_cannot_be_is_refused(sizes, message):
    with pytest.raises(InputError, match=message):
        SyntheticDatabase(*sizes)


def test_a_block_is_larger_than_its_residues():
    """Numbers about targets are sent, too."""
    block = SyntheticDatabase(3_000_000, 10_000, 2000).manifest.blocks[0]
    assert block_bytes(block) == block.residues + 10_000 * TARGET_BYTES
