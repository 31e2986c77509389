"""The master: one answer, byte for byte, however the work is cut; and no thread left behind."""

from __future__ import annotations

import io
import math
import subprocess
import sys
import threading
import time
from itertools import pairwise, product

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh

from swdual.api import iter_search, search
from swdual.backend import Device
from swdual.backends import reference, simd
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.format import parse_format
from swdual.master import partition, ranges, setup
from swdual.master.search import Search
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

BLOSUM62 = matrices.load("BLOSUM62").scores
FORMAT, FIELDS = parse_format("6 qseqid sseqid score qlen slen qnum snum rank stitle")
TARGETS = 90


def random_targets():
    """Return targets with many ties: copies far apart in the input, and few-letter sequences."""
    rng = np.random.default_rng(1)
    originals = [PROTEIN.decode(rng.integers(0, 20, n, np.uint8).tobytes()) for n in (7, 40, 90)]
    targets = []
    for k in range(TARGETS):
        if k % 3 == 0:
            targets.append(originals[k // 3 % len(originals)])
        elif k % 3 == 1:
            targets.append("AG"[k % 2] * int(rng.integers(1, 30)))
        else:
            letters = rng.integers(0, 27, int(rng.integers(1, 120)), np.uint8)
            targets.append(PROTEIN.decode(letters.tobytes()))
    queries = [originals[1], "A", originals[2] + "WW", "*X", "ACDEFGHIKLMNPQRSTVWY", originals[0]]
    return queries, targets


QUERIES, SEQUENCES = random_targets()
NAMED = [(f"q{k}", query) for k, query in enumerate(QUERIES)]


def database_of(block_bytes=64 << 20):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", block_bytes)
        batch = batch_of(
            Sequence(f"t{k} number {k}", PROTEIN.encode(s)) for k, s in enumerate(SEQUENCES)
        )
        return Database.from_batches([batch], PROTEIN, "test")


@pytest.fixture(scope="module")
def database():
    return database_of()


@pytest.fixture(scope="module")
def table():
    """The oracle's scores, (queries, targets)."""
    encoded = [list(PROTEIN.encode(s)) for s in SEQUENCES]
    return [
        [local_score_gotoh(list(PROTEIN.encode(q)), t, BLOSUM62, 11, 1) for t in encoded]
        for q in QUERIES
    ]


def expected(table, kept, least=1):
    """Return the lines that the documented order gives: score descending, then input order."""
    lines = []
    for number, scores in enumerate(table):
        order = sorted((-score, k) for k, score in enumerate(scores) if score >= least)
        for rank, (negative, k) in enumerate(order[: kept or None], start=1):
            columns = [
                f"q{number}", f"t{k}", -negative, len(QUERIES[number]), len(SEQUENCES[k]),
                number + 1, k + 1, rank, f"t{k} number {k}",
            ]  # fmt: skip
            lines.append("\t".join(map(str, columns)) + "\n")
    return "".join(lines)


def written(whole):
    stream = io.BytesIO()
    FORMAT.write(whole.results(), stream, FIELDS, header=False)
    return stream.getvalue().decode()


def scores_only(database, **options):
    """Return a search without E-values, so that it keeps every score that is asked for."""
    return Search(NAMED, database, SearchOptions(stats="none", **options))


def test_the_table_has_ties_beyond_every_limit(table):
    """The data would show a wrong order: ties at the first, the third and many later places."""
    for query in (0, 1):
        scores = sorted(table[query], reverse=True)
        assert scores[0] == scores[3]
    assert len(set(map(tuple, table))) == len(QUERIES)


@pytest.mark.sample(4)
@pytest.mark.case(number=19)
@pytest.mark.parametrize("kept", [0, 1, 3, TARGETS, TARGETS + 10])
@pytest.mark.parametrize("block_bytes", [64 << 20, 1024, 1])
def test_output_is_the_same_for_any_threads_and_ranges(monkeypatch, table, kept, block_bytes):
    """1, 2, 3 and 9 threads, whole blocks or ranges of a few residues: the documented order."""
    database = database_of(block_bytes)
    assert (len(database.manifest.blocks) > 1) == (block_bytes <= 1024)
    for threads, (smallest, enough) in product((1, 2, 3, 9), ((1 << 18, 2), (60, 1.005), (1, 0))):
        monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", smallest)
        monkeypatch.setattr(partition, "GOOD_ENOUGH", enough)
        whole = scores_only(database, max_target_seqs=kept, threads=threads)
        assert written(whole) == expected(table, kept)


@pytest.mark.case(number=20)
@pytest.mark.parametrize("kept", [0, 2])
@pytest.mark.parametrize("threads", [1, 3])
def test_output_is_the_same_for_any_waves_and_calls(monkeypatch, database, table, kept, threads):
    """Queries one at a time, two at a time, or bounded by candidates; kernels called batchwise."""
    for queries, candidates, cells in product((1, 2, 512), (1, 16 << 20), (1, 4_000_000_000)):
        monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", queries)
        monkeypatch.setattr(setup, "MAX_BATCH_CANDIDATES", candidates)
        monkeypatch.setattr(simd, "CALL_CELLS", cells)
        whole = scores_only(database, max_target_seqs=kept, threads=threads)
        assert written(whole) == expected(table, kept)


@pytest.mark.parametrize("lanes", [16, 32, 64, 128])
def test_output_is_the_same_for_any_lanes(monkeypatch, database, table, lanes):
    """However wide the vectors, the bytes are the same."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 300)
    devices = [Device("cpu", "simd", {"lanes": lanes})] * 2
    assert written(scores_only(database, max_target_seqs=7, device=devices)) == expected(table, 7)


@pytest.mark.parametrize("backend", ["reference", "simd"])
def test_output_is_the_same_for_any_backend(monkeypatch, database, table, backend):
    """Every backend, with one thread and with two that share ranges."""
    for threads, smallest in ((1, 1 << 18), (2, 300)):
        monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", smallest)
        whole = scores_only(database, max_target_seqs=5, threads=threads, backend=backend)
        assert written(whole) == expected(table, 5)


@pytest.mark.parametrize("least", [0, 1, 5, 40, 10**6])
def test_hits_below_the_smallest_score_are_left_out(database, table, least):
    """0 keeps even targets that nothing aligns with; a huge one leaves no hit."""
    for threads in (1, 2):
        options = {"min_raw_score": least, "threads": threads}
        whole = scores_only(database, max_target_seqs=0, **options)
        assert written(whole) == expected(table, 0, least)


def test_all_equal_scores_come_in_input_order():
    """Fifty equal targets and k of 1, 7, 50, 60 and 0: the first of the input are kept."""
    targets = [(f"t{k}", "MKVLAW") for k in range(50)]
    for kept, count in ((1, 1), (7, 7), (50, 50), (60, 50), (0, 50)):
        found = search("MKVLAW", targets, max_target_seqs=kept, stats="none")
        assert found.ordinals.tolist() == list(range(count))
        assert set(found.scores.tolist()) == {33}


def test_results_come_in_the_order_of_the_queries(database):
    """Although the longest are scored first, each query's result has its place and its number."""
    found = search(NAMED, database, threads=2)
    assert [result.query.id for result in found] == [name for name, _ in NAMED]
    assert [result.number for result in found] == list(range(len(NAMED)))
    assert [r.query for r in iter_search(NAMED, database)] == [r.query for r in found]


@pytest.mark.parametrize("queries", [[], {}, ()])
def test_no_queries_give_no_results(database, queries):
    """An empty collection of queries is searched at once, without progress or threads."""
    found = search(queries, database, threads=2)
    assert len(found) == 0
    assert found.scores.tolist() == []
    assert list(iter_search(queries, database)) == []


def test_a_query_of_one_residue_among_long_ones_is_searched(database):
    """W finds every target with a W, at 11 each."""
    queries = [("long", "MKVLAW" * 500), ("one", "W")]
    found = search(queries, database, max_target_seqs=0, stats="none")
    scores = found[1].scores.tolist()
    assert scores.count(11) == sum("W" in s for s in SEQUENCES)
    assert max(scores) == 11
    assert len(found[0]) > 0


@pytest.mark.case(number=28)
def test_a_query_that_finds_nothing_has_an_empty_result():
    """P pairs with no letter of the targets to a positive score."""
    found = search([("none", "P"), ("same", "MKVLAW")], {"t": "GGGG", "u": "MKVLAW"})
    assert [len(result) for result in found] == [0, 1]


def test_nucleotides_are_scored_by_reward_and_penalty():
    """The defaults are 2, -3, 5 and 2; ambiguity letters score as blastn's, as the oracle says."""
    rng = np.random.default_rng(2)
    targets = [rng.integers(0, 15, n, np.uint8).tobytes() for n in range(1, 60)]
    query = targets[-1][:30] + targets[-1][33:]
    records = batch_of(Sequence(f"t{k}", codes) for k, codes in enumerate(targets))
    database = Database.from_batches([records], NUCLEOTIDE, "bases")
    for options, (reward, penalty, opening, extension) in (
        ({}, (2, -3, 5, 2)),
        ({"reward": 1, "penalty": -2, "gap_open": 0, "gap_extend": 1}, (1, -2, 0, 1)),
    ):
        scores = matrices.match_mismatch(reward, penalty).scores
        table = [
            local_score_gotoh(list(query), list(t), scores, opening, extension) for t in targets
        ]
        options |= {"max_target_seqs": 0, "stats": "none", "strand": "plus"}
        found = search(NUCLEOTIDE.decode(query), database, **options)[0]
        assert dict(zip(found.ordinals.tolist(), found.scores.tolist(), strict=True)) == {
            k: score for k, score in enumerate(table) if score
        }


@pytest.mark.sample("pairs")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("backend", ["reference", "simd"])
@pytest.mark.parametrize("block_bytes", [1024, 64 << 20])
def test_progress_rises_to_the_cells_of_the_search(monkeypatch, threads, backend, block_bytes):
    """The cells done never fall, never pass the total, and end at it: query times residues."""
    database = database_of(block_bytes)
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 1000)
    monkeypatch.setattr(simd, "register_bytes", lambda: 16)
    monkeypatch.setattr(simd, "register_count", lambda: 16)
    monkeypatch.setattr(simd, "CALL_CELLS", 1000)
    total = sum(map(len, QUERIES)) * sum(map(len, SEQUENCES))
    for queries in (1, 512):
        monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", queries)
        told = []
        search(
            NAMED,
            database,
            threads=threads,
            backend=backend,
            progress=lambda done, whole, told=told: told.append((done, whole)),
        )
        assert {whole for _, whole in told} == {total}
        assert all(0 <= a[0] <= b[0] <= total for a, b in pairwise(told))
        assert told[-1][0] == total


@pytest.mark.parametrize("threads", [1, 4])
def test_an_interrupt_in_the_progress_callback_ends_the_search(
    monkeypatch, database, threads, no_thread_is_left
):
    """Ctrl-C arrives in the caller's thread: it comes out, and no worker goes on."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 100)

    def interrupt(done, total):
        raise KeyboardInterrupt

    for whole in (search, lambda *args, **options: list(iter_search(*args, **options))):
        with pytest.raises(KeyboardInterrupt):
            whole(NAMED, database, threads=threads, progress=interrupt)
        no_thread_is_left()


def test_an_interrupt_stops_a_worker_between_calls_of_the_kernel(monkeypatch, database):
    """A worker in a long task gives up at its next report of progress, not at the task's end."""
    reports = []

    def bind(database, scheme):
        def scorer(query, block, first, last, progress, profile):
            for _ in range(10_000):
                progress(1)
                reports.append(1)
                time.sleep(0.001)
            return np.ones(last - first, np.int32)

        scorer.memory = lambda longest_query, max_range_cost: (0, 0)
        return scorer

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(reference, "bind", bind)
    with pytest.raises(KeyboardInterrupt):
        search(NAMED, database, threads=2, backend="reference", progress=interrupt)
    assert len(reports) < 10_000


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_a_closed_generator_leaves_no_thread(monkeypatch, database, taken, no_thread_is_left):
    """Whoever stops after some results and closes the generator has ended the search."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 100)
    found = iter_search(NAMED, database, threads=3)
    for _ in range(taken):
        next(found)
    found.close()
    no_thread_is_left()


def test_a_generator_that_is_dropped_leaves_no_thread(monkeypatch, database, no_thread_is_left):
    """Leaving a loop early ends the search as soon as the generator is gone."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 100)
    for result in iter_search(NAMED, database, threads=3):
        assert result.number == 0
        break
    no_thread_is_left()


def test_a_search_can_be_made_again_with_the_same_database(database, table):
    """Neither success nor failure wears the database out."""
    for _ in range(2):
        assert written(scores_only(database, max_target_seqs=4)) == expected(table, 4)
        with pytest.raises(InputError):
            search("MK1", database)


def test_searches_may_run_at_once(database, table):
    """Two searches of one database in two threads of the caller do not meet."""
    found = [""] * 4

    def run(k):
        found[k] = written(scores_only(database, max_target_seqs=k, threads=2))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected(table, k) for k in range(4)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_target_seqs": -1}, "`max_target_seqs` is -1"),
        ({"min_raw_score": -1}, "`min_raw_score` is -1"),
        ({"threads": 0}, "`threads` is 0"),
        ({"gap_open": -11}, "`gap_open` is -11"),
        ({"gap_extend": -1}, "`gap_extend` is -1"),
        ({"gap_open": 2**28 + 1}, "`gap_open` is 268435457"),
        ({"evalue": "x"}, "`evalue` is 'x', but it must be a number"),
        ({"task": "blasty"}, "unknown task 'blasty'; did you mean blast"),
        ({"task": "megablast"}, "task 'megablast' is not supported: its gap extension"),
        ({"task": "blastn"}, "`task='blastn'` compares nucleotides, but test holds proteins"),
        ({"backend": "smid"}, "did you mean simd"),
        ({"backend": "_gotoh"}, "unknown backend '_gotoh'"),
        ({"matrix": "BLOSUM63"}, "did you mean BLOSUM62"),
        ({"reward": 2}, "`reward` and `penalty` score nucleotides"),
        ({"evalue": -1.0}, "`evalue` is -1.0"),
        ({"evalue": math.nan}, "`evalue` is nan"),
        ({"dbsize": 0}, "`dbsize` is 0"),
        (
            {"stats": "tables"},
            "`stats` is 'tables', but it must be table, fit, none or composition",
        ),
        ({"strand": "+"}, "`strand` is '[+]', but it must be plus, minus or both"),
        ({"strand": "plus"}, "`strand` is for nucleotides, but test holds proteins"),
        ({"dbtype": "nucl"}, "test holds proteins, but `dbtype='nucl'` was given"),
        ({"gap_open": 5}, "no tabled E-value parameters for gap penalties 5/1"),
    ],
)
def test_options_out_of_range_are_refused_with_their_name(database, options, message):
    """A wrong option is an InputError that says which and what is possible."""
    with pytest.raises(InputError, match=message):
        search("MKVLAW", database, **options)


