"""The Smith-Waterman oracles agree with hand arithmetic, enumeration and two other libraries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from .smith_waterman import best_ungapped, local_score, local_score_gotoh

pytestmark = [pytest.mark.exhaustive, pytest.mark.nightly("tests/oracles", "tests/golden")]

ALPHABET = "ACGTN"
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """One alignment problem.

    Attributes
    ----------
    query, target : str
        The sequences, over `ALPHABET`.
    matrix : ndarray
        Pair scores, rows for query residues and columns for target residues.
    gap_open, gap_extend : int
        The gap prices, by which a gap of length ``k`` costs ``gap_open + k * gap_extend``.
    """

    query: str
    target: str
    matrix: IntArray
    gap_open: int
    gap_extend: int

    def pair(self, a: str, b: str) -> int:
        """Return the score of query residue `a` paired with target residue `b`."""
        return int(self.matrix[ALPHABET.index(a), ALPHABET.index(b)])

    def price(self, length: int) -> int:
        """Return the price of a gap of this length, where no gap is free."""
        return self.gap_open + length * self.gap_extend if length else 0

    def general(self) -> int:
        """Return the optimum by the general-gap oracle."""
        return local_score(self.query, self.target, self.pair, self.gap_open, self.gap_extend)

    def gotoh(self) -> int:
        """Return the optimum by the anti-diagonal oracle."""
        query, target = encoded(self.query), encoded(self.target)
        return local_score_gotoh(query, target, self.matrix, self.gap_open, self.gap_extend)

    def ungapped(self) -> int:
        """Return the best ungapped segment score."""
        return best_ungapped(encoded(self.query), encoded(self.target), self.matrix)


def encoded(sequence: str) -> IntArray:
    """Return the positions in `ALPHABET` of the residues of a sequence."""
    return np.array([ALPHABET.index(residue) for residue in sequence], dtype=np.int64)


def uniform(match: int, mismatch: int) -> IntArray:
    """Return a matrix with one score for equal residues and one for unequal ones."""
    equal = np.eye(len(ALPHABET), dtype=np.int64)
    return match * equal + mismatch * (1 - equal)


def text(rng: np.random.Generator, length: int) -> str:
    """Return a random sequence over `ALPHABET`."""
    return "".join(rng.choice(list(ALPHABET), size=length))


def relative(rng: np.random.Generator, sequence: str) -> str:
    """Return a copy with substitutions, and with runs of residues lost or gained."""
    copy = ""
    position = 0
    while position < len(sequence):
        event = rng.random()
        if event < 0.06:
            position += int(rng.integers(1, 5))
            continue
        if event < 0.12:
            copy += text(rng, int(rng.integers(1, 5)))
        copy += text(rng, 1) if event > 0.85 else sequence[position]
        position += 1
    return copy


def random_case(rng: np.random.Generator, longest: int, *, shortest: int = 1) -> Case:
    """Return a random case: related or unrelated sequences, symmetric or asymmetric scores."""
    query = text(rng, int(rng.integers(shortest, longest + 1)))
    if rng.random() < 0.5:
        target = relative(rng, query)[:longest] or "A"
    else:
        target = text(rng, int(rng.integers(shortest, longest + 1)))
    size = len(ALPHABET)
    matrix = rng.integers(-6, 4, size=(size, size)) + np.diag(rng.integers(4, 13, size=size))
    if rng.random() < 0.5:
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
    dearest = 8 if rng.random() < 0.5 else 3
    gap_open, gap_extend = (int(price) for price in rng.integers(0, dearest + 1, size=2))
    return Case(query, target, matrix, gap_open, gap_extend)


def random_cases(seed: int, count: int, longest: int, *, shortest: int = 1) -> Iterator[Case]:
    """Yield random cases that depend on the seed alone."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_case(rng, longest, shortest=shortest)


def enumerated_optimum(case: Case) -> int:
    """Return the optimum over every alignment, written out one by one.

    A local alignment that starts and ends with a pair is a choice of increasing query positions
    and as many increasing target positions; what is skipped between two consecutive pairs is a
    gap in the one sequence and a gap in the other.
    """
    best = 0
    for size in range(1, min(len(case.query), len(case.target)) + 1):
        for rows in combinations(range(len(case.query)), size):
            for columns in combinations(range(len(case.target)), size):
                pairs = zip(rows, columns, strict=True)
                total = sum(case.pair(case.query[i], case.target[j]) for i, j in pairs)
                for chosen in (rows, columns):
                    total -= sum(case.price(b - a - 1) for a, b in pairwise(chosen))
                best = max(best, total)
    return best


