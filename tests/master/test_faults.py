"""Whole searches: one answer for any workers, planners and faults, or one error that says why."""

from __future__ import annotations

import math
import re
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

import swdual
from swdual import registry
from swdual.backend import Device
from swdual.backends import reference, simd
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import DeviceError, DeviceMemoryError, EngineError, InputError
from swdual.master import partition, ranges, setup, work_stealing, worker_pool
from swdual.master.cost import CostModel
from swdual.master.devices import device_mix
from swdual.planning.planner import PACKAGE
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

pytestmark = [pytest.mark.sample("values"), pytest.mark.usefixtures("no_thread_is_left")]

PLANNERS = registry.available(PACKAGE)
CPU, GPU = Device("cpu"), Device("gpu", "simd", {"lanes": 16})
SLOW = Device("cpu", "reference")
CREWS = {f"{count} cpus": [CPU] * count for count in range(1, 6)} | {
    "cpu and gpu": [CPU, GPU],
    "cpus and gpus": [CPU] * 3 + [GPU] * 2,
    "gpu": [GPU],
    "gpus": [GPU] * 2,
}
FORMATS = "6 std qlen slen rank", "10", "0"


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    """Tasks of a few targets, as many as there can be."""
    monkeypatch.setattr(ranges, "MIN_RANGE_RESIDUES", 200)
    monkeypatch.setattr(partition, "GOOD_ENOUGH", 0)


def drawn(rng, length):
    return PROTEIN.decode(rng.integers(0, 20, length, np.uint8).tobytes())


def records():
    """Return queries, and targets that hold pieces of them, are equal, or share nothing."""
    rng = np.random.default_rng(8)
    queries = [drawn(rng, n) for n in (40, 90, 7, 25, 60)]
    targets = []
    for k in range(60):
        piece = queries[k % 5][: 8 + k]
        targets.append((drawn(rng, k % 30) + piece, drawn(rng, 5 + k), queries[1])[k % 3])
    return [(f"q{k}", text) for k, text in enumerate(queries)], targets


QUERIES, TARGETS = records()
CELLS = sum(len(text) for _, text in QUERIES) * sum(map(len, TARGETS))


@pytest.fixture(scope="module")
def database():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "BLOCK_BYTES", 2048)
        batch = batch_of(
            Sequence(f"t{k} number {k}", PROTEIN.encode(text)) for k, text in enumerate(TARGETS)
        )
        found = Database.from_batches([batch], PROTEIN, "test")
    assert len(found.manifest.blocks) > 1
    return found


def searched(database, devices, **options):
    defaults = {"max_target_seqs": 7, "progress": soon()}
    return swdual.search(QUERIES, database, device=devices, **{**defaults, **options})


def soon(seconds=120):
    """Return a progress callback that ends a search that takes too long."""
    end = time.monotonic() + seconds

    def progress(done, total):
        if time.monotonic() > end:
            raise TimeoutError(f"{done} of {total} cells, and it goes no further")

    return progress


