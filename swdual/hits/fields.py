"""The fields of a hit that a table can show: BLAST's names, DIAMOND's, and a few of our own.

Positions are BLAST's: from 1, the last one included, falling on a target's other strand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.alignment.tracebacks import Tracebacks
from swdual.composition.adjusted import describe_adjustment
from swdual.errors import InputError
from swdual.hits.aligned_hits import AlignedHits
from swdual.hits.hit import Hit
from swdual.hits.inclusion import Inclusion
from swdual.hits.self_scores import find_relative_scores
from swdual.hits.targets import TargetRecords
from swdual.hits.taxa import (
    describe_taxa,
    list_first_taxids,
    list_taxids,
    name_commonly,
    name_kingdom,
    name_lineage,
    name_taxon,
    require_taxids,
    require_taxonomy,
)
from swdual.registry import unknown
from swdual.sequences.sequence import first_word, identifiers, split_titles

Kind = Literal["text", "whole", "real"]


FLANK = 15
"""Residues of a flank: as many as predictors of antigen processing take."""


class Field(NamedTuple):
    """One column of a table.

    `values` returns the column for the hits of a query: texts, whole numbers, or real numbers with
    not-a-number where there is none. `traced` says that it needs the alignments.
    """

    kind: Kind
    meaning: str
    values: Callable[[AlignedHits], Sequence[Any] | NDArray[Any]]
    traced: bool = False


def _column(name: str) -> Callable[[AlignedHits], NDArray[np.int64]]:
    return lambda result: result.tracebacks.column(name)


def _percent(part: NDArray[np.int64], total: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Return percentages; not-a-number for an empty alignment."""
    with np.errstate(invalid="ignore"):
        return 100.0 * part / total


def _ratio(name: str) -> Callable[[AlignedHits], NDArray[np.float64]]:
    return lambda result: _percent(
        result.tracebacks.column(name), result.tracebacks.column("lengths")
    )


def _span(traced: Tracebacks, side: str) -> NDArray[np.int64]:
    return traced.column(f"{side}_ends") - traced.column(f"{side}_starts")


def _count_covered(result: AlignedHits) -> NDArray[np.int64]:
    """Return how many residues of the query are in any alignment of each hit that is reported."""
    rows = result.per_alignment()
    if rows.row_hits is None:
        return _span(rows.tracebacks, "query")
    starts, ends = (rows.tracebacks.column(f"query_{edge}") for edge in ("starts", "ends"))
    _, hits = np.unique(rows.row_hits, return_inverse=True)
    covered = np.zeros(hits.max(initial=-1) + 1, np.int64)
    order = np.lexsort((starts, hits))
    last, end = -1, 0
    for row in order.tolist():
        if hits[row] != last:
            last, end = hits[row], 0
        covered[last] += max(0, int(ends[row]) - max(int(starts[row]), end))
        end = max(end, int(ends[row]))
    return covered[hits] if rows is result else covered


def _count_uniquely_covered(result: AlignedHits) -> NDArray[np.float64]:
    """Return how many residues of the query each hit covers, if the target's count once.

    As in BLAST, this is the query beside those parts of the target that no better alignment of the
    hit has, and known of nucleotides only.
    """
    rows = result.per_alignment()
    if not _compares_nucleotides(result):
        return np.full(len(result), np.nan)
    if rows.row_hits is None:
        return _span(rows.tracebacks, "query").astype(np.float64)
    _, hits = np.unique(rows.row_hits, return_inverse=True)
    covered = np.zeros(hits.max(initial=-1) + 1)
    last, ours, theirs = -1, np.empty(0, np.int64), np.empty(0, np.int64)
    for row in range(len(rows)):
        if hits[row] != last:
            last, ours, theirs = hits[row], ours[:0], theirs[:0]
        query, target = rows.tracebacks.pairs(row, int(rows.shown_frames[1][row]))
        new = ~np.isin(target, theirs)
        ends = np.flatnonzero(np.diff(np.concatenate(([0], new, [0]))))
        parts = [np.arange(query[a], query[b - 1] + 1) for a, b in ends.reshape(-1, 2).tolist()]
        ours, theirs = np.unique(np.concatenate([ours, *parts])), np.append(theirs, target[new])
        covered[last] = len(ours)
    return covered[hits] if rows is result else covered


