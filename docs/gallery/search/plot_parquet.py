"""
From a search to a data frame
=============================

A search can write Parquet, which pandas, polars and DuckDB read. How well do the hits cover their
queries?
"""

# %%
# Write the hits as Parquet
# -------------------------
#
# In a shell: ``swdual search queries.fasta proteins.fasta -o hits.parquet``.

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from pyarrow.parquet import read_schema

import swdual
from swdual.sequences.synthesis import synthesize, synthesize_queries

plt.style.use("swdual.charts")

proteins = list(synthesize(650_000, seed=1))
queries = list(synthesize_queries(650_000, count=5, seed=1))
results = swdual.search(queries, proteins)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "hits.parquet"
    results.write(path)

    # Only these columns and rows are read. The file keeps the statistics of the search, too.
    columns = ["qseqid", "pident", "qcovhsp", "bitscore", "log10_evalue"]
    hits = pd.read_parquet(path, columns=columns, filters=[("log10_evalue", "<=", 0)])
    statistics = json.loads(read_schema(path).metadata[b"swdual.statistics"])

# %%
# A table of the queries
# ----------------------

hits["significant"] = hits["log10_evalue"] <= -3
print(f"lambda {statistics['lambda']}, K {statistics['K']}")
print(
    hits.groupby("qseqid")
    .agg(
        hits=("pident", "size"),
        significant=("significant", "sum"),
        best=("bitscore", "max"),
        coverage=("qcovhsp", "median"),
    )
    .round(1)
)

# %%
# Coverage and identity
# ---------------------
#
# Filled: E-value up to 0.001. Open: up to 1.

fig, ax = plt.subplots(figsize=(7.2, 4.2))
for number, (query, group) in enumerate(hits.groupby("qseqid")):
    for significant, part in group.groupby("significant"):
        color = f"C{number}"
        face, label = (color, query) if significant else ("none", None)
        look = {"marker": "os^Dv"[number], "s": 40, "edgecolor": color, "facecolor": face}
        ax.scatter(part["qcovhsp"], part["pident"], label=label, **look)
ax.set(xlabel="part of the query in the alignment (%)", ylabel="equal letters (%)")
ax.set(xlim=(0, 103), ylim=(0, 100))
ax.legend(ncols=5, loc="lower left", bbox_to_anchor=(0, 1))
plt.show()

# %%
# What to see
# -----------
#
# Significant hits cover most of their queries, also where only a quarter of the letters are equal.
# The others are as similar, but in a short piece.

good, bad = hits[hits["significant"]], hits[~hits["significant"]]
assert good["qcovhsp"].min() > 70 > bad["qcovhsp"].max()
assert good["pident"].min() < 26
