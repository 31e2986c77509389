"""Peptides: whole queries without gaps and with few mismatches, wherever they occur."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.request.comparison import Comparison
from swdual.request.sources import Sources
from swdual.sequences.alphabet import PAD, PROTEIN, Alphabet
from swdual.sequences.matrices import SubstitutionMatrix
from swdual.sequences.scoring import MAX_GAP_COST, ScoringScheme
from swdual.sequences.sequence import Sequence as Query

if TYPE_CHECKING:
    from swdual.alignment.occurrences import PeptideIndex
    from swdual.masking.mask import Mask
    from swdual.request.search_parameters import SearchParameters

TASK = "peptide"

REFUSED = {
    "gap_open": "compares without gaps",
    "gap_extend": "compares without gaps",
    "comp_based_stats": "adjusts no scores",
    "lcase_masking": "masks nothing",
    "soft_masking": "masks nothing",
    "min_identity": "limits mismatches by `max_mismatches`",
    "min_query_cover": "compares whole queries",
    "min_target_cover": "compares parts of targets that are as long as the query",
    "verify": "computes no Smith-Waterman scores",
    "cluster": "runs on one machine",
}
"""Options that a search for peptides cannot have, and why."""

FIXED = {"backend": "simd", "mask": None, "db_hard_mask": "none", "db_soft_mask": "none"}
"""Options that a search for peptides has with these values only, or with "none"."""


@dataclass(frozen=True)
class Peptide(Comparison):
    """Peptides, compared whole and without gaps with every part of a target that is as long.

    Parameters
    ----------
    max_mismatches
        The most letters of a peptide that may differ; None sets no limit.
    equate_il
        Whether I, L and J, which stands for either, are equal.
    by_matrix
        Whether pairs of letters score by a matrix. Else the score is the number of equal letters.
    """

    max_mismatches: int | None = 0
    equate_il: bool = False
    by_matrix: bool = False

    has_bounds = False
    runs_on_gpus = False
    finder = "occurrences"

    @classmethod
    def claim(cls, sources: Sources) -> Self | None:
        options = sources.options
        if options.task != TASK:
            for name in ("max_mismatches", "equate_il"):
                if getattr(options, name) not in (None, False):
                    raise InputError(
                        f"`{name}` is for peptides; use `task={TASK!r}`, or leave it out"
                    )
            return None
        if sources.as_written:
            raise InputError(
                f"`task={TASK!r}` searches peptides, not {sources.as_written}; leave it out"
            )
        limit = options.max_mismatches
        # A least score by itself limits the mismatches, too.
        if limit is None and options.min_raw_score <= 1:
            limit = 0
        return cls(limit, options.equate_il, options.matrix is not None)

    def check(self, sources: Sources) -> None:
        options = sources.options
        for name, why in REFUSED.items():
            if getattr(options, name):
                raise InputError(f"`task={TASK!r}` {why}; leave out `{name}`")
        for name, value in FIXED.items():
            if getattr(options, name) not in (value, "none"):
                raise InputError(
                    f"`{name}={getattr(options, name)!r}` is not for `task={TASK!r}`, which "
                    "compares all letters as they are written; leave it out"
                )
        if options.device not in ("auto", "cpu"):
            raise InputError(f"`task={TASK!r}` runs on CPUs; use `device='cpu'`")

    def check_statistics(self, stats: str, scheme: ScoringScheme, *, sum_stats: bool) -> None:
        if stats not in ("composition", "none"):
            raise InputError(
                f"`stats={stats!r}` is of alignments with gaps; peptides have `stats='composition'`"
            )
        super().check_statistics("none", scheme, sum_stats=sum_stats)

    @property
    def cells(self) -> str:  # type: ignore[override] # other kinds have a class variable
        """Raise an error: what asks for the cost of cells plans how to fill them.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(
            f"`task={TASK!r}` reads the database once for all queries; there is nothing to plan"
        )

    @property
    def adjusts_by_default(self) -> bool:
        return False

    def score_by(self, scheme: ScoringScheme) -> ScoringScheme:
        matrix = scheme.matrix
        if not self.by_matrix:
            classes = self._classify()
            same = (classes[:, None] == classes) & (classes != PAD)
            matrix = SubstitutionMatrix("identity", PROTEIN, same.astype(np.int64))
        return ScoringScheme(matrix, MAX_GAP_COST, MAX_GAP_COST)

    def read_query(self, query: Query, alphabet: Alphabet, strand: str, mask: Mask) -> Query:
        """Return a peptide as it is. See `Comparison.read_query`.

        Raises
        ------
        InputError
            If it has so few letters that it occurs everywhere.
        """
        if self.max_mismatches is not None and len(query.codes) <= self.max_mismatches:
            raise InputError(
                f"query {query.id} has {len(query.codes)} letters, and all of them may differ; "
                f"`max_mismatches={self.max_mismatches}` is for longer peptides"
            )
        return query

    def make_index(self, peptides: Sequence[bytes], params: SearchParameters) -> PeptideIndex:
        """Return what finds some peptides in targets.

        Parameters
        ----------
        peptides
            Their residue codes.
        params
            The options of the search.
        """
        from swdual.alignment.occurrences import PeptideIndex, limit_mismatches

        classes, matrix = self._classify(), params.scheme.matrix
        if self.max_mismatches is None:
            least = params.min_raw_score
            limits = [limit_mismatches(codes, classes, matrix, least) for codes in peptides]
        else:
            limits = [self.max_mismatches] * len(peptides)
        return PeptideIndex(peptides, np.array(limits), classes, matrix, params.min_raw_score)

    def _classify(self) -> NDArray[np.uint8]:
        from swdual.alignment.occurrences import classify_letters

        return classify_letters(equate_il=self.equate_il)


KIND = Peptide
