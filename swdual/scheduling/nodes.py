"""Groups of nodes with processors, memory and GPUs, of which a platform may consist."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from swdual.errors import InputError
from swdual.runtime.keywords import plain_number
from swdual.text.messages import quote

KILOBYTES = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}
"""Units of memory, as Slurm has them."""

MAX_NODE_VALUE = 10**12
"""The most kilobytes of a node; sums of all nodes stay far below 2^63."""


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are alike.

    Parameters
    ----------
    count
        How many there are.
    processors, gpus
        Of each.
    memory
        Of each: kilobytes, or a text such as "256G".
    partitions
        The names of the partitions that have these nodes.

    Raises
    ------
    InputError
        If such nodes are impossible.

    Examples
    --------
    >>> NodeGroup(8, 64, memory="2M", gpus=4).memory
    2048
    """

    count: int
    processors: int
    memory: int | str = 0
    gpus: int = 0
    partitions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", parse_memory(self.memory))
        names: Any = self.partitions
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise InputError(f"partitions of nodes are a list of names, not {names!r:.40}")
        object.__setattr__(self, "partitions", tuple(names))
        for name, least in ("count", 1), ("processors", 1), ("memory", 0), ("gpus", 0):
            value = plain_number(name, getattr(self, name), int)
            if not least <= value <= MAX_NODE_VALUE:
                raise InputError(f"{name} of nodes must be {least} or more, not {value}")


def format_memory(kilobytes: int) -> str:
    """Return a size in the largest unit of which it is a whole number.

    >>> format_memory(1572864), format_memory(2 * 1024**2)
    ('1,536M', '2G')
    """
    unit = max((size, unit) for unit, size in KILOBYTES.items() if kilobytes % size == 0)[1]
    return f"{kilobytes // KILOBYTES[unit]:,}{unit}"


def parse_memory(memory: int | str) -> int:
    """Return kilobytes: of a text such as "256G", in the units of `KILOBYTES`.

    >>> parse_memory("1.5G")
    1572864
    """
    if not isinstance(memory, str):
        return memory
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT])B?", memory.strip(), re.IGNORECASE)
    if not found:
        raise InputError(f"{quote(memory)} is no size of a memory; write 256G, or 512M")
    return int(float(found[1]) * KILOBYTES[found[2].upper()])