def enumerated_ungapped(case: Case) -> int:
    """Return the best ungapped score over every pair of equally long segments."""
    best = 0
    for i in range(len(case.query)):
        for j in range(len(case.target)):
            total = 0
            for a, b in zip(case.query[i:], case.target[j:], strict=False):
                total += case.pair(a, b)
                best = max(best, total)
    return best


def check_both(case: Case, expected: int) -> None:
    """Assert that both oracles give the expected optimum, and give it with the roles exchanged."""
    exchanged = Case(case.target, case.query, case.matrix.T, case.gap_open, case.gap_extend)
    found = case.general(), case.gotoh(), exchanged.general(), exchanged.gotoh()
    assert found == (expected,) * 4, case


def hand_case(query: str, target: str, gap_open: int, gap_extend: int) -> Case:
    """Return a case in which a match scores 5 and a mismatch -4."""
    return Case(query, target, uniform(5, -4), gap_open, gap_extend)


def gotoh_at_3_and_2(
    query_codes: npt.ArrayLike, target_codes: npt.ArrayLike, matrix: npt.ArrayLike
) -> int:
    """Return the optimum by the anti-diagonal oracle at gap prices 3 and 2."""
    return local_score_gotoh(query_codes, target_codes, matrix, 3, 2)


# Hand-worked examples.  Unless a docstring says otherwise, a match scores 5 and a mismatch -4.


def test_identical_sequences_score_the_sum_of_their_matches() -> None:
    """Six matches and nothing else score 6 * 5 = 30."""
    check_both(hand_case("ACGTAC", "ACGTAC", 3, 2), 30)


def test_a_gap_of_one_residue_costs_open_plus_extend() -> None:
    """AAAA-CCCC on AAAAGCCCC scores 8 * 5 - (3 + 1 * 2) = 35."""
    check_both(hand_case("AAAACCCC", "AAAAGCCCC", 3, 2), 35)


def test_a_gap_of_two_residues_costs_open_plus_two_extends() -> None:
    """AAAA--CCCC on AAAAGGCCCC scores 8 * 5 - (3 + 2 * 2) = 33."""
    check_both(hand_case("AAAACCCC", "AAAAGGCCCC", 3, 2), 33)


def test_a_gap_of_three_residues_costs_open_plus_three_extends() -> None:
    """AAAA---CCCC on AAAAGGGCCCC scores 8 * 5 - (3 + 3 * 2) = 31."""
    check_both(hand_case("AAAACCCC", "AAAAGGGCCCC", 3, 2), 31)


def test_two_separate_gaps_each_pay_the_opening() -> None:
    """AAAA-CCCC-TTTT on AAAAGCCCCGTTTT scores 12 * 5 - 2 * (3 + 1 * 2) = 50."""
    check_both(hand_case("AAAACCCCTTTT", "AAAAGCCCCGTTTT", 3, 2), 50)


def test_gaps_are_free_when_both_prices_are_zero() -> None:
    """AGCAT and GAC have longest common subsequences of 2 residues, and 2 * 5 - 0 = 10."""
    check_both(hand_case("AGCAT", "GAC", 0, 0), 10)


def test_a_gap_may_follow_a_gap_in_the_other_sequence() -> None:
    """With mismatch -11, AAAAC-GGGG on AAAA-TGGGG scores 8 * 5 - 2 * (3 + 2) = 30, not 40 - 11."""
    check_both(Case("AAAACGGGG", "AAAATGGGG", uniform(5, -11), 3, 2), 30)


def test_a_mismatch_is_taken_when_it_is_cheaper_than_two_gaps() -> None:
    """With mismatch -9, AAAACGGGG on AAAATGGGG scores 8 * 5 - 9 = 31, where two gaps give 30."""
    check_both(Case("AAAACGGGG", "AAAATGGGG", uniform(5, -9), 3, 2), 31)


def test_a_huge_gap_price_leaves_the_best_ungapped_segment() -> None:
    """AAAACCCC on the AAAAGCCC of AAAAGCCCC scores 7 * 5 - 4 = 31 when a gap costs 10**18."""
    case = hand_case("AAAACCCC", "AAAAGCCCC", 10**18, 0)
    check_both(case, 31)
    assert case.ungapped() == 31


