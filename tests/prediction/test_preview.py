"""``swdual.plan``: a search that is planned, not run, and what it would take of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.taxa import TWO_SPECIES, write_dump

import swdual
from swdual.database.database import Database
from swdual.errors import DatabaseError, InputError
from swdual.master.cost import CostModel
from swdual.master.ranges import SMALL_EDGE
from swdual.planning.planner import PACKAGE, Plan
from swdual.prediction.preview import Preview, plan
from swdual.profiles import Profile
from swdual.registry import available
from swdual.request.options import SearchOptions
from swdual.runtime.cache import cache_folder
from swdual.sequences.alphabet import PROTEIN

RATES = {"cpu": 45, "gpu": 1500}
QUERIES = {"q1": "MKVLAWGGHERMKVLAWDEF", "q2": "ACDEFGHIKLMNPQRSTVWY"}
TARGETS = {"t1": "MKVLAWGGHERMKV", "t2": "GGGGWW", "t3": "ACDEFGHIKLMNPQRSTVWYACD"}
CELLS = 40 * 43
BASES = {"n": "ACGTTGCA" * 10}


def proteins(count, least, most, seed=3):
    """Return random proteins as text by name."""
    draw = np.random.default_rng(seed)
    letters = np.frombuffer(PROTEIN.letters[:20].encode(), np.uint8)
    lengths = draw.integers(least, most, count)
    text = letters[draw.integers(0, 20, lengths.sum())].tobytes().decode()
    cuts = np.concatenate(([0], np.cumsum(lengths)))
    return {f"s{k}": text[cuts[k] : cuts[k + 1]] for k in range(count)}


@pytest.fixture(scope="module")
def large():
    """Queries and a database of enough size for many workers."""
    return proteins(12, 100, 900), Database.from_batches(
        [_batch(proteins(10_000, 50, 600, seed=4))], PROTEIN, "large"
    )


def _batch(records):
    from swdual.sequences.records import as_sequences
    from swdual.sequences.sequence import batch_of

    return batch_of(as_sequences(records, PROTEIN, unnamed="s"))


def unwanted(bind):
    """Stand for a measurement that should not happen."""
    pytest.fail("measures what is known")


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine without a GPU and with three CPUs, wherever this runs."""
    monkeypatch.setattr("swdual.prediction.preview.list_gpus", lambda: [])
    monkeypatch.setattr("swdual.prediction.preview.available_threads", lambda: 3)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache folder for the rates of this test; the kernels in it are those of all tests."""
    swdual.search("MKVLAW", TARGETS, threads=1)
    kernels = [path for path in cache_folder().iterdir() if path.name != "rates.json"]
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path / "cache"))
    cache_folder.cache_clear()
    for path in kernels:
        (cache_folder() / path.name).symlink_to(path)
    yield tmp_path / "cache"
    cache_folder.cache_clear()


# Plans.


def test_it_is_a_public_name():
    """With the plan that it returns."""
    assert swdual.plan is plan
    found = swdual.plan(QUERIES, TARGETS, cpus=2, gpus=1, rates=RATES)
    assert isinstance(found, swdual.Plan)
    assert found.planner == "dual"


def test_by_default_the_workers_are_those_of_this_machine(no_gpu):
    """All CPUs, of which each GPU needs one to feed it."""
    assert plan(QUERIES, TARGETS, rates=RATES).kinds == ("cpu",) * 3
    assert plan(QUERIES, TARGETS, gpus=1, rates=RATES).kinds == ("cpu", "cpu", "gpu")
    assert plan(QUERIES, TARGETS, gpus=8, rates=RATES).kinds == ("cpu",) + ("gpu",) * 8
    assert plan(QUERIES, TARGETS, cpus=5, rates=RATES).kinds == ("cpu",) * 5


def test_one_worker_takes_cells_over_gcups():
    """The simplest prediction of all."""
    found = plan(QUERIES, TARGETS, cpus=1, gpus=0, rates={"cpu": 2})
    assert found.makespan == pytest.approx(CELLS / 2e9)
    assert found.lower_bound <= found.makespan
    found = plan(QUERIES, TARGETS, cpus=0, gpus=1, rates={"gpu": 4})
    assert found.makespan == pytest.approx(CELLS / 4e9)
    assert found.kinds == ("gpu",)


def test_startup_layout_and_length_count():
    """The formula of the module of costs, by hand for one query on one worker."""
    detail = {"gcups": {"10": 1, "1000": 5}, "startup": 0.25, "layout": 1e-3, "width": 4}
    found = plan("MKVLAWGGHE", TARGETS, cpus=1, gpus=0, rates={"cpu": detail})
    # Four targets side by side, columns in groups of four, and the edge of a small range.
    columns = max(43, 4 * 24) + 43 / SMALL_EDGE
    assert found.makespan == pytest.approx(0.25 + 43 * 1e-3 + columns * 10 * 1e-9)
    found = plan("MKVLAWGGHE" * 10, TARGETS, cpus=1, gpus=0, rates={"cpu": detail})
    cell = np.sqrt(1e-9 * 2e-10)  # 100 residues are halfway between 10 and 1000
    assert found.makespan == pytest.approx(0.25 + 43 * 1e-3 + columns * 100 * cell)


def test_profiles_are_queries():
    """Of their lengths; their scores are adjusted for composition if frequencies are known."""
    texts = ["MKVLAWGGHE" * 4, "MKVLAWGGHE" * 9]
    profiles = [Profile.from_alignments(text, []) for text in texts]
    preview = Preview(profiles, TARGETS, 2, 0, {"cpu": 1})
    assert preview.lengths == [40, 90]
    assert preview.adjustment.candidates == len(profiles) * len(TARGETS)
    none = [replace(profile, frequencies=None) for profile in profiles]
    assert Preview(none, TARGETS, 2, 0, {"cpu": 1}).adjustment.candidates == 0
    plain = Preview(dict(zip("ab", texts, strict=True)), TARGETS, 2, 0, {"cpu": 1})
    assert preview.plan("dual").makespan == plain.plan("dual").makespan
    with pytest.raises(InputError, match="a profile scores proteins"):
        Preview(profiles, BASES, 1, 0, {"cpu": 1}, SearchOptions(dbtype="nucl"))


def test_nucleotides_have_two_strands():
    """Unless one is named."""
    both = Preview(BASES, BASES, 1, 0, {"cpu": 1}, SearchOptions(dbtype="nucl"))
    plus = Preview(BASES, BASES, 1, 0, {"cpu": 1}, SearchOptions(dbtype="nucl", strand="plus"))
    assert (both.cells, plus.cells) == (2 * 80 * 80, 80 * 80)
    assert both.plan("dual").makespan == pytest.approx(2 * plus.plan("dual").makespan)


@pytest.mark.parametrize("planner", available(PACKAGE))
def test_every_planner_plans_a_search(large, planner):
    """All cells are done by somebody, no two tasks of a worker at once."""
    preview = Preview(*large, 3, 2, RATES)
    partition = preview.partition(planner)
    found = partition.plan
    assert isinstance(found, Plan)
    assert found.planner == planner
    assert partition.cells.sum() == preview.cells
    assert sorted(np.concatenate(found.queues)) == [*range(len(partition.task_ids))]
    for worker, queue in enumerate(found.queues):
        seconds = partition.seconds[worker][queue]
        assert (found.ends - found.starts)[queue] == pytest.approx(seconds)
        assert (found.starts[queue][1:] >= found.ends[queue][:-1] - 1e-12).all()
    assert found.lower_bound <= found.makespan * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_more_workers_never_make_it_longer(large, kind):
    """Within one percent, and twice as many help."""
    other = {"cpus": 2, "gpus": 1}
    makespans = [
        plan(*large, **{**other, f"{kind}s": count}, rates=RATES).makespan for count in range(1, 9)
    ]
    for before, after in pairwise(makespans):
        assert after <= 1.01 * before, makespans
    assert makespans[-1] < 0.95 * makespans[0]
    if kind == "gpu":
        assert makespans[7] < 0.2 * makespans[0]


def test_two_kinds_share_a_search_as_fast_as_they_are(large):
    """The makespan is near what all workers together need."""
    found = plan(*large, cpus=4, gpus=1, rates={"cpu": 50, "gpu": 200})
    cells = Preview(*large, 1, 0, RATES).cells
    assert found.makespan == pytest.approx(cells / 400e9, rel=0.03)
    assert found.idle.max() < 0.05


# What is refused.


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("at least one CPU or GPU", {"cpus": 0, "gpus": 0}),
        ("`cpus` is -1, but it must be from 0 to 100,000", {"cpus": -1}),
        ("`gpus` is -2, but it must be from 0 to 100,000", {"gpus": -2}),
        ("unknown planner 'dul'; did you mean dual", {"planner": "dul"}),
        ("rates are", {"rates": {"cpu": 1, "gpus": 2}}),
        ("cpu: rates must be numbers", {"rates": {"cpu": "fast"}}),
        ("cpu: gcups must be from 1e-09", {"rates": {"cpu": float("nan")}}),
        ("cpu: rates are a number", {"rates": {"cpu": {"speed": 3}}}),
        ("cpu: rates are a number", {"rates": {"cpu": {"speed": np.float32(3)}}}),
        ("cpu: ", {"rates": {"cpu": 10**400}}),
        ("cpu: ", {"rates": {"cpu": {"gcups": 1, "width": float("inf")}}}),
        ("no GPU here to measure", {"gpus": 1}),
        ("`dbtype` is 'dna'", {"dbtype": "dna"}),
        ("`max_target_seqs` is -1", {"max_target_seqs": -1}),
        ("`strand` is 'up'", {"strand": "up"}),
        ("`strand` is for nucleotides", {"strand": "both"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_makes_no_sense_is_refused(no_gpu, words, options):
    """An InputError that says what it was."""
    options = {"rates": {"cpu": 1}, **options}
    with pytest.raises(InputError, match=words):
        plan(QUERIES, TARGETS, **options)


def test_an_option_that_does_not_exist_is_a_type_error():
    """As with any function."""
    with pytest.raises(TypeError, match="max_targets"):
        plan(QUERIES, TARGETS, cpus=1, rates=RATES, max_targets=3)


def test_a_database_that_is_not_there_is_refused(tmp_path):
    """As in a search."""
    with pytest.raises(DatabaseError, match=r"none\.db"):
        plan(QUERIES, tmp_path / "none.db", cpus=1, rates=RATES)


def test_no_queries_take_no_time():
    """And the program still needs memory."""
    preview = Preview([], TARGETS, 2, 0, RATES)
    assert preview.plan("dual").makespan == 0
    assert preview.memory.queries == 0
    assert preview.memory.program > 0


# Rates.


def test_rates_are_a_mapping_or_a_file(tmp_path):
    """They mean the same, and what `to_dict` gives can be given again."""
    (tmp_path / "rates.json").write_text(json.dumps(RATES))
    preview = Preview(QUERIES, TARGETS, 2, 2, RATES)
    expected = preview.plan("dual").makespan
    described = {kind: rates.to_dict() for kind, rates in preview.rates.items()}
    for rates in (tmp_path / "rates.json", str(tmp_path / "rates.json"), described):
        found = plan(QUERIES, TARGETS, cpus=2, gpus=2, rates=rates)
        assert found.makespan == pytest.approx(expected)


def test_rates_of_a_kind_that_is_not_used_are_not_needed(no_gpu):
    """Nor do they harm."""
    assert [*Preview(QUERIES, TARGETS, 2, 0, {"cpu": 1}).rates] == ["cpu"]
    assert [*Preview(QUERIES, TARGETS, 0, 2, RATES).rates] == ["gpu"]


def test_rates_of_this_machine_are_measured_once(own_cache, no_gpu, monkeypatch):
    """They are kept in the cache folder; a file that was damaged is written anew."""
    preview = Preview(QUERIES, TARGETS)
    path = Path(preview.rates_file)
    assert path.is_relative_to(own_cache)
    (kept,) = json.loads(path.read_text()).values()
    (entry,) = kept.values()
    assert entry == {"probed": preview.rates["cpu"].to_dict(), "seen": []}
    with monkeypatch.context() as patch:
        patch.setattr("swdual.prediction.preview.calibrate", unwanted)
        again = Preview(QUERIES, TARGETS)
        assert again.plan("dual").makespan == pytest.approx(preview.plan("dual").makespan)
    for damage in ("", "{", "[]", "null", json.dumps({"x": 3}), "[" * 100_000):
        path.write_text(damage)
        monkeypatch.setattr("swdual.prediction.preview.calibrate", lambda *_: again.rates["cpu"])
        Preview(QUERIES, TARGETS)
        assert "simd" in json.dumps(json.loads(path.read_text()))


def test_given_rates_measure_and_write_nothing(own_cache, monkeypatch):
    """Whoever gives rates for all kinds waits for nothing."""
    monkeypatch.setattr("swdual.prediction.preview.calibrate", unwanted)
    plan(QUERIES, TARGETS, cpus=2, gpus=2, rates=RATES)
    assert [*own_cache.rglob("rates.json")] == []


def test_rates_of_a_search_serve_a_plan(own_cache, no_gpu, monkeypatch):
    """What was observed with as many workers is what a plan for so many predicts with."""
    monkeypatch.setattr("swdual.master.setup.SMALL_CELLS", 0)
    swdual.search(QUERIES, proteins(200, 50, 400), threads=2, device="cpu")
    monkeypatch.setattr("swdual.prediction.preview.calibrate", unwanted)
    preview = Preview(QUERIES, TARGETS, 2, 0)
    (kept,) = json.loads(Path(preview.rates_file).read_text()).values()
    (entry,) = kept.values()
    kept = CostModel.from_dict(entry["probed"])
    assert preview.rates["cpu"].calibrated == pytest.approx(kept.calibrated, rel=1e-9)


def test_no_more_workers_are_measured_than_there_are_processors(own_cache, no_gpu, monkeypatch):
    """A plan for a larger machine has the rates of all processors of this one."""
    monkeypatch.setattr("swdual.prediction.preview.available_threads", lambda: 3)
    asked = []

    def calibrate(bind, together, clock, bounds):
        asked.append(together)
        return CostModel.from_dict(2)

    monkeypatch.setattr("swdual.prediction.preview.calibrate", calibrate)
    for cpus in (1, 3, 4, 700):
        Preview(QUERIES, TARGETS, cpus, 0)
    assert asked == [1, 3]


# Memory.


def test_memory_is_the_sum_of_its_parts(large):
    """More hits, workers and queries take more; each GPU holds the database."""
    preview = Preview(*large, 2, 1, RATES)
    memory = preview.memory
    *parts, total = memory.to_dict().values()
    assert all(type(part) is int for part in parts)
    assert memory.total == total == sum(parts)
    assert preview.gpu_bytes == large[1].residues
    assert memory.database >= large[1].residues
    assert Preview(*large, 2, 0, RATES).gpu_bytes == 0
    assert preview.min_memory.total < total
    every, some, ten = (
        Preview(*large, 2, 0, RATES, SearchOptions(max_target_seqs=n, comp_based_stats=0))
        for n in (0, 500, 10)
    )
    assert every.memory.hits > some.memory.hits > ten.memory.hits
    assert Preview(*large, 8, 0, RATES).memory.workers == 4 * memory.workers


def test_memory_counts_no_more_hits_than_targets():
    """A small database cannot give 500."""
    few, many, every = (
        Preview(QUERIES, TARGETS, 1, 0, RATES, SearchOptions(max_target_seqs=count)).memory.hits
        for count in (3, 500, 0)
    )
    assert few == many == every


def test_memory_without_a_gpu_or_a_cpu():
    """What is not used takes nothing."""
    memory = Preview(QUERIES, TARGETS, 0, 1, RATES).memory
    assert (memory.ranges, memory.workers) == (0, 0)


PEAK = """
import sys
from swdual.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    assert not stop.code, stop.code
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("name", "mode", "factor"), [("t.fa", 0, 2), ("t.db", 0, 2), ("t.db", 2, 3)]
)
def test_memory_is_predicted_within_a_factor(here, name, mode, factor):
    """The measured peak of a process that searches three million residues.

    With composition-based statistics there is room for 10,000 candidates of each query.
    """
    queries, targets = proteins(4, 100, 600, seed=8), proteins(9000, 50, 620, seed=9)
    for file, records in (("q.fa", queries), ("t.fa", targets)):
        (here / file).write_text("".join(f">{key}\n{text}\n" for key, text in records.items()))
    swdual.makedb(here / "t.fa", here / "t.db")
    words = ["search", "q.fa", name, "-p", "2", "--device", "cpu", "-o", "hits.tsv", "--force"]
    words += ["--comp-based-stats", str(mode)]
    peaks = []
    for _ in range(2):  # the first may have to compile
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *words], capture_output=True, timeout=300, check=True
        )
        peaks.append(int(done.stdout) * 1024)
    options = SearchOptions(comp_based_stats=mode)
    predicted = Preview(here / "q.fa", here / name, 2, 0, None, options).memory.total
    assert min(peaks) / 2 < predicted < factor * min(peaks), (predicted, peaks)


def test_only_the_chosen_targets_are_planned(tmp_path):
    """The plan has the cells of the targets that are compared."""
    dump = write_dump(TWO_SPECIES, tmp_path / "dump")
    targets = {"a OX=9606": "MKVLAW" * 20, "b OX=562": "MKVLAW" * 30, "c": "MKV"}
    for chosen, residues in (
        ({}, 303),
        ({"taxids": 2}, 180),
        ({"not_taxids": [2759]}, 183),
        ({"taxids": 1}, 300),
        ({"target_ids": "a c"}, 123),
        ({"not_target_ids": ["a"]}, 183),
    ):
        options = SearchOptions(taxonomy=dump, **chosen)
        assert Preview(QUERIES, targets, 1, 0, RATES, options).cells == 40 * residues
