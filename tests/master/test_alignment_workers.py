"""CPU threads align beside GPUs: they keep up with them, score nothing, and end as others do."""

from __future__ import annotations

import heapq
import json
import queue
import threading
from functools import partial

import numpy as np
import pytest

from swdual.api import iter_search
from swdual.api import search as search_all
from swdual.backend import Device
from swdual.backends import cuda, simd
from swdual.database import build
from swdual.errors import EngineError
from swdual.master import execution_log, merge, scoring_stage, threads, work_stealing, worker
from swdual.master.cost import CostModel
from swdual.master.search import Search
from swdual.master.worker_pool import AttemptReport
from swdual.request.options import SearchOptions
from swdual.sequences.alphabet import PROTEIN

QUERIES, HITS, LENGTH = 20, 500, 60

CARD_SECONDS = 1.2
"""Seconds in which an H200 scores 20 queries against Swiss-Prot, by the model of the kernels."""

HIT_SECONDS = 6.0 / (QUERIES * HITS)
"""Seconds of one thread in which one of 10,000 hits is adjusted for composition and aligned."""

PATIENCE = 120
"""Seconds after which something is taken for what never comes."""


class Card:
    """A GPU whose scores a CPU computes; it remembers in which threads."""

    def __init__(self, database, scheme):
        self.scorer = simd.bind(database, scheme)
        self.width, self.memory = self.scorer.width, self.scorer.memory
        self.is_resident = True
        self.threads = set()
        self.calls = 0

    def __call__(self, *task):
        self.threads.add(threading.current_thread().name)
        self.calls += 1
        return self.scorer(*task)


@pytest.fixture
def cards(monkeypatch):
    """One GPU; returns the list of the scorers that were bound to it."""
    found = []

    def bind(database, scheme, number=0, memory_limit=None):
        found.append(Card(database, scheme))
        return found[-1]

    monkeypatch.setattr(cuda, "devices", lambda: [{"number": 0}])
    monkeypatch.setattr(cuda, "bind", bind)
    monkeypatch.setattr(worker, "calibrate", lambda *_: CostModel.from_dict({"gcups": 1}))
    return found


@pytest.fixture(scope="module")
def family():
    """Queries, and as many relatives of all of them as a query may have hits."""
    rng = np.random.default_rng(27)
    ancestor = rng.integers(0, 20, LENGTH, np.uint8)

    def descend(count, name):
        codes = np.tile(ancestor, (count, 1))
        changed = rng.random(codes.shape) < 0.2
        codes[changed] = rng.integers(0, 20, int(changed.sum()), np.uint8)
        return {f"{name}{k}": PROTEIN.decode(row.tobytes()) for k, row in enumerate(codes)}

    return descend(QUERIES, "q"), descend(HITS, "t")


class VirtualTime:
    """A clock that shows when the next task ends, and a pool whose tasks take virtual time."""

    def __init__(self, card_seconds, hit_seconds):
        self.now = 100.0
        self.card_seconds, self.hit_seconds = card_seconds, hit_seconds

    def perf_counter(self):
        return self.now

    def pool(self, workers, scheduler):
        return VirtualPool(self, workers, scheduler)

    def cost(self, task, value):
        """Return the seconds of a task: those of the card, or of the hits that were aligned."""
        if task.target_range is None:
            return value.examined * self.hit_seconds
        return task.cells * self.card_seconds / (QUERIES * HITS * LENGTH**2)


class Idle(Exception):
    """Raised where a worker would wait."""


def wait(timeout=None):
    raise Idle


class VirtualPool:
    """Stands for `WorkerPool`: the thread of the search runs each task when it begins."""

    def __init__(self, clock, workers, scheduler):
        self.clock, self.workers, self.scheduler = clock, workers, scheduler
        scheduler._changed.wait = scheduler._added.wait = wait
        self.idle = [each.number for each in workers]
        self.running = []
        self.reports = self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scheduler.stop()

    def get(self, timeout):
        """Return the report of the task that ends next."""
        for number in [*self.idle]:
            try:
                attempt = self.scheduler.take(number)
            except Idle:
                continue
            self.idle.remove(number)
            progress = partial(self.scheduler.report_progress, attempt)
            value = attempt.task.run(self.workers[number], progress)
            end = self.clock.now + self.clock.cost(attempt.task, value)
            heapq.heappush(self.running, (end, number, attempt, value))
        if not self.running:
            raise queue.Empty
        self.clock.now, number, attempt, value = heapq.heappop(self.running)
        self.idle.append(number)
        assert self.scheduler.finish(attempt)
        return AttemptReport(attempt, self.clock.now, "done", value, 0.0)


