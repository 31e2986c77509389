"""How much memory this process may have, and how much it holds: cgroups, SLURM, limits, RAM."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from swdual.errors import InputError, MemoryLimitError

MIB = 1 << 20

READ_ANYWAY = 32 * MIB
"""Input that is read whatever the limit, so that what it needs in all can be told exactly."""

SPARED = 10
"""One part in so many is left to others where nobody set a limit: to reach it may be to be killed.
"""


HALVINGS = 20
"""How finely a part of what may be had is found out."""


class Allowance(NamedTuple):
    """Bytes that may be used, and what says so, for messages."""

    bytes: int
    source: str


def find_allowance(
    asked: int | None = None,
    *,
    root: Path = Path("/"),
    environment: Mapping[str, str] = os.environ,
) -> Allowance:
    """Return the bytes that may be used: those asked for, or what the system leaves, less a tenth.

    That is the least of the machine's memory, the limits of this process's cgroups, what SLURM
    gave the job on this node, and the limits of the process (``ulimit -v`` and ``-m``).

    Parameters
    ----------
    asked
        A limit that was set by hand; nothing else is looked at then.
    root
        Where ``proc`` and ``sys`` are.
    environment
        Where SLURM's variables are.
    """
    if asked is not None:
        return Allowance(asked, "`memory_limit`")
    found = [*_machine(root), *_cgroups(root), *_slurm(environment), *_process()]
    if not found:
        return Allowance(1 << 62, "this machine's memory")
    least = min(found)
    return least._replace(bytes=least.bytes - least.bytes // SPARED)


def resident_bytes(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        pages = (root / "proc/self/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def refuse_below(least: int, allowed: Allowance, remedy: str) -> None:
    """Refuse an allowance that the work cannot be done in.

    Parameters
    ----------
    least
        The smallest workable number of bytes.
    allowed
        What may be used.
    remedy
        What needs less.

    Raises
    ------
    InputError
        If the limit is no positive number.
    MemoryLimitError
        If the limit is too small; says the smallest workable one.
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
    """Return a size between two: for parts from 0 to 1 it grows by like factors.

    >>> between(10, 1000, 0.5)
    100
    """
    return least if most <= least else round(least * (most / least) ** part)


def find_largest_part(cost: Callable[[float], int], most: int) -> float:
    """Return the largest part, from 0 to 1, that costs no more than so many bytes; 0 always may."""
    if cost(1.0) <= most:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= most else (low, middle)
    return low


def _machine(root: Path) -> Iterator[Allowance]:
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return
    if found := re.search(r"^MemTotal:\s*(\d+) kB", text, re.MULTILINE):
        yield Allowance(int(found[1]) << 10, "this machine's memory")


def _cgroups(root: Path) -> Iterator[Allowance]:
    """Return the limits of the process's cgroups and of those that they are in."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mount, file = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            mount, file = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = mount / path.strip("/")
        for folder in (group, *group.parents):
            try:
                limit = (folder / file).read_text().strip()
            except OSError:
                limit = ""
            if limit.isdecimal():
                yield Allowance(int(limit), "the limit of this process's cgroup")
            if folder == mount:
                break


def _slurm(environment: Mapping[str, str]) -> Iterator[Allowance]:
    """Return what SLURM gave the job on this node; it counts in MiB, and 0 is all there is."""
    megabytes = environment.get("SLURM_MEM_PER_NODE", "")
    if not megabytes.isdecimal():
        each, cpus = (
            environment.get(name, "") for name in ("SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
        )
        megabytes = str(int(each) * int(cpus)) if each.isdecimal() and cpus.isdecimal() else ""
    if megabytes.isdecimal() and int(megabytes):
        yield Allowance(int(megabytes) * MIB, "SLURM's limit for this job")


def _process() -> Iterator[Allowance]:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    for name, source in (("RLIMIT_AS", "ulimit -v"), ("RLIMIT_RSS", "ulimit -m")):
        limit, _ = resource.getrlimit(getattr(resource, name))
        if limit != resource.RLIM_INFINITY:
            yield Allowance(limit, source)
