"""Searches with profiles: what a profile of a matrix's own scores finds, the matrix finds too."""

from __future__ import annotations

import io
import json
import pickle
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from oracles.smith_waterman import local_score_gotoh
from support.formats import TEXT, UNALIGNED

from swdual.api import iter_search, prepare_search, search
from swdual.database.database import Database
from swdual.errors import InputError, OutputError
from swdual.format import parse_format
from swdual.formats._arrow import metadata
from swdual.io.output import Output
from swdual.master.checkpoint import Checkpoint
from swdual.profiles import Profile
from swdual.request.options import SearchOptions
from swdual.sequences import matrices
from swdual.sequences.alphabet import CODES, PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, batch_of
from swdual.statistics.karlin_altschul import KarlinAltschul
from swdual.statistics.parameters import gapped

DATA = Path(__file__).parents[2] / "data"
BLOSUM62 = matrices.load("BLOSUM62")
PLAIN = {"comp_based_stats": 0}

OPTIONS = {
    "usual": {},
    "all hits": {"max_target_seqs": 0, "evalue": 1e6},
    "top": {"top": 85, "evalue": 1e6},
    "identity": {"min_identity": 22, "min_query_cover": 20, "evalue": 1e6},
    "fit": {"stats": "fit", "max_target_seqs": 20},
    "none": {"stats": "none", "max_target_seqs": 20},
    "gaps": {"gap_open": 9, "gap_extend": 2},
    "hard mask": {"db_hard_mask": "tantan:0.01", "evalue": 1e3},
    "soft mask": {"db_soft_mask": "tantan:0.01", "evalue": 1e3},
    "late": {"align": False},
    "verified": {"verify": 2},
    "reference": {"backend": "reference"},
}


def profile_of(query, scores=None, scheme=None):
    """Return a profile with the matrix's scores for a query, or others, and its statistics."""
    scheme = scheme or ScoringScheme(BLOSUM62)
    parameters = gapped(scheme)
    if scores is None:
        scores = scheme.matrix.scores[np.frombuffer(query.codes, np.uint8)]
    return Profile(
        query.title,
        query.codes,
        scores,
        None,
        None,
        KarlinAltschul(parameters.lambda_, parameters.K, parameters.H),
        parameters.ungapped,
        gap_open=scheme.gap_open,
        gap_extend=scheme.gap_extend,
    )


@pytest.fixture(scope="module")
def queries():
    """Two queries, of 105 and of 395 residues."""
    found = list(read_sequences(DATA / "queries.fasta"))
    return [found[0], found[2]]


@pytest.fixture(scope="module")
def database(queries):
    """400 proteins, among them some that are related to the queries."""
    proteins = list(read_sequences(DATA / "proteins.fasta"))
    relatives = search(queries, proteins, max_target_seqs=20, align=False, **PLAIN)
    chosen = {hit.ordinal for result in relatives for hit in result}
    batch = batch_of(proteins[k] for k in sorted(chosen | set(range(380))))
    return Database.from_batches([batch], PROTEIN, "test")


