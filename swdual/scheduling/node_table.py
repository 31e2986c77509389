"""Nodes with processors, memory and GPUs, and what a job asks of them.

A job consists of chunks, each of which has its processors, memory and GPUs on one node, as in a
request of Slurm (``--nodes``, ``--gpus``, ``--mem-per-cpu``, ``--exclusive``, ``--partition``):

- With a number of nodes, there are as many chunks, each on a node of its own; else one for each
  GPU, or for each processor, of which a node may take several.
- Processors and GPUs are divided among them as evenly as can be; the first chunks have one more.
- Memory is that of a processor, times the processors of the chunk.

Chunks are placed by first fit: one after the other, on the lowest node that has room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling.kernels import nodes as kernels
from swdual.scheduling.nodes import MAX_NODE_VALUE, NodeGroup, format_memory
from swdual.scheduling.processors import Ranges
from swdual.scheduling.workload.report import CleaningReport, RuleCount
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import pluralize


class Placement(NamedTuple):
    """What a job has of nodes.

    Parameters
    ----------
    nodes
        (nodes,) which nodes, ascending.
    processors
        (nodes,) how many processors it runs on.
    held
        (nodes, 3) processors, kilobytes and GPUs that nobody else gets: all of an exclusive node.
    """

    nodes: NDArray[np.int64]
    processors: NDArray[np.int64]
    held: NDArray[np.int64]


class NodeRequest(NamedTuple):
    """What a job asks of nodes.

    Parameters
    ----------
    numbers
        (6,) as for `swdual.scheduling.kernels.nodes.place`.
    allowed
        (nodes,) the nodes of its partition.
    key
        Equal for jobs that ask for the same.
    queue
        The number of its partition, whose jobs are a queue of their own; 0 where there is none.
    """

    numbers: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    key: tuple[int, ...]
    queue: int

    @property
    def exclusive(self) -> bool:
        """Whether the job needs nodes of its own."""
        return bool(self.key[5])

    @property
    def monotone(self) -> bool:
        """Whether a job that finds no room finds none either where less is free.

        Several kinds of chunks that share nodes may be packed better by first fit where less is.
        """
        processors, chunks, _, gpus, spread, _ = self.key[:6]
        return bool(spread) or not (processors % chunks or gpus % chunks)


class NodeTable:
    """The nodes of a platform, numbered through their groups.

    Parameters
    ----------
    groups
        The groups.

    Attributes
    ----------
    capacity
        (nodes, 3) processors, kilobytes of memory, and GPUs.
    first
        (nodes + 1,) the first processor of each node; the last is how many there are.
    partitions
        (nodes,) which nodes each partition has, by its name.
    """

    def __init__(self, groups: Sequence[NodeGroup]) -> None:
        counts = [group.count for group in groups]
        each = [(group.processors, group.memory, group.gpus) for group in groups]
        self.capacity = np.repeat(np.array(each, np.int64), counts, axis=0)
        self.first = np.concatenate(([0], np.cumsum(self.capacity[:, 0])))
        self._all = np.ones(len(self.capacity), np.bool_)
        names = dict.fromkeys(name for group in groups for name in group.partitions)
        self.partitions = {
            name: np.repeat([name in group.partitions for group in groups], counts)
            for name in names
        }

    def __len__(self) -> int:
        return len(self.capacity)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(nodes,) how many processors each has."""
        return np.ascontiguousarray(self.capacity[:, 0])

    @cached_property
    def empty_row(self) -> NDArray[np.int64]:
        """(4 nodes,) what is free where no job runs: see `swdual.scheduling.kernels.nodes`."""
        return np.concatenate((self.capacity.T.ravel(), np.zeros(len(self), np.int64)))

    def find_request(self, workload: Workload, index: int) -> NodeRequest:
        """Return what a job asks for.

        The columns ``nodes``, ``gpus``, ``requested_memory`` (kilobytes of a processor),
        ``exclusive`` and ``partition`` of the workload say it; below 0, or without the column, it
        is not known, and nothing is asked for.

        Parameters
        ----------
        workload, index
            The workload, and the job's index.

        Raises
        ------
        InputError
            If the platform lacks the job's partition.
        """
        nodes, gpus, partition, exclusive = (
            int(_read(workload, name, index))
            for name in ("nodes", "gpus", "partition", "exclusive")
        )
        memory = min(int(np.ceil(_read(workload, "requested_memory", index))), MAX_NODE_VALUE + 1)
        processors = int(workload.processors[index])
        chunks = processors
        if nodes > 0:
            chunks = min(nodes, processors)
        elif gpus > 0:
            chunks = min(gpus, processors)
        numbers = (processors, chunks, memory, gpus, int(nodes > 0), int(exclusive > 0))
        return NodeRequest(
            np.array(numbers, np.int64),
            self._find_partition(workload, partition),
            (*numbers, partition),
            partition if self.partitions else 0,
        )

    def _find_partition(self, workload: Workload, number: int) -> NDArray[np.bool_]:
        """Return (nodes,) which nodes a partition has: all, if it or none is known."""
        if number <= 0 or not self.partitions:
            return self._all
        names = workload.names.get("partition", ())
        name = names[number - 1] if number <= len(names) else str(number)
        some = [part for part in name.split(",") if part in self.partitions]
        if not some:
            raise InputError(unknown("partition of the platform", name, self.partitions))
        allowed: NDArray[np.bool_] = np.logical_or.reduce([self.partitions[x] for x in some])
        return allowed

    def find_unplaceable(self, workload: Workload) -> Iterator[tuple[int, str]]:
        """Yield the jobs that find no room on the empty platform: index, and why."""
        reasons: dict[tuple[int, ...], str] = {}
        placed = np.zeros((2, len(self)), np.int64)
        for index in range(len(workload)):
            try:
                request = self.find_request(workload, index)
            except InputError as error:
                yield index, error.message
                continue
            if request.key not in reasons:
                given = self.empty_row, self.sizes, request.allowed, request.numbers, placed
                reasons[request.key] = "" if kernels.place(*given) else describe(request)
            if reasons[request.key]:
                yield index, f"asks for {reasons[request.key]}, which the platform does not have"

    def check_requests(self, workload: Workload) -> None:
        """Check that each job finds room on the empty platform.

        Raises
        ------
        InputError
            If one does not, or the platform lacks its partition: with the file and line.
        """
        wrong = [*self.find_unplaceable(workload)]
        if wrong:
            index, why = wrong[0]
            such = pluralize(len(wrong), "job is", "jobs are")
            raise InputError(
                f"job {workload.number[index]}: {why} ({such} on no node); choose another "
                "platform, or leave out such jobs with the rule too_wide=drop",
                file=workload.source,
                line=None if workload.lines is None else int(workload.lines[index]),
            )

    def drop_unplaceable(self, workload: Workload) -> Workload:
        """Return a workload without the jobs that find no room; its report counts them."""
        wrong = [index for index, _ in self.find_unplaceable(workload)]
        if not wrong:
            return workload
        left = workload.take(np.delete(np.arange(len(workload)), wrong))
        report = workload.report or CleaningReport(len(workload), len(workload), ())
        count = RuleCount("too_wide", len(wrong), "dropped: no node has what they ask for")
        return replace(left, report=replace(report, kept=len(left), counts=(*report.counts, count)))

    def pick(self, free: Ranges, placement: Placement) -> Ranges:
        """Return the processors of a placement: the lowest free ones of each node.

        Parameters
        ----------
        free
            (ranges, 2) the free processors of the platform.
        placement
            How many of them on which nodes.
        """
        first, stop = self.first[placement.nodes], self.first[placement.nodes + 1]
        return kernels.pick(free, first, stop, placement.processors)


def _read(workload: Workload, name: str, index: int) -> float:
    """Return an entry of a further column; 0 if it is not known."""
    value = float(workload.extra[name][index]) if name in workload.extra else 0.0
    return value if value > 0 else 0.0


def describe(request: NodeRequest) -> str:
    """Return a request in words.

    >>> job = Workload.from_arrays(0, 9, 8, extra={"gpus": [2], "nodes": [2]})
    >>> describe(NodeTable([NodeGroup(2, 8, gpus=4)]).find_request(job, 0))
    '8 processors and 2 GPUs on 2 nodes'
    """
    processors, chunks, memory, gpus, spread, exclusive, _ = request.key
    parts = [pluralize(processors, "processor", "processors")]
    if memory:
        parts.append(f"{format_memory(memory)} for each processor")
    if gpus:
        parts.append(pluralize(gpus, "GPU", "GPUs"))
    text = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    if spread:
        text += f" on {pluralize(chunks, 'node', 'nodes')}"
    return text + (" of its own" if exclusive else "")
