"""
E-values for gap costs that have none
=====================================

BLAST's tables hold statistics for some gap costs only. For others, ``stats="fit"`` learns from the
scores of a query with all targets. Do these follow the expected distribution?
"""

# %%
# Search with unusual gap costs
# -----------------------------
#
# A gap of k residues costs 15 + 4 k here, for which there is no table.

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize, synthesize_queries

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
queries = list(synthesize_queries(650_000, count=5, seed=1))
options = {"gap_open": 15, "gap_extend": 4}
try:
    swdual.search(queries, proteins, stats="table", **options)
except swdual.StatisticsUnavailable as error:
    print(error)
results = swdual.search(queries, proteins, stats="fit", **options)

# %%
# Scores of one query with all targets
# ------------------------------------
#
# A z-score is the distance of a score from what is expected for the length of its target; by
# chance, z-scores have the mean 50 and the standard deviation 10.

fig, ax = plt.subplots(figsize=(7.2, 4.2))
results.plot_scores(3, ax)
plt.show()

# %%
# What to see
# -----------
#
# The 1,908 unrelated targets follow the extreme value distribution over more than two decades. Six
# targets stand apart; they are the relatives of the query, and were left out of the fit.

fit, hits = results[3].statistics, results[3]
family = hits.query.title.split()[1]
print(hits, f"{fit.fitted:,} scores fitted, {fit.trimmed} left out")
assert (fit.fitted, fit.trimmed) == (1908, 6)
assert all(family in hit.title and hit.evalue < 1e-10 for hit in hits[:6])
assert all(family not in hit.title for hit in hits[6:])
