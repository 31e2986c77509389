"""
One hit under four composition modes
====================================

``--comp-based-stats`` chooses how scores are adjusted to the composition of query and target, as in
BLAST. What does each mode do to the same hits?
"""

# %%
# Membrane proteins and their relatives
# -------------------------------------
#
# The query is rich in hydrophobic residues, as membrane proteins are. The database has 6 relatives,
# 150 unrelated proteins of the same composition, and 500 random ones of ordinary composition.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize_queries

plt.style.use("swdual.charts")

rng = np.random.default_rng(4)
proteins = synthesize_queries(650_000, count=5, seed=1)
ordinary = np.array(list("".join(sequence for _, sequence in proteins)))
hydrophobic = np.concatenate([ordinary, rng.choice(list("AFILMV"), len(ordinary))])


def mutate(sequence, part):
    """Return a sequence in which so large a part of the residues is drawn anew."""
    changed = rng.random(len(sequence)) < part
    return np.where(changed, rng.choice(hydrophobic, len(sequence)), sequence)


query = rng.choice(hydrophobic, 300)
targets = {f"relative_{k}": mutate(query, 0.7 + 0.02 * k) for k in range(6)}
targets |= {f"membrane_{k}": rng.choice(hydrophobic, 300) for k in range(150)}
targets |= {f"ordinary_{k}": rng.choice(ordinary, 300) for k in range(500)}
targets = {name: "".join(sequence) for name, sequence in targets.items()}
modes = [0, 1, 2, 3]
results = [
    swdual.search(
        {"query": "".join(query)}, targets, comp_based_stats=mode, evalue=1e6, max_target_seqs=0
    )[0]
    for mode in modes
]

# %%
# E-values of the same pairs
# --------------------------
#
# A line is a target. Of the unrelated ones, the 10 best without adjustment are drawn.

kinds = {"relative": "C0", "membrane": "C1", "ordinary": "C6"}
fig, ax = plt.subplots(figsize=(7.2, 4.4))
for kind, color in kinds.items():
    names = [hit.id for hit in results[0] if hit.id.startswith(kind)][:10]
    for name in names:
        column = [result[name].evalue for result in results]
        ax.plot(modes, column, "o-", color=color, alpha=0.6, label=kind, markersize=4)
ax.axhline(1, color="#555555", linestyle="--", linewidth=1)
ax.set(yscale="log", ylabel="E-value")
ax.set_xticks(modes, ["0: none", "1: scaled matrix", "2: as it fits", "3: new matrix"])
ax.set_xlim(-0.3, 3.3)
ax.invert_yaxis()
legend = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
ax.legend(legend.values(), legend.keys(), ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
plt.show()

# %%
# What to see
# -----------
#
# Plain scores (mode 0) give small E-values to unrelated proteins, only because these are
# hydrophobic, too. Mode 1 scales the matrix for each pair: these hits vanish, but the relatives
# lose much of their scores. Mode 2, the default, computes a new matrix from both compositions where
# that is better. It rejects unrelated proteins as well, and near relatives keep more of their
# scores; the two most distant ones keep less. Mode 3 always computes a new matrix; here mode 2 does
# so for all pairs.


def evalues(mode, kind):
    """Return the E-values of all hits of a kind."""
    return np.array([hit.evalue for hit in results[mode] if hit.id.startswith(kind)])


for mode in modes:
    print(mode, {kind: f"{evalues(mode, kind).min():.1e}" for kind in kinds})
    assert evalues(mode, "relative").max() < 1
assert np.median(evalues(0, "membrane")) < 1e-3
assert all(evalues(mode, "membrane").min() > 1 for mode in modes[1:])
assert np.median(evalues(2, "relative")) < 0.01 * np.median(evalues(1, "relative"))
assert np.allclose(evalues(2, "relative"), evalues(3, "relative"))