def _bound(side: str, edge: str, other: str) -> Callable[[AlignedHits], NDArray[np.int64]]:
    """Return where the alignment begins or ends in a sequence, read along its frame.

    Parameters
    ----------
    side
        "query" or "target".
    edge, other
        Which end of the aligned part it is: "first" or "last", and on a minus strand.
    """

    def positions(result: AlignedHits) -> NDArray[np.int64]:
        before = result.query.before if side == "query" else 0

        def find(end: str) -> NDArray[np.int64]:
            if end == "first":
                return result.tracebacks.column(f"{side}_starts") + before + 1
            return result.tracebacks.column(f"{side}_ends") + before

        is_minus = result.shown_frames[side == "target"] < 0
        return np.where(is_minus, find(other), find(edge)) if is_minus.any() else find(edge)

    return positions


def _first(
    value: Callable[[Inclusion], float], missing: float
) -> Callable[[AlignedHits], list[Any]]:
    """Return a column about the first inclusion of each target.

    Parameters
    ----------
    value, missing
        What it has of the inclusion, and where there is none.
    """

    def values(result: AlignedHits) -> list[Any]:
        found = map(result.inclusions.get, result.ordinals.tolist())
        return [missing if inclusion is None else value(inclusion) for inclusion in found]

    return values


def _flank(side: str) -> Callable[[AlignedHits], list[str]]:
    """Return the letters of the target before ("N") or behind ("C") the aligned part."""

    def values(result: AlignedHits) -> list[str]:
        starts, ends = (result.tracebacks.column(f"target_{edge}") for edge in ("starts", "ends"))
        firsts, lasts = (starts - FLANK, starts) if side == "N" else (ends, ends + FLANK)
        bounds = zip(np.maximum(firsts, 0).tolist(), lasts.tolist(), strict=True)
        return [
            _decode(result, codes[first:last])
            for codes, (first, last) in zip(result.target_codes, bounds, strict=True)
        ]

    return values


def _rows(row: int) -> Callable[[AlignedHits], list[str]]:
    return lambda result: [hit.alignment.rows[row] for hit in _view(result)]


def _view(result: AlignedHits) -> list[Hit]:
    return [Hit(result, k) for k in range(len(result))]


def _repeat(value: Callable[[AlignedHits], Any]) -> Callable[[AlignedHits], list[Any]]:
    """Return a column that has the same value for all hits of a query."""
    return lambda result: [value(result)] * len(result)


def _compares_nucleotides(result: AlignedHits) -> bool:
    return bool(result.params.scheme.matrix.alphabet.complements)


def _decode(result: AlignedHits, codes: bytes) -> str:
    return result.targets.alphabet.cased.decode(codes)


def _name_adjustments(result: AlignedHits) -> list[str]:
    """Return how each score was adjusted for composition, in words."""
    return [describe_adjustment(kind) for kind in result.adjustments.tolist()]


_QUERY_ID = Field("text", "identifier of the query", _repeat(lambda result: result.query.id))
_TARGET_ID = Field(
    "text",
    "identifier of the target",
    lambda result: [first_word(title) for title in result.titles],
)
_ALL_TARGET_IDS = Field(
    "text",
    "all identifiers of the target, separated by ';'",
    lambda result: [";".join(identifiers(title)) for title in result.titles],
)
_GI = Field("whole", "GI number: 0, as NCBI ended them", _repeat(lambda _: 0))
_QUERY_ROW = Field("text", "aligned part of the query, with gaps", _rows(0), traced=True)
_TARGET_ROW = Field("text", "aligned part of the target, with gaps", _rows(2), traced=True)
_COVERAGE = Field(
    "real",
    "percentage of the query in the alignment",
    lambda result: _percent(_span(result.tracebacks, "query"), len(result.query.codes)),
    traced=True,
)

