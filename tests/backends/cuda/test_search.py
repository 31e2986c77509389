"""A whole search on stand-ins for GPUs gives what it gives on the CPU, byte for byte."""

from __future__ import annotations

import json
import threading

import pytest
from backends.cuda.emulated import Emulated
from backends.cuda.standin import StandIn
from support.genes import random_genes, random_proteins

from kernels import emulator
from swdual.backends import cuda
from swdual.backends.cuda import CudaScorer
from swdual.backends.cuda import launch as _cuda_launch
from swdual.backends.cuda.memory import Shelf
from swdual.database import build
from swdual.master import calibration_cache, setup, worker
from swdual.master.cost import CostModel

DEVICES = ("cuda", "cuda:1", "hybrid")
ROUNDS = ("--iterations", "2", "--each-round", "-f", "7 std round", "--threads", "2")


@pytest.fixture
def cards(monkeypatch):
    """Two GPUs, which remember what was launched on them."""
    found = [StandIn(total=64 << 20, seed=number) for number in range(2)]

    def bind(database, scheme, number=0, memory_limit=None):
        return CudaScorer(database, scheme, found[number], memory_limit)

    monkeypatch.setattr(cuda, "devices", lambda: [{"number": 0}, {"number": 1}])
    monkeypatch.setattr(cuda, "bind", bind)
    monkeypatch.setattr(worker, "calibrate", lambda *_: CostModel.from_dict({"gcups": 1}))
    return found


@pytest.fixture
def files(run):
    """A database of families, and queries of many lengths."""
    assert run("synth", "60k", "--seed", "3", "-o", "s.fa").code == 0
    assert run("synth", "60k", "--seed", "3", "--queries", "6", "-o", "r.fa").code == 0
    assert run("makedb", "s.fa", "s.db").code == 0
    return "r.fa", "s.db"


@pytest.mark.sample(1)
@pytest.mark.case(number=19)
@pytest.mark.case(number=20)
@pytest.mark.parametrize("options", [(), ("--stats", "fit"), ("-k", "3", "-e", "1e-5")])
def test_proteins_are_found_on_gpus_as_on_the_cpu(run, cards, files, options):
    """All scores for a fit, the best of them otherwise, with alignments."""
    arguments = ("search", *files, "-f", "7 std", "--threads", "2", *options)
    expected = run(*arguments, "--device", "cpu")
    assert expected.code == 0, expected.err
    for device in DEVICES:
        outcome = run(*arguments, "--device", device)
        assert outcome.code == 0, outcome.err
        assert outcome.out == expected.out
    assert all(card.launches for card in cards)


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [(), ("--comp-based-stats", "0", "-e", "1e-3"), ("-k", "2")])
def test_bounds_on_gpus_change_no_byte(run, monkeypatch, cards, files, options):
    """However small the database is; what they leave is told."""
    monkeypatch.setattr(_cuda_launch, "BOUND_WAVES", 0)
    arguments = ("search", *files, "-f", "7 std", "--threads", "2", *options)
    expected = run(*arguments, "--device", "cpu")
    for device in DEVICES:
        outcome = run(*arguments, "--device", device, "-v", "-v")
        assert (outcome.code, outcome.out) == (0, expected.out)
        assert "of the cells were scored exactly" in outcome.err
    names = {name.partition("<")[0] for card in cards for name, _ in card.launches}
    assert "bound_s16" in names
    monkeypatch.setenv("SWDUAL_BOUNDS", "0")
    for card in cards:
        card.launches.clear()
    assert run(*arguments, "--device", "cuda").out == expected.out
    assert not any(name.startswith("bound") for card in cards for name, _ in card.launches)


@pytest.mark.parametrize("task", ["blastx", "tblastn"])
def test_frames_are_found_on_gpus_as_on_the_cpu(run, here, cards, task):
    """The six frames of a query, and those of targets."""
    proteins = random_proteins(7, 8)
    for name, records in (("p.fa", proteins), ("g.fa", random_genes(8, proteins))):
        (here / name).write_text("".join(f">{k}\n{x}\n" for k, x in records.items()))
    files = ("g.fa", "p.fa", "--dbtype", "prot")
    if task == "tblastn":
        files = ("p.fa", "g.fa", "--dbtype", "nucl")
    arguments = ("search", *files, "--task", task, "-e", "1e6", "-f", "6 std frames")
    expected = run(*arguments, "--device", "cpu")
    assert expected.out.count("\n") > 20
    for device in DEVICES:
        assert run(*arguments, "--device", device, "--threads", "2").out == expected.out
    assert all(card.launches for card in cards)


@pytest.fixture
def rounds(run, files):
    """The output of rounds on the CPU, and the profiles of its hits, in files p.NUMBER.1."""
    return run("iterate", *files, *ROUNDS, "--device", "cpu", "--save-each-pssm", "--out-pssm", "p")


