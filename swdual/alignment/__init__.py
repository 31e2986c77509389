"""Why a score is what it is: the alignments of the few hits that are reported.

tile (fill a rectangle of the matrices, walk back through it) -> grid (several targets at once: keep
some lines, then walk from tile to tile), long (the same for one long target) -> tracer (chooses
between them) -> tracebacks (what comes back, as columns) -> alignment (one of them, to look at).

**Which alignment.** Many may share the highest score. The one that is given ends at the smallest
place in the target, and of these at the smallest in the query. Walking back from there, a pair of
residues is taken where it is optimal, else a gap in the query, else a gap in the target; gaps are
as short as they can be, and the alignment begins where the score first is 0. Nothing else has a
say: not the other hits, nor how the work was cut.
"""
