"""Composition-based statistics: a substitution matrix for each pair of query and target.

``adjust``
    Computes the matrices, in BLAST's modes 1, 2 and 3.
``optimize``
    Finds the joint probabilities of residue pairs that suit two compositions.
``logarithm``
    Logarithms for kernels.
``tables``
    Frequencies behind NCBI's eight matrices.
"""
