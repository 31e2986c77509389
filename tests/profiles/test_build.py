"""Profiles of alignments are psiblast's, to the digits that it writes."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import profiles as oracle
from oracles.composition import LETTERS
from support.profile_tables import (
    alignment,
    by_case,
    figures,
    make_profile,
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
CASES = sorted(by_case("profile_scores.tsv.gz"))


SEEDED = sorted({row["alignment"] for row in table("profile_seeded.tsv.gz")})
SEEDED.remove("rare")  # its query has O, which is X in a search


@pytest.mark.parametrize(("case", "number"), CASES)
def test_scores_and_statistics_are_psiblasts(case, number):
    """All scores, and lambda, K and H to the 15 digits that it writes."""
    profile = make_profile(case, number)
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
    np.testing.assert_allclose(make_profile(case, "1").frequencies[:, :20], theirs, 1e-14, 0)


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


def check_oracle(seed, change=lambda query, row: row, narrowest=0, **options):
    """Compare the profile of random rows with that of the oracle, which has other rows."""
    query, *rows = random_rows(seed)
    known = figures("BLOSUM62", (11, 1))
    changed = [change(query, row) for row in rows]
    try:
        expected = oracle.profile_of_rows([query, *changed], known, narrowest=narrowest)
    except oracle.ProfileError:
        with pytest.raises(StatisticsUnavailable):
            Profile.from_alignments(query, rows, **options)
        return
    found = Profile.from_alignments(query, rows, **options)
    places = [LETTERS.index(letter) for letter in PROTEIN.letters]
    letters = len(PROTEIN.letters)
    np.testing.assert_allclose(
        found.frequencies[:, :letters], expected.ratios[:, places], 1e-12, 1e-15
    )
    assert np.array_equal(found.scores[:, :letters], expected.scores[:, places])
    assert pytest.approx(expected.k, rel=1e-9) == found.gapped.K


@pytest.mark.parametrize("seed", range(30))
def test_an_ignored_query_has_the_profile_of_the_oracle(tmp_path, seed):
    """Where rows are aligned without it, also one alone, and where it has X."""
    texts = [row.replace(" ", "-") for row in random_rows(seed)]
    (tmp_path / "x").write_text("".join(f">r{k}\n{row}\n" for k, row in enumerate(texts)))
    known = figures("BLOSUM62", (11, 1))
    try:
        expected = oracle.profile_of_rows(oracle.alignment_rows(texts), known, query_counts=False)
    except oracle.ProfileError:
        with pytest.raises(StatisticsUnavailable):
            Profile.from_msa(tmp_path / "x", ignore_master=True)
        return
    found = Profile.from_msa(tmp_path / "x", ignore_master=True)
    places = [LETTERS.index(letter) for letter in PROTEIN.letters]
    letters = len(PROTEIN.letters)
    np.testing.assert_allclose(
        found.frequencies[:, :letters], expected.ratios[:, places], 1e-12, 1e-15
    )
    assert np.array_equal(found.scores[:, :letters], expected.scores[:, places])


@pytest.mark.parametrize("seed", range(100))
def test_random_rows_have_the_profile_of_the_oracle(seed):
    """Rows with copies, gaps, X and several stretches."""
    check_oracle(seed)


@pytest.mark.parametrize("seed", range(100, 150))
def test_seeded_rows_have_the_profile_of_the_oracle(seed):
    """The query's letters are in them before copies are removed."""
    check_oracle(seed, oracle.seeded, query_seed=True)


@pytest.mark.parametrize("seed", range(150, 230))
def test_wide_blocks_have_the_profile_of_the_oracle(seed):
    """Narrower and wider than the query, of even and odd widths."""
    width = (2, 5, 8, 25)[seed % 4]
    check_oracle(seed, narrowest=width, min_block_width=width)


def test_narrow_blocks_alone_are_widened():
    """Here, a short row makes them narrow; 0 and 1 leave all as they are."""
    rows = [NEAR, FAR, " " * 12 + FAR[12:18] + " " * 12]
    usual = Profile.from_alignments(QUERY, rows)
    for width in (0, 1, 6):
        assert Profile.from_alignments(QUERY, rows, min_block_width=width) == usual
    wider = Profile.from_alignments(QUERY, rows, min_block_width=7)
    changed = np.flatnonzero((wider.weights != usual.weights).any(axis=1))
    assert set(changed) == {*range(12, 18)}
    assert wider != Profile.from_alignments(QUERY, rows, min_block_width=9)


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_alignments_have_psiblasts_scores(name):
    """It read the rows with the query's residues in them."""
    query, *rows = (row.upper() for row in alignment(name))
    kept = [place for place, letter in enumerate(query) if letter != "-"]
    query, *rows = ("".join(row[place] for place in kept) for row in (query, *rows))
    theirs = [row for row in table("profile_seeded.tsv.gz") if row["alignment"] == name]
    assert query == "".join(row["letter"] for row in theirs)
    profile = Profile.from_alignments(query, rows, query_seed=True)
    for place, letter in enumerate(PROTEIN.letters):
        assert profile.scores[:, place].tolist() == [int(row[letter]) for row in theirs]


def test_seeds_are_the_querys_residues():
    """At gaps and at both ends; a row that is a copy then does not count."""
    row = f"  {FAR[2:12]}---{FAR[15:-3]}   "
    full = QUERY[:2] + FAR[2:12] + QUERY[12:15] + FAR[15:-3] + QUERY[-3:]
    found = Profile.from_alignments(QUERY, [row], query_seed=True)
    assert found == Profile.from_alignments(QUERY, [full])
    assert found != Profile.from_alignments(QUERY, [row])
    copy = f"   {QUERY[3:9]}-{QUERY[10:]}"
    assert found == Profile.from_alignments(QUERY, [row, copy], query_seed=True)
    # Two rows of which one part differs are alike for 94 % once the rest is the query's.
    query = QUERY * 4
    short, other = (text.ljust(len(query)) for text in (FAR[:12], FAR[:6] + NEAR[6:12]))
    alone = Profile.from_alignments(query, [short], query_seed=True)
    assert alone == Profile.from_alignments(query, [short, other], query_seed=True)
    assert Profile.from_alignments(query, [short]) != Profile.from_alignments(query, [short, other])


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
        (StatisticsUnavailable, "none for VTML200", QUERY, [FAR], {"matrix": "VTML200"}),
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


@pytest.mark.parametrize("score", [-32769, 32768, 2**31, 2**32, 1e9])
def test_scores_that_no_kernel_holds_are_refused(score):
    """A table of scores has 16 bits for each."""
    one = Profile.from_alignments(QUERY, [FAR])
    for bound in (-32768, 32767):
        scores = np.where(np.arange(32) == 3, bound, one.scores)
        Profile("q", one.codes, scores, None, None, one.gapped, one.ungapped)
    scores = np.where(np.arange(32) == 3, np.array(score), one.scores)
    with pytest.raises(InputError, match=r"not within -32768 to 32767"):
        Profile("q", one.codes, scores, None, None, one.gapped, one.ungapped)


def test_shapes_of_a_profile_must_fit():
    """A profile cannot be made of arrays of different lengths, nor of nothing."""
    one = Profile.from_alignments(QUERY, [FAR])
    with pytest.raises(InputError, match="scores of a profile: expected shape"):
        Profile("q", one.codes[1:], one.scores, None, None, one.gapped, one.ungapped)
    with pytest.raises(InputError, match="at least one position"):
        Profile("q", b"", one.scores[:0], None, None, one.gapped, one.ungapped)
    with pytest.raises(ValueError, match="read-only"):
        one.scores[0, 0] = 1
