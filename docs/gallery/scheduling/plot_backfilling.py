"""
What is backfilling?
====================

Seven jobs share 10 processors. Who waits under three policies, and for whom?
"""

# %%
# One workload, three schedules
# -----------------------------
#
# A job is submitted every 5 s. Its number is its place in this order.

import matplotlib.pyplot as plt

from swdual.scheduling import Workload, simulate

plt.style.use("swdual.charts")

workload = Workload.from_arrays(
    submit_time=[0, 5, 10, 15, 20, 25, 30],
    run_time=[60, 40, 40, 120, 35, 40, 25],
    processors=[6, 8, 10, 2, 2, 4, 4],
)
fcfs, easy, conservative = (
    simulate(workload, 10, policy) for policy in ("fcfs", "easy", "conservative")
)

# %%
# Which job runs where and when
# -----------------------------
#
# A rectangle is a job: its width is the time, its height the number of processors. Jobs that
# overtook an earlier one are hatched.

fig, axes = plt.subplots(3, sharex=True, sharey=True, figsize=(7.2, 6.4))
for ax, schedule in zip(axes, (fcfs, easy, conservative), strict=True):
    for job in workload:
        start, end = schedule.start_time[job.index], schedule.finish_time[job.index]
        for first, stop in schedule.allocation(job.index):
            hatch = "//" if schedule.backfilled[job.index] else None
            look = {"color": f"C{job.index}", "edgecolor": "white", "hatch": hatch}
            ax.bar(start, stop - first, end - start, first, align="edge", **look)
            ax.text(
                (start + end) / 2,
                (first + stop) / 2,
                job.number,
                ha="center",
                va="center",
                bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": "none"},
            )
    wait = schedule.metrics["mean_waiting_time"]
    ax.set_title(f"{schedule.policy}: mean waiting time {wait:.0f} s")
    ax.set(ylabel="processors", yticks=range(0, 11, 2))
axes[-1].set_xlabel("time (s)")
plt.show()

# %%
# What to see
# -----------
#
# - First come, first served: jobs 4 to 7 wait for job 3, though processors are idle.
# - EASY backfilling lets a job overtake if that does not delay the head of the queue, here job 2.
#   So jobs 4 and 5 start at once. But job 3 then waits for job 4: it starts at 135 s instead of 100
#   s.
# - Conservative backfilling gives each job a reservation and keeps all of them. Job 3 starts at 100
#   s, and only job 5 overtakes.

assert easy.start_time[2] == 135
assert fcfs.start_time[2] == conservative.start_time[2] == 100
assert conservative.backfilled.nonzero()[0].tolist() == [4]
