"""Proteins and nucleotides told apart by their letters."""

from __future__ import annotations

import random

import pytest
from oracles.sequence_types import rule

from swdual.database.database import Database
from swdual.errors import InputError
from swdual.request.sources import open_database
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.detection import AlphabetDetector, TypeRule, are_proteins
from swdual.sequences.fasta import read_batches

DRAW = random.Random(3)
GENE = "".join(DRAW.choices("ACGT", k=300))
ENZYME = "".join(DRAW.choices(PROTEIN.letters[:20], k=300))


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("ACGTUN" * 9, "nucl"),
        ("acgtun" * 9, "nucl"),
        ("A" * 90 + "E" * 10, "nucl"),
        ("A" * 89 + "E" * 11, "prot"),
        ("A" * 50, "nucl"),
        ("A" * 44 + "E" * 5, "prot"),
        ("", "prot (doubtful)"),
        (ENZYME, "prot"),
        # Fewer letters: adapters, primers and reads, with IUPAC's letters too.
        ("ACGTACGTTAGCCATGCAAGT", "nucl"),
        ("UAGCUUAUCAGACUGAUGUUGA", "nucl"),
        ("GTGYCAGCMGCCGCGGTAA", "nucl (doubtful)"),
        ("GGWACWGGWTGAACWGTWTAYCCYCC", "nucl (doubtful)"),
        ("ACGTRYSWKMBDHVNACGTRYSWKMBDHVNACGTNNACGT", "nucl (doubtful)"),
        ("GATTACA", "nucl (doubtful)"),
        ("A" * 49, "nucl (doubtful)"),
        ("CACACACACACACACACACA", "nucl (doubtful)"),
        ("UACGUACGUXUACGUACGUA", "nucl"),
        # Peptides: of glycine and serine, of few letters, with none of the four bases.
        ("GASTNK", "prot (doubtful)"),
        ("GGGGSGGGGSGGGGS", "prot (doubtful)"),
        ("GAGAGSGAGAGS", "prot (doubtful)"),
        ("MKVSDR", "prot"),
        ("MKV", "prot"),
        ("QQQQQQ", "prot"),
        ("CASSLGTGNTEAFF", "prot"),
        ("ACGTACGTTAGCCATGCAAGTE", "prot"),
    ],
)
def test_the_letters_show_the_type_and_whether_the_other_one_is_possible(letters, expected):
    """Nine letters of ten of 50, as in BLAST; of fewer letters all must be IUPAC's."""
    decision = TypeRule().decide(letters.encode())
    shown = decision.alphabet.name + " (doubtful)" * decision.is_doubtful
    assert shown == expected == rule(letters)


def test_headers_comments_and_blanks_are_not_letters():
    """Whatever they say."""
    text = f"# {ENZYME}\n>gene {ENZYME}\n{GENE[:60]}\n  {GENE[60:]}  \r\n"
    assert AlphabetDetector().look(text.encode()) is NUCLEOTIDE
    assert not are_proteins(text.encode())
    text = f">enzyme {GENE * 9}\n{ENZYME}\n"
    assert AlphabetDetector().look(text.encode()) is PROTEIN
    assert are_proteins(text.encode())


@pytest.mark.parametrize("letters", [GENE, ENZYME], ids=["gene", "enzyme"])
@pytest.mark.parametrize("quality", [False, True], ids=["fasta", "fastq"])
def test_a_file_is_read_as_what_it_is(tmp_path, letters, quality):
    """Both formats, and the batches have the codes of the alphabet that was found."""
    path = tmp_path / "x"
    path.write_text(f"@a\n{letters}\n+\n{'I' * 300}\n" if quality else f">a\n{letters}\n")
    detector = AlphabetDetector()
    (batch,) = read_batches(path, detector)
    expected = NUCLEOTIDE if letters is GENE else PROTEIN
    assert detector.decision.alphabet is expected
    assert [expected.decode(each.codes) for each in batch.sequences()] == [letters]


def test_the_whole_first_batch_counts_not_the_first_record(tmp_path):
    """A peptide that looks like a gene does not make nucleotides of the proteins behind it."""
    path = tmp_path / "x.fa"
    path.write_text(f">odd\n{GENE[:60]}\n" + "".join(f">p{k}\n{ENZYME}\n" for k in range(20)))
    assert Database.from_fasta(path).alphabet is PROTEIN


@pytest.mark.parametrize("letters", [GENE, ENZYME], ids=["gene", "enzyme"])
def test_sequences_in_memory_are_told_apart_too(letters):
    """Unless their type is named."""
    expected = NUCLEOTIDE if letters is GENE else PROTEIN
    found = open_database({"a": letters, "b": letters[::-1]})
    assert found.alphabet is expected
    assert [expected.decode(found[name].codes) for name in "ab"] == [letters, letters[::-1]]
    assert open_database({"a": letters}, dbtype="prot").alphabet is PROTEIN


def test_a_letter_that_no_nucleotide_has_is_an_error_in_nucleotides(tmp_path):
    """With its line: the file was taken for nucleotides."""
    path = tmp_path / "x.fa"
    path.write_text(f">a\n{GENE}\n>b\n{GENE}E\n")
    with pytest.raises(InputError, match=r"x\.fa:4: 'E' is not a nucleotide letter"):
        Database.from_fasta(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"PK\x03\x04more", "is a zip archive"), (b"SWDUALDBmore", "is a swdual database")],
)
def test_a_known_file_that_holds_no_sequences_is_named(tmp_path, content, words):
    """Instead of its first bytes."""
    path = tmp_path / "x.fa"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        next(read_batches(path))


def test_headers_of_many_records_are_left_out():
    """Those behind the first as well."""
    text = "".join(f">protein like this {ENZYME}\n{GENE[:20]}\n" for _ in range(9))
    assert AlphabetDetector().look(text.encode()) is NUCLEOTIDE
