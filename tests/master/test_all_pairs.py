"""All pairs: each scored once, with what a search of the set in itself says of it."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual import registry
from swdual.api import allpairs, search
from swdual.backend import Device
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import InputError, MemoryLimitError
from swdual.master import partition, ranges, setup
from swdual.master.search import Search
from swdual.planning.planner import PACKAGE
from swdual.request import declarations
from swdual.request import pairs as pairs_module
from swdual.request.options import SearchOptions
from swdual.request.sources import ALL_PAIRS
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

COUNT = 70
BLOSUM62 = matrices.load("BLOSUM62").scores


def relatives(letters, count, seed, lengths=(1, 60)):
    """Return sequences: relatives of a few, with duplicates and with equally long ones."""
    rng = np.random.default_rng(seed)
    originals = ["".join(rng.choice(list(letters), lengths[1])) for _ in range(4)]
    found = []
    for k in range(count):
        text = originals[int(rng.integers(4))][int(rng.integers(10)) :]
        text = "".join(str(rng.choice(list(letters))) if rng.random() < 0.15 else c for c in text)
        if k % 4 == 0 and k > 0:
            text = found[int(rng.integers(k))][1]
        elif k % 4 == 1:
            text = text[:20]
        elif k % 4 == 2:
            text = text[: int(rng.integers(*lengths))]
        found.append((f"s{k} number {k}", text))
    return found


SEQUENCES = relatives("ACDEFGHIKLMNPQRSTVWY", COUNT, seed=3)


def database_of(sequences=SEQUENCES, block_bytes=64 << 20, alphabet=PROTEIN):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        batch = batch_of(Sequence(title, alphabet.encode(text)) for title, text in sequences)
        return Database.from_batches([batch], alphabet, "test")


def list_pairs(sequences):
    """Return all pairs by the rule: query and target, numbers in the input."""
    order = sorted(range(len(sequences)), key=lambda k: (-len(sequences[k][1]), k))
    return [(q, t) for place, q in enumerate(order) for t in order[place + 1 :]]


@pytest.fixture(scope="module")
def table():
    """The oracle's score of each pair of the rule."""
    encoded = [list(PROTEIN.encode(text)) for _, text in SEQUENCES]
    return {
        (q, t): local_score_gotoh(encoded[q], encoded[t], BLOSUM62, 11, 1)
        for q, t in list_pairs(SEQUENCES)
    }


def scores_of(results):
    """Return the score of each pair; the hits of a query are in their documented order."""
    found = {}
    for number, result in enumerate(results):
        assert result.number == number
        assert result.query.title == SEQUENCES[number][0]
        keys = list(zip((-result.scores).tolist(), result.ordinals.tolist(), strict=True))
        assert keys == sorted(keys)
        found |= {(number, t): -score for score, t in keys}
    assert sum(map(len, results)) == len(found)
    return found


def positive(table):
    return {pair: score for pair, score in table.items() if score > 0}


def test_the_data_has_ties_and_duplicates():
    """Equally long ones, equal ones, and all different lengths."""
    texts = [text for _, text in SEQUENCES]
    assert len(set(texts)) < len(texts)
    assert len({len(text) for text in texts}) > 20
    assert sum(len(text) == 20 for text in texts) > 10


@pytest.mark.parametrize("block_bytes", [64 << 20, 1024, 1])
def test_each_pair_is_scored_once_for_any_threads_and_ranges(monkeypatch, table, block_bytes):
    """The oracle's score, and the rule's direction."""
    database = database_of(block_bytes=block_bytes)
    assert (len(database.manifest.blocks) > 1) == (block_bytes <= 1024)
    for threads, (smallest, start) in product((1, 3), ((1 << 18, 16), (300, 16), (150, 1))):
        monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", smallest)
        monkeypatch.setattr(partition, "GOOD_ENOUGH", 0)
        monkeypatch.setattr(pairs_module, "SHARED_START", start)
        assert scores_of(allpairs(database, stats="none", threads=threads)) == positive(table)


@pytest.mark.parametrize("queries", [1, 2, 7])
def test_batches_change_nothing(monkeypatch, table, queries):
    """The last target of all has nothing to do, in a batch of its own, too."""
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", queries)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 600)
    assert scores_of(allpairs(database_of(), stats="none", threads=2)) == positive(table)


