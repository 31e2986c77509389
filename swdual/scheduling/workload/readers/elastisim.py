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
from typing import IO, Any

import numpy as np

from swdual.io.input import read_small
from swdual.scheduling.workload.readers.columns import build_trace
from swdual.scheduling.workload.readers.contract import Columns, TraceFormat
from swdual.scheduling.workload.readers.json_jobs import convert_jobs, read_json
from swdual.scheduling.workload.trace import Trace

DELAYS = ("idle", "busy_wait")

FIELDS = ("submit_time", "run_time", "requested_time", "processors", "nodes", "gpus")


def read(stream: IO[bytes], name: str, columns: Columns = None) -> Trace:
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
        nodes = int(job["num_nodes"])
        run = _sum_delays(load(job["application_model"]), job.get("arguments") or {})
        walltime = float(job.get("walltime") or np.nan)
        gpus = nodes * int(job.get("num_gpus_per_node") or 0)
        return float(job["submit_time"]), run, walltime, nodes, nodes, gpus

    jobs = read_json(stream, name)["jobs"]
    return build_trace(convert_jobs(jobs, FIELDS, convert, name), name, header=())


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
