"""Jobs of ElastiSim, JSON: rigid jobs whose application model consists of delays.

The format is that of ElastiSim's reader (src/util/Utility.cpp: readJobs, readWorkload, readTask).
Tasks of the types idle and busy_wait take the same time on any platform; the times of all others
come from a model of the platform.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.io.stream import Source, source_name
from swdual.scheduling.workload.readers.columns import build_trace
from swdual.scheduling.workload.readers.contract import Columns, TraceFormat, read_json
from swdual.scheduling.workload.trace import Trace

DELAYS = ("idle", "busy_wait")


def read(path: Source, columns: Columns = None) -> Trace:
    """Return the trace of jobs; the application models are files named from the current folder.

    Raises
    ------
    InputError
        If a file is malformed, or a job is not rigid or needs a model of the platform: with the
        job.
    """
    load = cache(lambda model: json.loads(read_small(_find(model, path))))
    jobs = read_json(path)["jobs"]
    rows = np.empty((5, len(jobs)))
    for place, job in enumerate(jobs):
        try:
            kind = str(job["type"]).lower()
            if kind != "rigid":
                raise ValueError(f"is {kind}, but only rigid jobs have one size; leave it out")
            nodes = int(job["num_nodes"])
            seconds = _sum_delays(load(job["application_model"]), job.get("arguments") or {})
            walltime = float(job.get("walltime") or np.nan)
            gpus = nodes * int(job.get("num_gpus_per_node") or 0)
            rows[:, place] = float(job["submit_time"]), seconds, walltime, nodes, gpus
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"job {place} {why}", file=source_name(path)) from None
    names = ("submit_time", "run_time", "requested_time", "processors", "gpus")
    given = dict(zip(names, rows, strict=True))
    return build_trace({**given, "nodes": given["processors"]}, source_name(path), header=())


def _find(model: str, path: Source) -> str:
    """Return where an application model is: as named, or from the folder of the jobs."""
    return model if os.path.exists(model) else str(Path(path).parent / model)


def _sum_delays(model: dict[str, Any], arguments: dict[str, Any]) -> float:
    """Return the seconds of an application; a ValueError says why it needs a platform."""

    def number(value: Any) -> float:
        return float(arguments.get(value, value) if isinstance(value, str) else value)

    total = 0.0
    for phase in (model.get("on_init"), *model.get("phases", ())):
        for task in () if phase is None else phase["tasks"]:
            kind = str(task["type"]).lower()
            if kind not in DELAYS or str(task.get("pattern")).lower() != "uniform":
                raise ValueError(
                    f"has an application model with the task {task.get('name', kind)!r:.40} of the "
                    f"type {kind}, pattern {task.get('pattern')}, whose time depends on a model of "
                    "the platform; write tasks of the type idle, pattern uniform"
                )
            repeats = number(phase.get("iterations", 1)) * number(task.get("iterations", 1))
            total += repeats * number(task["delay"])
    return total


def _begins(head: bytes) -> bool:
    keys = (b'"application_model"', b'"num_nodes')
    return head.lstrip().startswith(b"{") and any(key in head for key in keys)


FORMAT = TraceFormat("elastisim", "JSON of ElastiSim", _begins, read)
