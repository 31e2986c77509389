"""Timing of a search: duration, plans, and the activities of workers."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swdual.planning.timeline import Planned, Timeline, chrome_trace, panels
from swdual.text.messages import pluralize

if TYPE_CHECKING:
    import matplotlib.figure

    from swdual.planning.gantt import Panel


@dataclass(frozen=True)
class Timing:
    """Duration and size of a search, its plans, and the activities of its workers.

    Parameters
    ----------
    cells
        Cells of all queries against all targets.
    seconds
        Wall time.
    timeline
        The activities of each worker.
    plans
        One plan for each batch of queries; none for a search too small to be planned.
    query_ids
        Identifiers of all queries.
    """

    cells: int
    seconds: float
    timeline: Timeline
    plans: tuple[Planned, ...] = ()
    query_ids: tuple[str, ...] = ()

    @property
    def gcups(self) -> float:
        """10^9 cells a second, without padding."""
        return self.cells / max(self.seconds, 1e-9) / 1e9

    @property
    def planned_seconds(self) -> float:
        """The predicted makespans of all plans, added; not-a-number without plans."""
        return sum(planned.plan.makespan for planned in self.plans) if self.plans else math.nan

    @property
    def idle(self) -> float:
        """Mean part of the makespan without useful work, of the workers that score.

        Workers that only align are in no plan, and come last.
        """
        planned = max((len(each.plan.kinds) for each in self.plans), default=None)
        return float(self.timeline.idle()[:planned].mean())

    def trace(self) -> dict[str, Any]:
        """Return plans and activities in the format of chrome://tracing and Perfetto."""
        return chrome_trace(self.timeline, self.plans, self.query_ids)

    def panels(self) -> list[Panel]:
        """Return the panels of a Gantt chart: the plans above the activities."""
        return panels(self.timeline, self.plans, self.query_ids)

    def gantt(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw plans and activities, one above the other. See `Plan.gantt`."""
        from swdual.planning.gantt import draw, draw_or_save

        return draw_or_save(lambda: draw(self.panels()), path, force=force)

    def __repr__(self) -> str:
        return (
            f"<Timing: {self.seconds:.3g} s, "
            f"{pluralize(len(self.timeline.workers), 'worker', 'workers')}, "
            f"{self.cells / 1e9:,.1f} Gcells, {self.gcups:.1f} GCUPS>"
        )

    def _repr_html_(self) -> str:
        from swdual.planning.gantt import svg
        from swdual.text import notebook

        facts = notebook.text(repr(self)[1:-1])
        return notebook.join((notebook.paragraph(facts), notebook.drawing(svg(self.panels()))))
