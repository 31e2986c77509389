"""The alignment oracle gives optimum alignments, and of these the one that its rule names."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from .alignment import (
    Alignment,
    Score,
    Statistics,
    best_alignment,
    column_letters,
    gapped,
    parse_cigar,
    rescore,
    rescore_btop,
    rescore_cigar,
    runs,
    score_of,
    spans,
    statistics_of,
)
from .smith_waterman import local_score

pytestmark = [pytest.mark.exhaustive, pytest.mark.nightly("tests/oracles", "tests/golden")]

Problem = tuple[str, str, Score, int, int]


def uniform(match: int, mismatch: int) -> Score:
    """Return a scoring with one score for equal letters and one for unequal ones."""
    return lambda a, b: match if a == b else mismatch


SCORE = uniform(5, -4)
"""What the hand-worked examples use."""


def problems(seed: int, count: int, longest: int) -> Iterator[Problem]:
    """Yield random problems over two or three letters, with small scores: ties abound.

    In half of them one sequence is the other less some of its residues.
    """
    rng = np.random.default_rng(seed)
    for _ in range(count):
        letters = list("ABC"[: int(rng.integers(2, 4))])
        query, target = (
            "".join(rng.choice(letters, size=rng.integers(1, longest + 1))) for _ in range(2)
        )
        if rng.random() < 0.5:
            query = "".join(rng.choice(letters, size=longest))
            target = "".join(letter for letter in query if rng.random() < 0.75)
            if rng.random() < 0.5:
                query, target = target, query
        if rng.random() < 0.5:
            score = uniform(int(rng.integers(1, 5)), -int(rng.integers(0, 6)))
        else:
            score = tabled((rng.integers(-4, 4, size=(3, 3)) + 2 * np.eye(3, dtype=int)).tolist())
        gap_open, gap_extend = (int(price) for price in rng.integers(0, 3, size=2))
        yield query, target, score, gap_open, gap_extend


def tabled(table: list[list[int]]) -> Score:
    """Return the scoring of a table whose rows are the query's A, B, C."""
    return lambda a, b: table["ABC".index(a)]["ABC".index(b)]


def all_alignments(query: str, target: str) -> Iterator[Alignment]:
    """Yield every alignment of every two parts, column by column, without a score."""

    def extended(letters: str, i: int, j: int) -> Iterator[str]:
        if letters:
            yield letters
        for letter in "M" * (i < len(query) and j < len(target)):
            yield from extended(letters + letter, i + 1, j + 1)
        if i < len(query):
            yield from extended(letters + "I", i + 1, j)
        if j < len(target):
            yield from extended(letters + "D", i, j + 1)

    for i in range(len(query)):
        for j in range(len(target)):
            for letters in extended("", i, j):
                rows, columns = spans(runs(letters))
                yield Alignment(0, i, i + rows, j, j + columns, runs(letters))


