"""Workloads of Batsim, JSON: jobs, and the profiles that tell how long they run.

The format is that of Batsim's documentation (docs/input-workload.rst of its release 5.0). A job
runs for the time of its profile if that is a delay or a sequence of delays; the times of all other
profiles come from a model of the platform.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np

from swdual.errors import InputError
from swdual.scheduling.workload.readers.columns import build_trace
from swdual.scheduling.workload.readers.contract import Columns, TraceFormat
from swdual.scheduling.workload.readers.json_jobs import convert_jobs, read_json
from swdual.scheduling.workload.trace import Trace

DELAYS = ("delay", "DelayProfile")
SEQUENCES = ("composed", "SequentialCompositionProfile")
"""Types of profiles, until Batsim 4 and since Batsim 5."""

FIELDS = ("submit_time", "run_time", "requested_time", "processors")

MAX_DEPTH = 100
"""Sequences within sequences."""


def read(stream: IO[bytes], name: str, columns: Columns = None) -> Trace:
    """Return the trace of a workload; jobs without a walltime have no requested time.

    Raises
    ------
    InputError
        If the file is malformed, or a job's profile is no delay: with the job.
    """
    content = read_json(stream, name)
    jobs, profiles = content["jobs"], content.get("profiles")
    if not isinstance(profiles, dict):
        raise InputError("has no profiles; is this a workload of Batsim?", file=name)

    def convert(job: Any) -> tuple[float, ...]:
        run, walltime = _find_delay(str(job["profile"]), profiles), float(job.get("walltime", -1))
        limit = walltime if walltime > 0 else np.nan
        return float(job["subtime"]), run, limit, float(job["res"])

    given = convert_jobs(jobs, FIELDS, convert, name)
    ids = [str(job.get("id", "")).rpartition("!")[2] for job in jobs]  # workload!job
    if all(each.isdecimal() for each in ids):
        given["number"] = np.array(ids, np.float64)
    size = content.get("nb_res")
    header = (f"; MaxProcs: {size}",) if isinstance(size, int) else ()
    return build_trace(given, name, header=header)


def _find_delay(name: str, profiles: Mapping[str, Any], depth: int = 0) -> float:
    """Return the seconds that a profile takes on any platform; a ValueError says why not."""
    if name not in profiles:
        raise ValueError(f"has the profile {name!r:.40}, which is not there")
    profile = profiles[name]
    kind = profile["type"]
    if kind in DELAYS:
        return float(profile["delay"])
    if kind in SEQUENCES and depth < MAX_DEPTH:
        parts = (_find_delay(str(each), profiles, depth + 1) for each in profile["seq"])
        return int(profile.get("repeat", 1)) * sum(parts)
    raise ValueError(
        f"has the profile {name!r:.40} of the type {kind}, whose time depends on a model of the "
        "platform; give its jobs profiles of the type delay"
    )


def write(trace: Trace) -> Iterator[bytes]:
    """Yield the text of a workload: a profile of the type delay for each run time."""
    run, profiles = trace["run_time"], {}
    yield b'{\n"nb_res": %d,\n"jobs": [' % (
        trace.machine_processors or trace["allocated_processors"].max(initial=1)
    )
    columns = [
        trace[each] for each in ("number", "submit_time", "requested_time", "allocated_processors")
    ]
    comma = "\n"
    for number, submit, walltime, wide, delay in zip(*columns, run, strict=True):
        called = f"delay{float(delay)!r}"
        profiles[called] = {"type": "DelayProfile", "delay": float(delay)}
        job = {
            **{"id": f"{number:.0f}", "subtime": float(submit), "walltime": float(walltime)},
            **{"res": int(wide), "profile": called},
        }
        yield f"{comma}{json.dumps(job)}".encode()
        comma = ",\n"
    yield f'\n],\n"profiles": {json.dumps(profiles, indent=0)}\n}}\n'.encode()


def _begins(head: bytes) -> bool:
    keys = (b'"subtime"', b'"nb_res"', b'"profiles"')
    return head.lstrip().startswith(b"{") and any(key in head for key in keys)


FORMAT = TraceFormat("batsim", "JSON of Batsim", _begins, read)
