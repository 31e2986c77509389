"""The contract of policies: which job starts when. Policies meet the engine here and nowhere else.

The contract, for those who write one (docs/policy_in_ten_minutes.md shows it at work):

- A policy is a class with ``decide(self, view)``, a generator of decisions: `Start`, `Resize`,
  `Stop`. The engine calls it once for each instant at which jobs end or are submitted, after all
  events of the instant, and at the instants that the policy asked for with `View.wake`.
- Each decision takes effect before the next is asked for: ``view.queue``, ``view.running`` and
  ``view.free_count`` change at each ``yield``. So iterate over a copy,
  ``list(view.queue.values())``, and ask `swdual.scheduling.start_now` again after each decision.
- A policy sees requested times, not run times, and must not look at jobs not yet submitted. Where
  jobs follow others, the order of submission is known as time goes on: read the columns of
  ``view.workload`` at the index of a job that was submitted, and not in advance.
- A decision that cannot be applied raises `DecisionError`: to start a job that does not wait, on
  processors that are not all free, or on fewer than it needs if it is rigid.
- If jobs wait, nothing runs and nothing else is to come, the simulation ends with an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from swdual import registry
from swdual.errors import InputError, SwdualError
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job
from swdual.scheduling.node_table import Placement
from swdual.scheduling.outages import Outage
from swdual.scheduling.platform import Platform
from swdual.scheduling.power import PowerModel
from swdual.scheduling.processors import Ranges
from swdual.scheduling.signals import Signals
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import quote

PACKAGE = "swdual.scheduling.policies"

KINDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a word"}


OWN = "own"
"""Name of the allocator where the policy places jobs itself."""


JOB_KINDS = {
    "rigid": "jobs that need a fixed number of processors",
    "offline": "jobs that are all submitted at once and whose run times are known",
    "moldable": "moldable jobs, which can run on any number of processors",
    "sequential": "sequential tasks, one processor each",
    "threads": "jobs that are split into threads",
}
"""The kinds of jobs that a policy may be for."""


class DecisionError(SwdualError):
    """A decision that cannot be applied: a defect of the policy."""


class Traits(NamedTuple):
    """What a policy declares about itself, in its class or beside it in its file.

    Parameters
    ----------
    malleable
        ``MALLEABLE``: jobs may run on other numbers of processors than they need, at another rate.
    places
        ``PLACES``: the policy chooses processors itself and asks no allocator.
    jobs
        ``JOBS``: the kind of jobs that the policy is for, a key of `JOB_KINDS`.
    nodes
        ``NODES``: the policy also places jobs on nodes with memory and GPUs: `Start.placement`.
    """

    malleable: bool = False
    places: bool = False
    jobs: str = "rigid"
    nodes: bool = False


MAX_VALUE_LENGTH = 100
"""Max length of an option value; bounds the cost of parsing numbers."""


class Option(NamedTuple):
    """An option of a policy, for its users.

    Parameters
    ----------
    default
        Default value; its type is the type of all values.
    help
        One line about what it does.
    choices
        All possible values, if it is a word.
    function
        Whether it can also be a function, in Python.
    needs
        Values of other options, of which one must be chosen for this to have an effect; "function"
        stands for any function. Empty: it always has.
    """

    default: float | int | str
    help: str
    choices: tuple[str, ...] = ()
    function: bool = False
    needs: tuple[str, ...] = ()

    def check(self, name: str, value: object) -> Any:
        """Return a value in the option's type, or a function; None is the default.

        Parameters
        ----------
        name
            What the option is called.
        value
            A value, or its text.

        Raises
        ------
        InputError
            If the option cannot have that value.
        """
        if value is None:
            return self.default
        if self.function and callable(value):
            return value
        kind, text = type(self.default), str(value)
        try:
            if len(text) > MAX_VALUE_LENGTH:
                raise ValueError
            known = kind(text)
        except ValueError:
            raise InputError(
                f"{name} cannot be {quote(text)}: it is {KINDS[kind]}, such as {self.default}"
            ) from None
        if self.choices and known not in self.choices:
            raise InputError(registry.unknown(f"value of {name}:", str(value), self.choices))
        return known


def name_value(value: object) -> Any:
    """Return a value of an option as it is shown: a function's name, anything else as it is.

    >>> name_value(4), name_value(len)
    (4, 'len')
    """
    return getattr(value, "__name__", type(value).__name__) if callable(value) else value


class Running(NamedTuple):
    """A job that runs.

    Parameters
    ----------
    job
        The job.
    start_time
        When it first started.
    latest_end
        When it will be killed, unless it is stopped or resized.
    processors
        (ranges, 2) what it holds.
    rate
        Seconds of its run time that it does in a second.
    """

    job: Job
    start_time: float
    latest_end: float
    processors: Ranges
    rate: float = 1.0


class Start(NamedTuple):
    """The decision to start a waiting job now.

    Parameters
    ----------
    job
        The job.
    processors
        (ranges, 2) free processors; None lets the allocator choose. Only a moldable job may get
        more or fewer than it needs.
    backfilled
        Whether it overtakes a job that is before it in the queue.
    width
        How many processors the allocator is to choose; None: as many as the job needs.
    rate
        Seconds of its run time that it does in a second.
    placement
        What it holds of which nodes, on a platform that has nodes: see `NodeProfile`.
    """

    job: Job
    processors: Ranges | None = None
    backfilled: bool = False
    width: int | None = None
    rate: float = 1.0
    placement: Placement | None = None


class Resize(NamedTuple):
    """The decision that a running job goes on with other processors, or at another rate.

    Parameters
    ----------
    job
        The job.
    processors
        (ranges, 2) those it goes on with: of its own and of the free ones.
    rate
        Seconds of its run time that it does in a second from now on.
    """

    job: Job
    processors: Ranges
    rate: float = 1.0


class Stop(NamedTuple):
    """The decision that a running job waits again.

    Parameters
    ----------
    job
        The job.
    keep
        Whether it goes on where it was when it starts again, or begins anew.
    """

    job: Job
    keep: bool


Decision = Start | Resize | Stop


class CompiledRule(NamedTuple):
    """A rule of `swdual.scheduling.compiled` that stands for a policy: its ``compiled_rule()``.

    Parameters
    ----------
    backfills
        Whether jobs overtake the head of the queue where that does not delay it, as in EASY.
    """

    backfills: bool


class View(Protocol):
    """The state of an instant, as policies see it. It changes as decisions are applied.

    The ends of an instant come before its submissions, and there is one pass for all of them.
    """

    @property
    def now(self) -> float:
        """Seconds."""
        ...

    @property
    def workload(self) -> Workload:
        """All jobs, with the other fields of the trace.

        A policy must not look at jobs not yet submitted.
        """
        ...

    @property
    def platform(self) -> Platform:
        """Where jobs run."""
        ...

    @property
    def allocator(self) -> Allocator:
        """What chooses processors."""
        ...

    @property
    def power(self) -> PowerModel | None:
        """Watts of processors and of jobs, if the user gave them."""
        ...

    @property
    def signals(self) -> Signals:
        """Price and carbon of energy and a cap on power over time, also in the future."""
        ...

    @property
    def queue(self) -> Mapping[int, Job]:
        """The waiting jobs by index, in the order of submission."""
        ...

    @property
    def running(self) -> Mapping[int, Running]:
        """The running jobs by index."""
        ...

    @property
    def submitted(self) -> Sequence[Job]:
        """The jobs that were submitted at this instant."""
        ...

    @property
    def ended(self) -> Sequence[Running]:
        """The jobs that ended at this instant."""
        ...

    @property
    def outages(self) -> Sequence[Outage]:
        """The outages that became known at this instant; reservations all at the first one."""
        ...

    @property
    def free_count(self) -> int:
        """How many processors are free."""
        ...

    @property
    def watching(self) -> bool:
        """Whether the user asked to explain some job; if not, `note` does nothing."""
        ...

    def free(self) -> Ranges:
        """Return the (ranges, 2) of free processors, [first, stop) each, ascending."""
        ...

    def promise(self, job: Job, time: float) -> None:
        """Promise that a job starts at a time at the latest; a schedule keeps the first promise.

        Parameters
        ----------
        job
            A waiting job.
        time
            The latest start, in seconds of the trace.
        """
        ...

    def note(self, job: Job, why: str) -> None:
        """Explain a decision about a job at this instant; ignored unless the user asked for it.

        Parameters
        ----------
        job
            The job.
        why
            What is decided about it, and why.
        """
        ...

    def wake(self, time: float) -> None:
        """Ask for a pass at a time in the future, even if nothing happens then."""
        ...


class Policy(Protocol):
    """A class that decides which job starts when; the contract is at the top of this file.

    ``OPTIONS``, a dict of `Option` by name, ``MALLEABLE``, ``PLACES``, ``JOBS`` and ``NODES`` (see
    `Traits`) stand in the class or beside it in its file; each may be left out. The options are
    keyword arguments of the class. Where a policy is part of this package, its class is called
    ``Policy``, and the docstring of its file begins with what it does, in a line, and names the
    source.
    """

    def __init__(self, platform: Platform, allocator: Allocator, **options: Any) -> None: ...

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield decisions about an instant; each takes effect before the next is asked for."""
        ...
