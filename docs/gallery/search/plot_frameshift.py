"""
A gene with frameshifts
=======================

A read lacks one base, and has two too many further on. Each frame then shows only a part of the
protein. How much does a search find that lets alignments change the frame?
"""

# %%
# Make the read, and search it
# ----------------------------
#
# An artificial protein is written as codons, chosen at random. Then the errors are put in. swdual
# sees that the query has nucleotides and the database has proteins, and translates, as blastx does.

import matplotlib.pyplot as plt
import numpy as np
from Bio.Data.CodonTable import standard_dna_table

import swdual
from swdual.sequences.synthesis import synthesize, synthesize_queries

plt.style.use("swdual.charts")

rng = np.random.default_rng(1)
codons = {}
for codon, amino_acid in standard_dna_table.forward_table.items():
    codons.setdefault(amino_acid, []).append(codon)
proteins = list(synthesize(650_000, seed=1))
_, protein = list(synthesize_queries(650_000, count=5, seed=1))[2]
gene = "".join(rng.choice(codons[amino_acid]) for amino_acid in protein)
read = gene[:400] + gene[401:800] + "AC" + gene[800:]

plain, shifted = (swdual.search({"read": read}, proteins, frameshift=cost)[0] for cost in (0, 15))

# %%
# Where the best alignment runs
# -----------------------------
#
# Each lane is a reading frame, and each tick a stop codon in it. The bar is the alignment with the
# best target.


def segments(alignment):
    """Yield frame, start and end of what is aligned without a change of the frame."""
    start = end = alignment.query_start
    for operation, count in alignment.operations:
        if operation in "\\/":
            yield start % 3, start, end
            start = end = end + (count if operation == "\\" else -count)
        elif operation in "MI":
            end += 3 * count
    yield start % 3, start, end


fig, axes = plt.subplots(2, sharex=True, figsize=(8.4, 4))
for ax, result in zip(axes, (plain, shifted), strict=True):
    hit = result[0]
    for frame in range(3):
        ends = [
            k for k in range(frame, len(read) - 2, 3) if read[k : k + 3] in ("TAA", "TAG", "TGA")
        ]
        ax.plot(ends, [frame] * len(ends), "|", color="#888888", markersize=14)
    for frame, start, end in segments(hit.alignment):
        ax.barh(frame, end - start, 0.5, start, color=f"C{frame}")
    cost = result.params.scheme.frameshift
    rule = f"a frameshift costs {cost}" if cost else "no frameshifts"
    ax.set_title(f"{rule}: bit score {hit.bits:.0f}, E = {hit.evalue:.0e}")
    ax.set_yticks(range(3), ["frame 1", "frame 2", "frame 3"])
    ax.set_ylim(2.5, -0.5)
axes[-1].set_xlabel("position in the read (bases)")
plt.show()

# %%
# What to see
# -----------
#
# Without frameshifts, the best alignment covers a third of the read. Its small E-value is that of
# three alignments together (sum statistics). With a penalty of 15 for each change of the frame, one
# alignment follows the protein through all three frames, and shows both errors to within a few
# codons.

one, two = (result[0].alignment for result in (plain, shifted))
print(one.cigar, two.cigar, sep="\n")
assert one.query_end - one.query_start < 0.35 * len(read)
assert two.query_end - two.query_start > 0.99 * len(read)
places = [end for _, _, end in segments(two)]
assert len(places) == 3
assert abs(places[0] - 400) < 12
assert abs(places[1] - 800) < 12