@pytest.mark.parametrize("planner", registry.available(PACKAGE))
def test_planners_change_nothing(monkeypatch, table, planner):
    """Also those that plan for GPUs only, of which there is a make-believe one."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 600)
    devices = [Device("cpu"), Device("gpu", "simd", {"lanes": 16})]
    found = allpairs(database_of(), stats="none", planner=planner, device=devices)
    assert scores_of(found) == positive(table)


@pytest.mark.parametrize("lanes", [16, 128])
def test_lanes_and_verification_change_nothing(table, lanes):
    """Verified scores are those that are compared, not those that are computed beside them."""
    devices = [Device("cpu", "simd", {"lanes": lanes})] * 2
    found = allpairs(database_of(), stats="none", device=devices, verify=COUNT)
    assert scores_of(found) == positive(table)


def test_the_smallest_memory_limit_changes_nothing():
    """The error about a smaller one names it."""
    sequences = relatives("ACDEFGHIKLMNPQRSTVWY", 150, seed=8, lengths=(20, 200))
    full = list(allpairs(database_of(sequences)))
    with pytest.raises(MemoryLimitError) as caught:
        allpairs(database_of(sequences), memory_limit=1 << 20, threads=1)
    least = int(re.search(r"`memory_limit=(\d+)`", str(caught.value))[1])
    limit = least + (64 << 20)  # this process may have grown meanwhile
    assert list(allpairs(database_of(sequences), memory_limit=limit, threads=1)) == full


OPTIONS = {
    "default": {},
    "plain": {"comp_based_stats": 0},
    "scaled": {"comp_based_stats": 1},
    "always adjusted": {"comp_based_stats": 3},
    "all adjusted": {"adjust": "all", "evalue": 1.0},
    "filters": {"min_identity": 40, "min_query_cover": 50, "min_score": 20},
    "strict": {"evalue": 1e-6, "min_raw_score": 60},
    "masked": {"mask": "tantan:0.01", "soft_masking": True},
    "masked targets": {"db_hard_mask": "tantan:0.01"},
    "gaps": {"gap_open": 9, "gap_extend": 2, "matrix": "BLOSUM62"},
}


def facts_of(hit):
    """Return what a hit is."""
    shown = hit.alignment
    return hit.score, hit.evalue, hit.bits, shown.cigar, shown.query_start, shown.target_start


def compare_with_search(database, sequences, options):
    """Check that all pairs are the hits of a search in the rule's direction; return how many."""
    wanted = set(list_pairs(sequences))
    pairs = {(r.number, hit.ordinal): hit for r in allpairs(database, **options) for hit in r}
    full = search(database, database, max_target_seqs=0, **options)
    hits = {(r.number, hit.ordinal): hit for r in full for hit in r}
    assert pairs.keys() == hits.keys() & wanted
    for pair, hit in pairs.items():
        assert facts_of(hit) == facts_of(hits[pair])
    return len(pairs)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_a_pair_is_the_hit_of_a_search_in_the_set_itself(options):
    """Score, E-value, bit score and alignment."""
    sequences = relatives("ACDEFGHIKLMNPQRSTVWY", 40, seed=5, lengths=(20, 150))
    assert compare_with_search(database_of(sequences), sequences, options) > 20


@pytest.mark.parametrize("strand", ["both", "minus"])
def test_nucleotides_are_compared_on_their_strands(strand):
    sequences = relatives("ACGT", 40, seed=6, lengths=(20, 150))
    sequences[3] = "s3", sequences[6][1][::-1].translate(str.maketrans("ACGT", "TGCA"))
    database = database_of(sequences, alphabet=NUCLEOTIDE)
    assert compare_with_search(database, sequences, {"strand": strand, "evalue": 1e3}) > 20


@pytest.mark.parametrize("count", [2, 3, 5])
def test_few_sequences(count):
    """From two on."""
    sequences = relatives("ACDEFGHIKLMNPQRSTVWY", count, seed=9, lengths=(20, 40))
    options = {"evalue": 1e9, "comp_based_stats": 0}
    assert compare_with_search(dict(sequences), sequences, options) == len(list_pairs(sequences))


def test_cells_are_those_of_half_the_table():
    """The progress ends at all of them."""
    seen = []
    database = database_of()
    options = SearchOptions(stats="none", threads=2, progress=lambda *cells: seen.append(cells))
    run = Search(ALL_PAIRS, database, options)
    lengths = [len(text) for _, text in SEQUENCES]
    cells = sum(lengths[q] * lengths[t] for q, t in list_pairs(SEQUENCES))
    assert run.cells == cells
    assert len(list(run.results())) == COUNT
    assert seen[-1] == (cells, cells)
    assert all(done <= cells for done, _ in seen)


def test_the_counts_of_adjusted_pairs_are_those_of_pairs():
    """Where all are adjusted, each is counted once."""
    counts = allpairs(database_of(), evalue=1e3, adjust="all").adjustment_counts
    assert counts.candidates == COUNT * (COUNT - 1) // 2


@pytest.mark.parametrize(
    "name", [name for name, each in declarations.OPTIONS.items() if each.pairs]
)
def test_options_of_queries_are_refused(name):
    values = {"lcase_masking": True, "target_ids": "s1", "not_target_ids": "s1"}
    values["query_loc"] = "1-3"
    with pytest.raises(InputError, match=f"`{name}` .*leave it out"):
        allpairs(database_of(), **{name: values.get(name, 3)})


@pytest.mark.parametrize(
    ("sequences", "options", "words"),
    [
        ({"a": "MKVLAW"}, {}, "holds one sequence"),
        ({"a": "MKVLAW", "b": "MKV"}, {"stats": "fit"}, "`stats='fit'` needs the scores"),
        ({"a": "MKVLAW", "b": "MKV"}, {"matrix": "VTML200"}, "`stats='fit'` needs the scores"),
        ({"a": "MKVLAW" * 90, "gene": "GATTACA" * 8}, {}, "'gene' looks like nucleotides"),
        ({"a": "GATTACA" * 90, "protein": "MKVLAW"}, {}, "protein"),
    ],
)
def test_what_cannot_be_compared_is_refused(sequences, options, words):
    """In one line, which names the remedy."""
    with pytest.raises(InputError, match=words) as caught:
        allpairs(sequences, **options)
    assert "\n" not in str(caught.value)


def test_proteins_that_look_like_nucleotides_may_be_said_to_be_proteins():
    sequences = {"a": "MKVLAW" * 90, "gene": "GATTACA" * 8}
    assert len(allpairs(sequences, dbtype="prot", evalue=1e9)) == 2
