"""
Distant relatives, round by round
=================================

A profile of the first hits finds more relatives than the query alone. How do the E-values of a
family change from round to round?
"""

# %%
# Search in rounds
# ----------------
#
# As in PSI-BLAST, each round searches with a profile of the hits below an E-value of 0.002 of the
# round before, until nothing new comes in. All hits are kept, to draw them.

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
query = next(one for one in proteins if one[0].startswith("syn000294"))
query_id, family = query[0].split()[:2]
everything = {"evalue": 1e4, "max_target_seqs": 0}
rounds = list(swdual.iterate(query, proteins, iterations=0, **everything))
for each in rounds:
    print(f"round {each.number}: new {each.new[0]}")

# %%
# E-values of all targets
# -----------------------
#
# A line is a target: blue for the family, grey for the ten best of all others.

fig, ax = plt.subplots(figsize=(7.2, 4.6))
results = [each.results[0] for each in rounds]
last = results[-1]
relatives = [hit.id for hit in last if hit.title.split()[1] == family and hit.id != query_id]
others = [hit.id for hit in last if hit.title.split()[1] != family][:10]
for names, color, label in (
    (others, "#999999", "other proteins"),
    (relatives, "C0", "family of the query"),
):
    for name in names:
        known = [(k, result[name].evalue) for k, result in enumerate(results, 1) if name in result]
        ax.plot(*zip(*known, strict=True), "o-", color=color, markersize=4, label=label)
        label = None
ax.axhline(0.002, color="C1", linestyle="--", label="limit of inclusion")
ax.set(yscale="log", xlabel="round", ylabel="E-value", xticks=range(1, len(rounds) + 1))
ax.invert_yaxis()
ax.legend(loc="upper left")
plt.show()

# %%
# What to see
# -----------
#
# The query alone finds one relative for certain. The profile of these two finds four more, which
# were among chance hits before, and the next profile the last two. Unrelated proteins stay where
# they are: the search converges in round 4 with exactly the eight members of the family.

counts = [sum(hit.evalue < 0.002 for hit in result) for result in results]
print("hits below the limit, by round:", counts)
assert counts == [2, 6, 8, 8]
assert rounds[-1].converged == [True]
assert {hit.id for hit in last if hit.evalue < 0.002} == {query_id, *relatives}
assert min(last[name].evalue for name in others) > 0.1
