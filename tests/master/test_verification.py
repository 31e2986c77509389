"""Verification: a sample of the scores is computed again, and a device that lies is found out."""

from __future__ import annotations

import numpy as np
import pytest

import swdual
from swdual.backend import Device
from swdual.backends import cuda, reference, simd
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import EngineError, InputError
from swdual.master import partition, ranges
from swdual.master.verification import Verification
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

QUERIES = {"q1": "MKVLAWGGHERMKVLAWDEF", "q2": "ACDEFGHIKLMNPQRSTVWY"}
TARGETS = {"t1": "MKVLAWGGHERMKV", "t2": "GGGGWW", "t3": "ACDEFGHIKLMNPQRSTVWYACD"}
SCORES = {"q1": {"t1": 77, "t2": 12, "t3": 19}, "q2": {"t1": 15, "t2": 13, "t3": 116}}
ALL = 1000


class Liar:
    """Scores one target wrong."""

    def __init__(self, database, scheme, ordinal, difference):
        self._right = simd.SimdScorer(database, scheme, 16)
        self.width, self.memory = self._right.width, self._right.memory
        self._targets, self._ordinal, self._difference = database, ordinal, difference

    def __call__(self, query, block, first, last, progress, profile=None):
        scores = self._right(query, block, first, last, progress, profile)
        ordinals = self._targets.block(block).ordinals[first:last]
        scores[ordinals == self._ordinal] += self._difference
        return scores


class Foresighted(Liar):
    """Gives the best scores only."""

    exact_part = 1.0

    def best(self, query, block, first, last, cutoffs, progress, profile=None):
        scores = self(query, block, first, last, progress, profile)
        lengths = self._targets.block(block).lengths[first:last]
        places = np.flatnonzero(scores >= cutoffs.select(lengths))
        order = np.lexsort((places, -scores[places].astype(np.int64)))
        return scores[places[order]], places[order] + first


@pytest.fixture
def liar(monkeypatch):
    """Return a GPU of a kind that scores one target wrong by so much."""

    def make(kind, target=0, difference=0):
        def bind(database, scheme):
            return kind(database, scheme, target, difference)

        monkeypatch.setattr(cuda, "bind", bind)
        return Device("gpu", "cuda")

    return make


@pytest.fixture
def compared(monkeypatch):
    """The queries and targets that are computed again."""
    found = []
    score = reference.ReferenceScorer.__call__

    def spy(self, query, block, first, last, progress, profile=None):
        ordinals = self._database.block(block).ordinals[first:last]
        found.extend((query, ordinal) for ordinal in ordinals.tolist())
        return score(self, query, block, first, last, progress)

    monkeypatch.setattr(reference.ReferenceScorer, "__call__", spy)
    return found


@pytest.fixture(scope="module")
def database():
    """Some blocks of random targets."""
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, 20, 5 + k, np.uint8).tobytes() for k in range(60)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", 1024)
        batch = batch_of(Sequence(f"t{k}", each) for k, each in enumerate(codes))
        found = Database.from_batches([batch], PROTEIN, "test")
    assert len(found.manifest.blocks) > 2
    return found


@pytest.mark.case(number=22)
@pytest.mark.parametrize("kind", [Liar, Foresighted])
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("difference", [1, -1])
def test_a_wrong_score_ends_the_search(liar, kind, place, difference):
    """Exit code 3; device, target, query, both scores and what to do are said."""
    target = [*TARGETS][place]
    for query, residues in QUERIES.items():
        with pytest.raises(EngineError) as caught:
            swdual.search(
                {query: residues},
                TARGETS,
                device=[liar(kind, place, difference)],
                stats="none",
                verify=ALL,
            )
        right = SCORES[query][target]
        assert caught.value.exit_code == 3
        assert str(caught.value) == (
            f"gpu 0 (cuda) computes wrong: it says that target {target} scores "
            f"{right + difference} with query {query}, but by the definition it scores {right}; "
            "trust nothing it found, and search again on another `device` or `backend`"
        )


@pytest.mark.case(number=22)
def test_a_lost_hit_ends_the_search(liar):
    """What is not among the best must score less than the cutoff; how much less does not matter."""
    device = liar(Foresighted, 0, -70)
    options = {"device": [device], "stats": "none", "verify": ALL}
    for cutoff in (8, 77):
        with pytest.raises(EngineError, match=f"t1 scores less than {cutoff} with .* scores 77;"):
            swdual.search(QUERIES, TARGETS, min_raw_score=cutoff, **options)
    assert len(swdual.search(QUERIES, TARGETS, min_raw_score=78, **options).scores) == 1