FIELDS: dict[str, Field] = {
    "qseqid": _QUERY_ID,
    "sseqid": _TARGET_ID,
    "qaccver": _QUERY_ID,
    "saccver": _TARGET_ID,
    "qacc": _QUERY_ID,
    "sacc": _TARGET_ID,
    "sallseqid": _ALL_TARGET_IDS,
    "sallacc": _ALL_TARGET_IDS,
    "qgi": _GI,
    "sgi": _GI,
    "sallgi": Field(
        "text", "GI numbers of the target: 0, as NCBI ended them", _repeat(lambda _: "0")
    ),
    "score": Field("whole", "raw score", lambda result: result.scores),
    "bitscore": Field("real", "bit score", lambda result: result.bits),
    "relscore": Field(
        "real", "raw score / smaller self-score of query and target", find_relative_scores
    ),
    "evalue": Field("real", "E-value", lambda result: result.evalues),
    "log10_evalue": Field(
        "real", "decimal logarithm of the E-value", lambda result: result.log_evalues / np.log(10)
    ),
    "pident": Field("real", "percentage of equal letters", _ratio("identities"), traced=True),
    "nident": Field("whole", "equal letters", _column("identities"), traced=True),
    "length": Field("whole", "columns of the alignment", _column("lengths"), traced=True),
    "mismatch": Field(
        "whole",
        "columns with two different letters",
        lambda result: (
            result.tracebacks.column("lengths")
            - result.tracebacks.column("identities")
            - result.tracebacks.column("gaps")
        ),
        traced=True,
    ),
    "positive": Field(
        "whole", "columns of equal letters or a positive score", _column("positives"), traced=True
    ),
    "ppos": Field("real", "percentage of positive columns", _ratio("positives"), traced=True),
    "gapopen": Field("whole", "gaps", _column("gap_openings"), traced=True),
    "gaps": Field("whole", "columns with a gap", _column("gaps"), traced=True),
    "qstart": Field(
        "whole",
        "first aligned residue of the query",
        _bound("query", "first", "last"),
        traced=True,
    ),
    "qend": Field(
        "whole", "last aligned residue of the query", _bound("query", "last", "first"), traced=True
    ),
    "sstart": Field(
        "whole",
        "first aligned residue of the target",
        _bound("target", "first", "last"),
        traced=True,
    ),
    "send": Field(
        "whole",
        "last aligned residue of the target",
        _bound("target", "last", "first"),
        traced=True,
    ),
    "qlen": Field(
        "whole", "residues of the query", _repeat(lambda result: len(result.query.codes))
    ),
    "slen": Field("whole", "residues of the target", lambda result: result.target_lengths),
    "qcovhsp": _COVERAGE,
    "qcovs": Field(
        "real",
        "percentage of the query in all alignments with the target",
        lambda result: _percent(_count_covered(result), len(result.query.codes)),
        traced=True,
    ),
    "qcovus": Field(
        "real",
        "qcovs where no part of the target counts twice; nucleotides only",
        lambda result: 100.0 * _count_uniquely_covered(result) / len(result.query.codes),
        traced=True,
    ),
    "scovhsp": Field(
        "real",
        "percentage of the target in the alignment",
        lambda result: _percent(_span(result.tracebacks, "target"), result.target_lengths),
        traced=True,
    ),
    "btop": Field(
        "text",
        "BLAST's trace-back operations",
        lambda result: [hit.alignment.btop for hit in _view(result)],
        traced=True,
    ),
    "cigar": Field(
        "text",
        "the alignment as M, I, D operations",
        lambda result: [result.tracebacks.cigar(k) for k in range(len(result))],
        traced=True,
    ),
    "qseq": _QUERY_ROW,
    "sseq": _TARGET_ROW,
    "qseq_gapped": _QUERY_ROW,
    "sseq_gapped": _TARGET_ROW,
    "n_flank": Field(
        "text", f"{FLANK} residues of the target before the alignment", _flank("N"), traced=True
    ),
    "c_flank": Field(
        "text", f"{FLANK} residues of the target behind the alignment", _flank("C"), traced=True
    ),
    "full_qseq": Field(
        "text", "all of the query that is compared", _repeat(lambda result: result.query.letters)
    ),
    "full_sseq": Field(
        "text",
        "the whole target",
        lambda result: [_decode(result, codes) for codes in result.target_codes],
    ),
    "qframe": Field(
        "whole",
        "frame of the query",
        lambda result: result.shown_frames[0],
    ),
    "sframe": Field(
        "whole",
        "frame of the target; -1 on the other strand",
        lambda result: result.shown_frames[1],
    ),
    "frames": Field(
        "text",
        "qframe/sframe",
        lambda result: [
            f"{ours}/{theirs}"
            for ours, theirs in zip(*(x.tolist() for x in result.shown_frames), strict=True)
        ],
    ),
    "sstrand": Field(
        "text",
        "plus or minus (N/A for proteins)",
        lambda result: [
            ("plus" if frame > 0 else "minus") if _compares_nucleotides(result) else "N/A"
            for frame in result.shown_frames[1].tolist()
        ],
    ),
    "qtitle": Field("text", "header line of the query", _repeat(lambda result: result.query.title)),
    "stitle": Field(
        "text",
        "header line of the target, the first title of several",
        lambda result: [split_titles(title)[0] for title in result.titles],
    ),
    "salltitles": Field(
        "text",
        "all titles of the target, separated by '<>'",
        lambda result: ["<>".join(split_titles(title)) for title in result.titles],
    ),
    "qnum": Field(
        "whole",
        "number of the query among those that are compared, from 1",
        _repeat(lambda result: result.number + 1),
    ),
    "snum": Field(
        "whole", "number of the target in the database, from 1", lambda result: result.ordinals + 1
    ),
    "rank": Field(
        "whole",
        "rank among the hits of the query, from 1",
        lambda result: result.ranks,
    ),
    "adjustment": Field("text", "how the matrix was adjusted for composition", _name_adjustments),
    "lambda_ratio": Field(
        "real", "ratio by which the matrix was scaled, or 1", lambda result: result.lambda_ratios
    ),
    "round": Field(
        "whole", "round of an iterated search, from 1; else 0", _repeat(lambda result: result.round)
    ),
    "first_round": Field(
        "whole",
        "round of an iterated search that first included the target, or 0",
        _first(lambda inclusion: inclusion.round, 0),
        traced=True,
    ),
    "first_evalue": Field(
        "real",
        "E-value of the alignment that it was first included by",
        _first(lambda inclusion: inclusion.evalue, math.nan),
        traced=True,
    ),
    "first_qstart": Field(
        "whole",
        "first residue of the query in this alignment, or 0",
        _first(lambda inclusion: inclusion.query_start + 1, 0),
        traced=True,
    ),
    "first_qend": Field(
        "whole",
        "last residue of the query in this alignment, or 0",
        _first(lambda inclusion: inclusion.query_end, 0),
        traced=True,
    ),
    "first_sstart": Field(
        "whole",
        "first residue of the target in this alignment, or 0",
        _first(lambda inclusion: inclusion.target_start + 1, 0),
        traced=True,
    ),
    "first_send": Field(
        "whole",
        "last residue of the target in this alignment, or 0",
        _first(lambda inclusion: inclusion.target_end, 0),
        traced=True,
    ),
    "device": Field("text", "what computed the score", _repeat(lambda result: result.device)),
    "staxid": Field("text", "first taxonomy id of the target", list_first_taxids),
    "staxids": Field("text", "taxonomy ids of the target, separated by ';'", list_taxids),
    "ssciname": Field(
        "text", "scientific name of the first one", describe_taxa(name_taxon, all_taxa=False)
    ),
    "sscinames": Field(
        "text",
        "scientific names of all, separated by ';'",
        describe_taxa(name_taxon, all_taxa=True),
    ),
    "scomname": Field(
        "text", "common name of the first one", describe_taxa(name_commonly, all_taxa=False)
    ),
    "scomnames": Field(
        "text", "common names of all, separated by ';'", describe_taxa(name_commonly, all_taxa=True)
    ),
    "sskingdom": Field(
        "text", "domain of the first one", describe_taxa(name_kingdom, all_taxa=False)
    ),
    "sskingdoms": Field(
        "text", "domains of all, separated by ';'", describe_taxa(name_kingdom, all_taxa=True)
    ),
    "slineage": Field(
        "text",
        "lineage of the first one, separated by '; '",
        describe_taxa(name_lineage, all_taxa=False),
    ),
}
"""Every field, by its name."""

