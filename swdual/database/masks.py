"""Masks of a database: which ones to build, and the marks of masked letters while it is built.

While a database is built, each mask has a bit of the residue codes: ``LOWER`` for the first, twice
that for the second, and so on. So the marks are sorted together with the residues, in memory and on
disk. They become intervals when a block is written.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from swdual.database.layout import MAX_MASKS
from swdual.database.writing import pad_lengths
from swdual.errors import InputError
from swdual.io.stream import Source
from swdual.masking.mask import FILE, LOWER_CASE, Mask, parse_mask
from swdual.runtime.system import available_threads
from swdual.sequences.alphabet import LOWER, Alphabet
from swdual.sequences.interval_file import read_intervals
from swdual.sequences.sequence import Batch, decode_header, first_word
from swdual.text.messages import quote, sanitize

MAX_THREADS = 4
"""Threads that find masks at most; each has some batches in memory."""

MASKING_BYTES = 96 << 20
"""Memory for the batches of all these threads."""

PARTS_OF_THREAD = 8
"""Parts of a block for each thread that masks it, so that no thread waits long for the others."""


@dataclass(frozen=True)
class MaskRequest:
    """The masks that a database is built with; `parse_masks` makes one.

    Parameters
    ----------
    names
        The name of each mask, in the order of their marks.
    methods
        The methods that find the masks, with the number of each mask.
    file
        The file with the intervals of the mask `FILE`; None if there is no such mask.
    """

    names: tuple[str, ...]
    methods: tuple[tuple[int, Mask], ...]
    file: Source | None

    @property
    def keeps_case(self) -> bool:
        """Whether letters in lower case are the first mask."""
        return self.names[:1] == (LOWER_CASE,)

    def behind(self, kept: tuple[str, ...]) -> MaskRequest:
        """Return the request of masks behind those that the input has; each is kept once.

        Parameters
        ----------
        kept
            The masks of the input, whose letters are marked already.

        Raises
        ------
        InputError
            If there are more than `MAX_MASKS` masks.
        """
        methods = {name: None for name in self.names} | {
            self.names[number]: mask for number, mask in self.methods
        }
        added = [name for name in methods if name not in kept]
        names = (*kept, *added)
        _refuse_too_many(names)
        numbered = ((names.index(name), methods[name]) for name in added)
        return MaskRequest(
            names, tuple((k, mask) for k, mask in numbered if mask is not None), self.file
        )


def parse_masks(texts: Iterable[str], file: Source | None) -> MaskRequest:
    """Return the masks that the options of `makedb` ask for.

    Parameters
    ----------
    texts
        Methods, as `parse_mask` takes them, or `LOWER_CASE`.
    file
        A file of intervals, or None.

    Raises
    ------
    InputError
        If there is no such method, or there are more than `MAX_MASKS` masks.
    """
    words = [text.strip() for text in texts]
    chosen: dict[str, Mask | None] = {LOWER_CASE: None} if LOWER_CASE in words else {}
    for text in words:
        if text != LOWER_CASE:
            mask = parse_mask(text, "mask", others=(LOWER_CASE,))
            if mask.name != "none":
                chosen[str(mask)] = mask
    if file is not None:
        chosen[FILE] = None
    _refuse_too_many(chosen)
    methods = ((number, mask) for number, mask in enumerate(chosen.values()) if mask is not None)
    return MaskRequest(tuple(chosen), tuple(methods), file)


def _refuse_too_many(names: Collection[str]) -> None:
    if len(names) > MAX_MASKS:
        raise InputError(
            f"`mask` asks for {len(names)} masks ({', '.join(names)}), but a database holds at "
            f"most {MAX_MASKS}; leave some out"
        )


def mark_batches(
    batches: Iterable[Batch], request: MaskRequest, alphabet: Alphabet
) -> Iterator[Batch]:
    """Yield records with the marks of their masked letters; several threads find these.

    Parameters
    ----------
    batches
        The records. Those masks that the input has are marked already.
    request
        The masks.
    alphabet
        Of the records.

    Raises
    ------
    InputError
        If a method masks other sequences, or the file has intervals of other sequences.
    """
    for _, mask in request.methods:
        mask.require(alphabet, "mask")
    threads = min(MAX_THREADS, available_threads())
    given = None if request.file is None else _FileMask(request.file)
    ahead: deque[Future[Batch]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for batch in batches:
            intervals = [] if given is None else given.find(batch)
            ahead.append(pool.submit(_mark, batch, request, alphabet, intervals))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        if given is not None:
            given.finish()
        for marked in ahead:
            yield marked.result()


def _mark(
    batch: Batch, request: MaskRequest, alphabet: Alphabet, intervals: list[tuple[int, int]]
) -> Batch:
    """Return a batch with its marks; `intervals` are those of the file, in the codes."""
    codes = batch.codes & np.uint8(LOWER - 1)  # some masks may be marked already
    marked = batch.codes.copy()
    starts = _starts(batch)
    for number, mask in request.methods:
        mask.mark(codes, starts, batch.lengths, alphabet, LOWER << number, marked)
    for start, end in intervals:
        marked[start:end] |= LOWER << (len(request.names) - 1)  # the file is the last mask
    return batch._replace(codes=marked)


def _starts(batch: Batch) -> NDArray[np.int64]:
    """Return where each record of a batch begins in its codes."""
    padded = pad_lengths(batch.lengths)
    starts: NDArray[np.int64] = np.cumsum(padded) - padded
    return starts


def find_intervals(
    residues: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    mask: str,
    alphabet: Alphabet,
) -> NDArray[np.uint32]:
    """Return what a method masks in a block, which several threads compute.

    Parameters
    ----------
    residues, starts, lengths
        The codes of the block; (targets,) where each target begins in them, and its residues.
    mask, alphabet
        The method, as `parse_mask` takes it, and the alphabet of the block.

    Returns
    -------
    (intervals, 3) as `Database.intervals` returns them.
    """
    from swdual.database._masks import collect_intervals

    method = parse_mask(mask, "mask")
    marked = residues.copy()

    def mark(first: int, last: int) -> None:
        given = residues, starts[first:last], lengths[first:last], alphabet
        method.mark(*given, LOWER, marked)

    threads = available_threads()
    ends = np.cumsum(lengths)
    edges = np.searchsorted(ends, np.linspace(0, ends[-1], PARTS_OF_THREAD * threads + 1))
    edges[-1] = len(lengths)
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(mark, *pair) for pair in pairwise(edges.tolist())]:
            done.result()
    return collect_intervals(marked, starts, lengths, LOWER)


class _FileMask:
    """The intervals of a file, which has the sequences of the input in their order."""

    def __init__(self, source: Source) -> None:
        self._name = os.fspath(source)
        self._records = read_intervals(source)
        self._line: int | None = None

    def find(self, batch: Batch) -> list[tuple[int, int]]:
        """Return the intervals of the next records, as starts and ends in the codes of the batch.

        Raises
        ------
        InputError
            If the file has other sequences, or an interval that is not in its sequence.
        """
        found = []
        first_byte = 0
        starts, lengths = _starts(batch).tolist(), batch.lengths.tolist()
        for end_byte, start, length in zip(
            batch.header_ends.tolist(), starts, lengths, strict=True
        ):
            title = sanitize(first_word(decode_header(batch.headers[first_byte:end_byte])))
            first_byte = end_byte
            record = next(self._records, None)
            if record is None:
                raise self._refuse(f"ends before sequence {quote(title)} of the input")
            self._line = record.line
            if sanitize(first_word(record.title)) != title:
                shown = quote(sanitize(first_word(record.title)))
                raise self._refuse(f"has sequence {shown} where the input has {quote(title)}")
            for line, first, end in record.intervals:
                self._line = line
                if end > length:
                    raise self._refuse(
                        f"masks letter {end - 1} (from 0) of sequence {quote(title)}, which has "
                        f"{length} letters"
                    )
                found.append((start + first, start + end))
        return found

    def finish(self) -> None:
        """Refuse a file that has more sequences than the input."""
        record = next(self._records, None)
        if record is not None:
            shown = quote(sanitize(first_word(record.title)))
            self._line = record.line
            raise self._refuse(f"has sequence {shown}, but the input has ended")

    def _refuse(self, what: str) -> InputError:
        """Return the error for a file that does not fit; it names the line that was read last."""
        return InputError(
            f"{what}; give the intervals of the same sequences in the same order",
            file=self._name,
            line=self._line,
        )
