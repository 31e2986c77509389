"""The file of rates is found again, and survives damage, other machines and full disks."""

from __future__ import annotations

import json
import math
import os

import pytest

from swdual.master import calibration_cache, cost
from swdual.master.calibration_cache import CalibrationCache
from swdual.master.cost import (
    MAX_SEEN,
    CostModel,
    Seen,
)
from swdual.runtime.cache import cache_folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache folder of its own."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", os.fspath(tmp_path))
    cache_folder.cache_clear()
    yield cache_folder()
    cache_folder.cache_clear()


class Measure:
    """Counts how often it is asked."""

    def __init__(self, gcups=2.0):
        self.gcups, self.calls = gcups, 0

    def __call__(self):
        self.calls += 1
        return CostModel.from_dict(self.gcups)


def gcups(found):
    return pytest.approx(1e-9 / found.cell_seconds[0])


def never():
    raise AssertionError("it was measured before")


def test_rates_are_measured_once_and_then_read(folder):
    """By this book, and by the next one."""
    assert folder is not None
    book, measure = CalibrationCache(), Measure()
    for _ in range(2):
        assert gcups(book.find("simd", "1 simd", measure)) == 2.0
    assert measure.calls == 1
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0
    other = Measure(3.0)
    assert gcups(CalibrationCache().find("reference", "1 simd", other)) == 3.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0
    assert sorted(path.name for path in folder.iterdir()) == ["rates.json"]


def test_corrected_rates_are_kept_for_each_crowd(folder):
    """Each crowd is measured, too: neighbours share memory and clock."""
    book = CalibrationCache()
    book.find("simd", "4 simd", Measure(2.0))
    book.keep("simd", "4 simd", CostModel.from_dict(1.5))
    book.keep("simd", "1 simd", CostModel.from_dict(2.5))
    book.save()
    for each in (book, CalibrationCache()):
        assert gcups(each.find("simd", "4 simd", never)) == 1.5
        assert gcups(each.find("simd", "1 simd", never)) == 2.5
    assert gcups(book.find("simd", "3 simd", Measure(2.2))) == 2.2
    assert gcups(CalibrationCache().find("simd", "3 simd", never)) == 2.2


def test_what_is_found_may_be_changed_without_changing_the_book(folder):
    """Rates learn while a search runs; only `keep` writes them down."""
    book = CalibrationCache()
    for _ in range(2):
        found = book.find("simd", "1 simd", Measure())
        assert gcups(found) == 2.0
        found.seen += [Seen(0, 0.5)] * MAX_SEEN
        assert gcups(found) != 2.0


KEY = "simd among 1 simd"

DAMAGED = [
    "", "{", "null", "5", '"text"', "[]", "[[1]]", "{}", '{"x": 1}', "\0\0\0",
    *(json.dumps({"MACHINE": inner}) for inner in (
        None, 5, "text", [], [1], {KEY: None}, {KEY: "x"}, {KEY: []}, {KEY: {}},
        {KEY: {"gcups": 1, "trust": [1] * 7}}, {KEY: {"probed": {"gcups": 0}, "seen": []}},
        {KEY: {"probed": 1}}, {KEY: {"probed": 1, "seen": 5}}, {KEY: {"probed": {}}},
        {KEY: {"probed": 1, "seen": [[320, 1e30]]}}, {KEY: {"probed": 1, "seen": [[5, 1]]}},
        {KEY: {"probed": 1, "seen": [[320, "x"]]}}, {KEY: {"probed": 1, "seen": [[1]]}},
        {KEY: {"probed": 1, "seen": [["x", 1]]}}, {KEY: {"probed": 1, "seen": [None]}},
        {KEY: {"probed": 1, "seen": [[320, math.nan]]}},
        {KEY: {"probed": 1, "seen": [[[], 1]]}},
        {KEY: {"probed": {"gcups": {"100": 25216, "1000": 5e-12}}, "seen": []}},
        {"other": None},
    )),
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_costs_a_calibration_only(folder, text):
    """Cut off, or of another shape: it is measured again, and then the file is right again."""
    (folder / "rates.json").write_text(text.replace('"MACHINE"', json.dumps(cost.machine())))
    measure = Measure()
    assert gcups(CalibrationCache().find("simd", "1 simd", measure)) == 2.0
    assert measure.calls == 1
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_a_file_that_was_cut_off_anywhere_costs_a_calibration_only(folder):
    """At any byte."""
    book = CalibrationCache()
    book.find("simd", "1 simd", Measure())
    whole = (folder / "rates.json").read_bytes()
    for end in range(0, len(whole), 7):
        (folder / "rates.json").write_bytes(whole[:end])
        assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
        assert (folder / "rates.json").read_bytes() == whole


def test_bytes_that_are_no_text_cost_a_calibration_only(folder):
    """UTF-8 or not."""
    (folder / "rates.json").write_bytes(b"\xff\xfe{}")
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"MACHINE": {"simd among 1 simd": '
        '{"seen": [], "probed": {"gcups": 1, "width": Infinity}}}}',
        '{"MACHINE": {"simd among 1 simd": {"seen": [], "probed": 1' + 400 * "0" + "}}}",
    ],
    ids=["nested", "infinite", "huge"],
)
def test_a_file_of_nonsense_costs_a_calibration_only(folder, text):
    """Brackets without end, and numbers that do not fit."""
    (folder / "rates.json").write_text(text.replace('"MACHINE"', json.dumps(cost.machine())))
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_other_machines_with_the_same_home_are_left_alone(folder, monkeypatch):
    """Each has its own rates, whatever another's look like."""
    (folder / "rates.json").write_text(json.dumps({"old": "strange"}))
    book = CalibrationCache()
    book.find("simd", "1 simd", Measure(2.0))
    monkeypatch.setattr(calibration_cache, "machine", lambda: "another")
    other = CalibrationCache()
    assert gcups(other.find("simd", "1 simd", Measure(9.0))) == 9.0
    kept = json.loads((folder / "rates.json").read_text())
    assert kept.pop("old") == "strange"
    assert len(kept) == 2
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 9.0
    monkeypatch.undo()
    monkeypatch.setenv("SWDUAL_CACHE_DIR", os.fspath(folder.parent))
    assert gcups(CalibrationCache().find("simd", "1 simd", never)) == 2.0