def test_an_extension_dearer_than_the_opening_is_paid_for_every_residue() -> None:
    """At 1 to open and 6 to extend, gaps of 1, 2, 3 leave 40 - 7, 40 - 13, 40 - 19; 4 is refused.

    A gap of 4 would leave 40 - 25 = 15, less than the 4 * 5 = 20 of either half alone.
    """
    for length, expected in ((1, 33), (2, 27), (3, 21), (4, 20)):
        check_both(hand_case("AAAACCCC", "AAAA" + "G" * length + "CCCC", 1, 6), expected)


def test_an_opening_alone_makes_every_gap_length_cost_the_same() -> None:
    """At 7 to open and 0 to extend, gaps of 1, 2 and 9 residues all leave 8 * 5 - 7 = 33."""
    for length in (1, 2, 9):
        check_both(hand_case("AAAACCCC", "AAAA" + "G" * length + "CCCC", 7, 0), 33)


def test_poor_flanks_are_left_out_of_a_local_alignment() -> None:
    """GGGAAAATTT on CCCAAAACCC scores its inner 4 * 5 = 20, for each flanking pair costs 4."""
    check_both(hand_case("GGGAAAATTT", "CCCAAAACCC", 3, 2), 20)


def test_sequences_without_a_positive_pair_score_zero() -> None:
    """AAAA on CCCC has mismatches alone, so the empty alignment, 0, is the best."""
    check_both(hand_case("AAAA", "CCCC", 3, 2), 0)


@pytest.mark.parametrize(("query", "target"), [("", ""), ("ACGT", ""), ("", "ACGT")])
def test_an_empty_sequence_scores_zero(query: str, target: str) -> None:
    """With no residue on one side there is no pair, so the score is 0."""
    case = hand_case(query, target, 3, 2)
    check_both(case, 0)
    assert case.ungapped() == 0


def test_the_matrix_row_is_the_query_residue_and_its_column_the_target_residue() -> None:
    """With A over C worth 7 and all else -1, AA on CC scores 2 * 7 = 14 and CC on AA scores 0."""
    matrix = np.full((5, 5), -1, dtype=np.int64)
    matrix[ALPHABET.index("A"), ALPHABET.index("C")] = 7
    check_both(Case("AA", "CC", matrix, 3, 2), 14)
    check_both(Case("CC", "AA", matrix, 3, 2), 0)
    assert Case("AA", "CC", matrix, 3, 2).ungapped() == 14
    assert Case("CC", "AA", matrix, 3, 2).ungapped() == 0


def test_a_matrix_need_not_be_square() -> None:
    """Two query codes on three target codes, [0, 1] on [2, 0], score 4 + 6 = 10."""
    matrix = [[-1, -1, 4], [6, -1, -1]]
    assert local_score_gotoh([0, 1], [2, 0], matrix, 3, 2) == 10
    assert best_ungapped([0, 1], [2, 0], matrix) == 10


def test_the_example_of_smith_and_waterman_1981_scores_ten_thirds() -> None:
    """Their GCCAUUG on GCC-UCG scores 5 - 1/3 - (1 + 1/3) = 10/3; in thirds, 15 - 1 - 4 = 10.

    Their match is 1, mismatch -1/3 and gap ``1 + k / 3``, here all taken three times; U is T.
    """
    query, target = "AATGCCATTGACGG", "CAGCCTCGCTTAG"
    check_both(Case(query, target, uniform(3, -1), 3, 1), 10)


def test_the_textbook_example_of_durbin_and_others_scores_28() -> None:
    """HEAGAWGHEE on PAWHEAE, with BLOSUM50 and 8 a gap residue, scores 28: AWGHE on AW-HE.

    A 5, W 15, gap -8, H 10, E 6 (Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis,
    1998, section 2.3).
    """
    letters = "HEAGWP"
    matrix = [
        [10, 0, -2, -2, -3, -2],
        [0, 6, -1, -3, -3, -1],
        [-2, -1, 5, 0, -3, -1],
        [-2, -3, 0, 8, -3, -2],
        [-3, -3, -3, -3, 15, -4],
        [-2, -1, -1, -2, -4, 10],
    ]
    query, target = "HEAGAWGHEE", "PAWHEAE"

    def pair(a: str, b: str) -> int:
        return matrix[letters.index(a)][letters.index(b)]

    query_codes = [letters.index(residue) for residue in query]
    target_codes = [letters.index(residue) for residue in target]
    assert local_score(query, target, pair, 0, 8) == 28
    assert local_score_gotoh(query_codes, target_codes, matrix, 0, 8) == 28


# Limits of the arithmetic.


