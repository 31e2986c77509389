"""
What do malleable jobs gain?
============================

A malleable job gives up half of its processors while it runs, to make room for the head of the
queue. It then runs at half its speed, and slower still if its processes must communicate. How much
of this overhead can one afford?
"""

# %%
# Rigid and malleable jobs, with more and more overhead
# -----------------------------------------------------
#
# An overhead of 0.5 means: a job on half of its processors takes 2.5 times as long.

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from swdual.scheduling import lublin, simulate

plt.style.use("swdual.charts")

OVERHEADS = np.linspace(0, 1, 6)
SEEDS = range(10)


def turnaround(workload, policy, **options):
    """Return the mean turnaround time in hours."""
    schedule = simulate(workload, 128, policy, options=options)
    return schedule.metrics["mean_turnaround_time"] / 3600


ratios = {"fcfs": [], "easy": []}
for seed in SEEDS:
    workload = lublin.generate(1500, 128, seed=seed)
    workload = replace(workload, submit_time=0.7 * workload.submit_time)
    for policy, rows in ratios.items():
        rigid = turnaround(workload, policy)
        rows.append(
            [
                turnaround(workload, f"{policy}_malleable", overhead=f"{x}") / rigid
                for x in OVERHEADS
            ]
        )

# %%
# Turnaround time relative to rigid jobs
# --------------------------------------

fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8.4, 4))
for place, (ax, (policy, rows)) in enumerate(zip(axes, ratios.items(), strict=True)):
    ax.plot(OVERHEADS, np.transpose(rows), color=f"C{place}", alpha=0.35, linewidth=1)
    ax.plot(OVERHEADS, np.median(rows, axis=0), "o-", color=f"C{place}", label="median")
    ax.axhline(1, color="#555555", linewidth=1, linestyle="--", label="rigid jobs")
    ax.set(title=f"{policy}_malleable, {len(SEEDS)} workloads", xlabel="overhead (run times)")
    ax.set_yscale("log")
    ax.set_yticks([0.25, 0.5, 1, 2], ["1/4", "1/2", "1", "2"])
    ax.minorticks_off()
    ax.grid(axis="y")
    ax.legend(loc="upper left")
axes[0].set_ylabel("mean turnaround time\nrelative to rigid jobs")
plt.show()

# %%
# What to see
# -----------
#
# Without backfilling, jobs that shrink help much, even with an overhead of 0.8: they fill
# processors that would be idle. EASY backfilling fills most of these already. There, the median
# gain is a quarter without overhead, and is lost at an overhead of about 0.5. Workloads differ
# widely; for some, malleable jobs pay at any overhead.

fcfs, easy = (np.median(rows, axis=0) for rows in ratios.values())
print("fcfs", fcfs.round(2), "easy", easy.round(2))
assert fcfs[4] < 0.9
assert 0.65 < easy[0] < 0.8
assert easy[2] < 1.05
assert easy[4] > 1
assert max(rows[-1] for rows in ratios["easy"]) > 1 > min(rows[-1] for rows in ratios["easy"])
