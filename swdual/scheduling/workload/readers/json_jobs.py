"""Jobs in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError


def read_json(stream: IO[bytes], name: str) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    InputError
        If it is no JSON object with a list of jobs.
    """
    try:
        content = json.loads(stream.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", file=name) from error
    if not isinstance(content, dict) or not isinstance(content.get("jobs"), list):
        raise InputError("has no list of jobs; is this a workload?", file=name)
    return content


def convert_jobs(
    jobs: list[Any], fields: Sequence[str], convert: Callable[[Any], Sequence[float]], name: str
) -> dict[str, NDArray[np.float64]]:
    """Return (jobs,) the values of fields.

    Parameters
    ----------
    jobs, fields
        The jobs, and what the values of each are called.
    convert
        Returns the values of a job.
    name
        The file, for messages.

    Raises
    ------
    InputError
        If a job lacks a value or has a wrong one: with the job.
    """
    rows = np.empty((len(fields), len(jobs)))
    for place, job in enumerate(jobs):
        try:
            rows[:, place] = convert(job)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"has no {error}" if isinstance(error, KeyError) else str(error)
            called = job.get("id", place) if isinstance(job, dict) else place
            raise InputError(f"job {called!r:.40} {why}", file=name) from None
    return dict(zip(fields, rows, strict=True))
