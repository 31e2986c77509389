"""Power model of a platform: watts of a processor in each state, and when idle nodes are off.

The states are those of Batsim's hosts: computing, idle, switching on, switching off, sleeping. As
there, switching takes time and power of its own, and cannot be interrupted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.scheduling.workload.workload import POWER, Workload
from swdual.text.messages import parse_number, quote

MAX_POWER_VALUE = 1e9
"""The largest number of watts, seconds or nodes."""


@dataclass(frozen=True, kw_only=True)
class PowerModel:
    """Watts of a processor in each state; seconds after which idle nodes are switched off.

    A node is switched off or on as a whole, when none of its processors has a job.

    Parameters
    ----------
    busy, idle
        Watts of a processor with a running job, and of one that is on without one.
    off
        Watts of a processor that is switched off.
    boot, shutdown
        Watts of a processor while its node boots or shuts down; None: as idle.
    boot_time, shutdown_time
        Seconds that this takes.
    idle_timeout
        Seconds after which an idle node is switched off; infinite: never.
    keep_idle
        How many idle nodes stay on all the same.
    node_size
        Processors of a node; node k has those from ``k * node_size`` on.

    Raises
    ------
    InputError
        If a value is impossible.

    Examples
    --------
    >>> str(PowerModel(busy=190.7, idle=95, off=9.75, boot_time=152, idle_timeout=600))
    'busy=190.7,idle=95,off=9.75,boot_time=152,idle_timeout=600'
    """

    busy: float
    idle: float
    off: float = 0.0
    boot: float | None = None
    shutdown: float | None = None
    boot_time: float = 0.0
    shutdown_time: float = 0.0
    idle_timeout: float = math.inf
    keep_idle: int = 0
    node_size: int = 1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is None or (name == "idle_timeout" and value == math.inf):
                continue
            least = 1 if name == "node_size" else 0
            if not least <= value <= MAX_POWER_VALUE:
                raise InputError(
                    f"{name} of a power model must be {least} to {MAX_POWER_VALUE:g}, not {value:g}"
                )

    @property
    def switches(self) -> bool:
        """Whether idle nodes are switched off."""
        return self.idle_timeout < math.inf

    @property
    def max_delay(self) -> float:
        """Seconds by which a job starts later at most, as its nodes shut down and boot."""
        return self.shutdown_time + self.boot_time if self.switches else 0.0

    @property
    def watts(self) -> dict[str, float]:
        """Watts of a processor by its state: busy, idle, boot, shutdown, off."""
        return {
            "busy": self.busy,
            "idle": self.idle,
            "boot": self.idle if self.boot is None else self.boot,
            "shutdown": self.idle if self.shutdown is None else self.shutdown,
            "off": self.off,
        }

    def job_power(
        self,
        workload: Workload,
        index: NDArray[np.int64] | int,
        processors: NDArray[np.int64] | int,
    ) -> NDArray[np.float64]:
        """Return the watts of jobs while they run: measured ones, else those of busy processors.

        Measured watts are those of the whole job on the processors that it requests, the field
        ``power`` of the trace, where they are above 0. On others they are in proportion.

        Parameters
        ----------
        workload, index
            The jobs, and which of them.
        processors
            How many each runs on.
        """
        watts = np.asarray(self.busy * np.asarray(processors))
        if POWER not in workload.extra:
            return watts
        share = processors / workload.processors[index]
        measured = workload.extra[POWER][index] * share
        return np.where((measured > 0) & (measured < np.inf), measured, watts)

    def __str__(self) -> str:
        changed = ((each.name, getattr(self, each.name), each.default) for each in fields(self))
        return ",".join(
            f"{name}={float(value)!r}".removesuffix(".0")
            for name, value, default in changed
            if value != default
        )


def parse(text: str) -> PowerModel:
    """Return the power model that a text like ``busy=190,idle=95`` means.

    Parameters
    ----------
    text
        Values of a `PowerModel`, as NAME=VALUE, joined by commas; the last one of a name counts.

    Raises
    ------
    InputError
        If the text is not a power model.

    Examples
    --------
    >>> parse("busy=190,idle=95,idle_timeout=600").watts["boot"]
    95.0
    """
    known = {each.name: each.type for each in fields(PowerModel)}
    values: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{quote(part)} is no NAME=VALUE of a power model; write busy=190")
        name = name.strip().replace("-", "_")
        if name not in known:
            raise InputError(unknown("value of a power model:", name, known))
        try:
            number = parse_number(value)
            values[name] = int(value) if known[name] == "int" else number
        except ValueError:
            kind = "a whole number" if known[name] == "int" else "a number"
            raise InputError(f"{name} cannot be {quote(value)}: it is {kind}") from None
    for name in ("busy", "idle"):
        if name not in values:
            raise InputError(f"a power model needs {name}, in watts; write busy=190,idle=95")
    return PowerModel(**values)
