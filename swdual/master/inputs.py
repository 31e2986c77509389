"""Reads the inputs of a search: queries, database and scoring scheme."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.composition.tables import find_tables
from swdual.database.database import Database
from swdual.database.reader import list_files
from swdual.database.source import IN_MEMORY, is_database, read_typed_records
from swdual.database.subset import Subset
from swdual.database.translation import translate_database
from swdual.errors import InputError
from swdual.hits.search_parameters import SearchParameters
from swdual.io.progress import progress_bar
from swdual.io.stream import CHUNK_BYTES
from swdual.masking.mask import BLAST_PREFIX, FILE, STORED, STORED_MASKS, Mask, parse_mask
from swdual.master.later_targets import LaterTargets, require_all_pairs
from swdual.master.memory import limit_to_memory
from swdual.master.selection import apply_taxonomy, choose_targets
from swdual.master.sequence_types import make_database_rule, make_query_rule
from swdual.master.translation import (
    NO_TRANSLATION,
    Translation,
    check_frameshift,
    check_translated_search,
    check_translated_statistics,
    choose_translation,
    refuse_translation,
    translate_query,
)
from swdual.options import SearchOptions
from swdual.profiles.position_scores import PositionScores
from swdual.profiles.query import ProfileQuery, list_profiles
from swdual.runtime.memory import find_allowance
from swdual.sequences import matrices
from swdual.sequences.alphabet import ALPHABETS, LOWER, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.detection import TypeRule
from swdual.sequences.frames import STRANDS, frame_length, is_masked, select_frames
from swdual.sequences.location import Location
from swdual.sequences.objects import plain_source
from swdual.sequences.records import as_sequences, find_alphabet
from swdual.sequences.scoring import PREFERRED_GAPS, ScoringScheme, find_task
from swdual.sequences.sequence import Sequence
from swdual.sequences.translation import CODON
from swdual.sequences.validation import OnInvalid
from swdual.statistics.karlin_altschul import require_negative_mean
from swdual.text.messages import name_some, pluralize

logger = logging.getLogger("swdual")

NO_MASK = Mask("none")


class AllPairs(Enum):
    """What stands in place of the queries where all pairs of the targets are compared."""

    ALL_PAIRS = "all pairs"


ALL_PAIRS = AllPairs.ALL_PAIRS


class SearchInputs(NamedTuple):
    """What a search reads before it starts, and what follows from it.

    Parameters
    ----------
    database, queries
        What is compared: targets, or the frames of targets that are translated; and the queries.
    targets
        The targets as given.
    params
        What decides about hits, with all defaults filled in.
    cells
        Cells of each query.
    later
        Of all pairs: the targets that each query is compared with; None where that is all targets.
    chosen
        Where only some of the targets are compared: their numbers in the input, ascending.
    """

    database: Database
    queries: list[Sequence]
    targets: Database
    params: SearchParameters
    cells: list[int]
    later: LaterTargets | None = None
    chosen: NDArray[np.unsignedinteger] | None = None


def read_inputs(query_source: Any, database_source: Any, options: SearchOptions) -> SearchInputs:
    """Read database and queries, and work out what follows from them.

    Parameters
    ----------
    query_source, database_source
        As for `swdual.search`; `ALL_PAIRS` as the queries: all pairs of the targets.
    options
        All options of the search.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError, MatrixError
        If they cannot be read, do not fit each other, or do not fit into memory.
    """
    all_pairs = query_source is ALL_PAIRS
    if not all_pairs:
        query_source = plain_source(
            query_source,
            none="there are no queries (None); give a path, or sequences",
            on_invalid=options.on_invalid,
        )
    typed = any(isinstance(x, str) and x == "-" for x in (query_source, database_source))
    on_invalid, limit = options.on_invalid, options.memory_limit
    profiles = list_profiles(query_source)
    rule = make_database_rule(options, query_source)
    with progress_bar("reading", "", 1, shown=options.progress is True and not typed):
        whole = open_database(database_source, on_invalid, rule, limit)
        whole = apply_taxonomy(whole, options)
        targets = choose_targets(whole, options)
        translation = NO_TRANSLATION
        if profiles:
            check_profiles(profiles, targets, options)
        elif all_pairs:
            refuse_translation(options)
        else:
            translation = choose_translation(query_source, targets, options)
            check_translated_search(translation, options)
        check_frameshift(translation, options)
        strand = choose_strand(targets, options.strand, translation)
        database = translate_targets(targets, translation, limit)
        if not profiles:
            queries = read_queries(
                database if all_pairs else query_source,
                database,
                make_query_rule(options, database.alphabet),
                on_invalid,
                limit,
                options.choose_mask(translates=translation != NO_TRANSLATION),
                options.lcase_masking,
                translation.query_gencode,
                strand,
                shifts=options.frameshift > 0,
                query_loc=options.query_loc,
            )
    matrix = options.matrix
    if profiles and matrix is None and options.task is None:
        matrix = profiles[0].matrix
    scheme = make_scoring_scheme(
        database,
        matrix,
        options.gap_open,
        options.gap_extend,
        options.reward,
        options.penalty,
        options.task,
    )
    scheme = replace(scheme, frameshift=options.frameshift)
    if options.stats != "none":
        require_negative_mean(scheme.matrix)
    params = options.parameters(scheme, strand, profiles, translation)
    check_translated_statistics(params)
    if targets is not whole and options.search_space == "database":
        params = replace(params, dbsize=params.dbsize or whole.residues, dbseqs=len(whole))
    if translation.db_gencode is not None:
        params = replace(params, dbsize=max(1, (params.dbsize or targets.residues) // CODON))
    logger.debug(
        "scheme: %s, gap open %d, gap extend %d; E-values: %s",
        scheme.matrix.name,
        scheme.gap_open,
        scheme.gap_extend,
        params.stats,
    )
    if params.adjusts:
        require_composition(database, params)
    if all_pairs:
        params = replace(params, all_pairs=True)
        require_all_pairs(database, queries, params, options.dbtype)
    if profiles:
        queries = [ProfileQuery.of(profile, adjusts=params.adjusts) for profile in profiles]
    params = replace(
        params,
        db_hard_mask=_find_target_mask(database, options.db_hard_mask, "db_hard_mask"),
        db_soft_mask=_find_target_mask(database, options.db_soft_mask, "db_soft_mask"),
    )
    if params.db_mask is not None:
        logger.debug("targets masked by %s", params.db_mask)
        database = database.masked(params.db_mask)
    later = LaterTargets.of(database) if all_pairs else None
    compared = [database.residues] * len(queries)
    if later is not None:
        compared = later.count_all_residues(database).tolist()
    chosen = targets.selection.ordinals if isinstance(targets, Subset) else None
    if translation.db_gencode is None and params.db_mask is not None:
        whole = whole.masked(params.db_mask)
    cells = [
        frame_length(query) * residues * params.frame_count
        for query, residues in zip(queries, compared, strict=True)
    ]
    return SearchInputs(database, queries, whole, params, cells, later, chosen)


def _find_target_mask(database: Database, text: str, option: str) -> str:
    """Return the name of the mask that an option asks for.

    Parameters
    ----------
    database
        The targets.
    text, option
        The value of the option, and its name.

    Raises
    ------
    InputError
        If the database holds no such mask, or several, or the method masks other sequences.
    """
    held = ", ".join(database.masks) or "no mask"
    if text == STORED:
        if len(database.masks) == 1:
            return database.masks[0]
        raise InputError(
            f"`{option}='stored'` needs one mask, but {database.name} holds {held}; "
            + ("name one of them" if database.masks else "build it with 'swdual makedb --mask'")
        )
    if text in database.masks:
        return text
    if text in STORED_MASKS or text.startswith(BLAST_PREFIX):
        source = "--mask-file FILE" if text == FILE else f"--mask {text}"
        remedy = f"build it with 'swdual makedb {source}'"
        if text.startswith(BLAST_PREFIX):
            remedy = "'swdual info' shows the names"
        raise InputError(f"`{option}={text!r}`: {database.name} holds {held}; {remedy}")
    mask = parse_mask(text, option)
    mask.require(database.alphabet, option)
    return str(mask)


def require_composition(database: Database, params: SearchParameters) -> None:
    """Check that scores can be adjusted for composition.

    Parameters
    ----------
    database, params
        The targets, and the options of the search.

    Raises
    ------
    InputError
        If the database holds nucleotides.
    StatisticsUnavailable
        If there are no residue pair frequencies for the matrix.
    """
    if database.alphabet is not PROTEIN:
        raise InputError(
            f"`comp_based_stats={params.comp_based_stats}` is for proteins, but {database.name} "
            "holds nucleotides; use `comp_based_stats=0`"
        )
    find_tables(params.scheme)


def open_database(
    source: Any,
    on_invalid: OnInvalid = "error",
    dbtype: str | TypeRule = "auto",
    memory_limit: int | None = None,
) -> Database:
    """Return the database: an open one, that of a file, or sequences to index.

    Parameters
    ----------
    source, on_invalid, memory_limit
        As the database and the options of `swdual.search`.
    dbtype
        As the option of this name, or a rule that knows more options.

    Raises
    ------
    InputError, DatabaseError, MemoryLimitError
        If it cannot be read, is empty or of another type, or does not fit into memory.
    """
    rule = TypeRule(dbtype) if isinstance(dbtype, str) else dbtype
    if not isinstance(source, Database):
        source = plain_source(
            source,
            none="there is no database (None); give a path, or sequences",
            on_invalid=on_invalid,
        )
    files = list_files(source)
    if len(files) == 1 and is_database(files[0]):
        source = Database.open(files[0])
    if isinstance(source, Database):
        if rule.given not in (None, source.alphabet):
            raise InputError(
                f"{source.name} holds {source.alphabet.plural}, but `dbtype={rule.dbtype!r}` was "
                "given"
            )
        return _log_database(source)
    if files:
        return _log_database(
            Database.from_files(
                files, dbtype=rule, on_invalid=on_invalid, memory_limit=memory_limit
            )
        )
    batches, alphabet = read_typed_records(source, rule, on_invalid)
    return _log_database(Database.from_batches(batches, alphabet, IN_MEMORY))


def _log_database(database: Database) -> Database:
    """Log what a database holds, and return it."""
    logger.debug(
        "database: %s: %s of %s, longest %s, written by %s",
        database.name,
        database.describe_sequences(),
        pluralize(database.residues, "residue", "residues"),
        f"{database.manifest.longest:,}",
        database.manifest.writer,
    )
    return database


def translate_targets(
    database: Database, translation: Translation, memory_limit: int | None = None
) -> Database:
    """Return what is compared of a database: its frames, if it is translated.

    Parameters
    ----------
    database, translation
        The targets as given, and what is translated.
    memory_limit
        As the option of `swdual.search`.

    Raises
    ------
    MemoryLimitError
        If the frames do not fit into memory.
    """
    if translation.db_gencode is None:
        return database
    logger.debug("database: translated by genetic code %d", translation.db_gencode)
    return translate_database(database, translation.db_gencode, memory_limit)


def choose_strand(
    database: Database, strand: str | None, translation: Translation = NO_TRANSLATION
) -> str:
    """Return the strand to compare.

    Parameters
    ----------
    database
        What is searched.
    strand
        As the option of `swdual.search`. None: both of nucleotides, "plus" of proteins.
    translation
        What is translated.

    Raises
    ------
    InputError
        If there is no such strand, or the queries are proteins.
    """
    bases = database.alphabet is NUCLEOTIDE and translation.db_gencode is None
    bases |= translation.query_gencode is not None
    if strand is None:
        return "both" if bases else "plus"
    if strand not in STRANDS:
        raise InputError(f"`strand` is {strand!r}, but it must be plus, minus or both")
    if translation.db_gencode is not None and not bases:
        raise InputError("`strand` is for queries of nucleotides, but these are proteins")
    if not bases:
        raise InputError(f"`strand` is for nucleotides, but {database.name} holds proteins")
    return strand


def read_queries(
    source: Any,
    database: Database,
    rule: TypeRule,
    on_invalid: OnInvalid,
    memory_limit: int | None = None,
    mask: Mask = NO_MASK,
    lcase_masking: bool = False,
    query_gencode: int | None = None,
    strand: str = "plus",
    *,
    shifts: bool = False,
    query_loc: str | None = None,
) -> list[Sequence]:
    """Return the queries, in their order, with their masked letters.

    Parameters
    ----------
    source
        As the queries of `swdual.search`; the database itself for its own sequences.
    database
        What is searched; the queries are read in its alphabet unless they are translated.
    rule
        What decides about the type of the queries, besides their letters.
    on_invalid, memory_limit
        As the options of `swdual.search`.
    mask, lcase_masking
        What is masked.
    query_gencode, strand
        The genetic code by which queries of nucleotides are translated, or None; and the strand.
    shifts
        Whether alignments may change the frame.
    query_loc
        As the option of `swdual.search`.

    Raises
    ------
    InputError
        If they cannot be read, look like nucleotides but the database holds proteins, or the mask
        is for others.
    MemoryLimitError
        If they do not fit into memory beside the database.
    """
    alphabet = database.alphabet
    mask.require(alphabet, "mask")
    masks = lcase_masking or mask.name != "none"
    read_as = alphabet.cased if lcase_masking else alphabet
    if query_gencode is not None:
        read_as = NUCLEOTIDE
    found: Iterator[Sequence]
    if source is database:
        found = (Sequence(each.title, each.unmasked, alphabet) for each in database)
    else:
        found = as_sequences(source, read_as, on_invalid=on_invalid, unnamed="query")
    seen: list[tuple[str, bytes]] = []
    found = _sample(found, seen)
    if query_loc is not None:
        found = _cut_queries(found, query_loc)
    if query_gencode is not None:
        frames = select_frames(strand, translated=True)
        found = (
            translate_query(query, query_gencode, frames, mask, shifts=shifts) for query in found
        )
    elif masks:
        found = (_mask_letters(query, mask, alphabet) for query in found)
    queries = list(limit_to_memory(found, database.held_bytes, find_allowance(memory_limit)))
    if source is not database:
        _warn_of_names(queries)
    if alphabet is PROTEIN and query_gencode is None and source is not database:
        _refuse_nucleotides(seen, database, rule, source)
    residues = sum(len(query.codes) for query in queries)
    logger.debug(
        "queries: %s, %s",
        pluralize(len(queries), "query", "queries"),
        pluralize(residues, "residue", "residues"),
    )
    if masks:
        logger.debug(
            "masked by %s: letters of %s",
            " and ".join([str(mask)] * (mask.name != "none") + ["lower case"] * lcase_masking),
            pluralize(sum(map(is_masked, queries)), "query", "queries"),
        )
    return queries


def _sample(queries: Iterator[Sequence], seen: list[tuple[str, bytes]]) -> Iterator[Sequence]:
    """Yield queries; keep the identifiers and letters of the first, which tell their type."""
    size = 0
    for query in queries:
        if size < CHUNK_BYTES:
            seen.append((query.id, query.letters.encode()))
            size += len(query)
        yield query


def _cut_queries(queries: Iterator[Sequence], query_loc: str) -> Iterator[Sequence]:
    """Yield a part of each query; log a warning if some end before it.

    Raises
    ------
    InputError
        If all of them do.
    """
    part = Location.of(query_loc)
    count, left_out = 0, []
    for query in queries:
        count += 1
        cut = part.cut(query)
        if len(cut):
            yield cut
        else:
            left_out.append(query.id)
    if left_out:
        ended = pluralize(len(left_out), "query ends", "queries end")
        found = f"`query_loc` is {query_loc!r}, but {ended} before letter {part.first:,}"
        if count == len(left_out):
            raise InputError(f"{found}: {name_some(left_out)}")
        logger.warning("%s; left out: %s", found, name_some(left_out))


def _warn_of_names(queries: list[Sequence]) -> None:
    """Log a warning if there are no queries, or if some cannot be told by their identifiers."""
    if not queries:
        logger.warning("there are no queries")
    counts = Counter(query.id for query in queries)
    repeated = len(queries) - len(counts)
    if repeated:
        logger.warning(
            "%s, such as %s; an identifier ends at the first blank",
            pluralize(
                repeated,
                "query repeats the identifier of an earlier one",
                "queries repeat the identifier of an earlier one",
            ),
            counts.most_common(1)[0][0],
        )


def check_profiles(
    profiles: list[PositionScores], database: Database, options: SearchOptions
) -> None:
    """Check that profiles can be searched together in a database.

    Parameters
    ----------
    profiles
        The profiles.
    database
        What is searched.
    options
        All options of the search.

    Raises
    ------
    InputError
        If they were made from several matrices, only a part is to be compared, or
        `require_profile_search` finds something.
    """
    require_profile_search(database, options)
    if options.query_loc is not None:
        raise InputError("`query_loc` takes a part of sequences, not of profiles; leave it out")
    names = list(dict.fromkeys(profile.matrix for profile in profiles))
    if len(names) > 1:
        raise InputError(
            f"the profiles were made from {' and '.join(names)}; search those of one matrix at a "
            "time"
        )
    logger.debug("queries: %s", pluralize(len(profiles), "profile", "profiles"))


def require_profile_search(database: Database, options: SearchOptions) -> None:
    """Check that profiles can be searched in a database with these options.

    Parameters
    ----------
    database
        What is searched.
    options
        All options of the search.

    Raises
    ------
    InputError
        If the database holds nucleotides, or an option is not for profiles.
    """
    if database.alphabet is not PROTEIN:
        raise InputError(
            f"a profile scores proteins, but {database.name} holds nucleotides; search a database "
            "of proteins"
        )
    masks = options.mask not in (None, "none")
    if masks or options.lcase_masking:
        name = "mask" if masks else "lcase_masking"
        raise InputError(
            f"`{name}` masks the letters of queries, but a profile is compared by its scores; "
            "leave it out"
        )


def _mask_letters(query: Sequence, mask: Mask, alphabet: Alphabet) -> Sequence:
    """Return a query with its masked letters.

    Parameters
    ----------
    query
        The query; letters to be masked have codes with `LOWER`.
    mask
        What finds further letters.
    alphabet
        Of the result.
    """
    cased = np.frombuffer(query.codes, np.uint8).copy()
    codes = cased & (LOWER - 1)
    for start, end in mask.find(codes.tobytes(), alphabet).tolist():
        cased[start:end] |= LOWER
    return Sequence.of_cased(query.title, cased.tobytes(), alphabet).at_location_of(query)


def _refuse_nucleotides(
    queries: list[tuple[str, bytes]], database: Database, rule: TypeRule, source: Any
) -> None:
    """Raise an error if queries that were read as proteins are nucleotides; warn if some are.

    Parameters
    ----------
    queries
        Identifiers and letters of whole queries.
    database, rule, source
        As for `read_queries`.
    """
    if rule.given is PROTEIN:
        return
    known = find_alphabet(source)
    found = known or rule.decide(b"".join(letters for _, letters in queries)).alphabet
    if found is NUCLEOTIDE:
        raise InputError(
            f"the queries look like nucleotides, but they are compared with the proteins of "
            f"{database.name}; use `task='blastx'` or `task='tblastx'`, which translate them, or "
            "`dbtype='prot'` if they are proteins",
            file=source if isinstance(source, os.PathLike) else None,
        )
    bases = TypeRule(expected=PROTEIN)  # which nothing but many bases overrules
    mixed = [
        name
        for name, letters in queries
        if known is None and bases.decide(letters).alphabet is NUCLEOTIDE
    ]
    if mixed:
        logger.warning(
            "%s, as the others are, such as %s; search nucleotides by themselves, or use "
            "`dbtype='prot'` if they are proteins",
            pluralize(
                len(mixed),
                "query looks like nucleotides but is read as a protein",
                "queries look like nucleotides but are read as proteins",
            ),
            mixed[0],
        )


def make_scoring_scheme(
    database: Database,
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | matrices.LetterScores | None,
    gap_open: int | None,
    gap_extend: int | None,
    reward: int | None,
    penalty: int | None,
    task: str | None = None,
) -> ScoringScheme:
    """Return the scoring scheme of a search.

    Parameters
    ----------
    database
        What is searched.
    matrix, gap_open, gap_extend, reward, penalty, task
        As the options of `swdual.search`. None: the default of the task; the default task is that
        of the database's kind.

    Raises
    ------
    InputError, MatrixError
        If the options contradict each other or the database, or there is no such task or matrix.
    """
    bases = database.alphabet is NUCLEOTIDE
    chosen_task = find_task(task or ("blastn" if bases else "blastp"))
    if chosen_task.dbtype != database.alphabet.name:
        raise InputError(
            f"`task={task!r}` compares {ALPHABETS[chosen_task.dbtype].plural}, but "
            f"{database.name} holds {database.alphabet.plural}"
        )
    if (reward, penalty) != (None, None):
        if not bases:
            raise InputError(
                "`reward` and `penalty` score nucleotides, but proteins are compared; leave them "
                "out"
            )
        if matrix is not None:
            raise InputError(
                "`reward` and `penalty` cannot be combined with `matrix`; leave out one of them"
            )
    if isinstance(matrix, matrices.SubstitutionMatrix):
        if matrix.alphabet is not database.alphabet:
            raise InputError(
                f"matrix {matrix.name} scores {matrix.alphabet.plural}, but {database.name} holds "
                f"{database.alphabet.plural}"
            )
        chosen = matrix
    elif matrix is None and bases:
        chosen = matrices.match_mismatch(
            chosen_task.reward if reward is None else reward,
            chosen_task.penalty if penalty is None else penalty,
        )
    else:
        chosen = matrices.load(chosen_task.matrix if matrix is None else matrix, database.alphabet)
    default_open, default_extend = (
        (chosen_task.gap_open, chosen_task.gap_extend)
        if bases
        else PREFERRED_GAPS.get(chosen.name, (11, 1))
    )
    return ScoringScheme(
        chosen,
        default_open if gap_open is None else gap_open,
        default_extend if gap_extend is None else gap_extend,
    )
