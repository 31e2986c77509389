"""The scores of a query's positions, and the statistics that belong to them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.sequences.alphabet import CODES
from swdual.statistics.karlin_altschul import KarlinAltschul

if TYPE_CHECKING:
    from swdual.profiles.rows import QueryHits

INCLUSION = 0.002
"""Hits with a smaller E-value take part in a profile: psiblast's -inclusion_ethresh."""

UNSCORED = -32768
"""The score of a letter that a position does not score, as in PSI-BLAST's files: most often B, J,
Z, U and O."""


@dataclass(frozen=True, eq=False)
class Profile:
    """A position-specific scoring matrix: the scores of each position of a query.

    ``len(profile)`` is L, the number of positions. The arrays are read-only.

    Parameters
    ----------
    title
        Header line of the query.
    codes
        (L,) residue codes of the query.
    scores
        (L, 32) int32 score of each position with each residue code. `UNSCORED` where the file has
        no score. Codes without a letter hold the smallest other score, as in `SubstitutionMatrix`.
    frequencies
        (L, 32) float64 frequencies of the amino acids among residues that are aligned with each
        position, pseudocounts included; 0 in positions without information. PSI-BLAST calls them
        frequency ratios. None if unknown.
    observations
        (L,) float64 independent observations of each position, pseudocounts and the query not
        included; None if unknown.
    gapped, ungapped
        Lambda, K and H of alignments with gaps and without.
    matrix
        Name of the substitution matrix that it was made from.
    gap_open, gap_extend
        Gap penalties that the statistics with gaps belong to.
    weights
        (L, 32) float64 weighted frequencies of the aligned residues alone; None if unknown.
    gapless
        (L,) float64 weight of real matches without gaps, relative to pseudocounts; None if unknown.

    Raises
    ------
    InputError
        If shapes do not fit together.
    """

    title: str
    codes: bytes = field(repr=False)
    scores: NDArray[np.int32] = field(repr=False)
    frequencies: NDArray[np.float64] | None = field(repr=False)
    observations: NDArray[np.float64] | None = field(repr=False)
    gapped: KarlinAltschul
    ungapped: KarlinAltschul
    matrix: str = "BLOSUM62"
    gap_open: int = 11
    gap_extend: int = 1
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    gapless: NDArray[np.float64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        length = len(self.codes)
        if not length:
            raise InputError("a profile needs at least one position")
        for name, kind, shape in (
            ("scores", np.int32, (length, CODES)),
            ("frequencies", np.float64, (length, CODES)),
            ("observations", np.float64, (length,)),
            ("weights", np.float64, (length, CODES)),
            ("gapless", np.float64, (length,)),
        ):
            given = getattr(self, name)
            if given is None and name != "scores":
                continue
            array = np.array(given, kind)
            if array.shape != shape:
                raise InputError(f"{name} of a profile: expected shape {shape}, not {array.shape}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def id(self) -> str:
        """First word of the title."""
        return next(iter(self.title.split()), "")

    @staticmethod
    def from_alignments(
        query: str | bytes,
        rows: Iterable[str] | NDArray[np.uint8],
        *,
        title: str = "",
        matrix: str = "BLOSUM62",
        gap_open: int | None = None,
        gap_extend: int | None = None,
        pseudocount: int = 0,
    ) -> Profile:
        """Return the profile of a query and the rows that are aligned with it, as PSI-BLAST has it.

        Parameters
        ----------
        query
            Residues of the query, or their codes.
        rows
            What each row has in each column of the query: texts with ``-`` for a gap and a space
            where the row is not aligned, or (n, L) uint8 codes with `GAP` and `EMPTY` of
            `swdual.profiles.letters`. Gaps at an end count as not aligned. The best row comes
            first: of two that are 94 % identical, the later one does not count.
        title
            Header line of the query.
        matrix
            Name of one of NCBI's eight substitution matrices.
        gap_open, gap_extend
            Gap penalties that the statistics belong to; by default those of the matrix.
        pseudocount
            Pseudocounts of every position; 0 has them depend on the position.

        Raises
        ------
        InputError
            If the query or a row has something that is no residue, or another length.
        StatisticsUnavailable
            If the matrix or the gap penalties are not tabled, or E-values are undefined.

        >>> profile = Profile.from_alignments("MKVLAWMKVLAW", ["MRVLAWMRILAW", "  VIAFMKVI  "])
        >>> profile.scores[3, :4].tolist(), round(float(profile.observations[3]), 2)
        ([-1, -2, -3, -4], 0.75)
        """
        from swdual.profiles.build import build_profile, choose_scheme
        from swdual.profiles.rows import read_query, read_rows

        codes = read_query(query) if isinstance(query, str) else query
        if not isinstance(rows, np.ndarray):
            rows = read_rows(rows, len(codes))
        scheme = choose_scheme(matrix, gap_open, gap_extend)
        return build_profile(title, codes, rows, scheme, pseudocount)

    @staticmethod
    def from_hits(
        result: QueryHits, *, inclusion: float = INCLUSION, pseudocount: int = 0
    ) -> Profile:
        """Return the profile of a query and its hits, as PSI-BLAST makes it after a search.

        Parameters
        ----------
        result
            The hits of a query (`swdual.QueryResult`). Masked residues of targets count as
            they are.
        inclusion
            Hits with an E-value below this take part.
        pseudocount
            Pseudocounts of every position; 0 has them depend on the position.

        Raises
        ------
        StatisticsUnavailable
            If the hits have no E-values, or the matrix or its gap penalties are not tabled.
        """
        from swdual.profiles.build import build_profile
        from swdual.profiles.rows import place_hits

        rows = place_hits(result, inclusion)
        query = result.query
        scheme = result.params.scheme
        return build_profile(query.title, query.unmasked, rows, scheme, pseudocount)

    @staticmethod
    def from_msa(
        path: str | os.PathLike[str],
        *,
        matrix: str = "BLOSUM62",
        gap_open: int | None = None,
        gap_extend: int | None = None,
        pseudocount: int = 0,
    ) -> Profile:
        """Return the profile of a multiple alignment, as PSI-BLAST makes it with -in_msa.

        Parameters
        ----------
        path
            The file: Stockholm, Clustal, aligned FASTA or a3m. The content tells the format. The
            first sequence is the query; columns where it has a gap are left out. Gaps at the ends
            of a row, and those of 10 columns or more, count as not aligned. Where the query is in
            lower case, it does not count itself.
        matrix, gap_open, gap_extend, pseudocount
            As for `from_alignments`.

        Raises
        ------
        InputError
            If the file cannot be read, or is no multiple alignment of proteins.
        StatisticsUnavailable
            If the matrix or the gap penalties are not tabled, or E-values are undefined.
        """
        from swdual.profiles.build import build_profile, choose_scheme
        from swdual.profiles.msa import read_msa

        msa = read_msa(path)
        scheme = choose_scheme(matrix, gap_open, gap_extend)
        return build_profile(msa.title, msa.codes, msa.rows, scheme, pseudocount, msa.left_out)

    @cached_property
    def unscaled(self) -> KarlinAltschul:
        """Lambda, K and H without gaps of the scores before they were scaled.

        PSI-BLAST computes E-values with this K where scores are adjusted for composition, and
        writes these values below an ASCII PSSM.

        Raises
        ------
        InputError
            If the frequencies are unknown.
        """
        from swdual.profiles.build import find_unscaled

        return find_unscaled(self)

    def write(
        self, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False
    ) -> None:
        """Write the profile to a file.

        Parameters
        ----------
        path
            The file. It appears when it is complete.
        format
            "asn" for ASN.1 text, as psiblast's -out_pssm; "pssm" for an ASCII PSSM, as its
            -out_ascii_pssm. By default the end of the name tells.
        force
            Whether a file that is there is replaced.

        Raises
        ------
        InputError
            If the format is unknown.
        OutputError
            If the file cannot be written, or is there already.
        """
        from swdual.profiles.files import write_profile

        write_profile(self, path, format, force=force)


def lowest_score(scores: NDArray[np.integer]) -> int:
    """Return the smallest score of a letter, at most 0: that of codes without a letter."""
    return int(scores[scores != UNSCORED].min(initial=0))
