"""Least makespans of independent tasks on two kinds of workers, computed from the definitions.

Task ``j`` takes ``p[j]`` seconds on a CPU and ``q[j]`` on a GPU, divided by the speed of the
worker; an infinite time says that it cannot run there.  There are ``m`` CPUs and ``k`` GPUs, and
worker ``i`` is a CPU where ``i < m``.  A schedule gives each task a worker and an interval
``[start, end)`` without interruption; no two tasks of a worker overlap.  Its makespan is the
greatest end.  As tasks are independent, the least makespan is that of an assignment without gaps:
the greatest sum of times of a worker.

- `optimum` finds the least makespan by branch and bound: about nine tasks on six workers;
- `check` says whether a schedule is one, and returns its makespan;
- `printed_greedy` and `printed_search` are the algorithm of a thesis as its text has it, which
  does not keep what is claimed for it.

References
----------
Machado Mendonca's thesis, section 2.3.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

Times = Sequence[float]

RELATIVE = 1e-9
"""Relative error that a duration may have."""

ROUNDING = 1e-12
"""Relative error that an instant may have: some thousand roundings of 64-bit numbers."""


def durations(
    p: Times,
    q: Times,
    m: int,
    k: int,
    cpu_speeds: Times | None = None,
    gpu_speeds: Times | None = None,
) -> list[list[float]]:
    """Return the seconds of each task on each worker, CPUs before GPUs.

    Parameters
    ----------
    p, q : sequence of float
        The times of each task on a CPU and on a GPU of speed 1.
    m, k : int
        How many CPUs and GPUs there are.
    cpu_speeds, gpu_speeds : sequence of float, optional
        The speed of each, by default 1.

    Returns
    -------
    list of list of float
        One row a task, one column a worker.

    Raises
    ------
    ValueError
        If there are not as many times, or as many speeds, as there should be.
    """
    cpu_speeds = [1.0] * m if cpu_speeds is None else cpu_speeds
    gpu_speeds = [1.0] * k if gpu_speeds is None else gpu_speeds
    if len(p) != len(q) or len(cpu_speeds) != m or len(gpu_speeds) != k:
        raise ValueError("tasks need two times each, and workers one speed each")
    return [
        [float(a) / s for s in cpu_speeds] + [float(b) / s for s in gpu_speeds]
        for a, b in zip(p, q, strict=True)
    ]


def optimum(
    p: Times,
    q: Times,
    m: int,
    k: int,
    cpu_speeds: Times | None = None,
    gpu_speeds: Times | None = None,
) -> float:
    """Return the least makespan, by trying every assignment that may be better than the best.

    Of workers that are alike and equally loaded only the first is tried.  A partial assignment is
    given up when some worker is loaded as long as the best known, or when all loads and the least
    times of the other tasks, spread evenly over the workers, are as long.

    Parameters
    ----------
    p, q, m, k, cpu_speeds, gpu_speeds
        As for `durations`.

    Returns
    -------
    float
        The least makespan; 0 without tasks, infinite if some task can run nowhere.
    """
    times = durations(p, q, m, k, cpu_speeds, gpu_speeds)
    if not times:
        return 0.0
    if any(min(row, default=math.inf) == math.inf for row in times):
        return math.inf
    times.sort(key=min, reverse=True)
    speeds = [1.0] * (m + k)
    speeds[:m] = speeds[:m] if cpu_speeds is None else cpu_speeds
    speeds[m:] = speeds[m:] if gpu_speeds is None else gpu_speeds
    alike = [(worker < m, speed) for worker, speed in enumerate(speeds)]
    left = [math.fsum(min(row) for row in times[j:]) for j in range(len(times) + 1)]
    loads = [0.0] * (m + k)
    best = math.inf

    def extend(task: int, total: float) -> None:
        nonlocal best
        if task == len(times):
            best = min(best, max(loads))
            return
        row = times[task]
        tried = set()
        for worker in sorted(range(m + k), key=lambda w: loads[w] + row[w]):
            before = loads[worker]
            if before + row[worker] >= best:
                return
            if (total + row[worker] + left[task + 1]) / (m + k) >= best:
                continue
            if (*alike[worker], before) in tried:
                continue
            tried.add((*alike[worker], before))
            loads[worker] = before + row[worker]
            extend(task + 1, total + row[worker])
            loads[worker] = before

    extend(0, 0.0)
    return best


def check(
    p: Times,
    q: Times,
    m: int,
    k: int,
    workers: Sequence[int],
    starts: Times,
    ends: Times,
    *,
    queues: Sequence[Sequence[int]] | None = None,
    cpu_speeds: Times | None = None,
    gpu_speeds: Times | None = None,
) -> float:
    """Return the makespan of a schedule, if it is one.

    Parameters
    ----------
    p, q, m, k, cpu_speeds, gpu_speeds
        As for `durations`.
    workers, starts, ends : sequence
        The worker of each task, and its start and end.
    queues : sequence of sequence of int, optional
        The tasks of each worker in the order of their starts, if they are to be checked too.

    Returns
    -------
    float
        The greatest end; 0 without tasks.

    Raises
    ------
    ValueError
        If a task has no worker that exists and can do it, starts before 0, does not take its
        time or overlaps another, or if the queues do not tell the same.
    """
    times = durations(p, q, m, k, cpu_speeds, gpu_speeds)
    if not len(workers) == len(starts) == len(ends) == len(times):
        raise ValueError("not every task is scheduled once")
    for task, (worker, start, end) in enumerate(zip(workers, starts, ends, strict=True)):
        if worker != int(worker) or not 0 <= worker < m + k:
            raise ValueError(f"task {task} is on worker {worker}, which does not exist")
        time = times[task][int(worker)]
        if not (math.isfinite(time) and math.isfinite(start) and math.isfinite(end)):
            raise ValueError(f"task {task} is infinite on worker {worker}")
        if start < 0:
            raise ValueError(f"task {task} starts at {start}")
        if abs(end - start - time) > RELATIVE * time + ROUNDING * abs(end):
            raise ValueError(f"task {task} takes {end - start}, not {time}")
    for worker in range(m + k):
        own = [task for task in range(len(times)) if workers[task] == worker]
        long = sorted((starts[task], ends[task], task) for task in own if times[task][worker] > 0)
        for (_, end, one), (start, _, other) in pairwise(long):
            if start < end - ROUNDING * abs(end):
                raise ValueError(f"tasks {one} and {other} overlap on worker {worker}")
    if queues is not None:
        if len(queues) != m + k:
            raise ValueError("there is not one queue for each worker")
        if sorted(int(task) for queue in queues for task in queue) != list(range(len(times))):
            raise ValueError("not every task is in the queues once")
        for worker, queue in enumerate(queues):
            if any(workers[task] != worker for task in queue):
                raise ValueError(f"the queue of worker {worker} has a task of another")
            order = [starts[task] for task in queue]
            if order != sorted(order):
                raise ValueError(f"the queue of worker {worker} is not in the order of starts")
    return max((float(end) for end in ends), default=0.0)


def printed_greedy(
    p: Times, q: Times, m: int, k: int, guess: float, *, long_apart: bool = False
) -> float | None:
    """Return the makespan that the thesis's algorithm gives for one guess, None for its "NO".

    "The tasks are sorted by decreasing order of the ratio" of the time on a CPU to that on a GPU;
    the first go to the GPUs "up to getting a computational area larger than" k guesses and "all
    remaining tasks are scheduled on CPUs"; if their area is greater than m guesses, the answer is
    "NO".  Either side is list scheduled in that order.  Nothing keeps a task longer than the
    guess from the CPUs, though the proof takes for granted that there is none.

    Parameters
    ----------
    p, q : sequence of float
        The times of each task on a CPU and on a GPU, finite and above 0.
    m, k : int
        How many CPUs and GPUs there are, at least one of each.
    guess : float
        The makespan to reach or to exceed at most twofold.
    long_apart : bool
        Whether a task longer than the guess on one kind goes to the other before all else, as the
        proof needs it; "NO" if it is longer on both, or if the GPUs cannot hold those.

    Returns
    -------
    float or None
        The makespan of the schedule, if the answer is not "NO".
    """
    order = sorted(range(len(p)), key=lambda task: -p[task] / q[task])
    on_gpus = [task for task in order if long_apart and p[task] > guess]
    too_long = {task for task in order if long_apart and q[task] > guess}
    area = sum(q[task] for task in on_gpus)
    if too_long & {*on_gpus} or (on_gpus and area > k * guess):
        return None
    on_cpus = []
    for task in order:
        if task not in on_gpus and (area > k * guess or task in too_long):
            on_cpus.append(task)
        elif task not in on_gpus:
            area += q[task]
            on_gpus.append(task)
    if sum(p[task] for task in on_cpus) > m * guess:
        return None
    return max(
        _list_scheduled([p[task] for task in on_cpus], m),
        _list_scheduled([q[task] for task in on_gpus], k),
    )


def printed_search(p: Times, q: Times, m: int, k: int, steps: int = 40) -> list[float | None]:
    """Return what each guess of the thesis's binary search gives, in the order of the guesses.

    A "NO" raises the lower end of the search to the guess, any other answer lowers the upper end.
    The ends to start from are not printed: here they are 0 and the sum of the lesser times.

    Parameters
    ----------
    p, q, m, k
        As for `printed_greedy`.
    steps : int
        How many guesses there are.

    Returns
    -------
    list
        The makespan for each guess, None for a "NO".
    """
    low, high = 0.0, float(sum(map(min, p, q)))
    found = []
    for _ in range(steps):
        guess = (low + high) / 2
        found.append(printed_greedy(p, q, m, k, guess))
        if found[-1] is None:
            low = guess
        else:
            high = guess
    return found


def _list_scheduled(times: Times, workers: int) -> float:
    """Return the makespan when each task in turn goes to the worker that is free first.

    Parameters
    ----------
    times : sequence of float
        The time of each task.
    workers : int
        How many workers there are.

    Returns
    -------
    float
        The greatest load.
    """
    loads = [0.0] * workers
    for time in times:
        loads[loads.index(min(loads))] += time
    return max(loads)
