"""
All alignments of two proteins with repeats
===========================================

One protein has four copies of a domain, another has three. The best alignment shows one way to lay
them over each other. ``max_hsps`` finds the others.
"""

# %%
# Align all copies
# ----------------
#
# We make both proteins: a domain of 80 residues, of which about a third is drawn anew in each copy,
# between random residues.

import matplotlib.pyplot as plt
import numpy as np

import swdual

plt.style.use("swdual.charts")

rng = np.random.default_rng(3)
residues = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
domain = rng.choice(residues, 80)


def repeat(copies, gap):
    """Return changed copies of the domain with random residues behind each."""
    parts = []
    for _ in range(copies):
        changed = rng.random(len(domain)) < 0.35
        parts += [np.where(changed, rng.choice(residues, len(domain)), domain)]
        parts += [rng.choice(residues, gap)]
    return "".join(np.concatenate(parts))


query, target = repeat(4, gap=25), repeat(3, gap=45)
results = swdual.search({"four copies": query}, {"three copies": target}, max_hsps=0, evalue=1e-3)
alignments = results[0][0].alignments
for one in alignments:
    places = f"{one.query_start}-{one.query_end} {one.target_start}-{one.target_end}"
    print(f"{places}: score {one.score}, E = {one.evalue:.1g}")

# %%
# A dot plot with the alignments
# ------------------------------
#
# A dot is a pair of windows of 15 residues whose scores sum up to 20 or more. The rectangle is that
# of the best alignment.

scheme = results.params.scheme
codes = [np.frombuffer(one.codes, np.uint8) for one in (results[0].query, results[0][0].target)]
scores = scheme.matrix.scores[np.ix_(*codes)].astype(int)
height, width = (length - 14 for length in scores.shape)
windows = sum(scores[k : k + height, k : k + width] for k in range(15))
dots = np.argwhere(windows >= 20) + 7

fig, ax = plt.subplots(figsize=(5.8, 6.2))
ax.plot(dots[:, 1], dots[:, 0], ".", color="#888888", markersize=1.5, label="similar windows")
for rank, alignment in enumerate(alignments):
    target_path, query_path = alignment.to_biopython().coordinates
    label = "best alignment" if rank == 0 else "further alignments" if rank == 1 else None
    ax.plot(target_path, query_path, color="C0" if rank == 0 else "C1", label=label)
best = alignments[0]
low, high = (best.target_start, best.query_start), (best.target_end, best.query_end)
ax.add_patch(plt.Rectangle(low, *np.subtract(high, low), color="C0", alpha=0.1, linewidth=0))
ax.set(xlabel="three copies (residues)", ylabel="four copies (residues)", aspect="equal")
ax.invert_yaxis()
ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
plt.show()

# %%
# What to see
# -----------
#
# The best alignment lays copies 2, 3 and 4 of the query over the three of the target. The further
# ones align copy 1 with each of these. As in BLAST, no further alignment lies in the rectangle of
# an earlier one; so the similar windows in the rectangle stay dots.

assert len(alignments) == 4
assert all(one.query_end <= best.query_start for one in alignments[1:])
assert best.query_start > len(domain)
assert best.target_end > 250 + len(domain)
