"""Profiles of alignments are psiblast's, to the digits that it writes."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from oracles import profiles as oracle
from oracles.composition import LETTERS
from support.profile_tables import (
    alignment,
    by_case,
    figures,
    included_rows,
    options_of,
    sequences,
    table,
)

from swdual.errors import InputError, MatrixError, StatisticsUnavailable
from swdual.profiles import Profile
from swdual.profiles.letters import EMPTY, GAP
from swdual.sequences.alphabet import PROTEIN

QUERY = "MKVLAWGGHERMKVLAWDEFSTYPQNCIHK"
NEAR = "MKILAWAGHDRMRVLGWDEYSTYPQNCVHK"
FAR = "LRVIGFSGYEKLRTMAFNDWTSFPEDCLYR"


NUMBERS = {
    **{"lambdaUngapped": ("ungapped", "lambda_"), "kappaUngapped": ("ungapped", "K")},
    **{"hUngapped": ("ungapped", "H"), "lambda": ("gapped", "lambda_"), "kappa": ("gapped", "K")},
}
CASES = [
    (case, number)
    for case, number in sorted(by_case("profile_scores.tsv.gz"))
    if not case.endswith(("_third", "_ignored"))
]


@cache
def made(case, number):
    """Return the profile of the alignments that psiblast made one from."""
    options = options_of(case)
    query = next(row["query"] for row in table("profile_cases.tsv") if row["case"] == case)
    if query.startswith("alignment "):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.fasta"
            rows = enumerate(alignment(query.split()[1]))
            path.write_text("".join(f">row{k}\n{row}\n" for k, row in rows))
            return Profile.from_msa(path)
    return Profile.from_alignments(
        sequences("queries")[query],
        included_rows(case, number),
        matrix=options.get("matrix", "BLOSUM62"),
        pseudocount=int(options.get("pseudocount", 0)),
    )


@pytest.mark.parametrize(("case", "number"), CASES)
def test_scores_and_statistics_are_psiblasts(case, number):
    """All scores, and lambda, K and H to the 15 digits that it writes."""
    profile = made(case, number)
    rows = by_case("profile_scores.tsv.gz")[case, number]
    for letter in PROTEIN.letters:
        theirs = [int(row[letter]) for row in rows]
        assert profile.scores[:, PROTEIN.letters.index(letter)].tolist() == theirs, letter
    (whole,) = by_case("profile_statistics.tsv.gz")[case, number]
    for name, (pair, number_) in NUMBERS.items():
        ours = getattr(getattr(profile, pair), number_)
        assert f"{ours:.14e}" == f"{float(whole[name]):.14e}", name


@pytest.mark.parametrize("case", ["ordinary", "odd", "brief"])
def test_frequencies_are_psiblasts(case):
    """To the rounding of sums."""
    rows = by_case("profile_ratios.tsv.gz")[case, "1"]
    theirs = [[float(row[letter]) for letter in PROTEIN.letters[:20]] for row in rows]
    np.testing.assert_allclose(made(case, "1").frequencies[:, :20], theirs, 1e-14, 0)


def random_rows(seed):
    """Return a query and rows that are similar in places."""
    random = np.random.default_rng(seed)
    length, count = int(random.integers(5, 50)), int(random.integers(0, 12))
    letters = np.array([*"ARNDCQEGHILKMFPSTWYVBZXUJ"])
    draw = np.array([*[0.046] * 20, *[0.016] * 5])
    query = random.choice(letters, length, p=draw)
    rows = []
    for _ in range(count):
        row = (rows[-1] if rows and random.random() < 0.5 else query).copy()
        changed = random.random(length) < random.choice([0.0, 0.03, 0.1, 0.6])
        row[changed] = random.choice(letters, changed.sum(), p=draw)
        row[random.random(length) < 0.03] = "-"
        row[random.random(length) < random.choice([0.0, 0.05])] = "X"
        for _ in range(int(random.integers(0, 3))):
            start = int(random.integers(0, length))
            row[start : start + int(random.integers(1, 10))] = " "
        filled = np.flatnonzero(~np.isin(row, ["-", " "]))
        row[: filled[0] if len(filled) else length] = " "
        row[filled[-1] + 1 if len(filled) else length :] = " "
        rows.append(row)
    return ["".join(row) for row in (query, *rows)]


@pytest.mark.parametrize("seed", range(100))
def test_random_rows_have_the_profile_of_the_oracle(seed):
    """Rows with copies, gaps, X and several stretches."""
    query, *rows = random_rows(seed)
    known = figures("BLOSUM62", (11, 1))
    try:
        expected = oracle.profile_of_rows([query, *rows], known)
    except oracle.ProfileError:
        with pytest.raises(StatisticsUnavailable):
            Profile.from_alignments(query, rows)
        return
    found = Profile.from_alignments(query, rows)
    places = [LETTERS.index(letter) for letter in PROTEIN.letters]
    letters = len(PROTEIN.letters)
    np.testing.assert_allclose(
        found.frequencies[:, :letters], expected.ratios[:, places], 1e-12, 1e-15
    )
    assert np.array_equal(found.scores[:, :letters], expected.scores[:, places])
    assert pytest.approx(expected.k, rel=1e-9) == found.gapped.K


def test_positions_without_rows_have_the_scores_of_the_matrix():
    """All of them, if there are no rows; then the query alone counts as nothing."""
    profile = Profile.from_alignments(QUERY, [])
    assert not profile.frequencies.any()
    assert not profile.observations.any()
    tryptophan = PROTEIN.encode("W")[0]
    places = [k for k, letter in enumerate(QUERY) if letter == "W"]
    assert profile.scores[places, tryptophan].tolist() == [11, 11]
    assert profile.gapped.lambda_ == 0.267


def test_rows_may_be_texts_or_codes():
    """A space is not aligned; neither are gaps at the ends."""
    text = f"  {NEAR[2:12]}---{NEAR[15:-3]}   "
    codes = np.full((1, len(QUERY)), EMPTY, np.uint8)
    codes[0, 2:-3] = np.frombuffer(PROTEIN.encode(NEAR[2:-3]), np.uint8)
    codes[0, 12:15] = GAP
    one = Profile.from_alignments(QUERY, [text])
    other = Profile.from_alignments(PROTEIN.encode(QUERY), codes)
    third = Profile.from_alignments(QUERY, [text.replace(" ", "-")])
    for each in (other, third):
        assert np.array_equal(one.frequencies, each.frequencies)
    assert one.observations[12] > 0.0
    assert one.observations[0] == one.observations[-1] == 0.0


def test_copies_do_not_count():
    """Of the query, and of a row before: 94 % of their letters are equal."""
    alone = Profile.from_alignments(QUERY, [FAR])
    changed = FAR[:10] + "A" + FAR[11:]
    for rows in (
        [FAR, QUERY],
        [QUERY, FAR],
        [FAR, FAR],
        [FAR, changed],
    ):
        more = Profile.from_alignments(QUERY, rows)
        assert np.array_equal(more.frequencies, alone.frequencies)
    different = FAR[:10] + "AA" + FAR[12:]
    more = Profile.from_alignments(QUERY, [FAR, different])
    assert not np.array_equal(more.frequencies, alone.frequencies)


def test_pseudocounts_can_be_fixed():
    """Many of them bring the scores near those of the query's letters alone."""
    few = Profile.from_alignments(QUERY, [NEAR, FAR], pseudocount=1)
    usual = Profile.from_alignments(QUERY, [NEAR, FAR])
    many = Profile.from_alignments(QUERY, [NEAR, FAR], pseudocount=1000)
    own = [few, usual, many]
    query = np.frombuffer(PROTEIN.encode(QUERY), np.uint8)
    information = [
        float(np.abs(each.frequencies[:, :20] - each.weights[:, :20]).sum()) for each in own
    ]
    assert information[0] < information[1] < information[2]
    assert len({each.scores[np.arange(len(query)), query].sum() for each in own}) > 1


