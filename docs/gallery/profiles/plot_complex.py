"""
From a complex to AlphaFold 3
=============================

Two chains bind each other. Which of their relatives belong together, and how do they get into
AlphaFold's input?
"""

# %%
# Make multiple alignments
# ------------------------
#
# Each chain is searched in rounds in a database of many organisms. Here the database is made up:
# of nine organisms, five have both proteins.

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

families: dict[str, list[str]] = {}
for title, letters in synthesize(650_000, seed=1):
    families.setdefault(title.split()[1], []).append(letters)
one, other = (families[name] for name in ("family=109", "family=167"))
targets = {f"one{k} OX={k}": letters for k, letters in enumerate(one[1:], start=1)}
targets |= {f"other{k} OX={k + 2}": letters for k, letters in enumerate(other[1:], start=1)}
chains = {"chain_one": one[0], "chain_other": other[0]}
alignments = swdual.msa(chains, targets)
for alignment in alignments:
    print(f"{alignment.id}: {alignment.describe()}")

# %%
# Pair them
# ---------
#
# Rows of one organism are paired. AlphaFold 3 joins rows by their places: those of pairs come
# first, with gaps where a chain has none.

paired = swdual.Complex.of(alignments)
titles = [chain.titles for chain in paired.chains]
for row, partner in paired.pairs:
    print(titles[0][row], "with", titles[1][partner])
print(paired.describe())
paired.plot()
plt.show()

# %%
# Write them
# ----------

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "complex.json")
    paired.write(path)
    job = json.loads(path.read_text())
proteins = [entity["protein"] for entity in job["sequences"]]
print(job["dialect"], [protein["id"] for protein in proteins])

# %%
# What to see
# -----------
#
# A dark row equals the queries, a bright one has little in common with them; the line counts the
# rows at each position. Rows of organisms that have only one of the proteins follow the pairs.
#
# ``swdual msa chains.fasta proteins.db --complex -o complex.json`` does all of this at once.

organisms = [[title.split("OX=")[1] for title in each[1:]] for each in titles]
common = {*organisms[0]} & {*organisms[1]}
assert len(paired.pairs) == len(common) == 5
assert len({*organisms[0]} | {*organisms[1]}) == 9
for (row, partner), place in zip(paired.pairs, range(3, 99, 2), strict=False):
    names = [titles[0][row], titles[1][partner]]
    assert len({name.split("OX=")[1] for name in names}) == 1
    for protein, name in zip(proteins, names, strict=True):
        assert protein["unpairedMsa"].splitlines()[place - 1] == f">{name}"
