"""Slurm's accounts, as ``sacct --parsable2`` (``-P``) and ``--parsable`` print them.

The columns are those of the manual page of sacct. Dates are the local times of the cluster and
have no time zone: they are taken as if they were UTC, so that a day always has 24 hours.
"""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import IO

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.scheduling.workload.readers.columns import (
    DURATIONS,
    INSTANTS,
    STATUS,
    ToNames,
    ToNumbers,
    Wanted,
    build_trace,
    settle,
)
from swdual.scheduling.workload.readers.texts import TextTable
from swdual.scheduling.workload.trace import MAX_VALUE, Trace
from swdual.text.messages import parse_number, pluralize

logger = logging.getLogger("swdual")

PART = 2
"""The status of a step, which the line of its job sums up."""

KB = 1024
"""Of a MB."""

MB = {"K": 1 / KB, "M": 1, "G": KB, "T": KB**2, "P": KB**3}


def parse_memory(text: str) -> float:
    """Return MB, of the job, or of what ``c`` (processor) or ``n`` (node) behind it says.

    >>> parse_memory("16G"), parse_memory("512Mc"), parse_memory("512")
    (16384.0, 512.0, 512.0)
    """
    amount = text.rstrip("cn")
    unit = amount[-1:].upper()
    return parse_number(amount[:-1]) * MB[unit] if unit in MB else parse_number(amount)


def find_tres(text: str, key: str) -> float:
    """Return an entry of ReqTRES or AllocTRES; NaN if it is not there.

    >>> find_tres("cpu=4,mem=16G,gres/gpu:a100=2", "gres/gpu"), find_tres("cpu=4,mem=16G", "mem")
    (2.0, 16384.0)
    """
    entries = [entry.partition("=")[::2] for entry in text.split(",")]
    for sought in (key, f"{key}:"):  # the sum of all kinds, or each kind
        found = [
            parse_memory(value) if key == "mem" else parse_number(value)
            for name, value in entries
            if name == sought or (sought.endswith(":") and name.startswith(sought))
        ]
        if found:
            return sum(found)
    return np.nan


