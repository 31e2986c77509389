"""The lowest common ancestor of the organisms that each query hits, one line a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swdual.format import NOTHING, print_evalue
from swdual.hits.query_result import QueryResult
from swdual.hits.taxa import LCA_TOP, format_lineage
from swdual.io.output import Output, Utf8
from swdual.taxonomy.tree import Taxon
from swdual.text.messages import sanitize

FIELDS: tuple[str, ...] = ()

COLUMNS = ("qseqid", "taxid", "rank", "name", "lineage", "hits", "evalue")

ALIGNED = False
"""No alignments are needed."""

UNCLASSIFIED = Taxon(0, "no rank", "unclassified")
"""What queries without hits of a known organism are, as in MMseqs2; DIAMOND has the same number."""


def write(
    results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
) -> None:
    """Write the lowest common ancestor of each query: see `Format.write`.

    Hits count that score at most 10 % below the best one, or as ``--top`` says.

    Raises
    ------
    InputError
        If the taxonomy of the targets is not known.
    """
    out = Utf8(stream)
    if header:
        out.write("\t".join(COLUMNS) + "\n")
    for result in results:
        top = LCA_TOP if result.params.top is None else result.params.top
        taxon, lineage, hits, evalue = result.lca(top)
        shown = UNCLASSIFIED if taxon is None else taxon
        row = (
            *(result.query.id, str(shown.taxid), shown.rank, shown.name),
            *(format_lineage(lineage) or NOTHING, str(hits)),
            NOTHING if evalue is None else print_evalue(evalue),
        )
        out.write("\t".join(map(sanitize, row)) + "\n")