def test_unknown_residues_of_the_query_have_no_frequencies():
    """X has the scores of the matrix, and O counts as X."""
    one = Profile.from_alignments(QUERY.replace("W", "X"), [NEAR, FAR])
    other = Profile.from_alignments(QUERY.replace("W", "O"), [NEAR, FAR])
    places = [k for k, letter in enumerate(QUERY) if letter == "W"]
    assert not one.frequencies[places].any()
    assert one.frequencies.any()
    assert np.array_equal(one.scores, other.scores)
    assert one.codes == other.codes
    assert (one.scores[places, :20] <= 0).all()


def test_the_unscaled_parameters_need_frequencies():
    """They are those of the scores before they were scaled."""
    profile = Profile.from_alignments(QUERY, [NEAR, FAR])
    assert profile.unscaled.lambda_ != profile.ungapped.lambda_
    assert profile.unscaled.lambda_ == pytest.approx(profile.ungapped.lambda_, rel=0.2)
    without = Profile(
        "q 1", profile.codes, profile.scores, None, None, profile.gapped, profile.ungapped
    )
    with pytest.raises(InputError, match="profile 'q' has no frequencies, which adjustment"):
        without.unscaled  # noqa: B018


@pytest.mark.parametrize(
    ("error", "message", "query", "rows", "options"),
    [
        (InputError, "the query has '1', which is no residue", "MK1", [], {}),
        (
            InputError,
            "row 2 of the alignment has 29 columns, the query 30",
            QUERY,
            [FAR, FAR[1:]],
            {},
        ),
        (InputError, "row 1 of the alignment has '?'", QUERY, ["?" + FAR[1:]], {}),
        (InputError, "expected 30 columns", QUERY, np.zeros((2, 4), np.uint8), {}),
        (MatrixError, "unknown matrix", QUERY, [FAR], {"matrix": "BLOSUM99"}),
        (StatisticsUnavailable, "no tabled residue", QUERY, [FAR], {"matrix": "VTML200"}),
        (
            StatisticsUnavailable,
            "for gap penalties 3/3",
            QUERY,
            [FAR],
            {"gap_open": 3, "gap_extend": 3},
        ),
        (StatisticsUnavailable, "not negative on average", "XXXXXXXX", [], {}),
    ],
)
def test_what_cannot_be_a_profile_is_refused(error, message, query, rows, options):
    """With the cause."""
    with pytest.raises(error, match=message):
        Profile.from_alignments(query, rows, **options)


def test_shapes_of_a_profile_must_fit():
    """A profile cannot be made of arrays of different lengths, nor of nothing."""
    one = Profile.from_alignments(QUERY, [FAR])
    with pytest.raises(InputError, match="scores of a profile: expected shape"):
        Profile("q", one.codes[1:], one.scores, None, None, one.gapped, one.ungapped)
    with pytest.raises(InputError, match="at least one position"):
        Profile("q", b"", one.scores[:0], None, None, one.gapped, one.ungapped)
    with pytest.raises(ValueError, match="read-only"):
        one.scores[0, 0] = 1
