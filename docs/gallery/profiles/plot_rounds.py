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

from pathlib import Path

import matplotlib.pyplot as plt
from Bio import SeqIO

import swdual

plt.style.use(Path(__file__).parents[1] / "house.mplstyle")
DATA = Path(__file__).parents[3] / "data"

with open(DATA / "proteins.fasta") as file:
    proteins = SeqIO.to_dict(SeqIO.parse(file, "fasta"))
query = proteins["syn000294"]
family = query.description.split()[1]
everything = {"evalue": 1e4, "max_target_seqs": 0}
rounds = list(swdual.iterate(query, DATA / "proteins.fasta", iterations=0, **everything))
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
relatives = [hit.id for hit in last if hit.title.split()[1] == family and hit.id != query.id]
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
assert {hit.id for hit in last if hit.evalue < 0.002} == {query.id, *relatives}
assert min(last[name].evalue for name in others) > 0.1
