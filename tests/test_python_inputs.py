"""Every Python function takes sequences in the same forms, and refuses the same things by name."""

from __future__ import annotations

import bz2
import gzip
import io
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from Bio.Seq import Seq
from Bio.SeqRecord import SeqRecord

import swdual
from swdual.errors import InputError

FAMILY = {"one": "MKVLAWGGHERWCDEFMKTAYIAKQR", "two": "MKVLAWGGHERWCDEFMKTAY"}
FASTA = "".join(f">{name} a title\n{letters}\n" for name, letters in FAMILY.items())


def hits_of(results):
    return [(result.query.id, [(hit.id, hit.score) for hit in result]) for result in results]


def audited(queries, database, folder):
    """Return which queries an audit knows, and how many hits."""
    (folder / "none.tsv").write_text("")
    found = swdual.audit(folder / "none.tsv", queries, database, evalue=10)
    return found.query_ids, found.summary()[-1]["hits"]


AS_QUERIES = {
    "search": lambda queries, folder: hits_of(swdual.search(queries, FAMILY)),
    "iter_search": lambda queries, folder: hits_of(swdual.iter_search(queries, FAMILY)),
    "iterate": lambda queries, folder: [
        round.new for round in swdual.iterate(queries, FAMILY, iterations=1)
    ],
    "plan": lambda queries, folder: (
        swdual.plan(queries, FAMILY, cpus=1, gpus=0, rates={"cpu": 1}).makespan
    ),
    "audit": lambda queries, folder: audited(queries, FAMILY, folder),
}
AS_DATABASE = {
    "search a": lambda database, folder: hits_of(swdual.search(FAMILY, database)),
    "iter_search a": lambda database, folder: hits_of(swdual.iter_search(FAMILY, database)),
    "iterate a": lambda database, folder: [
        round.new for round in swdual.iterate(FAMILY, database, iterations=1)
    ],
    "allpairs": lambda database, folder: hits_of(swdual.allpairs(database, evalue=1e3)),
    "find_clusters": lambda database, folder: [*swdual.find_clusters(database, min_identity=50)],
    "audit a": lambda database, folder: audited(FAMILY, database, folder),
    "makedb": lambda database, folder: [
        (record.id, str(record)) for record in swdual.makedb(database, folder / "made.db")
    ],
}
ALONE = {
    "align a query": lambda query, folder: swdual.align(query, FAMILY["two"]).score,
    "align a target": lambda target, folder: swdual.align(FAMILY["two"], target).score,
}
CALLS = {**AS_QUERIES, **AS_DATABASE}


CONTENT = FASTA.encode()
COLUMNS = {"ID": [*FAMILY], "Sequence": [*FAMILY.values()], "length": [26, 21]}


class Place(NamedTuple):
    """A folder, and what is to be closed at the end of a test."""

    folder: Path
    files: ExitStack

    def write(self, name="q.fa", content=CONTENT):
        """Write a file; return its path."""
        path = self.folder / name
        path.write_bytes(content)
        return path

    def open(self, *args, open_file=open, mode="rb"):
        """Write a file; return it opened."""
        return self.files.enter_context(open_file(self.write(*args), mode))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Open files are copied into a folder for temporary files, which is empty at the end."""
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    with ExitStack() as files:
        yield Place(tmp_path, files)
    assert not [*copies.iterdir()]


def behind_a_record(place, *, iterates):
    """Return an open file of which the first record was read."""
    file = place.open("three.fa", b">zero\nMKV\n" + FASTA.encode(), mode="r")
    lines = [next(file), next(file)] if iterates else [file.readline(), file.readline()]
    assert lines == [">zero\n", "MKV\n"]
    return file


def pandas_frame(place, index=False):
    frame = pytest.importorskip("pandas").DataFrame(COLUMNS)
    return frame.set_index("ID") if index else frame


FORMS = {
    "path": lambda place: place.write(),
    "text": lambda place: str(place.write()),
    "open file": lambda place: place.open(mode="r"),
    "open bytes": lambda place: place.open(),
    "open gzip": lambda place: place.open(
        "q.gz", gzip.compress(FASTA.encode()), open_file=gzip.open, mode="rt"
    ),
    "open bz2": lambda place: place.open("q.bz2", bz2.compress(FASTA.encode()), open_file=bz2.open),
    "rest of a file": lambda place: behind_a_record(place, iterates=False),
    "rest of a loop": lambda place: behind_a_record(place, iterates=True),
    "StringIO": lambda place: io.StringIO(FASTA),
    "BytesIO": lambda place: io.BytesIO(FASTA.encode()),
    "BytesIO, packed": lambda place: io.BytesIO(gzip.compress(FASTA.encode())),
    "records": lambda place: [SeqRecord(Seq(x), id=name) for name, x in FAMILY.items()],
    "pandas frame": pandas_frame,
    "pandas frame with an index": lambda place: pandas_frame(place, index=True),
    "pandas series": lambda place: pandas_frame(place, index=True)["Sequence"],
    "polars frame": lambda place: pytest.importorskip("polars").DataFrame(COLUMNS),
    "Arrow table": lambda place: pytest.importorskip("pyarrow").table(COLUMNS),
}


@pytest.mark.sample(30)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("call", CALLS)
def test_every_function_takes_every_form_of_sequences(call, form, place):
    """With the names and letters of the same sequences in a dictionary."""
    (place.folder / "other").mkdir()
    found = CALLS[call](FORMS[form](place), place.folder)
    assert found == CALLS[call](FAMILY, place.folder / "other")


@pytest.mark.parametrize("call", [*CALLS, *ALONE])
def test_none_is_no_sequence(call, tmp_path):
    """It is what a dictionary returns for a name that it lacks, and not all pairs."""
    with pytest.raises(InputError, match=r"^there (is|are) no (quer|target|database|sequences)"):
        (CALLS | ALONE)[call](None, tmp_path)


@pytest.mark.parametrize(
    "make",
    [lambda: [None], lambda: {"a": None}, lambda: [("a", None)], lambda: iter([None])],
    ids=["list", "dict", "pair", "iterator"],
)
@pytest.mark.parametrize("call", [*CALLS, *ALONE])
def test_none_among_sequences_is_named(call, make, tmp_path):
    """Instead of being left out."""
    with pytest.raises(InputError, match="is None; leave it out"):
        (CALLS | ALONE)[call](make(), tmp_path)


@pytest.mark.parametrize("call", ALONE)
@pytest.mark.parametrize(
    "form",
    [
        lambda letters: io.StringIO(f">x\n{letters}\n"),
        lambda letters: SeqRecord(Seq(letters), id="x"),
        Seq,
        lambda letters: pytest.importorskip("pandas").Series({"x": letters}),
    ],
    ids=["StringIO", "record", "Seq", "Series"],
)
def test_a_pair_is_aligned_in_every_form(call, form, tmp_path):
    """As its letters are."""
    letters = FAMILY["one"]
    assert ALONE[call](form(letters), tmp_path) == ALONE[call](letters, tmp_path)


@pytest.mark.parametrize("call", [*CALLS, *ALONE])
def test_a_data_frame_without_sequences_is_refused_by_its_columns(call, tmp_path):
    """With the names that are looked for."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": ["x"], "residues": ["MKV"]})
    with pytest.raises(
        InputError, match=r"column named sequence or seq.* has id, residues; rename"
    ):
        (CALLS | ALONE)[call](frame, tmp_path)