class ToSteps:
    """Texts that name jobs, whether they are steps; those of odd jobs are kept."""

    what = "job"

    def __init__(self) -> None:
        self.odd: dict[str, list[str]] = {"+": [], "[": []}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return whether they are steps."""
        for mark, found in self.odd.items():
            found += [job for job in texts if mark in job and "." not in job]
        return np.array(["." in job for job in texts], np.float64)


NAMED = {
    **{"user": ("user", "uid"), "group": ("account", "group")},
    **{"partition": ("partition",), "queue": ("qos",)},
}
"""The columns that hold the names of a field: the first that is there."""

COUNTED = (
    *("elapsedraw", "elapsed", "timelimitraw", "timelimit", "alloccpus", "ncpus", "reqcpus"),
    *("reqnodes", "nnodes", "allocnodes", "consumedenergyraw"),
)


def parse_identifier(text: str) -> float:
    """Return the number with which the name of a job begins; NaN if there is none.

    >>> parse_identifier("123_4"), parse_identifier("123+0")
    (123.0, 123.0)
    """
    digits = re.match(r"\d+", text)
    return float(digits[0]) if digits else np.nan


def _words(**words: float) -> ToNumbers:
    return ToNumbers(lambda text: words.get(text.lower(), np.nan), plain=False)


WANTED: Wanted = {
    **{column: (column, INSTANTS) for column in ("submit", "start", "end")},
    **{column: (column, DURATIONS) for column in COUNTED},
    **{
        f"{column} {key}": (column, ToNumbers(partial(find_tres, key=key)))
        for column in ("reqtres", "alloctres")
        for key in ("cpu", "node", "gres/gpu", "mem")
    },
    "reqmem": ("reqmem", ToNumbers(parse_memory)),
    "per": (
        "reqmem",
        ToNumbers(lambda text: {"c": 1.0, "n": 2.0}.get(text[-1:], 0.0), plain=False),
    ),
    # Some sites have columns that say whether a job has its nodes for itself.
    "exclusive": ("exclusive", _words(**{"1": 1, "0": 0}, yes=1, exclusive=1, no=0)),
    "oversubscribe": ("oversubscribe", _words(no=1, exclusive=1, yes=0, ok=0, force=0)),
    "state": ("state", STATUS),
    "running": ("state", _words(running=1, suspended=1)),
}
"""What is read of the columns that there are, by keys; columns in small letters."""


class _Found(dict[str, NDArray[np.float64]]):
    """What was read, by keys."""

    def first(self, *keys: str, above: float = 0) -> NDArray[np.float64]:
        """Return the first value above a bound in each row, NaN if there is none."""
        values = np.full(len(self["submit"]), np.nan)
        for key in reversed(keys):
            if key in self:
                values = np.where(self[key] > above, self[key], values)
        return values


def is_accounts(header: Iterable[str]) -> bool:
    """Return whether the columns of a table are those of sacct."""
    names = {column.lower() for column in header}
    return names & {"submit", "submit_time"} == {"submit"} and bool(names & {"jobid", "jobidraw"})


def read(stream: IO[bytes], name: str) -> Trace:
    """Return the trace of accounts, between ``|`` or what is there instead: see `convert`."""
    return convert(TextTable(stream, name, "|;,\t", csv.QUOTE_NONE), name)


def convert(table: TextTable, name: str) -> Trace:
    """Return the trace of accounts in a table.

    Steps are parts of jobs. Each task of an array and each component of a heterogeneous job is a
    job.

    Raises
    ------
    InputError
        If a row cannot be read: with the line.
    """
    if not is_accounts(table.header):
        raise InputError(
            "needs the columns JobID and Submit, between '|'; export with sacct --parsable2 "
            "--format JobIDRaw,JobID,Submit,Start,ElapsedRaw,TimelimitRaw,AllocCPUS,State",
            file=name,
        )
    known = {column.lower(): column for column in table.header}
    jobs = [column for column in ("jobid", "jobidraw") if column in known]
    steps = ToSteps()
    chosen = {
        **WANTED,
        "number": (jobs[-1], ToNumbers(parse_identifier, plain=False)),
        "step": (jobs[0], steps),
    }
    for field, choice in NAMED.items():
        chosen[field] = next((x for x in choice if x in known), ""), ToNames()
    wanted = {
        key: (known[column], each) for key, (column, each) in chosen.items() if column in known
    }
    found, lines = table.read(wanted)
    for mark, what in (("+", "a component of a heterogeneous job"), ("[", "pending array tasks")):
        if steps.odd[mark]:
            count = pluralize(len(steps.odd[mark]), "row is", "rows are")
            text = "%s: %s %s, the first %s; each row is a job of its own"
            logger.warning(text, name, count, what, steps.odd[mark][0])
    names = settle(found, wanted)
    given = _convert(_Found(found)) | {field: found[field] for field in NAMED if field in found}
    return build_trace(given, name, lines=lines, names=names)


def _convert(found: _Found) -> dict[str, NDArray[np.float64]]:
    """Return the fields, of what was read."""
    run = found.first("elapsedraw", "elapsed", above=-np.inf)
    allocated = found.first("alloccpus", "ncpus", "alloctres cpu")
    # What a job had, for the requested nodes are only the fewest that would do.
    nodes = found.first("alloctres node", "allocnodes", "nnodes", "reqnodes", "reqtres node")
    minutes = found.first("timelimitraw")
    gpus = found.first("reqtres gres/gpu", "alloctres gres/gpu")
    tells = found.first("reqtres cpu", "alloctres cpu") > 0
    per = found.first("per", above=-1)
    asked = found.first("reqmem") * np.where(per == 2, nodes, 1)
    memory = np.where(asked > 0, asked, found.first("reqtres mem", "alloctres mem"))
    joules = found.first("consumedenergyraw")
    watts = joules / np.where(run > 0, run, np.nan)
    start, end = (found.first(key, above=-np.inf) for key in ("start", "end"))
    status, step = (found.first(key, above=-np.inf) for key in ("state", "step"))
    return {
        "number": found["number"],
        "submit_time": found["submit"],
        "start_time": start,
        "run_time": np.where(np.isnan(run), end - start, run),
        "requested_time": np.where(minutes > 0, minutes * 60, found.first("timelimit")),
        "allocated_processors": allocated,
        "requested_processors": found.first("reqcpus", "reqtres cpu"),
        "requested_memory": np.where(per == 1, asked, np.nan) * KB,
        "job_memory": memory * KB,
        "running": found.first("running"),
        "status": np.where(step > 0, PART, status),
        "nodes": nodes,
        "gpus": np.where(np.isnan(gpus) & tells, 0.0, gpus),
        "exclusive": found.first("oversubscribe", "exclusive", above=-np.inf),
        "power": np.where(joules < MAX_VALUE, watts, np.nan),
    }
