"""
How many GPUs does a search need?
=================================

``swdual.plan`` predicts a search on machines that one does not have. How much faster is a search
with each further GPU?
"""

# %%
# Plan two searches for nine machines
# -----------------------------------
#
# All machines have 16 CPU cores. The rates are given in 10^9 cell updates per second.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize, synthesize_queries

plt.style.use("swdual.charts")

RATES = {"cpu": 45, "gpu": 1500}
gpus = np.arange(9)
proteins = list(synthesize(650_000, seed=1))
few_queries = list(synthesize_queries(650_000, count=5, seed=1))
searches = {"1,914 queries": proteins, "5 queries": few_queries}

makespans = {
    label: np.array(
        [
            swdual.plan(queries, proteins, cpus=16, gpus=count, rates=RATES).makespan
            for count in gpus.tolist()
        ]
    )
    for label, queries in searches.items()
}

# %%
# The predicted time
# ------------------

fig, ax = plt.subplots(figsize=(7.2, 4.2))
for (label, column), marker in zip(makespans.items(), "os", strict=True):
    ax.plot(gpus, 1e3 * column, marker=marker, label=label)
ax.set(xlabel="GPUs beside 16 CPU cores", ylabel="predicted time (ms)", yscale="log", xticks=gpus)
ax.yaxis.set_major_formatter("{x:g}")
ax.grid(axis="y")
ax.legend()
plt.show()

# %%
# What to see
# -----------
#
# With 1,914 queries, each further GPU shortens the search: there is enough work for all. With 5
# queries, there is no gain beyond four GPUs. A worker computes a task alone, and the task of the
# longest query takes that long.

many, few = makespans.values()
print(f"8 GPUs instead of 4: {many[4] / many[8]:.2f} and {few[4] / few[8]:.2f} times as fast")
assert (np.diff(many) < 0).all()
assert many[4] > 1.8 * many[8]
assert np.allclose(few[5:], few[4])
assert few[3] > 1.05 * few[4]
