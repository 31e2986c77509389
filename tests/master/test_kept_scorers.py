"""Scorers that stay between searches: the targets stay on the card, and scores are the same."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from swdual.backend import Device
from swdual.database.database import Database
from swdual.master import worker
from swdual.master.calibration_cache import CalibrationCache
from swdual.master.cost import CostModel, Seen
from swdual.master.kept_scorers import KeptScorers
from swdual.master.search import Search
from swdual.master.threads import ThreadExecutor
from swdual.request.comparison import PLAIN
from swdual.request.comparisons.frameshifted import Frameshifted
from swdual.request.options import SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of

CARD = Device("gpu", "simd")


@pytest.fixture
def database():
    records = [Sequence(f"t{k}", PROTEIN.encode("MKVLAWGGHER"[k:] * 3)) for k in range(5)]
    return Database.from_batches([batch_of(records)], PROTEIN, "targets")


@pytest.fixture
def bound(monkeypatch):
    """Count the scorers that are bound and released; those of the "card" are CPU scorers."""
    events = []
    bind = worker.bind

    class Releasing:
        def __init__(self, scorer):
            self.scorer, self.width, self.memory = scorer, scorer.width, scorer.memory

        def __call__(self, *task):
            return self.scorer(*task)

        def release(self):
            events.append("release")

    def counting(device, database, scheme):
        events.append(f"bind {device.kind}")
        scorer = bind(device, database, scheme)
        return Releasing(scorer) if device.kind == "gpu" else scorer

    monkeypatch.setattr("swdual.master.kept_scorers.bind", counting)
    return events


def find(database, kept, **options):
    chosen = SearchOptions(device=[CARD], evalue=1e9, comp_based_stats=0, **options)
    run = Search("MKVLAWGGHER", database, chosen, ThreadExecutor(kept_scorers=kept))
    (result,) = run.results()
    return np.asarray(result.scores).tolist()


def test_the_next_search_of_the_same_kind_uses_the_scorer_again(database, bound):
    kept = KeptScorers()
    first = find(database, kept)
    assert find(database, kept) == first
    assert bound == ["bind gpu"]
    kept.drop()
    assert bound == ["bind gpu", "release"]


def test_another_scheme_or_database_takes_the_place_on_the_card(database, bound):
    kept = KeptScorers()
    first = find(database, kept)
    assert find(database, kept, matrix="PAM30") != first
    masked = database.masked("seg")
    find(masked, kept)
    find(masked, kept)
    assert bound == ["bind gpu", "release", "bind gpu", "release", "bind gpu"]


def test_several_cards_start_side_by_side(database, monkeypatch):
    both = threading.Barrier(2)

    def bind(device, database, scheme):
        both.wait(60)
        return device.name

    monkeypatch.setattr("swdual.master.kept_scorers.bind", bind)
    kept, scheme = KeptScorers(), ScoringScheme(load("BLOSUM62"))
    cards = [Device("gpu", "cuda", {"number": number}) for number in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(kept.bind, card, database, scheme) for card in cards]
        assert [each.result() for each in found] == [card.name for card in cards]


def test_scorers_of_cpus_are_not_kept(database, bound):
    kept = KeptScorers()
    scheme = Search("MKV", database, SearchOptions(comp_based_stats=0)).params.scheme
    one, other = (kept.bind(Device(), database, scheme) for _ in range(2))
    assert one is not other


def test_a_worker_that_failed_begins_anew(database, bound, monkeypatch):
    kept = KeptScorers()
    chosen = SearchOptions(device=[CARD], comp_based_stats=0)
    executor = ThreadExecutor(kept_scorers=kept)
    run = Search("MKVLAWGGHER", database, chosen, executor)
    run.prepare()
    run._context.run.failed_workers.add(0)
    executor.close()
    assert bound == ["bind gpu", "release"]


def test_a_thread_that_only_aligned_and_failed_frees_no_card(database, bound):
    """Its number is behind those of the workers that score."""
    kept = KeptScorers()
    chosen = SearchOptions(device=[CARD], comp_based_stats=0)
    executor = ThreadExecutor(kept_scorers=kept)
    run = Search("MKVLAWGGHER", database, chosen, executor)
    run.prepare()
    run._context.run.failed_workers.add(1)
    executor.close()
    assert bound == ["bind gpu"]


def test_rates_are_written_at_the_end_though_they_were_just_before(tmp_path, monkeypatch):
    monkeypatch.setattr("swdual.master.calibration_cache.cache_folder", lambda: tmp_path)
    kept = KeptScorers()
    rates = kept.find_rates(SearchParameters(ScoringScheme(load("BLOSUM62")), stats="fit"))
    known = rates.find("simd", "1 simd", lambda: CostModel.from_dict({"gcups": 10}))
    known.seen.append(Seen(4, 1.5))
    rates.keep("simd", "1 simd", known)
    rates.save()
    assert CalibrationCache().find("simd", "1 simd", None).seen == []
    kept.close()
    assert CalibrationCache().find("simd", "1 simd", None).seen == [Seen(4, 1.5)]


def test_rates_are_kept_apart_by_setting_and_read_once(database, bound, monkeypatch):
    read = []

    def count(cache):
        read.append(cache)

    monkeypatch.setattr(CalibrationCache, "_read", count)
    kept = KeptScorers()
    plain, shifting, other = (
        SearchParameters(ScoringScheme(load(name)), comparison=comparison)
        for name, comparison in (
            ("BLOSUM62", PLAIN),
            ("BLOSUM62", Frameshifted(1, frameshift=15)),
            ("PAM30", PLAIN),
        )
    )
    assert kept.find_rates(plain) is kept.find_rates(other)
    assert kept.find_rates(plain) is not kept.find_rates(shifting)
    assert kept.find_rates(plain) is not kept.find_rates(replace(plain, stats="fit"))
    assert len(read) == 3
