"""
How many clusters does a set have?
==================================

``find_clusters`` joins similar proteins. What is similar is a limit of identity; how pairs become
clusters is a linkage. How do both change the clusters?
"""

# %%
# Cluster a set in twelve ways
# ----------------------------
#
# The set has 12 families of 8 artificial proteins, some of them distant relatives.

from collections import Counter

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
family = dict(title.split()[:2] for title, _ in proteins)
full = [name for name, members in Counter(family.values()).items() if members == 8][:12]
proteins = [one for one in proteins if one[0].split()[1] in full]

limits = [20, 30, 40, 60]
linkages = ["complete", "greedy", "single"]
clusters = {
    (linkage, limit): swdual.find_clusters(proteins, min_identity=limit, linkage=linkage)
    for linkage in linkages
    for limit in limits
}

# %%
# Clusters by limit and linkage
# -----------------------------

fig, ax = plt.subplots(figsize=(7.2, 4.2))
for linkage, marker, style in zip(linkages, "os^", ("-", "--", "-."), strict=True):
    counts = [len(clusters[linkage, limit]) for limit in limits]
    ax.plot(limits, counts, marker + style, label=linkage)
ax.axhline(len(full), color="#555555", linestyle="--", linewidth=1, label="families")
ax.set(xlabel="smallest identity (%)", ylabel="clusters", xticks=limits, ylim=(0, None))
ax.legend(title="linkage")
plt.show()

# %%
# What to see
# -----------
#
# No cluster holds proteins of two families. The members of a family resemble its ancestor more than
# each other: single linkage, which follows chains of similar pairs, finds exactly the families at
# 20 percent. Complete linkage wants all pairs of a cluster to be similar, and greedy clusters all
# members to be similar to the longest one. Both leave more than twice as many clusters there.

counts = {way: len(found) for way, found in clusters.items()}
for found in clusters.values():
    assert all(len({family[name] for name in cluster}) == 1 for cluster in found)
assert counts["single", 20] == len(full)
for limit in limits:
    assert counts["complete", limit] >= counts["greedy", limit] >= counts["single", limit]
print(counts)
assert counts["greedy", 20] > 2 * len(full)
