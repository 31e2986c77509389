"""
A policy of your own against EASY
=================================

A policy is one class with a method ``decide``. Ours starts the waiting job with the smallest area
first, which is its processors times its requested time. Does it beat EASY backfilling?
"""

# %%
# Write the policy
# ----------------
#
# Small jobs could overtake large ones for ever. So a job that has waited longer than ``patience``
# hours comes first, and all others wait for it.

from typing import ClassVar

import matplotlib.pyplot as plt

from swdual.scheduling import Option, check_policy, lublin, simulate, start_now

plt.style.use("swdual.charts")


class SmallestArea:
    """Start the job with the fewest processors times seconds."""

    OPTIONS: ClassVar = {"patience": Option(24.0, "Hours after which nobody overtakes a job.")}

    def __init__(self, platform, allocator, patience):
        self.patience = 3600 * patience

    def decide(self, view):
        """Yield the jobs to start."""

        def order(job):
            late = view.now - job.submit_time > self.patience
            return (0, job.submit_time) if late else (1, job.processors * job.requested_time)

        for job in sorted(view.queue.values(), key=order):
            start = start_now(view, job)
            if start is not None:
                yield start
            elif order(job)[0] == 0:
                break


assert check_policy(SmallestArea) == []

# %%
# Compare it with EASY
# --------------------
#
# ``simulate`` takes the class as it takes the name of a policy of swdual.

workload = lublin.generate(500, 128, seed=2026)
easy = simulate(workload, 128, "easy").metrics
hours = [6, 12, 24, 48, 72, 96]
mine = [simulate(workload, 128, SmallestArea, options={"patience": x}).metrics for x in hours]

fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.8))
for place, (ax, what) in enumerate(zip(axes, ("mean", "max"), strict=True)):
    name = f"{what}_waiting_time"
    waits = [metrics[name] / 3600 for metrics in mine]
    ax.plot(hours, waits, "o-", color=f"C{place}", label="SmallestArea")
    ax.axhline(easy[name] / 3600, color="#555555", linestyle="--", label="easy")
    ax.set(xlabel="patience (h)", ylabel=f"{what} waiting time (h)", ylim=(0, None), xticks=hours)
    ax.legend()
plt.show()

# %%
# What to see
# -----------
#
# A job without patience is expensive: processors stay idle until it can start, as this policy
# reserves nothing and fills no holes. With three days of patience and more, jobs wait less than
# half as long in the mean as with EASY, but the last one waits longer.

print([f"{metrics['mean_waiting_time'] / easy['mean_waiting_time']:.2f}" for metrics in mine])
assert mine[0]["mean_waiting_time"] > 8 * easy["mean_waiting_time"]
assert mine[-1]["mean_waiting_time"] < easy["mean_waiting_time"] / 2
assert mine[-1]["max_waiting_time"] > easy["max_waiting_time"]
