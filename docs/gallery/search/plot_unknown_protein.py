"""
What is this protein?
=====================

A protein of 596 residues has no name yet. Which proteins does it resemble, and in which part?
"""

# %%
# Search the database
# -------------------
#
# The database is artificial: 1,914 proteins of 363 families, which headers name. We make the query
# of relatives of two families, so that we know the answer: it has two domains.

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize, synthesize_queries

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
queries = [sequence for _, sequence in synthesize_queries(650_000, count=5, seed=1)]
unknown = queries[1] + queries[2]
result = swdual.search({"unknown": unknown}, proteins, max_target_seqs=15)[0]
print(result)

# %%
# Where the hits lie
# ------------------
#
# Each bar is the part of the query that a hit covers. The darker the bar, the higher its bit score.
# Grey bars have an E-value above 0.001.

fig, ax = plt.subplots(figsize=(8.4, 4.4))
shade = plt.Normalize(0, max(result.bits))
for row, hit in enumerate(result):
    related = hit.evalue <= 1e-3
    color = plt.get_cmap("cividis_r")(shade(hit.bits)) if related else "#cccccc"
    ax.barh(row, hit.query_end - hit.query_start, 0.75, hit.query_start, color=color)
    family = hit.title.split()[1].replace("=", " ")
    ax.text(len(unknown) + 8, row, f"E = {hit.evalue:.2g}, {family}", va="center", fontsize=8)
ax.set_yticks(range(len(result)), result.target_ids, fontsize=8)
ax.invert_yaxis()
ax.set(xlim=(0, len(unknown)), xlabel="position in the query (residues)")
ax.axvline(len(queries[1]), color="#555555", linestyle="--", linewidth=1)
scale = plt.cm.ScalarMappable(shade, "cividis_r")
fig.colorbar(scale, ax=ax, label="bit score", pad=0.22, fraction=0.04)
plt.show()

# %%
# What to see
# -----------
#
# No protein resembles the whole query. Eight relatives of one family cover the residues up to 201,
# and four of another family cover the rest. The E-values leave no doubt about these twelve. Of the
# grey hits, two belong to the second family as well: an E-value near 1 proves nothing, in either
# way.

families = [hit.title.split()[1] for hit in result]
certain = [hit for hit in result if hit.evalue <= 1e-3]
assert len(certain) == 12
assert set(families[:12]) == {"family=109", "family=26"}
for hit in certain:
    first = "family=109" in hit.title
    assert hit.query_end <= 205 if first else hit.query_start >= 197
assert families[12:].count("family=26") == 2
assert 0.01 < result.evalues[12] < 2
