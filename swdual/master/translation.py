"""Decides what is translated: by the task, or by the types of queries and database."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from swdual.database.database import Database
from swdual.errors import InputError
from swdual.hits.search_parameters import SearchParameters
from swdual.masking.mask import Mask
from swdual.master.sequence_types import look_at, make_query_rule
from swdual.options import SearchOptions
from swdual.sequences.alphabet import ALPHABETS, LOWER, NUCLEOTIDE, PROTEIN
from swdual.sequences.frames import TranslatedSequence
from swdual.sequences.genetic_codes import STANDARD
from swdual.sequences.scoring import find_task
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON, translate, translate_target

logger = logging.getLogger("swdual")

LINKED_PROGRAMS = ("blastx", "tblastn")
"""Programs that have sum statistics."""


class Translation(NamedTuple):
    """The genetic codes by which queries and targets are translated; None where they are not."""

    query_gencode: int | None = None
    db_gencode: int | None = None


NO_TRANSLATION = Translation()


def choose_translation(source: Any, database: Database, options: SearchOptions) -> Translation:
    """Return what is translated.

    Without a task, nucleotides are translated that are searched in proteins, and nucleotides in
    which proteins are searched.

    Parameters
    ----------
    source
        As the queries of `swdual.search`; no profiles.
    database
        What is searched.
    options
        All options of the search.

    Raises
    ------
    InputError
        If the task, or a genetic code, does not fit queries and database.
    """
    bases = database.alphabet is NUCLEOTIDE
    task, query_gencode, db_gencode = options.task, options.query_gencode, options.db_gencode
    if task is not None:
        chosen = find_task(task)
        queries, targets = chosen.translates_queries, chosen.translates_targets
        wanted = NUCLEOTIDE if targets else ALPHABETS[chosen.dbtype]
        if wanted is not database.alphabet:
            raise InputError(
                f"`task={task!r}` {'searches' if queries or targets else 'compares'} "
                f"{wanted.plural}, but {database.name} holds {database.alphabet.plural}"
            )
    else:
        decision = look_at(source, make_query_rule(options, database.alphabet))
        if decision.is_guessed and decision.is_doubtful:
            logger.warning(
                "the queries could be nucleotides or proteins, and are read as %s, as %s; for "
                "%s use `task=%r`",
                database.alphabet.plural,
                database.name,
                "proteins" if bases else "nucleotides",
                "tblastn" if bases else "blastx",
            )
        queries = not bases and decision.alphabet is NUCLEOTIDE
        targets = bases and decision.alphabet is PROTEIN
    if query_gencode is not None and not queries:
        kind = "proteins" if targets or not bases else "compared as nucleotides"
        raise InputError(
            f"`query_gencode={query_gencode}` translates queries, but these are {kind}; leave it "
            "out" + ("" if targets or not bases else ", or use `task='tblastx'`")
        )
    if db_gencode is not None and not targets:
        kind = "is compared as nucleotides" if bases else "holds proteins"
        raise InputError(
            f"`db_gencode={db_gencode}` translates the database, but {database.name} {kind}; leave "
            "it out" + (", or use `task='tblastn'` or `task='tblastx'`" if bases else "")
        )
    return Translation(
        (query_gencode or STANDARD) if queries else None,
        (db_gencode or STANDARD) if targets else None,
    )


def log_translation(translation: Translation) -> None:
    """Tell what is translated where no task was asked for.

    Parameters
    ----------
    translation
        As `choose_translation` returns it.
    """
    if translation.query_gencode is not None:
        logger.info(
            "the queries look like nucleotides and are translated; for proteins use `dbtype='prot'`"
        )
    if translation.db_gencode is not None:
        logger.info("the queries look like proteins, so the database is translated")


def check_translated_search(translation: Translation, options: SearchOptions) -> None:
    """Check that the options are for a translated search, if it is one.

    Raises
    ------
    InputError
        If one is not; names it.
    """
    if translation == NO_TRANSLATION:
        return
    if options.comp_based_stats and None not in translation:
        raise InputError(
            f"`comp_based_stats={options.comp_based_stats}` is not for searches that translate "
            "queries and targets (tblastx); use 0, their default"
        )
    if options.comp_based_stats and options.frameshift:
        raise InputError(
            f"`comp_based_stats={options.comp_based_stats}` cannot be combined with `frameshift`; "
            "use 0, the default with it"
        )
    if options.adjust != "candidates":
        raise InputError("`adjust` is not for translated searches; leave it out")
    if options.lcase_masking:
        raise InputError(
            "`lcase_masking` is not for translated searches; `mask` masks the frames of queries"
        )
    masked = [name for name in ("db_hard_mask", "db_soft_mask") if getattr(options, name) != "none"]
    if masked and translation.db_gencode is not None:
        raise InputError(f"`{masked[0]}` is not for databases that are translated; leave it out")


def check_frameshift(translation: Translation, options: SearchOptions) -> None:
    """Check that the search can have frameshifts, if they are allowed.

    Raises
    ------
    InputError
        If it cannot; names the reason.
    """
    if not options.frameshift:
        return
    if translation.query_gencode is None or translation.db_gencode is not None:
        raise InputError(
            f"`frameshift={options.frameshift}` is for translated nucleotides that are searched in "
            "proteins (blastx); leave it out"
        )
    if options.max_hsps != 1:
        raise InputError(
            f"`frameshift` finds one alignment of a target, but `max_hsps={options.max_hsps}` asks "
            "for more; leave out one of them"
        )
    for name in ("sum_stats", "soft_masking"):
        if getattr(options, name):
            raise InputError(f"`{name}` cannot be combined with `frameshift`; leave it out")
    if isinstance(options.device, str) and options.device not in ("auto", "cpu"):
        raise InputError(
            f"`device={options.device!r}` asks for GPUs, whose kernels have no frameshifts; use "
            "`device='cpu'`"
        )


def refuse_translation(options: SearchOptions) -> None:
    """Check that the options ask for no translation, where sequences are compared as they are.

    Raises
    ------
    InputError
        If one does; names it.
    """
    for name in ("query_gencode", "db_gencode"):
        if getattr(options, name) is not None:
            raise InputError(
                f"`{name}={getattr(options, name)}` translates nucleotides, but all pairs of "
                "sequences are compared as they are; leave it out"
            )
    task = None if options.task is None else find_task(options.task)
    if task is not None and (task.translates_queries or task.translates_targets):
        raise InputError(
            f"`task={options.task!r}` translates nucleotides, but all pairs of sequences are "
            "compared as they are; leave it out"
        )


def check_translated_statistics(params: SearchParameters) -> None:
    """Check that the E-values are those of the table, or none, if the search is translated.

    Raises
    ------
    InputError
        If they are to be fitted, or if there shall be sum statistics where there are none.
    """
    if params.translates and params.stats == "fit":
        raise InputError(
            f"scores of translated searches are not fitted, and {params.scheme.matrix.name} has no "
            "table of statistics; use `stats='none'`, or another matrix with `stats='table'`"
        )
    if params.sum_stats and (params.stats != "table" or params.program not in LINKED_PROGRAMS):
        raise InputError(
            "`sum_stats=True` is for proteins and translated nucleotides (blastx, tblastn) with "
            "`stats='table'`; leave it out"
        )


def translate_query(
    query: Sequence, genetic_code: int, frames: tuple[int, ...], mask: Mask, *, shifts: bool = False
) -> TranslatedSequence:
    """Return a query with the proteins of its frames, and their masked letters.

    Shorter frames come first: of equal scores they have the smaller E-value, and win. A query that
    is shorter than a codon has one frame of X, as a target has, which finds nothing.

    Parameters
    ----------
    query
        Nucleotides.
    genetic_code, frames
        By which code, and what is compared.
    mask
        What masks the frames.
    shifts
        Whether alignments may change the frame: see `TranslatedSequence`.
    """
    if len(query.codes) < CODON:
        frame = frames[0]
        read = Sequence(query.title, translate_target(query.codes, frame, genetic_code))
        return TranslatedSequence(
            query.title,
            query.codes,
            NUCLEOTIDE,
            genetic_code=genetic_code,
            frames=((frame, read),),
            shifts=shifts,
        )
    reads = [(frame, _read_frame(query, genetic_code, frame, mask)) for frame in frames]
    if shifts:
        signs = sorted({int(np.sign(frame)) for frame in frames}, reverse=True)
        found = [
            (sign, _join_frames(query, [read for frame, read in reads if frame * sign > 0]))
            for sign in signs
        ]
    else:
        found = sorted(
            ((frame, read) for frame, read in reads if len(read)), key=lambda pair: len(pair[1])
        )
    return TranslatedSequence(
        query.title,
        query.codes,
        NUCLEOTIDE,
        genetic_code=genetic_code,
        frames=tuple(found),
        shifts=shifts,
    ).at_location_of(query)


def _join_frames(query: Sequence, reads: list[Sequence]) -> Sequence:
    """Return the residues of three frames in the order of the first bases of their codons."""
    rows = len(query.codes) - CODON + 1
    codes, shown = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
    for k, read in enumerate(reads):
        codes[k::CODON] = np.frombuffer(read.codes, np.uint8)
        shown[k::CODON] = np.frombuffer(read.letters.encode(), np.uint8)
    masked = any(read.shown for read in reads)
    return Sequence(query.title, codes.tobytes(), PROTEIN, shown.tobytes().decode() * masked)


def _read_frame(query: Sequence, genetic_code: int, frame: int, mask: Mask) -> Sequence:
    """Return the protein of a frame; letters that are shown and not scored are masked."""
    scored = translate(query.codes, frame, genetic_code)
    shown = translate(query.codes, frame, genetic_code, shows_mixed=True)
    cased, masked = np.frombuffer(shown, np.uint8).copy(), np.frombuffer(scored, np.uint8).copy()
    for start, end in mask.find(scored, PROTEIN).tolist():
        cased[start:end] |= LOWER
        masked[start:end] = PROTEIN.letters.index(PROTEIN.wildcard)
    if np.array_equal(cased, masked):
        return Sequence(query.title, scored, PROTEIN)
    letters = PROTEIN.cased.decode(cased.tobytes())
    return Sequence(query.title, masked.tobytes(), PROTEIN, letters)
