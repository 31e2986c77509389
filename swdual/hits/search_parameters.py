"""The options of a search that its results depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from swdual.sequences.alphabet import raise_case
from swdual.sequences.scoring import ScoringScheme

ALIGNMENT_FILTERS = ("min_identity", "min_query_cover")
"""Options that keep a hit for what its alignment is; 0 keeps all. `QueryResult` applies them."""

CANDIDATE_FACTOR = 10.0
"""A target is a candidate if its plain E-value is at most this many times the limit."""

MAX_CANDIDATES, CANDIDATES_PER_HIT = 10_000, 20
"""Maximum number of candidates of a query: the first number, or the second for each hit that is
wanted, whichever is larger."""


@dataclass(frozen=True)
class SearchParameters:
    """The options of a search that its results depend on.

    Parameters
    ----------
    scheme
        Substitution matrix and gap penalties.
    max_target_seqs
        Maximum number of hits of a query that pass the filters below; 0 sets no limit.
    min_raw_score
        Smallest raw score of a hit.
    evalue
        Largest E-value of a hit.
    min_score
        Smallest bit score of a hit.
    stats
        The statistics: "table", "fit", or "none" (no E-values).
    dbsize
        Residues that E-values refer to; None takes the database's.
    strand
        The strands that are compared: "plus", "minus" or "both".
    profile
        Whether the queries are profiles, whose scores take the place of the matrix.
    min_identity, min_query_cover
        Smallest percentage of equal letters in the alignment, and of the query that it covers.
    top
        A hit may score at most this percentage below its query's best; None sets no limit.
    max_hsps
        Maximum number of alignments of a hit; 0 sets no limit.
    comp_based_stats
        The mode of composition-based statistics, from 0 (none) to 3.
    adjust
        Which targets get adjusted scores: "candidates" or "all".
    mask
        What masked the queries, with its numbers, such as "seg:12,2.2,2.5"; or "none".
    lcase_masking
        Whether letters of queries in lower case were masked.
    soft_masking
        Whether masks of queries are only used to choose candidates, which are scored again as
        written.
    db_hard_mask
        The mask of targets, with its numbers; or "none".
    db_soft_mask
        The mask of targets that only chooses candidates; or "none".
    all_pairs
        Whether the queries are the database's own sequences, each compared with those after it.
    """

    scheme: ScoringScheme
    max_target_seqs: int = 500
    min_raw_score: int = 1
    evalue: float = 10.0
    min_score: float = 0.0
    stats: str = "table"
    dbsize: int | None = None
    strand: str = "plus"
    profile: bool = False
    min_identity: float = 0.0
    min_query_cover: float = 0.0
    top: float | None = None
    max_hsps: int = 1
    comp_based_stats: int = 0
    adjust: str = "candidates"
    mask: str = "none"
    lcase_masking: bool = False
    soft_masking: bool = False
    db_hard_mask: str = "none"
    db_soft_mask: str = "none"
    all_pairs: bool = False

    @property
    def strand_count(self) -> int:
        """The number of strands of each query that are compared: 1 or 2."""
        return 2 if self.strand == "both" else 1

    @property
    def filters_alignments(self) -> bool:
        """Whether a hit's alignment decides if it is reported."""
        return any(getattr(self, name) > 0 for name in ALIGNMENT_FILTERS)

    @property
    def adjusts(self) -> bool:
        """Whether the scores of candidates are adjusted for composition before hits are chosen."""
        return self.comp_based_stats > 0

    @property
    def composition(self) -> str:
        """How scores are adjusted for composition, as the headers of outputs say it; else "".

        >>> SearchParameters(scheme=None, comp_based_stats=2).composition
        'mode 2, candidates adjusted'
        """
        if not self.adjusts:
            return ""
        adjusted = "all targets" if self.adjust == "all" else "candidates"
        return f"mode {self.comp_based_stats}, {adjusted} adjusted"

    @property
    def db_mask(self) -> str | None:
        """The mask of targets, hard or soft, or None."""
        mask = self.db_soft_mask if self.db_hard_mask == "none" else self.db_hard_mask
        return None if mask == "none" else mask

    @property
    def masks_softly(self) -> bool:
        """Whether candidates are scored again with letters as written."""
        masks_queries = self.mask != "none" or self.lcase_masking
        return (self.soft_masking and masks_queries) or self.db_soft_mask != "none"

    def read_targets(self, cased: Sequence[bytes]) -> tuple[Sequence[bytes], Sequence[bytes]]:
        """Return targets as hits are scored, and as they were written.

        Parameters
        ----------
        cased
            Residue codes, with `LOWER` at letters that are masked.
        """
        if self.db_mask is None:
            return cased, cased
        written = [raise_case(codes) for codes in cased]
        if self.db_hard_mask == "none":
            return written, written
        return [self.scheme.matrix.alphabet.mask(codes) for codes in cased], written

    @property
    def rescores(self) -> bool:
        """Whether candidates get other scores before hits are chosen."""
        return self.adjusts or self.masks_softly

    @property
    def max_candidates(self) -> int:
        """Number of a query's best targets, by first score, that can be hits; 0 sets no limit."""
        wanted = 0 if self.filters_alignments else self.max_target_seqs
        if not self.rescores or not wanted:
            return wanted
        if self.adjusts and self.adjust == "all":
            return 0
        return max(MAX_CANDIDATES, CANDIDATES_PER_HIT * wanted)

    @property
    def candidate_evalue(self) -> float:
        """Largest first E-value of a target that can be a hit.

        Adjusted scores may be higher than plain ones. So the limit is wider where scores are
        adjusted.
        """
        if not self.adjusts:
            return self.evalue
        if self.adjust == "all":
            return math.inf
        return CANDIDATE_FACTOR * self.evalue

    @property
    def candidate_raw_score(self) -> int:
        """Smallest first score of a target that can be a hit."""
        return 0 if self.adjusts else self.min_raw_score
