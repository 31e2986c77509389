"""Check what a schedule does with nodes: their memory and GPUs, partitions, and outages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.scheduling.node_table import NodeTable
from swdual.scheduling.outages import Outages
from swdual.scheduling.schedule_data import ScheduleData


class _Shares(NamedTuple):
    """Executions on nodes, a row for each node of each: which one, where, how many processors."""

    execution: NDArray[np.int64]
    node: NDArray[np.int64]
    processors: NDArray[np.int64]


def find_wrong_jobs(
    schedule: ScheduleData, nodes: NodeTable
) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield what is wrong with executions on nodes, and the indices of the jobs.

    Of GPUs, a schedule tells no more than the least number that a job has on a node.

    Parameters
    ----------
    schedule
        The schedule.
    nodes
        The nodes of its platform.
    """
    executions = schedule.executions
    shares = _divide(schedule, nodes)
    job = executions.job[shares.execution]
    held = np.zeros((len(job), 3), np.int64)
    allowed = np.zeros(len(job), np.bool_)
    spread = np.zeros(len(schedule), np.int64)  # the nodes that a job asks for; 0: any number
    order = np.argsort(job, kind="stable")
    bounds = np.flatnonzero(np.diff(job[order], prepend=-1, append=-1))
    for low, high in pairwise(bounds.tolist()):
        rows = order[low:high]
        index = int(job[rows[0]])
        request = nodes.find_request(schedule.workload, index)
        processors, chunks, memory, gpus, apart, exclusive = request.key[:6]
        allowed[rows] = request.allowed[shares.node[rows]]
        spread[index] = chunks if apart else 0
        if exclusive:
            held[rows] = nodes.capacity[shares.node[rows]]
            continue
        held[rows, 0] = shares.processors[rows]
        held[rows, 1] = shares.processors[rows] * memory
        held[rows, 2] = -(-shares.processors[rows] // -(-processors // chunks)) * (gpus // chunks)
    yield "run on nodes that are not of their partition", np.unique(job[~allowed])
    used = np.bincount(shares.execution, minlength=len(executions))
    wanted = spread[executions.job]
    wrong = (wanted > 0) & (used != wanted)
    yield "run on more or fewer nodes than they ask for", np.unique(executions.job[wrong])
    start, end = executions.start[shares.execution], executions.end[shares.execution]
    full = _find_overfull(shares.node, start, end, held, nodes)
    yield "have more of a node than it has beside other jobs", np.unique(job[full])
    if schedule.outages is not None:
        # The part of an execution behind its last checkpoint, which was lost, goes on from there.
        order = np.lexsort((start, shares.node, job))
        same = (job[order][1:] == job[order][:-1]) & (
            shares.node[order][1:] == shares.node[order][:-1]
        )
        goes_on = order[1:][same & (start[order][1:] == end[order][:-1])]
        down = _find_down(shares.node, start, end, schedule.outages, goes_on)
        yield "run on nodes that are down", np.unique(job[down])


def _divide(schedule: ScheduleData, nodes: NodeTable) -> _Shares:
    """Return which processors of which nodes the executions hold."""
    executions = schedule.executions
    first, stop = executions.ranges[:, 0], executions.ranges[:, 1]
    low = np.searchsorted(nodes.first, first, side="right") - 1
    high = np.searchsorted(nodes.first, stop, side="left")
    of_range = np.repeat(np.arange(len(first)), high - low)
    node = np.arange(len(of_range)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    node += low[of_range]
    count = np.minimum(stop[of_range], nodes.first[node + 1])
    count -= np.maximum(first[of_range], nodes.first[node])
    of_execution = np.repeat(np.arange(len(executions)), np.diff(executions.offsets))[of_range]
    pairs, place = np.unique(np.stack((of_execution, node)), axis=1, return_inverse=True)
    total = np.bincount(place, weights=count, minlength=pairs.shape[1]).astype(np.int64)
    return _Shares(pairs[0], pairs[1], total)


def _find_overfull(
    node: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    held: NDArray[np.int64],
    nodes: NodeTable,
) -> NDArray[np.bool_]:
    """Return (shares,) which begin when their node has less left than they hold."""
    count = len(node)
    which = np.tile(np.arange(count), 2)
    times = np.concatenate((start, end))
    begins = np.arange(2 * count) < count
    lasts = np.tile(end > start, 2)  # [start, start) holds nothing
    order = np.lexsort((begins, times, node[which]))
    order = order[lasts[order]]
    change = np.where(begins, 1, -1)[order, None] * held[which[order]]
    total = np.cumsum(change, axis=0)
    # Sums go through all nodes: what the nodes before have held is all released again.
    over = (total > nodes.capacity[node[which[order]]]).any(axis=1) & begins[order]
    full = np.zeros(count, np.bool_)
    full[which[order[over]]] = True
    return full


def _find_down(
    node: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    outages: Outages,
    goes_on: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return (shares,) which run on a node that is down; a drain lets jobs that run go on."""
    down = np.zeros(len(node), np.bool_)
    starts = np.ones(len(node), np.bool_)
    starts[goes_on] = False
    for outage in outages.outages:
        on = np.isin(node, outage.nodes)
        if outage.kind == "drain":
            down |= on & starts & (start >= outage.start) & (start < outage.end)
        else:
            down |= on & (start < outage.end) & (end > outage.start)
    return down
