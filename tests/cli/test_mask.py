"""`swdual mask`: sequences come back with the right letters masked, and nothing else changed."""

from __future__ import annotations

import gzip

import pytest
from support.low_complexity import golden_records
from support.masks import GOLDEN, printed_intervals

from swdual.masking.mask import parse_mask
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN

LOW = "MKVLWDEFGHIK" + "A" * 30 + "NQRSTVWYCDEF"
PROTEINS = f">p1 one\ttwo\n{LOW}\n>p2\nMKVLAWUO*BZXJ\n"
BASES = ">n1\nACGUTGC" + "A" * 40 + "CGTNRYGATTACA\n"


@pytest.fixture(autouse=True)
def _files(here):
    (here / "p.fa").write_text(PROTEINS)
    (here / "n.fa").write_text(BASES)


def test_masked_letters_are_in_lower_case(run):
    """The others and the header lines are as they were."""
    done = run("mask", "p.fa", "-w", "1000")
    assert (done.code, done.out) == (0, PROTEINS.replace("A" * 30, "a" * 30))
    assert done.err == "swdual: seg:12,2.2,2.5: 30 of 67 letters masked\n"


def test_hard_masked_letters_are_the_wildcard(run):
    """X for proteins, N for nucleotides, whose U is read as T."""
    assert run("mask", "p.fa", "--hard", "-w", "99").out == PROTEINS.replace("A" * 30, "X" * 30)
    expected = BASES.replace("U", "T").replace("A" * 40, "N" * 40)
    assert run("mask", "n.fa", "--hard", "-w", "99").out == expected


def test_lines_have_the_width(run):
    """Of 60 letters, or as many as were asked for."""
    lines = run("mask", "p.fa").out.splitlines()
    assert [len(line) for line in lines[1:]] == [54, 3, 13]
    lines = run("mask", "p.fa", "-w", "20").out.splitlines()
    assert [len(line) for line in lines[1:]] == [20, 20, 14, 3, 13]


def test_intervals_are_tables(run):
    """NCBI's have the last letter, BED the one behind it."""
    expected = ">p1 one\ttwo\n12 - 41\n>p2\n"
    assert run("mask", "p.fa", "-f", "interval").out == expected
    assert run("mask", "-in", "p.fa", "-outfmt", "interval").out == expected
    assert run("mask", "p.fa", "-f", "bed").out == "p1\t12\t42\n"


@pytest.mark.parametrize(
    ("kind", "command"), [("proteins", "segmasker"), ("nucleotides", "dustmasker")]
)
def test_intervals_are_printed_as_ncbi_prints_them(run, tmp_path, kind, command):
    """Whole output of both programs for a sample, but for intervals that touch."""
    letters = [*golden_records(kind).values()]
    expected = printed_intervals([command, "-in"], letters, tmp_path)
    alphabet = PROTEIN if kind == "proteins" else NUCLEOTIDE
    mask = parse_mask("seg" if kind == "proteins" else "dust", "mask")
    out = "".join(
        f">{k}\n" + "".join(f"{start} - {end - 1}\n" for start, end in mask.find(codes, alphabet))
        for k, codes in enumerate(map(alphabet.encode, letters))
    )
    assert run("mask", "sequences.fasta", "-f", "interval").out == out
    if kind == "nucleotides":
        lines = (f"{start} - {end - 1}" for each in expected for start, end in each)
        assert [line for line in out.splitlines() if " - " in line] == [*lines]


@pytest.mark.parametrize("kind", ["proteins", "nucleotides"])
def test_the_sample_of_the_golden_tables_is_the_generators(kind):
    """A change of the generator needs new tables."""
    text = gzip.decompress((GOLDEN / f"biased_{kind}.fasta.gz").read_bytes()).decode()
    records = golden_records(kind)
    assert text == "".join(f">{name}\n{letters}\n" for name, letters in records.items())


def test_methods_and_their_numbers(run):
    """By name, with numbers, and none."""
    assert run("mask", "p.fa", "--method", "none", "-w", "99").out == PROTEINS
    low = run("mask", "p.fa", "--method", "tantan:0.3", "-f", "bed").out
    high = run("mask", "p.fa", "--method", "tantan:0.99", "-f", "bed").out
    assert low != high
    assert low.startswith("p1\t12\t")


def test_input_and_output_may_be_compressed(run, here):
    """And come from standard input."""
    (here / "p.fa.gz").write_bytes(gzip.compress(PROTEINS.encode()))
    assert run("mask", "p.fa.gz", "-o", "m.fa.gz").code == 0
    expected = run("mask", "p.fa").out
    assert gzip.decompress((here / "m.fa.gz").read_bytes()).decode() == expected
    assert run("mask", "-", stdin=PROTEINS.encode()).out == expected


def test_the_input_is_never_replaced(run, here):
    """Nor another file without --force."""
    assert run("mask", "p.fa", "-o", "p.fa", "--force").code == 6
    assert run("mask", "p.fa", "-o", "n.fa").code == 6
    assert (here / "p.fa").read_text() == PROTEINS
    assert (here / "n.fa").read_text() == BASES
    assert run("mask", "p.fa", "-o", "n.fa", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("p.fa", "--method", "dust"), "--method is dust:20,64,1, but dust masks nucleotides, and"),
        (("n.fa", "--method", "seg"), "these are nucleotides; use none, dust or tantan"),
        (("p.fa", "--method", "sig"), "--method: unknown method 'sig'"),
        (("p.fa", "--method", "seg:12,3,2"), "--method is 'seg:12,3,2', but locut (3) may not be"),
        (("missing.fa",), "missing.fa: "),
        ((), "Name one FASTA file."),
        (("p.fa", "--in", "n.fa"), "Name one FASTA file."),
        (("p.fa", "-f", "xml"), "'xml' is not one of"),
    ],
)
def test_errors_name_the_option_and_the_remedy(run, here, arguments, said):
    """And nothing is written."""
    done = run("mask", *arguments, *([] if "-f" in arguments else ["-o", "out"]))
    assert done.code == 1
    assert said in done.err
    assert not (here / "out").exists()


def test_types_can_be_given(run, here):
    """By --dbtype, or by the method; a few letters of serine and glycine could be both."""
    (here / "few.fa").write_text(">s\n" + "GGGGS" * 5 + "\n")
    assert "seg:12,2.2,2.5: 25 of" in run("mask", "few.fa").err
    assert "dust:20,64,1: 25 of" in run("mask", "few.fa", "--dbtype", "nucl").err
    assert "dust:20,64,1: 25 of" in run("mask", "few.fa", "--method", "dust").err


def test_invalid_letters_stop_the_command_or_become_the_wildcard(run, here):
    """As for makedb."""
    (here / "bad.fa").write_text(">s\nMKVL~AW\n")
    done = run("mask", "bad.fa")
    assert done.code == 1
    assert "bad.fa:2" in done.err
    assert run("mask", "bad.fa", "--on-invalid", "replace").out == ">s\nMKVLXAW\n"
