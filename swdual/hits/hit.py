"""One target of a query: a view of a row of its result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swdual.alignment.alignment import Alignment
from swdual.sequences.sequence import Sequence, first_word

if TYPE_CHECKING:
    import Bio.Align

    from swdual.hits.query_result import QueryResult


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

    result: QueryResult
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
        """The place among the hits of the query, from 1."""
        return self.result.before + self.place + 1

    @property
    def ordinal(self) -> int:
        """The target's place in the database's input, from 0."""
        return int(self.result.ordinals[self.place])

    @property
    def title(self) -> str:
        """The target's header line."""
        return self.result.titles[self.place]

    @property
    def id(self) -> str:
        """The target's identifier."""
        return first_word(self.title)

    @property
    def target(self) -> Sequence:
        """The target."""
        codes = self.result.target_codes[self.place]
        return Sequence(self.title, codes, self.result.targets.alphabet)

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
        """How many hits of this score are expected by chance; None without statistics."""
        evalue = float(self.result.evalues[self.place])
        return None if math.isnan(evalue) else evalue

    @property
    def strand(self) -> int:
        """1, or -1 where the query hits with its other strand."""
        return int(self.result.strands[self.place])

    @property
    def alignment(self) -> Alignment:
        """How query and target align."""
        return Alignment.of(
            self.query,
            self.target,
            self.result.params.scheme,
            self.score,
            self.strand,
            self.result.tracebacks,
            self.place,
        )

    def to_biopython(self) -> Bio.Align.Alignment:
        """Return the alignment as Biopython's, with E-value and bits among its annotations."""
        alignment = self.alignment.to_biopython()
        alignment.annotations |= {"evalue": self.evalue, "bit_score": self.bits}
        return alignment

    def _repr_html_(self) -> str:
        evalue = "" if self.evalue is None else f"<p>E-value {self.evalue:.3g}</p>"
        return evalue + self.alignment._repr_html_()
