"""
Which planner uses four GPUs and 16 CPUs best?
==============================================

A planner assigns the tasks of a search to workers. Here, 120 queries are compared with a database
of 200 million residues, on 16 CPU cores and 4 GPUs. A task is a query; in a search, it is a query
with a part of the database.
"""

# %%
# Predict the time of each task
# -----------------------------
#
# A GPU computes 30 times as many cells per second as a CPU core, but it reaches its full speed with
# long queries only. These are round numbers; ``swdual plan`` takes those of a machine.

import matplotlib.pyplot as plt
import numpy as np

from swdual.planning.planner import make_plan

plt.style.use("swdual.charts")


def plan(planner, seed):
    """Return the plan for queries of random lengths, in rising order."""
    lengths = np.sort(np.random.default_rng(seed).lognormal(6, 0.9, 120))
    cells = 200e6 * lengths
    cpu_times = cells / 40e9
    gpu_times = cells / (1200e9 * lengths / (lengths + 300))
    return make_plan(cpu_times, gpu_times, cpus=16, gpus=4, planner=planner)


# %%
# Two plans
# ---------
#
# A row is a worker and a bar is a task. The longer its query, the darker a task. The dashed line is
# the lower bound: no plan of these tasks is shorter.

fig, axes = plt.subplots(1, 2, figsize=(9.2, 4.2))
for ax, name in zip(axes, ("self_scheduling", "dual"), strict=True):
    shown = plan(name, seed=0)
    shade = plt.get_cmap("cividis_r")(np.linspace(0, 1, len(shown.workers)))
    widths = shown.ends - shown.starts
    ax.barh(
        shown.workers, widths, 0.85, shown.starts, color=shade, edgecolor="white", linewidth=0.5
    )
    ax.axvline(shown.lower_bound, color="C1", linestyle="--")
    ax.axhline(15.5, color="black", linewidth=0.8)
    ax.set(title=f"{name}: {shown.makespan:.1f} s", xlabel="time (s)")
    ax.set_yticks([7.5, 17.5], ["CPUs", "GPUs"])
plt.show()

# %%
# All planners
# ------------

names = ["cpu_only", "equal_power", "self_scheduling", "proportional", "minmin", "gpu_only"]
names += ["heteroprio", "heft", "dual", "dual_dp"]
bounds = np.array([plan("dual", seed).lower_bound for seed in range(20)])
ratios = {
    name: np.array([plan(name, seed).makespan for seed in range(20)]) / bounds for name in names
}

fig, ax = plt.subplots(figsize=(7.2, 4))
for row, name in enumerate(names):
    ax.plot(ratios[name], [row] * 20, "o", color="C1" if name == "dual" else "C0", alpha=0.4)
    ax.text(ratios[name].max() * 1.06, row, f"{np.median(ratios[name]):.2f}", va="center")
ax.set_yticks(range(len(names)), names)
ax.set(xscale="log", xlim=(0.95, 20), xlabel="makespan / lower bound", ylim=(9.6, -0.6))
ax.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
ax.minorticks_off()
ax.axvline(1, color="#555555", linewidth=1, linestyle="--")
ax.set_title("20 sets of queries, and the median")
plt.show()

# %%
# What to see
# -----------
#
# If free workers take the next task, a CPU gets one of the longest queries last, and all others
# wait for it. The default planner, ``dual``, gives long queries to the GPUs, where they gain most,
# and is within a few percent of the lower bound. HEFT and HeteroPrio are close. The CPUs together
# have a quarter of the speed: without them (``gpu_only``), the search takes longer.

medians = {name: np.median(column) for name, column in ratios.items()}
assert medians["dual"] < 1.05
assert ratios["dual"].max() < 1.1
assert medians["dual"] <= min(medians["heft"], medians["heteroprio"]) < 1.1
assert medians["gpu_only"] > 1.2
assert medians["self_scheduling"] > 2
