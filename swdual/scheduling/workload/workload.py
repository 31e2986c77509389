"""Workloads: valid jobs in the order of their submission, as the engine takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import InputError
from swdual.runtime.keywords import plain_index, plain_number, require_range
from swdual.scheduling.frames import data_frame
from swdual.scheduling.job import Job
from swdual.scheduling.workload.preceding import (
    NO_ROW,
    PRECEDING,
    THINK_TIME,
    find_preceding,
)
from swdual.scheduling.workload.trace import MAX_VALUE, MEASURED
from swdual.text.messages import sanitize

if TYPE_CHECKING:
    import pandas

    from swdual.scheduling.workload.report import CleaningReport

DAY = 86_400
"""Seconds."""

COLUMNS = {
    "number": np.int64,
    "submit_time": np.float64,
    "run_time": np.float64,
    "requested_time": np.float64,
    "processors": np.int64,
}
"""The columns of a workload, and their dtypes."""

POWER = "power"
"""The field of `Workload.extra` with the mean watts of a job while it ran; NaN: not known."""

NUMBERS = frozenset({*COLUMNS, *MEASURED, PRECEDING, POWER})
"""The columns that hold numbers. Others may also hold texts, such as names of users."""


class Speedup(Protocol):
    """How the run times of a workload's jobs depend on processors."""

    def run_time(self, index: int, processors: int) -> float:
        """Return the seconds that a job runs on so many processors.

        Parameters
        ----------
        index, processors
            The job's index, and how many it runs on.
        """
        ...

    def run_times(self, index: int, max_processors: int) -> NDArray[np.float64]:
        """Return the seconds on 1, 2, ..., max_processors processors.

        Parameters
        ----------
        index, max_processors
            The job's index, and the largest number of processors.
        """
        ...

    def take(self, chosen: NDArray[np.int64]) -> Speedup:
        """Return the same for some of the jobs."""
        ...


def _to_array(name: str, values: Any, file: str | None = None) -> NDArray[Any]:
    """Return a column as an array, checked; NumPy would ignore masks.

    Parameters
    ----------
    name
        The column; those in `NUMBERS` hold numbers.
    values
        Its entries.
    file
        Where they come from.

    Raises
    ------
    InputError
        If an entry is masked, or is no number where there should be one.
    """
    if np.ma.is_masked(values):
        index = int(np.argmax(np.ma.getmaskarray(values)))
        raise InputError(
            f"the column {name} has masked entries, the first at index {index}; leave these jobs "
            "out, or fill the entries",
            file=file,
        )
    array = np.asarray(values)
    if name in NUMBERS:
        check_numbers(name, array, file)
        if array.dtype.kind == "O":
            try:
                return array.astype(np.float64)
            except OverflowError:
                message = f"the column {name} holds a number that is too large"
                raise InputError(message, file=file) from None
    return array


def _check_extra(extra: object) -> None:
    """Raise an InputError if further columns are no mapping, or have names of other columns."""
    if not isinstance(extra, Mapping):
        raise InputError(f"extra is {extra!r:.40}, but it must be a mapping of names to columns")
    for name in extra:
        if not isinstance(name, str):
            raise InputError(f"extra has the name {name!r:.40}, but names of columns are texts")
        if name in COLUMNS:
            raise InputError(
                f"extra has a column {name}, which all workloads have; name it otherwise"
            )


