"""Thread matrix and gang scheduling, second by second, from their definitions.

All times are whole seconds.  In a second, what ends by its beginning ends first, then come the
submissions, then the scheduler decides who runs during that second.

Thread matrix (section III of the paper).  A thread is a row of a column, its job, of a matrix.
When a processor is free and the queue is empty, a window of the first columns is read row by row
into the queue:

- begin with n, the threads of the first column; while one of the first n columns has more threads
  than n, let n be that number; columns that are not there do not count,
- or a fixed number of columns.

Threads start in the order of the queue.  One whose turn it is, and that waits for another thread
that has not ended, steps aside.  Is the other in the queue or the matrix, it leaves it and has the
turn.  Threads that stepped aside have their turn before all others once what they wait for has
ended, in the order of these ends and of their own stepping aside.

Gang scheduling (Ousterhout's matrix).  A row has a place for each processor.  A job is put into the
lowest free places of the first row that has enough of them; if there is none, into a new row
behind the others, or, if there may be no more, it waits and all later ones with it.  Rows without
jobs are taken away.  A row has its turn for a quantum, or until it is taken away; the next one is
the following row.  While it is the only row its turn goes on.  Alternates: jobs of the other rows,
from the following one on, run too if all their places are not used in that second.
"""

from typing import NamedTuple


class Thread(NamedTuple):
    """A thread: times, the name of its job, and the place in the list of what it waits for."""

    submit: int
    seconds: int
    job: object
    waits_for: int | None = None


def growing_window(sizes: list[int]) -> int:
    """Return how many of the columns with these numbers of threads are read."""
    n = sizes[0]
    while max(sizes[:n]) > n:
        n = max(sizes[:n])
    return min(n, len(sizes))


def thread_matrix(threads: list[Thread], processors: int, window: int | None = None) -> list[int]:
    """Return the start of each thread; without a window, it grows."""
    starts: list[int | None] = [None] * len(threads)
    over: list[int] = []
    matrix: list[tuple[object, list[int]]] = []
    queue: list[int] = []
    aside: list[int] = []
    ready: list[int] = []
    now = -1
    while None in starts:
        now += 1
        running = [i for i, start in enumerate(starts) if start is not None and i not in over]
        ending = [i for i in running if starts[i] + threads[i].seconds <= now]
        for i in sorted(ending):
            over.append(i)
            running.remove(i)
            for other in [k for k in aside if threads[k].waits_for == i]:
                aside.remove(other)
                ready.append(other)
        for i, thread in enumerate(threads):
            if thread.submit == now:
                if thread.job not in [job for job, _ in matrix]:
                    matrix.append((thread.job, []))
                next(column for job, column in matrix if job == thread.job).append(i)
        while len(running) < processors:
            if not ready and not queue:
                if not matrix:
                    break
                sizes = [len(column) for _, column in matrix]
                n = growing_window(sizes) if window is None else window
                for row in range(max(sizes)):
                    queue.extend(column[row] for _, column in matrix[:n] if row < len(column))
                del matrix[:n]
            turn: int | None = ready.pop(0) if ready else queue.pop(0)
            while turn is not None:
                awaited = threads[turn].waits_for
                if awaited is None or awaited in over:
                    break
                aside.append(turn)
                turn = None
                if awaited in queue:
                    queue.remove(awaited)
                    turn = awaited
                for _, column in matrix:
                    if awaited in column:
                        column.remove(awaited)
                        turn = awaited
                matrix = [pair for pair in matrix if pair[1]]
            if turn is not None:
                starts[turn] = now
                running.append(turn)
    return starts


def gang(
    jobs: list[tuple[int, int, int]],
    processors: int,
    quantum: int,
    slots: int,
    alternates: bool,
) -> list[int]:
    """Return the end of each job, which is (submit, seconds, processors)."""
    left = [seconds for _, seconds, _ in jobs]
    ends: list[int | None] = [None] * len(jobs)
    rows: list[list[int | None]] = []
    waiting: list[int] = []
    turn: list[int | None] | None = None
    begun = now = 0
    while None in ends:
        for i in range(len(jobs)):
            if left[i] == 0 and ends[i] is None:
                ends[i] = now
                for row in rows:
                    row[:] = [None if place == i else place for place in row]
        following = None
        if turn is not None and not any(place is not None for place in turn):
            at = next(k for k, row in enumerate(rows) if row is turn)
            cycle = rows[at + 1 :] + rows[:at]
            following = next((row for row in cycle if any(x is not None for x in row)), None)
            turn, begun = following, now
        rows = [row for row in rows if any(place is not None for place in row)]
        waiting.extend(i for i, job in enumerate(jobs) if job[0] == now)
        while waiting:
            first = waiting[0]
            need = jobs[first][2]
            row = next((row for row in rows if row.count(None) >= need), None)
            if row is None and len(rows) == slots:
                break
            if row is None:
                row = [None] * processors
                rows.append(row)
            free = [k for k, place in enumerate(row) if place is None]
            for k in free[:need]:
                row[k] = first
            waiting.pop(0)
        if turn is None and rows:
            turn, begun = rows[0], now
        if len(rows) > 1 and now - begun >= quantum:
            at = next(k for k, row in enumerate(rows) if row is turn)
            turn, begun = rows[(at + 1) % len(rows)], now
        if turn is not None:
            at = next(k for k, row in enumerate(rows) if row is turn)
            used = list(turn)
            if alternates:
                for row in rows[at + 1 :] + rows[:at]:
                    for i in dict.fromkeys(place for place in row if place is not None):
                        places = [k for k, place in enumerate(row) if place == i]
                        if all(used[k] is None for k in places):
                            for k in places:
                                used[k] = i
            for i in {place for place in used if place is not None}:
                left[i] -= 1
        now += 1
    return ends
