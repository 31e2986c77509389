"""Taxonomy: the tree of taxa that NCBI numbers, and lists of these numbers.

`taxid_list`
    Lists of taxonomy ids, as options give them.
`tree`
    The tree: names, ranks, lineages, descendants and lowest common ancestors.
`taxdump`
    Reads the tree from NCBI's taxdump.
"""