def test_all_workers_are_compared_and_nobody_takes_over(liar, database, caplog):
    """Other scores of such a worker may have been accepted: that is no case for a second try."""
    devices = [Device("cpu"), liar(Liar, 59, 1)]
    with pytest.raises(EngineError, match=r"gpu 0 .* computes wrong"):
        swdual.search({"q": "MKVLAW"}, database, device=devices, planner="gpu_only", verify=ALL)
    assert caplog.messages == []


@pytest.mark.parametrize("kind", [Liar, Foresighted])
@pytest.mark.parametrize("stats", ["table", "fit", "none"])
def test_a_device_that_is_right_passes(liar, kind, stats):
    """Whatever is computed of the scores; the results are those without a look."""
    for device in (liar(kind), Device("cpu"), Device("cpu", "reference")):
        options = {"device": [device], "stats": stats}
        expected = swdual.search(QUERIES, TARGETS, **options)
        assert swdual.search(QUERIES, TARGETS, verify=ALL, **options) == expected
        assert len(expected.scores) > 0 or stats == "fit"


@pytest.mark.parametrize("kind", [Liar, Foresighted])
def test_the_better_strand_is_compared(liar, kind):
    """Of nucleotides; where one strand only is searched the other has no say."""
    forward, backward = "AAAACCCGGTACGTTAGACC", "GGTCTAACGTACCGGGTTTT"
    targets = {"same": forward, "other": backward}
    options = {"dbtype": "nucl", "verify": ALL, "stats": "none"}
    for strand in ("plus", "minus", "both"):
        found = swdual.search(
            {"n": forward}, targets, device=[liar(kind)], strand=strand, **options
        )
        assert found.scores.tolist().count(40) == (2 if strand == "both" else 1)
    assert NUCLEOTIDE.decode(NUCLEOTIDE.reverse_complement(NUCLEOTIDE.encode(forward))) == backward
    with pytest.raises(EngineError, match=r"target other scores 41 .* it scores 40;"):
        swdual.search({"n": forward}, targets, device=[liar(kind, 1, 1)], **options)


@pytest.mark.parametrize("sample", [1, 7, 59, 60, 61, ALL])
def test_the_sample_does_not_depend_on_the_division(monkeypatch, database, compared, sample):
    """So many targets of each query, each once; other ones for other queries."""
    codes = [PROTEIN.encode(text) for text in QUERIES.values()]
    samples = []
    for smallest in (1 << 18, 100):
        monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", smallest)
        monkeypatch.setattr(partition, "GOOD_ENOUGH", 0)
        compared.clear()
        swdual.search(QUERIES, database, threads=2, verify=sample)
        assert len(compared) == len(set(compared)) == 2 * min(sample, len(database))
        samples.append(set(compared))
    assert samples[0] == samples[1]
    first, second = ({k for query, k in samples[0] if query == each} for each in codes)
    assert len(first) == len(second) == min(sample, 60)
    assert first != second or sample >= 60


def test_what_is_drawn_is_what_is_noticed(liar, database):
    """A wrong score ends the search if, and only if, the target is in the sample."""
    drawn = set(Verification(database, 20, None).draw_targets(0).tolist())
    places = {}
    for block in database.blocks():
        places |= {int(k): block.first + n for n, k in enumerate(block.ordinals)}
    noticed = set()
    for ordinal in range(60):
        device = liar(Liar, ordinal, 1)
        try:
            swdual.search({"q": "MKVLAW"}, database, device=[device], align=False, verify=20)
        except EngineError:
            noticed.add(places[ordinal])
    assert noticed == drawn
    assert len(drawn) == 20


def test_nothing_is_computed_again_unless_it_is_asked_for(compared, database):
    """The definition is slow."""
    swdual.search(QUERIES, database)
    assert compared == []


def test_a_negative_number_is_refused():
    """With the option's name."""
    with pytest.raises(InputError, match="`verify` is -1"):
        swdual.search(QUERIES, TARGETS, verify=-1)


@pytest.mark.case(number=22)
def test_the_command_ends_with_one_clear_line(refuses, run, monkeypatch):
    """Exit code 3 and no output; without a difference the same output as ever."""
    arguments = ("search", "q.fa", "t.fa", "-o", "hits.tsv", "-p", "1")
    with monkeypatch.context() as patch:
        patch.setattr(simd, "bind", lambda *x: Liar(*x, 2, -1))
        words = ["cpu 0 (simd) computes wrong", "target t3 scores 18 with query q1", "scores 19;"]
        outcome = refuses(3, words, *arguments, "--verify", "3")
        assert outcome.err.count("\n") == 1
    expected = run("search", "q.fa", "t.fa").out
    assert run("search", "q.fa", "t.fa", "--verify", "3").out == expected != ""
