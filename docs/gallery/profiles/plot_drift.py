"""
When a profile drifts
=====================

One unrelated protein that gets into a profile brings its relatives along. How does one see it, and
what helps?
"""

# %%
# Search in rounds, twice
# -----------------------
#
# The first search includes hits up to PSI-BLAST's limit, an E-value of 0.002, the second one up to
# 0.0001. All hits up to 10,000 are kept, to draw them.

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
families = dict(title.split()[:2] for title, _ in proteins)
query = next(one for one in proteins if one[0].startswith("syn000695"))
family = families["syn000695"]
searches = {
    limit: list(swdual.iterate(query, proteins, iterations=5, inclusion=limit, evalue=1e4))
    for limit in (0.002, 0.0001)
}
for limit, rounds in searches.items():
    for each in rounds:
        print(f"limit {limit}, round {each.number}: new {each.new[0]}; {each.warnings[0]}")

# %%
# E-values by round
# -----------------

shown = dict.fromkeys(hit.id for each in searches[0.002] for hit in each.results[0][:20])
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(8.8, 4.6))
for ax, (limit, rounds) in zip(axes, searches.items(), strict=True):
    results = [each.results[0] for each in rounds]
    for name in shown:
        known = [(k, result[name].evalue) for k, result in enumerate(results, 1) if name in result]
        related = families[name] == family
        color, label = ("C0", "family of the query") if related else ("C1", "other proteins")
        ax.plot(*zip(*known, strict=True), "o-", color=color, alpha=0.7, markersize=4, label=label)
    ax.axhline(limit, color="#555555", linestyle="--", linewidth=1, label="limit of inclusion")
    ax.set(yscale="log", title=f"included up to {limit:g}", xlabel="round", xticks=range(1, 6))
axes[0].set_ylabel("E-value")
axes[0].invert_yaxis()
legend = dict(zip(*reversed(axes[1].get_legend_handles_labels()), strict=True))
axes[1].legend(legend.values(), legend.keys())
plt.show()

# %%
# What to see
# -----------
#
# In round 2, one unrelated protein is just below the limit of 0.002. Round 3 includes others of its
# family, and two rounds later all seven have E-values below 1e-20: a small E-value in a late round
# is no proof. From round 2 on, ``round.warnings`` tells that the query is not the best hit of its
# own profile: a reason to look at what was included, but no proof either, as it tells the same
# where nothing went wrong. With the stricter limit, the search converges in round 3 with exactly
# the family.


def included(rounds):
    """Return how many relatives and others the last round includes."""
    names = rounds[-1].included[0]
    related = sum(families[name] == family for name in names)
    return related, len(names) - related


drifted = searches[0.002]
assert [included(drifted[:number]) for number in (2, 3, 5)] == [(8, 1), (8, 6), (8, 7)]
assert all(drifted[4].results[0][name].evalue < 1e-20 for name in drifted[4].included[0])
others = {families[name] for name in drifted[4].included[0]} - {family}
assert len(others) == 1
assert included(searches[0.0001]) == (8, 0)
assert len(searches[0.0001]) == 3
assert searches[0.0001][-1].converged == [True]
assert all("the query itself" in each.warnings[0] for each in drifted[1:])
