"""
What does a seeded search miss?
===============================

Fast programs compare two sequences only if these share seeds, such as similar words of three
residues. An exact search compares all pairs. Which relatives have no seed?
"""

# %%
# Find all relatives
# ------------------
#
# The database is artificial: 1,914 proteins of 363 families. The queries are those that have
# changed most since the ancestor of their family. The headers name the families, so relatives are
# known. We look at those with E-values from 1e-9 to 10, and switch composition-based statistics
# off, to see plain scores.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
queries = [one for one in proteins if float(one[0].rpartition("=")[2]) >= 0.7]
options = {"comp_based_stats": 0, "max_target_seqs": 0, "align": False}
results = swdual.search(queries, proteins, **options)
relatives = [
    hit
    for result in results
    for hit in result
    if hit.evalue >= 1e-9 and hit.title.split()[1] == result.query.title.split()[1]
]
print(results, len(relatives), "hits with relatives")

# %%
# Look for seeds as BLAST does
# ----------------------------
#
# Two words of three residues are a word hit if they score 11 or more. BLAST extends an alignment
# from two word hits on one diagonal that do not overlap and are at most 40 residues apart, and goes
# on if an alignment without gaps scores about 41 or more (the number depends on the query). We test
# whether a pair has a diagonal with both.

matrix = results.params.scheme.matrix.scores


def has_seed(hit):
    """Return whether a diagonal has two word hits and a segment that scores 41 or more."""
    query, target = (np.frombuffer(each.codes, np.uint8) for each in (hit.query, hit.target))
    scores = matrix[np.ix_(query, target)]
    words = np.argwhere(scores[:-2, :-2] + scores[1:-1, 1:-1] + scores[2:, 2:] >= 11)
    offsets, counts = np.unique(words[:, 1] - words[:, 0], return_counts=True)
    for offset in offsets[counts > 1]:
        places = words[words[:, 1] - words[:, 0] == offset, 0]
        apart = np.subtract.outer(places, places)
        total = np.concatenate(([0], np.cumsum(scores.diagonal(offset))))
        longest = (total - np.minimum.accumulate(total)).max()
        if longest >= 41 and ((apart >= 3) & (apart <= 40)).any():
            return True
    return False


seeded = np.array([has_seed(hit) for hit in relatives])
evalues = np.array([hit.evalue for hit in relatives])

# %%
# Relatives with and without a seed
# ---------------------------------

edges = [1e-9, 1e-7, 1e-5, 1e-3, 0.1, 10]
labels = ["1e-9 to 1e-7", "1e-7 to 1e-5", "1e-5 to 0.001", "0.001 to 0.1", "0.1 to 10"]
found = np.histogram(evalues[seeded], edges)[0]
missed = np.histogram(evalues[~seeded], edges)[0]

fig, ax = plt.subplots(figsize=(7.2, 3.8))
ax.barh(labels, found, label="has a seed")
ax.barh(labels, missed, left=found, hatch="//", edgecolor="white", label="no seed: missed")
for row, (some, none) in enumerate(zip(found, missed, strict=True)):
    ax.text(some + none + 3, row, f"{100 * none / (some + none):.0f} % missed", va="center")
ax.invert_yaxis()
ax.set(xlabel="pairs of relatives", ylabel="E-value", xlim=(0, 1.3 * max(found + missed)))
ax.legend(loc="upper right")
plt.show()

# %%
# What to see
# -----------
#
# The weaker a relative, the more often it has no seed: from 3 % of the pairs with very small
# E-values to 45 % of those between 0.1 and 10. No option of the output brings these pairs back.
#
# The test is a model of the heuristic. blastp 2.12.0 itself (``-comp_based_stats 0 -seg no -evalue
# 10``) reports 734 of these 959 pairs; the model has 765. They agree on 906 pairs.

shares = missed / (found + missed)
assert (found + missed).sum() == 959
assert found.sum() == 765
assert (np.diff(shares) > 0).all()
assert round(100 * shares[0]) == 3
assert round(100 * shares[-1]) == 45
