"""The tree of taxa: names, ranks, lineages, descendants and lowest common ancestors."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.text.messages import nearest

MAX_TAXID = 2**31 - 1
"""The largest taxonomy id, as in BLAST."""

ROOT = 1
"""The taxonomy id of the root."""

KINGDOM_RANKS = ("superkingdom", "domain", "acellular root")
"""Ranks of Archaea, Bacteria, Eukaryota and Viruses in older and newer dumps of NCBI."""


class Taxon(NamedTuple):
    """A node of the tree.

    Its taxonomy id, its rank, its scientific name, and its common name or "".
    """

    taxid: int
    rank: str
    name: str
    common_name: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Taxonomy:
    """A tree of taxa, or the part of one that some taxa need.

    Parameters
    ----------
    taxids
        (taxa,) uint32, ascending.
    parents
        (taxa,) the index of each taxon's parent; that of the root is its own. Following parents
        leads to the root.
    ranks, names
        (taxa,) their ranks and scientific names.
    common_names
        The common names of some taxa, by their ids.
    merged
        What became of ids that are no longer used.
    """

    taxids: NDArray[np.uint32]
    parents: NDArray[np.int64]
    ranks: Sequence[str]
    names: Sequence[str]
    common_names: dict[int, str]
    merged: dict[int, int]

    def __len__(self) -> int:
        return len(self.taxids)

    def __repr__(self) -> str:
        return f"<Taxonomy: {len(self):,} taxa>"

    def __contains__(self, taxid: object) -> bool:
        return isinstance(taxid, int) and self._find(taxid) is not None

    def __getitem__(self, taxid: int) -> Taxon:
        """Return the taxon with an id, also one that was merged.

        Raises
        ------
        KeyError
            If there is none.
        """
        index = self._find(taxid)
        if index is None:
            raise KeyError(taxid)
        return self._taxon(index)

    def get(self, taxid: int) -> Taxon | None:
        """Return the taxon with an id, also one that was merged; None if there is none."""
        index = self._find(taxid)
        return None if index is None else self._taxon(index)

    def find_names(self, name: str) -> list[Taxon]:
        """Return the taxa with a scientific name, else those with a common name; in any case."""
        wanted = name.casefold()
        found = [k for k, each in enumerate(self.names) if each.casefold() == wanted]
        common = (taxid for taxid, each in self.common_names.items() if each.casefold() == wanted)
        return [self._taxon(k) for k in found] or [self[taxid] for taxid in sorted(common)]

    def suggest_name(self, name: str) -> str | None:
        """Return the name, of those that begin with the same letter, that is most like another."""
        first = name[:1].casefold()
        known = (*self.names, *self.common_names.values())
        similar = {each.casefold(): each for each in known if each[:1].casefold() == first}
        near = nearest(name.casefold(), similar)
        return None if near is None else similar[near]

    @property
    def taxa(self) -> list[Taxon]:
        """All taxa, by their ids."""
        return [self._taxon(index) for index in range(len(self))]

    def _taxon(self, index: int) -> Taxon:
        taxid = int(self.taxids[index])
        common_name = self.common_names.get(taxid, "")
        return Taxon(taxid, self.ranks[index], self.names[index], common_name)

    def _find(self, taxid: int) -> int | None:
        taxid = self.merged.get(taxid, taxid)
        if not 1 <= taxid <= MAX_TAXID:
            return None
        # A number of another type would have all ids converted.
        index = int(np.searchsorted(self.taxids, np.uint32(taxid)))
        return index if index < len(self) and self.taxids[index] == taxid else None

    def _path(self, index: int) -> list[int]:
        """Return the indices from a taxon to the root."""
        path = [index]
        while (parent := int(self.parents[path[-1]])) != path[-1]:
            path.append(parent)
        return path

    def lineage(self, taxid: int) -> list[Taxon]:
        """Return a taxon and its ancestors, from the root on; empty if it is unknown."""
        index = self._find(taxid)
        return [] if index is None else [self._taxon(k) for k in reversed(self._path(index))]

    def kingdom(self, taxid: int) -> Taxon | None:
        """Return the domain (or superkingdom) that a taxon belongs to, or None."""
        return next((each for each in self.lineage(taxid) if each.rank in KINGDOM_RANKS), None)

    def find_ancestor(self, taxids: Iterable[int]) -> Taxon | None:
        """Return the lowest common ancestor of some taxa; None if none of them is known.

        Parameters
        ----------
        taxids
            Their ids. Unknown ones are left out.
        """
        common: list[int] | None = None
        for taxid in dict.fromkeys(taxids):
            index = self._find(taxid)
            if index is None:
                continue
            path = self._path(index)
            if common is None:
                common = path
            else:
                above = set(path)
                first = next(k for k, each in enumerate(common) if each in above)
                common = common[first:]
        return None if common is None else self._taxon(common[0])

    def expand(self, taxids: Iterable[int]) -> NDArray[np.uint32]:
        """Return the ids of some taxa and of all below them, ascending.

        Ids that were merged into these are among them; ids that are unknown stay.

        Parameters
        ----------
        taxids
            The ids.
        """
        given = np.array(sorted({*taxids}), np.uint32)
        current = {self.merged.get(taxid, taxid) for taxid in given.tolist()}
        chosen = np.isin(self.taxids, np.array(sorted(current), np.uint32))
        # In each step children of chosen taxa are chosen; the tree is some 40 levels deep.
        while (below := chosen | chosen[self.parents]).sum() > chosen.sum():
            chosen = below
        found = self.taxids[chosen]
        inside = {*found.tolist()}
        former = [old for old, new in self.merged.items() if new in inside]
        return np.unique(np.concatenate([given, found, np.array(former, np.uint32)]))

    def prune(self, taxids: Iterable[int]) -> Taxonomy:
        """Return the part of the tree that some taxa need: themselves and their ancestors.

        Parameters
        ----------
        taxids
            Their ids. Unknown ones are left out.
        """
        kept: set[int] = set()
        merged = {}
        for taxid in taxids:
            index = self._find(taxid)
            if index is not None:
                if taxid in self.merged:
                    merged[taxid] = self.merged[taxid]
                while index not in kept:
                    kept.add(index)
                    index = int(self.parents[index])
        indices = np.array(sorted(kept), np.int64)
        parents = np.searchsorted(indices, self.parents[indices])
        ids = self.taxids[indices]
        names = self.common_names
        return Taxonomy(
            ids,
            parents,
            [self.ranks[index] for index in indices.tolist()],
            [self.names[index] for index in indices.tolist()],
            {taxid: names[taxid] for taxid in ids.tolist() if taxid in names},
            merged,
        )

    def to_bytes(self) -> bytes:
        """Return the tree as text: for each taxon, by its id, a line of five fields.

        These are id, id of the parent, rank, name and common name, separated by tabs. Lines of two
        fields follow: ids that were merged, and those that they were merged into.
        """
        above = self.taxids[self.parents].tolist()
        lines = [
            f"{taxon.taxid}\t{parent}\t{taxon.rank}\t{taxon.name}\t{taxon.common_name}\n"
            for taxon, parent in zip(self.taxa, above, strict=True)
        ]
        lines += [f"{old}\t{new}\n" for old, new in sorted(self.merged.items())]
        return "".join(lines).encode()

    @staticmethod
    def from_bytes(data: bytes) -> Taxonomy:
        """Return the tree that `to_bytes` wrote.

        Raises
        ------
        ValueError
            If this is no tree.
        """
        taxids, above = array("q"), array("q")
        ranks, names, common_names, merged = [], [], {}, {}
        for line in data.decode().split("\n")[:-1]:
            fields = line.split("\t")
            first, second = map(_read_id, fields[:2])
            if len(fields) == 2:
                merged[first] = second
                continue
            _, _, rank, name, common_name = fields
            taxids.append(first)
            above.append(second)
            ranks.append(sys.intern(rank))
            names.append(name)
            if common_name:
                common_names[first] = common_name
        tree = make_taxonomy(taxids, above, ranks, names, common_names, merged)
        if not np.array_equal(tree.taxids, taxids) or not data.endswith(b"\n"):
            raise ValueError("the taxa are not in the order of their ids")
        known = {*taxids}
        if not (known.issuperset(merged.values()) and known.isdisjoint(merged)):
            raise ValueError("an id is merged into none, or is that of a taxon")
        return tree


def _read_id(text: str) -> int:
    """Return the taxonomy id that a text is."""
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= MAX_TAXID:
        return int(text)
    raise ValueError(f"{text!r} is no taxonomy id")


def make_taxonomy(
    taxids: Iterable[int],
    parents: Iterable[int],
    ranks: Sequence[str],
    names: Sequence[str],
    common_names: dict[int, str],
    merged: dict[int, int],
) -> Taxonomy:
    """Return the tree of some taxa.

    Parameters
    ----------
    taxids, parents
        (taxa,) the id of each taxon, and that of its parent; the root's is its own. Ids are numbers
        from 1 to `MAX_TAXID`.
    ranks, names, common_names, merged
        See `Taxonomy`.

    Raises
    ------
    UnknownParent
        If a parent is not among the taxa.
    ParentCycle
        If following parents does not lead to the root, the first taxon that is its own parent.
    ValueError
        If an id comes twice, or there is no taxon.
    """
    given, above = np.fromiter(taxids, np.int64), np.fromiter(parents, np.int64)
    order = np.argsort(given, kind="stable")
    ids, above = given[order].astype(np.uint32), above[order]
    if not len(ids):
        raise ValueError("there is no taxon")
    if (ids[1:] == ids[:-1]).any():
        raise ValueError(f"taxon {ids[:-1][ids[1:] == ids[:-1]][0]} comes twice")
    indices = np.minimum(np.searchsorted(ids, above), len(ids) - 1)
    lost = np.flatnonzero(ids[indices] != above)
    if len(lost):
        raise UnknownParent(int(ids[lost[0]]), int(above[lost[0]]))
    # Each step doubles the number of parents that are followed; a cycle never ends in the root.
    last = indices
    for _ in range(len(ids).bit_length()):
        last = last[last]
    roots = np.flatnonzero(indices == np.arange(len(indices)))
    endless = np.flatnonzero(last != roots[0]) if len(roots) else last
    if len(endless):
        raise ParentCycle(int(ids[endless[0]]))
    places = order.tolist()
    sorted_ranks, sorted_names = [ranks[k] for k in places], [names[k] for k in places]
    return Taxonomy(ids, indices, sorted_ranks, sorted_names, common_names, merged)


class UnknownParent(ValueError):
    """The parent of a taxon is not in the tree; the arguments are the ids of both."""

    def __init__(self, taxid: int, parent: int) -> None:
        super().__init__(f"the parent of taxon {taxid}, {parent}, is missing")
        self.taxid = taxid


class ParentCycle(ValueError):
    """A taxon is its own ancestor, or below such a one."""

    def __init__(self, taxid: int) -> None:
        super().__init__(f"the parents of taxon {taxid} form a cycle")
        self.taxid = taxid
