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
from swdual.master.inputs import open_database
from swdual.master.sequence_types import look_at, make_query_rule
from swdual.options import SearchOptions
from swdual.sequences import fasta, stream

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
    for module in (fasta, stream):
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
