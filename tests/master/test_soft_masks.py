"""Soft masks of queries, and masks of targets: what the definition says, however a search runs."""

from __future__ import annotations

import json
import pickle
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from oracles.alignment import gapped, statistics_of
from oracles.masking import dust_runs, linked, seg_segments, union
from oracles.statistics import finite_size_evalue
from oracles.two_passes import Letters, find_hits, masked_letters
from support.low_complexity import AMINO_ACIDS, BASES, biased_sequence
from support.traced import oracle, score_in

import swdual
from swdual.backend import Device
from swdual.errors import InputError

FIGURES = json.loads((Path(__file__).parents[1] / "golden" / "blosum62.json").read_text())
"""NCBI's figures of BLOSUM62."""

SEG = (12, 2.2, 2.5)
EVALUE = 0.01


def proteins():
    """Return queries with low complexity, and targets: relatives and other biased proteins."""
    draw = random.Random(5)
    queries, targets = {}, {}
    for number in range(5):
        low = draw.choice(AMINO_ACIDS) * draw.randint(15, 40)
        parts = [biased_sequence(draw, AMINO_ACIDS, 40) for _ in range(2)]
        queries[f"q{number}"] = parts[0] + low + parts[1]
        for kept in (0.9, 0.6, 0.45):
            text = "".join(
                x if draw.random() < kept else draw.choice(AMINO_ACIDS)
                for x in queries[f"q{number}"]
            )
            targets[f"t{len(targets)}"] = text
        targets[f"t{len(targets)}"] = draw.choice(AMINO_ACIDS) * 10 + low + parts[1][:12]
        targets[f"t{len(targets)}"] = biased_sequence(draw, AMINO_ACIDS, 80)
    return queries, targets


def nucleotides():
    """Likewise; some relatives are on the other strand."""
    draw = random.Random(6)
    queries, targets = {}, {}
    other = str.maketrans("ACGT", "TGCA")
    for number in range(5):
        low = "".join(draw.choices("AC", k=2)) * draw.randint(10, 25)
        parts = ["".join(draw.choices(BASES, k=45)) for _ in range(2)]
        queries[f"q{number}"] = parts[0] + low + parts[1]
        for kept in (0.95, 0.85):
            text = "".join(
                x if draw.random() < kept else draw.choice(BASES) for x in queries[f"q{number}"]
            )
            turned = text[::-1].translate(other)
            targets[f"t{len(targets)}"] = text if draw.random() < 0.5 else turned
        targets[f"t{len(targets)}"] = low * 2
        targets[f"t{len(targets)}"] = (parts[0][:18] + low * 2)[::-1].translate(other)
    return queries, targets


@cache
def seg(text):
    return union(seg_segments(text, *SEG))


@cache
def dust(text):
    return linked(dust_runs(text, 20, 64), 1)


KINDS = {"prot": (proteins, seg, "seg", "X"), "nucl": (nucleotides, dust, "dust", "N")}


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """The type; queries and targets; the method and its definition; the wildcard."""
    make, find, name, wildcard = KINDS[request.param]
    return request.param, *make(), name, find, wildcard


def enough(kind, query, residues):
    """Return what says whether a score is enough: an E-value for proteins, a score for bases."""
    if kind == "nucl":
        return lambda score, length: score >= 45
    gapped_row, ungapped_row = (
        dict(zip(FIGURES["statistics_columns"], FIGURES[name], strict=True))
        for name in ("gapped_11_1", "ungapped")
    )
    row = [gapped_row[name] for name in ("lambda", "K", "alpha", "alpha_v", "sigma")]
    ungapped = ungapped_row["alpha"], ungapped_row["alpha_v"]

    def reaches(score, length):
        numbers = score, len(query), length, residues, 12, row, ungapped
        return score >= 1 and finite_size_evalue(*numbers) <= EVALUE

    return reaches


def options_of(kind):
    """Return the options of a search with the cut-offs of `enough`."""
    if kind == "nucl":
        return {"dbtype": "nucl", "stats": "none", "min_raw_score": 45}
    return {"evalue": EVALUE, "comp_based_stats": 0}