STANDARD = (
    *("qseqid", "sseqid", "pident", "length", "mismatch", "gapopen"),
    *("qstart", "qend", "sstart", "send", "evalue", "bitscore"),
)
"""BLAST's twelve columns, which `std` stands for."""

BLAST_STANDARD = ("qaccver", "saccver", *STANDARD[2:])
"""The same columns, as BLAST's manual and the comments of its format 7 name them."""

DATA = (
    *("qseqid", "sseqid", "rank", "score", "bitscore", "evalue", "log10_evalue"),
    *("pident", "length", "nident", "mismatch", "positive", "gapopen", "gaps"),
    *("qstart", "qend", "sstart", "send", "sframe", "qlen", "slen", "qcovhsp", "scovhsp", "cigar"),
    *("qtitle", "stitle", "qnum", "snum"),
)
"""What a table for programs has: names, numbers and operations, but no residues."""


TAXIDS = ("staxid", "staxids")
"""Fields that need taxonomy ids of targets."""

TAXA = (*("ssciname", "sscinames", "scomname", "scomnames", "sskingdom", "sskingdoms", "slineage"),)
"""Fields that need the tree of taxa, too."""

BLAST_NAMES = ("sblastname", "sblastnames")
"""BLAST's fields with names of groups that NCBI's taxdump does not have."""


