"""The hits of one query, as columns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.alignment import Alignment
from swdual.alignment.further import FurtherAlignments
from swdual.alignment.tracebacks import Tracebacks
from swdual.database.lookup import find_index
from swdual.errors import InputError
from swdual.hits.adjustment_counts import NO_ADJUSTMENT, AdjustmentCounts
from swdual.hits.hit import Hit
from swdual.hits.inclusion import Inclusion, InclusionHistory, list_inclusions
from swdual.hits.targets import StoredTargets, TargetRecords
from swdual.hits.taxa import LCA_TOP, CommonAncestor, find_common_ancestor
from swdual.profiles.query import find_positions, find_scores
from swdual.request.search_parameters import ALIGNMENT_FILTERS, AlignmentFilters, SearchParameters
from swdual.runtime.keywords import (
    find_fractions,
    plain_index,
    plain_number,
    require_numbers,
    require_range,
    suggest_names,
)
from swdual.sequences.sequence import Sequence, description, first_word, identifiers
from swdual.statistics.model import Statistics
from swdual.text.messages import pluralize, quote
from swdual.version import __version__

if TYPE_CHECKING:
    import Bio.SearchIO

    from swdual.composition.adjuster import Adjuster


METHODS_OF_ALL = (
    *("plot_scores", "report", "to_arrow", "to_pandas", "to_polars", "to_sparse", "write"),
    "write_fasta",
)
"""Methods of the results of a search, which users look for here, too."""

ORDINAL_PREFIX = "gnl|BL_ORD_ID|"
"""How BLAST begins an identifier that it makes of a target's number in the database."""

MAX_PIECE_WEIGHT, HIT_WEIGHT = 4 << 20, 400
"""Residues of queries and targets in a piece of a result, and the weight of a hit besides."""

LATE_GRID_BYTES = 16 << 20
"""Memory for the lines of alignments that are computed when they are first used."""

SHOWN_HITS = 20
"""Hits of a query that a notebook shows."""

HIT_COLUMNS = (
    *("scores", "unrounded", "ordinals", "target_lengths", "bits", "log_evalues"),
    *("frames", "target_frames"),
    *("adjustments", "lambda_ratios"),
)


