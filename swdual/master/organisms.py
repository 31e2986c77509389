"""The targets of some organisms, which a search is restricted to."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.database.subset import Subset, select_records
from swdual.errors import InputError
from swdual.io.text import pluralize
from swdual.options import SearchOptions
from swdual.taxonomy.taxdump import read_taxonomy
from swdual.taxonomy.taxid_list import TaxidList, parse_taxids

SHOWN_TAXIDS = 5
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


def choose_organisms(database: Database, options: SearchOptions) -> Database:
    """Return the targets of the organisms that the options ask for, all by default.

    A target of several organisms is compared if one of them is in ``taxids``, and left out if all
    of them are in ``not_taxids``. A target without any is left out by ``taxids`` only.

    Parameters
    ----------
    database, options
        The targets, and all options of the search.

    Raises
    ------
    InputError
        If the database has no taxonomy ids, or none of its targets is left.
    """
    if options.taxids is None and options.not_taxids is None:
        return database
    if not database.has_taxids:
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
    count = int(np.count_nonzero(chosen))
    if not count:
        wanted = " and ".join(
            f"`{name}`" for name in ("taxids", "not_taxids") if getattr(options, name) is not None
        )
        remedy = (
            ""
            if database.taxonomy is not None
            else (", and without a taxonomy organisms below these are not known: give `taxonomy`")
        )
        raise InputError(f"{database.name} has no targets of {wanted}{remedy}")
    logger.debug("targets: %s of %s, by organism", f"{count:,}", f"{len(database):,}")
    return (
        database if count == len(database) else Subset(database, select_records(database, chosen))
    )


def _expand(database: Database, given: TaxidList, option: str) -> NDArray[np.uint32]:
    """Return taxonomy ids and all below them, if the tree is known."""
    taxids = parse_taxids(given, option)
    tree = database.taxonomy
    if tree is None:
        logger.info(
            "%s has no taxonomy: organisms below the given ones are not chosen; "
            "--taxonomy names one",
            database.name,
        )
        return np.array(taxids, np.uint32)
    unknown = [taxid for taxid in taxids if taxid not in tree]
    if unknown:
        more = ", ..." if len(unknown) > SHOWN_TAXIDS else ""
        logger.warning(
            "%s not in the taxonomy of %s: %s%s",
            pluralize(len(unknown), "taxonomy id is", "taxonomy ids are"),
            database.name,
            ", ".join(map(str, unknown[:SHOWN_TAXIDS])),
            more,
        )
    return tree.expand(taxids)
