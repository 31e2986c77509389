"""A view of some records is like a database that was built of these records only."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from support.taxa import random_organisms

from swdual.alignment.tracer import Tracer
from swdual.backends import reference, simd
from swdual.backends.cuda import pieces
from swdual.database import build as building
from swdual.database.database import Database
from swdual.database.subset import Subset, select_records
from swdual.errors import InputError, UnknownIdentifier
from swdual.sequences import matrices
from swdual.sequences.alphabet import PROTEIN, raise_case
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.taxonomy.tree import make_taxonomy

SCHEME = ScoringScheme(matrices.load("BLOSUM62"))


def build(records, masks=()):
    batches = [batch_of(Sequence(title, PROTEIN.encode(x)) for title, x in records.items())]
    return Database.from_batches(batches, PROTEIN, "t")


@pytest.fixture(params=[0.9, 0.5, 0.05])
def pair(request, monkeypatch):
    """A view of some records in several blocks, and a database of these records."""
    monkeypatch.setattr(building, "BLOCK_BYTES", 2048)
    draw = random.Random(8)
    records = random_organisms(draw, [5], 150).targets
    records["low complexity"] = "MKV" + "A" * 40 + "WGG"
    chosen = np.array([draw.random() < request.param for _ in records])
    chosen[[3, -1]] = True
    view = Subset(whole := build(records), select_records(whole, chosen))
    kept = {title: x for (title, x), here in zip(records.items(), chosen, strict=True) if here}
    return view, build(kept), whole


def blocks(database):
    """Return everything about all targets, in the order of the blocks."""
    return [
        (len(codes), int(ordinal), codes, database.headers([int(ordinal)])[0])
        for number, block in enumerate(database.blocks())
        for ordinal, codes in zip(
            block.ordinals, database.codes_at(number, range(len(block.lengths))), strict=True
        )
    ]


def test_records_and_numbers_are_those_of_the_chosen_ones(pair):
    view, built, _ = pair
    assert (len(view), view.residues) == (len(built), built.residues)
    assert view.manifest.longest == built.manifest.longest
    assert list(view) == list(built)
    assert list(view.sizes()) == list(built.sizes())
    assert blocks(view) == blocks(built)
    ordinals = random.Random(1).choices(range(len(view)), k=30)
    assert view.codes(ordinals) == built.codes(ordinals)
    assert view.find_lengths(np.array(ordinals)).tolist() == [len(view[k]) for k in ordinals]
    infos = view.manifest.blocks
    assert [info.first for info in infos] == np.cumsum([0] + [x.sequences for x in infos])[
        :-1
    ].tolist()


def test_targets_are_found_by_their_names(pair):
    view, built, whole = pair
    for record in built:
        assert view[record.id] == record
    left_out = next(record.id for record in whole if record.id not in built)
    assert left_out not in view
    with pytest.raises(UnknownIdentifier):
        view.find(left_out)


@pytest.mark.parametrize("mask", [None, "seg", "tantan:0.1"])
def test_every_backend_scores_the_chosen_targets(pair, mask):
    """Any range of them, masked or not."""
    view, built, _ = pair
    if mask is not None:
        view, built = view.masked(mask), built.masked(mask)
        assert blocks(view) == blocks(built)
    query = PROTEIN.encode("MKVLAWGGHERWCDEFMKTAYIAAAAAAAAAAKLMN")
    expected = {}
    scorer = reference.bind(built, SCHEME)
    for number, block in enumerate(built.blocks()):
        scores = scorer(query, number, 0, len(block.lengths), lambda cells: None)
        expected |= dict(zip(block.ordinals.tolist(), scores.tolist(), strict=True))
    draw = random.Random(2)
    for backend in (reference, simd):
        scorer = backend.bind(view, SCHEME)
        for number, info in enumerate(view.manifest.blocks):
            for _ in range(4):
                first = draw.randrange(info.sequences)
                last = draw.randint(first + 1, info.sequences)
                scores = scorer(query, number, first, last, lambda cells: None)
                ordinals = view.block(number).ordinals[first:last].tolist()
                assert scores.tolist() == [expected[ordinal] for ordinal in ordinals]


def test_copied_targets_lie_one_behind_the_other(pair):
    """Kernels on cards compute where they begin from their lengths."""
    view, _, _ = pair
    for number, info in enumerate(view.manifest.blocks):
        for first, last in pieces.cut_stretches(view.lengths(number), 512):
            block = view.targets(number, first, last)
            words = -(-block.lengths.astype(np.int64) // 16)
            assert block.starts.tolist() == (np.cumsum(words) - words).tolist()
            assert len(block.residues) == 16 * words.sum() + 64
            assert block.first == info.first + first
        name = f"residues/{view.selection.numbers[number]}"
        section = next(each for each in view.manifest.sections if each.name == name)
        assert section.bytes >= len(view.targets(number, 0, info.sequences).residues)


def test_a_pickle_has_the_same_targets(pair):
    view, _, _ = pair
    again = pickle.loads(pickle.dumps(view.masked("seg")))
    assert blocks(again) == blocks(view.masked("seg"))
    assert again.selection.digest == view.selection.digest


def test_a_given_taxonomy_stays_with_a_mask_and_in_a_pickle(pair):
    """Those of the view and of its whole database."""
    view, _, _ = pair
    taxonomy = make_taxonomy([1], [1], ["no rank"], ["root"], {}, {})
    for given in (view.with_taxonomy(taxonomy), view.masked("seg").with_taxonomy(taxonomy)):
        for same in (given, given.masked("tantan:0.1"), pickle.loads(pickle.dumps(given))):
            assert same.taxonomy.taxa == taxonomy.taxa
            assert same.manifest.sequences == len(view)
    assert view.taxonomy is None


def test_blocks_travel_as_those_of_the_whole_database(pair, tmp_path):
    """A node has the metadata and the selection, and gets the blocks that it needs."""
    view, _, whole = pair
    node = Subset(Database.from_metadata(whole.metadata, "t", tmp_path), view.selection)
    assert node.manifest == view.manifest
    for number in range(len(view.manifest.blocks)):
        assert not node.has_block(number)
        node.put(number, view.block_bytes(number))
        assert node.has_block(number)
        count = view.manifest.blocks[number].sequences
        assert node.codes_at(number, range(count)) == view.codes_at(number, range(count))
        assert node.block(number).ordinals.tolist() == view.block(number).ordinals.tolist()
    assert len(list(tmp_path.iterdir())) == len(view.manifest.blocks)


def test_a_view_needs_few_bytes_a_record():
    records = {f"t{k}": "MKV" for k in range(20_000)}
    whole = build(records)
    selection = select_records(whole, np.arange(len(records)) % 2 == 0)
    assert selection.ordinals.nbytes + selection.bits.nbytes <= 4 * len(records)


def test_a_view_without_targets_is_refused(pair):
    _, _, whole = pair
    with pytest.raises(InputError, match="none of the targets of t is chosen"):
        select_records(whole, np.zeros(len(whole), bool))


def test_alignments_of_a_view_are_those_of_its_targets(pair):
    view, built, _ = pair
    query = Sequence("q", PROTEIN.encode("MKVLAWGGHERWCDEFMKTAYI"))
    for database in (view, built):
        codes = [raise_case(x) for x in database.codes(range(len(database)))]
        scores = np.array([1] * len(codes), np.int64)
        scorer = reference.bind(database, SCHEME)
        for number, block in enumerate(database.blocks()):
            found = scorer(query.codes, number, 0, len(block.lengths), lambda cells: None)
            scores[block.ordinals.astype(np.int64)] = found
        traced = Tracer(SCHEME)(query, codes, scores, np.ones(len(codes), np.int8))
        if database is view:
            first = traced
    assert [first.cigar(k) for k in range(len(view))] == [traced.cigar(k) for k in range(len(view))]