def test_the_general_oracle_is_exact_beyond_64_bits() -> None:
    """Four matches of 10**20 and one gap of 10**19 + 1 score 4 * 10**20 - 10**19 - 1."""
    expected = 4 * 10**20 - 10**19 - 1
    found = local_score("AACC", "AAGCC", lambda a, b: 10**20 if a == b else -(10**20), 10**19, 1)
    assert found == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
def test_the_fast_oracle_is_exact_beyond_16_bits(dtype: npt.DTypeLike) -> None:
    """Three thousand matches of 15 score 45000, more than 32767, whatever the input's type."""
    codes = np.zeros(3000, dtype=dtype)
    assert local_score_gotoh(codes, codes, np.array([[15]], dtype=dtype), 10, 1) == 45000
    assert best_ungapped(codes, codes, np.array([[15]], dtype=dtype)) == 45000


def test_codes_beyond_a_byte_are_read_whole() -> None:
    """With 300 codes and 5 for equal ones, else -4, 299, 43, 0 on itself scores 3 * 5 = 15.

    On 43, 43, 0, which is what bytes would keep of it, it scores 2 * 5 = 10.
    """
    matrix = np.full((300, 300), -4) + 9 * np.eye(300, dtype=np.int64)
    codes = np.array([299, 43, 0], dtype=np.uint16)
    assert local_score_gotoh(codes, codes, matrix, 3, 2) == 15
    assert best_ungapped(codes, codes, matrix) == 15
    assert local_score_gotoh(codes, [43, 43, 0], matrix, 3, 2) == 10
    assert best_ungapped(codes, [43, 43, 0], matrix) == 10


def test_the_fast_oracle_is_exact_beyond_32_bits() -> None:
    """Ten matches of 10**9 score 10**10, more than 2**31."""
    assert local_score_gotoh([0] * 10, [0] * 10, [[10**9]], 10, 1) == 10**10


def test_the_fast_oracle_refuses_what_64_bits_might_not_hold() -> None:
    """Scores or prices of 2**61 raise OverflowError rather than wrap."""
    with pytest.raises(OverflowError):
        local_score_gotoh([0], [0], [[2**61]], 10, 1)
    with pytest.raises(OverflowError):
        local_score_gotoh([0], [0], [[1]], 2**61, 1)
    with pytest.raises(OverflowError):
        best_ungapped([0], [0], np.array([[2**64 - 1]], dtype=np.uint64))


def test_a_negative_gap_price_is_refused() -> None:
    """Neither price may be negative, for then a longer gap could pay."""
    for gap_open, gap_extend in ((-1, 2), (2, -1)):
        with pytest.raises(ValueError, match="negative"):
            local_score("A", "A", lambda _a, _b: 1, gap_open, gap_extend)
        with pytest.raises(ValueError, match="negative"):
            local_score_gotoh([0], [0], [[1]], gap_open, gap_extend)


@pytest.mark.parametrize("function", [gotoh_at_3_and_2, best_ungapped])
def test_a_code_outside_the_matrix_is_refused(function: Callable[..., int]) -> None:
    """Codes -1 and 1 name no row of a one by one matrix, and -1 must not wrap round."""
    for codes in ([-1], [1]):
        with pytest.raises(ValueError, match="outside"):
            function(codes, [0], [[1]])
        with pytest.raises(ValueError, match="outside"):
            function([0], codes, [[1]])


@pytest.mark.parametrize("function", [gotoh_at_3_and_2, best_ungapped])
def test_scores_that_are_not_integers_are_refused(function: Callable[..., int]) -> None:
    """A matrix of floats, or codes of floats, raise TypeError."""
    with pytest.raises(TypeError):
        function([0], [0], [[1.5]])
    with pytest.raises(TypeError):
        function([0.0], [0], [[1]])


# Agreement.


def test_both_oracles_find_the_best_of_all_alignments_enumerated() -> None:
    """On 300 random cases of up to 5 residues no alignment, of all there are, scores more."""
    for case in random_cases(seed=1, count=300, longest=5):
        check_both(case, enumerated_optimum(case))


def test_the_two_oracles_agree_on_short_sequences() -> None:
    """The general-gap and Gotoh forms agree on 400 random cases of up to 14 residues."""
    for case in random_cases(seed=2, count=400, longest=14):
        assert case.general() == case.gotoh(), case


def test_the_two_oracles_agree_on_longer_sequences() -> None:
    """The general-gap and Gotoh forms agree on 12 random cases of 30 to 60 residues."""
    for case in random_cases(seed=3, count=12, longest=60, shortest=30):
        assert case.general() == case.gotoh(), case