def test_books_that_write_one_after_the_other_leave_a_whole_file(folder):
    """The last one's rates are there and what only the first one knew, and no file beside it."""
    books = CalibrationCache(), CalibrationCache()
    for book, name, speed in zip(books, ("simd", "other"), (2.0, 3.0), strict=True):
        book.find(name, "1 simd", Measure(speed))
    for _ in range(3):
        for number, book in enumerate(books):
            book.keep("simd", "2 simd", CostModel.from_dict(4.0 + number))
            book.save()
            json.loads((folder / "rates.json").read_text())
    assert gcups(CalibrationCache().find("simd", "2 simd", never)) == 5.0
    for name, speed in (("simd", 2.0), ("other", 3.0)):
        assert gcups(CalibrationCache().find(name, "1 simd", never)) == speed
    assert [path.name for path in folder.iterdir()] == ["rates.json"]


def test_without_a_folder_rates_are_measured_in_each_run(monkeypatch):
    """Where nothing can be written, nothing is kept."""
    monkeypatch.setattr(calibration_cache, "cache_folder", lambda: None)
    book, measure = CalibrationCache(), Measure()
    assert book.path is None
    for _ in range(2):
        book.find("simd", "1 simd", measure)
        book.save()
    assert measure.calls == 1
    CalibrationCache().find("simd", "1 simd", measure)
    assert measure.calls == 2


def test_a_folder_that_vanished_or_a_full_disk_costs_a_calibration_only(folder, monkeypatch):
    """What cannot be written is not kept, and no half of it stays."""
    book = CalibrationCache()
    folder.rename(folder.with_name("elsewhere"))
    assert gcups(book.find("simd", "1 simd", Measure())) == 2.0
    folder.with_name("elsewhere").rename(folder)

    def full(path, text):
        path.write_bytes(text[: len(text) // 2].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(calibration_cache.Path, "write_text", full)
    book.keep("simd", "2 simd", CostModel.from_dict(1.0))
    book.save()
    assert list(folder.iterdir()) == []


def test_a_disk_that_became_read_only_costs_a_calibration_only(folder, monkeypatch):
    """There even the removal of a file that does not exist is refused."""

    def refused(path, *_, **__):
        raise OSError(30, "Read-only file system")

    book = CalibrationCache()
    monkeypatch.setattr(calibration_cache.Path, "write_text", refused)
    monkeypatch.setattr(calibration_cache.Path, "unlink", refused)
    assert gcups(book.find("simd", "1 simd", Measure())) == 2.0


def test_a_folder_in_the_place_of_the_file_costs_a_calibration_only(folder):
    """It is neither read nor replaced."""
    (folder / "rates.json").mkdir()
    assert gcups(CalibrationCache().find("simd", "1 simd", Measure())) == 2.0
    assert [path.name for path in folder.iterdir()] == ["rates.json"]