@pytest.mark.case(number=19)
def test_rounds_on_gpus_are_those_of_the_cpu(run, cards, files, rounds):
    """Queries first, then their profiles, two of which are scored together."""
    assert rounds.code == 0, rounds.err
    assert "# Iteration: 2" in rounds.out
    for device in DEVICES:
        outcome = run("iterate", *files, *ROUNDS, "--device", device)
        assert outcome.code == 0, outcome.err
        assert outcome.out == rounds.out
    assert all(card.profiles for card in cards), [card.profiles for card in cards]
    assert any(card.profiles["q2_s16"] for card in cards), [card.launches for card in cards]


@pytest.mark.case(number=19)
@pytest.mark.parametrize("options", [(), ("--stats", "fit"), ("--verify", "5", "--threads", "2")])
def test_a_profile_is_searched_on_gpus_as_on_the_cpu(run, cards, files, rounds, options):
    """All scores for a fit, the best of them otherwise; some compared with the definition."""
    for number in (1, 4):
        arguments = "search", "--pssm", f"p.{number}.1", files[1], "-f", "7 std", *options
        expected = run(*arguments, "--device", "cpu")
        assert expected.code == 0, expected.err
        for device in DEVICES:
            outcome = run(*arguments, "--device", device)
            assert (outcome.code, outcome.out) == (0, expected.out), outcome.err
    assert all(card.profiles["s2_s16"] for card in cards)


@pytest.mark.case(number=19)
def test_the_true_kernels_find_what_the_cpu_finds(run, cards, files, rounds, monkeypatch):
    """A profile of a file, with the kernels that the emulator runs."""
    emulator.need()
    monkeypatch.setattr(StandIn, "search", Emulated.search)
    monkeypatch.setattr(StandIn, "gather", Emulated.gather)
    assert run("synth", "8k", "--seed", "3", "-o", "few.fa").code == 0
    arguments = "search", "--pssm", "p.2.1", "few.fa", "-f", "7 std", "-e", "1e9"
    expected = run(*arguments, "--device", "cpu")
    assert expected.code == 0, expected.err
    assert run(*arguments, "--device", "cuda").out == expected.out
    assert cards[0].profiles


