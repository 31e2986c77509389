"""A cluster under FCFS or EASY whose idle nodes are switched off: starts, off periods and joules.

The rules are those of Batsim's energy model (a host computes, is idle, switches on or off, or
sleeps; transitions take time and power of their own and cannot be interrupted), of batsched's
energy_bf (idle machines are switched off after a time; those that are on are used first, then as
many others as are missing are switched on) and of Slurm (a number of idle nodes is kept on; a job
holds its nodes while they boot, and its time limit counts from when it runs).

An instance is a dict: "processors", "policy" ("fcfs" or "easy"), "jobs", a list of dicts with
"submit", "run", "requested" and "processors", and "power", a dict with the watts "busy", "idle",
"off", "boot" and "shutdown" of a processor, and "boot_time", "shutdown_time", "idle_timeout" (None:
never), "keep_idle" and "node_size".

It is meant to be read and compared against, not to be fast.
"""

from itertools import pairwise

STATES = ("busy", "idle", "off", "boot", "shutdown")


def simulate(instance):
    """Return the result (a dict) of the simulation of one instance (a dict)."""
    m = instance["processors"]
    policy = instance["policy"]
    jobs = instance["jobs"]
    power = instance["power"]
    assert policy in ("fcfs", "easy")
    boot_time = power["boot_time"]
    shutdown_time = power["shutdown_time"]
    timeout = power["idle_timeout"]
    keep_idle = power["keep_idle"]
    size = power["node_size"]

    # The longest delay by booting: a shutdown that has just begun, then a boot.
    longest_delay = 0 if timeout is None else shutdown_time + boot_time

    node_count = (m + size - 1) // size
    # The processors of a node; the last node may be smaller.
    members = [list(range(k * size, min(m, (k + 1) * size))) for k in range(node_count)]

    # Results by job; None until the job is allocated.
    start = [None] * len(jobs)
    finish = [None] * len(jobs)
    chosen = [None] * len(jobs)
    latest_end = [None] * len(jobs)
    promise = [None] * len(jobs)

    if not jobs:
        return {
            "start": [],
            "finish": [],
            "killed": [],
            "processors": [],
            "promise": [],
            "off_periods": [],
            "seconds": dict.fromkeys(STATES, 0),
            "energy": dict.fromkeys(STATES, 0),
            "job_energy": [],
            "boots": 0,
        }

    t0 = jobs[0]["submit"]
    holder = [None] * m  # by processor: the job that holds it
    periods = [[] for _ in range(node_count)]  # by node: off periods [a, b], in order of a
    idle_since = [t0] * node_count  # only meaningful while the node is idle
    running = []  # allocated and not finished
    queue = []  # waiting, in the order of submission

    def node_state(node, t):
        """The state of the node at t: "on", "shutdown", "off" or "boot"."""
        for a, b in periods[node]:
            if a <= t < a + shutdown_time:
                return "shutdown"
            if a + shutdown_time <= t and (b is None or t < b):
                return "off"
            if b is not None and b <= t < b + boot_time:
                return "boot"
        return "on"

    def idle_nodes(t):
        return [
            k
            for k in range(node_count)
            if node_state(k, t) == "on" and all(holder[p] is None for p in members[k])
        ]

    def free_processors():
        return [p for p in range(m) if holder[p] is None]

    def allocate(j, t):
        """Give job j its processors at t, order the boots, and fix its start and finish."""
        n = jobs[j]["processors"]
        up = []
        down = []
        for p in free_processors():
            # A node that still shuts down, and for which another job has ordered a boot after
            # that, is as good as one that boots.
            ordered = periods[p // size] and periods[p // size][-1][1] is not None
            if ordered or node_state(p // size, t) in ("on", "boot"):
                up.append(p)
            else:
                down.append(p)
        # All of up if there are too few of them, and the missing ones from down.
        mine = (up + down)[:n]
        assert len(mine) == n
        chosen[j] = sorted(mine)

        my_nodes = sorted({p // size for p in mine})
        for k in my_nodes:
            if node_state(k, t) in ("shutdown", "off"):
                period = periods[k][-1]
                if period[1] is None:
                    # A shutdown is not interrupted: the boot begins at its end.
                    period[1] = max(t, period[0] + shutdown_time)

        start[j] = t
        for k in my_nodes:
            if periods[k]:
                # Boots that are over have b + boot_time <= t and change nothing.
                start[j] = max(start[j], periods[k][-1][1] + boot_time)
        assert start[j] <= t + longest_delay
        finish[j] = start[j] + min(jobs[j]["run"], jobs[j]["requested"])
        latest_end[j] = t + jobs[j]["requested"] + longest_delay
        for p in mine:
            assert holder[p] is None
            holder[p] = j
        running.append(j)
        queue.remove(j)

    def release(j, t):
        """Job j finishes at t."""
        for p in chosen[j]:
            holder[p] = None
        running.remove(j)
        for k in {p // size for p in chosen[j]}:
            if all(holder[p] is None for p in members[k]):
                idle_since[k] = t

    def policy_pass(t):
        while queue and jobs[queue[0]]["processors"] <= len(free_processors()):
            allocate(queue[0], t)
        if policy == "fcfs" or not queue:
            return

        # EASY: one reservation, for the head of the queue.
        head = queue[0]
        needed = jobs[head]["processors"]
        shadow = None
        for end in sorted({latest_end[j] for j in running}):
            available = len(free_processors())
            for j in running:
                if latest_end[j] <= end:
                    available += jobs[j]["processors"]
            if available >= needed:
                shadow = end
                extra = available - needed
                break
        assert shadow is not None
        if promise[head] is None:
            # The head is allocated by the shadow time and then may have to wait for boots.
            promise[head] = shadow + longest_delay

        for j in queue[1:]:  # a copy: allocate changes the queue
            n = jobs[j]["processors"]
            ends_in_time = t + jobs[j]["requested"] + longest_delay <= shadow
            if n <= len(free_processors()) and (ends_in_time or n <= extra):
                allocate(j, t)
                if not ends_in_time:
                    extra -= n

    def switch_off(t):
        if timeout is None:
            return
        while True:
            idle = idle_nodes(t)
            # Every idle node counts against keep_idle, also one that is not idle long enough.
            ripe = [k for k in idle if t - idle_since[k] >= timeout]
            if len(idle) <= keep_idle or not ripe:
                return
            periods[max(ripe)].append([t, None])

    # The instants in order. All jobs end: a finish is known as soon as the job is allocated, and
    # a pass with all processors free allocates at least the first job of the queue.
    now = None
    while True:
        instants = [job["submit"] for job in jobs] + [f for f in finish if f is not None]
        instants = [t for t in instants if now is None or t > now]
        if not instants:
            break
        following = min(instants)

        # Between two instants: timeouts that complete strictly before the next one. One that
        # completes at the next instant itself is dealt with after the pass of that instant.
        while now is not None and timeout is not None:
            ends = [idle_since[k] + timeout for k in idle_nodes(now)]
            ends = [t for t in ends if now < t < following]
            if not ends:
                break
            now = min(ends)
            switch_off(now)

        now = following
        for j in running.copy():
            if finish[j] == now:
                release(j, now)
        for j, job in enumerate(jobs):
            if job["submit"] == now:
                queue.append(j)
        policy_pass(now)
        switch_off(now)

    assert not queue
    assert not running
    for j in range(len(jobs)):
        assert promise[j] is None or start[j] <= promise[j]

    t1 = max(finish)

    # Energy: cut the time from t0 to t1 wherever any state can change; between two cuts each
    # processor is in one state, the one at the left cut.
    cuts = {t0, t1} | set(start) | set(finish)
    for k in range(node_count):
        for a, b in periods[k]:
            cuts |= {a, a + shutdown_time}
            if b is not None:
                cuts |= {b, b + boot_time}
    cuts = sorted(t for t in cuts if t0 <= t <= t1)
    seconds = dict.fromkeys(STATES, 0)
    for left, right in pairwise(cuts):
        for p in range(m):
            users = [j for j in range(len(jobs)) if p in chosen[j] and start[j] <= left < finish[j]]
            state = node_state(p // size, left)
            if users:
                assert len(users) == 1
                assert state == "on"
                state = "busy"
            elif state == "on":
                state = "idle"
            seconds[state] += right - left
    assert sum(seconds.values()) == m * (t1 - t0)

    off_periods = []
    for k in range(node_count):
        for a, b in periods[k]:
            if a < t1:  # with a timeout of 0, nodes are also switched off at t1 itself
                off_periods.append([k, a, b])

    return {
        "start": start,
        "finish": finish,
        "killed": [job["run"] > job["requested"] for job in jobs],
        "processors": chosen,
        "promise": promise,
        "off_periods": off_periods,
        "seconds": seconds,
        "energy": {state: seconds[state] * power[state] for state in STATES},
        "job_energy": [
            power["busy"] * job["processors"] * (finish[j] - start[j]) for j, job in enumerate(jobs)
        ],
        "boots": sum(1 for _, _, b in off_periods if b is not None),
    }
