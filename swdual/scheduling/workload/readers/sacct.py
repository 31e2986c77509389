"""Slurm's accounts, as ``sacct --parsable2`` (``-P``) and ``--parsable`` print them.

The columns are those of the manual page of sacct. Dates are the local times of the cluster and
have no time zone: they are taken as if they were UTC, so that a day always has 24 hours.
"""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.stream import Source, open_text, source_name
from swdual.scheduling.workload.readers.columns import (
    build_trace,
    encode,
    parse_duration,
    parse_instant,
    settle_names,
    settle_states,
    to_numbers,
)
from swdual.scheduling.workload.readers.contract import Columns, TraceFormat
from swdual.scheduling.workload.readers.texts import Piece, TextTable
from swdual.scheduling.workload.trace import MAX_VALUE, MISSING, Trace
from swdual.text.messages import pluralize

logger = logging.getLogger("swdual")

PART = 2
"""The status of a step, which the line of its job sums up."""

KB = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30, "P": 1 << 40}

NAMED = {
    **{"user": ("user", "uid"), "group": ("account", "group")},
    **{"partition": ("partition",), "queue": ("qos",)},
}
"""The columns that hold the names of a field: the first that is there."""

WHOLE_NODES = {
    "exclusive": {"yes": 1.0, "1": 1.0, "exclusive": 1.0, "no": 0.0, "0": 0.0},
    "oversubscribe": {"no": 1.0, "exclusive": 1.0, "yes": 0.0, "ok": 0.0, "force": 0.0},
}
"""Columns that some sites have, and whether their words say that a job has its nodes for itself."""


def parse_memory(text: str) -> float:
    """Return KB; without a unit, MB.

    >>> parse_memory("16G"), parse_memory("512")
    (16777216.0, 524288.0)
    """
    unit = text[-1:].upper()
    return float(text[:-1]) * KB[unit] if unit in KB else float(text or 0) * KB["M"]


@lru_cache(1 << 16)
def find_tres(text: str, key: str) -> float:
    """Return an entry of ReqTRES or AllocTRES; NaN if it is not there.

    >>> find_tres("cpu=4,mem=16G,gres/gpu:a100=2", "gres/gpu"), find_tres("cpu=4,mem=16G", "mem")
    (2.0, 16777216.0)
    """
    entries = [entry.partition("=")[::2] for entry in text.split(",")]
    for sought in (key, f"{key}:"):  # the sum of all kinds, or each kind
        found = [
            parse_memory(value) if key == "mem" else float(value)
            for name, value in entries
            if name == sought or (sought.endswith(":") and name.startswith(sought))
        ]
        if found:
            return sum(found)
    return np.nan


class _Rows:
    """Some rows of the accounts."""

    def __init__(self, piece: Piece, name: str) -> None:
        self._texts = {column.lower(): texts for column, texts in piece.columns.items()}
        self.name, self.lines = name, piece.lines

    def texts(self, *columns: str) -> Sequence[str]:
        """Return the texts of the first of these columns that is there."""
        found = (self._texts[each] for each in columns if each in self._texts)
        return next(found, ("",) * len(self.lines))

    def numbers(
        self, *columns: str, parse: Callable[[str], float] = parse_duration
    ) -> NDArray[np.float64]:
        """Return the numbers of the first of these columns that is there; NaN if none is."""
        texts = self.texts(*columns)
        return to_numbers(texts, parse, self.name, columns[0], self.lines)

    def tres(self, key: str, *columns: str) -> NDArray[np.float64]:
        """Return an entry of trackable resources, of the first column that has it."""
        found = [self.numbers(each, parse=lambda text: find_tres(text, key)) for each in columns]
        return _first(*found)


