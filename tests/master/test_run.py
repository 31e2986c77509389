"""The results of a search on their way into a format."""

from __future__ import annotations

import threading

import pytest

from swdual.api import prepare_search
from swdual.master.run import RunResults
from swdual.request.options import SearchOptions


def workers():
    """Return the threads of workers that are alive."""
    return {each for each in threading.enumerate() if each.name.startswith("swdual cpu")}


def write_nothing(search):
    """Take the first result of a search, and fail."""
    with RunResults(search, 0, "swdual search") as results:
        for result in results:
            raise OSError(f"no room for {result.query.id}")


def test_no_worker_is_left_where_whoever_takes_the_results_fails():
    """The error has the frames, and they the iterator: its workers would wait for ever."""
    before = workers()
    queries = {f"q{k}": "MKVLAWGGHER" for k in range(300)}
    search = prepare_search(queries, {"t": "MKVLAWGGHER"}, SearchOptions(threads=2))
    with pytest.raises(OSError, match="no room for q0") as kept:
        write_nothing(search)
    assert kept.traceback
    assert workers() <= before
