"""Sequential tasks second by second, by the policies of chapter 3 of Machado Mendonca's thesis.

A task is two whole numbers: when it is released and how long it runs, at least 1.  A machine is a
number of processors that are all alike; each runs one task at a time.  What holds for every
policy:

- In a second first all tasks end that are done, then the new tasks come one after the other, in
  the order of their release and number, and then each idle processor takes a task.
- A new task joins its queue at once.  It may interrupt a task or have it redirected only if that
  one was running before the second.
- Of several equally short waiting tasks the one is taken that joined the queue first.  An
  interrupted task joins after the task that interrupted it.
- Among running tasks with equally much left the one with the highest number counts as the one
  with most left.
- A redirected task begins anew on the dedicated processors, the last ones, where the same policy
  holds without redirection.

`common_queue` is FCFS (by `first_come`), GSPT, GSRPT, GSPT-RD and GSPT-RR; `dispatched` is SPT,
SRPT, SPT-RD and SPT-RR.  With random redirection the caller says which tasks are redirected;
`heavy_tasks` finds them from the numbers that were drawn.

References
----------
Machado Mendonca's thesis, sections 3.4.1 to 3.4.4.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

Tasks = Sequence[tuple[int, int]]


class Outcome(NamedTuple):
    """What became of the tasks.

    Attributes
    ----------
    starts, finishes : list of int
        When each started first, and when it was done.
    redirected : set of int
        The tasks that were redirected.
    """

    starts: list[int]
    finishes: list[int]
    redirected: set[int]


class _Processor:
    def __init__(self) -> None:
        self.task: int | None = None
        self.queue: list[int] = []
        self.count = 0


class _Simulation:
    """What is common to the two models: time, and who has what left."""

    def __init__(self, tasks: Tasks, preempt: bool, threshold: float) -> None:
        self.tasks = tasks
        self.preempt = preempt
        self.threshold = threshold
        self.left = [size for _, size in tasks]
        self.starts = [-1] * len(tasks)
        self.finishes = [-1] * len(tasks)
        self.redirected: set[int] = set()

    def take(self, processor: _Processor, queue: list[int], now: int, by_size: bool) -> None:
        if processor.task is not None or not queue:
            return
        # The minimum that comes first in the queue joined it first.
        task = min(queue, key=lambda j: self.left[j]) if by_size else queue[0]
        queue.remove(task)
        processor.task, processor.count = task, 0
        if self.starts[task] < 0:
            self.starts[task] = now

    def finish(self, processors: list[_Processor], now: int) -> None:
        for processor in processors:
            if processor.task is not None and self.left[processor.task] == 0:
                self.finishes[processor.task] = now
                processor.task = None

    def work(self, processors: list[_Processor]) -> None:
        for processor in processors:
            if processor.task is not None:
                self.left[processor.task] -= 1

    def outcome(self) -> Outcome:
        return Outcome(self.starts, self.finishes, self.redirected)


def common_queue(
    tasks: Tasks,
    m: int,
    *,
    preempt: bool = False,
    threshold: float = math.inf,
    dedicated: int = 0,
    heavy: Collection[int] = (),
    first_come: bool = False,
) -> Outcome:
    """Return what a queue for all processors makes of the tasks.

    Parameters
    ----------
    tasks, m
        The tasks, and how many processors there are, with the dedicated ones.
    preempt : bool
        Whether a new task takes the processor of the running task with most left, if it is not
        longer than that.
    threshold : float
        How many shorter tasks make the running task with most left heavy.
    dedicated : int
        How many processors are for redirected tasks.
    heavy : collection of int
        Tasks that are redirected when they are released.
    first_come : bool
        Whether idle processors take the first released task, not the shortest one.
    """
    simulation = _Simulation(tasks, preempt, threshold)
    left = simulation.left
    processors = [_Processor() for _ in range(m)]
    main, apart = processors[: m - dedicated], processors[m - dedicated :]
    queue: list[int] = []
    queue_apart: list[int] = []
    now = 0
    while -1 in simulation.finishes:
        simulation.finish(processors, now)
        for new in (j for j, (release, _) in enumerate(tasks) if release == now):
            if new in heavy:
                queue_apart.append(new)
                simulation.redirected.add(new)
                continue
            queue.append(new)
            busy = [p for p in main if p.task is not None]
            if not busy:
                continue
            longest = max(busy, key=lambda p: (left[p.task], p.task))
            old = longest.task
            assert old is not None
            if preempt and left[new] <= left[old]:
                longest.task = None
                queue.append(old)
            elif not preempt and left[new] < left[old]:
                longest.count += 1
                if longest.count == threshold:
                    longest.task = None
                    left[old] = tasks[old][1]
                    queue_apart.append(old)
                    simulation.redirected.add(old)
        for processor in main:
            simulation.take(processor, queue, now, not first_come)
        for processor in apart:
            simulation.take(processor, queue_apart, now, not first_come)
        simulation.work(processors)
        now += 1
    return simulation.outcome()


def dispatched(
    tasks: Tasks,
    m: int,
    *,
    preempt: bool = False,
    threshold: float = math.inf,
    dedicated: int = 0,
    heavy: Collection[int] = (),
) -> Outcome:
    """Return what a queue for each processor makes of the tasks; parameters as `common_queue`.

    A task is dispatched, at its release or redirection, to the first processor of those on which
    the marginal increase of section 3.4.4 is least.
    """
    simulation = _Simulation(tasks, preempt, threshold)
    left = simulation.left
    processors = [_Processor() for _ in range(m)]
    main, apart = processors[: m - dedicated], processors[m - dedicated :]

    def increase(processor: _Processor, new: int, may_redirect: bool) -> int:
        size, old, queue = left[new], processor.task, processor.queue
        not_longer = sum(left[j] for j in queue if left[j] <= size)
        longer = sum(size for j in queue if left[j] > size)
        if old is None:
            return (not_longer + size) + longer
        if preempt and size < left[old]:
            return size + sum(size for j in [*queue, old] if left[j] > size)
        if may_redirect and size < left[old] and processor.count == threshold - 1:
            return (not_longer + size) + longer - sum(left[old] for _ in queue)
        return (left[old] + not_longer + size) + longer

    def dispatch(new: int, among: list[_Processor]) -> _Processor:
        chosen = min(among, key=lambda p: increase(p, new, among is main))
        chosen.queue.append(new)
        return chosen

    now = 0
    while -1 in simulation.finishes:
        simulation.finish(processors, now)
        for new in (j for j, (release, _) in enumerate(tasks) if release == now):
            if new in heavy:
                dispatch(new, apart)
                simulation.redirected.add(new)
                continue
            chosen = dispatch(new, main)
            old = chosen.task
            if old is None:
                continue
            if preempt and left[new] <= left[old]:
                chosen.task = None
                chosen.queue.append(old)
            elif not preempt and left[new] < left[old]:
                chosen.count += 1
                if chosen.count == threshold:
                    chosen.task = None
                    left[old] = tasks[old][1]
                    dispatch(old, apart)
                    simulation.redirected.add(old)
        for processor in processors:
            simulation.take(processor, processor.queue, now, by_size=True)
        simulation.work(processors)
        now += 1
    return simulation.outcome()


def heavy_tasks(tasks: Tasks, probability: float, share: float, drawn: Sequence[float]) -> set[int]:
    """Return the tasks that random redirection redirects (section 3.4.3).

    Parameters
    ----------
    tasks
        The tasks, in the order of their release.
    probability, share : float
        c and b.
    drawn : sequence of float
        Numbers in [0, 1]: the first one is of the first potentially heavy task, and so on.
    """
    numbers = iter(drawn)
    heavy = set()
    for j, (_, size) in enumerate(tasks):
        longest = max(other for _, other in tasks[: j + 1])
        if size >= share * longest and next(numbers) <= probability:
            heavy.add(j)
    return heavy