@pytest.mark.parametrize("name", [None, float("nan")])
def test_rows_of_a_data_frame_without_a_name_are_refused(name):
    """Numbers are names, also of the type that a column has that lacks some."""
    frames = pytest.importorskip("pandas")
    frame = frames.DataFrame({"id": ["x", name], "seq": ["MKV", "MKV"]})
    with pytest.raises(InputError, match=r"row 2 of the DataFrame has no name, but (None|nan)"):
        swdual.search(frame, FAMILY)
    frame = frames.DataFrame({"id": [7.0], "seq": ["MKV"]})
    assert swdual.search(frame, FAMILY)[0].query.id == "7.0"


@pytest.mark.parametrize("names", [["id", "ID", "seq"], ["id", "seq", "Seq"], ["id", "id", "seq"]])
def test_columns_of_a_data_frame_that_are_named_alike_are_refused(names):
    """One of them would be taken without a word."""
    frame = pytest.importorskip("pandas").DataFrame([["x", "MKV", "MKV"]], columns=names)
    with pytest.raises(InputError, match=r"the DataFrame has 2 columns for one: .*rename or leave"):
        swdual.search(frame, FAMILY)


def test_what_is_missing_in_a_data_frame_is_named():
    """The row, and its name."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"id": ["x", "y"], "seq": ["MKV", None]}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        with pytest.raises(InputError, match=r"row 2 of the DataFrame \(y\) has no sequence"):
            swdual.search(frame, FAMILY)
    with pytest.raises(InputError, match="row 1 of the Series"):
        swdual.search(pandas.Series({"a": float("nan")}), FAMILY)
    with pytest.raises(InputError, match=r"give what its `collect\(\)` returns"):
        swdual.search(polars.DataFrame(columns).lazy(), FAMILY)


def test_errors_in_an_open_file_have_its_name_and_line(place):
    """Not those of a copy."""
    invalid = f">a\n{FAMILY['one']}~\n"
    with pytest.raises(InputError, match=r"^StringIO:2: '~' is not an amino acid letter"):
        swdual.search(io.StringIO(invalid), FAMILY)
    with pytest.raises(InputError, match=r"^StringIO:1: expected '>'"):
        swdual.search(io.StringIO("MKV\n"), FAMILY)
    file = place.open()
    file.close()
    with pytest.raises(InputError, match=r"q\.fa: cannot be read: .* closed file"):
        swdual.search(file, FAMILY)
    read = swdual.search(io.StringIO(invalid), FAMILY, on_invalid="replace")
    assert read[0].query.letters == FAMILY["one"] + "X"


def test_tables_of_an_audit_are_paths():
    """A data frame is iterable, but its columns are no files."""
    pandas = pytest.importorskip("pandas")
    for tables in (None, pandas.DataFrame({"qseqid": ["a"]}), io.StringIO("a\tb\n"), [None]):
        with pytest.raises(InputError, match="tables of hits are given by their paths"):
            swdual.audit(tables, FAMILY, FAMILY)


@pytest.mark.parametrize("text", ["", " "])
def test_empty_text_is_no_sequence(text):
    """An empty name before a colon says nothing."""
    with pytest.raises(InputError, match=r"^a sequence is empty text; give its letters, or the"):
        swdual.align(text, "MKV")
    with pytest.raises(InputError, match=r"^a sequence is empty text"):
        swdual.search(text, FAMILY)