def drawn(seed, length):
    """Return a profile whose scores have nothing to do with its letters, all of them A."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-7, 5, (length, CODES))
    return profile_of(Sequence(f"drawn{seed}", bytes(length)), scores)


def rows(results):
    """Return everything that is known of each hit."""
    return [
        (hit.query.id, hit.id, hit.score, hit.bits, hit.evalue, hit.alignment.btop)
        for result in results
        for hit in result
    ]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_profile_of_the_matrix_finds_what_the_matrix_finds(queries, database, options):
    """Scores, order, bits, E-values and alignments, whatever the options."""
    penalties = {name: options[name] for name in ("gap_open", "gap_extend") if name in options}
    scheme = ScoringScheme(BLOSUM62, **penalties)
    profiles = [profile_of(query, scheme=scheme) for query in queries]
    if "reference" in options.values():
        database = Database.from_batches([batch_of(list(database)[:8])], PROTEIN, "few")
        profiles, queries = profiles[:1], queries[:1]
        options = {**options, "evalue": 1e6}
    plain = rows(search(queries, database, **options, **PLAIN))
    assert len(plain) >= 5
    assert repr(rows(search(profiles, database, **options))) == repr(plain)


@pytest.mark.parametrize("name", [name for name in TEXT if name not in UNALIGNED])
def test_every_format_shows_a_profile_as_it_shows_a_query(queries, database, name):
    """The bytes are those of a search with the letters."""
    plain = search(queries, database, **PLAIN)
    found = search([*map(profile_of, queries)], database)
    format_, fields = parse_format(name)
    written = [io.BytesIO(), io.BytesIO()]
    for results, stream in zip((plain, found), written, strict=True):
        format_.write(list(results), Output(stream, "x"), fields, header=False)
    assert written[0].getvalue() == written[1].getvalue()
    assert len(found[0]) > 3


def test_scores_are_those_of_the_positions(database):
    """Letters of the query do not matter: all are A."""
    profile = drawn(1, 60)
    result = search(profile, database, max_target_seqs=0, evalue=1e9)[0]
    found = dict(zip(result.ordinals.tolist(), result.scores.tolist(), strict=True))
    for ordinal in (*range(0, len(database), 37), result[0].ordinal):
        codes = list(database[ordinal].codes)
        expected = local_score_gotoh(range(60), codes, profile.scores, 11, 1)
        assert found.get(ordinal, 0) == expected
    assert len(found) > 300


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 3},
        {"planner": "self_scheduling"},
        {"planner": "minmin", "threads": 2},
    ],
    ids=str,
)
def test_the_way_that_the_work_is_cut_does_not_matter(database, options):
    profiles = [drawn(seed, 50 + seed) for seed in range(3)]
    asked = {"evalue": 1e6, "max_target_seqs": 30}
    expected = rows(search(profiles, database, **asked))
    assert rows(search(profiles, database, **asked, **options)) == expected
    alone = (rows(search(profile, database, **asked)) for profile in profiles)
    assert [*chain.from_iterable(alone)] == expected


def test_k_of_a_profile_scales_its_e_values(queries, database):
    """Twice the K is twice the E-value; with other gap penalties K without gaps decides."""
    profile = profile_of(queries[1])
    gapless, with_gaps = profile.ungapped, profile.gapped
    doubled = replace(
        profile,
        gapped=replace(with_gaps, K=2 * with_gaps.K),
        ungapped=replace(gapless, K=2 * gapless.K),
    )
    for options in ({}, {"gap_open": 9, "gap_extend": 2}):
        one, two = (search(each, database, **options)[0] for each in (profile, doubled))
        same = np.isin(one.ordinals, two.ordinals)
        assert one.scores[same].tolist() == two.scores.tolist()
        assert two.evalues == pytest.approx(2 * one.evalues[same])
        assert two.bits == pytest.approx(one.bits[same] - 1)
        assert two.statistics.facts()["ungapped K"] == 2 * gapless.K


def test_facts_of_all_queries_leave_out_what_is_a_profiles_own(queries, database):
    """K is that of each query; what a table says of all is the same for all."""
    facts = {"method": "table", "residues": database.residues, "sequences": len(database)}
    run = prepare_search(profile_of(queries[0]), database, SearchOptions())
    results = list(run.results())
    assert run.facts() == facts
    assert json.loads(metadata(results[0])["swdual.statistics"]) == facts


def test_an_interrupted_search_goes_on(database, tmp_path, monkeypatch):
    """Tasks that are done come from the journal."""
    profiles = [drawn(seed, 40) for seed in range(4)]
    options = {"evalue": 1e6, "journal": tmp_path / "journal", "threads": 1}
    keep, kept = Checkpoint.keep, []

    def stop(self, record):
        keep(self, record)
        kept.append(record)
        if len(kept) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", stop)
        with pytest.raises(KeyboardInterrupt):
            search(profiles, database, **options)
    with pytest.raises(OutputError, match="queries"):
        search([drawn(9, 40), *profiles[1:]], database, resume=True, **options)
    monkeypatch.setattr(Checkpoint, "keep", lambda self, record: kept.append(record))
    found = rows(search(profiles, database, resume=True, **options))
    assert found == rows(search(profiles, database, evalue=1e6))
    assert len({*kept}) == len(kept) >= 4


def test_verification_uses_the_positions(database):
    """The letters would score otherwise: a search that compared them would end."""
    found = rows(search(drawn(2, 30), database, verify=3, evalue=1e6))
    assert found == rows(search(drawn(2, 30), database, evalue=1e6))


REFUSED = {
    "composition": ({"comp_based_stats": 2}, "no frequencies.*`comp_based_stats=0`"),
    "mask": ({"mask": "seg"}, "`mask` masks"),
    "lower case": ({"lcase_masking": True}, "`lcase_masking` masks"),
    "strand": ({"strand": "both"}, "for nucleotides"),
    "code of queries": ({"query_gencode": 11}, "`query_gencode=11` translates nucleotides, but p"),
    "code of targets": ({"db_gencode": 1}, "`db_gencode=1` translates nucleotides"),
    "task": ({"task": "blastx"}, "`task='blastx'` translates nucleotides"),
    "frameshifts": ({"frameshift": 15}, "`frameshift=15` is for translated nucleotides"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_options_that_a_profile_does_not_have_are_refused(database, options, message):
    with pytest.raises(InputError, match=message):
        search(drawn(1, 20), database, **options)


def test_profiles_are_searched_by_themselves(database, queries):
    profile = drawn(1, 20)
    with pytest.raises(InputError, match="profiles and sequences"):
        search([profile, queries[0]], database)
    with pytest.raises(InputError, match="BLOSUM62 and BLOSUM45"):
        search([profile, replace(profile, matrix="BLOSUM45")], database)
    with pytest.raises(InputError, match="holds nucleotides"):
        search(profile, {"gene": "ACGTACGTACGTACGT"}, dbtype="nucl")


def test_the_matrix_is_that_of_the_profile_unless_another_is_named(database):
    """It decides about positives and about parameters of statistics."""
    profile = replace(drawn(1, 40), matrix="BLOSUM45", gap_open=14, gap_extend=2)
    result = search(profile, database, evalue=1e6)[0]
    assert result.params.scheme.matrix.name == "BLOSUM45"
    other = search(profile, database, matrix="BLOSUM62", evalue=1e6)[0]
    assert other.params.scheme.matrix.name == "BLOSUM62"


def test_results_come_one_by_one(database):
    found = list(iter_search([drawn(1, 30), drawn(2, 40)], database, evalue=1e6))
    assert [len(result.query) for result in found] == [30, 40]


def test_results_are_equal_where_profiles_are(database):
    """Also after they were pickled."""
    found = search(drawn(1, 40), database, evalue=1e6)
    assert pickle.loads(pickle.dumps(found)) == found
    assert search(drawn(1, 40), database, evalue=1e6) == found
    other = replace(drawn(1, 40), gap_open=10)
    assert drawn(1, 40) == drawn(1, 40) != other
    known = replace(drawn(1, 40), observations=np.ones(40))
    assert drawn(1, 40) != known
    assert known != drawn(1, 40)
    assert hash(drawn(1, 40)) == hash(other)
