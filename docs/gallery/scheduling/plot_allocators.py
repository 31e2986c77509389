"""
Which processors should a job get?
==================================

The processors of a cluster hang on a tree of switches. If those of a job lie far apart, the job
runs longer. An allocator chooses processors: what is a good choice worth?
"""

# %%
# The same jobs, placed by four allocators
# ----------------------------------------
#
# The platform has nodes of 8 processors, and 4 nodes share a switch. First, nobody runs longer: the
# same jobs run at the same time, and only their places differ.

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from swdual.scheduling import Penalty, Platform, lublin, simulate

plt.style.use("swdual.charts")

platform = Platform(128, block_sizes=(8, 32, 128))
workload = lublin.generate(1500, 128, seed=1)
names = ["basic", "best_effort_contiguous", "best_effort_local", "best_effort_platform_level"]
instant = 5.75 * 86_400

fig, ax = plt.subplots(figsize=(8.4, 2.9))
for row, name in enumerate(names):
    schedule = simulate(workload, platform, "easy", name)
    running = (schedule.start_time <= instant) & (instant < schedule.finish_time)
    for place, job in enumerate(np.flatnonzero(running)):
        for first, stop in schedule.allocation(job):
            ax.barh(row, stop - first, 0.8, first, color=f"C{place % 7}", edgecolor="white")
for edge in range(0, 129, 8):
    ax.axvline(edge, color="black", linewidth=2.2 if edge % 32 == 0 else 0.6)
ax.set_yticks(range(len(names)), names)
ax.invert_yaxis()
ax.set(xlabel="processor (thin lines: nodes, thick lines: switches)", xlim=(0, 128))
ax.set(xticks=range(0, 129, 32), title=f"{running.sum()} jobs at one instant, a colour each")
plt.show()

# %%
# What it is worth
# ----------------
#
# Now each level of switches that is not needed adds half of its run time to a job. Users request
# five times the run time, so that no job is killed for this. The last three allocators are forced:
# with them, a job waits for suitable processors.

names += ["contiguous", "local", "platform_level"]
turnaround = {name: [] for name in names}
for seed in range(10):
    workload = lublin.generate(1500, 128, seed=seed)
    workload = replace(workload, requested_time=5 * workload.run_time)
    for name, column in turnaround.items():
        schedule = simulate(workload, platform, "easy", name, penalty=Penalty("linear", 0.5))
        column.append(schedule.metrics["mean_turnaround_time"])

fig, ax = plt.subplots(figsize=(7.2, 3.6))
for row, name in enumerate(names):
    relative = np.array(turnaround[name]) / turnaround["basic"]
    color = "C0" if row < 4 else "C1"
    ax.plot(relative, [row] * len(relative), "o", color=color, alpha=0.5)
    ax.plot([np.median(relative)] * 2, [row - 0.35, row + 0.35], color="black")
ax.axvline(1, color="#555555", linewidth=1, linestyle="--")
ax.set_yticks(range(len(names)), names)
ax.invert_yaxis()
ax.set_xlabel("mean turnaround time relative to basic")
ax.set_title("a dot is a workload, the line the median of 10")
plt.show()

# %%
# What to see
# -----------
#
# ``basic`` takes the lowest free processors and scatters jobs over nodes and switches. Where
# distance costs time, the two allocators that look at the tree of switches save about a quarter of
# the turnaround time. Consecutive processors alone help little: these may cross a switch.

medians = {name: np.median(np.divide(turnaround[name], turnaround["basic"])) for name in names}
print({name: f"{median:.2f}" for name, median in medians.items()})
assert medians["best_effort_platform_level"] < 0.8
assert medians["platform_level"] < 0.8
assert medians["contiguous"] > 0.9
assert medians["best_effort_contiguous"] > 0.9