def test_wrong_options_are_refused_before_the_first_result_is_asked_for(database):
    """`iter_search` checks at the call, not when it is first iterated."""
    with pytest.raises(InputError):
        iter_search("MKVLAW", database, threads=0)


@pytest.mark.parametrize("codes", [b"", bytes([27]), bytes([31]), bytes([0, 200])])
def test_a_sequence_of_codes_is_checked_like_text(database, codes):
    """Codes that are no letters would be read beyond the kernels' tables; no codes are no query.

    Nothing is scored here: already reading the inputs raises an error.
    """
    with pytest.raises(InputError):
        Search(Sequence("made by hand", codes), database, SearchOptions()).prepare()
    targets = [Sequence("fine", bytes(5)), Sequence("made by hand", codes)]
    with pytest.raises(InputError):
        Search("MKVLAW", targets, SearchOptions()).prepare()


def test_nucleotides_are_not_searched_in_proteins(database):
    """Sixty bases as a query of a protein database are translated, and refused as proteins."""
    assert search("ACGT" * 15, database)[0].params.program == "blastx"
    with pytest.raises(InputError, match="look like nucleotides"):
        search("ACGT" * 15, database, task="blastp")


def test_a_search_loads_no_masked_arrays():
    """NumPy imports them when sets are computed: 15 ms, which a single query waits for."""
    code = (
        "import sys, swdual\n"
        "found = swdual.search('MKVLAWGGHERWCDEF' * 9, {'t': 'MKVLAWGGHERWCDEF' * 9}, threads=1)\n"
        "assert found[0][0].alignment and 'numpy.ma' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_timing_tells_cells_and_workers(database):
    """The cells are query residues times database residues; padding is not counted."""
    found = search(NAMED, database, threads=2)
    assert found.timing.cells == sum(map(len, QUERIES)) * sum(map(len, SEQUENCES))
    assert found.timing.timeline.workers == ("cpu 0", "cpu 1")
    assert found.timing.gcups > 0
