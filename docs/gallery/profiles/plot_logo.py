"""
Which residues does a family keep?
==================================

A profile holds the scores of each position with each residue. As a sequence logo, it shows what a
family keeps.
"""

# %%
# Make a family, and a profile of it
# ----------------------------------
#
# Sixty random residues have a motif of cysteines and histidines, as a zinc finger has. In each of
# 40 relatives, 60 percent of the other residues are drawn anew. A search finds them, and their
# alignments make the profile, as in PSI-BLAST.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import swdual

plt.style.use("swdual.charts")

rng = np.random.default_rng(2)
residues = np.array(list("AAARNDDQEEGGHIIKKLLLMFPSSTVVWY"))
ancestor = rng.choice(residues, 60)
motif = {19: "C", 22: "C", 35: "H", 39: "H"}
family = {}
for number in range(41):
    changed = rng.random(len(ancestor)) < 0.6
    member = np.where(changed, rng.choice(residues, len(ancestor)), ancestor)
    for position, residue in motif.items():
        member[position] = residue
    family[f"member{number}"] = "".join(member)

query = {"member0": family["member0"]}
for found in swdual.iterate(query, family, iterations=3):
    print(f"round {found.number}: {len(found.included[0])} included")
profile = found.profiles[0]

# %%
# Draw the logo
# -------------
#
# The letters of a position are together as high as its information. ``plot`` writes PNG, SVG or
# PDF.

with tempfile.TemporaryDirectory() as folder:
    profile.plot(Path(folder) / "logo.png")
    image = plt.imread(Path(folder) / "logo.png")

fig = plt.figure(figsize=(9, 9 * image.shape[0] / image.shape[1]), layout="none")
ax = fig.add_axes((0, 0, 1, 1))
ax.imshow(image)
ax.set_axis_off()
plt.show()

# %%
# What to see
# -----------
#
# The two cysteines and the two histidines of the motif stand out. Elsewhere, several residues share
# little information.

most_conserved = sorted(np.argsort(profile.frequencies.max(axis=1))[-4:].tolist())
print("most conserved positions:", [position + 1 for position in most_conserved])
assert most_conserved == sorted(motif)
