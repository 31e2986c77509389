"""Taxa of hits: what tables show of them, and the lowest common ancestor of those of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from swdual.errors import InputError
from swdual.hits.columns import HitColumns
from swdual.hits.targets import TargetRecords
from swdual.taxonomy.tree import ROOT, Taxon, Taxonomy

UNKNOWN = "N/A"
"""What BLAST prints for what it does not know of a taxon."""

LCA_TOP = 10.0
"""Default of `top` of the lowest common ancestor, as of DIAMOND's format 102."""


def choose_top(name: str, top: float | None, max_target_seqs: int | None) -> float | None:
    """Return the option `top` of a search for an output format.

    Parameters
    ----------
    name
        The name of the format.
    top, max_target_seqs
        The options as they were given; lowest common ancestors need neither.
    """
    return LCA_TOP if name == "lca" and top is None and max_target_seqs is None else top


class CommonAncestor(NamedTuple):
    """The lowest common ancestor of the organisms of a query's best hits.

    Parameters
    ----------
    taxon
        The taxon; None if no hit has a known taxonomy id.
    lineage
        Its ancestors and itself, from the root on.
    hits
        Number of hits whose organisms are among these.
    evalue
        Smallest E-value of these hits; None without hits or statistics.
    """

    taxon: Taxon | None
    lineage: tuple[Taxon, ...]
    hits: int
    evalue: float | None


def require_taxids(targets: TargetRecords) -> None:
    """Check that taxonomy ids of targets are known.

    Raises
    ------
    InputError
        If not; the message says how to get them.
    """
    if not targets.has_taxids:
        raise InputError(
            f"{targets.name} has no taxonomy ids; build it with 'swdual makedb --taxid-map FILE', "
            "or from headers with OX= as UniProt's"
        )


def require_taxonomy(targets: TargetRecords) -> Taxonomy:
    """Return the tree of taxa.

    Raises
    ------
    InputError
        If it is not known, or taxonomy ids of targets are not; the message says how to get them.
    """
    require_taxids(targets)
    if targets.taxonomy is None:
        raise InputError(
            f"{targets.name} has no taxonomy: give NCBI's taxdump as `taxonomy`, here or to "
            "'swdual makedb'"
        )
    return targets.taxonomy


def list_taxids(result: HitColumns) -> list[str]:
    """Return all taxonomy ids of each target; "0" where there is none, as BLAST prints it."""
    require_taxids(result.targets)
    return [";".join(map(str, taxids)) or "0" for taxids in result.taxids]


def list_first_taxids(result: HitColumns) -> list[str]:
    """Return the first taxonomy id of each target."""
    require_taxids(result.targets)
    return [str(taxids[0]) if taxids else UNKNOWN for taxids in result.taxids]


def describe_taxa(
    describe: Callable[[Taxonomy, int], str], *, all_taxa: bool
) -> Callable[[HitColumns], list[str]]:
    """Return a column with texts about the taxa of each target.

    Parameters
    ----------
    describe
        Returns the text about a taxon, or "".
    all_taxa
        Whether it tells about all taxa of a target, separated by ";", or about the first.
    """

    def values(result: HitColumns) -> list[str]:
        tree = require_taxonomy(result.targets)
        column = []
        for taxids in result.taxids:
            texts = [
                describe(tree, taxid) or UNKNOWN for taxid in taxids[: None if all_taxa else 1]
            ]
            column.append(";".join(dict.fromkeys(texts)) or UNKNOWN)
        return column

    return values


def name_taxon(tree: Taxonomy, taxid: int) -> str:
    """Return the scientific name of a taxon, or ""."""
    taxon = tree.get(taxid)
    return "" if taxon is None else taxon.name


def name_commonly(tree: Taxonomy, taxid: int) -> str:
    """Return the common name of a taxon; its scientific name if it has none, as BLAST does."""
    taxon = tree.get(taxid)
    return "" if taxon is None else taxon.common_name or taxon.name


def name_kingdom(tree: Taxonomy, taxid: int) -> str:
    """Return the name of the domain of a taxon, or ""."""
    taxon = tree.kingdom(taxid)
    return "" if taxon is None else taxon.name


def name_lineage(tree: Taxonomy, taxid: int) -> str:
    """Return the names of the ancestors of a taxon and its own, from below the root on."""
    return format_lineage(tree.lineage(taxid))


def format_lineage(lineage: list[Taxon] | tuple[Taxon, ...]) -> str:
    """Return the names of a lineage, without the root."""
    return "; ".join(taxon.name for taxon in lineage if taxon.taxid != ROOT)


def find_common_ancestor(result: HitColumns, top: float) -> CommonAncestor:
    """Return the lowest common ancestor of the organisms of a query's best hits.

    Parameters
    ----------
    result, top
        The hits; those count whose raw score is at most `top` percent below the best one.

    Raises
    ------
    InputError
        If the taxonomy of the targets is not known.
    """
    tree = require_taxonomy(result.targets)
    best = result.within(top)
    known = [[taxid for taxid in taxids if taxid in tree] for taxids in best.taxids]
    classified = [index for index, taxids in enumerate(known) if taxids]
    taxon = tree.find_ancestor(taxid for taxids in known for taxid in taxids)
    if taxon is None:
        return CommonAncestor(None, (), 0, None)
    evalue = None if result.statistics is None else float(best.evalues[classified].min())
    return CommonAncestor(taxon, tuple(tree.lineage(taxon.taxid)), len(classified), evalue)
