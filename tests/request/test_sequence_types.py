"""The type of sequences is decided once: by options, then qualities, then letters."""

from __future__ import annotations

import gzip
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.sequence_types import rule
from support.properties import examples

import swdual
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.io import stream
from swdual.request import queries as queries_module
from swdual.request import sequence_types
from swdual.request.options import SearchOptions
from swdual.request.sequence_types import look_at, make_query_rule
from swdual.request.sources import open_database
from swdual.sequences import fasta
from swdual.sequences.sequence import Sequence

ADAPTER = "ACGTACGTTAGCCATGCAAGT"
READ = "TTACGTACGTACGTTAGCCATGCAAGTCCATTGACCATTGACA"
LINKER = "GGGGSGGGGSGGGGS"
ENZYME = "MKVLAWGGHEPPLLKKIEFQ"
KINDS = {"ACGT": 6, "ACGTUN": 2, "ACGTRYSWKMBDHVN": 2, "GASTNK": 2, "ACDEFGHIKLMNPQRSTVWY": 1}

LETTERS = st.sampled_from([kind for kind, times in KINDS.items() for _ in range(times)]).flatmap(
    lambda kind: st.text(kind, min_size=1, max_size=40)
)


def types_of(records: list[tuple[str, str]], folder: Path) -> dict[str, str]:
    """Return the type that each way of reading these records finds."""
    text = "".join(f">{name}\n{letters}\n" for name, letters in records).encode()
    plain, packed = folder / "x.fa", folder / "x.fa.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text, 1))
    (folder / "crlf.fa").write_bytes(text.replace(b"\n", b"\r\n"))
    options = {"on_invalid": "replace"}
    database = {
        "makedb": swdual.makedb(plain, folder / "x.db", force=True, **options),
        "makedb of records": swdual.makedb(records, folder / "y.db", force=True, **options),
        "database": open_database(plain, **options),
        "gzip": Database.from_fasta(packed, **options),
        "CRLF": Database.from_fasta(folder / "crlf.fa", **options),
        "list": open_database(records, **options),
        "dictionary": open_database(dict(records), **options),
        "iterator": open_database(iter(records), **options),
    }
    found = {way: each.alphabet.name for way, each in database.items()}
    by_letters = make_query_rule(SearchOptions(), None)
    for way, queries in {
        "queries": plain,
        "packed queries": packed,
        "query records": records,
    }.items():
        found[way] = look_at(queries, by_letters).alphabet.name
    return found


@examples(60)
@given(records=st.lists(LETTERS, min_size=1, max_size=4), data=st.data())
def test_every_order_of_records_has_the_type_of_the_letters(tmp_path_factory, records, data):
    """However they are read; the oracle sees the letters only."""
    expected = rule("".join(records)).split()[0]
    folder = tmp_path_factory.mktemp("types")
    shuffled = data.draw(st.permutations([*enumerate(records)]))
    found = types_of([(f"s{number}", letters) for number, letters in shuffled], folder)
    assert set(found.values()) == {expected}, found


