"""How long a search took: what was planned, and what each worker did."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swdual.io.text import pluralize
from swdual.planning.timeline import Planned, Timeline, chrome_trace, panels

if TYPE_CHECKING:
    import matplotlib.figure

    from swdual.planning.gantt import Panel


@dataclass(frozen=True)
class Timing:
    """How long the search took, how much it was, what was planned and what each worker did.

    Parameters
    ----------
    cells
        Cells of all queries against all targets.
    seconds
        Wall time.
    timeline
        What each worker did when.
    plans
        The plans that they followed, one a wave of queries; none for a search so small that
        nobody asked how fast the workers are.
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
        """10^9 cells a second, padding not counted."""
        return self.cells / max(self.seconds, 1e-9) / 1e9

    @property
    def planned_seconds(self) -> float:
        """The predicted makespan, of all plans one after the other; not-a-number without plans."""
        return sum(planned.plan.makespan for planned in self.plans) if self.plans else math.nan

    def trace(self) -> dict[str, Any]:
        """Return plan and reality in Chrome's trace format, for chrome://tracing and Perfetto."""
        return chrome_trace(self.timeline, self.plans, self.query_ids)

    def panels(self) -> list[Panel]:
        """Return plan and reality as `swdual.planning.gantt` draws them, one above the other."""
        return panels(self.timeline, self.plans, self.query_ids)

    def gantt(
        self, path: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> matplotlib.figure.Figure | None:
        """Draw plan and reality one above the other: takes what `Plan.gantt` takes."""
        from swdual.planning.gantt import draw_or_save

        return draw_or_save(self.panels(), path, force=force)

    def __repr__(self) -> str:
        return (
            f"<Timing: {self.seconds:.3g} s, "
            f"{pluralize(len(self.timeline.workers), 'worker', 'workers')}, "
            f"{self.cells / 1e9:,.1f} Gcells, {self.gcups:.1f} GCUPS>"
        )

    def _repr_html_(self) -> str:
        from swdual.io import notebook
        from swdual.planning.gantt import svg

        facts = notebook.text(repr(self)[1:-1])
        return notebook.join((notebook.paragraph(facts), notebook.drawing(svg(self.panels()))))
