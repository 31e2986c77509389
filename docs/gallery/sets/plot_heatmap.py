"""
A heat map of all pairs, with a tree
====================================

``allpairs`` compares all sequences of a set with each other. Do its scores show the families?
"""

# %%
# Compare all pairs
# -----------------
#
# We take seven families of artificial proteins, 56 in all. ``relscore`` is the raw score of a pair,
# divided by the smaller one of the scores of both sequences with themselves; so it is 1 for equal
# sequences.

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, fcluster, linkage
from scipy.spatial.distance import squareform

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

chosen = {f"family={number}" for number in (1, 26, 72, 74, 109, 121, 167)}
proteins = [one for one in synthesize(650_000, seed=1) if one[0].split()[1] in chosen]
families = np.array([title.split()[1] for title, _ in proteins])

pairs = swdual.allpairs(proteins, evalue=10)
scores = pairs.to_sparse("relscore").toarray()
np.fill_diagonal(scores, 1)

# %%
# Build a tree, and draw both
# ---------------------------
#
# The tree joins, in each step, the two groups with the highest mean score (UPGMA). White is a pair
# without a hit, with an E-value above 10.

tree = linkage(squareform(1 - scores, checks=False), method="average")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 6), width_ratios=(1, 2.6))
lines = {"color_threshold": 0, "above_threshold_color": "#333333"}
with plt.rc_context({"lines.linewidth": 1}):
    order = dendrogram(tree, orientation="left", ax=left, no_labels=True, **lines)["leaves"]
left.set_xlabel("1 - relscore")
left.spines["left"].set_visible(False)

shown = np.ma.masked_equal(scores[np.ix_(order, order)], 0)
look = {"norm": "log", "cmap": "cividis_r", "aspect": "auto"}
image = right.imshow(shown, origin="lower", **look)
groups = {name: np.flatnonzero(families[order] == name) for name in dict.fromkeys(families[order])}
for rows in groups.values():
    right.axhline(rows.max() + 0.5, color="#888888", linewidth=0.5)
    right.axvline(rows.max() + 0.5, color="#888888", linewidth=0.5)
right.set_yticks([rows.mean() for rows in groups.values()], groups)
right.tick_params(bottom=False, labelbottom=False, left=False)
fig.colorbar(image, ax=right, label="relscore", shrink=0.6, format="{x:g}")
plt.show()

# %%
# What to see
# -----------
#
# Each family is a block: the tree, which knows nothing about the headers, separates all seven. The
# single cells between blocks are chance: their scores are below a fifteenth of the self-scores.

labels = fcluster(tree, t=len(chosen), criterion="maxclust")
groups = {frozenset(families[labels == label]) for label in labels}
assert len(groups) == len(chosen)
assert all(len(group) == 1 for group in groups)
different = families[:, None] != families
print(f"largest relscore between families: {scores[different].max():.3f}")
assert 0 < scores[different].max() < 1 / 15