@pytest.mark.parametrize("packs", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_a_record_that_the_bound_cuts_counts(tmp_path, monkeypatch, packs, ends):
    """A genome behind or before a short record, longer than the part that is looked at."""
    for module in (fasta, queries_module, sequence_types, stream):
        monkeypatch.setattr(module, "CHUNK_BYTES", 256)
    monkeypatch.setattr(stream, "READ_BYTES", 64)
    genome = "ACGTTGCATTAGCCA" * 100
    for number, names in enumerate(permutations([("p", "MKV"), ("g", genome), ("q", "EEE")])):
        text = "".join(f">{name} PEPTIDE{ends}{letters}{ends}" for name, letters in names).encode()
        path = tmp_path / f"{number}.fa"
        path.write_bytes(gzip.compress(text) if packs else text)
        assert Database.from_fasta(path, on_invalid="skip").alphabet.name == "nucl", names
        assert look_at(path, make_query_rule(SearchOptions(), None)).alphabet.name == "nucl", names


@pytest.mark.parametrize("order", [1, -1])
def test_masks_and_searches_do_not_depend_on_the_order_of_records(run, here, order):
    """The last record was not looked at."""
    records = [">tiny\nACGTTGCATT\n", f">chr\n{READ * 5}\n"][::order]
    (here / "two.fa").write_text("".join(records))
    (here / "read.fa").write_text(f">read\n{READ}\n")
    assert "dust:20,64,1: " in run("mask", "two.fa").err
    fields = ("-f", "6 qseqid sseqid bitscore", "-k", "1")
    assert run("search", "read.fa", "two.fa", *fields).out == "read\tchr\t78.8\n"
    (here / "p.fa").write_text(f">p\n{ENZYME}\n")
    outcome = run("search", "two.fa", "p.fa", *fields)
    assert "the queries look like nucleotides and are translated" in outcome.err


@pytest.mark.parametrize(
    ("letters", "expected"),
    [(ADAPTER, "nucl"), ("ACGTRYKMSWBDHVN" * 2, "nucl"), ("A", "nucl"), ("MKVS", "nucl"),
     (ADAPTER + "E", "nucl"), (ENZYME, "prot")],
)  # fmt: skip
def test_qualities_mean_nucleotides_unless_the_letters_exclude_them(tmp_path, letters, expected):
    """However short the reads are; also as queries."""
    path = tmp_path / "x.fq"
    path.write_text(f"@r\n{letters}\n+\n{'I' * len(letters)}\n")
    assert Database.from_fasta(path, on_invalid="replace").alphabet.name == expected
    assert look_at(path, make_query_rule(SearchOptions(), None)).alphabet.name == expected


NUCLEOTIDES = {
    "dbtype": {"dbtype": "nucl"},
    "blastn": {"task": "blastn"},
    "blastn-short": {"task": "blastn-short"},
    "strand": {"strand": "plus"},
    "reward": {"reward": 1, "penalty": -2},
    "penalty": {"penalty": -3},
}
PROTEINS = {
    "dbtype": {"dbtype": "prot"},
    "blastp": {"task": "blastp"},
    "blastp-short": {"task": "blastp-short"},
}
SEARCHES = ["search", "align", "allpairs", "Python", "Python align"]


def words_of(options: dict[str, object]) -> list[str]:
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def scored_letters(way: str, letters: str, options: dict[str, object], run, here) -> bool:
    """Return whether sequences were compared as nucleotides: by the score of equal ones."""
    if way == "Python":
        hits = swdual.search({"q": letters}, {"t": letters}, stats="none", **options)[0]
        score = hits[0].score
    elif way == "Python align":
        score = swdual.align(letters, letters, **options).score
    else:
        (here / "x.fa").write_text(f">a\n{letters}\n>b\n{letters}\n")
        inputs = {"search": ("x.fa", "x.fa"), "align": (letters, letters), "allpairs": ("x.fa",)}
        outcome = run(way, *inputs[way], "--stats", "none", "-f", "6 score", *words_of(options))
        assert outcome.code == 0, outcome.err
        score = int(outcome.out.split()[0])
    return score <= 2 * len(letters)


@pytest.mark.parametrize("way", SEARCHES)
@pytest.mark.parametrize("options", NUCLEOTIDES.values(), ids=NUCLEOTIDES)
def test_options_for_nucleotides_decide_before_letters_that_look_like_proteins(
    run, here, way, options
):
    """Each of them, in the shell and in Python."""
    assert not scored_letters(way, LINKER, {}, run, here)
    assert scored_letters(way, LINKER, options, run, here)


@pytest.mark.parametrize("way", SEARCHES)
@pytest.mark.parametrize("options", PROTEINS.values(), ids=PROTEINS)
def test_options_for_proteins_decide_before_letters_that_look_like_nucleotides(
    run, here, way, options
):
    """Each of them, in the shell and in Python."""
    assert scored_letters(way, ADAPTER, {}, run, here)
    assert not scored_letters(way, ADAPTER, options, run, here)


@pytest.fixture
def files(here):
    """Files of one record each, by the names of these constants."""
    records = {"adapter": ADAPTER, "read": READ, "linker": LINKER, "enzyme": ENZYME,
               "gene": READ * 3, "rare": "GATTACA", "iupac": "MKVSDRMKVSDRW"}  # fmt: skip
    for name, letters in records.items():
        (here / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    text = "# STOCKHOLM 1.0\na  ACGUACGUUAGCCAUGCAAGU\nb  ACGUACGUUAGCCAUGGAAGU\n//\n"
    (here / "rna.sto").write_text(text)
    return here


REFUSED = {
    "makedb": (["makedb", "-in", "enzyme.fa", "-dbtype", "nucl", "-out", "x.db"],
               ["enzyme.fa:2: 'L' is not a nucleotide letter", "with -dbtype prot"]),
    "task for the database": (["search", "read.fa", "enzyme.fa", "--task", "blastn"],
                              ["--task blastn compares nucleotides, but enzyme.fa holds proteins"]),
    "task for queries": (["search", "enzyme.fa", "gene.fa", "--task", "blastn"],
                         ["enzyme.fa:2: 'L' is not a nucleotide letter", "tblastn"]),
    "blastp": (["search", "gene.fa", "enzyme.fa", "--task", "blastp"],
               ["gene.fa: the queries look like nucleotides", "use --task blastx"]),
    "blastp of genes": (["search", "enzyme.fa", "gene.fa", "--task", "blastp"],
                        ["--task blastp compares proteins, but gene.fa holds nucleotides"]),
    "strand": (["search", "enzyme.fa", "enzyme.fa", "--strand", "plus"],
               ["--strand is for nucleotides, but enzyme.fa holds proteins"]),
    "reward": (["search", "enzyme.fa", "enzyme.fa", "--reward", "1"],
               ["--reward and --penalty score nucleotides, but proteins are compared"]),
    "reward of proteins": (["search", "read.fa", "read.fa", "--reward", "1", "--dbtype", "prot"],
                           ["--reward and --penalty score nucleotides, but proteins are compared"]),
    "reward and matrix": (["align", ADAPTER, ADAPTER, "--reward", "1", "--matrix", "BLOSUM62"],
                          ["--reward and --penalty cannot be combined with --matrix"]),
    "task and type": (["search", "read.fa", "read.fa", "--task", "blastn", "--dbtype", "prot"],
                      ["--task blastn searches nucleotides, but --dbtype prot was given"]),
    "tblastn and type": (["search", "read.fa", "read.fa", "--task", "tblastn", "--dbtype", "prot"],
                         ["--task tblastn searches nucleotides, but --dbtype prot was given"]),
    "tblastn": (["search", "enzyme.fa", "enzyme.fa", "--task", "tblastn"],
                ["--task tblastn searches nucleotides, but enzyme.fa holds proteins"]),
    "blastx": (["search", "read.fa", "gene.fa", "--task", "blastx"],
               ["--task blastx searches proteins, but gene.fa holds nucleotides"]),
    "several files": (["makedb", "gene.fa", "enzyme.fa", "x.db"],
                      ["enzyme.fa: these look like proteins, but the files before hold nucleo"]),
    "several files of proteins": (["makedb", "enzyme.fa", "gene.fa", "x.db"],
                                  ["gene.fa: these look like nucleotides, but the files before"]),
    "alignment": (["search", "--msa", "rna.sto", "enzyme.fa"],
                  ["rna.sto: looks like nucleotides", "--dbtype prot"]),
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_options_that_the_letters_exclude_are_refused_for_the_true_reason(
    refuses, files, words, said
):
    """Each names what it is about; none says that swdual does not translate."""
    assert "does not translate" not in refuses(1, said, *words).err


@pytest.mark.parametrize("options", [{}, {"dbtype": "prot"}, {"task": "blastp"}], ids=str)
def test_an_alignment_of_rna_is_one_of_proteins_if_the_user_says_so(run, files, options):
    """--dbtype prot; a task says nothing about the letters of the alignment."""
    outcome = run("search", "--msa", "rna.sto", "enzyme.fa", *words_of(options))
    assert outcome.code == (0 if "dbtype" in options else 1)


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["search", "adapter.fa", "read.fa", "--task", "tblastx"], "tblastx"),
        (["search", "read.fa", "linker.fa", "--task", "blastx"], "blastx"),
        (["search", "linker.fa", "linker.fa", "--task", "blastx"], "blastx"),
        (["search", "linker.fa", "linker.fa", "--task", "tblastn"], "tblastn"),
        (["search", "linker.fa", "linker.fa", "--task", "tblastx"], "tblastx"),
        (["search", "linker.fa", "linker.fa", "--query-gencode", "4"], "blastx"),
        (["search", "linker.fa", "linker.fa", "--db-gencode", "4"], "tblastn"),
        (["search", "linker.fa", "linker.fa", "--frameshift", "15"], "blastx"),
        (["search", "linker.fa", "linker.fa", "--strand", "minus"], "blastn"),
        (["search", "iupac.fa", "gene.fa"], "tblastn"),
    ],
    ids=lambda value: " ".join(value[3:]) if isinstance(value, list) else value,
)
def test_options_that_translate_decide_about_both_inputs(run, files, words, program):
    """The head of format 7 names the program of such a search."""
    outcome = run(*words, "-f", "7", "-e", "1e9")
    assert (outcome.code, outcome.out.split()[1]) == (0, program.upper()), outcome.err