@dataclass(frozen=True, eq=False)
class QueryResult(SequenceOf[Hit]):
    """The hits of one query, best first: ``len``, ``[]`` and ``for`` as with a list.

    ``result["id"]`` is the hit of the target with an identifier.

    Parameters
    ----------
    query
        The query.
    number
        Its number among the queries, from 0.
    scores, unrounded
        (hits,) raw score; the same before it was rounded, where it was adjusted for composition.
    ordinals, target_lengths
        (hits,) the target's number in the database's input, from 0; its residues.
    frames, target_frames
        (hits,) the frame of the query that was compared, and of the target: see
        `swdual.sequences.frames`. A query of nucleotides that is not translated has frame -1 if it
        hits with its reverse complement.
    bits, log_evalues
        (hits,) bit scores, and natural logarithms of the E-values; not-a-number without statistics.
    adjustments, lambda_ratios
        (hits,) how the scores were adjusted for composition (see `swdual.composition`), and the
        ratio by which mode 1 scales the matrix; 0 and 1 without adjustment.
    statistics
        The statistics of the E-values, or None.
    params
        The options of the search.
    targets
        The database, or what was stored of it.
    device
        What computed the scores.
    traced
        The alignments, or None: then they are computed when they are first used.
    before
        Number of better hits of the query that are not among these.
    adjustment_counts
        How many targets were adjusted for composition.
    round
        The round of an iterated search, from 1; 0 in other searches.
    history
        What the rounds before included; None in other searches.
    traced_further
        The alignments of hits besides the best, or None: then they are computed when they are first
        used.
    row_hits
        Where each row is an alignment (see `per_alignment`), (rows,) the index of its hit; else
        None.
    """

    query: Sequence
    number: int
    scores: NDArray[np.int64]
    unrounded: NDArray[np.float64]
    ordinals: NDArray[np.int64]
    target_lengths: NDArray[np.int64]
    frames: NDArray[np.int8]
    target_frames: NDArray[np.int8]
    bits: NDArray[np.float64]
    log_evalues: NDArray[np.float64]
    adjustments: NDArray[np.int8]
    lambda_ratios: NDArray[np.float64]
    statistics: Statistics | None
    params: SearchParameters
    targets: TargetRecords = field(repr=False)
    device: str = "cpu"
    traced: Tracebacks | None = None
    before: int = 0
    adjustment_counts: AdjustmentCounts = NO_ADJUSTMENT
    round: int = 0
    history: InclusionHistory | None = None
    traced_further: FurtherAlignments | None = None
    row_hits: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, hit: int | str) -> Hit: ...
    @overload
    def __getitem__(self, hit: slice) -> list[Hit]: ...
    def __getitem__(self, hit: int | str | slice) -> Hit | list[Hit]:
        """Return a hit by its index from 0, or by the identifier of its target.

        Raises
        ------
        InputError
            If no target has the identifier, or it is neither of them, such as true.
        IndexError
            If there is no such index.
        """
        if isinstance(hit, slice):
            return [self[k] for k in range(*hit.indices(len(self)))]
        if isinstance(hit, str):
            what = f"hit of query {quote(self.query.id)} with the identifier"
            names, places = self._names
            return Hit(self, places[find_index(hit, names, what)])
        return Hit(self, range(len(self))[plain_index("a hit", hit)])

    def __contains__(self, hit: object) -> bool:
        """Return whether a target with this identifier was hit, or this hit is one of them."""
        if isinstance(hit, str):
            return hit in self._names[0]
        return any(each == hit for each in self)

    if not TYPE_CHECKING:  # else type checkers would take any name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Say where a method is that results of a search have, and those of a query lack."""
            remedy = ""
            if name in METHODS_OF_ALL:
                remedy = f"; results[[{self.query.id!r}]].{name}() is that of one query"
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{remedy}")

    def __dir__(self) -> list[str]:
        """Return the names that users need, without those that only writers of results use."""
        return [
            *("adjustment_counts", "bits", "count", "device", "evalues", "filter"),
            *("frames", "further", "inclusions", "index", "lca", "log_evalues", "number"),
            *("ordinals", "params", "per_alignment", "query", "ranks", "round", "scores"),
            *("statistics", "target_frames"),
            "target_ids",
            *("target_lengths", "targets", "taxids", "titles", "to_searchio", "top", "within"),
        ]

    @property
    def target_ids(self) -> list[str]:
        """Identifiers of the targets."""
        return [first_word(title) for title in self.titles]

    @property
    def _names(self) -> tuple[list[str], list[int]]:
        """The identifiers of all titles of the targets, and the index of the hit of each."""
        own = [identifiers(title) for title in self.titles]
        places = [k for k, names in enumerate(own) for _ in names]
        return [name for names in own for name in names], places

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QueryResult):
            return NotImplemented
        same = (self.query, self.number, self.round, self.params, self.titles) == (
            other.query,
            other.number,
            other.round,
            other.params,
            other.titles,
        )
        return same and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True)
            for name in HIT_COLUMNS
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        best = f", best score {self.scores[0]}" if len(self) else ""
        hits = pluralize(len(self), "hit", "hits")
        return f"<QueryResult {self.query.id!r}: {hits}{best}>"

    def _repr_html_(self) -> str:
        from swdual.hits.shown import hits_table

        return hits_table([self], SHOWN_HITS)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with the targets of the hits instead of the database."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["targets"] = StoredTargets.of(self.targets, self.ordinals.tolist())
        values["traced"] = self.__dict__.get("tracebacks", self.traced)
        values["traced_further"] = self.__dict__.get("further", self.traced_further)
        return type(self), tuple(values.values())

    @cached_property
    def titles(self) -> list[str]:
        """Header lines of the targets."""
        return self.targets.headers(self.ordinals)

    @cached_property
    def taxids(self) -> list[tuple[int, ...]]:
        """Taxonomy ids of the targets, of each in ascending order."""
        return self.targets.taxids(self.ordinals)

    @cached_property
    def target_codes(self) -> list[bytes]:
        """Residue codes of the targets, with `LOWER` at letters that a mask of targets masks."""
        return self.targets.codes(self.ordinals)

    @cached_property
    def evalues(self) -> NDArray[np.float64]:
        """E-values; those below about 1e-308 are 0, but their logarithms are not lost."""
        return np.exp(self.log_evalues)

    @cached_property
    def tracebacks(self) -> Tracebacks:
        """The alignments, as columns."""
        if self.traced is not None:
            return self.traced
        if self.params.adjusts:
            positions = find_positions(self.query)
            compared = self._compared_codes, self.adjustments, self.frames
            traced = self._make_adjuster().align(self.query, *compared, positions)
            return self._place_in_targets(traced)
        from swdual.alignment.tracer import Tracer

        tracer = Tracer(self.params.scheme, LATE_GRID_BYTES)
        targets, unmasked_targets = self.params.read_targets(self._compared_codes)
        traced = tracer(
            self.query,
            targets,
            self.scores,
            self.frames,
            unmasked_targets=unmasked_targets,
            profile=find_scores(self.query),
        )
        return self._place_in_targets(traced)

    def _make_adjuster(self) -> Adjuster:
        """Return what adjusts the scores of these hits."""
        from swdual.hits.adjusters import make_adjuster

        return make_adjuster(self.params, self.statistics, LATE_GRID_BYTES)

    @property
    def _compared_codes(self) -> list[bytes]:
        """Residue codes of the frames of the targets that were compared."""
        pairs = zip(self.target_codes, self.target_frames.tolist(), strict=True)
        return [self.params.comparison.read_target(codes, frame) for codes, frame in pairs]

    def _place_in_targets(self, traced: Tracebacks) -> Tracebacks:
        """Return alignments with their places in the targets as given."""
        frames, lengths = self.target_frames, self.target_lengths
        return self.params.comparison.place(traced, frames, lengths)

    @property
    def compared_lengths(self) -> NDArray[np.int64]:
        """Residues of what was compared of each target."""
        return self.params.comparison.measure_targets(self.target_lengths, self.target_frames)

    @property
    def evaluated_lengths(self) -> NDArray[np.int64]:
        """(hits,) lengths of the targets that E-values refer to.

        Of adjusted scores with translated targets, BLAST takes the nucleotides, unless it has sum
        statistics (tblastn 2.12): so does this.
        """
        if self.params.adjusts and not self.params.sum_stats:
            return self.target_lengths
        return self.compared_lengths

    @property
    def shown_frames(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The frames of query and target as BLAST tells them, (hits,) each."""
        return self.params.comparison.show_frames(
            self.query, self.frames, self.target_frames, lambda: self.tracebacks.query_places
        )

    @cached_property
    def further(self) -> FurtherAlignments:
        """The alignments of hits besides the best, as columns; none if `max_hsps` is 1."""
        if self.traced_further is not None:
            return self.traced_further
        if self.params.max_hsps == 1:
            return FurtherAlignments.none()
        from swdual.alignment.tracer import Tracer
        from swdual.hits.further import align_further

        adjuster = self._make_adjuster() if self.params.adjusts else None
        tracer = Tracer(self.params.scheme, LATE_GRID_BYTES)
        parts, indices, first = [], [], 0
        for piece in self.pieces():
            parts.append(align_further(piece, tracer, adjuster))
            indices.append(np.arange(first, first + len(piece)))
            first += len(piece)
        return FurtherAlignments.concatenate(parts, indices)

    def per_alignment(self) -> QueryResult:
        """Return a result with a row for each alignment instead of each hit.

        The alignments of a hit follow each other, best first; the hit's rank is that of all of
        them. If `max_hsps` is 1, this is the result itself.
        """
        if self.params.max_hsps == 1 or self.row_hits is not None:
            return self
        return self.list_alignments()

    def list_alignments(self) -> QueryResult:
        """Return a result with a row for each alignment that was found, as in `per_alignment`."""
        further = self.further
        hits = np.concatenate([np.arange(len(self)), further.hit_indices])
        # Adjusted scores may be higher in another frame than in that of the best plain score.
        order = np.lexsort((-np.concatenate([self.scores, further.scores]), hits))
        own = {name: getattr(further, name, None) for name in HIT_COLUMNS}
        columns: dict[str, Any] = {
            name: np.concatenate(
                [
                    getattr(self, name),
                    getattr(self, name)[further.hit_indices] if column is None else column,
                ]
            )[order]
            for name, column in own.items()
        }
        rows = replace(
            self,
            **columns,
            traced=Tracebacks.concatenate([self.tracebacks, further.tracebacks]).take(order),
            traced_further=FurtherAlignments.none(),
            row_hits=hits[order],
        )
        for name in ("titles", "target_codes"):
            if name in self.__dict__:
                rows.__dict__[name] = [self.__dict__[name][k] for k in hits[order].tolist()]
        return rows

    def as_hits(
        self, best: NDArray[np.int64], others: NDArray[np.int64], hits: NDArray[np.int64]
    ) -> QueryResult:
        """Return a result of hits, made of rows of alignments: the inverse of `list_alignments`.

        Parameters
        ----------
        best
            (hits,) the index of the row that is the best alignment of each hit.
        others, hits
            (alignments,) those of further alignments, and the indices of their hits, ascending.
        """
        further = FurtherAlignments(
            hits,
            self.frames[others],
            self.target_frames[others],
            self.scores[others],
            self.unrounded[others],
            self.bits[others],
            self.log_evalues[others],
            self.tracebacks.take(others),
        )
        return replace(self.subset(best), row_hits=None).with_further(further)

    def iter_alignments(self) -> Iterator[Hit]:
        """Yield the rows of `per_alignment`, as `iter_hits` yields hits."""
        for piece in self.pieces():
            yield from piece.per_alignment()

    @property
    def ranks(self) -> NDArray[np.int64]:
        """(hits,) the rank of each among the hits of the query, from 1."""
        hits = np.arange(len(self)) if self.row_hits is None else self.row_hits
        return self.before + 1 + hits

    @cached_property
    def inclusions(self) -> dict[int, Inclusion]:
        """The first inclusions up to this round, by the targets' numbers in the database.

        Empty if the search is not iterated.
        """
        if self.history is None:
            return {}
        own = list_inclusions(self, self.history.log_limit)
        return own | dict(self.history.earlier)

    def name_hits(
        self, clean: Callable[[str], str] = lambda text: text
    ) -> Iterator[tuple[str, str]]:
        """Yield a name for each hit that no other hit has, and the rest of its header line.

        The name is the identifier, cleaned by `clean`. If another hit has it already, the name is
        made of the target's number in the database, and the whole header line follows.
        """
        seen = {""}
        for hit in self.iter_hits():
            name = clean(hit.id)
            if name in seen or name.startswith(ORDINAL_PREFIX):
                yield f"{ORDINAL_PREFIX}{hit.ordinal}", hit.title
            else:
                yield name, description(hit.title)
            seen.add(name)

    def to_searchio(self) -> Bio.SearchIO.QueryResult:
        """Return Biopython's object for these hits; positions are 0-based and half-open."""
        from Bio.SearchIO import QueryResult as BioResult

        names = self.name_hits()
        hits = [_to_searchio(hit, *name) for hit, name in zip(self, names, strict=True)]
        result = BioResult(hits, self.query.id)
        result.seq_len = len(self.query.codes)
        result.description = description(self.query.title)
        result.program, result.version = "swdual", __version__
        result.target = self.targets.name
        return result

    def with_tracebacks(self, traced: Tracebacks) -> QueryResult:
        """Return the same result with these alignments, whose places are those compared."""
        return replace(self, traced=self._place_in_targets(traced))

    def with_further(self, further: FurtherAlignments) -> QueryResult:
        """Return the same result with these alignments besides the best."""
        result = replace(self, traced_further=further)
        kept = ("titles", "tracebacks")
        result.__dict__.update({k: self.__dict__[k] for k in kept if k in self.__dict__})
        return result

    def subset(self, indices: NDArray[np.int64]) -> QueryResult:
        """Return a result with some of the hits, in the order of `indices`."""
        traced = self.__dict__.get("tracebacks", self.traced)
        further = self.__dict__.get("further", self.traced_further)
        smaller = replace(
            self,
            **{name: getattr(self, name)[indices] for name in HIT_COLUMNS},
            traced=None if traced is None else traced.take(indices),
            traced_further=None if further is None else further.take(indices),
            row_hits=None if self.row_hits is None else self.row_hits[indices],
        )
        if "titles" in self.__dict__:
            smaller.__dict__["titles"] = [self.titles[k] for k in indices.tolist()]
        return smaller

    def pieces(self) -> Iterator[QueryResult]:
        """Yield the hits in order, as results small enough to be written in little memory."""
        max_hits = MAX_PIECE_WEIGHT // HIT_WEIGHT
        first = 0
        while first < len(self) or first == 0:
            lengths = self.target_lengths[first : first + max_hits]
            weights = np.cumsum(lengths + len(self.query.codes) + HIT_WEIGHT)
            count = max(1, int(np.searchsorted(weights, MAX_PIECE_WEIGHT, "right")))
            if count >= len(self):
                yield self
            else:
                indices = np.arange(first, min(first + count, len(self)))
                yield replace(self.subset(indices), before=self.before + first)
            first += count

    def iter_hits(self) -> Iterator[Hit]:
        """Yield the hits in order; titles, codes and alignments of earlier ones are freed."""
        for piece in self.pieces():
            yield from piece

    def top(self, count: int) -> QueryResult:
        """Return a result with the first `count` hits.

        Raises
        ------
        InputError
            If the count is no whole number, or negative.
        """
        count = int(plain_number("count", count, int))
        require_range("count", count, 0, percentage=False)
        return self.subset(np.arange(min(count, len(self))))

    def within(self, percent: float) -> QueryResult:
        """Return a result with the hits that score at most `percent` percent below the best.

        Hits of equal scores are kept or left out together.

        Raises
        ------
        InputError
            If it is no percentage.
        """
        plain_number("percent", percent, float)
        require_range("percent", percent, 0, percentage=True)
        if not len(self):
            return self
        cutoff = score_cutoff(int(self.scores.max()), percent)
        return self.subset(np.flatnonzero(self.scores >= cutoff))

    def lca(self, top: float = LCA_TOP) -> CommonAncestor:
        """Return the lowest common ancestor of the organisms of the best hits.

        Parameters
        ----------
        top
            Hits count whose raw score is at most so many percent below the best one. Targets
            without a known taxonomy id do not count.

        Raises
        ------
        InputError
            If the taxonomy of the targets is not known, or `top` is no percentage.
        """
        plain_number("top", top, float)
        require_range("top", top, 0, percentage=True)
        return find_common_ancestor(self, top)

    @suggest_names
    def filter(
        self,
        *,
        evalue: float | None = None,
        min_score: float | None = None,
        min_raw_score: int | None = None,
        min_identity: float | None = None,
        min_query_cover: float | None = None,
        min_target_cover: float | None = None,
    ) -> QueryResult:
        """Return a result with the hits that pass all of the given limits.

        The best alignment decides about a hit. Its other alignments stay if they pass, too.

        Parameters
        ----------
        evalue
            Largest E-value.
        min_score
            Smallest bit score.
        min_raw_score
            Smallest raw score.
        min_identity
            Smallest percentage of equal letters in the alignment.
        min_query_cover
            Smallest percentage of the query that the alignment covers.
        min_target_cover
            Smallest percentage of the target that the alignment covers.

        Raises
        ------
        InputError
            If a limit is no number or out of range, or one on E-values or bit scores is given and
            the search had no statistics.
        """
        limits = {
            "evalue": evalue,
            "min_score": min_score,
            "min_raw_score": min_raw_score,
            "min_identity": min_identity,
            "min_query_cover": min_query_cover,
            "min_target_cover": min_target_cover,
        }
        require_numbers(**limits)
        for name, value in limits.items():
            if value is not None:
                require_range(name, value, 0, percentage=name in ALIGNMENT_FILTERS)
        for text in find_fractions(
            min_identity=min_identity,
            min_query_cover=min_query_cover,
            min_target_cover=min_target_cover,
        ):
            warnings.warn(text, stacklevel=3)  # once, though each query of a search has its filter
        if self.statistics is None and (evalue is not None or min_score is not None):
            raise InputError("there are no E-values and bit scores: the search had stats='none'")
        rows = self.per_alignment()
        passing = np.ones(len(rows), bool)
        if evalue is not None:
            passing &= rows.log_evalues <= (np.log(evalue) if evalue > 0 else -np.inf)
        if min_score is not None:
            passing &= rows.bits >= min_score
        if min_raw_score is not None:
            passing &= rows.scores >= min_raw_score
        filters = AlignmentFilters(min_identity or 0, min_query_cover or 0, min_target_cover or 0)
        passing &= rows.is_passing(filters)
        if rows is self:
            return self.subset(np.flatnonzero(passing))
        is_best = np.diff(rows.ranks, prepend=0) > 0
        further = self.further.select(np.flatnonzero(passing[~is_best]))
        return self.with_further(further).subset(np.flatnonzero(passing[is_best]))

    def select_hits(self) -> QueryResult:
        """Return a result with the hits that pass the search's filters on alignments.

        These are `AlignmentFilters`; of the hits that pass them, `top` and `max_target_seqs`.
        Missing alignments are computed, those of the best hits first, until there are enough hits.
        """
        params = self.params
        parts: list[NDArray[np.int64]] = []
        first = count = cutoff = 0
        for piece in self.pieces():
            indices = first + np.flatnonzero(piece.is_passing(params.alignment_filters))
            if count == 0 < len(indices) and params.top is not None:
                cutoff = score_cutoff(int(self.scores[indices[0]]), params.top)
            parts.append(indices)
            first += len(piece)
            count += len(indices)
            enough = 0 < params.max_target_seqs <= count
            if enough or (len(piece) and piece.scores[-1] < cutoff):
                break
        result = self.subset(np.concatenate(parts))
        if params.top is not None:
            result = result.within(params.top)
        return result.top(params.max_target_seqs) if params.max_target_seqs else result

    def is_passing(self, limits: AlignmentFilters) -> NDArray[np.bool_]:
        """Return (hits,) whether the alignment of each hit passes all limits."""
        if not any(limits):
            return np.ones(len(self), bool)
        column, lengths = self.tracebacks.column, self.target_lengths
        passing: NDArray[np.bool_] = limits.is_passing(column, len(self.query.codes), lengths)
        return passing


def _to_searchio(hit: Hit, name: str, title: str) -> Bio.SearchIO.Hit:
    """Return Biopython's object for a hit, under a name that no other hit of the query has."""
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


def score_cutoff(best: int, percent: float) -> int:
    """Return the smallest score that is at most some percent below the best.

    Parameters
    ----------
    best
        The best score.
    percent
        From 0 to 100.

    >>> score_cutoff(200, 10), score_cutoff(1000, 0.1), score_cutoff(7, 0)
    (180, 999, 7)
    """
    return math.ceil(best * (100 - percent) / 100 - 1e-9)
