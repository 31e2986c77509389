"""Memory that this process may use, and holds: limits of cgroups, Slurm, ulimit and the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from swdual.errors import InputError, MemoryLimitError
from swdual.runtime import system

MIB = 1 << 20

READ_ANYWAY = 32 * MIB
"""Input up to this size is read whatever the limit, so that errors can name the exact need."""

SPARED_PART = 10
"""One part in so many is left free if the user set no limit: the system may kill a process that
reaches its limit.
"""


HALVINGS = 20
"""Steps of the bisection for a part of the memory."""


class Allowance(NamedTuple):
    """Bytes of memory that may be used, and the source of this limit, for messages."""

    bytes: int
    source: str


def find_allowance(
    asked: int | None = None, *, root: Path = Path("/"), environment: Mapping[str, str] = os.environ
) -> Allowance:
    """Return the memory that may be used: the user's limit, or 90 % of what the system allows.

    The system allows the smallest of the machine's memory, the limits of this process's cgroups,
    Slurm's limit for the job on this node, and the limits of the process (``ulimit -v`` and
    ``-m``).

    Parameters
    ----------
    asked
        The user's limit in bytes, or None.
    root
        Folder with Linux's ``proc`` and ``sys``.
    environment
        Environment variables, among them Slurm's.
    """
    if asked is not None:
        return Allowance(asked, "`memory_limit`")
    of_process = (Allowance(*limit) for limit in system.find_process_limits())
    limits = [*_find_system_limits(root), *_slurm(environment), *of_process]
    if not limits:
        return Allowance(1 << 62, "this machine's memory")
    smallest = min(limits)
    return smallest._replace(bytes=smallest.bytes - smallest.bytes // SPARED_PART)


def refuse_below(least: int, allowed: Allowance, remedy: str) -> None:
    """Raise an error if the memory that may be used is too little.

    Parameters
    ----------
    least
        The smallest number of bytes with which the work can be done.
    allowed
        The memory that may be used.
    remedy
        What needs less memory, for the message.

    Raises
    ------
    InputError
        If the limit is not a positive number.
    MemoryLimitError
        If the limit is too small; the message names the smallest one that works.
    """
    if allowed.bytes < 1:
        raise InputError(f"`memory_limit` is {allowed.bytes}, but it must be at least 1")
    if allowed.bytes < least:
        whole = -(-least // MIB)
        raise MemoryLimitError(
            f"{allowed.bytes // MIB} MiB of memory ({allowed.source}) are too little; the smallest "
            f"workable limit is `memory_limit={whole * MIB}`; {remedy}"
        )


def interpolate(least: int, most: int, part: float) -> int:
    """Return a size between two bounds; it grows by equal factors for equal steps of `part`.

    Parameters
    ----------
    least, most
        The bounds.
    part
        From 0 to 1.

    >>> interpolate(10, 1000, 0.5)
    100
    """
    return least if most <= least else round(least * (most / least) ** part)


def find_largest_part(cost: Callable[[float], int], most: int) -> float:
    """Return the largest part, from 0 to 1, whose cost is within a limit; 0 is always allowed.

    Parameters
    ----------
    cost
        Returns the cost of a part; it must not fall.
    most
        The limit.
    """
    if cost(1.0) <= most:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= most else (low, middle)
    return low


@cache
def _find_system_limits(root: Path) -> list[Allowance]:
    """Return the limits of machine and cgroups, read once: a dozen files take a millisecond."""
    return [Allowance(*limit) for limit in system.find_memory_limits(root)]


def _slurm(environment: Mapping[str, str]) -> Iterator[Allowance]:
    """Yield Slurm's limit for the job on this node; Slurm counts in MiB, and 0 means no limit."""
    megabytes = environment.get("SLURM_MEM_PER_NODE", "")
    if not megabytes.isdecimal():
        per_cpu, cpus = (
            environment.get(name, "") for name in ("SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
        )
        megabytes = (
            str(int(per_cpu) * int(cpus)) if per_cpu.isdecimal() and cpus.isdecimal() else ""
        )
    if megabytes.isdecimal() and int(megabytes):
        yield Allowance(int(megabytes) * MIB, "SLURM's limit for this job")
