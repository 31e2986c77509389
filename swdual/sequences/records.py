"""Sequences from the objects that users have: files, texts, mappings, Biopython's records."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from swdual.errors import InputError
from swdual.io.url import is_url
from swdual.sequences.alphabet import INVALID, Alphabet
from swdual.sequences.fasta import read_sequences
from swdual.sequences.objects import plain_source
from swdual.sequences.sequence import Sequence
from swdual.sequences.validation import OnInvalid

_LINE_BREAKS = str.maketrans("\r\n", "  ")


def as_sequences(
    source: Any, alphabet: Alphabet, *, on_invalid: OnInvalid = "error", unnamed: str = "sequence"
) -> Iterator[Sequence]:
    """Yield the sequences that an object stands for.

    A path-like object, "-", and text that names an existing file are read as a file. Other text is
    a sequence if it has only letters and ``*``. Also: a Biopython ``SeqRecord`` or ``Seq``, bytes,
    a `Sequence`, an (id, sequence) pair, a mapping of ids to sequences, and an iterable of any of
    these (but not of paths); and open files, data frames and Series: see `plain_source`.

    Parameters
    ----------
    source
        The object.
    alphabet
        The alphabet of the letters.
    on_invalid
        What to do with invalid letters: see `read_batches`.
    unnamed
        Names of sequences without a name are this word and a number.

    Raises
    ------
    InputError
        If the object is none of these, or a letter is not in the alphabet.

    >>> from swdual.sequences.alphabet import PROTEIN
    >>> [sequence.id for sequence in as_sequences({"a": "MKV", "b": "MLL"}, PROTEIN)]
    ['a', 'b']
    """
    if on_invalid not in get_args(OnInvalid):
        raise InputError(
            f"`on_invalid` is {on_invalid!r}, but it must be one of "
            f"{', '.join(get_args(OnInvalid))}"
        )
    source = plain_source(source, on_invalid=on_invalid)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and _names_a_file(source)):
        yield from read_sequences(source, alphabet, on_invalid=on_invalid)
        return
    for number, (title, residues) in enumerate(_pairs(source, alphabet), start=1):
        yield from _encode(title or f"{unnamed}_{number}", residues, alphabet, on_invalid)


def is_record(item: Any) -> bool:
    """Return whether an object is a sequence, or a mapping of ids to sequences.

    Some of these can be iterated, as their letters or keys: they are no iterables of sequences.
    """
    kind = type(item).__name__
    biopython = kind in ("Seq", "MutableSeq") or (hasattr(item, "seq") and hasattr(item, "id"))
    return biopython or isinstance(item, (bytes, Sequence, Mapping))


def find_alphabet(source: Any) -> Alphabet | None:
    """Return the alphabet of a `Sequence`, or of a list of these; None if it is something else."""
    items = source if isinstance(source, (list, tuple)) else [source]
    kinds = {item.alphabet if isinstance(item, Sequence) else None for item in items}
    return kinds.pop() if len(kinds) == 1 else None


def _names_a_file(text: str) -> bool:
    if text == "-" or _is_file(text) or is_url(text):
        return True
    if text and text.replace("*", "").isalpha() and text.isascii():
        return False
    if not text.strip():
        raise InputError("a sequence is empty text; give its letters, or the path of a file")
    raise InputError("no such file, and not a sequence of letters either", file=text[:200])


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


def _pairs(source: Any, alphabet: Alphabet) -> Iterator[tuple[str, str | bytes]]:
    """Yield titles ("" if there is none) and residues: letters, or codes of the alphabet."""
    if isinstance(source, str):
        yield "", source
    elif isinstance(source, bytes):
        yield "", source.decode("latin-1")
    elif isinstance(source, Sequence):
        yield source.title, source.unmasked if source.alphabet is alphabet else source.letters
    elif hasattr(source, "seq") and hasattr(source, "id"):
        description = getattr(source, "description", "") or source.id
        title = description if description.startswith(source.id) else source.id
        yield title, str(source.seq)
    elif isinstance(source, Mapping):
        for title, value in source.items():
            yield from ((str(title), residues) for _, residues in _pairs(value, alphabet))
    elif type(source).__name__ in ("Seq", "MutableSeq"):
        yield "", str(source)
    elif isinstance(source, tuple) and len(source) == 2 and isinstance(source[0], str):
        yield from ((source[0], residues) for _, residues in _pairs(source[1], alphabet))
    elif (
        plain := plain_source(source, none="one of the sequences is None; leave it out")
    ) is not source and isinstance(plain, list):
        yield from _pairs(plain, alphabet)
    elif isinstance(source, Iterable) and plain is source:
        for item in source:
            yield from _pairs(item, alphabet)
    else:
        raise InputError(f"expected sequences, found {type(source).__name__}")


def _encode(
    title: str, residues: str | bytes, alphabet: Alphabet, on_invalid: OnInvalid
) -> Iterator[Sequence]:
    title = title.translate(_LINE_BREAKS)
    if isinstance(residues, bytes):
        if residues and max(residues) >= len(alphabet.letters):
            raise InputError(
                f"sequence {title!r}: {max(residues)} is not a residue code; codes run from 0 to "
                f"{len(alphabet.letters) - 1}"
            )
        codes = residues
    else:
        codes = alphabet.encode(residues)
    if INVALID in codes:
        if on_invalid == "skip":
            return
        if on_invalid == "error":
            assert isinstance(residues, str)
            letter = residues[codes.index(INVALID)]
            raise InputError(
                f"sequence {title!r}: {letter!r} at position {codes.index(INVALID) + 1} is not "
                f"a letter of the alphabet {alphabet.letters}"
            )
        wildcard = bytes([alphabet.letters.index(alphabet.wildcard)])
        codes = codes.replace(bytes([INVALID]), wildcard)
    if not codes:
        raise InputError(f"sequence {title!r} is empty")
    yield Sequence(title, codes, alphabet)
