"""The hits of a query as Biopython's SearchIO has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from Bio.SearchIO import HSP, HSPFragment
from Bio.SearchIO import Hit as BioHit
from Bio.SearchIO import QueryResult as BioResult

from swdual.hits.hit import Hit
from swdual.sequences.sequence import description
from swdual.version import __version__

if TYPE_CHECKING:
    from swdual.hits.query_result import QueryResult


def to_searchio(result: QueryResult) -> BioResult:
    """Return Biopython's object for the hits of a query; places are 0-based and half-open."""
    names = result.name_hits()
    hits = [_hit(hit, *name, result) for hit, name in zip(result, names, strict=True)]
    found = BioResult(hits, result.query.id)
    found.seq_len = len(result.query.codes)
    found.description = description(result.query.title)
    found.program, found.version = "swdual", __version__
    found.target = result.targets.name
    return found


def _hit(hit: Hit, name: str, title: str, result: QueryResult) -> BioHit:
    alignment = hit.alignment
    query, middle, target = alignment.rows
    bases = bool(result.targets.alphabet.complements)
    fragment = HSPFragment(name, result.query.id, hit=target, query=query)
    fragment.query_start, fragment.query_end = alignment.query_start, alignment.query_end
    fragment.hit_start, fragment.hit_end = alignment.target_start, alignment.target_end
    fragment.molecule_type = "DNA" if bases else "protein"
    fragment.query_strand, fragment.hit_strand = int(bases), int(bases) * hit.strand
    fragment.aln_span = alignment.length
    fragment.aln_annotation = {"similarity": middle}
    pair = HSP([fragment])
    pair.evalue, pair.bitscore, pair.bitscore_raw = hit.evalue, hit.bits, hit.score
    pair.ident_num, pair.pos_num = alignment.identities, alignment.positives
    pair.gap_num = alignment.gaps
    found = BioHit([pair])
    found.seq_len, found.description = hit.target_length, title
    return found
