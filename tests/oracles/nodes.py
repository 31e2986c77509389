"""Jobs on nodes with processors, memory and GPUs, under outages, computed from the definitions.

A platform is nodes 0, 1, ...; each has processors, memory in KB, GPUs, and the names of the
partitions that it is in.  What holds for every policy:

- A job is cut into chunks (`chunks`), which are placed by first fit (`first_fit`).
- It fits in ``[a, b)`` if first fit places it on what each node has free throughout (`fit`).
- A job that runs, and a reservation, hold their placement from the start for the requested time,
  whatever the run time is.  What ends early is free from then on.
- In an instant first all ends come, then ends of outages, then begins of outages, then
  submissions, then one pass of the policy.  There is an instant at each end, submission, begin and
  end of an outage, and reserved start, and nothing happens between.
- The queue is in the order of submission, or in that of another number, made anew at each instant.

The policies:

- ``fcfs``: the jobs of a partition are a queue; the first of each starts if it fits now, in the
  order of all queues.
- ``easy``: in the order of the queue, a job that fits now beside what runs and what the pass has
  reserved starts; one that does not gets a reservation while its partition has fewer than so many.
  Then those are tried whose partitions had them all.
- ``conservative``: every job gets a reservation at its submission and keeps it, until it can be
  moved to an earlier time after an early end, or an outage comes that nobody knew of.

Outages are maintenance (``reservation``, known from the beginning), a ``drain`` (no job starts
there) or a ``failure`` (and the jobs there stop and wait again).

Where the definitions leave something open, the literal reading is taken:

- A drain is known with its end, as a failure is.
- Checkpoints are counted from the start of each execution, and what was kept adds up.
- A kept second is one of the run time and one of the requested time alike.
- A restarted job that ends when it must still ends early: it was planned with all of its request.
- Zero nodes or GPUs are as unknown ones; memory is unknown below 0, which counts as 0.
- A partition that no node is in, on a platform that has partitions, is one without nodes.
- The placement of an exclusive job names its own processors and GPUs, not all of its nodes'.
- The order of backfilling has ties by index too; with depth 0 the whole queue is in that order.
- A drain or a failure that begins counts as not known before, even on nodes that are out already.

Everything is recomputed from the list of what is held whenever it is asked.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

POLICIES = "fcfs", "easy", "conservative"
KINDS = "reservation", "drain", "failure"


class Node(NamedTuple):
    """A node.

    Attributes
    ----------
    processors, memory, gpus : int
        How many it has; the memory in KB.
    partitions : frozenset of str
        The partitions that it is in.
    """

    processors: int
    memory: int
    gpus: int
    partitions: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Request:
    """What a job asks for.

    Attributes
    ----------
    index : int
        Its number in the order of submission, from 0.
    submit_time, run_time, requested_time : float
        When it becomes known, how long it would run, and how long at most; seconds.
    processors : int
        How many, of the whole job.
    nodes, gpus : int
        How many, of the whole job; 0 or less if that is not said.
    memory : float
        KB per processor; less than 0 if that is not said.
    exclusive : bool
        Whether it shares its nodes with no other job.
    partition : str or None
        The only nodes that it may have; None for all.
    """

    index: int
    submit_time: float
    run_time: float
    requested_time: float
    processors: int
    nodes: int = -1
    gpus: int = -1
    memory: float = -1.0
    exclusive: bool = False
    partition: str | None = None


class Outage(NamedTuple):
    """A time ``[start, end)`` in which nodes are out.

    Attributes
    ----------
    kind : {"reservation", "drain", "failure"}
        Which outage it is.
    start, end : float
        When, in seconds.
    nodes : frozenset of int
        Which nodes.
    """

    kind: str
    start: float
    end: float
    nodes: frozenset[int]


class Amount(NamedTuple):
    """What a chunk needs of a node, or a node has free."""

    processors: int
    memory: int
    gpus: int


class Held(NamedTuple):
    """What a job holds of a node; if it is exclusive, nobody else holds any of it."""

    processors: int
    memory: int
    gpus: int
    exclusive: bool


class Holding(NamedTuple):
    """What a job holds in ``[start, end)``, of which nodes."""

    start: float
    end: float
    nodes: dict[int, Held]


class Execution(NamedTuple):
    """One execution of a job.

    Attributes
    ----------
    start, end : float
        From when to when, in seconds.
    kept_seconds : float
        What counts of it: of the last execution of a job, all.
    placement : dict of int to (int, int)
        The processors and the GPUs on each node.
    """

    start: float
    end: float
    kept_seconds: float
    placement: dict[int, tuple[int, int]]


Order = Callable[[Request, float], float]
"""The number of a waiting job in an instant; the smallest is first."""

Placement = dict[int, list[Amount]]
"""The chunks of a job on each node that it gets."""


def chunks(request: Request) -> list[Amount]:
    """Return what the chunks of a job need, in their order."""
    if request.nodes > 0:
        n = min(request.nodes, request.processors)
    elif request.gpus > 0:
        n = min(request.gpus, request.processors)
    else:
        n = request.processors
    gpus = request.gpus if request.gpus > 0 else 0
    memory = math.ceil(request.memory) if request.memory > 0 else 0
    made = []
    for i in range(n):
        processors = request.processors // n
        if i < request.processors % n:
            processors += 1
        chunk_gpus = gpus // n
        if i < gpus % n:
            chunk_gpus += 1
        made.append(Amount(processors, processors * memory, chunk_gpus))
    return made


def first_fit(request: Request, free: Mapping[int, Amount]) -> Placement | None:
    """Place each chunk on the lowest node that has room for it beside those placed before.

    Parameters
    ----------
    request : Request
        The job.
    free : mapping of int to Amount
        What the nodes have free that the job may have.

    Returns
    -------
    dict of int to list of Amount, or None
        The chunks on each node that got some, or None if not all are placed.
    """
    placed: Placement = {}
    for chunk in chunks(request):
        for node in sorted(free):
            there = placed.get(node, [])
            if request.nodes > 0 and there:
                continue
            if (
                sum(other.processors for other in there) + chunk.processors <= free[node].processors
                and sum(other.memory for other in there) + chunk.memory <= free[node].memory
                and sum(other.gpus for other in there) + chunk.gpus <= free[node].gpus
            ):
                placed[node] = [*there, chunk]
                break
        else:
            return None
    return placed


def hold(request: Request, start: float, placement: Placement) -> Holding:
    """Return what a job holds that starts then, as far as anybody knows."""
    nodes = {}
    for node, there in placement.items():
        nodes[node] = Held(
            sum(chunk.processors for chunk in there),
            sum(chunk.memory for chunk in there),
            sum(chunk.gpus for chunk in there),
            request.exclusive,
        )
    return Holding(start, start + request.requested_time, nodes)


def _free_at(node: Node, number: int, holdings: Iterable[Holding], time: float) -> Amount:
    """Return what a node has free at one time."""
    processors, memory, gpus = node.processors, node.memory, node.gpus
    for holding in holdings:
        if holding.start <= time < holding.end and number in holding.nodes:
            held = holding.nodes[number]
            processors -= held.processors
            memory -= held.memory
            gpus -= held.gpus
    assert processors >= 0
    assert memory >= 0
    assert gpus >= 0
    return Amount(processors, memory, gpus)


def fit(
    request: Request,
    nodes: Sequence[Node],
    holdings: Sequence[Holding],
    outages: Sequence[Outage],
    start: float,
) -> Placement | None:
    """Place a job on what is free throughout ``[start, start + requested_time)``.

    Parameters
    ----------
    request : Request
        The job.
    nodes : sequence of Node
        The platform.
    holdings : sequence of Holding
        What the others hold.
    outages : sequence of Outage
        The known ones.
    start : float
        When it would start.

    Returns
    -------
    dict of int to list of Amount, or None
        Its first fit, or None if it does not fit.
    """
    end = start + request.requested_time
    meanwhile = [holding for holding in holdings if holding.start < end and start < holding.end]
    breakpoints = [start]
    for holding in meanwhile:
        breakpoints += [time for time in (holding.start, holding.end) if start < time < end]
    has_partitions = any(node.partitions for node in nodes)
    free = {}
    for number, node in enumerate(nodes):
        anywhere = request.partition is None or not has_partitions
        if not anywhere and request.partition not in node.partitions:
            continue
        if any(
            number in outage.nodes and outage.start < end and start < outage.end
            for outage in outages
        ):
            continue
        others = [holding.nodes[number] for holding in meanwhile if number in holding.nodes]
        if others and (request.exclusive or any(held.exclusive for held in others)):
            continue
        amounts = [_free_at(node, number, meanwhile, time) for time in breakpoints]
        free[number] = Amount(
            min(amount.processors for amount in amounts),
            min(amount.memory for amount in amounts),
            min(amount.gpus for amount in amounts),
        )
    return first_fit(request, free)


def earliest(
    request: Request,
    nodes: Sequence[Node],
    holdings: Sequence[Holding],
    outages: Sequence[Outage],
    now: float,
) -> tuple[float, Placement]:
    """Return the earliest time from now on at which a job fits, and its first fit there.

    It is now or the end of something: at a later start more is free only after an end, and less
    free is never better for first fit.  (No chunk needs more of anything than one before it; if
    they may share nodes, they are of two sizes at most, one processor or one GPU apart.)

    Parameters
    ----------
    request, nodes, holdings, outages
        As for `fit`.
    now : float
        The instant.

    Returns
    -------
    time : float
        The start.
    placement : dict of int to list of Amount
        The chunks on each node.
    """
    ends = [holding.end for holding in holdings] + [outage.end for outage in outages]
    for time in sorted({now, *(end for end in ends if now < end < math.inf)}):
        placement = fit(request, nodes, holdings, outages, time)
        if placement is not None:
            return time, placement
    raise ValueError(f"job {request.index} never fits")


class _Reservation(NamedTuple):
    """A promise to a job that waits."""

    time: float
    placement: Placement
    holding: Holding


class _Running(NamedTuple):
    """A job that runs: its true end, and what it holds."""

    start: float
    end: float
    placement: Placement
    holding: Holding


class _Simulation:
    """Who runs, who waits, who has which reservation, and what was."""

    def __init__(
        self,
        nodes: Sequence[Node],
        requests: Sequence[Request],
        outages: Sequence[Outage],
        order: Order | None,
        checkpoint: float,
    ) -> None:
        self.nodes = nodes
        self.requests = requests
        self.outages = outages
        self.order = order
        self.checkpoint = checkpoint
        self.now = -math.inf
        self.coming = [request.index for request in requests]
        self.waiting: set[int] = set()
        self.running: dict[int, _Running] = {}
        self.reserved: dict[int, _Reservation] = {}
        self.executions: list[list[Execution]] = [[] for _ in requests]

    # What is known.

    def known(self) -> list[Outage]:
        """Return the outages that are known now."""
        return [
            outage
            for outage in self.outages
            if outage.kind == "reservation" or outage.start <= self.now
        ]

    def holdings(self) -> list[Holding]:
        """Return what running jobs and reservations hold."""
        running = [job.holding for job in self.running.values()]
        return running + [reservation.holding for reservation in self.reserved.values()]

    def queue(self, order: Order | None) -> list[int]:
        """Return the waiting jobs, the first one first."""
        if order is None:
            return sorted(self.waiting)
        return sorted(self.waiting, key=lambda j: (order(self.requests[j], self.now), j))

    def next_instant(self) -> float:
        """Return when something happens next."""
        times = [job.end for job in self.running.values()]
        times += [self.requests[j].submit_time for j in self.coming]
        times += [time for outage in self.outages for time in (outage.start, outage.end)]
        times += [reservation.time for reservation in self.reserved.values()]
        return min((time for time in times if time > self.now), default=math.inf)

    # What happens to jobs.

    def stop(self, j: int, kept: float) -> None:
        """Let a running job stop now."""
        job = self.running.pop(j)
        placement = {}
        for node, there in sorted(job.placement.items()):
            processors = sum(chunk.processors for chunk in there)
            placement[node] = processors, sum(chunk.gpus for chunk in there)
        self.executions[j].append(Execution(job.start, self.now, kept, placement))

    def start(self, j: int, placement: Placement) -> None:
        """Let a waiting job start now."""
        request = self.requests[j]
        kept = sum(execution.kept_seconds for execution in self.executions[j])
        end = self.now + min(request.run_time - kept, request.requested_time - kept)
        self.waiting.remove(j)
        holding = hold(request, self.now, placement)
        self.running[j] = _Running(self.now, end, placement, holding)

    def reserve(self, j: int, time: float, placement: Placement) -> None:
        """Promise a start to a waiting job."""
        holding = hold(self.requests[j], time, placement)
        self.reserved[j] = _Reservation(time, placement, holding)

    def fit_now(self, j: int) -> Placement | None:
        """Place a job that would start now."""
        return fit(self.requests[j], self.nodes, self.holdings(), self.known(), self.now)

    def find(self, j: int) -> tuple[float, Placement]:
        """Return the earliest time for a job, and its placement."""
        return earliest(self.requests[j], self.nodes, self.holdings(), self.known(), self.now)

    # What happens in an instant before the pass.

    def end_jobs(self) -> bool:
        """End the jobs that end now, and return whether one ended early."""
        early = False
        for j, job in list(self.running.items()):
            if job.end == self.now:
                if job.end < job.holding.end:
                    early = True
                self.stop(j, job.end - job.start)
        return early

    def begin_outages(self) -> bool:
        """Stop the jobs on nodes that fail now, and return whether an outage is news."""
        news = False
        for outage in self.outages:
            if outage.start != self.now or outage.kind == "reservation":
                continue
            news = True
            if outage.kind == "failure":
                for j, job in list(self.running.items()):
                    if any(node in outage.nodes for node in job.placement):
                        self.stop(j, self.kept(self.now - job.start))
                        self.waiting.add(j)
        return news

    def kept(self, executed: float) -> float:
        """Return what is kept of an execution that a failure has stopped."""
        if math.isinf(self.checkpoint):
            return 0.0
        return math.floor(executed / self.checkpoint) * self.checkpoint

    def submit(self) -> list[int]:
        """Let the jobs wait that are submitted now, and return them."""
        new = [j for j in self.coming if self.requests[j].submit_time == self.now]
        for j in new:
            self.coming.remove(j)
            self.waiting.add(j)
        return new

    # The passes.

    def partition(self, j: int) -> str | None:
        """Return the partition of a job, whose jobs are a queue of their own; None: no one's."""
        if not any(node.partitions for node in self.nodes):
            return None
        return self.requests[j].partition

    def fcfs(self) -> None:
        """Start the jobs before which no job of their partition waits, as long as they fit."""
        blocked = []
        for j in self.queue(self.order):
            if self.partition(j) in blocked:
                continue
            placement = self.fit_now(j)
            if placement is None:
                blocked.append(self.partition(j))
            else:
                self.start(j, placement)

    def easy(self, depth: float, backfill_order: Order | None) -> None:
        """Start what fits beside the reservations of the first of each partition that do not."""
        self.reserved.clear()
        later = []
        for j in self.queue(self.order):
            if [self.partition(x) for x in self.reserved].count(self.partition(j)) >= depth:
                later.append(j)
                continue
            placement = self.fit_now(j)
            if placement is not None:
                self.start(j, placement)
            else:
                self.reserve(j, *self.find(j))
        if backfill_order is not None:
            later = [j for j in self.queue(backfill_order) if j in later]
        for j in later:
            placement = self.fit_now(j)
            if placement is not None:
                self.start(j, placement)

    def conservative(self, early: bool, news: bool, new: list[int]) -> None:
        """Make and move reservations, and start those that are due."""
        queue = self.queue(self.order)
        if news:
            self.reserved.clear()
            for j in queue:
                self.reserve(j, *self.find(j))
        else:
            if early:
                for j in [j for j in queue if j in self.reserved]:
                    old = self.reserved.pop(j)
                    time, placement = self.find(j)
                    if time < old.time:
                        self.reserve(j, time, placement)
                    else:
                        self.reserved[j] = old
            for j in [j for j in queue if j in new]:
                self.reserve(j, *self.find(j))
        for j in queue:
            if self.reserved[j].time <= self.now:
                self.start(j, self.reserved.pop(j).placement)


