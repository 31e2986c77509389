"""Simulators of cluster schedulers: workloads on platforms, under policies and allocators.

Stages, in the order in which a simulation meets them:

``job``, ``workload``
    What was asked for, and when.
``platform``, ``processors``, ``penalty``, ``power``, ``switching``, ``signals``
    Where it may run; sets of processors; how much longer a job runs on distant ones; watts of a
    processor, nodes that are off; price and carbon of energy and a cap on power over time.
``nodes``, ``node_table``, ``node_profile``, ``outages``
    Nodes with memory and GPUs, what jobs ask of them, what they will have free; when they are down.
``allocator``, ``allocators``
    Which processors a job gets.
``policy``, ``policies``
    Which job starts when: the contract of a policy, and those that there are.
``orders``, ``fair_share``, ``predictors``
    Which waiting job comes first; how much users have used; how long jobs are expected to run.
``placing``, ``shadow``, ``plugins``
    Helpers for policies; policies and allocators of files, classes and other packages.
``profile``, ``reservations``, ``kernels``
    Processors that will be free, by requested times; reserved starts; the compiled parts.
``simulation``, ``engine``, ``switching_engine``, ``node_engine``, ``arrivals``, ``recorder``
    Chooses an engine, which applies events and decisions instant by instant; others, for nodes that
    are off, and nodes with memory; when jobs are submitted; notes what becomes of each job.
``compiled``
    All of that for FCFS and EASY, on columns.
``schedule_data``, ``validation``, ``node_validation``, ``energy``, ``metrics``, ``reports``,
``frames``, ``schedule``
    When and where jobs ran; checks, joules, metrics, tables, charts and data frames; all in one
    class.
``intervals``
    Confidence intervals of metrics over several workloads.
``campaign``
    Simulates workloads under several policies and allocators, each with each.
``conformance``, ``gym``
    Tries a policy on random jobs; an environment of Gymnasium, for agents that learn.

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
    from swdual.scheduling import campaign
    from swdual.scheduling.conformance import check_policy
    from swdual.scheduling.job import Job
    from swdual.scheduling.metrics import METRICS
    from swdual.scheduling.nodes import NodeGroup
    from swdual.scheduling.outages import Outage, Outages
    from swdual.scheduling.penalty import Penalty
    from swdual.scheduling.placing import reason_to_wait, start_now
    from swdual.scheduling.platform import Platform
    from swdual.scheduling.policy import DecisionError, Option, Resize, Start, Stop, View
    from swdual.scheduling.power import PowerModel
    from swdual.scheduling.reports.comparison import compare
    from swdual.scheduling.reports.page import write_report
    from swdual.scheduling.schedule import Schedule
    from swdual.scheduling.signals import Signal, Signals
    from swdual.scheduling.simulation import simulate
    from swdual.scheduling.workload import cirne, lublin
    from swdual.scheduling.workload.formats import read_workload, write_workload
    from swdual.scheduling.workload.repair import Repairs
    from swdual.scheduling.workload.resample import resample
    from swdual.scheduling.workload.sample import draw_windows, sample, windows
    from swdual.scheduling.workload.swf import read_swf, write_swf
    from swdual.scheduling.workload.workload import Workload

_HOMES = {
    "conformance": ("check_policy",),
    "job": ("Job",),
    "metrics": ("METRICS",),
    "nodes": ("NodeGroup",),
    "outages": ("Outage", "Outages"),
    "penalty": ("Penalty",),
    "placing": ("reason_to_wait", "start_now"),
    "platform": ("Platform",),
    "policy": ("DecisionError", "Option", "Resize", "Start", "Stop", "View"),
    "power": ("PowerModel",),
    "reports.comparison": ("compare",),
    "reports.page": ("write_report",),
    "schedule": ("Schedule",),
    "simulation": ("simulate",),
    "signals": ("Signal", "Signals"),
    "workload.formats": ("read_workload", "write_workload"),
    "workload.repair": ("Repairs",),
    "workload.resample": ("resample",),
    "workload.sample": ("draw_windows", "sample", "windows"),
    "workload.swf": ("read_swf", "write_swf"),
    "workload.workload": ("Workload",),
}
"""The modules of public names."""

_MODULES = {"campaign": "campaign", "cirne": "workload.cirne", "lublin": "workload.lublin"}

__all__ = [
    "METRICS",
    "DecisionError",
    "Job",
    "NodeGroup",
    "Option",
    "Outage",
    "Outages",
    "Penalty",
    "Platform",
    "PowerModel",
    "Repairs",
    "Resize",
    "Schedule",
    "Signal",
    "Signals",
    "Start",
    "Stop",
    "View",
    "Workload",
    "campaign",
    "check_policy",
    "cirne",
    "compare",
    "draw_windows",
    "lublin",
    "read_swf",
    "read_workload",
    "reason_to_wait",
    "resample",
    "sample",
    "simulate",
    "start_now",
    "windows",
    "write_report",
    "write_swf",
    "write_workload",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{_MODULES[name]}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