def trace_of(path):
    """Return (worker, category, start, end) of each measured span, in virtual seconds."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    return [
        (names[each["tid"]], each["cat"], each["ts"] / 1e6, (each["ts"] + each["dur"]) / 1e6)
        for each in events
        if each["ph"] == "X" and each["cat"] in ("score", "align")
    ]


def write_fasta(path, records):
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records.items()))


@pytest.mark.parametrize(
    ("count", "block_bytes", "least", "most"),
    [(8, 1 << 20, 1.0, 1.1), (8, 1 << 13, 1.0, 1.1), (1, 1 << 20, 2.9, 3.2)],
)
def test_the_card_bounds_a_search_of_many_hits_if_there_are_threads(
    run, here, cards, family, monkeypatch, count, block_bytes, least, most
):
    """20 queries with 500 hits: the times are virtual, the tasks, the plan and the log are not.

    A card that holds several blocks completes some queries before others, for the threads.

    The sequences are short, so the cells from which hits are divided are as many times fewer.
    """
    queries, targets = family
    write_fasta(here / "q.fa", queries)
    write_fasta(here / "t.fa", targets)
    monkeypatch.setattr(build, "BLOCK_BYTES", block_bytes)
    assert run("makedb", "t.fa", "t.db").code == 0
    search = ["search", "q.fa", "t.db", "-f", "7 std", "--comp-based-stats", "0", "-e", "1e9"]
    expected = run(*search, "--device", "cpu")
    assert expected.out.count("\n") > QUERIES * HITS, expected.err
    clock = VirtualTime(CARD_SECONDS, HIT_SECONDS)
    monkeypatch.setattr(merge, "MIN_SHARED_CELLS", merge.MIN_SHARED_CELLS // 200)
    for module in (execution_log, work_stealing):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(scoring_stage, "WorkerPool", clock.pool)
    search += ["--device", "cuda", "--threads", str(count), "--trace", "trace.json"]
    outcome = run(*search)
    assert (outcome.code, outcome.out) == (0, expected.out), outcome.err
    spans = trace_of(here / "trace.json")
    scores = [span for span in spans if span[1] == "score"]
    assert {span[0] for span in scores} == {"gpu 0"}
    assert (len(scores) >= 4 * QUERIES) == (block_bytes < 1 << 20)
    assert max(span[3] for span in scores) == pytest.approx(CARD_SECONDS)
    assert len({span[0] for span in spans}) == max(2, count)
    aligning = sum(end - start for _, kind, start, end in spans if kind == "align")
    assert aligning == pytest.approx(QUERIES * HITS * HIT_SECONDS, rel=1e-3)
    makespan = max(span[3] for span in spans)
    assert least <= makespan / CARD_SECONDS <= most


def summarize(results):
    """Return what a search found, with alignments."""
    return [
        [(hit.id, hit.score, hit.evalue, hit.alignment.cigar) for hit in result]
        for result in results
    ]


@pytest.fixture
def few(family):
    """Four queries and forty targets."""
    queries, targets = (
        {name: each[name] for name in [*each][:n]} for each, n in zip(family, (4, 40), strict=True)
    )
    return queries, targets


@pytest.mark.usefixtures("no_thread_is_left")
def test_hits_are_aligned_while_the_card_scores(cards, few, monkeypatch):
    """The card waits, before its last query, until the hits of the first are aligned.

    It scores in its own thread only, and the threads of CPUs only align.
    """
    aligned, first_aligned = [], threading.Event()
    true = threads.align_hits

    def align(result, hit_indices, context, own, progress):
        found = true(result, hit_indices, context, own, progress)
        aligned.append((result.query.id, threading.current_thread().name))
        first_aligned.set()
        return found

    def score(card, *task):
        if card.calls == len(few[0]) - 1:
            assert first_aligned.wait(PATIENCE)
        return true_score(card, *task)

    true_score = Card.__call__
    monkeypatch.setattr(threads, "align_hits", align)
    monkeypatch.setattr(Card, "__call__", score)
    expected = summarize(search_all(*few, device="cpu", evalue=1e9))
    aligned.clear()
    first_aligned.clear()
    assert summarize(search_all(*few, device="cuda", threads=3, evalue=1e9)) == expected
    assert aligned[0][1] in ("swdual cpu 0", "swdual cpu 1")
    assert cards[0].threads - {threading.current_thread().name} == {"swdual gpu 0"}


@pytest.mark.usefixtures("no_thread_is_left")
@pytest.mark.parametrize("options", [{}, {"max_hsps": 3}, {"comp_based_stats": 0}])
def test_any_number_of_threads_finds_the_same(cards, few, options):
    """Adjusted, aligned, and aligned again."""
    expected = summarize(search_all(*few, device="cpu", threads=1, evalue=1e9, **options))
    for count in (1, 2, 5):
        found = search_all(*few, device="cuda", threads=count, evalue=1e9, **options)
        assert summarize(found) == expected


def names(few, **options):
    """Return the names of all workers of a search, those that score first."""
    run = Search(*few, SearchOptions(**options))._context.run
    everyone = [*run.workers, *run.alignment_workers]
    assert [each.number for each in everyone] == [*range(len(everyone))]
    assert list(run.execution_log.timeline.workers) == [each.name for each in everyone]
    return [each.name for each in everyone]


def test_threads_are_counted_as_beside_cpus_that_score(cards, few, monkeypatch):
    """One feeds each GPU, one is left at least; none where nothing is aligned, or CPUs score."""
    assert names(few, device="cuda", threads=4) == ["gpu 0", "cpu 0", "cpu 1", "cpu 2"]
    assert names(few, device="cuda", threads=1) == ["gpu 0", "cpu 0"]
    assert names(few, device="hybrid", threads=4) == ["cpu 0", "cpu 1", "cpu 2", "gpu 0"]
    assert names(few, device="cuda", threads=4, align=False, comp_based_stats=0) == ["gpu 0"]
    assert names(few, device=[Device("gpu", "cuda", {"number": 0})], threads=4) == ["gpu 0"]
    monkeypatch.setattr(cuda, "devices", lambda: [{"number": 0}, {"number": 1}])
    assert names(few, device="cuda", threads=3) == ["gpu 0", "gpu 1", "cpu 0"]


def test_the_memory_of_alignment_workers_is_planned(cards, few):
    """As that of CPUs that score and align."""
    one, four = (
        Search(*few, SearchOptions(device="cuda", threads=count)).memory for count in (2, 5)
    )
    assert four.workers - one.workers >= 3 * one.grid
    assert four.ranges == one.ranges


@pytest.mark.usefixtures("no_thread_is_left")
def test_alignments_that_fail_go_to_another_thread(cards, few, monkeypatch, caplog):
    """The first attempt of each thread fails; the GPU's thread aligns, too, after the scores."""
    failed, true = set(), threads.align_hits

    def align(result, hit_indices, context, own, progress):
        if own.name not in failed:
            failed.add(own.name)
            raise ValueError("boom")
        return true(result, hit_indices, context, own, progress)

    expected = summarize(search_all(*few, device="cpu", evalue=1e9))
    monkeypatch.setattr(threads, "align_hits", align)
    found = search_all(*few, device="cuda", threads=2, evalue=1e9)
    assert summarize(found) == expected
    assert "cpu 0 failed at aligning the hits of query" in caplog.text


@pytest.mark.usefixtures("no_thread_is_left")
def test_a_card_that_fails_ends_the_search_though_threads_could_align(cards, few, monkeypatch):
    """No thread waits for tasks that never come."""

    def fail(card, *task):
        card.calls += 1
        if card.calls > 2:
            raise ValueError("boom")
        return card.scorer(*task)

    monkeypatch.setattr(Card, "__call__", fail)
    with pytest.raises(EngineError, match=r"scoring query .* failed 3 times.*boom"):
        search_all(*few, device="cuda", threads=3, evalue=1e9)


@pytest.mark.usefixtures("no_thread_is_left")
def test_leaving_a_search_ends_the_threads_that_align(cards, few):
    """The rest of the results is not asked for."""
    results = iter_search(*few, device="cuda", threads=4, evalue=1e9)
    assert len(next(results))
    results.close()