@pytest.mark.parametrize("options", [(), ("--stats", "fit")])
def test_profiles_in_batches_over_many_blocks_are_those_of_the_cpu(
    run, cards, files, monkeypatch, options
):
    """Two profiles in a batch, and a card too small for the database."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 1 << 13)
    assert run("makedb", "s.fa", "blocks.db").code == 0
    arguments = "iterate", files[0], "blocks.db", *ROUNDS, *options
    expected = run(*arguments, "--device", "cpu")
    assert expected.code == 0, expected.err
    monkeypatch.setattr(setup, "MAX_BATCH_QUERIES", 2)
    monkeypatch.setattr(setup, "MAX_FITTED_QUERIES", 2)
    for device in DEVICES:
        outcome = run(*arguments, "--device", device, "--gpu-memory-limit", "5M")
        assert (outcome.code, outcome.out) == (0, expected.out), outcome.err
        assert all(card.used == 0 for card in cards)
    assert all(card.profiles for card in cards)
    assert max(card.peak for card in cards) <= 5 << 20


def test_a_card_that_holds_all_blocks_completes_queries_two_by_two(
    run, here, cards, files, monkeypatch
):
    """Nothing is copied twice for that."""
    shelves, begin = [], Shelf.__init__

    def note(shelf, *given):
        begin(shelf, *given)
        shelves.append(shelf)

    monkeypatch.setattr(Shelf, "__init__", note)
    monkeypatch.setattr(build, "BLOCK_BYTES", 1 << 14)
    assert run("makedb", files[1].replace(".db", ".fa"), "blocks.db").code == 0
    search = ("search", files[0], "blocks.db", "-f", "6 std", "--comp-based-stats", "0")
    outcome = run(*search, "--device", "cuda:0", "--trace", "trace.json")
    assert (outcome.code, outcome.out) == (0, run(*search, "--device", "cpu").out), outcome.err
    (shelf,) = shelves
    assert shelf.is_resident
    assert set(shelf.uploaded.values()) == {1}
    events = json.loads((here / "trace.json").read_text())["traceEvents"]
    spans = [(x["ts"], x["args"]["query"]) for x in events if x.get("cat") == "score"]
    order = [query for _, query in sorted(spans)]
    blocks = len(order) // 6
    assert blocks > 2
    pairs = [order[k : k + 2 * blocks] for k in range(0, len(order), 2 * blocks)]
    assert [len(set(pair)) for pair in pairs] == [2, 2, 2]


def test_auto_takes_gpus_for_profiles_too(run, cards, files, rounds, monkeypatch):
    monkeypatch.setattr("swdual.master.setup.GPU_CELLS", 0)
    assert run("search", "--pssm", "p.1.1", files[1]).code == 0
    assert any(card.profiles for card in cards)


def test_both_strands_of_nucleotides_are_compared_on_gpus(run, cards, here):
    """They are a pair of queries of the same length."""
    (here / "n.fa").write_text(
        ">t1\nACGTTGCAACGGTACGATCGAT\n>t2\nATCGATCGTACCGTTGCAACGT\n>t3\nAAAA\n"
    )
    arguments = ("search", "n.fa", "n.fa", "--dbtype", "nucl", "--stats", "none", "-f", "6 std")
    expected = run(*arguments, "--device", "cpu")
    assert expected.code == 0, expected.err
    assert run(*arguments, "--device", "cuda:0").out == expected.out
    assert any("q2_s16" in launch[0] for launch in cards[0].launches)


@pytest.mark.case(number=25)
def test_the_limit_reaches_the_card(run, cards, files):
    """What the command line allows is all that is used."""
    arguments = ("search", *files, "--device", "cuda:0", "--gpu-memory-limit", "8M")
    assert run(*arguments).code == 0
    assert 0 < cards[0].peak <= 8 << 20


@pytest.mark.case(number=23)
def test_a_card_without_memory_is_done_without_in_a_hybrid(run, cards, files):
    """With a warning; where nothing else was allowed, the search ends with exit code 4."""
    for card in cards:
        card.taken = card.total
    arguments = ("search", *files, "-f", "6 std", "--threads", "3")
    expected = run(*arguments, "--device", "cpu")
    outcome = run(*arguments, "--device", "hybrid")
    assert outcome.code == 0, outcome.err
    assert outcome.out == expected.out
    assert outcome.err.count("warning: stand-in has too little memory") in (1, 2)
    refused = run(*arguments, "--device", "cuda", "-o", "hits.tsv")
    assert refused.code == 4
    last = refused.err.splitlines()[-1]
    assert last.startswith("swdual: error: stand-in has too little memory (")
    assert last.endswith("free some, raise --gpu-memory-limit, or use --device cpu")


@pytest.mark.case(number=23)
@pytest.mark.parametrize("device", ["cuda:0", "hybrid"])
def test_a_card_that_is_lost_ends_the_search(refuses, run, cards, files, device):
    """Exit code 3; card, cause and remedy: what it computed before may be wrong as well."""
    arguments = ("search", *files, "-f", "6 std", "--threads", "3", "--device", device)
    assert run(*arguments).code == 0
    cards[0].failing_operation = cards[0].operations * 3 // 2
    words = ["swdual: error: stand-in failed: an illegal memory access", "use --device cpu"]
    outcome = refuses(3, words, *arguments)
    assert outcome.err.count("\n") == 1


def test_auto_takes_gpus_for_large_searches_only(run, cards, files, monkeypatch):
    """A small search is done before a GPU has started; the bytes are the same."""
    small = run("search", *files)
    assert small.code == 0, small.err
    assert not any(card.launches for card in cards)
    monkeypatch.setattr("swdual.master.setup.GPU_CELLS", 0)
    assert run("search", *files).out == small.out
    assert all(card.launches for card in cards)


def test_gpus_of_one_model_are_calibrated_once(run, cards, files, monkeypatch, tmp_path):
    """Not again with another limit of their memory, nor alone; another model is."""
    calibrated = []

    def calibrate(*_):
        calibrated.append(1)
        return CostModel.from_dict({"gcups": 1})

    monkeypatch.setattr(calibration_cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(worker, "calibrate", calibrate)
    monkeypatch.setattr(setup, "SMALL_CELLS", 0)
    monkeypatch.setattr(cuda, "find_model", lambda number: "stand-in")
    search = ("search", *files, "-f", "6 std", "--comp-based-stats", "0", "--threads", "2")
    assert run(*search, "--device", "cuda").code == 0
    assert len(calibrated) == 1
    assert run(*search, "--device", "cuda", "--gpu-memory-limit", "8M").code == 0
    assert len(calibrated) == 1
    (rates,) = json.loads((tmp_path / "rates.json").read_text()).values()
    assert [*rates] == ["cuda stand-in among 2 cuda stand-in with bounds"]
    monkeypatch.setattr(cuda, "find_model", lambda number: f"stand-in {number}")
    assert run(*search, "--device", "cuda").code == 0
    assert len(calibrated) == 3


def test_gpus_are_started_side_by_side(run, cards, files, monkeypatch):
    """Each waits until the other has been begun with."""
    together, bind = threading.Barrier(2, timeout=120), cuda.bind

    def wait(database, scheme, number=0, memory_limit=None):
        together.wait()
        return bind(database, scheme, number, memory_limit)

    monkeypatch.setattr(cuda, "bind", wait)
    arguments = ("search", *files, "-f", "6 std", "--comp-based-stats", "0", "--threads", "2")
    outcome = run(*arguments, "--device", "cuda")
    assert (outcome.code, outcome.out) == (0, run(*arguments, "--device", "cpu").out)
    assert all(card.launches for card in cards)
