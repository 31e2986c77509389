"""Building a database: the order of the targets, the external sort, and equal bytes."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.database import build as building
from swdual.database import writing
from swdual.database.build import build
from swdual.database.database import Database
from swdual.database.makedb import makedb
from swdual.database.mapping import MemoryFile
from swdual.database.source import TypedBatches
from swdual.errors import InputError
from swdual.sequences.alphabet import ALIGNMENT, PAD, PROTEIN
from swdual.sequences.sequence import Sequence, batch_of

records = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "a x", "\u00e9 long header"]),
        st.integers(1, 70),
        st.integers(0, 24),
    ).map(lambda parts: Sequence(parts[0], bytes([parts[2]]) * (parts[1] - 1) + b"\x01")),
    min_size=1,
    max_size=40,
)


def built(sequences, *, batch=1000, **sizes):
    """Return the bytes of a database built with these limits, from batches of so many records."""
    batches = [batch_of(sequences[i : i + batch]) for i in range(0, len(sequences), batch)]
    stream = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        for name, value in sizes.items():
            patch.setattr(writing if name == "COPY_BYTES" else building, name, value)
        build(TypedBatches(batches, PROTEIN, "t"), stream, scratch=Path(folder))
        assert list(Path(folder).iterdir()) == []
    return stream.getvalue()


def opened(data):
    return Database(MemoryFile(data, "test"))


def in_order(sequences):
    """Return places in the input, in the order that targets must have in the file."""
    return sorted(range(len(sequences)), key=lambda k: (-len(sequences[k].codes), k))


def stored_order(database):
    return [int(k) for block in database.blocks() for k in block.ordinals]


@examples(60)
@given(
    records,
    st.integers(1, 5),
    st.sampled_from([16, 100, 1000]),
    st.sampled_from([64, 400]),
    st.sampled_from([1, 3, 4096]),
)
def test_an_external_sort_gives_the_file_of_a_single_run(sequences, batch, run, block, together):
    """Runs on disk, merged, are byte for byte what memory alone would have given."""
    limits = {"RUN_RESIDUES": run, "BLOCK_BYTES": block, "STORED_RECORDS": together}
    merged = built(sequences, batch=batch, **limits)
    assert merged == built(sequences, BLOCK_BYTES=block)


@examples(60)
@given(records, st.integers(1, 5), st.integers(1, 7), st.sampled_from([64, 400, 1 << 20]))
def test_targets_lie_by_descending_length_and_ties_in_input_order(sequences, batch, run, block):
    """However the input is cut into runs and blocks, the order is the same."""
    database = opened(built(sequences, batch=batch, RUN_RECORDS=run, BLOCK_BYTES=block))
    database.check()
    assert stored_order(database) == in_order(sequences)
    assert list(database) == sequences


@examples(60)
@given(records, st.sampled_from([64, 400, 1 << 20]))
def test_a_block_is_laid_out_as_documented(sequences, block):
    """Starts are aligned, gaps and guard are PAD, blocks follow each other and keep their size."""
    database = opened(built(sequences, BLOCK_BYTES=block))
    first = 0
    for info, part in zip(database.manifest.blocks, database.blocks(), strict=True):
        assert part.first == info.first == first
        first += info.sequences
        padded = (part.lengths.astype(np.int64) + ALIGNMENT - 1) // ALIGNMENT
        assert part.starts.tolist() == (np.cumsum(padded) - padded).tolist()
        assert (info.longest, info.shortest) == (part.lengths[0], part.lengths[-1])
        assert info.residues == part.lengths.sum()
        rest = np.ones(len(part.residues), bool)
        for start, length in zip(part.starts.tolist(), part.lengths.tolist(), strict=True):
            rest[start * ALIGNMENT : start * ALIGNMENT + length] = False
        assert set(part.residues[rest].tolist()) == {PAD}
        assert info.sequences == 1 or padded.sum() * ALIGNMENT <= block
    assert first == len(database) == len(sequences)
    assert database.residues == sum(len(sequence.codes) for sequence in sequences)


@examples(30)
@given(records, st.integers(1, 50))
def test_the_bytes_do_not_depend_on_the_batches(sequences, batch):
    """Equal records give equal bytes, in whatever pieces they arrive."""
    assert built(sequences, batch=batch) == built(sequences)


def test_a_record_longer_than_a_run_or_a_block_is_kept_whole():
    """No limit cuts a sequence."""
    sequences = [Sequence("a", b"\x01" * 50), Sequence("b", b"\x02" * 5000), Sequence("c", b"\x03")]
    data = built(sequences, batch=1, RUN_RESIDUES=64, BLOCK_BYTES=64)
    assert data == built(sequences, BLOCK_BYTES=64)
    database = opened(data)
    assert list(database) == sequences
    assert len(database.manifest.blocks) == 3


def test_names_longer_than_memory_go_to_disk():
    """Header lines beyond the limit are spooled, with the same result."""
    sequences = [Sequence(f"{k} " + "x" * 500, b"\x01\x02") for k in range(50)]
    assert built(sequences, SPOOL_BYTES=1000, COPY_BYTES=700) == built(sequences)


def test_no_records_make_no_database():
    """There is no empty database."""
    with pytest.raises(InputError, match="no sequences"):
        built([])


def test_equal_input_gives_equal_files(here):
    """Built twice, and from compressed or oddly spelt text, the file is the same to the byte."""
    import gzip

    text = (here / "t.fa").read_bytes()
    (here / "t.fa.gz").write_bytes(gzip.compress(text))
    (here / "odd.fa").write_bytes(b"\n" + text.replace(b"\n", b" \r\n").lower())
    for source in ("t.fa", "t.fa.gz"):
        makedb(source, f"{source}.db", title="same").close()
    makedb("t.fa", "again.db", title="same").close()
    first = (here / "t.fa.db").read_bytes()
    assert (here / "again.db").read_bytes() == first
    assert (here / "t.fa.gz.db").read_bytes() == first
    with makedb("odd.fa", "odd.db") as odd, Database.open("t.fa.db") as plain:
        assert [x.codes for x in odd] == [x.codes for x in plain]


@pytest.mark.parametrize("limits", [{}, {"RUN_RESIDUES": 64, "BLOCK_BYTES": 64}])
def test_a_failed_build_leaves_nothing(here, monkeypatch, limits):
    """An error in the last record removes everything that was written before it."""

    monkeypatch.setattr("swdual.io.stream.CHUNK_BYTES", 50)
    for name, value in limits.items():
        monkeypatch.setattr(building, name, value)
    (here / "x.fa").write_text("".join(f">{k}\n{'MKV' * 10}\n" for k in range(50)) + ">z\nM1\n")
    before = sorted(here.rglob("*"))
    with pytest.raises(InputError, match=r"x\.fa:102: '1'"):
        makedb("x.fa", "x.db")
    assert sorted(here.rglob("*")) == before


def test_a_failed_build_leaves_the_old_database(here):
    """With force, the old file stays until the new one is complete."""
    makedb("t.fa", "t.db").close()
    old = (here / "t.db").read_bytes()
    (here / "x.fa").write_text(">x\nM1\n")
    with pytest.raises(InputError):
        makedb("x.fa", "t.db", force=True)
    assert (here / "t.db").read_bytes() == old


def test_an_open_database_survives_its_replacement(here):
    """Who has mapped the old file goes on reading it."""
    with makedb("t.fa", "t.db") as old:
        makedb("q.fa", "t.db", force=True).close()
        assert [sequence.id for sequence in old] == ["t1", "t2", "t3"]
    with Database.open("t.db") as new:
        assert [sequence.id for sequence in new] == ["q1", "q2"]
