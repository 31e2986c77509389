"""Files about organisms: NCBI's taxdump as a folder or an archive, tables of accessions, and lists.

An input holds several files with null bytes between them.
"""

from __future__ import annotations

import gzip
import random

import numpy as np
from fuzz.target import explained, stored, unshown
from support.taxa import TWO_SPECIES, dump_files, random_tree

from swdual.database.taxids import find_accessions
from swdual.taxonomy.taxdump import MERGED, NAMES, NODES, read_taxonomy
from swdual.taxonomy.taxid_list import read_taxids
from swdual.taxonomy.tree import Taxonomy

HEADERS = (b"A1.2 one", b"sp|P1|X", b"B", b"gi|1|ref|NP_1.1|")


def target(data):
    """Read an input as a dump, as a table, as a list and as an archive."""
    parts = (data.split(b"\0", 3) + [b""] * 3)[:4]
    for name, part in zip((NODES, NAMES, MERGED), parts, strict=False):
        folder = stored(part, name).parent
    with explained():
        _use(read_taxonomy(folder))
    with explained():
        _use(read_taxonomy(stored(data, "taxdump.tar.gz")))
    text = np.frombuffer(b"".join(HEADERS), np.uint8)
    ends = np.cumsum([len(header) for header in HEADERS])
    with explained():
        found = find_accessions(text, ends, stored(parts[3], "table"))
        assert found.shape == (len(HEADERS),)
        assert found.max(initial=0) < 2**31
    with explained():
        assert read_taxids(stored(parts[3], "list"), "taxidlist")


def _use(tree):
    """Look at every taxon, and read the tree again from its bytes."""
    again = Taxonomy.from_bytes(tree.to_bytes())
    assert (again.taxa, again.merged) == (tree.taxa, tree.merged)
    for taxon in tree.taxa:
        lineage = tree.lineage(taxon.taxid)
        assert lineage[-1] == taxon
        assert not unshown(f"{taxon.rank}{taxon.name}{taxon.common_name}")
        assert tree.find_ancestor([lineage[0].taxid, taxon.taxid]) == lineage[0]
    assert len(tree.expand([tree.taxa[0].taxid])) >= 1


def seeds():
    """Return sound files, and some of which a part is missing or damaged."""
    table = b"A1 5\nP1 7\nNP_1 8\n"
    ncbi = b"accession\taccession.version\ttaxid\tgi\nA1\tA1.1\t5\t0\nB\tB.1\t6\t1\n"
    found = []
    for tree in (TWO_SPECIES, random_tree(random.Random(1), 8)):
        files = dump_files(tree)
        texts = [files[name].encode() for name in (NODES, NAMES, MERGED)]
        found += [b"\0".join([*texts, each]) for each in (table, ncbi, gzip.compress(table))]
    whole = found[0]
    return [
        *found,
        whole.replace(b"562\t|\t2\t", b"562\t|\t562\t"),
        whole.replace(b"scientific", b"scientifi"),
        whole.replace(b"Homo", b"\x1b[31m\xff\t"),
        whole[: len(whole) // 2],
        gzip.compress(whole),
    ]
