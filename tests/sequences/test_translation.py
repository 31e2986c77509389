"""Codons are translated as Biopython's tables say, in all frames; places go there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import translation as oracle
from support.properties import examples

from swdual.errors import InputError
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.frames import (
    READING_FRAMES,
    TranslatedSequence,
    find_places,
    find_residues,
    read_frame,
    read_part,
    select_frames,
)
from swdual.sequences.genetic_codes import GENETIC_CODES, check_genetic_code
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import count_codons, translate

KNOWN = [*range(1, 7), *range(9, 17), *range(21, 32), 33]
ALL_CODONS = "".join(a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG")

bases = st.text(st.sampled_from("ACGT" * 4 + NUCLEOTIDE.letters), max_size=40)
frames = st.sampled_from(READING_FRAMES)


def test_the_genetic_codes_are_blasts():
    """Its option takes 1-6, 9-16, 21-31 and 33."""
    assert list(GENETIC_CODES) == KNOWN


@pytest.mark.parametrize("code", KNOWN)
def test_codons_are_those_of_biopython(code):
    pytest.importorskip("Bio", reason="Biopython has the tables")
    ours = PROTEIN.decode(translate(NUCLEOTIDE.encode(ALL_CODONS), 1, code))
    assert ours == GENETIC_CODES[code] == oracle.translate(ALL_CODONS, 1, code)


@given(bases, frames, st.sampled_from(KNOWN))
@examples(200)
def test_frames_are_the_oracles(text, frame, code):
    """Also with ambiguous bases, and where a frame has no codon."""
    pytest.importorskip("Bio", reason="Biopython has the tables")
    codes = translate(NUCLEOTIDE.encode(text), frame, code)
    assert PROTEIN.decode(codes) == oracle.translate(text, frame, code)
    assert len(codes) == count_codons(len(text), frame)


@pytest.mark.parametrize(
    ("codon", "scored", "shown"),
    [
        ("RAY", "X", "B"),
        ("SAR", "X", "Z"),
        ("MTT", "X", "J"),
        ("YTR", "L", "L"),
        ("TRA", "*", "*"),
        ("TGR", "X", "X"),
        ("NNN", "X", "X"),
        ("ACN", "T", "T"),
    ],
)
def test_mixed_codons_score_as_x_and_show_b_z_and_j(codon, scored, shown):
    """As blastx scores and prints them."""
    codes = NUCLEOTIDE.encode(codon)
    assert PROTEIN.decode(translate(codes, 1, 1)) == scored
    assert PROTEIN.decode(translate(codes, 1, 1, shows_mixed=True)) == shown


@given(frames, st.integers(3, 60), st.data())
@examples(100)
def test_places_go_there_and_back(frame, length, data):
    """The part of the nucleotides, translated by itself, is the part of the frame."""
    text = data.draw(st.text(st.sampled_from("ACGT"), min_size=length, max_size=length))
    codes = NUCLEOTIDE.encode(text)
    protein = translate(codes, frame, 1)
    start = data.draw(st.integers(0, len(protein)))
    end = data.draw(st.integers(start, len(protein)))
    first, last = find_places(start, end, frame, length)
    assert 0 <= first <= last <= length or start == end
    assert last - first == 3 * (end - start)
    assert find_residues(first, last, frame, length) == (start, end)
    if start < end:
        sequence = TranslatedSequence("s", codes, NUCLEOTIDE, genetic_code=1)
        found, letters = read_part(sequence, first, last, frame)
        assert found == protein[start:end]
        assert letters == PROTEIN.decode(found)


def test_places_of_several_at_once():
    starts, ends = np.array([0, 3]), np.array([2, 5])
    first, last = find_places(starts, ends, -2, 100)
    assert (first.tolist(), last.tolist()) == ([93, 84], [99, 90])


def test_the_other_strand_keeps_its_mask():
    masked = Sequence("s", NUCLEOTIDE.encode("ACNNA"), NUCLEOTIDE, "ACggA")
    turned = read_frame(masked, -1)
    assert (turned.letters, NUCLEOTIDE.decode(turned.codes)) == ("TccGT", "TNNGT")
    assert read_frame(masked, 1) is masked


def test_strands_choose_frames():
    assert select_frames("plus", translated=True) == (1, 2, 3)
    assert select_frames("both", translated=True) == READING_FRAMES
    assert select_frames("minus", translated=False) == (-1,)


@pytest.mark.parametrize("number", [0, 7, 17, 32, 34])
def test_an_unknown_genetic_code_names_the_known_ones(number):
    with pytest.raises(InputError, match=f"`db_gencode` is {number}, .* 1-6, 9-16, 21-31 and 33"):
        check_genetic_code(number, "db_gencode")