def check_numbers(name: str, array: NDArray[Any], file: str | None = None) -> None:
    """Check that a column holds numbers.

    NumPy would take times for numbers, whatever their unit, and read texts as numbers.

    Parameters
    ----------
    name, array
        The column.
    file
        Where it comes from.

    Raises
    ------
    InputError
        If it does not.
    """
    kind = array.dtype.kind
    if kind in "iuf":
        return
    found = f"values of the type {array.dtype}"
    remedy = "convert them"
    if kind == "O":
        wrong = [x for x in array.ravel().tolist() if not isinstance(x, (Real, Decimal))]
        if not wrong:
            return
        found = f"{wrong[0]!r}"
        if isinstance(wrong[0], timedelta):
            remedy = "give seconds, those of total_seconds()"
        elif isinstance(wrong[0], datetime):
            remedy = "give seconds, those of timestamp()"
    elif kind == "m":
        remedy = "give seconds: divide them by numpy.timedelta64(1, 's')"
    elif kind == "M":
        remedy = "give seconds: subtract the first one, and divide by numpy.timedelta64(1, 's')"
    elif kind in "SU":
        found = "texts"
    raise InputError(f"the column {name} holds {found}, but takes numbers; {remedy}", file=file)


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """Jobs sorted by submit time and, among equal ones, as they stood in the trace.

    ``len``, ``for`` and ``[i]`` give jobs; a slice gives the workload of these jobs. The columns
    cannot be written to.

    Parameters
    ----------
    number
        What the trace calls each job.
    submit_time
        Seconds at which it is submitted, ascending.
    run_time
        Run time in seconds, unless it is killed; 0 or more.
    requested_time
        Seconds after which it is killed, above 0.
    processors
        How many processors it needs.
    extra
        Other fields of the trace by name, one entry a job; see `trace.FIELDS`.
    name
        What to call the workload. What cannot be shown of it becomes "?".
    source
        The file it comes from.
    lines
        The line of each job in that file, from 1.
    machine_processors
        The size of the machine that the trace was recorded on, if known.
    report
        What was dropped and repaired when the file was read.
    speedup
        How long each job would run on other numbers of processors; None: the jobs are rigid.
    unix_start_time
        The instant of time 0 of the submit times, in seconds since 1970 (UTC), if known.
    follow
        Whether a job is submitted only when its preceding job has ended and its think time has
        passed: the fields ``preceding_job`` and ``think_time`` of ``extra``. A think time below 0
        or NaN is not known and counts as 0.
    names
        What numbers of users, queues and the like stand for: ``names[field][k - 1]`` is the name of
        number k in the column of this name.

    Raises
    ------
    InputError
        If a column has the wrong length or a job is impossible: with the file and line if known.
    """

    number: NDArray[np.int64]
    submit_time: NDArray[np.float64]
    run_time: NDArray[np.float64]
    requested_time: NDArray[np.float64]
    processors: NDArray[np.int64]
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    name: str = "workload"
    source: str | None = None
    lines: NDArray[np.int64] | None = None
    machine_processors: int | None = None
    report: CleaningReport | None = None
    speedup: Speedup | None = None
    unix_start_time: float | None = None
    follow: bool = False
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"`name` is {self.name!r:.40}, but it must be a text")
        object.__setattr__(self, "name", sanitize(self.name))
        if self.machine_processors is not None:
            size = plain_number("machine_processors", self.machine_processors, int)
            require_range("machine_processors", size, 1, percentage=False)
            object.__setattr__(self, "machine_processors", size)
        _check_extra(self.extra)
        for name, kind in COLUMNS.items():
            object.__setattr__(self, name, self._column(name, getattr(self, name), kind))
        extra = {name: self._column(name, values) for name, values in self.extra.items()}
        object.__setattr__(self, "extra", extra)
        if self.lines is not None:
            object.__setattr__(self, "lines", self._column("lines", self.lines, np.int64))
        for name in ("submit_time", "run_time", "requested_time"):
            # The comparison is false for not-a-number, too.
            self._refuse(
                ~(np.abs(getattr(self, name)) <= MAX_VALUE),
                f"has a {name} that is no number or above {MAX_VALUE:.0e} seconds; leave it out",
            )
        self._refuse(self.run_time < 0, "has a negative run_time; leave it out")
        self._refuse(
            self.requested_time <= 0,
            "has no requested_time above 0; request its run_time, or leave it out",
        )
        self._refuse(self.processors < 1, "needs fewer than 1 processor; leave it out")
        self._refuse(
            np.diff(self.submit_time, prepend=-np.inf) < 0,
            "was submitted before the job in front of it; sort the jobs by submit_time, "
            "as Workload.from_arrays does",
        )
        if self.follow:
            if not {PRECEDING, THINK_TIME} <= self.extra.keys():
                raise InputError(
                    f"follow needs the fields {PRECEDING} and {THINK_TIME} of the jobs; add them "
                    "to extra, or leave it out",
                    file=self.source,
                )
            self._refuse(
                np.abs(self.extra[THINK_TIME]) > MAX_VALUE,
                f"has a {THINK_TIME} above {MAX_VALUE:.0e} seconds; write -1 if it is not known",
            )
        if self.speedup is not None:
            self.check_follows_none("a workload of moldable jobs")

    def check_follows_none(self, what: str) -> None:
        """Check that no job waits for the end of another one to be submitted.

        Parameters
        ----------
        what
            What needs that, for the message.

        Raises
        ------
        InputError
            If `follow` is true.
        """
        if self.follow:
            raise InputError(
                f"{what} cannot submit jobs when their preceding jobs have ended; leave the rule "
                "preceding=follow out",
                file=self.source,
            )

    def _column(self, name: str, values: ArrayLike, kind: Any = None) -> NDArray[Any]:
        """Return a column as an array of the right kind and length that cannot be written to.

        Arrays of the caller that can be written to are copied.
        """
        given = _to_array(name, values, self.source)
        with np.errstate(invalid="ignore"):
            column = given if kind is None else given.astype(kind, copy=False)
        if column.shape != (len(self.number),):
            raise InputError(
                f"the column {name} has the shape {column.shape}, but there are "
                f"{len(self.number)} jobs: give one entry a job",
                file=self.source,
            )
        if kind is np.int64 and column is not given:
            self._refuse(np.abs(given) >= 2.0**63, f"has a {name} above 9.22e+18; leave it out")
            self._refuse(column != given, f"has a {name} that is no whole number; round it")
        if column.flags.writeable:
            column = column.copy()
            column.setflags(write=False)
        return column

    def _refuse(self, wrong: NDArray[np.bool_], why: str) -> None:
        """Raise an error that names the first of the wrong jobs."""
        if wrong.any():
            index = int(wrong.argmax())
            line = None if self.lines is None else int(self.lines[index])
            raise InputError(f"job {self.number[index]} {why}", file=self.source, line=line)

    @classmethod
    def from_arrays(
        cls,
        submit_time: ArrayLike,
        run_time: ArrayLike,
        processors: ArrayLike,
        *,
        requested_time: ArrayLike | None = None,
        number: ArrayLike | None = None,
        extra: Mapping[str, ArrayLike] | None = None,
        name: str = "workload",
        machine_processors: int | None = None,
        follow: bool = False,
    ) -> Workload:
        """Return a workload of jobs in any order; a single value is every job's.

        Parameters
        ----------
        submit_time, run_time, processors
            As in the class.
        requested_time
            By default the run time.
        number
            By default 1, 2, ... in the order given.
        extra, name, machine_processors, follow
            As in the class.

        Raises
        ------
        InputError
            As for the class, or if times are no numbers of seconds; with ``follow`` also if a
            preceding job is not before its follower.

        Examples
        --------
        >>> Workload.from_arrays([5, 0], [60, 30], 4)[0]
        Job(index=0, number=2, submit_time=0.0, run_time=30.0, requested_time=30.0, processors=4)
        """
        given = {
            "submit_time": submit_time,
            "run_time": run_time,
            "requested_time": run_time if requested_time is None else requested_time,
            "processors": processors,
        }
        columns = [np.atleast_1d(_to_array(key, values)) for key, values in given.items()]
        try:
            parts = np.broadcast_arrays(*columns)
        except ValueError:
            raise InputError(
                "the columns differ in length: give one entry a job, or one for all"
            ) from None
        submit, run, requested, wide = parts
        names = np.arange(1, len(submit) + 1) if number is None else _to_array("number", number)
        extra = {} if extra is None else extra
        _check_extra(extra)
        others = {key: _to_array(key, x) for key, x in extra.items()}
        order = np.argsort(submit, kind="stable")
        for key, column in {"number": names, **others}.items():
            if column.shape != submit.shape:
                raise InputError(
                    f"the column {key} has the shape {column.shape}, but there are {len(submit)} "
                    "jobs: give one entry a job"
                )
        jobs = cls(
            names[order],
            submit[order],
            run[order],
            requested[order],
            wide[order],
            {key: column[order] for key, column in others.items()},
            name,
            machine_processors=machine_processors,
            follow=follow,
        )
        if follow:
            preceding = jobs.extra[PRECEDING]
            jobs._refuse(
                (preceding > 0) & (find_preceding(jobs.number, preceding) == NO_ROW),
                f"has a {PRECEDING} that is not before it; name an earlier job, or -1",
            )
        return jobs

    def __len__(self) -> int:
        return len(self.number)

    def __iter__(self) -> Iterator[Job]:
        columns = (getattr(self, name).tolist() for name in COLUMNS)
        return map(Job, range(len(self)), *columns)

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> Workload: ...
    def __getitem__(self, index: int | slice) -> Job | Workload:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        row = range(len(self))[plain_index("a job", index)]
        return Job(row, *(getattr(self, name)[row].item() for name in COLUMNS))

    def __repr__(self) -> str:
        machine = f" on {self.machine_processors:,} processors" if self.machine_processors else ""
        return f"<Workload {self.name}: {len(self):,} jobs in {self.span / DAY:,.1f} days{machine}>"

    @property
    def span(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.submit_time[-1] - self.submit_time[0]) if len(self) else 0.0

    def take(self, chosen: ArrayLike) -> Workload:
        """Return the workload of some of the jobs, in their order.

        Parameters
        ----------
        chosen
            Their indices, each once, in any order, those below 0 counted from the end; or a mask
            with one entry a job.

        Raises
        ------
        InputError
            If they are neither, or a job is chosen twice: an array of 0 and 1 is no mask.
        IndexError
            If there is no such job, or the mask has another length.
        """
        which = _to_array("chosen", chosen, self.source)
        if not which.size and which.dtype != bool:
            which = which.astype(np.int64)  # an empty list has no type of its own
        if which.dtype.kind not in "biu" or which.ndim != 1:
            raise InputError(
                f"{chosen!r:.40} chooses no jobs; give a list of their indices, or a mask of True "
                "and False",
                file=self.source,
            )
        rows = np.sort(np.arange(len(self))[which])
        twice = rows[1:][rows[1:] == rows[:-1]]
        if len(twice):
            raise InputError(
                f"the job at index {twice[0]} is chosen more than once; choose each job once, or "
                "by a mask of True and False",
                file=self.source,
            )
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in COLUMNS},
            extra={name: column[rows] for name, column in self.extra.items()},
            lines=None if self.lines is None else self.lines[rows],
            speedup=None if self.speedup is None else self.speedup.take(rows),
        )

    def add_extra(self, **columns: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the further columns and some that are new.

        Raises
        ------
        InputError
            If a column has a name that is there already.
        """
        for name in columns:
            if name in self.extra:
                raise InputError(
                    f"extra has a column {name}, and another one of this name would be added; "
                    "name it otherwise",
                    file=self.source,
                )
        return {**self.extra, **columns}

    def shifted(self, seconds: float | None = None) -> Workload:
        """Return the workload with all submit times later by some seconds.

        By default the first job is submitted at 0.
        """
        if seconds is None:
            seconds = -float(self.submit_time[0]) if len(self) else 0.0
        seconds = plain_number("seconds", seconds, float)
        start = None if self.unix_start_time is None else self.unix_start_time - seconds
        return replace(self, submit_time=self.submit_time + seconds, unix_start_time=start)

    def clairvoyant(self) -> Workload:
        """Return the workload with exact requests: each job requests its run time.

        One that does not run at all requests a second.
        """
        return replace(self, requested_time=np.where(self.run_time > 0, self.run_time, 1.0))

    def offline(self) -> Workload:
        """Return the workload with everything known at time 0: all jobs, and their run times."""
        self.check_follows_none("an offline workload")
        return replace(self.clairvoyant(), submit_time=np.zeros(len(self)), unix_start_time=None)

    def stretching(self, index: int, processors: int) -> float:
        """Return the run time on so many processors, divided by that on the requested number.

        It is 1 for jobs that are rigid.

        Parameters
        ----------
        index, processors
            The job's index, and how many it runs on.
        """
        if self.speedup is None:
            return 1.0
        on_these = self.speedup.run_time(index, processors)
        return on_these / self.speedup.run_time(index, int(self.processors[index]))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one row a job.

        Raises
        ------
        InputError
            If pandas is missing.
        """
        columns = {name: getattr(self, name) for name in COLUMNS}
        return data_frame({**columns, **self.extra})
