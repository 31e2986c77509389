"""The targets that a search is restricted to: those of some organisms, or of some identifiers."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.database.id_list import parse_identifiers
from swdual.database.subset import Subset, select_records
from swdual.errors import InputError
from swdual.request.declarations import TARGET_OPTIONS
from swdual.request.options import SearchOptions
from swdual.taxonomy.taxdump import read_taxonomy
from swdual.taxonomy.taxid_list import TaxidList, parse_taxids
from swdual.taxonomy.tree import Taxonomy
from swdual.text.messages import pluralize, quote

SHOWN = 5
"""Unknown ids that a message names."""

logger = logging.getLogger("swdual")


def apply_taxonomy(database: Database, options: SearchOptions) -> Database:
    """Return the database with the taxonomy that the options name, if they name one.

    Parameters
    ----------
    database, options
        The targets, and all options of the search.

    Raises
    ------
    InputError
        If the taxonomy cannot be read.
    """
    if options.taxonomy is None:
        return database
    return database.with_taxonomy(read_taxonomy(options.taxonomy))


def choose_targets(database: Database, options: SearchOptions) -> Database:
    """Return the targets of the organisms and identifiers that the options ask for; by default all.

    A target of several organisms is compared if one of them is in ``taxids``, and left out if all
    of them are in ``not_taxids``. A target without any is left out by ``taxids`` only. Identifiers
    find targets as `Database.select` does; those that find none are named in a warning.

    Parameters
    ----------
    database, options
        The targets, and all options of the search.

    Raises
    ------
    InputError
        If taxonomy ids are given and the database has none, or none of its targets is left.
    """
    given = [name for name in TARGET_OPTIONS if getattr(options, name) is not None]
    if not given:
        return database
    by_organism = any(name in given for name in TARGET_OPTIONS[:2])
    if by_organism and not database.has_taxids:
        option = "taxids" if options.not_taxids is None else "not_taxids"
        raise InputError(
            f"`{option}` needs taxonomy ids, but {database.name} has none: build it with "
            "'swdual makedb --taxid-map FILE', or from headers with OX= as UniProt's"
        )
    chosen = np.ones(len(database), np.bool_)
    if options.taxids is not None:
        chosen &= database.match_taxids(_expand(database, options.taxids, "taxids"))[0]
    if options.not_taxids is not None:
        chosen &= ~database.match_taxids(_expand(database, options.not_taxids, "not_taxids"))[1]
    if options.target_ids is not None:
        chosen &= _find(database, parse_identifiers(options.target_ids, "target_ids"), "target_ids")
    if options.not_target_ids is not None:
        left_out = parse_identifiers(options.not_target_ids, "not_target_ids")
        chosen &= ~_find(database, left_out, "not_target_ids")
    count = int(np.count_nonzero(chosen))
    if not count:
        wanted = " and ".join(f"`{name}`" for name in given)
        remedy = (
            ""
            if database.taxonomy is not None or not by_organism
            else (", and without a taxonomy organisms below these are not known: give `taxonomy`")
        )
        raise InputError(f"{database.name} has no targets of {wanted}{remedy}")
    logger.debug("targets: %s of %s are chosen", f"{count:,}", f"{len(database):,}")
    return (
        database if count == len(database) else Subset(database, select_records(database, chosen))
    )


def _find(database: Database, identifiers: Sequence[str], option: str) -> NDArray[np.bool_]:
    """Return (records,) whether each record has one of some identifiers."""
    found = np.zeros(len(database), np.bool_)
    unknown = []
    for word, (exact, partial) in database.lookup(identifiers).items():
        # A part of an identifier, such as an accession without its version, counts if only one
        # record has it.
        if exact or len(partial) == 1:
            found[exact or partial] = True
        else:
            unknown.append(word)
    if unknown:
        _, errors = database.select(unknown[:SHOWN])
        logger.warning(
            "`%s`: %s of %s found no target: %s %s%s",
            option,
            f"{len(unknown):,}",
            pluralize(len(identifiers), "identifier", "identifiers"),
            database.name,
            "; ".join(error.message for error in errors.values()),
            "; ..." if len(unknown) > SHOWN else "",
        )
    return found


def _expand(database: Database, given: TaxidList, option: str) -> NDArray[np.uint32]:
    """Return taxonomy ids and all below them, if the tree is known; it tells those of names."""
    taxa, tree = parse_taxids(given, option), database.taxonomy
    names = [taxon for taxon in taxa if isinstance(taxon, str)]
    if names and tree is None:
        raise InputError(
            f"`{option}` has {quote(names[0])}, but {database.name} has no taxonomy to look names "
            "up in: give taxonomy ids, such as 9606, or `taxonomy`"
        )
    taxids = [taxon for taxon in taxa if isinstance(taxon, int)]
    if tree is None:
        logger.info(
            "%s has no taxonomy: organisms below the given ones are not chosen; "
            "--taxonomy names one",
            database.name,
        )
        return np.array(taxids, np.uint32)
    unknown = [taxid for taxid in taxids if taxid not in tree]
    if unknown:
        more = ", ..." if len(unknown) > SHOWN else ""
        logger.warning(
            "%s not in the taxonomy of %s: %s%s",
            pluralize(len(unknown), "taxonomy id is", "taxonomy ids are"),
            database.name,
            ", ".join(map(str, unknown[:SHOWN])),
            more,
        )
    return tree.expand([*taxids, *(_find_taxon(tree, name, option) for name in names)])


def _find_taxon(tree: Taxonomy, name: str, option: str) -> int:
    """Return the taxonomy id of a name.

    Raises
    ------
    InputError
        If no taxon has this name, or several have.
    """
    found = tree.find_names(name)
    if len(found) == 1:
        return found[0].taxid
    if found:
        those = ", ".join(f"{taxon.taxid} ({taxon.rank})" for taxon in found)
        raise InputError(
            f"`{option}` has {quote(name)}, the name of {those}; give one of these ids"
        )
    near = tree.suggest_name(name)
    hint = f"; did you mean {quote(near)}?" if near else "; give its taxonomy id, such as 9606"
    raise InputError(f"`{option}` has {quote(name)}, but no taxon has this name{hint}")
