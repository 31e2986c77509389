"""PAF, minimap2's table of mappings: twelve columns an alignment, then SAM's optional fields.

Places are 0-based and half-open, on the sequences as given; '-' where the query's other strand
aligns. The CIGAR (cg) runs along the target. A hit with score 0 has no alignment and no line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swdual.format import check_translated
from swdual.formats._header import format_tags, format_target_cigar, peek
from swdual.hits.hit import Hit
from swdual.hits.query_result import QueryResult
from swdual.io.output import Output, Utf8
from swdual.text.messages import sanitize

FIELDS: tuple[str, ...] = ()
UNKNOWN_QUALITY = "255"


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the hits of all queries: see `Format.write`. The columns are fixed."""
    text = Utf8(stream)
    first, results = peek(results)
    if first is not None:
        check_translated("paf", first.params)
    for result in results:
        for hit in result.iter_alignments():
            text.write(_line(hit))


def _line(hit: Hit) -> str:
    alignment = hit.alignment
    if not alignment.length:
        return ""
    values = [
        sanitize(hit.query.id),
        str(hit.query.whole_length),
        str(alignment.query_start),
        str(alignment.query_end),
        "+" if alignment.strand > 0 else "-",
        sanitize(hit.id),
        str(hit.target_length),
        str(alignment.target_start),
        str(alignment.target_end),
        str(alignment.identities),
        str(alignment.length),
        UNKNOWN_QUALITY,
        *format_tags(hit, alignment),
        f"cg:Z:{format_target_cigar(alignment)}",
    ]
    return "\t".join(values) + "\n"
