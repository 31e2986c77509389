"""The options of a search that its results depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from swdual.request.comparison import PLAIN, Comparison
from swdual.sequences.alphabet import raise_case
from swdual.sequences.scoring import ScoringScheme
from swdual.statistics.sum_statistics import SUM_CANDIDATE_FACTOR

CANDIDATE_FACTOR = 10.0
"""A target is a candidate if its plain E-value is at most this many times the limit."""

CANDIDATE_EVALUE = 1.0
"""A target up to this plain E-value is a candidate, however small the limit is: adjusted scores of
some have E-values a thousand times smaller."""

MAX_CANDIDATES, CANDIDATES_PER_HIT = 10_000, 20
"""Maximum number of candidates of a query: the first number, or the second for each hit that is
wanted, whichever is larger."""


class AlignmentFilters(NamedTuple):
    """Limits that the alignment of a hit passes; 0 sets none. The comparison may have its own.

    For the parameters see `SearchParameters`.
    """

    min_identity: float = 0.0
    min_query_cover: float = 0.0
    min_target_cover: float = 0.0
    comparison: Comparison = PLAIN

    @property
    def are_set(self) -> bool:
        """Whether an alignment may fail to pass them."""
        limits = (getattr(self, name) for name in ALIGNMENT_FILTERS)
        return self.comparison.filters_alignments or any(limit > 0 for limit in limits)

    def is_passing(
        self, column: Callable[[str], Any], query_length: int, target_lengths: Any
    ) -> Any:
        """Return whether alignments pass all limits.

        Parameters
        ----------
        column
            Returns a number of each alignment, by its name in `COLUMNS`.
        query_length, target_lengths
            Residues of the query and of each target, as given.
        """
        by_query = column("query_ends") - column("query_starts")
        by_target = column("target_ends") - column("target_starts")
        return (
            (100 * column("identities") >= self.min_identity * column("lengths"))
            & (100 * by_query >= self.min_query_cover * query_length)
            & (100 * by_target >= self.min_target_cover * target_lengths)
            & self.comparison.accepts(column)
        )


ALIGNMENT_FILTERS = AlignmentFilters._fields[:-1]
"""Options that keep a hit for what its alignment is. `QueryResult` applies them."""


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
    dbsize, dbseqs
        Residues and sequences that E-values refer to; None takes those of the targets that are
        compared.
    taxids, not_taxids
        The organisms whose targets are compared, and those whose targets are not, by their taxonomy
        ids, such as "9606,10090"; "" where the option is not given.
    target_ids, not_target_ids
        What tells the list of identifiers whose targets are compared, or are not, from others; ""
        where the option is not given.
    strand
        The strands of queries that are compared: "plus", "minus" or "both".
    comparison
        How queries and targets are compared.
    min_identity, min_query_cover, min_target_cover
        Smallest percentage of equal letters in the alignment, and of the query and the target that
        it covers.
    top
        A hit may score at most this percentage below its query's best; None sets no limit.
    max_hsps
        Maximum number of alignments of a hit; 0 sets no limit.
    sum_stats
        Whether alignments of a hit that follow each other have an E-value together.
    comp_based_stats
        The mode of composition-based statistics, from 0 (none) to 3.
    adjust
        Which targets get adjusted scores: "candidates" or "all".
    query_loc
        The part of each query that is compared, such as "10-50"; None: whole queries.
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
    dbseqs: int | None = None
    taxids: str = ""
    not_taxids: str = ""
    target_ids: str = ""
    not_target_ids: str = ""
    strand: str = "plus"
    comparison: Comparison = PLAIN
    min_identity: float = 0.0
    min_query_cover: float = 0.0
    min_target_cover: float = 0.0
    top: float | None = None
    max_hsps: int = 1
    sum_stats: bool = False
    comp_based_stats: int = 0
    adjust: str = "candidates"
    query_loc: str | None = None
    mask: str = "none"
    lcase_masking: bool = False
    soft_masking: bool = False
    db_hard_mask: str = "none"
    db_soft_mask: str = "none"
    all_pairs: bool = False

    @property
    def frames(self) -> tuple[int, ...]:
        """The frames of each query that are compared; of equal scores, the first wins."""
        return self.comparison.frames(self.strand)

    @property
    def frame_count(self) -> int:
        """The number of frames of each query that are compared."""
        return len(self.frames)

    @property
    def target_frame_count(self) -> int:
        """The number of frames of each target that are compared: 6 if targets are translated."""
        return len(self.comparison.target_frames)

    @property
    def program(self) -> str:
        """The program of BLAST that compares such sequences.

        >>> from swdual.sequences.matrices import load
        >>> SearchParameters(ScoringScheme(load("BLOSUM62"))).program
        'blastp'
        """
        return self.comparison.program(self.scheme.matrix.alphabet)

    @property
    def alignment_filters(self) -> AlignmentFilters:
        """The limits that alignments pass."""
        limits = {name: getattr(self, name) for name in ALIGNMENT_FILTERS}
        return AlignmentFilters(**limits, comparison=self.comparison)

    @cached_property
    def filters_alignments(self) -> bool:
        """Whether a hit's alignment decides if it is reported."""
        return self.alignment_filters.are_set

    @property
    def finds_further(self) -> bool:
        """Whether more alignments of a hit are found than the best."""
        return self.max_hsps != 1 or self.sum_stats

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
    def chosen_targets(self) -> str:
        """Which targets are compared, as the headers of outputs say it; "" if all are.

        >>> SearchParameters(scheme=None, taxids="40674", not_taxids="9606").chosen_targets
        'of 40674, not of 9606; E-values of these targets'
        """
        parts = [f"of {self.taxids}"] if self.taxids else []
        parts += [f"not of {self.not_taxids}"] if self.not_taxids else []
        parts += [f"of {self.target_ids}"] if self.target_ids else []
        parts += [f"not of {self.not_target_ids}"] if self.not_target_ids else []
        space = "these targets" if self.dbseqs is None else "all targets"
        return f"{', '.join(parts)}; E-values of {space}" if parts else ""

    @property
    def translation(self) -> str:
        """What is translated, as the headers of outputs say it; else ""."""
        translation = self.comparison.translation
        sums = "with" if self.sum_stats else "without"
        return translation and f"{translation}; E-values {sums} sum statistics"

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
        # Filters may leave out any number of hits, so no number of candidates is enough for them.
        wanted = 0 if self.filters_alignments else self.max_target_seqs
        if not (self.rescores or self.sum_stats) or not wanted:
            return wanted
        if self.adjusts and self.adjust == "all":
            return 0
        return max(MAX_CANDIDATES, CANDIDATES_PER_HIT * wanted)

    @property
    def candidate_evalue(self) -> float:
        """Largest first E-value of a target that can be a hit.

        Adjusted scores may be higher than plain ones, and several alignments have smaller E-values
        together. So the limit is wider there.
        """
        if not (self.adjusts or self.sum_stats):
            return self.evalue
        if self.adjust == "all" and not self.sum_stats:
            return math.inf
        factor = SUM_CANDIDATE_FACTOR if self.sum_stats else CANDIDATE_FACTOR
        return max(factor * self.evalue, CANDIDATE_EVALUE)

    @property
    def has_cutoffs(self) -> bool:
        """Whether targets below some score cannot be hits, so that a bound of it may be enough."""
        known = self.stats == "table" and math.isfinite(self.candidate_evalue)
        return known and self.comparison.has_bounds

    @property
    def single_evalue(self) -> float:
        """Largest E-value of the best alignment of a hit by itself."""
        return self.candidate_evalue if self.sum_stats else self.evalue

    @property
    def candidate_raw_score(self) -> int:
        """Smallest first score of a target that can be a hit."""
        # An adjusted score may be above the first one, by no known amount.
        return 0 if self.adjusts else self.min_raw_score