DOUBT = {
    "database": (["makedb", "rare.fa", "x.db"],
                 "rare.fa: could be nucleotides or proteins; read as nucleotides, for proteins "
                 "use --dbtype prot"),
    "proteins": (["makedb", "linker.fa", "x.db"],
                 "linker.fa: could be nucleotides or proteins; read as proteins, for nucleotides "
                 "use --dbtype nucl"),
    "queries": (["search", "rare.fa", "enzyme.fa"],
                "the queries could be nucleotides or proteins, and are read as proteins, as "
                "enzyme.fa; for nucleotides use --task blastx"),
    "queries of a gene": (["search", "linker.fa", "gene.fa"],
                          "the queries could be nucleotides or proteins, and are read as "
                          "nucleotides, as gene.fa; for proteins use --task tblastn"),
    "targets": (["search", "enzyme.fa", "rare.fa"],
                "rare.fa: could be nucleotides or proteins; read as proteins, for nucleotides use "
                "--dbtype nucl"),
    "texts": (["align", "GATTACA", "GATTACA"],
              "sequences in memory: could be nucleotides or proteins; read as nucleotides, for "
              "proteins use --dbtype prot"),
    "alignment": (["search", "--msa", "rare.fa", "enzyme.fa"],
                  "rare.fa: could be nucleotides or proteins; a profile scores proteins"),
    "matrix": (["align", "GATTACA", "GATTACA", "--matrix", "BLOSUM80"],
               "sequences in memory: could be nucleotides or proteins; read as proteins, for "
               "nucleotides use --dbtype nucl"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), DOUBT.values(), ids=DOUBT)
