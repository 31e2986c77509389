"""The kernel that reads the headers of BLAST databases: titles, identifiers and taxonomy ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

MAX_DEPTH = 16
"""Elements inside each other at most; headers need ten."""

FIELDS = 6
"""Fields of an identifier; see `_field`."""

WORK_ROWS = MAX_DEPTH + 2 * FIELDS
"""Rows for the stack of elements, the fields of an identifier, and those of the best one so far."""

GROWTH = 3
"""Bytes of the text of a header at most, for each byte of its file."""

_SEQUENCE, _STRING, _INTEGER = 0x30, 0x1A, 0x02
_TITLE, _IDS, _TAXID, _LINKS = 0xA0, 0xA1, 0xA2, 0xA4
_LOCAL, _PIR, _UNIPROT, _PATENT, _GENERAL, _GI, _PRF, _PDB = 0, 6, 7, 8, 10, 11, 13, 14
_NUMBERS = (1, 2, 3)
"""The kinds of identifiers that are numbers: of GenInfo's backbone and import."""

_ORDINAL = tuple(b"BL_ORD_ID")
_REVIEWED, _UNREVIEWED, _OF_DATABASE = tuple(b"sp|"), tuple(b"tr|"), tuple(b"gnl|")

_WRONG, _OPENED, _CLOSED, _VALUE = 0, 1, 2, 3
"""Events: data that are damaged, an element of others begins or ends, a value."""

_NO_SIZE = -1
"""The size of an element that two zeros end."""

_TAG, _LIMIT, _OPEN = 0, 1, 2
"""Columns of the stack: tag of an element; where it ends at the latest; whether zeros end it."""

_SPACE, _DOT, _UNDERSCORE, _U, _BAR = 32, 46, 95, 117, 124
_SEPARATOR = 1
"""Ctrl-A, which the FASTA files of such databases have between the titles of a record."""


@native
def _read_integer(data: NDArray[np.uint8], start: int, length: int) -> int:
    value = np.int64(-1) if length > 0 and data[start] >= 128 else np.int64(0)
    for i in range(start, start + length):
        value = (value << 8) | np.int64(data[i])
    return int(value)


@native
def _copy_text(data: NDArray[np.uint8], start: int, length: int, out: NDArray[np.uint8]) -> int:
    """Copy some text, with blanks for what would end a line; return its bytes."""
    for i in range(length):
        byte = data[start + i]
        out[i] = _SPACE if byte in (0, 10, 13) else byte
    return length


@native
def _write_number(value: int, out: NDArray[np.uint8]) -> int:
    """Write a number in decimal digits; return how many characters."""
    count = 0
    rest = value
    if value < 0:
        out[0] = 45
        count, rest = 1, -value
    first = count
    while rest > 0 or count == first:
        out[count] = 48 + rest % 10
        rest //= 10
        count += 1
    low, high = first, count - 1
    while low < high:
        out[low], out[high] = out[high], out[low]
        low += 1
        high -= 1
    return count


@native
def _write_field(
    data: NDArray[np.uint8], fields: NDArray[np.int64], field: int, out: NDArray[np.uint8]
) -> int:
    """Write a field of an identifier, text or a number; return its bytes, 0 if it is absent."""
    start, length, is_number = fields[field, 0], fields[field, 1], fields[field, 2]
    if start < 0:
        return 0
    if is_number != 0:
        return _write_number(_read_integer(data, start, length), out)
    return _copy_text(data, start, length, out)


@native
def _write_version(
    data: NDArray[np.uint8], fields: NDArray[np.int64], out: NDArray[np.uint8]
) -> int:
    """Write accession and version of an identifier; return its bytes."""
    n = _write_field(data, fields, 1, out)
    version = 0
    if fields[3, 0] >= 0 and fields[3, 2] != 0:
        version = _read_integer(data, fields[3, 0], fields[3, 1])
    if n > 0 and version > 0:
        out[n] = _DOT
        n += 1 + _write_number(version, out[n + 1 :])
    return n


