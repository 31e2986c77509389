"""One alignment: coordinates, operations, and the numbers and texts computed from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from swdual.alignment.tracebacks import (
    BASE_BACK,
    BASE_SKIPPED,
    COLUMNS,
    LETTERS,
    PAIR,
    QUERY_ONLY,
    Tracebacks,
    find_positives,
)
from swdual.errors import InputError
from swdual.sequences.frames import (
    TranslatedSequence,
    find_residues,
    frames_of_part,
    read_frame,
    read_part,
    read_shifted,
)
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence, description
from swdual.sequences.translation import CODON
from swdual.text import notebook
from swdual.text.messages import pluralize

if TYPE_CHECKING:
    import Bio.Align

SKIPPED, BACK = LETTERS[BASE_SKIPPED], LETTERS[BASE_BACK]

WIDTH = 60
"""Columns of an alignment in a line of text."""

NAME_WIDTH, TITLE_WIDTH = 24, 70
"""Letters of an identifier before the rows, and of a title, that a notebook shows."""

_NUMBERS = {
    **{"query_start": "query_starts", "query_end": "query_ends"},
    **{"target_start": "target_starts", "target_end": "target_ends"},
    **{"length": "lengths", "identities": "identities", "positives": "positives"},
    **{"gap_openings": "gap_openings", "gaps": "gaps"},
}
"""Attributes of an `Alignment`, and the columns of `Tracebacks` that they come from."""

_KINDS = {"=": "identical", "+": "positive", " ": "different", "-": "gap"}

_SHADES = {
    "=": "rgba(46,160,67,0.40)",
    "+": "rgba(46,160,67,0.16)",
    " ": "rgba(248,81,73,0.20)",
    "-": "rgba(128,128,128,0.28)",
}
"""The colour of each kind of column, translucent for light and dark pages."""


@dataclass(frozen=True, repr=False)
class Alignment:
    """How a query and a target align best.

    Parameters
    ----------
    query, target
        The whole sequences, as given.
    scheme
        Substitution matrix and gap penalties.
    score
        Raw score.
    query_start, query_end, target_start, target_end
        The aligned parts, 0-based and half-open, on the sequences as given. If only a part of the
        query is compared (`query_loc`), places and frames are those in the whole query.
    query_frame, target_frame
        Which frames are aligned, as BLAST tells it. Proteins have frame 1, and 0 beside nucleotides
        that are translated. Nucleotides that are not have frame 1; the target has -1 if the query
        aligns with its other strand, which is then read backwards, complemented.
    length
        Columns of the alignment. These, and what follows, count residues, not the bases of codons.
    identities, positives
        Columns of equal letters, and columns of equal letters or a positive score.
    gap_openings, gaps
        Number of gaps, and of columns with one.
    runs
        ``length << 4 | operation`` along the query, with SAM's numbers (see `Tracebacks`).
    bits, evalue
        Bit score and E-value; None without statistics.
    """

    query: Sequence
    target: Sequence
    scheme: ScoringScheme
    score: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    query_frame: int
    target_frame: int
    length: int
    identities: int
    positives: int
    gap_openings: int
    gaps: int
    runs: tuple[int, ...]
    bits: float | None = None
    evalue: float | None = None

    @classmethod
    def of(
        cls,
        query: Sequence,
        target: Sequence,
        scheme: ScoringScheme,
        score: int,
        frames: tuple[int, int],
        tracebacks: Tracebacks,
        k: int,
    ) -> Alignment:
        """Return alignment k of some that were traced.

        Parameters
        ----------
        query, target
            The whole sequences.
        scheme
            Substitution matrix and gap penalties.
        score
            Raw score of this alignment.
        frames
            `query_frame` and `target_frame`.
        tracebacks, k
            The alignments of the query as columns, and which of them.
        """
        columns = dict(zip(COLUMNS, tracebacks.numbers[:, k].tolist(), strict=True))
        numbers = {name: columns[column] for name, column in _NUMBERS.items()}
        runs = tuple(tracebacks.runs_of(k).tolist())
        for name in ("query_start", "query_end"):
            numbers[name] += query.before
        places = dict(zip(("query_frame", "target_frame"), frames, strict=True))
        return cls(query, target, scheme, score, runs=runs, **places, **numbers)

    @property
    def strand(self) -> int:
        """1, or -1 if the query aligns with the target's other strand."""
        return 1 if (self.query_frame or 1) * (self.target_frame or 1) > 0 else -1

    @property
    def translates(self) -> bool:
        """Whether query or target are nucleotides that are translated."""
        return any(isinstance(each, TranslatedSequence) for each in (self.query, self.target))

    @property
    def operations(self) -> list[tuple[str, int]]:
        """Operations along the query: M pairs, I query residues, D target residues at a gap."""
        return [(LETTERS[run & 15], run >> 4) for run in self.runs]

    @property
    def cigar(self) -> str:
        """The operations as SAM writes them, such as 10M2D7M."""
        return "".join(f"{count}{letter}" for letter, count in self.operations)

    @property
    def _place_in_part(self) -> tuple[int, int, int]:
        """Start, end and frame in what is compared of the query."""
        before, frame = self.query.before, frames_of_part(self.query, self.query_frame)
        return self.query_start - before, self.query_end - before, frame

    def read_parts(self) -> tuple[tuple[bytes, str], tuple[bytes, str]]:
        """Return what is aligned of query and target: codes as written, and letters as shown.

        Of translated sequences these are residues; a target on the other strand is read backwards.
        """
        place = self._place_in_part
        if isinstance(self.query, TranslatedSequence) and self.query.shifts:
            query = read_shifted(self.query, *place, self.operations)
        else:
            query = read_part(self.query, *place)
        target = read_part(self.target, self.target_start, self.target_end, self.target_frame)
        return query, target

    @cached_property
    def rows(self) -> tuple[str, str, str]:
        """The query's row, the row between, the target's row, with '-' where there is a gap.

        Frameshifts are columns, with '\\' in the query's row where a base is skipped and '/' where
        one is read again.

        The row between shows equal letters (bases as '|') and '+' for a positive score. Masked
        letters are in lower case; the row between shows them as if they were not masked, as in
        BLAST.
        """
        alphabet = self.scheme.matrix.alphabet
        bases = bool(alphabet.complements)
        (query, query_letters), (target, target_letters) = self.read_parts()
        positive_pairs = find_positives(self.scheme.matrix)
        if bases and self.strand < 0:  # scored as the other strand of both
            other = list(alphabet.reverse_complement(bytes(range(len(alphabet.letters))))[::-1])
            positive_pairs = positive_pairs[np.ix_(other, other)]
        tops, middles, bottoms = [], [], []
        i = j = 0
        for run in self.runs:
            operation, count = run & 15, run >> 4
            query_run, target_run = query_letters[i : i + count], target_letters[j : j + count]
            if operation == PAIR:
                tops.append(query_run)
                bottoms.append(target_run)
                positive = positive_pairs[
                    np.frombuffer(query[i : i + count], np.uint8),
                    np.frombuffer(target[j : j + count], np.uint8),
                ]
                middles += [
                    ("|" if bases else a) if a == b else "+" if plus > 0 else " "
                    for a, b, plus in zip(
                        query_run.upper(), target_run.upper(), positive.tolist(), strict=True
                    )
                ]
                i += count
                j += count
            elif operation == QUERY_ONLY:
                tops.append(query_run)
                bottoms.append("-" * count)
                middles.append(" " * count)
                i += count
            elif operation in (BASE_SKIPPED, BASE_BACK):
                tops.append(LETTERS[operation])
                bottoms.append("-")
                middles.append(" ")
            else:
                tops.append("-" * count)
                bottoms.append(target_run)
                middles.append(" " * count)
                j += count
        return "".join(tops), "".join(middles), "".join(bottoms)

    @property
    def btop(self) -> str:
        """BLAST's trace-back operations: counts of equal letters, and pairs of others."""
        parts: list[str] = []
        same = 0
        query, _, target = self.rows
        for a, b in zip(query.upper(), target.upper(), strict=True):
            if a == b:
                same += 1
                continue
            if same:
                parts.append(str(same))
                same = 0
            parts.append(a + b)
        if same:
            parts.append(str(same))
        return "".join(parts)

    @property
    def identity(self) -> float:
        """The fraction of columns with equal letters; not-a-number where nothing is aligned."""
        return self.identities / self.length if self.length else math.nan

    @property
    def mismatches(self) -> int:
        """Columns with two different letters."""
        return self.length - self.identities - self.gaps

    @property
    def query_coverage(self) -> float:
        """The fraction of the query that is aligned."""
        return (self.query_end - self.query_start) / len(self.query.codes)

    @property
    def target_coverage(self) -> float:
        """The fraction of the target that is aligned."""
        return (self.target_end - self.target_start) / len(self.target.codes)

    def lines(self, width: int = WIDTH) -> Iterator[tuple[int, int, str, str, str, int, int]]:
        """Return the rows cut into lines.

        Each comes with BLAST's coordinates, from 1: first and last query residue around it, then
        the three rows, then first and last target residue, falling on the other strand. A residue
        of a translated sequence takes three. A line without residues of a sequence shows the one
        before it.
        """
        query, middle, target = self.rows
        turn, step = _step(self.query, self.query_frame), _step(self.target, self.target_frame)
        i = self.query_start if turn > 0 else self.query_end + 1
        j = self.target_start if step > 0 else self.target_end + 1
        for start in range(0, len(query), width):
            cut = slice(start, start + width)
            bases = query[cut].count(SKIPPED) - query[cut].count(BACK)
            here = len(query[cut]) - sum(map(query[cut].count, ("-", SKIPPED, BACK)))
            there = len(target[cut]) - target[cut].count("-")
            shifted = {SKIPPED: 1, BACK: -1}.get(query[start], 0)
            first_i = i + (here > 0) * (1 + shifted if turn > 0 else -1 - shifted)
            first_j = j + (there > 0) * (1 if step > 0 else -1)
            i += turn * here + (bases if turn > 0 else -bases)
            j += step * there
            yield first_i, i, query[cut], middle[cut], target[cut], first_j, j

    def __str__(self) -> str:
        """Return the alignment as BLAST prints it."""
        lines = list(self.lines())
        numbers = [number for line in lines for number in (*line[:2], *line[5:])]
        wide = max(map(len, map(str, numbers)), default=0)
        return "\n\n".join(
            f"Query  {a:<{wide}}  {query}  {b}\n"
            f"{' ' * (9 + wide)}{middle}\n"
            f"Sbjct  {c:<{wide}}  {target}  {d}"
            for a, b, query, middle, target, c, d in lines
        )

    def __repr__(self) -> str:
        return (
            f"<Alignment {self.query.id!r} x {self.target.id!r}: score {self.score}, "
            f"{self.identities}/{self.length} identical>"
        )

    def facts(self) -> dict[str, object]:
        """Return the numbers of the alignment as text, by their names."""
        facts: dict[str, object] = {"score": f"{self.score:,}"}
        if self.length:
            for name, count in (
                ("identical", self.identities),
                ("positive", self.positives),
                ("gaps", self.gaps),
            ):
                facts[name] = f"{count:,} of {self.length:,} ({100 * count / self.length:.0f} %)"
            facts["query covered"] = f"{100 * self.query_coverage:.0f} %"
            facts["target covered"] = f"{100 * self.target_coverage:.0f} %"
        if self.scheme.matrix.alphabet.complements:
            facts["strand"] = "plus" if self.strand > 0 else "minus"
        if self.query_frame and self.translates:
            facts["query frame"] = f"{self.query_frame:+}"
        if self.target_frame and self.translates:
            facts["target frame"] = f"{self.target_frame:+}"
        return facts

    def _repr_html_(self) -> str:
        """Return the numbers and the rows, coloured by kind: equal, similar, different, gap."""
        return self.page("query", "target", {})

    def page(self, query: str, target: str, worth: dict[str, object]) -> notebook.Markup:
        """Return the HTML that a notebook shows.

        Parameters
        ----------
        query, target
            What the sequences are, such as "query" and "hit 3".
        worth
            Names and values to show first, such as the E-value.
        """
        names = (_describe(query, self.query), _describe(target, self.target))
        return notebook.join(
            (
                "<div>",
                notebook.paragraph(notebook.join(names, "<br/>")),
                notebook.facts(worth | self.facts()),
                self.colour_rows(),
                "</div>",
            )
        )

    def colour_rows(self) -> notebook.Markup:
        """Return the rows as HTML: residues on the colour of their kind, with positions."""
        if not self.length:
            return notebook.paragraph(notebook.text("No residues align with a positive score."))
        names = [_short(each.id) for each in (self.query, self.target)]
        wide = max(map(len, names))
        numbers = [number for line in self.lines() for number in (*line[:2], *line[5:])]
        digits = len(str(max(numbers)))
        text: list[notebook.Markup] = []
        for a, b, query, middle, target, c, d in self.lines():
            kinds = [
                "-" if "-" in (x, y) else "=" if x == y else "+" if z == "+" else " "
                for x, z, y in zip(query.upper(), middle, target.upper(), strict=True)
            ]
            rows = [
                notebook.join(
                    (
                        notebook.faint(f"{name:<{wide}} {first:>{digits}}  "),
                        _colour_row(row, kinds),
                        notebook.faint(f"  {last}"),
                    )
                )
                for name, first, row, last in ((names[0], a, query, b), (names[1], c, target, d))
            ]
            between = notebook.text(f"{'':<{wide + digits + 3}}{middle}".rstrip())
            text += (rows[0], between, rows[1], notebook.Markup(""))
        legend = (notebook.shade(f" {name} ", _SHADES[kind]) for kind, name in _KINDS.items())
        return notebook.columns([*text, notebook.join(legend, " ")])

    def _read_translated(
        self, sequence: Sequence, start: int, end: int, frame: int
    ) -> tuple[Sequence, int, int]:
        """Return a sequence, or its frame if it is translated, and where its aligned part is."""
        if not isinstance(sequence, TranslatedSequence):
            return sequence, start, end
        return read_frame(sequence, frame), *find_residues(start, end, frame, len(sequence))

    def to_biopython(self) -> Bio.Align.Alignment:
        """Return a Biopython alignment: the target first, coordinates 0-based (needs Biopython).

        On the other strand the query's coordinates fall, as is Biopython's custom. Of nucleotides
        that are translated, the protein of the frame is given; of a query of which a part is
        compared, this part, in which the coordinates are. `score` is set, and `annotations`
        holds what was counted.

        Raises
        ------
        InputError
            If frameshifts are allowed: Biopython's alignments have no place for them.
        """
        if self.scheme.frameshift:
            raise InputError("Biopython's alignments have no place for frameshifts; use `rows`")
        from Bio.Align import Alignment as BioAlignment
        from Bio.Seq import Seq
        from Bio.SeqRecord import SeqRecord

        (target, target_start, target_end), (query, query_start, _) = (
            self._read_translated(*each)
            for each in (
                (self.target, self.target_start, self.target_end, self.target_frame),
                (self.query, *self._place_in_part),
            )
        )
        records = [SeqRecord(Seq(x.letters), id=x.id, description=x.title) for x in (target, query)]
        path = [(0, 0)]
        for letter, count in self.operations:
            i, j = path[-1]
            path.append((i + count * (letter != "D"), j + count * (letter != "I")))
        i, j = np.array(path).T
        if self.strand > 0 or self.translates:
            coordinates = np.array([target_start + j, query_start + i])
        else:
            coordinates = np.array([target_end - j, query_start + i])[:, ::-1]
        alignment = BioAlignment(records, coordinates)
        alignment.score = self.score
        alignment.annotations = {
            "identities": self.identities,
            "positives": self.positives,
            "gaps": self.gaps,
            "gap_openings": self.gap_openings,
        }
        return alignment


def _step(sequence: Sequence, frame: int) -> int:
    """Return how many places further a residue of a frame is than the one before."""
    step = CODON if isinstance(sequence, TranslatedSequence) else 1
    return -step if frame < 0 else step


def _colour_row(row: str, kinds: list[str]) -> notebook.Markup:
    """Return a row with runs of one kind in one colour."""
    runs = itertools.groupby(zip(row, kinds, strict=True), key=lambda pair: pair[1])
    return notebook.join(
        notebook.shade("".join(letter for letter, _ in run), _SHADES[kind]) for kind, run in runs
    )


def _describe(role: str, sequence: Sequence) -> notebook.Markup:
    """Return a line with name, length and title of a sequence."""
    size = pluralize(len(sequence), "residue", "residues")
    parts = [notebook.faint(role), notebook.strong(sequence.id), notebook.faint(f"· {size}")]
    about = description(sequence.title)
    return notebook.join([*parts, *([notebook.cut(about, TITLE_WIDTH)] if about else [])], " ")


def _short(name: str) -> str:
    """Shorten a name to what fits before a row."""
    return name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…"
