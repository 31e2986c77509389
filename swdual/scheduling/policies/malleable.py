"""EASY backfilling of jobs with minimum, preferred and maximum sizes: min, pref, avg, keep_pref.

P. Zojer, J. Posner, T. Özden, "Evaluating malleable job scheduling in HPC clusters using real-world
workloads", arXiv 2602.17318, 2026. Its abstract is what we had. The rules of min, pref and avg are
those of the program of J. Posner, F. Hupfeld, P. Finnerty, "Enhancing supercomputer performance
with malleable job scheduling strategies", PECS 2023 (projectwagomu/MalleableJobScheduling, the
strategies with a common pool), where jobs start by EASY backfilling, then running jobs are shrunk
to start more, then expanded on what is left. That is ours:

- keep_pref is pref without its last resort: no running job is shrunk below its preferred size.
- Jobs are resized at once and at no cost. There, a job is resized when it comes to a point at which
  it can be, and the processors are kept for the job that is to start on them.
- The queue is gone through once, and each job may shrink others. What is free counts, too.
- The reservation of the head is that of EASY backfilling in the sizes that jobs cannot be denied:
  the minimum, or in keep_pref the preferred size. Run times are those on the smallest size that
  a job can come to have, as there. So a head starts no later than reserved. There, any job may
  shrink others, also while the head waits, which can put it off for ever.
- In avg, a job's part of its range is that after each processor. There, its sign is wrong.
- The requested size is the preferred one. In place of sizes by efficiency, the minimum and the
  maximum are the options, or the columns ``min_processors`` and ``max_processors`` of the workload.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from swdual.errors import InputError
from swdual.io.text import pluralize
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.job import Job, seconds
from swdual.scheduling.platform import Platform
from swdual.scheduling.policies._malleable import refuse_forced
from swdual.scheduling.policies._shadow import find_shadow_time
from swdual.scheduling.policies._sizes import Sizes, draw_sizes
from swdual.scheduling.policy import Decision, Option, Resize, Running, Start, View

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
    "serial": Option(
        0.0,
        "Part of the work on one processor that is serial, by Amdahl's law; 0: the speed-up is "
        "linear. Moldable jobs have a speed-up of their own.",
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

    Of equal jobs the one that was submitted first comes first.
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
        serial: float,
    ) -> None:
        refuse_forced(allocator)
        for name, value, low, high in (
            ("share", share, 0, 100),
            ("minimum", minimum, 0, 1),
            ("maximum", maximum, 1, np.inf),
            ("serial", serial, 0, 1),
            ("seed", seed, 0, np.inf),
        ):
            if not low <= value <= high:
                bounds = f"{low} or more" if high == np.inf else f"between {low} and {high}"
                raise InputError(f"{name} cannot be {value:g}: it is {bounds}")
        self._strategy = strategy
        self._serial = serial
        self._draw = {"share": share, "minimum": minimum, "maximum": maximum}
        self._seed = seed
        self._sizes: Sizes
        self._kept: list[int] | None = None

    def decide(self, view: View) -> Iterator[Decision]:
        """Yield the starts and resizes of an instant."""
        if self._kept is None:
            minimum, maximum = draw_sizes(
                view.workload, view.platform.processors, seed=self._seed, **self._draw
            )
            self._sizes = Sizes(view.workload, minimum, maximum, self._serial)
            sizes = self._sizes
            self._kept = sizes.preferred if self._strategy == KEEP_PREF else sizes.minimum
        for ended in view.ended:
            self._sizes.set(ended.job.index, 0)
        while view.queue:
            head = next(iter(view.queue.values()))
            size, floor = self._choose(view, head)
            if not size:
                yield from self._backfill(view, head, self._kept)
                break
            yield from self._start(view, head, size, floor, "started as the head of the queue")
        yield from self._expand(view)

    def _choose(self, view: View, job: Job) -> tuple[int, list[int]]:
        """Return the size at which a job would start, 0 if it finds no room, and others' floor."""
        sizes, free = self._sizes, view.free_count
        least, preferred = sizes.minimum[job.index], job.processors
        if self._strategy in (MIN, AVG):
            return (least if least <= free + sizes.above_minimum else 0), sizes.minimum
        if least <= free:
            return min(preferred, free), sizes.preferred
        for size in (preferred, least):
            if size <= free + sizes.above_preferred:
                return size, sizes.preferred
        if self._strategy == PREF and least <= free + sizes.above_minimum:
            return least, sizes.minimum
        return 0, sizes.minimum

    def _start(
        self,
        view: View,
        job: Job,
        size: int,
        floor: list[int],
        why: str,
        *,
        backfilled: bool = False,
    ) -> Iterator[Decision]:
        """Yield the resizes of others, and the start of a job."""
        sizes, needed = self._sizes, size - view.free_count
        if needed > 0:
            if self._strategy == AVG:
                new = sizes.balance(needed, -1)
            else:
                base = sizes.minimum if self._strategy == MIN else sizes.preferred
                new = sizes.shrink(needed, base, floor)
            yield from self._resize(view, new, f"shrunk for job {job.number}")
        view.note(job, f"{why} on {pluralize(size, 'processor', 'processors')}")
        sizes.set(job.index, size)
        yield Start(job, None, backfilled, width=size, rate=sizes.rate(job.index, size))

    def _expand(self, view: View) -> Iterator[Resize]:
        """Yield which jobs get the processors that are left."""
        sizes = self._sizes
        why = "expanded on what is left"
        if not view.free_count:
            return
        if self._strategy == AVG:
            yield from self._resize(view, sizes.balance(view.free_count, 1), why)
        elif self._strategy == MIN:
            new = sizes.expand(view.free_count, sizes.minimum, sizes.maximum)
            yield from self._resize(view, new, why)
        else:
            for limit in (sizes.preferred, sizes.maximum):
                new = sizes.expand(view.free_count, sizes.preferred, limit)
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
            view.note(running.job, f"{why}: {pluralize(size, 'processor', 'processors')}")
            yield Resize(running.job, held, self._sizes.rate(index, size))

    def _backfill(self, view: View, head: Job, kept: list[int]) -> Iterator[Decision]:
        """Yield the starts behind a head that finds no room, which do not delay it."""
        free = view.platform.processors - sum(kept[index] for index in view.running)
        ends = sorted(
            (self._slowest_end(view, running, kept), index, kept[index])
            for index, running in view.running.items()
        )
        shadow, extra = find_shadow_time(ends, self._sizes.minimum[head.index], free)
        view.promise(head, shadow)
        view.note(
            head, f"head of the queue: {self._explain(view, head)}; reserved at {seconds(shadow)}"
        )
        for job in [*view.queue.values()]:
            if job is head:
                continue
            size, floor = self._choose(view, job)
            if not size:
                if view.watching:
                    view.note(job, f"not backfilled: {self._explain(view, job)}")
                continue
            index = job.index
            rate = self._sizes.rate(index, min(size, kept[index]))
            beyond = view.now + job.requested_time / rate > shadow
            if beyond and kept[index] > extra:
                view.note(
                    job,
                    f"not backfilled: may run beyond {seconds(shadow)}, when the head of the queue "
                    f"starts, which leaves {pluralize(extra, 'processor', 'processors')}",
                )
                continue
            if beyond:
                extra -= kept[index]
            why = f"backfilled: job {head.number}, the head, keeps its reservation;"
            yield from self._start(view, job, size, floor, why, backfilled=True)

    def _slowest_end(self, view: View, running: Running, kept: list[int]) -> float:
        """Return when a running job ends at the latest, if it is shrunk as far as it can be."""
        index = running.job.index
        size, now = self._sizes.now.get(index, kept[index]), view.now
        if size <= kept[index]:
            return running.latest_end
        slower = running.rate / self._sizes.rate(index, kept[index])
        return now + (running.latest_end - now) * slower

    def _explain(self, view: View, job: Job) -> str:
        sizes = self._sizes
        spare = sizes.above_preferred if self._strategy == KEEP_PREF else sizes.above_minimum
        needed = pluralize(sizes.minimum[job.index], "processor", "processors")
        return f"needs {needed}, {view.free_count:,} are free, and others could give {spare:,}"
