"""Simulate a workload: find the policy and the allocator, choose the engine, and run it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from swdual import registry
from swdual.errors import InputError
from swdual.io.progress import progress_bar
from swdual.runtime.keywords import suggest_names
from swdual.scheduling import policy as policies
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.compiled import CompiledEngine, find_rule
from swdual.scheduling.engine import Engine
from swdual.scheduling.node_engine import NodeEngine
from swdual.scheduling.node_table import NodeTable
from swdual.scheduling.outages import Outages
from swdual.scheduling.penalty import Penalty
from swdual.scheduling.platform import Platform
from swdual.scheduling.plugins import (
    AllocatorPlugin,
    PolicyPlugin,
    find_allocator,
    find_line,
    find_policy,
    policy_names,
)
from swdual.scheduling.policy import DecisionError, Policy
from swdual.scheduling.power import PowerModel
from swdual.scheduling.reports.explanation import check_explained
from swdual.scheduling.schedule import Schedule
from swdual.scheduling.signals import Signals
from swdual.scheduling.switching import OnFirst, PoweredNodes
from swdual.scheduling.switching_engine import SwitchingEngine, refuse_switching
from swdual.scheduling.workload.source import WorkloadSource, as_workload
from swdual.scheduling.workload.workload import Workload


@suggest_names
def simulate(
    workload: WorkloadSource,
    platform: Platform | int,
    policy: str | os.PathLike[str] | type[Policy] = "easy",
    allocator: str | os.PathLike[str] | Allocator = "basic",
    *,
    options: Mapping[str, Any] | None = None,
    penalty: Penalty | None = None,
    power: PowerModel | None = None,
    signals: Signals | None = None,
    outages: Outages | None = None,
    explain: Iterable[int] = (),
    progress: bool = False,
) -> Schedule:
    """Simulate a workload on a platform under a policy; return the schedule.

    Parameters
    ----------
    workload
        The jobs; or the path of a trace, as `read_workload` reads it.
    platform
        Where they run; a number is that many processors, all alike.
    policy
        A name, such as "easy" ("swdual list policies" prints all), the path of a Python file with
        a policy, or a class: see `swdual.scheduling.policy`.
    allocator
        Likewise: a name, a path, or an object with ``FORCED`` and ``choose``.
    options
        Options of the policy by name.
    penalty
        How much longer a job runs on processors further apart than need be; None: no longer.
    power
        Watts of processors, and when idle nodes are switched off: see `SwitchingEngine`. None:
        all are on, and their energy is not known.
    signals
        Price and carbon of energy, and a cap on power, over time: for metrics, and for policies
        that look at them. None: nothing of these is known.
    outages
        When nodes of the platform are down, and what becomes of jobs there; None: never.
    explain
        Numbers of jobs about which the policy is to say why they wait or start.
    progress
        Draw a progress bar.

    Raises
    ------
    InputError
        If a job needs more processors than there are, a name, option or job to explain does not
        exist, or the policy cannot handle this workload, allocator or penalty.
    DecisionError
        If the policy decides what cannot be; with its file and line if it was read from a file.
    """
    workload = as_workload(workload)
    if not isinstance(platform, Platform):
        platform = Platform(platform)
    check_widths(workload, platform)
    plugin, allocator_plugin = find_policy(policy), find_allocator(allocator)
    make_engine: Any = Engine
    if platform.node_table is not None:
        _check_nodes(
            workload, platform.node_table, plugin, allocator_plugin, penalty, power, outages
        )
        make_engine = partial(NodeEngine, nodes=platform.node_table, outages=outages)
    elif outages is not None:
        raise InputError("outages are of nodes: give a platform that has nodes")
    elif power is not None and power.switches:
        if plugin.traits.malleable or workload.speedup is not None:
            raise refuse_switching()
        begin = float(workload.submit_time[0]) if len(workload) else 0.0
        nodes = PoweredNodes(power, platform, begin)
        make_engine = partial(SwitchingEngine, nodes=nodes)
        chooser: Allocator = OnFirst(allocator_plugin.allocator, nodes)
        allocator_plugin = allocator_plugin._replace(allocator=chooser)
    scheduler, chosen = make_policy(plugin, platform, allocator_plugin.allocator, options or {})
    traits = plugin.traits
    if traits.malleable or traits.jobs != "rigid":
        workload.check_follows_none(f"the policy {plugin.name}")
    if traits.malleable and penalty is not None:
        raise InputError(
            f"under {plugin.name} the processors of a running job change, and a penalty is for "
            "those that it starts on; leave the penalty out"
        )
    watched = {*check_explained(workload, explain)}
    rule = find_rule(scheduler, allocator_plugin.allocator)
    plain = penalty is None and workload.speedup is None and not (watched or workload.follow)
    engine: Engine | CompiledEngine
    if rule is not None and plain:
        engine = CompiledEngine(workload, platform, plugin.name, rule, power, signals)
    else:
        engine = make_engine(
            workload,
            platform,
            allocator_plugin.allocator,
            penalty,
            watched,
            plugin.name,
            malleable=traits.malleable,
            power=power,
            signals=signals,
        )
    with progress_bar(
        f"{plugin.name}, {allocator_plugin.name}", "jobs/s", 1, shown=progress
    ) as show:
        try:
            engine.run(scheduler, show)
        except DecisionError as error:
            if plugin.file is None:
                raise
            frame = getattr(engine.decisions, "gi_frame", None)  # where a generator stands
            line = (
                find_line(plugin.file, error.__cause__ or error)
                if frame is None
                else frame.f_lineno
            )
            raise DecisionError(error.message, file=plugin.file, line=line) from error
    return engine.schedule(policies.OWN if traits.places else allocator_plugin.name, chosen)


def make_policy(
    plugin: PolicyPlugin, platform: Platform, allocator: Allocator, options: Mapping[str, Any]
) -> tuple[Policy, dict[str, Any]]:
    """Return a policy, ready for one simulation, and all its options as they are shown.

    Parameters
    ----------
    plugin
        The policy.
    platform, allocator
        What it is made for.
    options
        Its options by name; others have their defaults.

    Raises
    ------
    InputError
        If there is no such option, or it cannot have that value, or would have no effect.
    """
    name, known = plugin.name, plugin.options
    for option in options:
        if option not in known:
            if not known:
                raise InputError(f"the policy {name} has no options, so {option!r} is unknown")
            raise InputError(registry.unknown(f"option of the policy {name}:", option, known))
    chosen = {key: option.check(key, options.get(key)) for key, option in known.items()}
    values = {"function" if callable(value) else value for value in chosen.values()}
    shown = {}
    for key, value in chosen.items():
        needs, given = known[key].needs, options.get(key) is not None
        used_by = values.intersection(needs)
        # A function may use the option or not: it is shown if it was given.
        if not needs or used_by - {"function"} or (used_by and given):
            shown[key] = policies.name_value(value)
        elif given and not used_by:
            raise InputError(
                f"{key} has no effect without one of these as an option of the policy {name}: "
                f"{', '.join(needs)}; leave {key} out"
            )
    return plugin.make(platform, allocator, **chosen), shown


def check_widths(workload: Workload, platform: Platform) -> None:
    """Raise an InputError if a job needs more processors than there are."""
    too_wide = np.flatnonzero(workload.processors > platform.processors)
    if len(too_wide):
        first = int(too_wide[0])
        raise InputError(
            f"job {workload.number[first]} needs {workload.processors[first]} processors, but the "
            f"platform has {platform.processors} ({len(too_wide):,} jobs are too wide); choose a "
            "larger platform, or drop or cap such jobs",
            file=workload.source,
            line=None if workload.lines is None else int(workload.lines[first]),
        )


def _check_nodes(
    workload: Workload,
    nodes: NodeTable,
    plugin: PolicyPlugin,
    allocator: AllocatorPlugin,
    penalty: Penalty | None,
    power: PowerModel | None,
    outages: Outages | None,
) -> None:
    """Check that jobs can be placed on nodes."""
    if not plugin.traits.nodes:
        able = [name for name in policy_names() if find_policy(name).traits.nodes]
        raise InputError(
            f"the policy {plugin.name} does not place jobs on nodes; choose one of "
            f"{', '.join(able)}, or a platform of processors"
        )
    if workload.speedup is not None:
        raise InputError("moldable jobs are not placed on nodes; choose a platform of processors")
    if allocator.name != "basic":
        raise InputError(
            f"on nodes, jobs are placed by first fit; leave the allocator {allocator.name} out"
        )
    if penalty is not None:
        raise InputError("penalties are for platforms of processors; leave the penalty out")
    if power is not None and power.switches:
        raise InputError(
            "idle nodes are only switched off on platforms of processors; leave idle_timeout out"
        )
    if outages is not None:
        outages.check_nodes(len(nodes))
    nodes.check_requests(workload)
