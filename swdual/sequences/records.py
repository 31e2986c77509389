"""Sequences from the objects that users have: files, texts, mappings, Biopython's records."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

from swdual.errors import InputError
from swdual.sequences.alphabet import INVALID, NUCLEOTIDE, PROTEIN, Alphabet
from swdual.sequences.fasta import read_sequences
from swdual.sequences.objects import NAME_COLUMNS, SEQUENCE_COLUMNS, is_table, plain_source
from swdual.sequences.sequence import Sequence
from swdual.sequences.validation import BLANKS, DIGITS, OnInvalid, warn_of_digits
from swdual.text.messages import LATIN_1
from swdual.text.url import is_url

_ITEM = "it must be a text, a record or an (id, sequence) pair"
_VALUE = "a name has one sequence: a text or a record"
_TABLE = "give a table as dict(zip(names, sequences)) or as a data frame"

_BLANKS, _DIGITS = (dict.fromkeys(letters) for letters in (BLANKS, DIGITS))
_LINE_BREAKS = str.maketrans("\r\n", "  ")


def as_sequences(
    source: Any,
    alphabet: Alphabet,
    *,
    on_invalid: OnInvalid = "error",
    unnamed: str = "sequence",
    warns: bool = True,
) -> Iterator[Sequence]:
    """Yield the sequences that an object stands for.

    A path-like object, "-", and text that names an existing file are read as a file. Other text is
    a sequence if it has only letters and ``*``. Also: a Biopython ``SeqRecord`` or ``Seq``, bytes,
    a `Sequence`, an (id, sequence) pair, a mapping of ids to sequences, and an iterable of any of
    these (but not of paths, and not of mappings of several sequences, which may be rows of a
    table); and open files, data frames and Series: see `plain_source`. A pair is a tuple, or within
    an iterable also a list.

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
    warns
        Whether to warn of digits that are left out; who looks at sequences first need not.

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
    digits = 0
    for number, (title, residues) in enumerate(_pairs(source, alphabet), start=1):
        if isinstance(residues, str):
            residues = residues.translate(_BLANKS)
            if on_invalid == "replace":
                letters = residues.translate(_DIGITS)
                digits += len(residues) - len(letters)
                residues = letters
        yield from _encode(title or f"{unnamed}_{number}", residues, alphabet, on_invalid)
    if warns:
        warn_of_digits(digits)


def is_record(item: Any) -> bool:
    """Return whether an object is a sequence, or a mapping of ids to sequences.

    Some of these can be iterated, as their letters or keys: they are no iterables of sequences. A
    pair is one if its name is bytes, which are no path.
    """
    kind = type(item).__name__
    biopython = kind in ("Seq", "MutableSeq") or (hasattr(item, "seq") and hasattr(item, "id"))
    pair = isinstance(item, tuple) and _is_pair(item) and isinstance(item[0], bytes)
    return biopython or pair or isinstance(item, (bytes, Sequence, Mapping))


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
    found = _read_one(source, alphabet)
    if found is not None:
        yield found
    elif isinstance(source, Mapping):
        if len(_columns(source)) > 1:
            raise InputError(
                f"a dictionary has names and their sequences, but this one has "
                f"{', '.join(map(str, source))}; {_TABLE}"
            )
        for title, value in source.items():
            yield _read_named(title, value, alphabet)
    elif isinstance(source, tuple) and _is_pair(source):
        yield _read_named(source[0], source[1], alphabet)
    elif isinstance(source, Iterable):
        for number, item in enumerate(source, start=1):
            if is_table(item):
                yield from _pairs(plain_source(item), alphabet)
            elif (found := _read_one(item, alphabet)) is not None:
                yield found
            elif isinstance(item, (list, tuple)) and _is_pair(item):
                yield _read_named(item[0], item[1], alphabet)
            elif isinstance(item, Mapping) and len(item) == 1 and not _columns(item):
                yield from _pairs(item, alphabet)
            else:
                _refuse(item, f"item {number} of the sequences", _ITEM)
    else:
        raise InputError(f"expected sequences, found {type(source).__name__}")


def _read_one(source: Any, alphabet: Alphabet) -> tuple[str, str | bytes] | None:
    """Return title and residues of an object that is one sequence by itself; of others None."""
    if isinstance(source, str):
        return "", source
    if isinstance(source, bytes):
        return "", source.decode("latin-1")
    if isinstance(source, Sequence):
        return source.title, source.unmasked if source.alphabet is alphabet else source.letters
    if hasattr(source, "seq") and hasattr(source, "id"):
        try:
            letters = None if source.seq is None else str(source.seq)
        except ValueError:  # Biopython knows only the length
            letters = None
        if letters is None:
            raise InputError(f"record {source.id!r} has no sequence; leave it out")
        description = getattr(source, "description", "") or source.id
        title = description if description.startswith(source.id) else source.id
        return title, letters
    if type(source).__name__ in ("Seq", "MutableSeq"):
        return "", str(source)
    return None


def _columns(names: Iterable[Any]) -> set[str]:
    """Return the names of columns of a table: of sequences, and of names if there are both."""
    lower = {str(name).lower() for name in names}
    sequences = lower.intersection(SEQUENCE_COLUMNS)
    return sequences | lower.intersection(NAME_COLUMNS) if sequences else sequences


def _is_pair(items: Any) -> bool:
    return len(items) == 2 and isinstance(items[0], (str, bytes))


def _read_named(name: Any, value: Any, alphabet: Alphabet) -> tuple[str, str | bytes]:
    """Return a name and the residues of its sequence."""
    found = _read_one(value, alphabet)
    if found is None:
        _refuse(value, f"the sequence of {name!r}", _VALUE)
    return name.decode(errors=LATIN_1) if isinstance(name, bytes) else str(name), found[1]


def _refuse(item: Any, what: str, rule: str) -> NoReturn:
    if item is None:
        raise InputError("one of the sequences is None; leave it out")
    if isinstance(item, Iterable):
        shown = " ".join(reprlib.repr(item).split())
        raise InputError(f"{what} is a {type(item).__name__}, {shown}, but {rule}; {_TABLE}")
    raise InputError(f"expected sequences, found {type(item).__name__} as {what}")


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
            mixed = alphabet.name == NUCLEOTIDE.name and letter.upper() in PROTEIN.letters
            remedy = "; give proteins by themselves, or use `dbtype='prot'`" if mixed else ""
            raise InputError(
                f"sequence {title!r}: {letter!r} at position {codes.index(INVALID) + 1} is not "
                f"a letter of the alphabet {alphabet.letters}{remedy}"
            )
        wildcard = bytes([alphabet.letters.index(alphabet.wildcard)])
        codes = codes.replace(bytes([INVALID]), wildcard)
    if not codes:
        raise InputError(f"sequence {title!r} is empty")
    yield Sequence(title, codes, alphabet)