def beginnings(operations: list[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    """Yield every proper beginning that does not end within a gap."""
    for at, (letter, count) in enumerate(operations):
        if at:
            yield operations[:at]
        if letter == "M":
            for part in range(1, count):
                yield [*operations[:at], (letter, part)]


def preference(alignment: Alignment, gap_open: int) -> list[int]:
    """Return what the alignment that the rule prefers has least, of those that end together.

    Going backwards a pair is preferred to a gap in the query, and that to one in the target, but
    the last choice is to go on with the gap one is in.  Where to open costs nothing, to go on and
    to open again are the same, and a gap in the query keeps its place.
    """
    letters = "".join(letter * count for letter, count in alignment.operations)[::-1]
    key = []
    before = "M"
    for letter in letters:
        order = "MID" if before == "D" and gap_open else "MDI"
        key.append(order.index(letter))
        before = letter
    return key


def by_enumeration(problem: Problem) -> Alignment | None:
    """Return the alignment that the rule names, picked from all alignments there are."""
    query, target, score, gap_open, gap_extend = problem

    def worth(alignment: Alignment, operations: list[tuple[str, int]]) -> int:
        starts = alignment.query_start, alignment.target_start
        return rescore(query, target, operations, *starts, score, gap_open, gap_extend)

    scored = [(worth(found, found.operations), found) for found in all_alignments(query, target)]
    best = max(value for value, _ in scored)
    if best <= 0:
        return None
    optimum = [found for value, found in scored if value == best]
    end = min((found.target_end, found.query_end) for found in optimum)
    shortest = [
        found
        for found in optimum
        if (found.target_end, found.query_end) == end
        and all(worth(found, part) > 0 for part in beginnings(found.operations))
    ]
    shortest.sort(key=lambda found: preference(found, gap_open))
    chosen = shortest[0]
    return Alignment(best, *(getattr(chosen, name) for name in FIELDS))


FIELDS = "query_start", "query_end", "target_start", "target_end", "operations"


def found(query: str, target: str, gap_open: int, gap_extend: int, score: Score = SCORE):
    """Return starts, ends and CIGAR of the alignment, for a short comparison."""
    best = best_alignment(query, target, score, gap_open, gap_extend)
    return best.score, best.query_start, best.query_end, best.target_start, best.cigar


# The rule, worked by hand.  Unless a docstring says otherwise, a match scores 5, a mismatch -4.


def test_identical_sequences_are_paired_from_end_to_end():
    """Six matches score 30, and both ends are exclusive."""
    assert best_alignment("ACGTAC", "ACGTAC", SCORE, 3, 2) == Alignment(30, 0, 6, 0, 6, [("M", 6)])


def test_nothing_is_aligned_where_nothing_scores_above_zero():
    """Mismatches alone, and empty sequences, give None."""
    assert best_alignment("AAAA", "CCCC", SCORE, 3, 2) is None
    assert best_alignment("", "ACGT", SCORE, 3, 2) is None
    assert best_alignment("ACGT", "", SCORE, 3, 2) is None
    assert best_alignment("A", "C", uniform(5, 0), 3, 2) is None


def test_target_residues_against_a_gap_are_deletions():
    """AAAA-CCCC on AAAAGCCCC scores 40 - 5; the gap is D, the query being the read."""
    assert found("AAAACCCC", "AAAAGCCCC", 3, 2) == (35, 0, 8, 0, "4M1D4M")


def test_query_residues_against_a_gap_are_insertions():
    """AAAAGCCCC on AAAA-CCCC scores 40 - 5; the gap is I."""
    assert found("AAAAGCCCC", "AAAACCCC", 3, 2) == (35, 0, 9, 0, "4M1I4M")


def test_of_equal_ends_the_smallest_target_end_is_taken_then_the_smallest_query_end():
    """AC lies twice in both; ends at target 2 go before those at 7, and at query 2 before 5."""
    assert found("ACGAC", "ACTTTAC", 9, 9) == (10, 0, 2, 0, "2M")
    assert found("GGACGGGAC", "ACTTTTT", 9, 9) == (10, 2, 4, 0, "2M")


def test_the_target_end_goes_before_the_query_end():
    """CC, at query 0, lies late in the target; AA, at query 3, early: AA is taken."""
    assert found("CCGAA", "AATTTCC", 9, 9) == (10, 3, 5, 0, "2M")


def test_an_alignment_begins_where_the_score_was_last_zero():
    """AC-mismatch-GG: 5 - 5 + 5 + 5 is no more than GG alone, which is taken, with mismatch -5."""
    assert found("ATGG", "ACGG", 9, 9, uniform(5, -5)) == (10, 2, 4, 2, "2M")


def test_a_gap_lies_as_far_to_the_start_as_it_can():
    """CAAAG on CAAG: the unpaired A may be any of three; backwards pairs go first, so the first."""
    assert found("CCCAAAGGG", "CCCAAGGG", 1, 1) == (38, 0, 9, 0, "3M1I5M")
    assert found("CCCAAGGG", "CCCAAAGGG", 1, 1) == (38, 0, 8, 0, "3M1D5M")


def test_backwards_the_gap_in_the_query_goes_before_the_gap_in_the_target():
    """AAC CAA on AAG CAA with a dear mismatch: backwards first D, then I; read forwards, I D."""
    dear = uniform(5, -50)
    assert found("AAATCCC", "AAAGCCC", 1, 1, dear) == (26, 0, 7, 0, "3M1I1D3M")


def test_a_pair_goes_before_two_gaps_of_the_same_worth():
    """A mismatch of -4 and two gaps of 2 are worth the same."""
    assert found("AAATCCC", "AAAGCCC", 1, 1) == (26, 0, 7, 0, "7M")


def test_a_gap_is_closed_at_its_first_chance():
    """At 4 to open and 1 to extend, with 5 for equal letters, 1 for B on X and -9 for the rest.

    AAA-B-CCC on AAAXBZCCC scores 30 + 5 - 5 - 5, and AAAB--CCC 30 + 1 - 6, the same; backwards
    the last gap is closed after one residue.
    """

    def score(a: str, b: str) -> int:
        return 1 if {a, b} == {"B", "X"} else 5 if a == b else -9

    assert found("AAABCCC", "AAAXBZCCC", 4, 1, score) == (25, 0, 7, 0, "3M1D1M1D3M")
    assert found("AAAXBZCCC", "AAABCCC", 4, 1, score) == (25, 0, 9, 0, "3M1I1M1I3M")


def test_scores_beyond_64_bits_are_exact():
    """Four matches of 10**20 and one gap of 10**19 + 1 score 4 * 10**20 - 10**19 - 1."""
    best = best_alignment("AACC", "AAGCC", uniform(10**20, -(10**20)), 10**19, 1)
    assert best.score == 4 * 10**20 - 10**19 - 1
    assert best.cigar == "2M1D2M"


# Agreement.


def test_the_score_is_the_optimum_and_the_operations_are_worth_it():
    """On 1,500 random problems of up to 12 residues, by the general-gap oracle and by rescoring."""
    aligned = 0
    for query, target, score, gap_open, gap_extend in problems(seed=1, count=1500, longest=12):
        best = best_alignment(query, target, score, gap_open, gap_extend)
        optimum = local_score(query, target, score, gap_open, gap_extend)
        assert (best.score if best else 0) == optimum
        if best:
            aligned += 1
            starts = best.query_start, best.target_start
            scoring = score, gap_open, gap_extend
            assert rescore(query, target, best.operations, *starts, *scoring) == optimum
            assert rescore_cigar(best.cigar, query, target, *starts, *scoring) == optimum
            rows, columns = spans(best.operations)
            assert starts[0] + rows == best.query_end
            assert starts[1] + columns == best.target_end
            assert best.operations[0][0] == best.operations[-1][0] == "M"
    assert aligned > 1000


def test_the_alignment_is_the_one_that_the_rule_names():
    """On 150 problems of up to 5 residues, picked from all the alignments that there are."""
    for problem in problems(seed=2, count=150, longest=5):
        assert best_alignment(*problem) == by_enumeration(problem), problem


def test_the_rule_has_ties_to_break_and_gaps_to_place():
    """Of 100 problems of up to 5 residues a third have several optimum alignments, 8 a gap."""
    tied = with_gap = 0
    for query, target, score, *prices in problems(seed=2, count=100, longest=5):
        best = best_alignment(query, target, score, *prices)
        if best is None:
            continue
        with_gap += len(best.operations) > 1
        optimum = [
            one
            for one in all_alignments(query, target)
            if best.score
            == rescore(
                query, target, one.operations, one.query_start, one.target_start, score, *prices
            )
        ]
        tied += len(optimum) > 1
    assert tied >= 33
    assert with_gap >= 8


# Prices of given alignments.


def test_a_cigar_may_say_matches_apart_from_mismatches():
    """3= 1X 3= on AAATCCC and AAAGCCC scores 30 - 4, as 7M does."""
    for cigar in ("7M", "3=1X3=", "3M1X3M"):
        assert rescore_cigar(cigar, "AAATCCC", "AAAGCCC", 0, 0, SCORE, 1, 1) == 26


@pytest.mark.parametrize("cigar", ["7=", "3=1X2=1X", "8M", "3M1X4M"])
def test_a_cigar_that_does_not_fit_the_sequences_is_refused(cigar):
    """Neither equality where there is none, nor more residues than there are."""
    with pytest.raises(ValueError, match=r"not so|leaves"):
        rescore_cigar(cigar, "AAATCCC", "AAAGCCC", 0, 0, SCORE, 1, 1)


@pytest.mark.parametrize("cigar", ["", "M", "0M", "3M2N", "3S4M", "3M4M", "3", "-3M"])
def test_what_is_no_cigar_of_a_local_alignment_is_refused(cigar):
    """Other letters, no count, no letter, nothing, or two neighbours that should be one."""
    with pytest.raises(ValueError, match=r"CIGAR|neighbours"):
        parse_cigar(cigar)


def test_a_cigar_starts_where_it_is_told():
    """2M on the CC of AACC and the CC of GCC."""
    assert rescore_cigar("2M", "AACC", "GCC", 2, 1, SCORE, 1, 1) == 10
    with pytest.raises(ValueError, match="leaves"):
        rescore_cigar("2M", "AACC", "GCC", 3, 1, SCORE, 1, 1)
    with pytest.raises(ValueError, match="within"):
        rescore_cigar("2M", "AACC", "GCC", -2, 1, SCORE, 1, 1)


def test_a_btop_is_identities_and_pairs_with_the_query_first():
    """2 identities, query T on target G, 3 identities: 5 * 5 - 4 = 21."""
    assert rescore_btop("2TG3", "AATCCC", 0, SCORE, 3, 2) == (21, "AATCCC", "AAGCCC")


def test_a_btop_writes_every_residue_of_a_gap():
    """T-T- is one gap of two in the target, -G one of one in the query: -(3 + 4) - (3 + 2)."""
    expected = 20 - 7 - 5, "AATT-CC", "AA--GCC"
    assert rescore_btop("2T-T--G2", "AATTCC", 0, SCORE, 3, 2) == expected


def test_a_btop_is_checked_against_both_sequences():
    """The letters must be those of the query, and of the target where it is given."""
    query, target = "GGAATCCC", "TAAGCCC"
    good = rescore_btop("2TG3", query, 2, SCORE, 3, 2, target=target, target_start=1)
    assert good == (21, "AATCCC", "AAGCCC")
    with pytest.raises(ValueError, match="the query has 'A'"):
        rescore_btop("2TG3", query, 1, SCORE, 3, 2)
    with pytest.raises(ValueError, match="the target has other letters"):
        rescore_btop("2TG3", query, 2, SCORE, 3, 2, target=target, target_start=0)
    with pytest.raises(ValueError, match="leave the query"):
        rescore_btop("9", query, 2, SCORE, 3, 2)


@pytest.mark.parametrize("btop", ["", "3T", "TG-", "0", "2TG03", "--", "3 4", "2--3"])
def test_what_is_no_btop_is_refused(btop):
    """An odd letter, a run of none, a column of two gaps, a blank, nothing."""
    with pytest.raises(ValueError, match=r"BTOP|both sequences"):
        rescore_btop(btop, "AATTCC", 0, SCORE, 3, 2)


def test_a_gap_may_follow_a_gap_and_each_pays_its_opening():
    """AA T - CC on AA - G CC scores 20 - (3 + 2) - (3 + 2)."""
    assert score_of("AAT-CC", "AA-GCC", SCORE, 3, 2) == 10


def test_rows_of_a_written_alignment_fit_together():
    """They are equally long, and no column has two gaps."""
    with pytest.raises(ValueError, match="both sequences"):
        column_letters("A-", "A-")
    with pytest.raises(ValueError, match="argument 2"):
        column_letters("AA", "A")


def test_rows_are_written_from_operations():
    """2M1I1D2M from query 1 and target 0."""
    assert gapped("GAATCC", "AAGCC", parse_cigar("2M1I1D2M"), 1, 0) == ("AAT-CC", "AA-GCC")


def test_statistics_count_the_columns():
    """Four identities and one mismatch that scores 1, two gaps of three residues, 8 columns."""

    def score(a: str, b: str) -> int:
        return 4 if a == b else 1 if {a, b} == {"I", "V"} else -3

    counted = statistics_of("AAI--CTC", "AAVGGC-C", score)
    assert counted == Statistics(
        identities=4, positives=5, mismatches=1, gap_openings=2, gap_residues=3, length=8
    )


def test_an_identity_is_positive_whatever_it_scores():
    """X on X is an identity that scores -1; BLAST counts it as positive, too."""
    counted = statistics_of("X", "X", lambda _a, _b: -1)
    assert (counted.identities, counted.positives, counted.mismatches) == (1, 1, 0)


# Other programs' alignments, as recorded in tests/golden.

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def blosum62():
    """Biopython's BLOSUM62: right for the twenty amino acids, and the samples have no others."""
    matrix = pytest.importorskip("Bio.Align.substitution_matrices").load("BLOSUM62")
    scores = {(a, b): int(matrix[a, b]) for a in "ARNDCQEGHILKMFPSTWYV" for b in matrix.alphabet}
    return lambda a, b: scores[a, b]


@pytest.fixture(scope="module")
def samples():
    """The sample queries and targets by their identifiers."""
    found = []
    for name in ("queries", "proteins"):
        text = (ROOT / "data" / f"{name}.fasta").read_text()
        entries = [entry.split("\n", 1) for entry in text.split(">")[1:]]
        found.append({header.split()[0]: body.replace("\n", "") for header, body in entries})
    return found


def golden(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in tests/golden, by the names of the columns."""
    lines = (ROOT / "tests" / "golden" / name).read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def test_blastp_counts_its_alignments_as_the_oracle_does(samples, blosum62):
    """Every BTOP of the sample rescores to blastp's score, and gives its counts and percentages."""
    queries, targets = samples
    rows = golden("sample_blastp.tsv")
    assert len(rows) == 57
    for row in rows:
        query, target = queries[row["qseqid"]], targets[row["sseqid"]]
        starts = int(row["qstart"]) - 1, int(row["sstart"]) - 1
        worth, upper, lower = rescore_btop(
            row["btop"], query, starts[0], blosum62, 11, 1, target=target, target_start=starts[1]
        )
        counted = statistics_of(upper, lower, blosum62)
        assert worth == int(row["score"])
        assert counted == Statistics(
            identities=int(row["nident"]),
            positives=int(row["positive"]),
            mismatches=int(row["mismatch"]),
            gap_openings=int(row["gapopen"]),
            gap_residues=int(row["gaps"]),
            length=int(row["length"]),
        )
        assert f"{100 * counted.identities / counted.length:.3f}" == row["pident"]
        assert f"{100 * counted.positives / counted.length:.2f}" == row["ppos"]


def test_ssearch_prices_its_alignments_as_the_oracle_does(samples, blosum62):
    """All 500 CIGARs of the sample rescore to ssearch36's scores."""
    queries, targets = samples
    rows = golden("sample_ssearch.tsv")
    assert len(rows) == 500
    for row in rows:
        query, target = queries[row["qseqid"]], targets[row["sseqid"]]
        starts = int(row["qstart"]) - 1, int(row["sstart"]) - 1
        worth = rescore_cigar(row["cigar"], query, target, *starts, blosum62, 11, 1)
        assert worth == int(row["score"])


def test_diamond_places_its_alignments_as_the_rule_does(samples, blosum62):
    """Scores and coordinates of all 22 hits of the shortest query are the oracle's."""
    queries, targets = samples
    rows = [row for row in golden("sample_diamond.tsv") if row["qseqid"] == "query1"]
    assert len(rows) == 22
    for row in rows:
        best = best_alignment(queries["query1"], targets[row["sseqid"]], blosum62, 11, 1)
        ends = best.query_start + 1, best.query_end, best.target_start + 1, best.target_end
        assert best.score == int(row["score"])
        assert ends == tuple(int(row[name]) for name in ("qstart", "qend", "sstart", "send"))
