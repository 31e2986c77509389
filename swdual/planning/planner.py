"""The interface of planners: from times of tasks on CPUs and GPUs to a plan.

Planners see numbers only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual import registry
from swdual.errors import InputError
from swdual.text import notebook

if TYPE_CHECKING:
    import matplotlib.figure

    from swdual.planning.gantt import Panel
    from swdual.planning.instance import Instance

PACKAGE = "swdual.planners"

MAX_WORKERS = 100_000
"""Maximum number of CPUs, and of GPUs, of a plan."""


class Assignment(NamedTuple):
    """What a planner returns.

    Parameters
    ----------
    workers, starts, ends
        (tasks,) the worker of each task, and its start and end in seconds.
    guesses
        Number of makespans that were tried.
    on_demand
        Whether tasks belong to no worker beforehand: an idle worker takes the next, in the order of
        the starts.
    """

    workers: NDArray[np.int64]
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    guesses: int = 0
    on_demand: bool = False


class Planner(Protocol):
    """A module in ``swdual.planners``; one that uses one kind of worker only names it as `KIND`."""

    def assign(self, instance: Instance) -> Assignment:
        """Return the worker, start and end of each task.

        Raises
        ------
        InputError
            If this planner cannot plan for these workers.
        """
        ...


@dataclass(frozen=True, eq=False)
class Plan:
    """A schedule of tasks on workers: both are numbered from 0, CPUs before GPUs.

    Parameters
    ----------
    planner
        Name of the planner.
    kinds
        The kind of each worker: "cpu" or "gpu".
    workers, starts, ends
        (tasks,) the worker of each task, and its start and end in seconds.
    lower_bound
        Seconds below which no plan can end.
    guesses
        Number of makespans that were tried.
    on_demand
        Whether idle workers take tasks one by one, in the order of the starts.
    """

    planner: str
    kinds: tuple[str, ...]
    workers: NDArray[np.int64]
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    lower_bound: float
    guesses: int = 0
    on_demand: bool = False

    @cached_property
    def makespan(self) -> float:
        """Seconds until the last worker ends."""
        return float(self.ends.max(initial=0.0))

    @cached_property
    def queues(self) -> list[NDArray[np.int64]]:
        """The tasks of each worker, in their order."""
        order = np.lexsort((self.ends, self.starts, self.workers))
        cuts = np.searchsorted(self.workers[order], np.arange(1, len(self.kinds)))
        return np.split(order, cuts)

    @property
    def busy(self) -> NDArray[np.float64]:
        """(workers,) seconds that each worker computes."""
        busy = np.zeros(len(self.kinds))
        np.add.at(busy, self.workers, self.ends - self.starts)
        return busy

    @property
    def idle(self) -> NDArray[np.float64]:
        """(workers,) the part of the makespan, between 0 and 1, in which a worker has no task."""
        return 1 - self.busy / self.makespan if self.makespan else np.zeros(len(self.kinds))

    def to_dict(self) -> dict[str, Any]:
        """Return all values as numbers, lists and texts, for JSON."""
        return {
            "planner": self.planner,
            "makespan": self.makespan,
            "lower_bound": self.lower_bound,
            "guesses": self.guesses,
            "on_demand": self.on_demand,
            "workers": [
                {
                    "kind": kind,
                    "tasks": queue.tolist(),
                    "starts": self.starts[queue].tolist(),
                    "ends": self.ends[queue].tolist(),
                }
                for kind, queue in zip(self.kinds, self.queues, strict=True)
            ],
        }

    def gantt(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw the plan (needs matplotlib).

        Parameters
        ----------
        path
            A file whose name ends in .svg, .png or .pdf; without it the figure is returned.
        force
            Replace a file that exists.

        Raises
        ------
        InputError, OutputError
            If matplotlib is missing, or the file cannot be written.
        """
        from swdual.planning.gantt import draw, draw_or_save

        return draw_or_save(lambda: draw([self.panel()]), path, force=force)

    def panel(self) -> Panel:
        """Return the plan as a panel of a Gantt chart: a row a worker, a bar a task."""
        from swdual.planning.gantt import Panel

        kinds = self.kinds
        return Panel(
            f"planned by {self.planner}: {self.makespan:.4g} s",
            [f"{kind} {kinds[:number].count(kind)}" for number, kind in enumerate(kinds)],
            self.workers,
            self.starts,
            self.ends,
            np.arange(len(self.workers)),
            self.lower_bound,
            f"lower bound {self.lower_bound:.4g} s",
            self.idle,
            meaning="tasks; those that follow each other in the list of tasks differ in colour",
        )

    def _repr_html_(self) -> str:
        from swdual.planning.gantt import svg

        ratio = f" ({self.makespan / self.lower_bound:.4g} times it)" if self.lower_bound else ""
        idle = 100 * np.maximum(self.idle, 0)  # rounding may leave less than nothing
        facts = (
            f"{self!r}"[1:-1] + f"{ratio}, idle {idle.mean():.1f} % in the mean and "
            f"{idle.max():.1f} % at worst, {self.guesses} guesses"
        )
        return notebook.join(
            (notebook.paragraph(notebook.text(facts)), notebook.drawing(svg([self.panel()])))
        )

    def __repr__(self) -> str:
        return (
            f"<Plan by {self.planner}: {len(self.workers):,} tasks, {len(self.kinds)} workers, "
            f"makespan {self.makespan:.4g} s, bound {self.lower_bound:.4g} s>"
        )


