"""Profiles: position-specific scores of a query, as PSI-BLAST makes and stores them.

``profile``
    Profiles, from hits, multiple alignments and files.
``build``
    Computes a profile from a multiple alignment.
``rows``
    Rows of a multiple alignment, from texts and from hits.
``msa``
    Multiple alignments from files.
``weights``
    Rows of a multiple alignment, purged and weighted.
``frequencies``
    Frequencies of amino acids at each position: observations and pseudocounts.
``scaling``
    Scores from frequencies, scaled so that their lambda is the substitution matrix's.
``karlin``
    Lambda, K and H of these scores.
``position_scores``
    What a profile holds: the scores of a query's positions, and their statistics.
``letters``
    PSI-BLAST's numbers of letters.
``text``
    Text of such files, compressed or not.
``files``
    Reads a profile from a file of any known format, and writes one.
``asn1``
    PSI-BLAST's checkpoint files: PssmWithParameters as ASN.1 text.
``ascii_pssm``
    PSI-BLAST's ASCII PSSMs.
``hmmer``
    Match emissions of HMMER3's models.
``tables``
    Tables of probabilities or log-odds, such as those of language models.
``query``
    A profile as the query of a search.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swdual.profiles.profile import Profile, read_profile

_HOMES = {"Profile": "profile", "read_profile": "profile"}
"""The module of each public name."""

__all__ = ["Profile", "read_profile"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: searches with sequences need none of them."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
