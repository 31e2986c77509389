"""
Why do regions of low complexity mislead?
=========================================

A run of glutamine resembles every other run of glutamine, though the proteins have no common
ancestor. What do adjustment and masks do about it?
"""

# %%
# Make proteins with runs of glutamine
# ------------------------------------
#
# The query has 60 residues that are rich in Q. In the database, 8 relatives lack them; 60 proteins
# are unrelated but have such a run, and 400 are random.

import matplotlib.pyplot as plt
import numpy as np

import swdual
from swdual.sequences.synthesis import synthesize_queries

plt.style.use("swdual.charts")

rng = np.random.default_rng(1)
proteins = synthesize_queries(650_000, count=5, seed=1)
residues = np.array(list("".join(sequence for _, sequence in proteins)))


def draw(length, glutamine=0.0):
    """Return random residues; so large a part of them is Q besides."""
    drawn = rng.choice(residues, length)
    drawn[rng.random(length) < glutamine] = "Q"
    return "".join(drawn)


def mutate(sequence, part):
    """Return a sequence in which so large a part of the residues is drawn anew."""
    changed = rng.random(len(sequence)) < part
    return "".join(np.where(changed, rng.choice(residues, len(sequence)), list(sequence)))


first, second = draw(90), draw(90)
query = {"query": first + draw(60, glutamine=0.5) + second}
targets = {f"relative_{k}": mutate(first + second, 0.5 + 0.03 * k) for k in range(8)}
targets |= {f"run_{k}": draw(150) + draw(50, glutamine=0.5) + draw(150) for k in range(60)}
targets |= {f"random_{k}": draw(350) for k in range(400)}

# %%
# Search in three ways
# --------------------
#
# Without adjustment or masks; with the adjustment of each pair for its composition, the default;
# and with SEG, which masks the region in the query.

ways = {
    "plain scores": {"comp_based_stats": 0},
    "adjusted (default)": {},
    "masked by SEG": {"comp_based_stats": 0, "mask": "seg"},
}
hits = {way: swdual.search(query, targets, **options)[0] for way, options in ways.items()}

fig, ax = plt.subplots(figsize=(7.6, 3.6))
looks = {"relative": ("C0", "o", -0.2), "run": ("C1", "^", 0.0), "random": ("C6", "s", 0.2)}
for row, result in enumerate(hits.values()):
    for hit in result:
        kind = hit.id.partition("_")[0]
        color, marker, shift = looks[kind]
        ax.plot(hit.evalue, row + shift, marker, color=color, alpha=0.6, label=kind)
ax.axvline(1e-3, color="#555555", linestyle="--", linewidth=1)
ax.set_yticks(range(len(ways)), ways)
ax.set(xscale="log", xlabel="E-value", ylim=(2.5, -0.5))
labels = {"relative": "relatives", "run": "unrelated, rich in Q", "random": "random"}
legend = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
ax.legend(
    [legend[name] for name in labels],
    labels.values(),
    ncols=3,
    loc="lower left",
    bbox_to_anchor=(0, 1),
)
plt.show()

# %%
# What to see
# -----------
#
# With plain scores, unrelated proteins have E-values far below 0.001 (dashed), and lie among the
# relatives. Adjustment and masks remove nearly all of them, and all eight relatives stay in the
# list. One of these moves across the line when scores are adjusted.


def count(way, kind, limit):
    """Return how many hits of a kind have an E-value below a limit."""
    return sum(hit.evalue < limit for hit in hits[way] if hit.id.startswith(kind))


for way in ways:
    print(way, {kind: count(way, kind, 1e-3) for kind in looks})
    assert count(way, "relative", 10) == 8
assert count("plain scores", "run", 1e-3) > 20
assert all(count(way, "run", 10) <= 1 for way in ways if way != "plain scores")
