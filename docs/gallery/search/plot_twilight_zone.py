"""
How similar must two proteins be?
=================================

Are two proteins related if 25 percent of their residues are equal? That depends on the length of
the alignment.
"""

# %%
# Compare all pairs of 600 proteins
# ---------------------------------
#
# The proteins are artificial. Their headers name families, so it is known which pairs are related.
# Pairs with an E-value up to 10 are kept.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
pairs = swdual.allpairs(proteins[:600], evalue=10)
table = pairs.to_pandas("qtitle stitle length pident evalue")
family = table["qtitle"].str.split().str[1]
related = family == table["stitle"].str.split().str[1]
print(f"{len(table):,} pairs, {related.sum():,} of them related")


def smallest_identity(length):
    """Return Rost's percentage of equal letters for a length."""
    return 480 * length ** (-0.32 * (1 + np.exp(-length / 1000)))


# %%
# Identity and length
# -------------------
#
# The curve is that of Rost (1999), found with proteins of known structure: above it, most pairs
# have similar structures.

fig, ax = plt.subplots(figsize=(7.2, 4.6))
for kind, color, label in ((~related, "C1", "unrelated"), (related, "C0", "related")):
    ax.scatter(
        table["length"][kind], table["pident"][kind], s=8, alpha=0.5, color=color, label=label
    )
length = np.geomspace(15, 450)
ax.plot(length, smallest_identity(length), color="black", label="Rost's curve")
ax.set(xscale="log", xlabel="columns of the alignment", ylabel="equal letters (%)", ylim=(10, 100))
ax.set_xticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1000"])
ax.legend(markerscale=2.5)
plt.show()

# %%
# What to see
# -----------
#
# The identity alone does not tell: between 20 and 30 percent, both kinds are frequent. Rost's curve
# separates these artificial proteins, too: few unrelated pairs lie above it. The E-value, which
# weighs every pair of letters, does the same without a second number: of the unrelated pairs, fewer
# than 1 in 100 have an E-value below 0.01.

kinds = related.map({True: "related", False: "unrelated"})
unsure = table["pident"].between(20, 30)
print("20 to 30 %:", kinds[unsure].value_counts().to_dict())
above = table["pident"] > smallest_identity(table["length"])
good = table["evalue"] < 0.01
for label, rule in (("above the curve", above), ("E-value below 0.01", good)):
    print(f"{label}:", kinds[rule].value_counts().to_dict())
assert min(related[unsure].sum(), (~related)[unsure].sum()) > 200
assert (~related)[above].sum() < 0.1 * related[above].sum()
assert (~related)[good].sum() < 0.01 * (~related).sum()
