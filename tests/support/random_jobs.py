"""Small workloads for comparison with slow oracles."""

from __future__ import annotations

import numpy as np

from swdual.scheduling.workload.workload import Workload


def jobs_at_random(seed, count, processors, longest=12):
    """Return (submit_time, run_time, requested_time, processors) of busy jobs, in whole numbers.

    Most request more than they run, some run into their limit, some have one submit time.
    """
    random = np.random.default_rng(seed)
    submit = np.cumsum(random.integers(0, 4, count))
    requested = random.integers(1, longest + 1, count)
    run = random.integers(1, longest + 1, count)
    wide = np.ceil(processors * random.random(count) ** 2).astype(int)
    return [
        tuple(job)
        for job in zip(*(x.tolist() for x in (submit, run, requested, wide)), strict=True)
    ]


def workload_of(jobs, **extra):
    """Return the workload of jobs in that form, with other columns."""
    submit, run, requested, processors = (np.array(column) for column in zip(*jobs, strict=True))
    return Workload.from_arrays(submit, run, processors, requested_time=requested, extra=extra)