def _check(nodes: Sequence[Node], requests: Sequence[Request], outages: Sequence[Outage]) -> None:
    """Raise ValueError if there is something that the definitions do not speak of."""
    for number, request in enumerate(requests):
        if request.index != number:
            raise ValueError(f"job {number} has the index {request.index}")
        if number and request.submit_time < requests[number - 1].submit_time:
            raise ValueError(f"job {number} is submitted before the job before it")
        if not (request.run_time > 0 and request.requested_time > 0 and request.processors >= 1):
            raise ValueError(f"job {number} has no time or no processors")
        if fit(request, nodes, [], [], request.submit_time) is None:
            raise ValueError(f"job {number} does not fit on the empty platform")
    for outage in outages:
        if outage.kind not in KINDS or not outage.start < outage.end:
            raise ValueError(f"{outage} is no outage")


def simulate(
    nodes: Sequence[Node],
    requests: Sequence[Request],
    policy: str,
    *,
    depth: float = 1,
    order: Order | None = None,
    backfill_order: Order | None = None,
    outages: Sequence[Outage] = (),
    checkpoint: float = math.inf,
) -> list[list[Execution]]:
    """Return all executions of each job.

    Parameters
    ----------
    nodes : sequence of Node
        The platform.
    requests : sequence of Request
        The jobs, in the order of submission.
    policy : {"fcfs", "easy", "conservative"}
        Which policy.
    depth : float
        EASY: how many reservations there are in a pass; infinity for one for each job.
    order : callable or None
        The number of a job in the queue, of the request and the instant; None for its index.
    backfill_order : callable or None
        EASY: the same for the jobs that are tried after the last reservation.
    outages : sequence of Outage
        When nodes are out.
    checkpoint : float
        Seconds from one checkpoint of a job to the next.

    Returns
    -------
    list of list of Execution
        For each job, in the order of the requests, its executions in the order of time.

    Raises
    ------
    ValueError
        If the input is impossible, or a job never starts.
    """
    if policy not in POLICIES:
        raise ValueError(f"the policy is one of {', '.join(POLICIES)}, not {policy}")
    _check(nodes, requests, outages)
    simulation = _Simulation(nodes, requests, outages, order, checkpoint)
    while simulation.coming or simulation.waiting or simulation.running:
        simulation.now = simulation.next_instant()
        if math.isinf(simulation.now):
            raise ValueError("there are jobs that never start")
        early = simulation.end_jobs()
        # Ends of outages need nothing: who asks what is free looks at their times.
        news = simulation.begin_outages()
        new = simulation.submit()
        if policy == "fcfs":
            simulation.fcfs()
        elif policy == "easy":
            simulation.easy(depth, backfill_order)
        else:
            simulation.conservative(early, news, new)
    return simulation.executions
