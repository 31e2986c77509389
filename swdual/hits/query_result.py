"""The hits of one query: what users do with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

import numpy as np
from numpy.typing import NDArray

from swdual.database.lookup import find_index
from swdual.errors import InputError
from swdual.hits.aligned_hits import AlignedHits
from swdual.hits.columns import HIT_COLUMNS, score_cutoff
from swdual.hits.hit import Hit
from swdual.hits.targets import StoredTargets
from swdual.hits.taxa import LCA_TOP, CommonAncestor, find_common_ancestor
from swdual.request.search_parameters import ALIGNMENT_FILTERS, AlignmentFilters
from swdual.runtime.keywords import (
    find_fractions,
    plain_index,
    plain_number,
    require_numbers,
    require_range,
    suggest_names,
)
from swdual.sequences.sequence import description, first_word, identifiers
from swdual.text.messages import pluralize, quote
from swdual.version import __version__

if TYPE_CHECKING:
    import Bio.SearchIO


METHODS_OF_ALL = (
    *("plot_scores", "report", "to_arrow", "to_pandas", "to_polars", "to_sparse", "write"),
    "write_fasta",
)
"""Methods of the results of a search, which users look for here, too."""

ORDINAL_PREFIX = "gnl|BL_ORD_ID|"
"""How BLAST begins an identifier that it makes of a target's number in the database."""

SHOWN_HITS = 20
"""Hits of a query that a notebook shows."""


@dataclass(frozen=True, eq=False)
class QueryResult(AlignedHits, SequenceOf[Hit]):
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
        # A database may have open files, and be far larger than its hits.
        values["targets"] = StoredTargets.of(self.targets, self.ordinals.tolist())
        values["traced"] = self.__dict__.get("tracebacks", self.traced)
        values["traced_further"] = self.__dict__.get("further", self.traced_further)
        return type(self), tuple(values.values())

    def iter_alignments(self) -> Iterator[Hit]:
        """Yield the rows of `per_alignment`, as `iter_hits` yields hits."""
        for piece in self.pieces():
            yield from piece.per_alignment()

    def iter_hits(self) -> Iterator[Hit]:
        """Yield the hits in order; titles, codes and alignments of earlier ones are freed."""
        for piece in self.pieces():
            yield from piece

    def name_hits(
        self, clean: Callable[[str], str] = lambda text: text
    ) -> Iterator[tuple[str, str]]:
        """Yield a name for each hit that no other hit has, and the rest of its header line.

        The name is the identifier, cleaned by `clean`. If another hit has it already, the name is
        made of the target's number in the database, and the whole header line follows.
        """
        # A hit without an identifier gets a name, too.
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

        from swdual.hits.searchio import to_searchio

        names = self.name_hits()
        hits = [to_searchio(hit, *name) for hit, name in zip(self, names, strict=True)]
        result = BioResult(hits, self.query.id)
        result.seq_len = len(self.query.codes)
        result.description = description(self.query.title)
        result.program, result.version = "swdual", __version__
        result.target = self.targets.name
        return result

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
    ) -> Self:
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
        # The first row of a hit is its best alignment.
        is_best = np.diff(rows.ranks, prepend=0) > 0
        further = self.further.select(np.flatnonzero(passing[~is_best]))
        return self.with_further(further).subset(np.flatnonzero(passing[is_best]))

    def select_hits(self) -> Self:
        """Return a result with the hits that pass the search's filters on alignments.

        These are `AlignmentFilters`; of the hits that pass them, `top` and `max_target_seqs`.
        Missing alignments are computed, those of the best hits first, until there are enough hits.
        """
        params = self.params
        parts: list[NDArray[np.int64]] = []
        first = count = cutoff = 0
        for piece in self.pieces():
            indices = first + np.flatnonzero(piece.is_passing(params.alignment_filters))
            # `top` refers to the best hit that passes, not to the best of all.
            if count == 0 < len(indices) and params.top is not None:
                cutoff = score_cutoff(int(self.scores[indices[0]]), params.top)
            parts.append(indices)
            first += len(piece)
            count += len(indices)
            enough = 0 < params.max_target_seqs <= count
            # Hits are in the order of scores: no later one can be among those that are wanted.
            if enough or (len(piece) and piece.scores[-1] < cutoff):
                break
        result = self.subset(np.concatenate(parts))
        if params.top is not None:
            result = result.within(params.top)
        return result.top(params.max_target_seqs) if params.max_target_seqs else result
