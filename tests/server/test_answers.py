"""What a server answers is a state or a problem, or is refused; nothing else gets through."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import examples

from swdual.server.answers import (
    MAX_ANSWER_BYTES,
    MAX_MESSAGES,
    MAX_TEXT,
    Misfit,
    read_all,
    read_events,
    read_job,
    read_problem,
)

JOB = {
    "id": "a-b_1",
    "state": "failed",
    "cells": 7,
    "cells_done": 3,
    "result_bytes": 2,
    "summary": "",
    "messages": [{"level": "warning", "text": "w"}, {"level": "shutdown", "text": "s"}],
    "problem": {"detail": "q.fa:2: m", "exit_code": 1, "message": "m", "file": "q.fa", "line": 2},
}


def write(**changes):
    return json.dumps({**JOB, **changes}).encode()


def test_a_state_is_read_with_its_messages_and_its_problem():
    job = read_job(write())
    assert (job.id, job.state, job.has_ended) == ("a-b_1", "failed", True)
    assert (job.cells, job.cells_done, job.result_bytes) == (7, 3, 2)
    assert job.messages == [(30, "w"), (20, "s")]
    assert job.problem is not None
    assert (job.problem.exit_code, job.problem.message) == (1, "m")
    assert (job.problem.file, job.problem.line) == ("q.fa", 2)
    assert read_problem(b'{"detail": "too many"}').exit_code == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "a\r\nX: y"},
        {"id": "../healthz"},
        {"id": ""},
        {"state": "exploded"},
        {"state": ["failed"]},
        {"cells": -1},
        {"cells": 10**400},
        {"cells": True},
        {"cells": 1.5},
        {"messages": {}},
        {"messages": ["text"]},
        {"messages": [{"level": "info"}]},
        {"messages": [{"level": [], "text": "x"}]},
        {"summary": None},
        {"problem": []},
        {"problem": {}},
        {"problem": {"detail": "d", "exit_code": 1}},
        {"problem": {"detail": "d", "exit_code": [1], "message": "m"}},
        {"problem": {"detail": "d", "exit_code": 1, "message": "m", "line": "2"}},
        {"problem": {"detail": "d", "exit_code": 1, "message": "m", "line": -2}},
        {"problem": {"detail": "d", "exit_code": 1, "message": "m", "file": 5}},
    ],
)
def test_a_member_of_another_type_or_range_is_refused(changes):
    with pytest.raises(Misfit):
        read_job(write(**changes))


@pytest.mark.parametrize("name", [name for name in JOB if name != "problem"])
def test_a_member_that_is_missing_is_refused(name):
    with pytest.raises(Misfit):
        read_job(json.dumps({key: value for key, value in JOB.items() if key != name}).encode())


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b"9" * 5000, b"<p>"]
)
@pytest.mark.parametrize("read", [read_job, read_problem])
def test_what_is_no_object_is_refused(read, text):
    with pytest.raises(Misfit):
        read(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "info", "2"]),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from([*JOB, "level", "text", "detail"]), inner)
    ),
    max_leaves=3,
)


@given(st.dictionaries(st.sampled_from([*JOB, "detail", "exit_code", "message"]), _VALUES))
@examples(50)
def test_any_object_is_read_or_refused(changes):
    for read in (read_job, read_problem):
        try:
            read(write(**changes))
        except Misfit:
            continue


def test_long_texts_are_cut_and_many_messages_left_out():
    many = [{"level": "info", "text": "x" * 2 * MAX_TEXT}] * 2 * MAX_MESSAGES
    job = read_job(write(messages=many))
    assert job.messages == [(20, f"{'x' * MAX_TEXT}...")] * MAX_MESSAGES


def test_what_does_not_end_is_refused():
    served = 0

    def serve():
        nonlocal served
        while True:
            served += 1
            yield b" " * 65536

    with pytest.raises(Misfit):
        read_all(serve())
    with pytest.raises(Misfit):
        [*read_events(serve())]
    assert served <= 2 * (MAX_ANSWER_BYTES // 65536 + 1)


def test_events_are_read_however_they_are_cut():
    text = b"event: failed\ndata: " + write() + b"\n\n: \n\n"
    for size in (1, 7, len(text)):
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        told = [*read_events(parts)]
        assert [job for job in told if job is not None] == [read_job(write())]
        assert len(told) == 5
