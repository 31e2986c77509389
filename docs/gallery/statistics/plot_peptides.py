"""
How short may a query be?
=========================

A peptide of eight residues occurs by chance in a large database. How long must a peptide be for its
protein to be found for certain?
"""

# %%
# Search pieces of proteins
# -------------------------
#
# The queries are pieces of 60 proteins of the database; in one set, one residue in five is drawn
# anew. ``dbsize`` computes E-values for a database of 200 million residues, as large as Swiss-Prot.
# ``blastp-short`` has scores for short queries: PAM30, and a gap of k residues costs 9 + k.

import logging

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

logging.getLogger("swdual").setLevel(logging.ERROR)  # it warns of pieces with few kinds of letters
rng = np.random.default_rng(0)
proteins = list(synthesize(650_000, seed=1))
lengths = [8, 10, 12, 15, 20, 25, 30, 40]
options = {"dbsize": 200_000_000, "evalue": 1e6, "comp_based_stats": 0, "align": False}


def cut(title, sequence, length, part):
    """Return the name of a protein and a piece of it, with a part of the residues drawn anew."""
    start = rng.integers(len(sequence) - length)
    piece = np.array(list(sequence[start : start + length]))
    changed = rng.choice(length, round(part * length), replace=False)
    piece[changed] = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), len(changed))
    return title.split()[0], "".join(piece)


evalues = {}
long = [one for one in proteins if len(one[1]) > 50]
for part in (0, 0.2):
    for length in lengths:
        chosen = [long[k] for k in rng.choice(len(long), 60, replace=False)]
        queries = dict(cut(*one, length, part) for one in chosen)
        for task in ("blastp", "blastp-short"):
            results = swdual.search(queries, proteins, task=task, **options)
            own = [result[result.query.id].evalue for result in results]
            evalues.setdefault((part, task), []).append(np.median(own))

# %%
# The E-value of the protein itself
# ---------------------------------

fig, ax = plt.subplots(figsize=(7.2, 4.4))
for (part, task), column in evalues.items():
    color, style = ("C0", "o-") if task == "blastp" else ("C1", "s-")
    label = f"{task}, {100 - 100 * part:.0f} % equal"
    ax.plot(lengths, column, style, color=color, label=label, alpha=1 if part == 0 else 0.5)
ax.axhline(0.01, color="#555555", linestyle="--", linewidth=1)
ax.set(yscale="log", xlabel="length of the query (residues)", ylabel="E-value (median of 60)")
ax.invert_yaxis()
ax.legend()
plt.show()

# %%
# What to see
# -----------
#
# With the default scores, an exact piece needs 15 residues for an E-value below 0.01 (dashed), and
# one that is 80 percent equal needs 20. The scores for short queries get there with 10 and 15
# residues: they give more to equal letters, and take more for others.


def shortest(part, task):
    """Return the smallest length with a median E-value below 0.01."""
    return next(x for x, evalue in zip(lengths, evalues[part, task], strict=True) if evalue < 0.01)


print({key: shortest(*key) for key in evalues})
assert (shortest(0, "blastp"), shortest(0.2, "blastp")) == (15, 20)
assert (shortest(0, "blastp-short"), shortest(0.2, "blastp-short")) == (10, 15)
