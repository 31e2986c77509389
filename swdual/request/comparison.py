"""What a search asks of the way in which queries and targets are compared.

`Comparison` compares sequences as they are written. Each file of `swdual.request.comparisons` has
another kind, a subclass that answers some of the questions in another way. A search asks; it never
looks which kind it is::

    read_inputs     check, query_alphabet, compare_targets, read_queries
    defaults        default_mask, adjusts_by_default, limit_composition, links
    score           score_by, frames, target_frame_count, runs_on_gpus, has_bounds, finder
    choose hits     filters_alignments, accepts
    report          find_targets, read_target, measure_targets, place, show_frames, program
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.sequences.alphabet import LOWER, Alphabet
from swdual.sequences.frames import STRANDS
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence
from swdual.statistics.karlin_altschul import require_negative_mean

if TYPE_CHECKING:
    from swdual.alignment.tracebacks import Tracebacks
    from swdual.database.database import Database
    from swdual.masking.mask import Mask
    from swdual.request.sources import Sources

Numbers = NDArray[np.int64]

PACKAGE = "swdual.request.comparisons"
"""The kinds of comparison besides that of sequences as they are written."""


@dataclass(frozen=True)
class Comparison:
    """How queries and targets are compared: here, as they are written.

    Two comparisons of one kind with equal fields find the same hits.
    """

    default_mask: ClassVar[str] = "none"
    """The mask of queries where none is asked for."""

    compares_letters: ClassVar[bool] = True
    """Whether the letters of queries, as they are written, score with those of targets."""

    by_position: ClassVar[bool] = False
    """Whether each position of a query has scores, and each query statistics, of its own."""

    has_bounds: ClassVar[bool] = True
    """Whether there are upper bounds of scores, so that few targets are scored exactly."""

    runs_on_gpus: ClassVar[bool] = True
    """Whether the kernels of GPUs have such cells."""

    filters_alignments: ClassVar[bool] = False
    """Whether `accepts` leaves alignments out, so that hits are chosen by their alignments."""

    cells: ClassVar[str] = ""
    """What the cells have that others have not, as the file of a `CalibrationCache` says it."""

    cell_cost: ClassVar[float] = 1.0
    """Seconds of a cell, relative to one of sequences as they are written."""

    finder: ClassVar[str] = ""
    """The module of `swdual.master` whose `find_hits` stands in place of the pipeline, where there
    is nothing to plan, and nothing that takes so long that it is kept in a journal; else ""."""

    @classmethod
    def claim(cls, sources: Sources) -> Self | None:
        """Return the comparison if the sources are to be compared in this way, else None.

        Parameters
        ----------
        sources
            Queries, targets and options.

        Raises
        ------
        InputError
            If the options ask for this kind, but queries or targets are of another type.
        """
        raise NotImplementedError

    def check(self, sources: Sources) -> None:
        """Check that the other options suit this kind of comparison.

        Raises
        ------
        InputError
            If one does not; names it.
        """

    def check_statistics(self, stats: str, scheme: ScoringScheme, *, sum_stats: bool) -> None:
        """Check the statistics, with all defaults filled in.

        Parameters
        ----------
        stats, sum_stats
            As the options of `swdual.search`.
        scheme
            The matrix and the gap penalties.

        Raises
        ------
        InputError, StatisticsUnavailable
            If there are no such statistics for this kind of comparison.
        """
        if stats != "none":
            require_negative_mean(scheme.matrix)
        if stats == "composition":
            raise InputError("`stats='composition'` is for peptides; use `task='peptide'`")
        if sum_stats and not (stats == "table" and self.links):
            raise InputError(
                "`sum_stats=True` is for proteins and translated nucleotides (blastx, tblastn) "
                "with `stats='table'`; leave it out"
            )

    @property
    def adjusts_by_default(self) -> bool:
        """Whether scores are adjusted for composition where the options do not say."""
        return True

    @property
    def links(self) -> bool:
        """Whether alignments of a hit that follow each other can have an E-value together."""
        return False

    @property
    def query_gencode(self) -> int | None:
        """The genetic code by which queries are translated; None where they are not."""
        return None

    @property
    def db_gencode(self) -> int | None:
        """The genetic code by which targets are translated; None where they are not."""
        return None

    @property
    def translates(self) -> bool:
        """Whether queries or targets are translated."""
        return self.query_gencode is not None or self.db_gencode is not None

    @property
    def translated_side(self) -> str:
        """What is translated and compared with proteins: "query", "targets", or "" for neither."""
        return ""

    @property
    def remarks(self) -> list[str]:
        """What a user is told where the types of the letters decided."""
        return []

    def program(self, alphabet: Alphabet) -> str:
        """Return the program of BLAST that compares such sequences.

        Parameters
        ----------
        alphabet
            Of what is scored.
        """
        return "blastn" if alphabet.complements else "blastp"

    @property
    def translation(self) -> str:
        """What is translated, as the headers of outputs say it; else ""."""
        return ""

    def identify(self) -> dict[str, Any]:
        """Return what tells this comparison from others, by the names that messages show."""
        kind = type(self).__name__.lower()
        fields = {name.replace("_", "-"): value for name, value in asdict(self).items()}
        return {"kind of comparison": kind, **fields}

    # Inputs

    def query_alphabet(self, targets: Database) -> Alphabet:
        """Return the alphabet that queries are read in.

        Parameters
        ----------
        targets
            The targets as given.
        """
        return targets.alphabet

    def compare_targets(self, targets: Database, memory_limit: int | None) -> Database:
        """Return what is scored of the targets.

        Parameters
        ----------
        targets
            The targets as given.
        memory_limit
            As the option of `swdual.search`.

        Raises
        ------
        MemoryLimitError
            If it does not fit into memory.
        """
        return targets

    def search_space(self, dbsize: int | None, targets: Database) -> int | None:
        """Return the residues that E-values refer to; None for those of what is scored.

        Parameters
        ----------
        dbsize
            As the option of this name, in residues of the targets as given.
        targets
            The targets as given.
        """
        return dbsize

    def score_by(self, scheme: ScoringScheme) -> ScoringScheme:
        """Return the scoring scheme of this comparison, from that of the matrix and the gaps."""
        return scheme

    def limit_composition(self, mode: int) -> int:
        """Return the mode of composition-based statistics, of a mode that is asked for."""
        return mode

    def read_query(self, query: Sequence, alphabet: Alphabet, strand: str, mask: Mask) -> Sequence:
        """Return a query with its masked letters, as it is compared.

        Parameters
        ----------
        query
            The query; letters in lower case that are to be masked have codes with `LOWER`.
        alphabet
            Of what is scored.
        strand
            The strands of nucleotides that are compared.
        mask
            What finds further letters.
        """
        if mask.name == "none" and query.alphabet is alphabet:
            return query
        cased = np.frombuffer(query.codes, np.uint8).copy()
        codes = cased & (LOWER - 1)
        # Letters stay, with a mark: hits show them as they were written.
        for start, end in mask.find(codes.tobytes(), alphabet).tolist():
            cased[start:end] |= LOWER
        return Sequence.of_cased(query.title, cased.tobytes(), alphabet).at_location_of(query)

    def accepts(self, column: Callable[[str], Any]) -> Any:
        """Return whether alignments may be those of hits, besides the limits of the options.

        Parameters
        ----------
        column
            Returns a number of each alignment, by its name in `COLUMNS` of
            `swdual.alignment.tracebacks`.
        """
        return True

    # Frames and places

    def frames(self, strand: str) -> tuple[int, ...]:
        """Return the frames of each query that are compared; of equal scores, the first wins."""
        return STRANDS[strand]

    @property
    def target_frames(self) -> tuple[int, ...]:
        """The frames of each target that are compared."""
        return (1,)

    def find_targets(self, records: Numbers) -> tuple[Numbers, NDArray[np.int8]]:
        """Return the numbers of targets, and their frames, of records of what is scored."""
        return records, np.ones(len(records), np.int8)

    def number_records(self, targets: Numbers, frames: NDArray[np.int8]) -> Numbers:
        """Return the records of what is scored: the inverse of `find_targets`."""
        return targets

    def read_target(self, codes: bytes, frame: int) -> bytes:
        """Return the codes that are scored of a target, in a frame."""
        return codes

    def measure_targets(self, lengths: Numbers, frames: NDArray[np.int8]) -> Numbers:
        """Return (targets,) the residues that are scored.

        Parameters
        ----------
        lengths, frames
            (targets,) lengths as given, and frames.
        """
        return lengths

    def show_target(self, title: str, codes: bytes, alphabet: Alphabet) -> Sequence:
        """Return a target as a hit shows it.

        Parameters
        ----------
        title, codes
            Its name, and its codes as given.
        alphabet
            Of the codes.
        """
        return Sequence(title, codes, alphabet)

    def place(self, traced: Tracebacks, frames: NDArray[np.int8], lengths: Numbers) -> Tracebacks:
        """Return alignments with their places in the targets as given.

        Parameters
        ----------
        traced
            Alignments of what is scored.
        frames, lengths
            (alignments,) frames of the targets, and their lengths as given.
        """
        return traced

    def show_frames(
        self,
        query: Sequence,
        frames: NDArray[np.int8],
        target_frames: NDArray[np.int8],
        places: Callable[[], tuple[Numbers, Numbers]],
    ) -> tuple[Numbers, Numbers]:
        """Return (alignments,) the frames of query and targets as BLAST tells them.

        What is compared with the reverse complement of a query is told as the target's. A protein
        beside nucleotides that are translated has frame 0.

        Parameters
        ----------
        query
            The query.
        frames, target_frames
            (alignments,) frames in which they are compared.
        places
            Returns starts and ends of the alignments in the query.
        """
        shown = frames.astype(np.int64)
        return np.ones_like(shown), shown


PLAIN = Comparison()
"""Sequences, compared as they are written."""