def _first(*columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first value above 0 of each row, NaN if there is none."""
    found = np.full(len(columns[0]), np.nan)
    for column in reversed(columns):
        found = np.where(column > 0, column, found)
    return found


def read(path: Source, columns: Columns = None) -> Trace:
    """Return the trace of accounts.

    Steps are parts of jobs. Each task of an array and each component of a heterogeneous job is a
    job.

    Raises
    ------
    InputError
        If a row cannot be read: with the line.
    """
    name = source_name(path)
    parts: list[dict[str, NDArray[np.float64]]] = []
    lines: list[int] = []
    seen: dict[str, dict[str, int]] = {field: {} for field in (*NAMED, "status")}
    odd: dict[str, list[str]] = {"+": [], "[": []}
    with open_text(path) as stream:
        table = TextTable(stream, name, "|", csv.QUOTE_NONE)
        known = {column.lower() for column in table.header}
        if not known & {"jobid", "jobidraw"} or "submit" not in known:
            raise InputError(
                "needs the columns JobID and Submit, between '|'; export with sacct --parsable2 "
                "--format JobIDRaw,JobID,Submit,Start,ElapsedRaw,TimelimitRaw,AllocCPUS,State",
                file=name,
            )
        for piece in table.pieces():
            rows = _Rows(piece, name)
            jobs = rows.texts("jobid", "jobidraw")
            part = _convert(rows)
            part |= {field: encode(rows.texts(*NAMED[field]), seen[field]) for field in NAMED}
            part["status"] = encode(rows.texts("state"), seen["status"])
            part["step"] = np.array(["." in job for job in jobs], np.float64)
            parts.append(part)
            lines += piece.lines
            for mark, found in odd.items():
                found += [job for job in jobs if mark in job and "." not in job]
    for mark, what in (("+", "a component of a heterogeneous job"), ("[", "pending array tasks")):
        if odd[mark]:
            count = pluralize(len(odd[mark]), "row is", "rows are")
            text = "%s: %s %s, the first %s; each row is a job of its own"
            logger.warning(text, name, count, what, odd[mark][0])
    given = {field: np.concatenate([part[field] for part in parts]) for field in parts[0]}
    names = {}
    for field in NAMED:
        given[field], names[field] = settle_names([*seen[field]], given[field])
    status = settle_states([*seen["status"]], given["status"])
    given["status"] = np.where(given.pop("step") > 0, PART, status)
    names = {field: found for field, found in names.items() if found}
    return build_trace(given, name, lines=np.array(lines, np.int64), names=names)


def _convert(rows: _Rows) -> dict[str, NDArray[np.float64]]:
    """Return the numbers of some rows, by field."""
    ids = [re.match(r"\d*", job)[0] for job in rows.texts("jobidraw", "jobid")]  # type: ignore[index]
    given = {
        field: rows.numbers(field.removesuffix("_time"), parse=parse_instant)
        for field in ("submit_time", "start_time", "end_time")
    }
    run = rows.numbers("elapsedraw", "elapsed")
    allocated = _first(
        rows.numbers("alloccpus"), rows.numbers("ncpus"), rows.tres("cpu", "alloctres")
    )
    requested = _first(rows.numbers("reqcpus"), rows.tres("cpu", "reqtres"), allocated)
    nodes = _first(
        rows.numbers("reqnodes"),
        rows.tres("node", "reqtres", "alloctres"),
        rows.numbers("nnodes", "allocnodes"),
    )
    width = _first(requested, allocated)
    texts = [text + "M" if text.isdecimal() else text for text in rows.texts("reqmem")]
    per = np.array([{"c": 1.0, "n": 2.0}.get(text[-1:], 0.0) for text in texts])
    amount = to_numbers(
        [text.rstrip("cn") for text in texts], parse_memory, rows.name, "ReqMem", rows.lines
    )
    share = np.choose(per.astype(int), [1 / width, np.ones(len(width)), nodes / width])
    minutes = rows.numbers("timelimitraw") * 60
    joules = rows.numbers("consumedenergyraw")
    gpus = rows.tres("gres/gpu", "reqtres", "alloctres")
    tells = np.array([bool(text) for text in rows.texts("alloctres", "reqtres")])
    exclusive = np.full(len(width), np.nan)
    for column, words in WHOLE_NODES.items():
        told = np.array([words.get(text.lower(), np.nan) for text in rows.texts(column)])
        exclusive = np.where(np.isnan(told), exclusive, told)
    return {
        **given,
        "number": np.array([float(each or MISSING) for each in ids]),
        "run_time": np.where(np.isnan(run), given["end_time"] - given["start_time"], run),
        "requested_time": _first(minutes, rows.numbers("timelimit")),
        "allocated_processors": allocated,
        "requested_processors": requested,
        "requested_memory": _first(
            amount * share, rows.tres("mem", "reqtres", "alloctres") / width
        ),
        "nodes": nodes,
        "gpus": np.where(np.isnan(gpus) & tells, 0.0, gpus),
        "exclusive": exclusive,
        "power": np.where(
            (joules > 0) & (joules < MAX_VALUE) & (run > 0),
            joules / np.where(run > 0, run, 1),
            np.nan,
        ),
    }


FORMAT = TraceFormat(
    "sacct",
    "output of Slurm's sacct",
    re.compile(rb"\s*[^\n,;\t]*\bJobID(Raw)?\b[^\n,;\t]*(\n|\Z)", re.IGNORECASE).match,
    read,
)