@native
def _write_identifier(
    data: NDArray[np.uint8], kind: int, fields: NDArray[np.int64], out: NDArray[np.uint8]
) -> int:
    """Write an identifier; return its bytes.

    The form is that of the FASTA files of the kind: ``sp|P01013.1|OVALX_CHICK`` of UniProt,
    ``gnl|db|tag``, the accession of NCBI's, as blastdbcmd prints it.
    """
    n = 0
    if kind == _GI:
        out[0], out[1], out[2] = 103, 105, _BAR
        return 3 + _write_field(data, fields, 0, out[3:])
    if kind in (_PIR, _PRF):
        out[0], out[1], out[2], out[3] = 112, 114, 102, _BAR
        if kind == _PIR:
            out[1], out[2] = 105, 114
        n = 4 + _write_version(data, fields, out[4:])
        out[n] = _BAR
        return n + 1 + _write_field(data, fields, 0, out[n + 1 :])
    if kind == _LOCAL or kind in _NUMBERS:
        return _write_field(data, fields, 0, out)
    if kind == _GENERAL:
        for byte in _OF_DATABASE:
            out[n] = byte
            n += 1
        n += _write_field(data, fields, 0, out[n:])
        out[n] = _BAR
        return n + 1 + _write_field(data, fields, 1, out[n + 1 :])
    if kind == _UNIPROT and fields[0, 1] > 0 and fields[1, 1] > 0:
        # The release of TrEMBL's entries is "unreviewed"; Swiss-Prot's have another, or none.
        is_unreviewed = fields[2, 1] > 0 and data[fields[2, 0]] == _U
        for k in range(len(_REVIEWED)):
            out[n] = _UNREVIEWED[k] if is_unreviewed else _REVIEWED[k]
            n += 1
        n += _write_version(data, fields, out[n:])
        out[n] = _BAR
        return n + 1 + _write_field(data, fields, 0, out[n + 1 :])
    if kind == _PATENT:
        n = _write_field(data, fields, 4, out)
        n += _write_field(data, fields, 5, out[n:])
        out[n] = _UNDERSCORE
        return n + 1 + _write_field(data, fields, 0, out[n + 1 :])
    if kind == _PDB:
        n = _write_field(data, fields, 0, out)
        chain = 0
        if fields[1, 0] >= 0 and fields[1, 2] != 0:
            chain = _read_integer(data, fields[1, 0], fields[1, 1])
        if fields[3, 0] >= 0 and fields[3, 1] > 0:
            out[n] = _UNDERSCORE
            n += 1 + _write_field(data, fields, 3, out[n + 1 :])
        elif _SPACE < chain < 127:
            out[n], out[n + 1] = _UNDERSCORE, chain
            n += 2
        return n
    n = _write_version(data, fields, out)
    return n if n > 0 else _write_field(data, fields, 0, out)


@native
def _rank(data: NDArray[np.uint8], kind: int, fields: NDArray[np.int64]) -> int:
    """Return how good an identifier is, the best one the least; 9 is not shown."""
    if kind == _GI:
        return 4
    if kind == _GENERAL:
        # BL_ORD_ID: the number of a sequence, where makeblastdb read no identifiers.
        start, length = fields[0, 0], fields[0, 1]
        is_number = start >= 0 and length == len(_ORDINAL)
        for k in range(len(_ORDINAL)):
            is_number = is_number and data[start + k] == _ORDINAL[k]
        return 9 if is_number else 3
    if kind == _LOCAL:
        return 0
    return 2 if kind in _NUMBERS or kind in (_PIR, _PRF, _PATENT) else 1


@native
def _field(stack: NDArray[np.int64], depth: int) -> int:
    """Return the field of an identifier that a value belongs to, or -1.

    Text identifiers have name 0, accession 1, release 2 and version 3; a structure has molecule 0,
    chain 1 and name of the chain 3; a general one has database 0 and tag 1; a patent has number of
    the sequence 0, country 4 and document 5; others have one value 0.
    """
    kind = stack[4, _TAG] & 0x1F
    if depth == 5:
        return 0 if kind in _NUMBERS or kind == _GI else -1
    if kind == _LOCAL:
        return 0 if depth == 6 else -1
    if depth < 7 or stack[5, _TAG] != _SEQUENCE:
        return -1
    field = stack[6, _TAG] & 0x1F
    if kind == _PATENT and field == 1:
        if depth < 9:
            return -1
        return 4 if stack[8, _TAG] == 0xA0 else 5 if stack[8, _TAG] == 0xA1 else -1
    if depth == 7 or (kind == _GENERAL and field == 1 and depth == 8):
        return field if field < 4 else -1
    return -1