def parse_fields(names: str | Sequence[str], standard: Sequence[str] = STANDARD) -> tuple[str, ...]:
    """Return names of fields, given one by one or as words of a text; `std` stands for twelve.

    Parameters
    ----------
    names
        The names.
    standard
        What `std` stands for.

    Raises
    ------
    InputError
        If there is no such field; the message names the nearest.

    >>> parse_fields(["std", "score"])[-2:]
    ('bitscore', 'score')
    """
    chosen: list[str] = []
    for name in names.split() if isinstance(names, str) else names:
        if name in BLAST_NAMES:
            raise InputError(
                f"there is no field {name!r}: NCBI's taxdump does not have these names; take "
                "sskingdoms or slineage"
            )
        if name != "std" and name not in FIELDS:
            raise InputError(unknown("field", name, [*FIELDS, "std"]))
        chosen += standard if name == "std" else [name]
    return tuple(chosen)


def standardize(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns; if BLAST's twelve are the first, as `STANDARD` names them.

    >>> standardize((*BLAST_STANDARD, "score"))[:2], standardize(["qaccver", "score"])
    (('qseqid', 'sseqid'), ('qaccver', 'score'))
    """
    if tuple(names[: len(STANDARD)]) == BLAST_STANDARD:
        return (*STANDARD, *names[len(STANDARD) :])
    return tuple(names)


def check_fields(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of fields that a file has.

    Raises
    ------
    InputError
        If a field is unknown; the message names the nearest.
    """
    for name in names:
        if name not in FIELDS:
            raise InputError(unknown("field", name, FIELDS))
    return tuple(names)


def check_taxonomy(names: Sequence[str], targets: TargetRecords) -> None:
    """Check that what some fields need of the taxonomy of targets is known.

    Parameters
    ----------
    names, targets
        Names of the fields, and the targets.

    Raises
    ------
    InputError
        If it is not; the message says how to get it.
    """
    if any(name in TAXA for name in names):
        require_taxonomy(targets)
    elif any(name in TAXIDS for name in names):
        require_taxids(targets)


def needs_alignment(names: Sequence[str]) -> bool:
    """Return whether one of these fields is computed from alignments."""
    return any(FIELDS[name].traced for name in names)


def columns(result: AlignedHits, names: Sequence[str]) -> list[Sequence[Any] | NDArray[Any]]:
    """Return the columns of some fields for the hits of one query.

    Parameters
    ----------
    result, names
        The hits, and names of the fields.
    """
    return [FIELDS[name].values(result) for name in names]