def make_plan(
    cpu_times: ArrayLike,
    gpu_times: ArrayLike,
    *,
    cpus: int | Sequence[float],
    gpus: int | Sequence[float],
    planner: str = "dual",
) -> Plan:
    """Return a plan for tasks with known times.

    Parameters
    ----------
    cpu_times, gpu_times
        Seconds of each task on a CPU and on a GPU; infinite if it cannot run there.
    cpus, gpus
        Number of workers, or the speed of each: a task takes its time divided by the speed.
    planner
        Name of a module in ``swdual.planners``.

    Raises
    ------
    InputError
        If there is no such planner, or it cannot plan for these numbers.

    Examples
    --------
    >>> plan = make_plan([2100] + 29 * [100], [950] + 29 * [44], cpus=3, gpus=1)
    >>> plan.makespan, plan.kinds[plan.workers[0]]
    (1000.0, 'gpu')
    """
    from swdual.planning.instance import Instance

    instance = Instance(
        np.asarray(cpu_times, np.float64),
        np.asarray(gpu_times, np.float64),
        _speeds("cpus", cpus),
        _speeds("gpus", gpus),
    )
    return plan_instance(instance, planner)


def list_able(planner: str, kinds: Sequence[str]) -> list[bool]:
    """Return (workers,) which ones get tasks: all, or one kind if the planner is for that only.

    Parameters
    ----------
    planner
        Name of the planner.
    kinds
        (workers,) "cpu" or "gpu". If the planner's only kind is not among them, all get tasks.
    """
    only = getattr(registry.load(PACKAGE, planner), "KIND", None)
    return [only not in kinds or kind == only for kind in kinds]


def plan_instance(instance: Instance, planner: str) -> Plan:
    """Return the plan of a planner for an instance.

    Parameters
    ----------
    instance
        Tasks and workers.
    planner
        Name of a module in ``swdual.planners``.

    Raises
    ------
    InputError
        As for `make_plan`.
    """
    from swdual.planning.instance import lower_bound

    chosen: Any = registry.load(PACKAGE, planner)
    workers, starts, ends, guesses, on_demand = chosen.assign(instance)
    bound = min(lower_bound(instance), float(ends.max(initial=0.0)))
    return Plan(planner, instance.kinds, workers, starts, ends, bound, guesses, on_demand)


def _speeds(name: str, given: int | Sequence[float]) -> NDArray[np.float64]:
    """Return the speed of each worker of a kind, 1 where only their number is given."""
    if np.ndim(given):
        return np.asarray(given, np.float64)
    count = int(given)  # type: ignore[arg-type]
    if not 0 <= count <= MAX_WORKERS:
        raise InputError(f"{name} is {count}, but it must be from 0 to {MAX_WORKERS}")
    return np.ones(count)