def test_letters_that_fit_both_are_read_as_the_other_input_with_a_warning(run, files, words, said):
    """The warning names the option for the other type."""
    outcome = run(*words)
    assert outcome.code == 0, outcome.err
    warnings = [line for line in outcome.err.splitlines() if "could be" in line]
    assert warnings[0] == f"swdual: warning: {said}"
    assert len(warnings) == 1 or "--matrix" in words


def test_clear_and_given_types_have_no_warning(run, files):
    """A peptide, an adapter, and a linker that is said to be one."""
    for words in (
        ("align", ENZYME, ENZYME), ("align", ADAPTER, ADAPTER), ("search", "read.fa", "adapter.fa"),
        ("search", "linker.fa", "enzyme.fa"),
        ("search", "linker.fa", "linker.fa", "--task", "blastp"),
    ):  # fmt: skip
        assert "warning: " not in run(*words).err.replace("warning: no hits", ""), words


def test_text_is_aligned_as_what_it_is(caplog):
    """A pair of nucleotides has the scores of nucleotides; one of them alone is refused."""
    assert swdual.align("ACGTACGTACGTACGTTT", "ACGTACGTACGTACGT").score == 32
    assert swdual.search({"q": ADAPTER}, {"t": ADAPTER}, stats="none")[0][0].score == 42
    assert swdual.align("GATTACA", ENZYME + "GATTACA").score == 37
    assert not caplog.records
    with pytest.raises(InputError, match="query looks like nucleotides, the target like proteins"):
        swdual.align(READ, ENZYME)
    assert swdual.align(READ, ENZYME, dbtype="prot").score > 0


