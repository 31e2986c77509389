"""Multiple alignments are read from the formats in use, with the same result."""

from __future__ import annotations

import numpy as np
import pytest

from swdual.errors import InputError
from swdual.profiles import Profile
from swdual.profiles.letters import EMPTY, GAP
from swdual.profiles.msa import read_msa
from swdual.profiles.rows import show_rows
from swdual.sequences.alphabet import PROTEIN

NAMES = ("query words", "one", "two", "three")
ROWS = (
    "MKVLAW--GGHERMKVLAWDEFSTYPQNCIHK",
    "--VIAWCCGGHD-MRVLGWDEYSTYPQNC---",
    "LRVIGF-CGYEKLRT----------PEDCLYR",
    "LRVIGF--GYEKL---------FPPEDXCLYR",
)
"""The second row has a gap, the third one a long gap, the fourth one of 9 columns."""


def clustal(rows, head="CLUSTAL W (1.83) multiple sequence alignment", numbers=False):
    """Return the rows in blocks of 20 columns."""
    lines = [head, ""]
    for start in range(0, len(rows[0]), 20):
        for name, row in zip(NAMES, rows, strict=True):
            count = f" {start + 20}" if numbers else ""
            lines.append(f"{name.split()[0]:<12}{row[start : start + 20]}{count}")
        lines += [" " * 12 + "*:. " * 3, ""]
    return "\n".join(lines)


def stockholm(rows):
    """Return the rows in two blocks, with comments."""
    lines = ["# STOCKHOLM 1.0", "#=GF ID sample", ""]
    for start in (0, 16):
        pairs = zip(NAMES, rows, strict=True)
        lines += [f"{name.split()[0]}  {row[start : start + 16]}" for name, row in pairs]
        lines += ["#=GC RF xxxx", ""]
    return "\n".join([*lines, "//", "ignored"])


def fasta(rows):
    """Return the rows in lines of 10 columns."""
    lines = []
    for name, row in zip(NAMES, rows, strict=True):
        lines += [f">{name}", *(row[k : k + 10] for k in range(0, len(row), 10))]
    return "\n".join(lines) + "\n"


def a3m(rows):
    """Return the rows with insertions in lower case."""
    texts = []
    for row in rows:
        pairs = zip(rows[0], row, strict=True)
        kept = (b if a != "-" else b.lower() for a, b in pairs if a != "-" or b != "-")
        texts.append("".join(kept))
    return fasta(texts)


