"""
Where do genes lie on a genome, and on which strand?
====================================================

A search of nucleotides compares both strands of each query. One target, here a genome of 12,000
bases, can hold several copies of a gene.
"""

# %%
# Make a genome, and search it
# ----------------------------
#
# Five genes are copied into random sequence, with many substitutions, and some of them as the
# reverse complement.

import matplotlib.pyplot as plt
import numpy as np
from Bio.Seq import reverse_complement

import swdual

plt.style.use("swdual.charts")

rng = np.random.default_rng(5)


def draw(length):
    """Return random nucleotides."""
    return "".join(rng.choice(list("ACGT"), length))


def mutate(sequence, part):
    """Return a sequence in which so large a part of the bases is drawn anew."""
    changed = rng.random(len(sequence)) < part
    return "".join(np.where(changed, list(draw(len(sequence))), list(sequence)))


genes = {f"gene{k}": draw(length) for k, length in enumerate((450, 900, 600, 1200, 300), 1)}
copies = [("gene1", 1, 0.05), ("gene2", -1, 0.15), ("gene3", 1, 0.3), ("gene1", -1, 0.2)]
copies += [("gene4", -1, 0.45), ("gene2", 1, 0.1), ("gene5", 1, 0.25)]
genome, truth = draw(900), []
for name, strand, part in copies:
    copy = mutate(genes[name], part)
    truth.append((name, strand, len(genome)))
    genome += (copy if strand == 1 else reverse_complement(copy)) + draw(900)

results = swdual.search(genes, {"genome": genome}, evalue=1e-3, max_hsps=0)

# %%
# A map
# -----
#
# An arrow is an alignment. It points to the right on the plus strand, and to the left on the minus
# strand. The percentages are those of equal bases.

fig, ax = plt.subplots(figsize=(9, 3))
found = []
for number, result in enumerate(results):
    for alignment in result[0].alignments:
        start, end, strand = alignment.target_start, alignment.target_end, alignment.target_frame
        found.append((result.query.id, strand, start))
        tail, head = (start, end) if strand == 1 else (end, start)
        look = {"mutation_scale": 22, "color": f"C{number}", "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", (head, strand), (tail, strand), arrowprops={"arrowstyle": "simple", **look})
        label = f"{result.query.id}\n{100 * alignment.identity:.0f} %"
        ax.text((start + end) / 2, strand + 0.35, label, ha="center", va="bottom", fontsize=8)
ax.axhline(0, color="black", linewidth=1)
ax.set(ylim=(-1.8, 2.2), xlim=(0, len(genome)), xlabel="position in the genome (bases)")
ax.set_yticks([1, -1], ["plus strand", "minus strand"])
ax.xaxis.set_major_formatter("{x:,.0f}")
plt.show()

# %%
# What to see
# -----------
#
# All seven copies are found, on the strand where they were put, and both copies of gene 1 and of
# gene 2. One in three bases of the copy of gene 4 differs.

print(sorted(found, key=lambda copy: copy[2]))
assert len(found) == len(truth)
for (name, strand, start), copy in zip(sorted(found, key=lambda one: one[2]), truth, strict=True):
    assert (name, strand) == copy[:2]
    assert abs(start - copy[2]) < 20
assert 0.62 < results["gene4"][0].identity < 0.71
