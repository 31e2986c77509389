"""What composition-based statistics add to a plan: candidates, and the time to adjust them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.profile_tables import by_case, make_profile, sequences

import swdual
from swdual.errors import InputError
from swdual.prediction.adjustment import (
    CANDIDATE_RATIO,
    count_candidates,
    forecast_adjustment,
    measure_adjustment,
    sample_targets,
)
from swdual.prediction.preview import Preview
from swdual.request.options import SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.records import as_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.karlin_altschul import background

DATA = Path(__file__).parents[2] / "data"
RATES = {"cpu": 45, "gpu": 1500}


@dataclass
class Described:
    """The number of a database's targets, and their residues."""

    count: int
    residues: int

    def __len__(self):
        return self.count


LARGE = Described(20_000, 8_000_000)


def params(**options):
    scheme = ScoringScheme(load("BLOSUM62"), 11, 1)
    return SearchParameters(scheme, **{"comp_based_stats": 2, **options})


def query(text):
    return next(as_sequences({"q": text}, PROTEIN, unnamed="q"))


def proteins(count, length, seed):
    """Return random proteins of the usual composition."""
    rng = np.random.default_rng(seed)
    shares = background(PROTEIN)[:20]
    letters = np.array([*PROTEIN.letters[:20]])
    return {f"p{k}": "".join(rng.choice(letters, length, p=shares)) for k in range(count)}


@pytest.fixture(scope="module")
def plain():
    return query(proteins(1, 300, 1)["p0"])


def count(query, database=LARGE, **options):
    """Return the candidates in a database of the usual composition."""
    return count_candidates(query, sample_targets(database), database, params(**options))


def test_chance_gives_a_plain_query_what_its_e_value_says(plain):
    """Ten times the limit, or 1, and more for parts; a random query is a little off the usual."""
    for evalue, first in ((0.001, 1.0), (1.0, 10.0), (10.0, 100.0)):
        assert 1 <= count(plain, evalue=evalue) / (CANDIDATE_RATIO * first) <= 2.5


def test_a_biased_query_has_more_candidates(plain):
    """And never more than there are targets, or than a query may have."""
    biased = query("MQQQKQEQPQQQHQQAQQSQNQQLQQEQQ" * 10)
    assert count(plain) < count(biased) <= 10_000
    assert count(biased, Described(50, 20_000), evalue=1e9) == 50


def test_targets_of_the_same_bias_make_more_candidates(plain):
    """The compositions of both count."""
    biased = query("MQQQKQEQPQQQHQQAQQSQNQQLQQEQQ" * 10)
    alike = count_candidates(biased, [biased.codes], LARGE, params())
    assert 2 * count(biased) < alike


def test_all_targets_are_adjusted_if_asked_for(plain):
    """Whatever their E-values; and no fewer for a small limit than for 0.1."""
    assert count(plain, adjust="all") == count(plain, evalue=math.inf) == 20_000
    assert count(plain, evalue=0.0) == count(plain, evalue=0.1) > 0


def test_without_adjustment_nothing_is_added(plain):
    """Nor without queries."""
    none = forecast_adjustment([plain], LARGE, params(comp_based_stats=0))
    assert none == forecast_adjustment([], LARGE, params())
    assert (none.candidates, none.seconds) == (0, 0.0)


def test_many_queries_are_counted_by_some(plain):
    """All of them are alike here."""
    one = forecast_adjustment([plain], LARGE, params()).candidates
    many = forecast_adjustment([plain] * 1000, LARGE, params()).candidates
    assert many == pytest.approx(1000 * one, rel=0.01)


def test_a_candidate_takes_time_of_its_own_and_for_its_cells():
    """Both are measured; a longer query has more cells."""
    candidate, cell = measure_adjustment(params())
    assert 0 <= candidate < 1
    assert 0 <= cell < 1e-6
    assert candidate + cell > 0