FORMATS = {
    "clustal": clustal(ROWS),
    "numbered": clustal(ROWS, "MUSCLE (3.8) multiple sequence alignment", numbers=True),
    "stockholm": stockholm([row.replace("-", ".") for row in ROWS]),
    "fasta": fasta(ROWS),
    "a3m": a3m(ROWS),
    "windows": fasta(ROWS).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_are_told_by_content(tmp_path, kind):
    """All hold the same rows, in the columns of the query."""
    (tmp_path / "x").write_text(FORMATS[kind], newline="")
    msa = read_msa(tmp_path / "x")
    assert PROTEIN.decode(msa.codes) == ROWS[0].replace("-", "")
    shown = [*show_rows(msa.rows)]
    for text, row in zip(shown, ROWS[1:], strict=True):
        assert text == "".join(b for a, b in zip(ROWS[0], row, strict=True) if a != "-")
    assert msa.title.split()[0] == "query"
    assert not msa.left_out.any()


A3M = a3m(ROWS)
ANNOTATIONS = ">ss_pred PSIPRED\nCCHHHHEE\nCC\n>ss_conf\n0123456789\n"
DIALECTS = {
    "toolkit": f"#A3M#\n{A3M}",
    "colabfold": f"#26\t1\n{A3M}",
    "uniclust": f"#cl-1 a cluster\n\n{A3M}",
    "comments": A3M.replace(">one", "# between\n>one"),
    "nul": f"{A3M}\0",
    "nul and lines": f"{A3M}\n\0\n\n",
    "nul without a line end": f"{A3M.rstrip()}\0",
    "two databases": A3M.replace(">two", f"\0{A3M.partition('>one')[0]}>two"),
    "blank lines": A3M.replace("\n>", "\n\n>") + "\n \n\n",
    "hh-suite": f"#x\n{ANNOTATIONS}{A3M}",
    "last": f"{A3M}>Consensus\nxxx\n>sa_dssp\nA-E\n>aa_dssp\nMK\n>cons_3d\nM\n>Cons-\nM\n",
}


def kept_rows(msa):
    """Return the rows as text, without those that repeat the query."""
    query = PROTEIN.decode(msa.codes)
    return [row for row in show_rows(msa.rows) if row != query]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a3m_of_other_programs_has_the_same_rows(tmp_path, dialect):
    """Comments, annotation, NUL behind the alignments of MMseqs2 and blank lines are left out."""
    (tmp_path / "x").write_text(DIALECTS[dialect], newline="")
    msa = read_msa(tmp_path / "x")
    assert msa.title == "query words"
    assert PROTEIN.decode(msa.codes) == ROWS[0].replace("-", "")
    columns = [letter != "-" for letter in ROWS[0]]
    expected = ["".join(b for b, k in zip(row, columns, strict=True) if k) for row in ROWS[1:]]
    assert kept_rows(msa) == expected


def test_annotation_is_named_and_does_not_count(tmp_path, caplog):
    """A row that is the query by its number is a sequence."""
    rows = [row.replace("CC", "--") for row in ROWS]
    (tmp_path / "x").write_text(ANNOTATIONS + a3m(rows))
    assert read_msa(tmp_path / "x", 2).title == "one"
    assert "2 rows were skipped" in caplog.text
    assert "'ss_pred', 'ss_conf'; if this is wrong, give them another name" in caplog.text
    with pytest.raises(InputError, match="`master` is 5, but the file has 4 sequences"):
        read_msa(tmp_path / "x", 5)


@pytest.mark.parametrize("name", ["sss_1", "css_pred", "SS_1", "q_consensus", "conserved", "aa1"])
def test_names_like_those_of_annotation_are_of_sequences(tmp_path, caplog, name):
    (tmp_path / "x").write_text(f">{name}\nMKV\n>b\nMKV\n")
    assert read_msa(tmp_path / "x").title == name
    assert not caplog.text


@pytest.mark.parametrize("kind", ["clustal", "stockholm"])
def test_annotation_in_blocks_is_left_out(tmp_path, caplog, kind):
    """HH-suite's reformat.pl writes it as rows."""
    text = FORMATS[kind].replace("two ", "ss_pred ").replace("CGYEK", "99999")
    (tmp_path / "x").write_text(text)
    assert len(read_msa(tmp_path / "x").rows) == 2
    assert "'ss_pred'" in caplog.text


@pytest.mark.parametrize("head", ["MSAPROBS version 0.9.7", "Clustal Omega", "MUSCLE (3.8)"])
def test_heads_of_clustal_files_are_known(tmp_path, head):
    (tmp_path / "x").write_text(clustal(ROWS, f"{head} multiple sequence alignment"))
    assert len(read_msa(tmp_path / "x").rows) == 3


def test_insertions_of_jackhmmer_are_left_out(tmp_path):
    """They are in lower case, in columns of their own, where the query has dots."""
    (tmp_path / "x").write_text(
        "# STOCKHOLM 1.0\n#=GF ID q-i1\n#=GS hit/1-9 DE [subseq from] a protein\n\n"
        "q         MKV...LAW\nhit/1-9   M-VaakLAW\nhit2/3-7  mKV..aLA-\n#=GC RF xxx...xxx\n//\n"
    )
    msa = read_msa(tmp_path / "x")
    assert PROTEIN.decode(msa.codes) == "MKVLAW"
    assert [*show_rows(msa.rows)] == ["M-VLAW", "MKVLA-"]


def test_long_gaps_are_not_aligned(tmp_path):
    """From 10 columns on; shorter ones are gaps."""
    (tmp_path / "x").write_text(fasta(ROWS))
    rows = read_msa(tmp_path / "x").rows
    assert (rows == EMPTY).sum(axis=1).tolist() == [0, 10, 0]
    assert (rows == GAP).sum(axis=1).tolist() == [6, 0, 9]


def test_a_profile_of_a_file_is_that_of_its_rows(tmp_path):
    """In any format."""
    columns = [letter != "-" for letter in ROWS[0]]
    rows = ["".join(b for b, kept in zip(row, columns, strict=True) if kept) for row in ROWS]
    rows[2] = rows[2].replace("-" * 10, " " * 10)
    expected = Profile.from_alignments(rows[0], rows[1:])
    for text in FORMATS.values():
        (tmp_path / "x").write_text(text, newline="")
        found = Profile.from_msa(tmp_path / "x")
        assert np.array_equal(found.frequencies, expected.frequencies)
        assert np.array_equal(found.scores, expected.scores)


@pytest.mark.parametrize("letters", ["ACGU", "ACGT", "acgu"])
def test_an_alignment_of_nucleotides_is_refused(tmp_path, letters):
    """As the command refuses it; a query in doubt is a protein, with a warning."""
    path = tmp_path / "x"
    path.write_text(f">q\n{letters * 15}\n>r\n{letters * 14}----\n")
    with pytest.raises(InputError, match=r"looks like nucleotides, but a profile scores proteins"):
        Profile.from_msa(path)
    if letters != "acgu":
        assert len(Profile.from_msa(path, dbtype="prot")) == 60


def test_a_profile_of_a_file_can_have_wide_blocks(tmp_path):
    """As that of its rows can."""
    path = tmp_path / "x"
    path.write_text(FORMATS["a3m"])
    msa = read_msa(path)
    found = Profile.from_msa(path, min_block_width=25)
    expected = Profile.from_alignments(msa.codes, msa.rows, min_block_width=25)
    assert np.array_equal(found.frequencies, expected.frequencies)
    assert not np.array_equal(found.frequencies, Profile.from_msa(path).frequencies)


def test_a_query_in_lower_case_does_not_count(tmp_path):
    """Where it is: the column has what the other rows say, as for psiblast."""
    (tmp_path / "x").write_text(
        fasta([ROWS[0][:8] + ROWS[0][8:12].lower() + ROWS[0][12:], *ROWS[1:]])
    )
    lower = Profile.from_msa(tmp_path / "x")
    (tmp_path / "x").write_text(fasta(ROWS))
    upper = Profile.from_msa(tmp_path / "x")
    assert lower.codes == upper.codes
    glutamate = PROTEIN.letters.index("E")
    assert PROTEIN.decode(lower.codes)[9] == "E"
    assert lower.weights[9, glutamate] == 0.0 < upper.weights[9, glutamate]
    assert np.array_equal(lower.weights[20], upper.weights[20])


def test_the_query_alone_is_an_alignment(tmp_path):
    """Its profile has the scores of the matrix."""
    (tmp_path / "x").write_text(">q\nMKVLAWGGHERMKVL\n")
    assert not Profile.from_msa(tmp_path / "x").frequencies.any()


@pytest.mark.parametrize("kind", FORMATS)
def test_another_sequence_can_be_the_query(tmp_path, kind):
    """It changes places with the first one, and its columns count. In a3m it has no insertions."""
    (tmp_path / "x").write_text(FORMATS[kind], newline="")
    if kind == "a3m":
        with pytest.raises(InputError, match=r":5: row 'one' is the query, but has insertions"):
            read_msa(tmp_path / "x", 2)
        (tmp_path / "x").write_text(a3m([row.replace("CC", "--") for row in ROWS]))
    msa = read_msa(tmp_path / "x", 2)
    rows = [row.replace("CC", "--") for row in ROWS] if kind == "a3m" else ROWS
    assert msa.title == "one"
    assert PROTEIN.decode(msa.codes) == rows[1].replace("-", "")
    swapped = [rows[0], *rows[2:]]
    for text, row in zip(show_rows(msa.rows), swapped, strict=True):
        assert text == "".join(b for a, b in zip(rows[1], row, strict=True) if a != "-")


def test_a_query_can_be_ignored(tmp_path):
    """Then the columns have what the other rows say; stretches that repeat it do not count."""
    (tmp_path / "x").write_text(fasta(ROWS))
    ignored = Profile.from_msa(tmp_path / "x", ignore_master=True)
    (tmp_path / "x").write_text(fasta([ROWS[0].lower(), *ROWS[1:]]))
    assert ignored.codes == Profile.from_msa(tmp_path / "x").codes
    methionine = PROTEIN.letters.index("M")
    assert ignored.weights[0, methionine] == 0.0
    assert ignored.weights[0].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("master", [0, 5, -1, 1.5, "2"])
def test_a_query_that_is_not_there_is_refused(tmp_path, master):
    (tmp_path / "x").write_text(fasta(ROWS))
    with pytest.raises(InputError, match=f"`master` is {master}, but the file has 4 sequences"):
        read_msa(tmp_path / "x", master)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nMKV\n>b\nMK\n", r":3: row 'b' has 2 columns, the first one 3; align all of them"),
        (">a\nMKV\n>b\nMKVL\n", r":3: row 'b' has 4 columns, the first one 3"),
        (">a\nMKV\n>b\nM1V\n", r":3: row 'b' has '1', which is no residue of a protein"),
        (">a\n---\n>b\nMKV\n", ":1: row 'a' is the query, but has no residues"),
        ("#3,3\t1,1\n>101\t102\nMKVMKV\n", "alignment of a complex of 2 chains"),
        (">a\nMKV\n\0>b\nMKV\n\0", "has multiple alignments of 2 queries, with NUL between"),
        (">a\nM\0V\n>b\nMKV\n", r":1: row 'a' has '\\x00', which is no residue"),
        (ANNOTATIONS, "has no sequences"),
        ("#A3M#\n", "not a multiple alignment"),
        ("MKV\nMKV\n", "not a multiple alignment; expected Stockholm"),
        ("", "is empty"),
        ("# STOCKHOLM 1.0\n//\n", "has no sequences"),
        ("# STOCKHOLM 1.0\na MKV MKV\n//\n", ":2: expected a name and a row"),
        ("CLUSTAL\n\na MKV\nb MKVL\n", "row 'b' has 4 columns, the first one 3"),
    ],
)
def test_what_is_no_alignment_is_refused(tmp_path, text, message):
    """With the file, the line and the cause."""
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_msa(tmp_path / "x")
    assert str(tmp_path / "x") in str(caught.value)
