"""
Do overestimated run times hurt?
================================

Users request more time than their jobs need, and backfilling plans with what they request. How long
do jobs wait if all users ask for twice, or for twenty times, the run time?
"""

# %%
# Ask for more and more
# ---------------------

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from swdual.scheduling import lublin, simulate

plt.style.use("swdual.charts")

FACTORS = [1, 2, 3, 5, 10, 20]
SEEDS = range(12)

waits = {"easy": [], "conservative": []}
for seed in SEEDS:
    workload = lublin.generate(1500, 128, seed=seed)
    workload = replace(workload, submit_time=0.7 * workload.submit_time)
    for policy, rows in waits.items():
        schedules = [
            simulate(replace(workload, requested_time=factor * workload.run_time), 128, policy)
            for factor in FACTORS
        ]
        rows.append([schedule.metrics["mean_waiting_time"] for schedule in schedules])

# %%
# Waiting time relative to exact estimates
# ----------------------------------------

fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8.4, 4))
for place, (ax, (policy, rows)) in enumerate(zip(axes, waits.items(), strict=True)):
    relative = np.array(rows) / np.array(rows)[:, :1]
    ax.plot(FACTORS, relative.T, color=f"C{place}", alpha=0.35, linewidth=1)
    ax.plot(FACTORS, np.median(relative, axis=0), "o-", color=f"C{place}", label="median")
    ax.axhline(1, color="#555555", linewidth=1, linestyle="--", label="exact estimates")
    ax.set(title=f"{policy}, {len(SEEDS)} workloads", xscale="log", yscale="log")
    ax.set(xlabel="requested time / run time")
    ax.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    ax.set_yticks([0.25, 0.5, 1, 2], ["1/4", "1/2", "1", "2"])
    ax.minorticks_off()
    ax.grid(axis="y")
    ax.legend(loc="lower left")
axes[0].set_ylabel("mean waiting time relative\nto exact estimates")
plt.show()

# %%
# What to see
# -----------
#
# Overestimates shorten the wait in the median, under both policies. A likely reason: when a job
# ends early, it leaves a hole that others fill; with exact estimates there are no such holes.
# Mu'alem and Feitelson (2001) saw the same, and called it surprising. The workloads differ: for
# some, the wait grows.

for policy, rows in waits.items():
    medians = np.median(np.array(rows) / np.array(rows)[:, :1], axis=0)
    print(policy, medians.round(2))
    assert (medians[1:] < 1).all()
    assert np.max(np.array(rows)[:, 1:] / np.array(rows)[:, :1]) > 1