def test_candidates_are_predicted_within_a_factor():
    """Random proteins have fewer than real ones, for which the model is made."""
    queries, targets = DATA / "queries.fasta", DATA / "proteins.fasta"
    results = swdual.search(queries, targets, comp_based_stats=2, align=False)
    preview = Preview(queries, targets, 1, 0, RATES, SearchOptions(comp_based_stats=2))
    ratio = results.adjustment_counts.candidates / preview.adjustment.candidates
    assert 1 / 3 < ratio < 3


def test_a_plan_has_the_forecast(monkeypatch):
    """Per worker; of GPUs alone, per thread of this machine, as their search would have them."""
    queries, targets = proteins(3, 200, 4), proteins(400, 100, 5)
    options = SearchOptions(comp_based_stats=3, evalue=5.0)
    preview = Preview(queries, targets, 2, 1, RATES, options)
    assert preview.adjustment.candidates > 0
    assert preview.adjusting_seconds == pytest.approx(preview.adjustment.seconds / 3)
    for count, threads in ((1, 3), (4, 4), (16, 16)):
        monkeypatch.setattr("swdual.prediction.preview.available_threads", lambda n=count: n)
        alone = Preview(queries, targets, 0, 2, RATES, options)
        assert alone.adjusting_seconds == pytest.approx(alone.adjustment.seconds / threads)
    plain = Preview(queries, targets, 2, 1, RATES, SearchOptions(comp_based_stats=0))
    assert plain.adjustment.candidates == plain.adjusting_seconds == 0
    assert plain.plan("dual").makespan == preview.plan("dual").makespan


def test_nucleotides_are_not_adjusted():
    """The message is the search's."""
    options = SearchOptions(comp_based_stats=1, dbtype="nucl")
    with pytest.raises(InputError, match="comp_based_stats=1"):
        Preview({"q": "ACGT" * 9}, {"t": "ACGT" * 9}, 1, 0, RATES, options)


def test_the_command_shows_it(run):
    """As a line, and as JSON."""
    words = ("plan", "q.fa", "t.fa", "--cpus", "2", "--gpus", "0", "--rates", json.dumps(RATES))
    shown = run(*words, "--comp-based-stats", "2")
    assert shown.code == 0
    assert "adjusting about " in shown.out
    facts = json.loads(run(*words, "--comp-based-stats", "2", "--json").out)["adjustment"]
    assert facts["seconds"] == pytest.approx(facts["cpu_seconds"] / 2)
    assert "adjust" not in run(*words, "--comp-based-stats", "0").out


@pytest.mark.parametrize(
    "words",
    [["-seg", "no"], ["-seg", "yes"], ["--mask", "seg"], ["-lcase_masking"], ["-evalue", "1"]],
    ids=" ".join,
)
def test_plan_takes_the_options_of_a_search(run, words):
    """So a command line needs no change but the first word."""
    command = ("q.fa", "t.fa", "--cpus", "1", "--gpus", "0", "--rates", json.dumps(RATES))
    assert run("plan", *command, *words).code == 0


def test_a_mask_that_is_none_is_refused(run):
    """With the option that was written."""
    outcome = run("plan", "q.fa", "t.fa", "--mask", "sag")
    assert outcome.code == 1
    assert "sag" in outcome.err


def test_candidates_of_profiles_are_predicted_from_their_scores():
    """As well as those of queries of unusual composition: 3 times too many here."""
    cases = [case for case, number in by_case("profile_scores.tsv.gz") if number == "1"]
    profiles = [make_profile(case, "1") for case in cases if case.isalpha()]
    targets = sequences("targets")
    found = swdual.search(profiles, targets).adjustment_counts.candidates
    predicted = Preview(profiles, targets, 1, 0, RATES).adjustment.candidates
    assert len(profiles) > 10
    assert 0.5 < predicted / found < 4
    letters = {f"q{k}": PROTEIN.decode(profile.codes) for k, profile in enumerate(profiles)}
    assert predicted != Preview(letters, targets, 1, 0, RATES).adjustment.candidates
