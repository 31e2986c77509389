"""Profiles: made from hits and multiple alignments, read from files, written to files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swdual.errors import StatisticsUnavailable
from swdual.profiles.build import (
    build_scores,
    choose_scheme,
    find_unscaled,
    require_profiles,
)
from swdual.profiles.files import read_scores, write_scores
from swdual.profiles.msa import read_msa, require_proteins
from swdual.profiles.position_scores import INCLUSION, PositionScores
from swdual.profiles.rows import QueryHits, place_hits, read_query, read_rows, replace_o
from swdual.profiles.tables import score_table
from swdual.runtime.keywords import suggest_names
from swdual.sequences.sequence import Sequence
from swdual.statistics.karlin_altschul import KarlinAltschul


@dataclass(frozen=True, eq=False)
class Profile(PositionScores):
    """A position-specific scoring matrix: the scores of each position of a query.

    ``len(profile)`` is L, the number of positions. The arrays are read-only. See `PositionScores`
    for the attributes.
    """

    @classmethod
    def of(cls, scores: PositionScores) -> Profile:
        """Return the profile with these scores."""
        return cls(**{field.name: getattr(scores, field.name) for field in fields(scores)})

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
        query_seed: bool = False,
        min_block_width: int = 0,
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
        query_seed
            Whether rows have the query's residues at gaps and where they are not aligned, as in
            psisearch2: the next search then extends fewer alignments beyond what is homologous.
        min_block_width
            Weights of rows come from at least so many columns around a position, as in
            PSI-BLASTexB, which has 25; 0 leaves blocks as narrow as PSI-BLAST has them.

        Raises
        ------
        InputError
            If the query or a row has something that is no residue, or another length.
        StatisticsUnavailable
            If the matrix or the gap penalties are not tabled, or E-values are undefined.

        Examples
        --------
        >>> profile = Profile.from_alignments("MKVLAWMKVLAW", ["MRVLAWMRILAW", "  VIAFMKVI  "])
        >>> profile.scores[3, :4].tolist(), round(float(profile.observations[3]), 2)
        ([-2, -3, -4, -4], 1.07)
        """
        codes = read_query(query) if isinstance(query, str) else query
        if not isinstance(rows, np.ndarray):
            rows = read_rows(rows, len(codes))
        scheme = choose_scheme(matrix, gap_open, gap_extend)
        return Profile.of(
            build_scores(
                Sequence(title, replace_o(codes)),
                rows,
                scheme,
                pseudocount,
                query_seed=query_seed,
                min_block_width=min_block_width,
            )
        )

    @staticmethod
    def from_hits(
        result: QueryHits,
        *,
        inclusion: float = INCLUSION,
        pseudocount: int = 0,
        query_seed: bool = False,
        min_block_width: int = 0,
    ) -> Profile:
        """Return the profile of a query and its hits, as PSI-BLAST makes it after a search.

        Parameters
        ----------
        result
            The hits of a query (`swdual.QueryResult`). Masked residues of targets count as
            they are.
        inclusion
            Hits with an E-value below this take part.
        pseudocount, query_seed, min_block_width
            As for `from_alignments`.

        Raises
        ------
        StatisticsUnavailable
            If the hits have no E-values, or the matrix or its gap penalties are not tabled.
        """
        rows = place_hits(result, inclusion)
        query = result.query
        scheme = result.params.scheme
        return Profile.of(
            build_scores(
                Sequence(query.title, replace_o(query.unmasked)),
                rows,
                scheme,
                pseudocount,
                query_seed=query_seed,
                min_block_width=min_block_width,
            )
        )

    @staticmethod
    def from_msa(
        path: str | os.PathLike[str],
        *,
        master: int = 1,
        ignore_master: bool = False,
        dbtype: str = "auto",
        matrix: str = "BLOSUM62",
        gap_open: int | None = None,
        gap_extend: int | None = None,
        pseudocount: int = 0,
        min_block_width: int = 0,
    ) -> Profile:
        """Return the profile of a multiple alignment, as PSI-BLAST makes it with -in_msa.

        Parameters
        ----------
        path
            The file: Stockholm, Clustal, aligned FASTA or a3m. The content tells the format.
            Columns where the query has a gap are left out. Gaps at the ends of a row, and those of
            10 columns or more, count as not aligned. Where the query is in lower case, it does not
            count itself.
        master
            The number of the sequence that is the query, from 1 (-msa_master_idx).
        ignore_master
            Whether the query does not count itself in any column (-ignore_msa_master).
        dbtype
            "prot" takes the query for a protein whatever its letters are. Else one that looks like
            nucleotides is refused.
        matrix, gap_open, gap_extend, pseudocount, min_block_width
            As for `from_alignments`.

        Raises
        ------
        InputError
            If the file cannot be read, is no multiple alignment of proteins, or has no such
            sequence.
        StatisticsUnavailable
            If the matrix or the gap penalties are not tabled, or E-values are undefined.
        """
        msa = read_msa(path, master)
        require_proteins(msa.codes, path, dbtype)
        scheme = choose_scheme(matrix, gap_open, gap_extend)
        require_profiles(scheme)
        try:
            scores = build_scores(
                Sequence(msa.title, msa.codes),
                msa.rows,
                scheme,
                pseudocount,
                msa.left_out,
                ignores_query=ignore_master,
                min_block_width=min_block_width,
            )
        except StatisticsUnavailable as error:
            raise StatisticsUnavailable(error.message, file=path) from error
        return Profile.of(scores)

    @staticmethod
    def from_frequencies(
        frequencies: ArrayLike,
        query: str | None = None,
        *,
        title: str = "",
        matrix: str = "BLOSUM62",
        gap_open: int | None = None,
        gap_extend: int | None = None,
    ) -> Profile:
        """Return the profile of the frequencies of amino acids at each position.

        Parameters
        ----------
        frequencies
            (positions, 20) probabilities of the amino acids in alphabetical order
            (ACDEFGHIKLMNPQRSTVWY), as of a language model; or their natural logarithms; or log-odds
            in nats, bits or half bits.
        query
            Residues of the query; by default the most probable ones.
        title
            Header line of the query.
        matrix, gap_open, gap_extend
            As for `from_alignments`. Scores are scaled so that lambda without gaps is the matrix's.

        Raises
        ------
        InputError
            If the table has another shape, or is none of these.
        StatisticsUnavailable
            If the matrix or the gap penalties are not tabled, or E-values are undefined.

        Examples
        --------
        >>> mkv = np.full((3, 20), 0.01) + 0.8 * np.eye(20)[[10, 8, 17]]
        >>> Profile.from_frequencies(mkv).scores.max(axis=1).tolist()
        [11, 8, 8]
        """
        scheme = choose_scheme(matrix, gap_open, gap_extend)
        values = np.asarray(frequencies, np.float64)
        codes = None if query is None else read_query(query)
        return Profile.of(score_table(title, values, codes, scheme))

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
        write_scores(self, path, format, force=force)


@suggest_names
def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in a file.

    Parameters
    ----------
    path
        The file: ASN.1 text (psiblast -out_pssm), an ASCII PSSM (psiblast -out_ascii_pssm), a
        model of HMMER3, or a table of (positions, 20) probabilities or log-odds (.npy, .csv, .tsv:
        see `swdual.profiles.tables`). But for tables the content tells the format, not the name.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or is no profile of proteins.
    StatisticsUnavailable
        If scores must be computed for a matrix that is not tabled.
    """
    return Profile.of(read_scores(path))
