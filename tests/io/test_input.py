"""Files that people write are read whole, but not if they have no end."""

from __future__ import annotations

import io

import pytest

from swdual.cli._times import read_times
from swdual.errors import InputError
from swdual.io.input import read_lines, read_small
from swdual.prediction.preview import plan
from swdual.scheduling.platform import Platform
from swdual.sequences.matrices import load


class Endless(io.RawIOBase):
    """A stream of one byte that never ends, and how much of it was read."""

    def __init__(self, byte):
        self.byte, self.given = byte, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = self.byte * len(buffer)
        self.given += len(buffer)
        return len(buffer)


def test_a_file_of_the_largest_size_is_read(tmp_path):
    """One byte more is too much."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_small(path, 100) == b"x" * 100
    with pytest.raises(InputError, match="is longer than 0 MiB; is this the right file"):
        read_small(path, 99)


def test_lines_come_with_their_ends():
    """As from the stream itself, the last one without an end too."""
    assert [*read_lines(io.BytesIO(b"one\n\ntwo"), "x", 4)] == [b"one\n", b"\n", b"two"]
    assert [*read_lines(io.StringIO("é\nb"), "x", 2)] == ["é\n", "b"]


def test_a_line_without_an_end_is_refused_with_its_number():
    """No more of it is read than a line may have."""
    stream = io.BufferedReader(Endless(b"9"))
    with pytest.raises(InputError, match=r"^table:1: the line is too long"):
        list(read_lines(stream, "table", 1000))
    assert stream.raw.given < 1_000_000


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("m.txt", load),
        ("p.toml", Platform.load),
        ("p.json", Platform.load),
        ("rates.json", lambda path: plan("MKV", {"t": "MKV"}, cpus=1, rates=path)),
        ("times.csv", read_times),
    ],
)
def test_a_terabyte_is_refused_at_once(tmp_path, name, read):
    """A file with a hole takes no room on a disk, and must take none in memory."""
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(b"cpu,gpu\n" if name == "times.csv" else b"")
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="has more than 16 MiB of NUL") as failure:
        read(path)
    assert failure.value.file == str(path)


def test_a_table_of_too_many_tasks_is_refused(monkeypatch, tmp_path):
    """Standard input may go on for ever."""
    monkeypatch.setattr("swdual.cli._times.MAX_TASKS", 3)
    path = tmp_path / "times.csv"
    path.write_bytes(b"cpu,gpu\n" + b"1,1\n" * 3)
    assert len(read_times(path)[0]) == 3
    path.write_bytes(b"cpu,gpu\n" + b"1,1\n" * 4)
    with pytest.raises(InputError, match="has more than 3 tasks"):
        read_times(path)
