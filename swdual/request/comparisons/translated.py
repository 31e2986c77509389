"""Nucleotides that are translated: queries, targets, or both."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.database.database import Database
from swdual.database.translation import find_frames, number_frames, translate_database
from swdual.errors import InputError
from swdual.request.comparison import Comparison, Numbers
from swdual.request.options import SearchOptions
from swdual.request.sources import Sources
from swdual.sequences.alphabet import ALPHABETS, LOWER, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.frames import (
    READING_FRAMES,
    TranslatedSequence,
    count_residues,
    frames_of_whole,
    select_frames,
)
from swdual.sequences.genetic_codes import STANDARD
from swdual.sequences.scoring import ScoringScheme, find_task
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON, translate, translate_target

if TYPE_CHECKING:
    from swdual.alignment.tracebacks import Tracebacks
    from swdual.masking.mask import Mask

logger = logging.getLogger("swdual")


class Sides(NamedTuple):
    """Which sides of a comparison are translated."""

    queries: bool
    targets: bool


PROGRAMS = {Sides(True, False): "blastx", Sides(False, True): "tblastn"}
"""Programs of BLAST that translate one side; "tblastx" translates both."""


@dataclass(frozen=True)
class Translated(Comparison):
    """Nucleotides, compared as the proteins of their frames, each frame by itself.

    Parameters
    ----------
    query_gencode, db_gencode
        The genetic codes by which queries and targets are translated; None where they are not.
    """

    query_gencode: int | None = None
    db_gencode: int | None = None

    default_mask = "seg"
    compares_letters = False

    shifts: ClassVar[bool] = False
    """Whether alignments may change the frame of the query."""

    @classmethod
    def claim(cls, sources: Sources) -> Self | None:
        return None if sources.options.frameshift else cls.of(sources)

    @classmethod
    def of(cls, sources: Sources) -> Self | None:
        """Return what is translated of the sources, frame by frame; None if nothing is."""
        options = sources.options
        if sources.as_written:
            _refuse_translation(options, sources.as_written)
            return None
        sides = choose_sides(sources)
        _refuse_codes(sides, sources.targets, options)
        if sides == (False, False):
            return None
        return cls(
            (options.query_gencode or STANDARD) if sides.queries else None,
            (options.db_gencode or STANDARD) if sides.targets else None,
        )

    def check(self, sources: Sources) -> None:
        options = sources.options
        if options.comp_based_stats and not self.translated_side:
            raise InputError(
                f"`comp_based_stats={options.comp_based_stats}` is not for searches that translate "
                "queries and targets (tblastx); use 0, their default"
            )
        if options.adjust != "candidates":
            raise InputError("`adjust` is not for translated searches; leave it out")
        if options.lcase_masking:
            raise InputError(
                "`lcase_masking` is not for translated searches; `mask` masks the frames of queries"
            )
        masked = [x for x in ("db_hard_mask", "db_soft_mask") if getattr(options, x) != "none"]
        if masked and self.db_gencode is not None:
            raise InputError(
                f"`{masked[0]}` is not for databases that are translated; leave it out"
            )

    def check_statistics(self, stats: str, scheme: ScoringScheme, *, sum_stats: bool) -> None:
        if stats == "fit":
            raise InputError(
                f"scores of translated searches are not fitted, and {scheme.matrix.name} has no "
                "table of statistics; use `stats='none'`, or another matrix with `stats='table'`"
            )
        super().check_statistics(stats, scheme, sum_stats=sum_stats)

    @property
    def adjusts_by_default(self) -> bool:
        return bool(self.translated_side)

    @property
    def links(self) -> bool:
        return bool(self.translated_side)

    @property
    def translated_side(self) -> str:
        if self.query_gencode is None:
            return "targets"
        return "query" if self.db_gencode is None else ""

    @property
    def remarks(self) -> list[str]:
        found = []
        if self.query_gencode is not None:
            found.append(
                "the queries look like nucleotides and are translated; for proteins use "
                "`dbtype='prot'`"
            )
        if self.db_gencode is not None:
            found.append("the queries look like proteins, so the database is translated")
        return found

    def program(self, alphabet: Alphabet) -> str:
        sides = Sides(self.query_gencode is not None, self.db_gencode is not None)
        return PROGRAMS.get(sides, "tblastx")

    @property
    def translation(self) -> str:
        codes = {"queries": self.query_gencode, "targets": self.db_gencode}
        return ", ".join(
            f"{side} by genetic code {code}" for side, code in codes.items() if code is not None
        )

    def query_alphabet(self, targets: Database) -> Alphabet:
        return PROTEIN if self.query_gencode is None else NUCLEOTIDE

    def compare_targets(self, targets: Database, memory_limit: int | None) -> Database:
        if self.db_gencode is None:
            return targets
        logger.debug("database: translated by genetic code %d", self.db_gencode)
        return translate_database(targets, self.db_gencode, memory_limit)

    def search_space(self, dbsize: int | None, targets: Database) -> int | None:
        if self.db_gencode is None:
            return dbsize
        # As BLAST: one frame's residues, though all six are scored.
        return max(1, (dbsize or targets.residues) // CODON)

    def read_query(self, query: Sequence, alphabet: Alphabet, strand: str, mask: Mask) -> Sequence:
        """Return a query with the proteins of its frames, and their masked letters.

        A query that is shorter than a codon has one frame of X, as a target has, which finds
        nothing. See `Comparison.read_query`.
        """
        code = self.query_gencode
        if code is None:
            return super().read_query(query, alphabet, strand, mask)
        # Frames of `strand` only: those of the other one are not translated.
        frames = select_frames(strand, translated=True)
        if len(query.codes) < CODON:
            frame = frames[0]
            read = Sequence(query.title, translate_target(query.codes, frame, code))
            found = [(frame, read)]
        else:
            found = [(frame, _read_frame(query, code, frame, mask)) for frame in frames]
            found = self.join_frames(query, found)
        return TranslatedSequence(
            query.title,
            query.codes,
            NUCLEOTIDE,
            genetic_code=code,
            frames=tuple(found),
            shifts=self.shifts,
        ).at_location_of(query)

    def join_frames(
        self, query: Sequence, reads: list[tuple[int, Sequence]]
    ) -> list[tuple[int, Sequence]]:
        """Return what is compared of the frames of a query.

        Shorter frames come first: of equal scores they have the smaller E-value, and win.

        Parameters
        ----------
        query, reads
            The query, and the protein of each frame.
        """
        return sorted((pair for pair in reads if len(pair[1])), key=lambda pair: len(pair[1]))

    def frames(self, strand: str) -> tuple[int, ...]:
        return select_frames(strand, translated=self.query_gencode is not None)

    @property
    def target_frames(self) -> tuple[int, ...]:
        return (1,) if self.db_gencode is None else READING_FRAMES

    def find_targets(self, records: Numbers) -> tuple[Numbers, NDArray[np.int8]]:
        return super().find_targets(records) if self.db_gencode is None else find_frames(records)

    def number_records(self, targets: Numbers, frames: NDArray[np.int8]) -> Numbers:
        return targets if self.db_gencode is None else number_frames(targets, frames)

    def read_target(self, codes: bytes, frame: int) -> bytes:
        return codes if self.db_gencode is None else translate_target(codes, frame, self.db_gencode)

    def measure_targets(self, lengths: Numbers, frames: NDArray[np.int8]) -> Numbers:
        return lengths if self.db_gencode is None else count_residues(lengths, frames)

    def show_target(self, title: str, codes: bytes, alphabet: Alphabet) -> Sequence:
        if self.db_gencode is None:
            return super().show_target(title, codes, alphabet)
        return TranslatedSequence(title, codes, alphabet, genetic_code=self.db_gencode)

    def place(self, traced: Tracebacks, frames: NDArray[np.int8], lengths: Numbers) -> Tracebacks:
        return traced if self.db_gencode is None else traced.place_in_targets(frames, lengths)

    def show_frames(
        self,
        query: Sequence,
        frames: NDArray[np.int8],
        target_frames: NDArray[np.int8],
        places: Callable[[], tuple[Numbers, Numbers]],
    ) -> tuple[Numbers, Numbers]:
        ours, theirs = frames.astype(np.int64), target_frames.astype(np.int64)
        none = np.zeros_like(ours)
        return (
            none if self.query_gencode is None else frames_of_whole(query, ours),
            none if self.db_gencode is None else theirs,
        )


KIND = Translated


def choose_sides(sources: Sources) -> Sides:
    """Return which sides are translated: as the task says, or by the types of the letters.

    Without a task, nucleotides are translated that are searched in proteins, and nucleotides in
    which proteins are searched.

    Parameters
    ----------
    sources
        Queries, targets and options.

    Raises
    ------
    InputError
        If the task does not fit the database.
    """
    task, targets = sources.options.task, sources.targets
    if task is not None:
        chosen = find_task(task)
        sides = Sides(chosen.translates_queries, chosen.translates_targets)
        wanted = NUCLEOTIDE if sides.targets else ALPHABETS[chosen.dbtype]
        if wanted is not targets.alphabet:
            raise InputError(
                f"`task={task!r}` {'searches' if any(sides) else 'compares'} "
                f"{wanted.plural}, but {targets.name} holds {targets.alphabet.plural}"
            )
        return sides
    bases = targets.alphabet is NUCLEOTIDE
    decision = sources.decide_query_type()
    if decision.is_guessed and decision.is_doubtful:
        logger.warning(
            "the queries could be nucleotides or proteins, and are read as %s, as %s; for "
            "%s use `task=%r`",
            targets.alphabet.plural,
            targets.name,
            "proteins" if bases else "nucleotides",
            "tblastn" if bases else "blastx",
        )
    return Sides(
        not bases and decision.alphabet is NUCLEOTIDE, bases and decision.alphabet is PROTEIN
    )


def _refuse_codes(sides: Sides, targets: Database, options: SearchOptions) -> None:
    """Raise an error if there is a genetic code for what is not translated."""
    bases = targets.alphabet is NUCLEOTIDE
    if options.query_gencode is not None and not sides.queries:
        proteins = sides.targets or not bases
        kind = "proteins" if proteins else "compared as nucleotides"
        raise InputError(
            f"`query_gencode={options.query_gencode}` translates queries, but these are {kind}; "
            "leave it out" + ("" if proteins else ", or use `task='tblastx'`")
        )
    if options.db_gencode is not None and not sides.targets:
        kind = "is compared as nucleotides" if bases else "holds proteins"
        raise InputError(
            f"`db_gencode={options.db_gencode}` translates the database, but {targets.name} "
            f"{kind}; leave it out"
            + (", or use `task='tblastn'` or `task='tblastx'`" if bases else "")
        )


def _refuse_translation(options: SearchOptions, what: str) -> None:
    """Raise an error if an option translates what is compared as it is."""
    task = None if options.task is None else find_task(options.task)
    given = {
        "query_gencode": options.query_gencode,
        "db_gencode": options.db_gencode,
        "task": options.task
        if task and (task.translates_queries or task.translates_targets)
        else None,
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"`{name}={value!r}` translates nucleotides, but {what} are compared as they are; "
                "leave it out"
            )


def _read_frame(query: Sequence, genetic_code: int, frame: int, mask: Mask) -> Sequence:
    """Return the protein of a frame; letters that are shown and not scored are masked."""
    scored = translate(query.codes, frame, genetic_code)
    shown = translate(query.codes, frame, genetic_code, shows_mixed=True)
    cased, masked = np.frombuffer(shown, np.uint8).copy(), np.frombuffer(scored, np.uint8).copy()
    # Masked letters score as X. They are shown in lower case, mixed codons as the residue they may
    # be.
    for start, end in mask.find(scored, PROTEIN).tolist():
        cased[start:end] |= LOWER
        masked[start:end] = PROTEIN.letters.index(PROTEIN.wildcard)
    if np.array_equal(cased, masked):
        return Sequence(query.title, scored, PROTEIN)
    letters = PROTEIN.cased.decode(cased.tobytes())
    return Sequence(query.title, masked.tobytes(), PROTEIN, letters)
