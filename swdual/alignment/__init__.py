"""Alignments of the few hits that are reported.

``tracer``
    Finds the alignments of a query with its targets.
``further``
    Finds the next best alignments of pairs, around those that were found.
``plain_scores``
    Scores of a query with single targets.
``pairs``
    A query with the targets that it is aligned with.
``pairwise``
    Pairs of two sequences each, many in one call of a kernel.
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
``occurrences``
    All places where whole peptides occur, without gaps and with few mismatches.
``tracebacks``
    The results, as columns.
``alignment``
    One result, to look at.

**Who fills which cells.** A search fills all cells once for the scores, and keeps none of them. The
few hits are filled again: first all their cells, keeping lines, then the tiles between the lines
that an alignment passes through::

    kernel                    cells                     keeps                   called by
    ------------------------  ------------------------  ----------------------  ------------------
    backends._gotoh           all, a target in each     the best H              backends.simd
      score_batches           lane
    backends._striped         all of one target after   the best H; lines,      backends.simd,
      score_targets           the other, the rows of    the first best cell     fill (with lines)
                              the query in the lanes
    grid   fill_grid          a batch, until all best   lines; the blocks of    fill
                              cells are found           the best cells
    grid   walk_targets       marked blocks, then       where each alignment    fill
                              tiles: see `walk_lines`   ends; its operations
    lines  walk_lines         tiles on the way back     operations              fill, walk_targets
    pairwise trace_pairs      none itself: calls        scores, places, runs,   pairwise
                              score_targets, then       counts of each pair
                              walk_lines
    long   fill_band          a band of rows of a       lines, the best cell    long
                              rectangle
    tile   fill_tile          a rectangle               a direction a cell      lines, long
    tile   walk_tile          none                      operations              lines, long
    frames fill_frames        all, column by column;    lines, or directions    frames
                              then parts of them
    frames walk_frames        none                      operations              frames

`plain_scores` has no kernel: it calls `swdual.backends.simd.score_targets`. `score_batches` and
`fill_grid` fill cells by the same functions (`swdual.lanes.cell`); the loop over groups of columns
is in both, as what they do between groups is not the same.

The tiles that `walk_lines` fills (#), from the end e of an alignment to its beginning b::

    +------+------+------+
    |      |      |      |      The lines between tiles were kept by `fill_grid`.
    +------+------+------+
    |    b#|######|      |
    +------+------+------+
    |      |#####e|      |
    +------+------+------+

**Which alignment.** Several may have the highest score. The one that is returned ends at the
smallest position in the target, and of these at the smallest in the query. On the way back from
there, a pair of residues is taken if it is optimal, else a gap in the query, else a gap in the
target. Gaps are as short as possible, and the alignment begins where the score first is 0. Nothing
else matters: neither other hits, nor how the work was divided. The same holds for each further
alignment of a pair.
"""
