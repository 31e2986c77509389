"""Composition-based statistics: a substitution matrix for each pair of query and target.

``adjuster``
    Adjusts the scores of the candidates of a query, and aligns them.
``targets``
    Targets with their regions of low complexity masked.
``near_identical``
    Tells which targets keep their low-complexity regions.
``adjusted``
    Adjusted scores, and what they were computed with.
``region_finder``, ``regions``
    Finds which letters of translated sequences count; the rules.
``adjust``
    Computes the matrices, in BLAST's modes 1, 2 and 3.
``bounds``
    Bounds of scores in mode 1, with their proof.
``positions``
    Computes the scores of a profile's positions, in mode 1.
``choice``
    Tells which matrices mode 2 scales, and which it optimises.
``optimize``
    Finds the joint probabilities of residue pairs that suit two compositions.
``logarithm``
    Logarithms for kernels.
``rescore``
    Scores of a query with targets under their matrices.
``sequences``
    Sequences as these kernels read them.
``tables``
    Frequencies behind NCBI's eight matrices.
"""