def expected(case, read_query, read_target, scheme):
    """Return the hits of each query by the definition; the readers return `Letters`."""
    kind, queries, targets, *_ = case
    alphabet = scheme.matrix.alphabet
    residues = sum(map(len, targets.values()))
    return [
        find_hits(
            read_query(query),
            [read_target(target) for target in targets.values()],
            alphabet.letters,
            scheme.matrix.scores[: len(alphabet.letters), : len(alphabet.letters)].tolist(),
            (scheme.gap_open, scheme.gap_extend),
            enough(kind, query, residues),
            alphabet.complements,
        )
        for query in queries.values()
    ]


def found_hits(results):
    return [[(hit.ordinal, hit.score, hit.strand) for hit in result] for result in results]


READERS = {
    "soft query": ({"mask": True, "soft_masking": True}, "soft", "none"),
    "hard query": ({"mask": True}, "hard", "none"),
    "soft target": ({"db_soft_mask": True}, "none", "soft"),
    "hard target": ({"db_hard_mask": True}, "none", "hard"),
    "soft query, soft target": (
        {"mask": True, "soft_masking": True, "db_soft_mask": True},
        *("soft", "soft"),
    ),
    "soft query, hard target": (
        {"mask": True, "soft_masking": True, "db_hard_mask": True},
        *("soft", "hard"),
    ),
    "hard query, soft target": ({"mask": True, "db_soft_mask": True}, "hard", "soft"),
}


def with_method(asked, method):
    """Return the options of a row of `READERS` for a method."""
    return {name: True if name == "soft_masking" else method for name in asked}


@pytest.mark.parametrize("way", READERS)
def test_hits_are_those_of_the_definition(case, way):
    """Targets, scores, strands and their order; alignments; letters that are shown and counted."""
    kind, queries, targets, method, find, wildcard = case
    asked, of_query, of_target = READERS[way]
    asked = with_method(asked, method)
    results = swdual.search(
        queries, targets, max_target_seqs=0, threads=1, **asked, **options_of(kind)
    )

    def reader(how):
        def read(text):
            masked = masked_letters(text, [] if how == "none" else find(text), wildcard)
            return Letters(masked, masked if how == "hard" else text)

        return read

    scheme = results.params.scheme
    read_query, read_target = reader(of_query), reader(of_target)
    wanted = expected(case, read_query, read_target, scheme)
    assert found_hits(results) == wanted
    assert sum(map(len, wanted)) > len(queries)
    assert found_hits(results) != found_hits(
        swdual.search(queries, targets, max_target_seqs=0, threads=1, **options_of(kind))
    )
    alphabet = scheme.matrix.alphabet
    for result, query in zip(results, queries.values(), strict=True):
        for hit in result:
            target = targets[hit.id]
            ours, theirs = read_query(query).second, read_target(target).second
            score, numbers, operations = oracle(
                alphabet.encode(ours), alphabet.encode(theirs), scheme, hit.strand
            )
            alignment = hit.alignment
            cigar = "".join(f"{count}{letter}" for letter, count in operations)
            assert (hit.score, alignment.cigar) == (score, cigar)
            # What is shown: masked letters in lower case, and counts as if nothing was masked.
            top, _, bottom = alignment.rows
            shown = target
            for start, end in [] if of_target == "none" else find(target):
                shown = shown[:start] + shown[start:end].lower() + shown[end:]
            assert str(hit.target) == shown
            part = shown[numbers[2] : numbers[3]]
            if hit.strand < 0:
                part = part[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))
            assert bottom.replace("-", "") == part
            letters = query, alphabet.decode(alphabet.encode(target))
            if hit.strand < 0:
                letters = (
                    letters[0],
                    alphabet.decode(alphabet.reverse_complement(alphabet.encode(target))),
                )
            place = numbers[2] if hit.strand > 0 else len(target) - numbers[3]
            rows = gapped(*letters, operations, numbers[0], place)
            counts = statistics_of(*rows, score_in(scheme))
            assert (top.upper(), bottom.upper()) == rows
            assert (alignment.identities, alignment.positives) == (
                counts.identities,
                counts.positives,
            )


