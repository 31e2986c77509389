"""One target of a query: a view of a row of its result."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from swdual.alignment.alignment import Alignment
from swdual.alignment.tracebacks import Tracebacks
from swdual.hits.inclusion import Inclusion
from swdual.sequences.sequence import Sequence, first_word

if TYPE_CHECKING:
    import Bio.Align

    from swdual.hits.aligned_hits import AlignedHits
    from swdual.taxonomy.tree import Taxon


@dataclass(frozen=True, repr=False)
class Hit:
    """One target of a query.

    Parameters
    ----------
    result
        The hits of the query.
    place
        Which of them this is, from 0.
    """

    result: AlignedHits
    place: int

    def __hash__(self) -> int:
        return hash((self.query.title, self.result.number, self.place))

    def __repr__(self) -> str:
        return f"<Hit {self.rank} of {self.query.id!r}: {self.id!r}, score {self.score}>"

    @property
    def query(self) -> Sequence:
        """The query."""
        return self.result.query

    @property
    def rank(self) -> int:
        """The rank among the hits of the query, from 1."""
        return int(self.result.ranks[self.place])

    @property
    def ordinal(self) -> int:
        """The target's number in the input of the database, from 0."""
        return int(self.result.ordinals[self.place])

    @property
    def title(self) -> str:
        """The target's header line."""
        return self.result.titles[self.place]

    @property
    def taxids(self) -> tuple[int, ...]:
        """The target's taxonomy ids, ascending; empty if none is known."""
        return self.result.taxids[self.place]

    @property
    def taxa(self) -> tuple[Taxon, ...]:
        """The taxa of these ids that are in the taxonomy, if there is one."""
        tree = self.result.targets.taxonomy
        found = () if tree is None else map(tree.get, self.taxids)
        return tuple(taxon for taxon in found if taxon is not None)

    @property
    def id(self) -> str:
        """The target's identifier."""
        return first_word(self.title)

    @property
    def target(self) -> Sequence:
        """The target."""
        codes = self.result.target_codes[self.place]
        alphabet, params = self.result.targets.alphabet, self.result.params
        if params.db_mask is None:
            return params.comparison.show_target(self.title, codes, alphabet)
        soft = params.db_hard_mask == "none"
        return Sequence.of_cased(self.title, codes, alphabet, soft)

    @property
    def target_length(self) -> int:
        """The target's residues."""
        return int(self.result.target_lengths[self.place])

    @property
    def score(self) -> int:
        """Raw score."""
        return int(self.result.scores[self.place])

    @property
    def bits(self) -> float | None:
        """Bit score; None without statistics."""
        bits = float(self.result.bits[self.place])
        return None if math.isnan(bits) else bits

    @property
    def evalue(self) -> float | None:
        """Number of hits this good that chance gives on average; None without statistics."""
        evalue = float(self.result.evalues[self.place])
        return None if math.isnan(evalue) else evalue

    @property
    def log10_evalue(self) -> float | None:
        """Decimal logarithm of the E-value, also where that is below 1e-308 and `evalue` is 0."""
        logarithm = float(self.result.log_evalues[self.place]) / math.log(10)
        return None if math.isnan(logarithm) else logarithm

    @property
    def first_inclusion(self) -> Inclusion | None:
        """The round of an iterated search that first included the target, and by which alignment.

        None if no round up to this one included it.
        """
        return self.result.inclusions.get(self.ordinal)

    @property
    def strand(self) -> int:
        """1, or -1 if the query hits with its other strand."""
        ours, theirs = self.result.frames[self.place], self.result.target_frames[self.place]
        return int(np.sign(ours) * np.sign(theirs))

    @property
    def query_frame(self) -> int:
        """The frame of the query, as BLAST tells it: 0 of a protein beside translated targets."""
        return int(self.result.shown_frames[0][self.place])

    @property
    def target_frame(self) -> int:
        """The frame of the target, as BLAST tells it: 0 of a protein beside a translated query."""
        return int(self.result.shown_frames[1][self.place])

    @property
    def alignment(self) -> Alignment:
        """The best alignment of query and target."""
        return self._align(
            self.score,
            (self.query_frame, self.target_frame),
            float(self.result.bits[self.place]),
            float(self.result.evalues[self.place]),
            self.result.tracebacks,
            self.place,
        )

    @property
    def alignments(self) -> list[Alignment]:
        """The alignments of query and target that are reported, best first.

        There are several only if the search has another `max_hsps` than 1.
        """
        further = self.result.further
        first, last = np.searchsorted(further.hit_indices, [self.place, self.place + 1]).tolist()
        shown = self.result.params.comparison.show_frames(
            self.result.query,
            further.frames,
            further.target_frames,
            lambda: further.tracebacks.query_places,
        )
        return [
            self.alignment,
            *(
                self._align(
                    int(further.scores[k]),
                    (int(shown[0][k]), int(shown[1][k])),
                    float(further.bits[k]),
                    math.exp(further.log_evalues[k]),
                    further.tracebacks,
                    k,
                )
                for k in range(first, last)
            ),
        ]

    def _align(
        self,
        score: int,
        frames: tuple[int, int],
        bits: float,
        evalue: float,
        tracebacks: Tracebacks,
        k: int,
    ) -> Alignment:
        """Return alignment k of some that were traced; numbers that are not known are NaN."""
        scheme = self.result.params.scheme
        found = Alignment.of(self.query, self.target, scheme, score, frames, tracebacks, k)
        known = not math.isnan(bits)
        return replace(found, bits=bits if known else None, evalue=evalue if known else None)

    @property
    def query_start(self) -> int:
        """Where the alignment begins in the query, from 0."""
        return self._traced("query_starts") + self.query.before

    @property
    def query_end(self) -> int:
        """Where the alignment ends in the query, from 0 and not included."""
        return self._traced("query_ends") + self.query.before

    @property
    def target_start(self) -> int:
        """Where the alignment begins in the target, from 0."""
        return self._traced("target_starts")

    @property
    def target_end(self) -> int:
        """Where the alignment ends in the target, from 0 and not included."""
        return self._traced("target_ends")

    @property
    def length(self) -> int:
        """Columns of the alignment."""
        return self._traced("lengths")

    @property
    def identities(self) -> int:
        """Columns of equal letters."""
        return self._traced("identities")

    @property
    def positives(self) -> int:
        """Columns of equal letters or a positive score."""
        return self._traced("positives")

    @property
    def gaps(self) -> int:
        """Columns with a gap."""
        return self._traced("gaps")

    @property
    def identity(self) -> float:
        """The fraction of columns with equal letters; not-a-number where nothing is aligned."""
        return self.identities / self.length if self.length else math.nan

    @property
    def query_coverage(self) -> float:
        """The fraction of the query that is aligned."""
        return (self.query_end - self.query_start) / len(self.query)

    @property
    def target_coverage(self) -> float:
        """The fraction of the target that is aligned."""
        return (self.target_end - self.target_start) / self.target_length

    def _traced(self, name: str) -> int:
        return int(self.result.tracebacks.column(name)[self.place])

    def to_biopython(self) -> Bio.Align.Alignment:
        """Return Biopython's alignment; its annotations hold E-value and bit score, too."""
        alignment = self.alignment.to_biopython()
        alignment.annotations |= {"evalue": self.evalue, "bit_score": self.bits}
        return alignment

    def _repr_html_(self) -> str:
        from swdual.hits.shown import hit_page

        result, place = self.result, self.place
        adjustment = int(result.adjustments[place]) if result.params.adjusts else None
        return hit_page(self.alignments, self.rank, float(result.log_evalues[place]), adjustment)