@pytest.fixture(scope="module")
def alone(database):
    """What one worker finds in whole blocks, for each kind of search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "MIN_RANGE_RESIDUES", 1 << 18)
        return {
            (stats, align): searched(database, [CPU], stats=stats, align=align)
            for stats in ("table", "fit", "none")
            for align in (True, False)
        }


@pytest.fixture
def same(tmp_path, alone):
    """Compare a search with what one worker found: in memory, and byte for byte in files."""

    def compare(found, stats="table", align=True):
        expected = alone[stats, align]
        assert found == expected
        for result, other in zip(found, expected, strict=True):
            assert result.log_evalues.tobytes() == other.log_evalues.tobytes()
            assert result.bits.tobytes() == other.bits.tobytes()
        formats = FORMATS if align else ("6 qseqid sseqid score bitscore evalue", "10 qseqid score")
        for number, outfmt in enumerate(formats):
            paths = tmp_path / f"found{number}", tmp_path / f"expected{number}"
            for path, results in zip(paths, (found, expected), strict=True):
                results.write(path, outfmt, force=True)
            assert paths[0].read_bytes() == paths[1].read_bytes()
        assert len(found.scores) > 20

    return compare


# Any workers, any planner.


@pytest.mark.smoke(5)
@pytest.mark.case(number=20)
@pytest.mark.parametrize("crew_name", CREWS)
@pytest.mark.parametrize("planner", PLANNERS)
def test_results_are_the_same_for_any_planner_and_workers(database, same, planner, crew_name):
    """Only a planner for one kind refuses the other."""
    devices = CREWS[crew_name]
    kinds = {device.kind for device in devices}
    if planner in ("cpu_only", "gpu_only") and planner.partition("_")[0] not in kinds:
        with pytest.raises(InputError, match=planner):
            searched(database, devices, planner=planner)
        return
    found = searched(database, devices, planner=planner)
    same(found)
    workers = found.timing.timeline.workers
    assert workers[: len(devices)] == tuple(
        f"{kind} {k}"
        for kind in ("cpu", "gpu")
        for k in range(sum(device.kind == kind for device in devices))
    )
    assert found.timing.plans == ()  # nobody measured


@pytest.mark.parametrize("crew_name", ["1 cpus", "3 cpus", "cpu and gpu", "cpus and gpus"])
@pytest.mark.parametrize("stats", ["table", "fit", "none"])
@pytest.mark.parametrize("align", [True, False])
def test_e_values_and_alignments_are_the_same_for_any_workers(
    database, same, crew_name, stats, align
):
    """Fitted or from a table, and wherever the alignments were found."""
    same(searched(database, CREWS[crew_name], stats=stats, align=align), stats, align)


@pytest.mark.parametrize("planner", ["dual", "self_scheduling", "equal_power"])
def test_workers_that_differ_a_thousandfold_find_the_same(database, same, planner):
    """A backend in Python beside one in machine code, planned as if they were equal."""
    same(searched(database, [SLOW, CPU, GPU], planner=planner))


def test_each_task_is_in_the_record_once(database):
    """Scores of all cells, on one worker each, unless a task was begun anew."""
    found = searched(database, CREWS["cpus and gpus"])
    spans = [span for span in found.timing.timeline if span.activity == "score"]
    places = [(span.query, span.block, span.first) for span in spans]
    assert len(places) == len(set(places)) > 30
    assert sum(span.cells for span in spans) == CELLS
    assert all(0 <= span.start <= span.end for span in found.timing.timeline)


@pytest.fixture
def kept(monkeypatch):
    """Have rates found that nobody measured; return what is kept of the corrected ones."""
    kept = {}

    class Book:
        path = None

        def __init__(self, setting):
            self.setting = setting
            assert setting.name == "with bounds"

        def find(self, name, *_):
            return CostModel.from_dict({"simd": 1, "simd lanes=16": 0.25}[name])

        def keep(self, name, together, rates):
            kept[name, together] = 1e-9 / rates.cell_seconds

        def save(self):
            pass

    monkeypatch.setattr(setup, "SMALL_CELLS", 0)
    monkeypatch.setattr(setup, "CalibrationCache", Book)
    return kept


@pytest.mark.parametrize("planner", PLANNERS)
def test_waves_are_planned_one_by_one(monkeypatch, database, same, kept, planner):
    """Two queries at a time: three plans, of the planner that was asked for."""
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 2)
    found = searched(database, CREWS["cpus and gpus"], planner=planner)
    same(found)
    plans = found.timing.plans
    assert [sorted({*each.queries.tolist()}) for each in plans] == [[0, 1], [2, 3], [4]]
    assert {each.plan.planner for each in plans} == {planner}
    offsets = [each.offset for each in plans]
    assert offsets[0] == 0
    assert offsets == sorted(offsets)


def test_a_search_whose_workers_were_measured_finds_the_same(database, same, kept):
    """With rates of their own, tasks are predicted, and the rates corrected afterwards."""
    found = searched(database, CREWS["cpus and gpus"])
    same(found)
    assert found.timing.timeline.prediction_error() > 0
    together = device_mix(CREWS["cpus and gpus"])
    assert set(kept) == {("simd", together), ("simd lanes=16", together)}
    assert all((speeds > 0).all() for speeds in kept.values())


# Workers that fail.


def nothing(longest_query, max_range_cost):
    """Return what a scorer that needs no memory says of it."""
    return 0, 0


class Faults:
    """Makes the backend "reference" as fast as the others, and faulty where a device says so."""

    def __init__(self):
        self.calls = 0
        self.struck, self.may_end = threading.Event(), threading.Event()
        self._lock = threading.Lock()

    def bind(self, database, scheme, **settings):
        ((fault, argument),) = settings.items()
        scorer = simd.bind(database, scheme)

        def score(*arguments):
            if fault == "waits":
                assert self.struck.wait(120)
            else:
                with self._lock:
                    self.calls += 1
                    struck = self.calls == argument if fault == "once" else self.calls >= argument
                if struck:
                    self.struck.set()
                    getattr(self, fault)()
            return scorer(*arguments)

        score.width, score.memory = scorer.width, nothing
        return score

    def once(self):
        raise ValueError("once")

    def always(self):
        raise RuntimeError("always")

    def broken(self):
        raise DeviceError("illegal address")

    def full(self):
        raise DeviceMemoryError("the card is full")

    def memory(self):
        raise MemoryError

    def dies(self):
        raise SystemExit("died")

    def slow(self):
        time.sleep(0.002)

    def hangs(self):
        self.may_end.wait(600)


@pytest.fixture
def faults(monkeypatch):
    found = Faults()
    monkeypatch.setattr(reference, "bind", found.bind)
    yield found
    found.may_end.set()
    for thread in threading.enumerate():
        if thread.name.startswith("swdual "):
            thread.join(120)


def faulty(fault, first=1, kind="cpu"):
    """Return a device whose fault strikes at some call."""
    return Device(kind, "reference", {fault: first})


WAITING = Device("cpu", "reference", {"waits": 1})
"""A device that works, but not before the fault of another has struck."""


@pytest.mark.case(number=22)
@pytest.mark.parametrize("planner", ["dual", "self_scheduling", "heft"])
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize(
    ("fault", "first"),
    [
        *(("once", 1), ("once", 5), ("always", 1), ("always", 4), ("full", 1), ("full", 3)),
        *(("memory", 1), ("dies", 1), ("dies", 4), ("slow", 1)),
    ],
)
def test_results_are_the_same_though_a_worker_fails(
    database, same, faults, fault, first, kind, planner
):
    """Once, always, for lack of memory, by its death or by being slow: others do its tasks."""
    devices = [WAITING, faulty(fault, first, kind), WAITING]
    same(searched(database, devices, planner=planner))
    assert faults.struck.is_set()


@pytest.mark.parametrize("planner", ["dual", "self_scheduling"])
def test_a_worker_that_is_gone_is_not_counted_on_again(
    monkeypatch, caplog, database, same, faults, planner
):
    """It dies in the first wave of queries: the later ones are planned without it."""
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 2)
    found = searched(database, [WAITING, faulty("dies", 1), WAITING], planner=planner)
    same(found)
    assert caplog.text.count("does nothing more in this search") == 1
    late = [span for span in found.timing.timeline if span.query >= 2]
    assert late
    assert all(span.worker != 1 for span in late)


@pytest.mark.case(number=22)
@pytest.mark.parametrize("planner", ["dual", "self_scheduling"])
@pytest.mark.parametrize("first", [1, 3])
def test_results_are_the_same_though_a_worker_hangs(
    monkeypatch, database, same, faults, first, planner
):
    """At its first task or later: others do it and all that it had, and nobody waits for it."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    devices = [WAITING, faulty("hangs", first), WAITING]
    same(searched(database, devices, planner=planner))
    assert faults.struck.is_set()