WAYS = {
    "two workers": {"device": [Device()] * 2},
    "reference": {"backend": "reference"},
    "other kind": {"device": [Device("gpu", "simd", {"lanes": 16}), Device()]},
    "planner": {"planner": "self_scheduling"},
    "verified": {"verify": 100},
    "late": {"align": False},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("masks", ["soft query, soft target", "soft query, hard target"])
def test_nothing_depends_on_how_the_search_runs(case, masks, way):
    """Also not the alignments; and a result comes back from a pickle."""
    kind, queries, targets, method, *_ = case
    asked = with_method(READERS[masks][0], method)
    base = swdual.search(queries, targets, threads=1, **asked, **options_of(kind))
    other = swdual.search(queries, targets, **asked, **options_of(kind), **WAYS[way])
    assert list(base) == list(other)
    again = pickle.loads(pickle.dumps(list(other)))
    for one, two, three in zip(base, other, again, strict=True):
        alignments = [hit.alignment for hit in one]
        assert alignments == [hit.alignment for hit in two]
        assert alignments == [hit.alignment for hit in three]


@pytest.mark.parametrize(
    "options",
    [
        {"top": 40.0},
        {"max_target_seqs": 2},
        {"min_identity": 60.0, "max_target_seqs": 2},
        {"min_score": 30.0, "dbtype": "prot"},
    ],
    ids=" ".join,
)
def test_filters_apply_to_final_scores(case, options):
    """Those of the hits of a search without the filter."""
    kind, queries, targets, method, *_ = case
    if "min_score" in options and kind == "nucl":
        pytest.skip("bit scores need E-values")
    asked = {"mask": method, "soft_masking": True, "threads": 1, **options_of(kind)}
    every = swdual.search(queries, targets, max_target_seqs=0, **asked)
    some = swdual.search(queries, targets, **asked | options)
    for result, all_hits in zip(some, every, strict=True):
        best = max((hit.score for hit in all_hits), default=0)
        kept = [
            hit.id
            for hit in all_hits
            if hit.score >= best * (1 - options.get("top", 100.0) / 100)
            and 100 * hit.identity >= options.get("min_identity", 0)
            and (hit.bits or 0) >= options.get("min_score", 0)
        ]
        assert [hit.id for hit in result] == kept[: options.get("max_target_seqs", 500)]


def test_fitted_statistics_are_those_of_masked_scores():
    """The fit and the candidates come from masked scores; hits have their scores as written."""
    queries, targets = proteins()
    asked = {"stats": "fit", "mask": "seg", "threads": 1, "max_target_seqs": 0, "evalue": 1.0}
    hard = swdual.search(queries, targets, **asked)
    soft = swdual.search(queries, targets, soft_masking=True, **asked)
    plain = swdual.search(queries, targets, stats="none", threads=1, max_target_seqs=0)
    for one, two, written in zip(hard, soft, plain, strict=True):
        scores = {hit.id: hit.score for hit in written}
        assert {hit.id for hit in two} <= {hit.id for hit in one}
        assert [hit.score for hit in two] == [scores[hit.id] for hit in two]
        assert (two.evalues <= 1.0).all()
    assert sum(map(len, soft)) > len(queries)


def test_soft_masking_without_a_mask_changes_nothing():
    queries, targets = proteins()
    plain = swdual.search(queries, targets, threads=1)
    soft = swdual.search(queries, targets, soft_masking=True, threads=1)
    assert found_hits(soft) == found_hits(plain)
    assert [hit.evalue for hit in soft[0]] == [hit.evalue for hit in plain[0]]


def test_composition_sees_the_letters_as_written():
    """Candidates come from masked scores, adjusted scores from the whole query, as in blastp."""
    queries, targets = proteins()
    asked = {"comp_based_stats": 2, "threads": 1, "max_target_seqs": 0, "evalue": EVALUE}
    plain = swdual.search(queries, targets, adjust="all", **asked)
    soft = swdual.search(queries, targets, mask="seg", soft_masking=True, **asked)
    first = swdual.search(
        queries, targets, mask="seg", threads=1, max_target_seqs=0, evalue=10 * EVALUE
    )
    count = 0
    for result, every, masked in zip(soft, plain, first, strict=True):
        candidates = {hit.id for hit in masked}
        wanted = [hit for hit in every if hit.id in candidates]
        assert [(hit.id, hit.score, hit.evalue) for hit in result] == [
            (hit.id, hit.score, hit.evalue) for hit in wanted
        ]
        assert [hit.alignment.cigar for hit in result] == [hit.alignment.cigar for hit in wanted]
        count += len(result)
    assert count > len(queries)


@pytest.fixture
def database(tmp_path):
    """A database with masks, of a FASTA file with some letters in lower case."""
    _, targets = proteins()
    path = tmp_path / "t.fasta"
    path.write_text("".join(f">{name}\n{x[:5].lower()}{x[5:]}\n" for name, x in targets.items()))
    masks = ["seg", "seg:10,1.8,2.1", "lcase"]
    with swdual.makedb(path, tmp_path / "t.db", mask=masks) as built:
        yield built


def test_stored_masks_are_as_good_as_computed_ones(database):
    """The same hits, shown alike."""
    queries, targets = proteins()
    for option in ("db_hard_mask", "db_soft_mask"):
        stored = swdual.search(queries, database, threads=1, **{option: "seg"})
        computed = swdual.search(queries, targets, threads=1, **{option: "seg"})
        assert found_hits(stored) == found_hits(computed)
        for one, two in zip(stored, computed, strict=True):
            assert [hit.alignment.rows for hit in one] == [hit.alignment.rows for hit in two]


def test_letters_in_lower_case_can_be_masked(database):
    """By the mask that was stored."""
    queries, targets = proteins()
    written = {name: "X" * 5 + letters[5:] for name, letters in targets.items()}
    hard = swdual.search(queries, database, threads=1, db_hard_mask="lcase")
    plain = swdual.search(queries, written, threads=1, comp_based_stats=0)
    assert found_hits(hard) == found_hits(plain)
    shown = targets[hard[0][0].id]
    assert str(hard[0][0].target) == shown[:5].lower() + shown[5:]
    again = hard[0][0].target
    assert again.unmasked == again.alphabet.encode(shown)


@pytest.mark.parametrize("mode", [1, 2, 3])
def test_composition_takes_the_stored_mask(database, mode, monkeypatch):
    """With the same results as if it computed the mask, which it then does not."""
    queries, targets = proteins()
    asked = {"comp_based_stats": mode, "threads": 1, "evalue": 100.0}
    computed = swdual.search(queries, targets, **asked)
    monkeypatch.setattr("swdual.composition.adjuster.mask_targets", None)
    stored = swdual.search(queries, database, **asked)
    assert found_hits(stored) == found_hits(computed)
    assert sum(map(len, stored)) > 20
    for one, two in zip(stored, computed, strict=True):
        assert np.array_equal(one.log_evalues, two.log_evalues)
        assert [hit.alignment.cigar for hit in one] == [hit.alignment.cigar for hit in two]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"db_hard_mask": "stored"}, "needs one mask, but .*t.db holds lcase, seg:12.*; name one"),
        ({"db_hard_mask": "file"}, "t.db holds .*; build it with 'swdual makedb --mask-file FILE'"),
        ({"db_soft_mask": "segg"}, "`db_soft_mask`: unknown method 'segg'; did you mean seg"),
        ({"db_soft_mask": "dust"}, "`db_soft_mask` is dust:20,64,1, but dust masks nucleotides"),
        ({"db_soft_mask": 3}, "`db_soft_mask` is 3, but it must be text"),
        ({"db_soft_mask": "seg", "db_hard_mask": "seg"}, "exclude each other"),
        ({"db_soft_mask": "seg", "comp_based_stats": 2}, "cannot be combined with `comp_based_sta"),
    ],
)
def test_impossible_masks_of_targets_are_refused(database, options, words):
    with pytest.raises(InputError, match=words):
        swdual.search("MKVLAW", database, **options)


def test_stored_masks_need_a_database_that_holds_them():
    words = "needs one mask, but .* holds no mask; build it with 'swdual makedb --mask'"
    with pytest.raises(InputError, match=words):
        swdual.search("MKVLAW", {"t": "MKVLAW"}, db_hard_mask="stored")
