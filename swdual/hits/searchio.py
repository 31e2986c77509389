"""Biopython's objects for hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swdual.alignment.alignment import Alignment
from swdual.hits.hit import Hit

if TYPE_CHECKING:
    import Bio.SearchIO


def to_searchio(hit: Hit, name: str, title: str) -> Bio.SearchIO.Hit:
    """Return Biopython's object for a hit.

    Parameters
    ----------
    hit
        The hit.
    name, title
        A name that no other hit of the query has, and the rest of the target's header line.
    """
    from Bio.SearchIO import Hit as BioHit

    result = BioHit([_to_hsp(hit, each, name) for each in hit.alignments])
    result.seq_len, result.description = hit.target_length, title
    return result


def _to_hsp(hit: Hit, alignment: Alignment, name: str) -> Bio.SearchIO.HSP:
    """Return Biopython's object for an alignment of a hit."""
    from Bio.SearchIO import HSP, HSPFragment

    query, middle, target = alignment.rows
    bases = bool(hit.result.params.scheme.matrix.alphabet.complements)
    fragment = HSPFragment(name, hit.query.id, hit=target, query=query)
    fragment.query_start, fragment.query_end = alignment.query_start, alignment.query_end
    fragment.hit_start, fragment.hit_end = alignment.target_start, alignment.target_end
    fragment.molecule_type = "DNA" if bases else "protein"
    fragment.query_strand, fragment.hit_strand = int(bases), int(bases) * alignment.strand
    if alignment.translates:
        fragment.query_frame, fragment.hit_frame = alignment.query_frame, alignment.target_frame
        fragment.query_strand = int(np.sign(alignment.query_frame))
        fragment.hit_strand = int(np.sign(alignment.target_frame))
    fragment.aln_span = alignment.length
    fragment.aln_annotation = {"similarity": middle}
    pair = HSP([fragment])
    pair.evalue, pair.bitscore, pair.bitscore_raw = (
        alignment.evalue,
        alignment.bits,
        alignment.score,
    )
    pair.ident_num, pair.pos_num = alignment.identities, alignment.positives
    pair.gap_num = alignment.gaps
    return pair
