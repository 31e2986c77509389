"""Simulators of cluster schedulers: what a policy would have made of a workload on a platform.

Stages, in the order in which a simulation meets them:

``job``, ``workload``
    What was asked for, and when.
``platform``, ``processors``
    Where it may run; sets of processors.
``allocator``, ``allocators``
    Which processors a job gets.
``policy``, ``policies``
    Which job starts when.
``profile``
    What will be free when, by requested times.
``engine``
    Applies events and decisions instant by instant.
``schedule``, ``validation``, ``metrics``
    What happened, whether it can be, and what it is worth.

Nothing here knows biology.

>>> from swdual.scheduling import Workload, simulate
>>> workload = Workload.from_arrays(submit_time=[0, 1, 2], run_time=[9, 9, 4], processors=[3, 4, 1])
>>> simulate(workload, 4, policy="easy").start_time.tolist()
[0.0, 9.0, 2.0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swdual.scheduling.comparison import compare
    from swdual.scheduling.engine import simulate
    from swdual.scheduling.metrics import METRICS
    from swdual.scheduling.penalty import Penalty
    from swdual.scheduling.platform import Platform
    from swdual.scheduling.schedule import Schedule
    from swdual.scheduling.workload import cirne, lublin
    from swdual.scheduling.workload.repair import Repairs
    from swdual.scheduling.workload.sample import sample, windows
    from swdual.scheduling.workload.swf import read_swf, write_swf
    from swdual.scheduling.workload.workload import Workload

_HOMES = {
    "METRICS": "metrics",
    "Penalty": "penalty",
    "Platform": "platform",
    "Repairs": "workload.repair",
    "Schedule": "schedule",
    "Workload": "workload.workload",
    "cirne": "workload.cirne",
    "compare": "comparison",
    "lublin": "workload.lublin",
    "read_swf": "workload.swf",
    "sample": "workload.sample",
    "simulate": "engine",
    "windows": "workload.sample",
    "write_swf": "workload.swf",
}

_MODULES = ("cirne", "lublin")

__all__ = [
    "METRICS",
    "Penalty",
    "Platform",
    "Repairs",
    "Schedule",
    "Workload",
    "cirne",
    "compare",
    "lublin",
    "read_swf",
    "sample",
    "simulate",
    "windows",
    "write_swf",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'swdual.scheduling' has no attribute {name!r}")
    home = importlib.import_module(f"swdual.scheduling.{_HOMES[name]}")
    return home if name in _MODULES else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
