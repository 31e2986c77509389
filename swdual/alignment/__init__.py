"""Alignments of the few hits that are reported.

tile (fill a rectangle of the matrices, walk back through it) -> grid (several targets at once: keep
some lines, then walk from tile to tile), long (the same for one long target) -> tracer (chooses
between them) -> tracebacks (the results, as columns) -> alignment (one result, to look at).

**Which alignment.** Several may have the highest score. The one that is returned ends at the
smallest position in the target, and of these at the smallest in the query. On the way back from
there, a pair of residues is taken if it is optimal, else a gap in the query, else a gap in the
target. Gaps are as short as possible, and the alignment begins where the score first is 0. Nothing
else matters: neither other hits, nor how the work was divided.
"""