def test_the_random_cases_include_alignments_with_gaps_and_without() -> None:
    """Of the 400 short cases at least a fifth need a gap for the optimum, and a fifth do not."""
    gapped = [
        case.gotoh() > case.ungapped() for case in random_cases(seed=2, count=400, longest=14)
    ]
    assert 80 <= sum(gapped) <= 320


def test_best_ungapped_is_the_best_of_all_segment_pairs_enumerated() -> None:
    """On 300 random cases of up to 12 residues no pair of equally long segments scores more."""
    for case in random_cases(seed=4, count=300, longest=12):
        assert case.ungapped() == enumerated_ungapped(case), case


def test_best_ungapped_is_a_lower_bound_met_when_gaps_are_too_dear() -> None:
    """The optimum is never below the best ungapped score and equals it when a gap costs 10**6."""
    for case in random_cases(seed=5, count=300, longest=14):
        dear = Case(case.query, case.target, case.matrix, 10**6, case.gap_extend)
        assert case.ungapped() <= case.gotoh(), case
        assert case.ungapped() == dear.gotoh() == dear.general(), case


def parasail_score(case: Case) -> int:
    """Return parasail's optimum; its first gap residue costs ``open``, each further ``extend``."""
    parasail = pytest.importorskip("parasail")
    matrix = parasail.matrix_create(ALPHABET, 1, -1)
    for row, column in np.ndindex(case.matrix.shape):
        matrix[row, column] = int(case.matrix[row, column])
    first = case.gap_open + case.gap_extend
    return int(parasail.sw(case.query, case.target, first, case.gap_extend, matrix).score)


def biopython_score(case: Case) -> int:
    """Return Biopython's optimum; its first gap residue scores ``open``, the others ``extend``."""
    align = pytest.importorskip("Bio.Align")
    aligner = align.PairwiseAligner(mode="local")
    aligner.substitution_matrix = align.substitution_matrices.Array(
        ALPHABET, 2, case.matrix.astype(np.float64)
    )
    aligner.open_gap_score = -(case.gap_open + case.gap_extend)
    aligner.extend_gap_score = -case.gap_extend
    score: float = aligner.score(case.query, case.target)
    return round(score)


@pytest.mark.parametrize("reference", [parasail_score, biopython_score])
def test_both_oracles_agree_with_a_library_on_short_sequences(
    reference: Callable[[Case], int],
) -> None:
    """General-gap, Gotoh and library scores agree on 400 random cases of up to 14 residues."""
    for case in random_cases(seed=6, count=400, longest=14):
        assert case.general() == case.gotoh() == reference(case), case


@pytest.mark.parametrize("reference", [parasail_score, biopython_score])
def test_the_fast_oracle_agrees_with_a_library_on_long_sequences(
    reference: Callable[[Case], int],
) -> None:
    """Gotoh and library scores agree on 15 random cases of 100 to 400 residues."""
    for case in random_cases(seed=7, count=15, longest=400, shortest=100):
        assert case.gotoh() == reference(case), case


@pytest.mark.parametrize("reference", [parasail_score, biopython_score])
def test_both_oracles_agree_with_a_library_under_asymmetric_scores(
    reference: Callable[[Case], int],
) -> None:
    """All agree on 200 cases with asymmetric matrices, of which half at least tell M from M.T."""
    told_apart = 0
    rng = np.random.default_rng(8)
    for _ in range(200):
        drawn = random_case(rng, 14)
        matrix = rng.integers(-6, 7, size=drawn.matrix.shape)
        case = Case(drawn.query, drawn.target, matrix, drawn.gap_open, drawn.gap_extend)
        flipped = Case(drawn.query, drawn.target, matrix.T, drawn.gap_open, drawn.gap_extend)
        assert case.general() == case.gotoh() == reference(case), case
        told_apart += case.gotoh() != flipped.gotoh()
    assert told_apart >= 100


@pytest.mark.parametrize("reference", [parasail_score, biopython_score])
@pytest.mark.parametrize(
    ("gap_open", "gap_extend"), [(0, 0), (0, 3), (3, 0), (1, 9), (11, 1), (10**6, 10**6)]
)
def test_both_oracles_agree_with_a_library_at_extreme_gap_prices(
    reference: Callable[[Case], int], gap_open: int, gap_extend: int
) -> None:
    """All agree on 40 cases at each of: free, linear, flat, extend-heavy, usual and huge prices."""
    for drawn in random_cases(seed=9, count=40, longest=14):
        case = Case(drawn.query, drawn.target, drawn.matrix, gap_open, gap_extend)
        assert case.general() == case.gotoh() == reference(case), case
