"""Schedules, with their reports: metrics, charts, tables and explanations."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swdual.scheduling import validation
from swdual.scheduling.frames import data_frame
from swdual.scheduling.metrics import METRICS, table
from swdual.scheduling.reports import jobs_table
from swdual.scheduling.reports.comparison import Row, compare, shown
from swdual.scheduling.reports.explanation import explain_job
from swdual.scheduling.reports.summary import headline, summary
from swdual.scheduling.schedule_data import ScheduleData
from swdual.text.messages import pluralize

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(ScheduleData):
    """What happened to the jobs of a workload; `swdual.scheduling.simulate` makes it.

    The fields are those of `ScheduleData`. The methods here are short forms of functions of
    `swdual.scheduling.metrics`, `swdual.scheduling.validation` and `swdual.scheduling.reports`.
    """

    @property
    def metrics(self) -> dict[str, float]:
        """The schedule's figures by name; see `swdual.scheduling.metrics` for their formulas."""
        return table(self)

    def violations(self) -> list[str]:
        """Return the violations of the schedule, a line each; none if it is valid."""
        return validation.violations(self)

    def gantt(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw processors over time: into a file (SVG, PNG, PDF), or return the figure.

        Parameters
        ----------
        path
            A file; without it the figure is returned.
        force
            Replace a file that exists.
        """
        from swdual.scheduling.reports.charts import gantt

        return gantt(self, path, force=force)

    def usage(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw busy processors and waiting jobs over time. See `Schedule.gantt`."""
        from swdual.scheduling.reports.charts import usage

        return usage(self, path, force=force)

    def explain(self, job: int) -> str:
        """Return the history of a job, by its number in the trace, line by line.

        Why it waited and started is among it if `swdual.scheduling.simulate` was told to explain
        this job.

        Raises
        ------
        InputError
            If no job has this number.
        """
        return "\n".join(explain_job(self, job))

    def write_jobs(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write all jobs as CSV, with the columns of Batsim's jobs.csv; "-" is standard output.

        A name that ends in .gz, .bz2, .xz or .zst is compressed.

        Parameters
        ----------
        path
            The file.
        force
            Replace a file that exists.

        Raises
        ------
        InputError, OutputError
            If the name is one of another format, or the file exists or cannot be written.
        """
        jobs_table.write(self, path, force=force)

    def __repr__(self) -> str:
        facts = [
            pluralize(len(self), "job", "jobs"),
            pluralize(self.platform.processors, "processor", "processors"),
            *(
                f"{name.replace('_', ' ')} {shown(METRICS[name](self), METRICS[name].unit)}"
                for name in ("mean_waiting_time", "makespan", "utilisation")
            ),
        ]
        who = f"{self.policy} with {self.allocator}"
        return f"<Schedule of {self.workload.name!r} by {who}: {', '.join(facts)}>"

    def __str__(self) -> str:
        """Return what ``swdual simulate`` prints of one schedule."""
        lines = summary(Row.of(self, METRICS), METRICS)
        return "\n".join((headline(self.workload, self.platform), *lines))

    def _repr_html_(self) -> str:
        return compare([self])._repr_html_()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a table with a row for each job, its columns named as in Batsim's jobs.csv.

        Raises
        ------
        InputError
            If pandas is missing.
        """
        return data_frame(jobs_table.columns(self))
