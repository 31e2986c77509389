"""Alignments of the few hits that are reported.

``tracer``
    Finds the alignments of a query with its targets.
``further``
    Finds the next best alignments of pairs, around those that were found.
``plain_scores``
    Scores of a query with single targets.
``pairs``
    A query with the targets that it is aligned with.
``fill``
    Chooses how the matrices of each target are filled, and walks back in them.
``grid``, ``long``
    Several targets at once, and a long one: keep some lines of the matrices.
``lines``
    Walks back from the end of an alignment, from tile to tile between these lines.
``tile``
    Fills a rectangle of the matrices, and walks back through it.
``frames``
    Alignments with frameshifts: all frames of a strand in one matrix.
``tracebacks``
    The results, as columns.
``alignment``
    One result, to look at.

**Which alignment.** Several may have the highest score. The one that is returned ends at the
smallest position in the target, and of these at the smallest in the query. On the way back from
there, a pair of residues is taken if it is optimal, else a gap in the query, else a gap in the
target. Gaps are as short as possible, and the alignment begins where the score first is 0. Nothing
else matters: neither other hits, nor how the work was divided. The same holds for each further
alignment of a pair.
"""
