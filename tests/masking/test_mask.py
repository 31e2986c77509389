"""Masks as options spell them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from swdual import registry
from swdual.errors import InputError
from swdual.masking import dust, seg, tantan
from swdual.masking.mask import DEFAULT_METHODS, METHODS, Mask, parse_mask
from swdual.sequences.alphabet import ALPHABETS, NUCLEOTIDE, PROTEIN

LETTERS = {"prot": "MKVLWDEFGHIK" + "A" * 30 + "NQRSTVWYCDEF", "nucl": "ACGTTGC" + "A" * 40 + "CGT"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Mask("none")),
        ("seg", Mask("seg", (12, 2.2, 2.5))),
        ("seg:10,1.8,2.1", Mask("seg", (10, 1.8, 2.1))),
        (" seg: 10, 1.8, 2.1 ", Mask("seg", (10, 1.8, 2.1))),
        ("seg:1,0,0", Mask("seg", (1, 0, 0))),
        ("dust", Mask("dust", (20, 64, 1))),
        ("dust:2,8,32", Mask("dust", (2, 8, 32))),
        ("tantan", Mask("tantan", (0.5,))),
        ("tantan:.9", Mask("tantan", (0.9,))),
    ],
)
def test_a_mask_is_a_name_with_numbers(text, expected):
    """All of them, or the defaults; and its text gives the same mask again."""
    assert parse_mask(text, "mask") == expected
    assert parse_mask(str(expected), "mask") == expected


@pytest.mark.parametrize(
    ("text", "method", "expected"),
    [
        ("no", "seg", "none"),
        ("yes", "seg", "seg:12,2.2,2.5"),
        ("10 1.8 2.1", "seg", "seg:10,1.8,2.1"),
        ("yes", "dust", "dust:20,64,1"),
        ("30  64 1", "dust", "dust:30,64,1"),
        ("tantan", "seg", "tantan:0.5"),
    ],
)
def test_blasts_spellings_stand_for_its_method(text, method, expected):
    """For the options that have them."""
    assert str(parse_mask(text, "seg", method)) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dusk", "unknown method 'dusk'; did you mean dust? There are: dust, none, seg, tantan"),
        ("", "unknown method ''. There are: dust, none, seg, tantan"),
        ("yes", "unknown method 'yes'"),
        ("12 2.2 2.5", "unknown method '12 2.2 2.5'"),
        ("seg:", "takes window, locut, hicut, such as seg:12,2.2,2.5"),
        ("seg:12", "is 'seg:12', but seg takes window, locut, hicut, such as seg:12,2.2,2.5"),
        ("seg:12,2.2,2.5,1", "seg takes window, locut, hicut"),
        ("none:1", "but none takes no numbers"),
        ("seg:0,2.2,2.5", "the window of seg is a whole number from 1 to 10000, such as 12"),
        ("seg:12.5,2.2,2.5", "the window of seg is a whole number"),
        ("seg:99999,2.2,2.5", "the window of seg is a whole number"),
        ("seg:12,-1,2.5", "the locut of seg is a number from 0, such as 2.2"),
        ("seg:12,2.2,nan", "the hicut of seg is a number from 0, such as 2.5"),
        ("seg:12,2.2,1e9", "the hicut of seg is a number from 0"),
        ("seg:12,2.6,2.5", "locut (2.6) may not be above hicut (2.5); exchange them"),
        ("dust:1,64,1", "the level of dust is a whole number from 2 to 64, such as 20"),
        ("dust:20,65,1", "the window of dust is a whole number from 8 to 64, such as 64"),
        ("dust:20,64,0", "the linker of dust is a whole number from 1 to 32, such as 1"),
        ("tantan:1.1", "the threshold of tantan is a number from 0 to 1, such as 0.5"),
        ("tantan:", "the threshold of tantan is a number from 0 to 1"),
        ("tantan:0.5,1", "tantan takes threshold, such as tantan:0.5"),
        ("seg:" + "1" * 5000, "seg takes window"),
    ],
)
def test_impossible_masks_are_refused(text, said):
    """In one line that names the option, the value and the remedy."""
    with pytest.raises(InputError) as caught:
        parse_mask(text, "mask")
    message = str(caught.value)
    assert said in message
    assert message.startswith("`mask`")
    assert len(message) < 200


def test_a_method_masks_one_type_or_both():
    """The message names the others."""
    parse_mask("tantan", "mask").require(PROTEIN, "mask")
    parse_mask("none", "mask").require(NUCLEOTIDE, "mask")
    with pytest.raises(InputError, match=r"`mask` is dust:20,64,1, but dust masks nucleotides"):
        parse_mask("dust", "mask").require(PROTEIN, "mask")
    with pytest.raises(InputError, match="these are nucleotides; use none, dust or tantan"):
        parse_mask("seg", "mask").require(NUCLEOTIDE, "mask")


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, each in METHODS.items() for kind in each.alphabets]
)
def test_a_mask_finds_what_its_method_finds(name, kind):
    """With its numbers, whole ones as such."""
    alphabet = ALPHABETS[kind]
    codes = alphabet.encode(LETTERS[alphabet.name])
    expected = {
        "none": lambda: np.empty((0, 2)),
        "seg": lambda: seg.find_low_complexity(codes),
        "dust": lambda: dust.find_low_complexity(codes),
        "tantan": lambda: tantan.find_repeats(codes, alphabet),
    }[name]().tolist()
    assert parse_mask(name, "mask").find(codes, alphabet).tolist() == expected
    assert bool(expected) == (name != "none")


def test_each_method_has_a_file_of_its_name():
    """And each file beside the contract is a method."""
    assert {*registry.available("swdual.masking")} - {"mask"} == {*METHODS} - {"none"}
    assert all(kind in METHODS[name].alphabets for kind, name in DEFAULT_METHODS.items())


def test_a_mask_does_not_change():
    """It can be a key, and part of options."""
    mask = parse_mask("seg", "mask")
    assert {mask: 1}[parse_mask("seg:12,2.2,2.5", "mask")] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        mask.name = "dust"
