"""
What is missing in a table?
===========================

Tables of hits look alike, whatever the program skipped. An audit compares them with an exact
search. How much does a search miss that compares only pairs with a common word?
"""

# %%
# Two tables of a fast search
# ---------------------------
#
# The sequences are artificial: proteins of families that have changed more and more since their
# ancestors. A simple program, written here, reports only pairs that share a word of 4 or of 5
# residues. It writes BLAST's twelve columns.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import swdual
from swdual.sequences.synthesis import synthesize

plt.style.use("swdual.charts")

proteins = list(synthesize(120_000, seed=3))
queries = proteins[::5]
options = {"comp_based_stats": 0, "max_target_seqs": 0}


def words(sequence, length):
    """Return the words of a sequence."""
    return {sequence[k : k + length] for k in range(len(sequence) - length + 1)}


def write_table(path, length):
    """Write the hits that share a word with the query."""
    results = swdual.search(queries, proteins, evalue=10, **options)
    rows = results.to_pandas("std")
    own = {title.split()[0]: words(sequence, length) for title, sequence in proteins}
    shares = [bool(own[a] & own[b]) for a, b in zip(rows.qseqid, rows.sseqid, strict=True)]
    rows[shares].to_csv(path, sep="\t", header=False, index=False)


# %%
# Audit them
# ----------
#
# ``swdual audit words4.tsv words5.tsv queries.fasta proteins.fasta`` does the same on the command
# line. A second audit searches a random half of the queries only, and gives intervals.

with tempfile.TemporaryDirectory() as folder:
    tables = [Path(folder, f"words{length}.tsv") for length in (4, 5)]
    for table, length in zip(tables, (4, 5), strict=True):
        write_table(table, length)
    found = swdual.audit(tables, queries, proteins, evalue=10, comp_based_stats=0)
    sampled = swdual.audit(
        tables, queries, proteins, evalue=10, comp_based_stats=0, sample=len(queries) // 2
    )
print(found)
for row in sampled.summary():
    if row["evalues"] == "all":
        print(row["table"], *(f"{100 * row[name]:.0f} %" for name in ("share", "low", "high")))

# %%
# Draw the shares
# ---------------

fig, ax = plt.subplots(figsize=(7.2, 4))
for label, marker in zip(found.labels, "os", strict=True):
    rows = [row for row in found.summary() if row["table"] == label][:-1]
    places = [place for place, row in enumerate(rows) if row["share"] is not None]
    ax.plot(places, [100 * rows[k]["share"] for k in places], marker=marker, label=label)
ax.set_xticks(range(len(rows)), [row["evalues"] for row in rows], rotation=25)
ax.set(xlabel="exact E-value", ylabel="hits found, %", ylim=(0, 103))
ax.legend()
plt.show()

# %%
# What to see
# -----------
#
# Most hits with small E-values are there, so the tables look complete. Of the others, more are
# missing the longer the word is: of those with E-values from 0.001 to 10, a fifth without a word of
# four residues, and four fifths without a word of five.
#
# :ref:`sphx_glr_generated_gallery_search_plot_missed_hits.py` has the figures of real programs.


def share(label, names):
    """Return the share of hits that a table has, in %, of some bins together."""
    rows = [x for x in found.summary() if x["table"] == label and x["evalues"] in names]
    return 100 * sum(row["found"] for row in rows) / sum(row["hits"] for row in rows)


for whole, part in zip(found.summary(), sampled.summary(), strict=True):
    assert part["low"] is None or part["low"] <= whole["share"] <= part["high"]

weak = ["0.001 to 1", "1 to 10"]
assert share("words4.tsv", ["below 1e-50"]) == 100
assert share("words5.tsv", ["below 1e-50"]) > 95
assert 20 < 100 - share("words4.tsv", weak) < 25
assert 80 < 100 - share("words5.tsv", weak) < 85
