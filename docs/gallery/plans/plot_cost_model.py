"""
How well is the time of a task predicted?
=========================================

A plan is as good as its predictions. swdual measures each type of device once, and then predicts
every task from the length of its query and the lengths of its targets.
"""

# %%
# Search, and look at the tasks
# -----------------------------
#
# ``results.timing`` keeps the plan of a search and what each worker did. Eighty artificial proteins
# are the queries; here a task is a query with the whole database. Of three searches, the shortest
# time of each task counts: others may use the machine, too.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
queries = sorted(proteins, key=lambda one: len(one[1]))[::24]
predicted, measured = {}, {}
for _ in range(3):
    results = swdual.search(queries, proteins, threads=1, device="cpu", align=False)
    for span in results.timing.timeline:
        if span.activity == "score":
            task = span.query, span.first
            measured[task] = min(span.end - span.start, measured.get(task, np.inf))
            predicted[task] = span.predicted

x, y = (1e3 * np.array([column[task] for task in measured]) for column in (predicted, measured))
lengths = [len(results[query].query) for query, _ in measured]

# %%
# Predicted and measured seconds
# ------------------------------

fig, ax = plt.subplots(figsize=(5.8, 4.6))
points = ax.scatter(x, y, c=lengths, norm="log", s=24)
fig.colorbar(points, label="length of the query (residues)", format="{x:.0f}")
ends = np.array([min(x.min(), y.min()), max(x.max(), y.max())])
ax.plot(ends, ends, color="#555555", linewidth=1, linestyle="--")
ax.set(xscale="log", yscale="log", xlabel="predicted (ms)", ylabel="measured (ms)")
for axis in (ax.xaxis, ax.yaxis):
    axis.set_major_locator(plt.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
ax.minorticks_off()
ax.set_title(f"{len(x)} tasks, mean error {100 * np.abs(x - y).sum() / y.sum():.0f} %")
plt.show()

# %%
# What to see
# -----------
#
# Each point is a task, and the dashed line is where prediction and measurement agree. swdual
# corrects its rates after every search, so the error falls with use. Points above the line are
# tasks that took longer than predicted, for example because another program had the core.
