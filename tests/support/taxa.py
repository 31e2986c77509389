"""Small random taxonomies, NCBI's files of them, and records of their organisms."""

from __future__ import annotations

import io
import random
import tarfile
from pathlib import Path
from typing import NamedTuple

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

RANKS = ("domain", "class", "genus", "species", "strain")

FIRST = 10
"""The smallest id of a taxon besides the root."""


class Tree(NamedTuple):
    """A tree as plain Python holds it: the parent, rank and names of each id, and merged ids."""

    parents: dict[int, int]
    ranks: dict[int, str]
    names: dict[int, str]
    common: dict[int, str]
    merged: dict[int, int]

    def ancestors(self, taxid: int) -> list[int]:
        """Return a taxon and what is above it, up to the root."""
        taxid = self.merged.get(taxid, taxid)
        path = [taxid]
        while path[-1] != 1:
            path.append(self.parents[path[-1]])
        return path

    def below(self, taxids: set[int]) -> set[int]:
        """Return the ids of taxa that are, or have above them, one of some taxa."""
        current = {self.merged.get(taxid, taxid) for taxid in taxids}
        every = [*self.parents, *self.merged]
        return {taxid for taxid in every if current & {*self.ancestors(taxid)}}

    def common_ancestor(self, taxids: list[int]) -> int:
        """Return the deepest taxon that is above all of some taxa."""
        shared = set.intersection(*({*self.ancestors(taxid)} for taxid in taxids))
        return max(shared, key=lambda taxid: len(self.ancestors(taxid)))


TWO_SPECIES = Tree(
    {1: 1, 2: 1, 562: 2, 2759: 1, 9606: 2759},
    {1: "no rank", 2: "domain", 562: "species", 2759: "domain", 9606: "species"},
    {1: "root", 2: "Bacteria", 562: "Escherichia coli", 2759: "Eukaryota", 9606: "Homo sapiens"},
    {9606: "human"},
    {},
)
"""A tree that is easy to look through."""


def random_tree(draw: random.Random, count: int) -> Tree:
    """Return a tree of some taxa, with some ids that were merged."""
    ids = draw.sample(range(FIRST, FIRST + 20 * count), count + count // 5)
    parents, depths = {1: 1}, {1: 0}
    for taxid in ids[:count]:
        parent = draw.choice([x for x in parents if depths[x] < len(RANKS)])
        parents[taxid], depths[taxid] = parent, depths[parent] + 1
    return Tree(
        parents,
        {taxid: RANKS[depths[taxid] - 1] if taxid != 1 else "no rank" for taxid in parents},
        {taxid: f"Taxon {taxid}" if taxid != 1 else "root" for taxid in parents},
        {taxid: f"common {taxid}" for taxid in draw.sample([*parents], count // 3)},
        {taxid: draw.choice(ids[:count]) for taxid in ids[count:]},
    )


def dump_files(tree: Tree) -> dict[str, str]:
    """Return the files of NCBI's taxdump by their names."""
    names = [(taxid, name, "scientific name") for taxid, name in tree.names.items()]
    names += [(taxid, name, "common name") for taxid, name in tree.common.items()]
    names += [(taxid, f"synonym of {taxid}", "synonym") for taxid in tree.names]
    rows = {
        "nodes.dmp": [(t, parent, tree.ranks[t], "", "8") for t, parent in tree.parents.items()],
        "names.dmp": [(taxid, name, "", kind) for taxid, name, kind in sorted(names)],
        "merged.dmp": [*tree.merged.items()],
        "delnodes.dmp": [(7,), (8,)],
    }
    return {
        name: "".join("\t|\t".join(map(str, row)) + "\t|\n" for row in lines)
        for name, lines in rows.items()
    }


def write_dump(tree: Tree, folder: Path) -> Path:
    """Write the files of NCBI's taxdump to a folder, and return it."""
    folder.mkdir(exist_ok=True)
    for name, text in dump_files(tree).items():
        (folder / name).write_text(text)
    return folder


def write_archive(tree: Tree, path: Path) -> Path:
    """Write NCBI's taxdump.tar.gz, and return its path."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in dump_files(tree).items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


class Organisms(NamedTuple):
    """Queries, targets that are like them, and the taxonomy id of each target, or 0."""

    queries: dict[str, str]
    targets: dict[str, str]
    taxids: dict[str, int]

    def fasta(self, *, headers: bool = True) -> str:
        """Return the targets as FASTA, with their ids in the headers."""
        return "".join(
            f">{name} protein OX={self.taxids[name]} GN=x\n{letters}\n"
            if headers and self.taxids[name]
            else f">{name} protein\n{letters}\n"
            for name, letters in self.targets.items()
        )


def random_organisms(draw: random.Random, taxids: list[int], count: int) -> Organisms:
    """Return random proteins of some organisms, and a few of none."""
    queries = {f"q{k}": "".join(draw.choices(AMINO_ACIDS, k=90)) for k in range(3)}
    targets, owners = {}, {}
    for number in range(count):
        base = draw.choice([*queries.values(), "".join(draw.choices(AMINO_ACIDS, k=90))])
        chance = draw.choice([0.2, 0.4, 0.6])
        letters = [draw.choice(AMINO_ACIDS) if draw.random() < chance else x for x in base]
        name = f"t{number}"
        targets[name] = "".join(letters)[draw.randrange(30) :] + "A" * draw.randrange(40)
        owners[name] = draw.choice(taxids) if draw.random() < 0.9 else 0
    return Organisms(queries, targets, owners)
