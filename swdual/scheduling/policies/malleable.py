"""EASY backfilling of jobs with minimum, preferred and maximum sizes: min, pref, avg, keep_pref.

P. Zojer, J. Posner, T. Özden, "Evaluating malleable job scheduling in HPC clusters using real-world
workloads", arXiv 2602.17318, 2026. We had its abstract, and the thesis behind it: P. Zojer,
"Elasticity for HPC clusters: a simulation-based analysis with real workloads", Kassel, 2025,
section 3.1.2. The rules of min, pref and avg in detail are those of a program: J. Posner, F.
Hupfeld, P. Finnerty, "Enhancing supercomputer performance with malleable job scheduling
strategies", PECS 2023 (projectwagomu/MalleableJobScheduling, with a common pool).

This module differs from that program:

- keep_pref, which the sources describe in sentences only, is pref with the preferred size as the
  minimum.
- Jobs are resized at once and at no cost. In the program a job is resized at its next scheduling
  point, and the processors are kept for the job that is to start on them.
- The policy goes through the queue once. Each job may shrink others, and takes free processors too.
- The head of the queue has a reservation, as in EASY backfilling: in minimum sizes, and with run
  times on these. So it starts no later than reserved. In the program any job may shrink others
  while the head waits, which can delay the head without bound.
- avg compares which part of its range each job has after each processor. The program has the wrong
  sign.
- The minimum and the maximum are parts of the request, or columns of the workload. In the program
  they follow from the efficiency by Amdahl's law: 0.8 on the request, 0.95 and 0.5 on the minimum
  and the maximum, which are about 0.21 and 4 times the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from swdual.errors import InputError
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._malleable import refuse_forced
from swdual.scheduling.policies._sizes import Sizes, draw_sizes
from swdual.scheduling.policy import Decision, Option, Resize, Running, Start, View
from swdual.scheduling.shadow import find_shadow_time
from swdual.scheduling.workload.workload import Workload
from swdual.text.messages import pluralize

MALLEABLE = True

MIN, PREF, AVG, KEEP_PREF = "min", "pref", "avg", "keep_pref"

OPTIONS = {
    "strategy": Option(
        PREF,
        "Sizes at which jobs start, and which ones are resized: by what they have beyond their "
        "minimum, beyond their preferred size, or evenly. keep_pref shrinks none below that.",
        (MIN, PREF, AVG, KEEP_PREF),
    ),
    "share": Option(100.0, "Percentage of malleable jobs, drawn at random; the others are rigid."),
    "seed": Option(0, "Seed of the draw. With a larger share, the same jobs and more are drawn."),
    "minimum": Option(
        0.5,
        "Smallest size of malleable jobs as a part of the processors requested, rounded up, if the "
        "workload has no column min_processors.",
    ),
    "maximum": Option(
        2.0,
        "Largest size likewise, 1 or more, rounded down and no more than the platform has, if the "
        "workload has no column max_processors.",
    ),
    "efficiency": Option(
        1.0,
        "Speed-up on the processors requested / their number; each job has the serial part that "
        "gives it by Amdahl's law. 1: linear. Moldable jobs have a speed-up of their own.",
    ),
}


class Policy:
    """Starts jobs by EASY backfilling, shrinks running ones for them, and expands them again.

    - Start: min and avg start a job on its minimum. pref starts it on its preferred size or what is
      free, from the minimum up. If there is less, it shrinks others to their preferred size for its
      preferred size, or else for its minimum, and last others to their minimum for its minimum.
    - Shrink: min and pref take from the job that has most beyond its minimum or preferred size
      first. avg takes each processor from the job with the greatest part of its range, (size -
      minimum) / (maximum - minimum).
    - Expand: the other way round, min to the maximum, pref all to their preferred size first. avg
      gives each processor to the job with the smallest part of its range.

    keep_pref is pref where no job has less than its preferred size. Of equal jobs the one that was
    submitted first comes first.
    """

    def __init__(
        self,
        platform: Platform,
        allocator: Allocator,
        strategy: str,
        share: float,
        seed: int,
        minimum: float,
        maximum: float,
        efficiency: float,
    ) -> None:
        refuse_forced(allocator)
        for name, value, low, high in (
            ("share", share, 0, 100),
            ("minimum", minimum, 0, 1),
            ("maximum", maximum, 1, np.inf),
            ("efficiency", efficiency, 0, 1),
            ("seed", seed, 0, np.inf),
        ):
            if not low <= value <= high:
                bounds = f"{low} or more" if high == np.inf else f"between {low} and {high}"
                raise InputError(f"{name} cannot be {value:g}: it is {bounds}")
        self._strategy = strategy
        self._draw: Callable[[Workload, int], Sizes] | None = partial(
            draw_sizes,
            share=share,
            seed=seed,
            minimum=minimum,
            maximum=maximum,
            efficiency=efficiency,
            keep_preferred=strategy == KEEP_PREF,
        )
        self._sizes: Sizes

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the starts and resizes of an instant."""
        if self._draw is not None:
            self._sizes, self._draw = self._draw(view.workload, view.platform.processors), None
        for ended in view.ended:
            self._sizes.set(ended.job.index, 0)
        while view.queue:
            head = next(iter(view.queue.values()))
            size = self._choose(view, head)
            if not size:
                yield from self._backfill(view, head)
                break
            yield from self._start(view, head, size, "started as the head of the queue")
        yield from self._expand(view)

    def _choose(self, view: View, job: Job) -> int:
        """Return the size at which a job would start, 0 if it finds no room."""
        sizes, free = self._sizes, view.free_count
        least, preferred = sizes.minimum[job.index], job.processors
        if self._strategy in (PREF, KEEP_PREF):
            if least <= free:
                return min(preferred, free)
            if preferred <= free + sizes.above_preferred:
                return preferred
        return least if least <= free + sizes.above_minimum else 0

    def _start(
        self, view: View, job: Job, size: int, why: str, *, backfilled: bool = False
    ) -> Iterator[Decision]:
        """Yield the resizes of others, and the start of a job."""
        sizes, needed = self._sizes, size - view.free_count
        if needed > 0:
            if self._strategy == AVG:
                new = sizes.resize_evenly(needed, -1)
            elif self._strategy == MIN:
                new = sizes.resize_in_turn(needed, -1, sizes.minimum, sizes.minimum)
            else:
                enough = needed <= sizes.above_preferred
                floor = sizes.preferred if enough else sizes.minimum
                new = sizes.resize_in_turn(needed, -1, sizes.preferred, floor)
            yield from self._resize(view, new, f"shrunk for job {job.number}")
        view.note(job, f"{why} on {_count(size)}")
        sizes.set(job.index, size)
        yield Start(job, None, backfilled, width=size, rate=sizes.rate(job.index, size))

    def _expand(self, view: View) -> Iterator[Resize]:
        """Yield which jobs get the processors that are left."""
        sizes, why = self._sizes, "expanded on what is left"
        if self._strategy == AVG:
            yield from self._resize(view, sizes.resize_evenly(view.free_count, 1), why)
        elif self._strategy == MIN:
            new = sizes.resize_in_turn(view.free_count, 1, sizes.minimum, sizes.maximum)
            yield from self._resize(view, new, why)
        else:
            for limit in (sizes.preferred, sizes.maximum):
                new = sizes.resize_in_turn(view.free_count, 1, sizes.preferred, limit)
                yield from self._resize(view, new, why)

    def _resize(self, view: View, new: dict[int, int], why: str) -> Iterator[Resize]:
        for index, size in new.items():
            running = view.running[index]
            more = size - self._sizes.now[index]
            if more < 0:
                held = sets.lowest(running.processors, size)
            else:
                chosen = view.allocator.choose(view.free(), more, view.platform)
                assert chosen is not None, "only a forced allocator refuses free processors"
                held = sets.union(running.processors, chosen)
            self._sizes.set(index, size)
            view.note(running.job, f"{why}: {_count(size)}")
            yield Resize(running.job, held, self._sizes.rate(index, size))

    def _backfill(self, view: View, head: Job) -> Iterator[Decision]:
        """Yield the starts behind a head that finds no room, which do not delay it."""
        sizes, least = self._sizes, self._sizes.minimum
        ends = sorted(
            (self._latest_end(view, running), index, least[index])
            for index, running in view.running.items()
        )
        free = view.platform.processors - sum(released for _, _, released in ends)
        shadow, extra = find_shadow_time(ends, least[head.index], free)
        view.promise(head, shadow)
        view.note(
            head, f"head of the queue: {self._explain(view, head)}; reserved at {seconds(shadow)}"
        )
        for job in [*view.queue.values()]:
            if job is head:
                continue
            index = job.index
            size = self._choose(view, job)
            if not size:
                if view.watching:
                    view.note(job, f"not backfilled: {self._explain(view, job)}")
                continue
            if view.now + job.requested_time / sizes.rate(index, least[index]) > shadow:
                if least[index] > extra:
                    view.note(
                        job,
                        f"not backfilled: may run beyond {seconds(shadow)}, when the head of the "
                        f"queue starts, which then leaves {_count(extra)}",
                    )
                    continue
                extra -= least[index]
            why = f"backfilled: job {head.number}, the head, keeps its reservation;"
            yield from self._start(view, job, size, why, backfilled=True)

    def _latest_end(self, view: View, running: Running) -> float:
        """Return when a running job ends at the latest if it is shrunk to its minimum now."""
        sizes, index = self._sizes, running.job.index
        least = sizes.minimum[index]
        if sizes.now.get(index, least) == least:
            return running.latest_end
        left = (running.latest_end - view.now) * running.rate
        return view.now + left / sizes.rate(index, least)

    def _explain(self, view: View, job: Job) -> str:
        return (
            f"needs {_count(self._sizes.minimum[job.index])}, {view.free_count:,} are free, and "
            f"others could give {self._sizes.above_minimum:,}"
        )


def _count(processors: int) -> str:
    return pluralize(processors, "processor", "processors")
