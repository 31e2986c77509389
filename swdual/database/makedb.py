"""From sequences, in files or in memory, to a database file."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from swdual.database.build import MAX_RUNS, build, largest_memory_plan
from swdual.database.database import Database
from swdual.database.layout import BLOCK_BYTES, MAGIC, MAX_SHARDS, SHARD_MAGIC
from swdual.database.masks import MASKING_BYTES, MaskRequest, mark_batches, parse_masks
from swdual.database.memory import fit_memory_plan
from swdual.database.source import (
    IN_MEMORY,
    TypedBatches,
    read_typed_batches,
    read_typed_records,
    split_sources,
)
from swdual.database.storage import shard_path
from swdual.database.taxids import TaxidSource
from swdual.errors import InputError, OutputError
from swdual.io.file_kind import FileKind, begins_with
from swdual.io.output import Output, replace_file
from swdual.io.progress import Bar, progress_bar
from swdual.io.stream import Source
from swdual.runtime.keywords import (
    insert_parameters,
    merge_signatures,
    refuse_unknown,
    share_help,
)
from swdual.runtime.memory import find_allowance
from swdual.runtime.system import more_open_files
from swdual.sequences.detection import TypeRule
from swdual.sequences.objects import plain_source
from swdual.sequences.validation import OnInvalid
from swdual.taxonomy.taxdump import read_taxonomy
from swdual.taxonomy.taxid_list import parse_taxid
from swdual.text.messages import pluralize
from swdual.text.url import is_url, redact_name

logger = logging.getLogger("swdual")

DATABASE = FileKind("a database of swdual", (), begins_with(MAGIC))
SHARD = FileKind("a shard of a database", (), begins_with(SHARD_MAGIC))

OTHER_FILES = 64
"""What a process has open besides shards and sorted runs."""


class MakedbKeywords(TypedDict, total=False):
    """The names and types of `MakedbOptions`, as keyword arguments."""

    dbtype: str
    title: str | None
    on_invalid: OnInvalid
    force: bool
    memory_limit: int | None
    shards: int | None
    mask: str | Iterable[str]
    mask_file: Source | None
    taxid: int | None
    taxid_map: Source | None
    taxonomy: Source | None
    progress: Callable[[int], None] | bool


@dataclass(frozen=True, kw_only=True)
class MakedbOptions:
    """The options of `makedb`.

    Parameters
    ----------
    dbtype
        "prot", "nucl", or "auto": nucleotides if the first file is FASTQ, or if at least 90 % of
        the letters in its first 4 MiB are A, C, G, T, U or N, else proteins. If fewer than 50
        letters are nucleotides, the others must be IUPAC's codes. See docs/searches.md.
    title
        What the database is called; by default the name of the first file.
    on_invalid
        What becomes of letters that are none: see `read_batches`.
    force
        Replace an existing file.
    memory_limit
        Bytes of memory to use at most, if no single sequence needs more; by default what machine
        and job have, less a tenth. The file does not depend on it.
    shards
        Put the residues into so many files, `path` with ``.000``, ``.001`` and so on behind it, of
        about equal size and with long and short targets alike. A machine can do with some of them,
        and with `path`, in which the rest is.
    mask
        Masks whose intervals the database holds, one or several, at most three: "seg" (proteins),
        "dust" (nucleotides) or "tantan", alone or with numbers, as in "seg:10,1.8,2.1"; or "lcase",
        letters in lower case. "none" is no mask. Residues stay as they are.
    mask_file
        A file of intervals, as ``swdual mask -f interval`` writes it for the same sequences: it
        becomes a mask named "file".
    taxid
        The taxonomy id of all sequences. By default each has the one that its header line states:
        ``OX=9606`` in UniProt, ``TaxID=9606`` in UniRef.
    taxid_map
        A table of the taxonomy ids of sequences, in place of those of header lines: an identifier
        and an id a line, as for makeblastdb's option of this name, or a table of NCBI's such as
        prot.accession2taxid.gz. An identifier with a version, such as ``P01013.1``, also has the id
        of that without.
    taxonomy
        NCBI's taxdump: the folder with nodes.dmp and names.dmp, or taxdump.tar.gz. The database
        keeps what its ids need of the tree.
    progress
        True draws a bar; a function is called with the number of residues of each batch read.

    Raises
    ------
    InputError
        If there are too many shards, or none, or there is no such mask; or if `taxid` is no
        taxonomy id, or is given with `taxid_map`.
    """

    dbtype: str = "auto"
    title: str | None = None
    on_invalid: OnInvalid = "error"
    force: bool = False
    memory_limit: int | None = None
    shards: int | None = None
    mask: str | Iterable[str] = "none"
    mask_file: Source | None = None
    taxid: int | None = None
    taxid_map: Source | None = None
    taxonomy: Source | None = None
    progress: Callable[[int], None] | bool = False

    def __post_init__(self) -> None:
        texts = (self.mask,) if isinstance(self.mask, str) else tuple(self.mask)
        object.__setattr__(self, "mask", texts)
        parse_masks(texts, self.mask_file)
        if self.taxid is not None:
            parse_taxid(str(self.taxid), "taxid")
            if self.taxid_map is not None:
                raise InputError("`taxid` and `taxid_map` exclude each other; give one")
        if self.shards is not None and not 1 <= self.shards <= MAX_SHARDS:
            raise InputError(f"{self.shards} shards, but there may be 1 to {MAX_SHARDS}")


def makedb(sources: Any, path: Source, **options: Unpack[MakedbKeywords]) -> Database:
    """Write sequences to a database file, and return it opened.

    The file appears under its name only when complete. By default memory stays below 1 GiB for
    any input, as long as no single sequence is longer than about 200 million residues.

    Parameters
    ----------
    sources
        One path or several: FASTA or FASTQ files (plain, gz, bz2, xz or zst; "-" is standard
        input), or databases of BLAST, MMseqs2 or DIAMOND. Or sequences, as `swdual.search` takes
        them: a dictionary of ids to sequences, Biopython records, (id, sequence) pairs in a list,
        or an iterable of these. Text is a path.
    path
        The database file.

    Raises
    ------
    InputError
        If a source cannot be read or is not as it should be.
    MemoryLimitError
        If that is too little memory; says what would be enough.
    OutputError
        If the database cannot be written, or exists and `force` is not given.
    """
    refuse_unknown("makedb", options, MakedbKeywords.__annotations__)
    return _make_database(sources, path, MakedbOptions(**options))


# `help` shows each option of `MakedbOptions`, in the signature and explained.
insert_parameters(makedb, MakedbOptions)
share_help(makedb, merge_signatures(makedb, MakedbOptions.__init__), makedb)


def _make_database(sources: Any, path: Source, options: MakedbOptions) -> Database:
    paths, records = split_sources(plain_source(sources, on_invalid=options.on_invalid))
    target, *shards = _choose_places(path, options.shards or 0)
    allowed = find_allowance(options.memory_limit)
    logger.debug("memory: at most %s MiB (%s)", f"{allowed.bytes / 2**20:,.0f}", allowed.source)
    masks = parse_masks(options.mask, options.mask_file)
    marking = MASKING_BYTES if masks.names else 0
    room = fit_memory_plan(largest_memory_plan(), BLOCK_BYTES, allowed, marking)
    typed = _read_records(paths, records, masks, options)
    name = pluralize(len(paths), "file", "files") if paths else IN_MEMORY
    logger.debug("reading %s as %s", name, typed.alphabet.plural)

    taxonomy = None if options.taxonomy is None else read_taxonomy(options.taxonomy)
    taxids = TaxidSource(options.taxid, options.taxid_map, taxonomy, options.progress is True)
    others = (options.mask_file, options.taxid_map)
    inputs = [*paths, *(path for path in others if path is not None)]

    def output(place: Path, kind: FileKind) -> AbstractContextManager[Output]:
        return replace_file(place, kind, force=options.force, inputs=inputs)

    # What is entered first gets its name last: the database, once all of its shards have theirs.
    with more_open_files(len(shards) + MAX_RUNS + OTHER_FILES), ExitStack() as files:
        shown = options.progress is True and not _reads_terminal(paths)
        bar = files.enter_context(
            progress_bar("building the database", "M residues/s", 1e6, shown=shown)
        )
        stream = files.enter_context(output(target, DATABASE))
        build(
            typed,
            stream,
            scratch=target.parent,
            room=room,
            shards=[files.enter_context(output(place, SHARD)) for place in shards],
            taxids=taxids,
            progress=options.progress if callable(options.progress) else _counting(bar),
        )
    _remove_shards(target, len(shards))
    database = Database.open(target)
    logger.debug(
        "database: %s, longest %s, in %s",
        database.describe_sequences(),
        f"{database.manifest.longest:,}",
        pluralize(len(database.manifest.blocks), "block", "blocks"),
    )
    return database


def _choose_places(path: Source, shards: int) -> list[Path]:
    """Return where the database and its shards are to be; each can be a file there."""
    if is_url(path):
        raise OutputError(
            "is a URL, but a database is written to local files; write it here, and copy it there, "
            "with all of its shards",
            file=path,
        )
    if os.fspath(path) == "-":
        raise InputError("a database is a file: it cannot be written to standard output")
    target = Path(path)
    places = [target, *(shard_path(target, number) for number in range(shards))]
    for place in places:
        if os.path.exists(place) and not os.path.isfile(place):
            kind = "Is a directory" if os.path.isdir(place) else "Not a regular file"
            raise OutputError(f"{kind}, but a database is a regular file", file=place)
    return places


def _read_records(
    paths: list[Source], records: Any, masks: MaskRequest, options: MakedbOptions
) -> TypedBatches:
    """Return the records of files, or those in memory, with title and masks of the database."""
    rule, on_invalid, keeps_case = TypeRule(options.dbtype), options.on_invalid, masks.keeps_case
    if paths:
        typed = read_typed_batches(paths, rule, on_invalid, keeps_case=keeps_case, keeps_masks=True)
        title = redact_name(os.fspath(paths[0])) if typed.title is None else typed.title
    else:
        batches, alphabet = read_typed_records(records, rule, on_invalid, keeps_case=keeps_case)
        typed, title = TypedBatches(batches, alphabet), IN_MEMORY
    if masks.names:
        masks = masks.behind(typed.masks)
        marked = mark_batches(typed.batches, masks, typed.alphabet)
        typed = typed._replace(batches=marked, masks=masks.names)
    return typed._replace(title=title if options.title is None else options.title)


def _reads_terminal(paths: list[Source]) -> bool:
    """Return whether the user types the records."""
    from_stdin = any(os.fspath(path) == "-" for path in paths)
    return from_stdin and sys.stdin is not None and sys.stdin.isatty()


def _counting(bar: Bar) -> Callable[[int], None]:
    """Return what adds residues to those that the bar shows."""
    read = 0

    def count(residues: int) -> None:
        nonlocal read
        read += residues
        bar(read, None)

    return count


def _remove_shards(target: Path, first: int) -> None:
    """Remove the shards that a database of this name once had, from a number on."""
    for number in range(first, MAX_SHARDS):
        path = shard_path(target, number)
        with suppress(OSError):
            with path.open("rb") as file:
                ours = file.read(len(SHARD_MAGIC)) == SHARD_MAGIC
            if ours:
                path.unlink()
