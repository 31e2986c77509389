"""What the formats that are no tables share: the first result ahead, and numbers.

Also the alignment as SAM and PAF tell it: along the target.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from swdual.alignment.alignment import Alignment
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult


def peek(results: Iterable[QueryResult]) -> tuple[QueryResult | None, Iterator[QueryResult]]:
    """Return the first result, or None, and an iterator over all results."""
    results = iter(results)
    first = next(results, None)
    return first, itertools.chain([] if first is None else [first], results)


def format_number(value: float | None) -> str:
    """Return a number as C's %g prints it, as in BLAST's XML; NaN for None.

    >>> format_number(1.23456789e-120), format_number(35.0), format_number(None)
    ('1.23457e-120', '35', 'NaN')
    """
    return "NaN" if value is None else f"{value:.6g}"


def format_target_cigar(alignment: Alignment) -> str:
    """Return the operations in the direction of the target as it is in the database."""
    return "".join(
        f"{count}{letter}" for letter, count in alignment.operations[:: alignment.strand]
    )


def format_tags(hit: Hit, alignment: Alignment) -> list[str]:
    """Return the optional fields of SAM and PAF.

    NM counts mismatches and gaps, AS is the raw score. The others are DIAMOND's where possible: ZB
    bit score, ZE E-value, ZL length of the target.

    Parameters
    ----------
    hit, alignment
        The hit, and its alignment.
    """
    found = [f"NM:i:{alignment.length - alignment.identities}", f"AS:i:{hit.score}"]
    if hit.bits is not None:
        found.append(f"ZB:f:{format_number(hit.bits)}")
    if hit.evalue is not None:
        found.append(f"ZE:f:{format_number(hit.evalue)}")
    return [*found, f"ZL:i:{hit.target_length}"]