def test_a_worker_that_fails_alone_is_tried_again(database, same, faults):
    """There is nobody else."""
    same(searched(database, [faulty("once", 3)]))


def test_failures_are_in_the_record(database, faults, caplog):
    """And in the log, each in a line; the worker that failed three times does nothing more."""
    found = searched(database, [WAITING, faulty("always")])
    spans = [span for span in found.timing.timeline if span.activity == "failed"]
    assert [span.worker for span in spans] == [1] * len(spans)
    assert 1 <= len(spans) <= 3
    assert sum("cpu 1 failed at scoring query" in line for line in caplog.messages) == len(spans)


def test_progress_rises_to_the_end_though_workers_fail(database, faults):
    """It never falls, and ends at the cells of the search."""
    told = []
    devices = [WAITING, faulty("always", 5), faulty("slow", 1, "gpu")]
    progress = lambda done, total: told.append((done, total))  # noqa: E731
    swdual.search(QUERIES, database, device=devices, progress=progress)
    assert all(a[0] <= b[0] for a, b in pairwise(told))
    assert told[-1] == (CELLS, CELLS)
    assert {total for _, total in told} == {CELLS}


@pytest.mark.case(number=22)
@pytest.mark.parametrize("planner", ["dual", "self_scheduling"])
def test_a_worker_that_says_nothing_for_too_long_is_given_up(
    monkeypatch, caplog, database, same, faults, planner
):
    """While another is too slow to take over: a warning, and the results are the same."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    monkeypatch.setattr(work_stealing, "SILENT_SECONDS", 0.3)
    monkeypatch.setattr(work_stealing, "HANGS", 0.0)
    monkeypatch.setattr(work_stealing, "MUCH_SOONER", math.inf)
    same(searched(database, [WAITING, faulty("hangs", 2)], planner=planner))
    (message,) = caplog.messages
    assert message.startswith("cpu 1 failed at scoring query q")
    words = r"TimeoutError: nothing was heard of it for \d+ s; cpu 1 does nothing more"
    assert re.search(words, message)


# Failures that end the search.


@pytest.mark.parametrize("count", [1, 2, 5])
def test_what_always_fails_ends_the_search(database, faults, count):
    """An EngineError with exit code 3, which says what failed, how, and has the cause."""
    with pytest.raises(EngineError, match=r"scoring query q.*RuntimeError: always") as caught:
        searched(database, [faulty("always")] * count)
    assert caught.value.exit_code == 3
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_query_that_always_fails_is_named(monkeypatch, database, count):
    """The others may be fine."""

    def bind(database, scheme):
        scorer = simd.bind(database, scheme)

        def score(query, *arguments):
            if len(query) == 7:
                raise ZeroDivisionError
            return scorer(query, *arguments)

        score.width, score.memory = scorer.width, nothing
        return score

    monkeypatch.setattr(reference, "bind", bind)
    with pytest.raises(EngineError, match=r"scoring query q2 .*ZeroDivisionError"):
        searched(database, [SLOW] * count)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lack_of_memory_everywhere_is_a_memory_error(database, faults, count):
    """Not a failure of the engine."""
    with pytest.raises(MemoryError):
        searched(database, [faulty("memory", 3)] * count)


@pytest.mark.parametrize("count", [1, 3])
def test_devices_that_are_all_full_are_a_memory_error(database, faults, count):
    """The last error itself, exit code 4."""
    with pytest.raises(DeviceMemoryError, match="the card is full") as caught:
        searched(database, [faulty("full", 2)] * count)
    assert caught.value.exit_code == 4


def test_a_full_device_leaves_its_work_to_the_others_with_one_warning(database, faults, caplog):
    """It is not asked again."""
    expected = searched(database, [CPU])
    caplog.clear()
    assert searched(database, [CPU, faulty("full", 1)]) == expected
    warnings = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert [each for each in warnings if "the card is full" in each] == warnings[:1]


def test_a_device_that_fails_ends_the_search(database, faults):
    """Who knows what it computed before: that is no warning."""
    with pytest.raises(DeviceError, match="illegal address"):
        searched(database, [CPU, faulty("broken", 1)])


@pytest.mark.case(number=22)
@pytest.mark.parametrize("count", [1, 3])
def test_workers_that_all_die_end_the_search(database, faults, count):
    """Nobody waits for ever, and the caller is not ended with them."""
    with pytest.raises(EngineError) as caught:
        searched(database, [faulty("dies", 2)] * count)
    assert caught.value.exit_code == 3
    assert isinstance(caught.value.__cause__, SystemExit)


@pytest.mark.case(number=22)
@pytest.mark.parametrize("count", [1, 3])
def test_workers_that_all_hang_end_the_search(monkeypatch, database, faults, count):
    """Nobody waits for ever; it is said at what, and what to do."""
    monkeypatch.setattr(worker_pool, "STOP_SECONDS", 0.05)
    monkeypatch.setattr(work_stealing, "SILENT_SECONDS", 0.3)
    words = r"no worker is left; .* at scoring query q\d .* nothing was heard .*; search again on"
    with pytest.raises(EngineError, match=words) as caught:
        searched(database, [faulty("hangs")] * count)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("calls", [0, 3])
def test_an_error_of_the_engine_reaches_the_caller(monkeypatch, database, threads, calls):
    """The very exception, and all threads have ended."""
    error = EngineError("too large")
    done = []

    def bind(database, scheme):
        def score(query, block, first, last, progress, profile=None):
            if len(done) >= calls:
                raise error
            done.append(1)
            return np.ones(last - first, np.int32)

        score.width, score.memory = 1, nothing
        return score

    monkeypatch.setattr(reference, "bind", bind)
    for _ in range(2):
        done.clear()
        with pytest.raises(EngineError) as caught:
            searched(database, "cpu", threads=threads, backend="reference")
        assert caught.value is error


def test_a_backend_that_cannot_be_bound_is_an_error_before_anything_starts(monkeypatch, database):
    """The very exception."""
    error = DeviceError("no driver")

    def bind(*_):
        raise error

    monkeypatch.setattr(reference, "bind", bind)
    with pytest.raises(DeviceError) as caught:
        searched(database, [CPU, SLOW])
    assert caught.value is error


def test_a_search_needs_a_device(database):
    """None is an InputError."""
    with pytest.raises(InputError, match="at least one device"):
        searched(database, [])


# On the command line.


def commanded(run, monkeypatch, error, *options):
    def bind(database, scheme):
        def score(*_):
            raise error

        score.width, score.memory = 1, nothing
        return score

    monkeypatch.setattr(reference, "bind", bind)
    return run("search", "q.fa", "t.fa", "--backend", "reference", "-o", "hits.tsv", *options)


@pytest.mark.case(number=22)
@pytest.mark.parametrize("options", [(), ("--quiet",), ("-v",)])
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RuntimeError("lane 3 is on fire"), 3, "lane 3 is on fire"),
        (EngineError("too large"), 3, "too large"),
        (DeviceError("fell off"), 3, "fell off"),
        (MemoryError(), 4, "out of memory"),
        (SystemExit(0), 3, "no worker is left"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_the_command_ends_with_one_clear_line(run, here, monkeypatch, error, code, words, options):
    """And the exit code of what happened; no output file, no traceback."""
    outcome = commanded(run, monkeypatch, error, *options)
    assert outcome.code == code
    *warnings, last = outcome.err.splitlines()
    assert last.startswith("swdual: error: ")
    assert words in last
    assert "internal error" not in last
    assert "Traceback" not in outcome.err
    if options == ("--quiet",):
        assert warnings == []
    if not options:
        assert all(line.startswith("swdual: warning: ") for line in warnings)
    assert not (here / "hits.tsv").exists()


@pytest.mark.case(number=22)
def test_three_tries_are_told_each_and_then_what_to_do(run, here, monkeypatch):
    """Who failed at which query and targets, with what, how often, and the remedy."""
    outcome = commanded(run, monkeypatch, RuntimeError("lane 3 is on fire"), "-p", "1")
    task = "scoring query q1 against targets 0 to 2 of block 0"
    cause = "RuntimeError: lane 3 is on fire"
    assert outcome.code == 3
    assert outcome.err.splitlines()[:4] == [
        f"swdual: warning: cpu 0 failed at {task}: {cause}",
        f"swdual: warning: cpu 0 failed at {task}: {cause}",
        f"swdual: warning: cpu 0 failed at {task}: {cause}; cpu 0 does nothing more in this search",
        f"swdual: error: {task} failed 3 times; the last time {cause}; "
        "search again on another --device or --backend",
    ]