def test_sequence_objects_have_their_type():
    """Of a database: they are what it holds, however they look."""
    proteins = open_database({"a": ADAPTER}, dbtype="prot")
    assert open_database([proteins["a"]]).alphabet.name == "prot"
    assert look_at(proteins["a"], make_query_rule(SearchOptions(), None)).alphabet.name == "prot"
    assert swdual.search(proteins["a"], proteins, stats="none")[0][0].score > 2 * len(ADAPTER)
    bases = open_database({"a": LINKER}, dbtype="nucl")
    assert open_database(bases["a"]).alphabet.name == "nucl"
    assert isinstance(bases["a"], Sequence)
    with pytest.raises(InputError, match="the queries look like nucleotides"):
        swdual.search(bases["a"], proteins, task="blastp")


MIXED = {"p": ENZYME * 20, "n": READ * 3, "m": READ * 3}


@pytest.mark.parametrize("way", ["mapping", "sequences", "file"])
def test_nucleotides_among_proteins_are_named(files, caplog, way):
    """However they are given: all queries of a search are of one type."""
    Path("mixed.fa").write_text("".join(f">{name}\n{text}\n" for name, text in MIXED.items()))
    queries = {"mapping": MIXED, "sequences": [*MIXED.values()], "file": Path("mixed.fa")}[way]
    message = (
        "2 queries look like nucleotides but are read as proteins, as the others are, such as "
        f"{'query_2' if way == 'sequences' else 'n'}; "
    )
    swdual.search(queries, {"t": ENZYME}, stats="none")
    assert [text.startswith(message) for text in caplog.messages].count(True) == 1
    caplog.clear()
    swdual.search(queries, {"t": ENZYME}, stats="none", dbtype="prot")
    assert not any("nucleotides" in text for text in caplog.messages)


def test_a_protein_among_nucleotides_is_named(files):
    """With a way to search it."""
    for queries in ({"p": ENZYME, "n": READ * 40}, [READ * 40, ENZYME]):
        name = "p" if isinstance(queries, dict) else "query_2"
        with pytest.raises(InputError, match=f"sequence '{name}': .*; give proteins by themselves"):
            swdual.search(queries, {"t": ENZYME})


def test_piped_queries_are_of_the_type_that_options_name(run, files):
    """Their letters are not known before they are read."""
    found = run("search", "-", "gene.fa", "-f", "6 score", stdin=f">q\n{READ}\n".encode())
    assert found.out == f"{2 * len(READ)}\n"
    refused = run("search", "-", "enzyme.fa", stdin=f">q\n{READ}\n".encode())
    assert "the queries look like nucleotides" in refused.err
    for options in (["--task", "blastx"], ["--strand", "plus"], ["--query-gencode", "1"]):
        outcome = run("search", "-", "enzyme.fa", *options, stdin=f">q\n{READ}\n".encode())
        assert outcome.code == 0, outcome.err