@native
def _is_taxid(part: int, depth: int, has_leaves: bool) -> bool:
    """Return whether a number of a part of a definition line is a taxonomy id."""
    return (part == _TAXID and depth == 3) or (has_leaves and part == _LINKS and depth == 4)


@native
def _keep_field(
    stack: NDArray[np.int64], depth: int, tag: int, size: int, i: int, fields: NDArray[np.int64]
) -> None:
    """Note where a field of an identifier is, if the value is one."""
    field = _field(stack, depth) if depth >= 5 else -1
    if field >= 0:
        fields[field, 0], fields[field, 1], fields[field, 2] = i, size, tag == _INTEGER


@native
def _copy_fields(source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
    for field in range(FIELDS):
        for column in range(3):
            target[field, column] = source[field, column]


@native
def _write_line(
    data: NDArray[np.uint8],
    kind: int,
    fields: NDArray[np.int64],
    title: int,
    title_length: int,
    out: NDArray[np.uint8],
    used: int,
) -> int:
    """Write an identifier, if its kind is not -1, and a title behind the lines that are written.

    Return the bytes of all.
    """
    n = _strip_end(out, used)
    if n > 0:
        out[n] = _SEPARATOR
        n += 1
    if kind >= 0:
        n += _write_identifier(data, kind, fields, out[n:])
        out[n] = _SPACE
        n += 1
    if title >= 0:
        n += _copy_text(data, title, title_length, out[n:])
    return n


@native
def _strip_end(text: NDArray[np.uint8], length: int) -> int:
    """Return the length of a text without the blanks at its end."""
    while length > 0 and text[length - 1] == _SPACE:
        length -= 1
    return length


@native
def _strip(text: NDArray[np.uint8], length: int) -> int:
    """Remove the blanks around a text; return its length."""
    length = _strip_end(text, length)
    blanks = 0
    while blanks < length and text[blanks] == _SPACE:
        blanks += 1
    if blanks > 0:
        for j in range(length - blanks):
            text[j] = text[j + blanks]
    return length - blanks


@native
def _write_taxid(data: NDArray[np.uint8], start: int, size: int, out: NDArray[np.uint32]) -> int:
    """Write a number if it can be a taxonomy id; return how many were written."""
    value = _read_integer(data, start, size)
    if 0 < value < 1 << 32:
        out[0] = value
        return 1
    return 0


@native
def _read_tag(data: NDArray[np.uint8], i: int, limit: int) -> tuple[int, int, int]:
    """Return the tag at a place, the size of its content, and where that begins.

    The tag is -1 if it is none, and the size `_NO_SIZE` if two zeros end the content.
    """
    if limit - i < 2:
        return -1, 0, i
    tag, size = int(np.int64(data[i])), int(np.int64(data[i + 1]))
    i += 2
    if tag & 0x1F == 0x1F:
        return -1, 0, i
    if size == 0x80:
        return tag, _NO_SIZE, i
    if size > 0x80:
        count = size & 0x7F
        if count > 4 or limit - i < count:
            return -1, 0, i
        size = 0
        for place in range(i, i + count):
            size = (size << 8) | int(np.int64(data[place]))
        i += count
    return (tag if size <= limit - i else -1), size, i


@native
def _read_event(
    data: NDArray[np.uint8], i: int, limit: int, stack: NDArray[np.int64], depth: int
) -> tuple[int, int, int, int, int]:
    """Return what is at a place: an event, its tag and size, where it goes on, and the depth then.

    An element of others is opened, put on the stack, and closed; a value is left to be read, and
    goes on behind its size. `limit` is where the outermost element ends at the latest.
    """
    if depth > 0:
        limit = stack[depth - 1, _LIMIT]
        if stack[depth - 1, _OPEN] != 0:
            if limit - i < 2:
                return _WRONG, 0, 0, i, depth
            if data[i] == 0 and data[i + 1] == 0:
                return _CLOSED, 0, 0, i + 2, depth - 1
        elif i >= limit:
            return _CLOSED, 0, 0, i, depth - 1
    tag, size, i = _read_tag(data, i, limit)
    is_open = size == _NO_SIZE
    if tag < 0:
        return _WRONG, tag, size, i, depth
    if tag & 0x20 != 0:
        if depth == MAX_DEPTH:
            return _WRONG, tag, size, i, depth
        stack[depth, _TAG], stack[depth, _OPEN] = tag, is_open
        stack[depth, _LIMIT] = limit if is_open else i + size
        return _OPENED, tag, size, i, depth + 1
    fits = tag != _INTEGER or 0 < size <= 8
    return (_VALUE if fits and not is_open else _WRONG), tag, size, i, depth


@native
def read_deflines(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    has_leaves: bool,
    work: NDArray[np.int64],
    headers: NDArray[np.uint8],
    taxids: NDArray[np.uint32],
    written_ends: NDArray[np.int64],
) -> int:
    """Write headers, and taxonomy ids; return the wrong record, or -1.

    Parameters
    ----------
    data
        The header file.
    starts, ends
        (records,) where the header of each record begins and ends.
    has_leaves
        Whether links are taxonomy ids of leaves, as in version 5.
    work
        (`WORK_ROWS`, 3) for the use of the kernel.
    headers
        Receive the header lines end to end, `GROWTH` bytes for each of the file at most.
    taxids
        Receive the taxonomy ids in the order of the file, one for each 3 bytes of it at most.
    written_ends
        (2, records) receive where the header of each record ends, and where its taxonomy ids do.
    """
    # A header is a set of definition lines in ASN.1's BER: elements of a tag, a length and a
    # content, which may be elements. The length may be missing (0x80); two zeros end the element.
    #
    #     depth  0      1         2            3        4             5...
    #            SET OF SEQUENCE  [0] title    text
    #                             [1] ids      SEQ. OF  [7] of a kind SEQUENCE of fields
    #                             [2] taxid    number
    #                             [4] links    SEQ. OF  number
    #
    # Invariant: stack[:depth] are the elements that the byte at i is in.
    stack, found, best = work[:MAX_DEPTH], work[MAX_DEPTH:-FIELDS], work[-FIELDS:]
    written = 0
    taxa = 0
    for k in range(len(starts)):
        i, depth, begin = starts[k], 0, written
        title, title_length, best_rank, best_kind, lines = -1, 0, 9, -1, 0
        while True:
            event, tag, size, i, depth = _read_event(data, i, ends[k], stack, depth)
            if event == _CLOSED:
                if depth == 0:
                    break
                if depth == 1:
                    used = written - begin
                    out = headers[begin:]
                    written = begin + _write_line(
                        data, best_kind, best, title, title_length, out, used
                    )
                    lines += 1
                elif depth == 4 and stack[2, _TAG] == _IDS:
                    kind = stack[4, _TAG] & 0x1F
                    rank = _rank(data, kind, found)
                    if rank < best_rank:
                        best_rank, best_kind = rank, kind
                        _copy_fields(found, best)
            elif event == _OPENED:
                if depth <= 2 and tag != _SEQUENCE:
                    return k
                if depth == 2:
                    title, best_rank, best_kind = -1, 9, -1
                elif depth == 5:
                    found[:] = -1
            elif event == _WRONG or depth < 3:
                return k
            else:
                part = stack[2, _TAG]
                if part == _TITLE and tag == _STRING and depth == 3:
                    title, title_length = i, size
                elif part == _IDS:
                    _keep_field(stack, depth, tag, size, i, found)
                elif tag == _INTEGER and _is_taxid(part, depth, has_leaves):
                    taxa += _write_taxid(data, i, size, taxids[taxa:])
                i += size
        if lines == 0:
            return k
        written = begin + _strip(headers[begin:], written - begin)
        written_ends[0, k], written_ends[1, k] = written, taxa
    return -1
