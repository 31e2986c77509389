"""Profiles of alignments are psiblast's, to the digits that it writes."""

from __future__ import annotations

import numpy as np
import pytest
from support.profiles import CASES, recorded, same_digits

from swdual.errors import InputError, MatrixError, StatisticsUnavailable
from swdual.profiles import Profile, read_profile
from swdual.profiles.letters import EMPTY, GAP
from swdual.sequences.alphabet import PROTEIN

QUERY = "MKVLAWGGHERMKVLAWDEFSTYPQNCIHK"
NEAR = "MKILAWAGHDRMRVLGWDEYSTYPQNCVHK"
FAR = "LRVIGFSGYEKLRTMAFNDWTSFPEDCLYR"


@pytest.fixture
def expected(tmp_path):
    """Return the profile that psiblast wrote."""

    def read(name):
        (tmp_path / "x.asn").write_text(recorded(name).asn1)
        return read_profile(tmp_path / "x.asn")

    return read


@pytest.mark.parametrize("name", CASES)
def test_the_profile_of_recorded_alignments_is_psiblasts(expected, name):
    """Every score; frequencies but for the last digit of few; lambda, K and H to all 15 digits."""
    theirs = expected(name)
    rows = recorded(name).rows(len(theirs))
    ours = Profile.from_alignments(theirs.codes, rows, title=theirs.title)
    assert len(rows) > 1
    assert np.array_equal(ours.scores, theirs.scores)
    for field in ("frequencies", "weights", "gapless"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), 1e-14, 1e-15)
    for pair in ("gapped", "ungapped"):
        for number in ("lambda_", "K", "H"):
            mine, their = (getattr(getattr(each, pair), number) for each in (ours, theirs))
            assert same_digits(mine, their), (pair, number)


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
