"""
Does an E-value tell the number of chance hits?
===============================================

The E-value of a hit is the number of unrelated targets that are expected to score as high by
chance. If all sequences are unrelated, one can count them.
"""

# %%
# Search random sequences
# -----------------------
#
# No query is related to a target: the letters of proteins are shuffled. In a second set, the
# queries and one in five targets are rich in leucine, as membrane proteins are.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

rng = np.random.default_rng(7)
proteins = [sequence for _, sequence in synthesize(200_000, seed=1)]


def shuffle(sequence):
    """Return the letters in random order."""
    return "".join(rng.permutation(list(sequence)))


def enrich(sequence):
    """Return a shuffled sequence with more leucine."""
    return shuffle(sequence + len(sequence) // 6 * "L")


make = {"ordinary": (shuffle, shuffle), "rich in leucine": (enrich, enrich)}
sets = {}
for label, (make_query, make_target) in make.items():
    queries = {f"query{k}": make_query(one) for k, one in enumerate(proteins[:200])}
    targets = {
        f"target{k}": make_target(one) if k % 5 == 0 else shuffle(one)
        for k, one in enumerate(proteins[200:500])
    }
    sets[label] = queries, targets

# %%
# Count the hits
# --------------

limits = np.geomspace(0.05, 10, 40)
observed = {}
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8.8, 4.2))
for ax, (label, (queries, targets)) in zip(axes, sets.items(), strict=True):
    for mode, name in ((0, "plain scores"), (2, "adjusted scores")):
        options = {"comp_based_stats": mode, "max_target_seqs": 0, "align": False}
        results = swdual.search(queries, targets, **options)
        counts = (results.evalues[:, None] <= limits).sum(axis=0) / len(queries)
        observed[label, mode] = counts / limits
        ax.plot(limits, counts, label=name)
    ax.plot(limits, limits, color="#555555", linestyle="--", linewidth=1, label="as claimed")
    ax.set(xscale="log", yscale="log", title=label, xlabel="E-value")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
axes[1].legend()
axes[0].set_ylabel("chance hits per query\nup to this E-value")
plt.show()

# %%
# What to see
# -----------
#
# For ordinary sequences, both ways of scoring keep their promise. If query and target are both rich
# in leucine, plain scores give several times as many chance hits as the E-value claims, and the
# more the smaller it is. Scores that are adjusted for composition, the default, stay close to the
# line.

for key, ratio in observed.items():
    print(*key, f"hits / E-value: {ratio[0]:.1f} at 0.05, {ratio[-1]:.2f} at 10")
for key in (("ordinary", 0), ("ordinary", 2), ("rich in leucine", 2)):
    assert 0.7 < observed[key][-1] < 1.3
assert observed["rich in leucine", 0][0] > 5
