"""Workloads of the simulators Batsim and ElastiSim, JSON, whose jobs last a known time.

That of Batsim is of its documentation (docs/input-workload.rst of its release 5.0): a job runs for
the time of its profile if that is a delay or a sequence of delays. That of ElastiSim is of its
reader (src/util/Utility.cpp: readJobs, readWorkload, readTask): tasks of the types idle and
busy_wait take the same time on any platform. The times of all others come from a model of the
platform.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.scheduling.workload.readers.columns import build_trace
from swdual.scheduling.workload.swf import warn_of_lost
from swdual.scheduling.workload.trace import Trace
from swdual.text.messages import parse_number

FIELDS = ("submit_time", "run_time", "requested_time", "processors", "nodes", "gpus")
"""What is read of a job; Batsim tells the first four."""

DELAYS = ("delay", "DelayProfile")
SEQUENCES = ("composed", "SequentialCompositionProfile")
"""Types of profiles, until Batsim 4 and since Batsim 5."""

MAX_DEPTH = 100
"""Sequences within sequences."""

WAITS = ("idle", "busy_wait")
"""Types of tasks of ElastiSim."""


def read_batsim(stream: IO[bytes], name: str) -> Trace:
    """Return the trace of a workload; jobs without a walltime have no requested time.

    Raises
    ------
    InputError
        If the file is malformed, or a job's profile is no delay: with the job.
    """
    content = _read_json(stream, name)
    jobs, profiles = content["jobs"], content.get("profiles")
    if not isinstance(profiles, dict):
        raise InputError("has no profiles; is this a workload of Batsim?", file=name)

    def convert(job: Any) -> tuple[float, ...]:
        run, walltime = (
            _find_delay(str(job["profile"]), profiles),
            parse_number(job.get("walltime", -1)),
        )
        limit = walltime if walltime > 0 else np.nan
        return parse_number(job["subtime"]), run, limit, parse_number(job["res"])

    given = _convert_jobs(jobs, FIELDS[:4], convert, name)
    ids = [str(job.get("id", "")).rpartition("!")[2] for job in jobs]  # workload!job
    if all(each.isdecimal() for each in ids):
        given["number"] = np.array(ids, np.float64)
    size = content.get("nb_res")
    header = (f"; MaxProcs: {size}",) if isinstance(size, int) else ()
    return build_trace(given, name, header=header)


def write_batsim(trace: Trace) -> Iterator[bytes]:
    """Yield the text of a workload of Batsim: a profile of the type delay for each run time."""
    run, profiles = trace["run_time"], {}
    warn_of_lost(trace, ".json")
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


def read_elastisim(stream: IO[bytes], name: str) -> Trace:
    """Return the trace of jobs; the application models are files named from the current folder.

    Raises
    ------
    InputError
        If a file is malformed, or a job is not rigid or needs a model of the platform: with the
        job.
    """

    @cache
    def load(model: str) -> Any:
        """Return an application model, as named, or from the folder of the jobs."""
        there = model if os.path.exists(model) else Path(name).parent / model
        return json.loads(read_small(there))

    def convert(job: Any) -> tuple[float, ...]:
        kind = str(job["type"]).lower()
        if kind != "rigid":
            raise ValueError(f"is {kind}, but only rigid jobs have one size; leave it out")
        nodes = int(parse_number(job["num_nodes"]))
        run = _sum_delays(load(job["application_model"]), job.get("arguments") or {})
        walltime = parse_number(job.get("walltime") or np.nan)
        gpus = nodes * int(parse_number(job.get("num_gpus_per_node") or 0))
        return parse_number(job["submit_time"]), run, walltime, nodes, nodes, gpus

    jobs = _read_json(stream, name)["jobs"]
    return build_trace(_convert_jobs(jobs, FIELDS, convert, name), name, header=())


def _find_delay(name: str, profiles: Mapping[str, Any], depth: int = 0) -> float:
    """Return the seconds that a profile takes on any platform; a ValueError says why not."""
    if name not in profiles:
        raise ValueError(f"has the profile {name!r:.40}, which is not there")
    profile = profiles[name]
    kind = profile["type"]
    if kind in DELAYS:
        return parse_number(profile["delay"])
    if kind in SEQUENCES and depth < MAX_DEPTH:
        parts = (_find_delay(str(each), profiles, depth + 1) for each in profile["seq"])
        return int(parse_number(profile.get("repeat", 1))) * sum(parts)
    raise ValueError(
        f"has the profile {name!r:.40} of the type {kind}, whose time depends on a model of the "
        "platform; give its jobs profiles of the type delay"
    )


def _sum_delays(model: dict[str, Any], arguments: dict[str, Any]) -> float:
    """Return the seconds of an application; a ValueError says why it needs a platform."""

    def number(value: Any) -> float:
        return parse_number(arguments.get(value, value) if isinstance(value, str) else value)

    total = 0.0
    for phase in (model.get("on_init"), *model.get("phases", ())):
        for task in () if phase is None else phase["tasks"]:
            kind = str(task["type"]).lower()
            if kind not in WAITS or str(task.get("pattern")).lower() != "uniform":
                raise ValueError(
                    f"has an application model with the task {task.get('name', kind)!r:.40} of the "
                    f"type {kind}, pattern {task.get('pattern')}, whose time depends on a model of "
                    "the platform; write tasks of the type idle, pattern uniform"
                )
            repeats = number(phase.get("iterations", 1)) * number(task.get("iterations", 1))
            total += repeats * number(task["delay"])
    return total


def _read_json(stream: IO[bytes], name: str) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        content = json.loads(stream.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", file=name) from error
    if not isinstance(content, dict) or not isinstance(content.get("jobs"), list):
        raise InputError("has no list of jobs; is this a workload?", file=name)
    return content


def _convert_jobs(
    jobs: list[Any], fields: Sequence[str], convert: Callable[[Any], Sequence[float]], name: str
) -> dict[str, NDArray[np.float64]]:
    """Return (jobs,) the values of fields; errors name the job."""
    rows = np.empty((len(fields), len(jobs)))
    for place, job in enumerate(jobs):
        try:
            rows[:, place] = convert(job)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"has no {error}" if isinstance(error, KeyError) else str(error)
            called = job.get("id", place) if isinstance(job, dict) else place
            raise InputError(f"job {called!r:.40} {why}", file=name) from None
    return dict(zip(fields, rows, strict=True))
