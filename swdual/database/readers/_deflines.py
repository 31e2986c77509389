"""The kernel that reads the headers of BLAST databases: titles, identifiers and taxonomy ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swdual.runtime.native import native

MAX_DEPTH = 16
"""Elements inside each other at most; headers need ten."""

FIELDS = 8
"""Fields of an identifier, and of the best one so far; see `_field`."""

GROWTH = 3
"""Bytes of the text of a header at most, for each byte of its file."""

_SEQUENCE, _STRING, _INTEGER = 0x30, 0x1A, 0x02
_TITLE, _IDS, _TAXID, _LINKS = 0xA0, 0xA1, 0xA2, 0xA4
_LOCAL, _PIR, _UNIPROT, _PATENT, _GENERAL, _GI, _PRF, _PDB = 0, 6, 7, 8, 10, 11, 13, 14
_NUMBERS = (1, 2, 3)
"""The kinds of identifiers that are numbers: of GenInfo's backbone and import."""

_ORDINAL = tuple(b"BL_ORD_ID")
_REVIEWED, _UNREVIEWED, _OF_DATABASE = tuple(b"sp|"), tuple(b"tr|"), tuple(b"gnl|")

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
def read_deflines(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    has_leaves: bool,
    stack: NDArray[np.int64],
    fields: NDArray[np.int64],
    headers: NDArray[np.uint8],
    header_ends: NDArray[np.int64],
    taxids: NDArray[np.uint32],
    taxid_ends: NDArray[np.int64],
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
    stack, fields
        (`MAX_DEPTH`, 3) and (2 * `FIELDS`, 3), for the use of the kernel.
    headers, header_ends
        Receive the header lines end to end, `GROWTH` bytes for each of the file at most, and
        (records,) where each ends.
    taxids, taxid_ends
        Receive the taxonomy ids in the order of the file, one for each 3 bytes of it at most, and
        (records,) where those of each record end.
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
    found, best = fields[:FIELDS], fields[FIELDS:]
    written = 0
    taxa = 0
    for k in range(len(starts)):
        i, depth, begin = starts[k], 0, written
        title, title_length, best_rank, best_kind, lines = -1, 0, 9, 0, 0
        while True:
            while depth > 0:
                limit = stack[depth - 1, _LIMIT]
                if stack[depth - 1, _OPEN] != 0:
                    if limit - i < 2:
                        return k
                    if data[i] != 0 or data[i + 1] != 0:
                        break
                    i += 2
                elif i < limit:
                    break
                depth -= 1
                if depth == 4 and stack[2, _TAG] == _IDS:
                    kind = stack[4, _TAG] & 0x1F
                    rank = _rank(data, kind, found)
                    if rank < best_rank:
                        best_rank, best_kind = rank, kind
                        for field in range(FIELDS):
                            for column in range(3):
                                best[field, column] = found[field, column]
                elif depth == 1:
                    while written > begin and headers[written - 1] == _SPACE:
                        written -= 1
                    if written > begin:
                        headers[written] = _SEPARATOR
                        written += 1
                    lines += 1
                    if best_rank < 9:
                        written += _write_identifier(data, best_kind, best, headers[written:])
                        headers[written] = _SPACE
                        written += 1
                    if title >= 0:
                        written += _copy_text(data, title, title_length, headers[written:])
            if depth == 0:
                if lines > 0:
                    break
                if i != starts[k]:
                    return k
            limit = stack[depth - 1, _LIMIT] if depth > 0 else ends[k]
            if limit - i < 2:
                return k
            tag, size = int(np.int64(data[i])), int(np.int64(data[i + 1]))
            i += 2
            is_open = size == 0x80
            if size > 0x80:
                count = size & 0x7F
                if count > 4 or limit - i < count:
                    return k
                size = 0
                for place in range(i, i + count):
                    size = (size << 8) | int(np.int64(data[place]))
                i += count
            if tag & 0x1F == 0x1F or (not is_open and size > limit - i):
                return k
            if tag & 0x20 != 0:
                if depth == MAX_DEPTH or (depth < 2 and tag != _SEQUENCE):
                    return k
                stack[depth, _TAG], stack[depth, _OPEN] = tag, is_open
                stack[depth, _LIMIT] = limit if is_open else i + size
                depth += 1
                if depth == 2:
                    title, best_rank = -1, 9
                elif depth == 5:
                    found[:] = -1
                continue
            if is_open or depth < 3 or (tag == _INTEGER and (size == 0 or size > 8)):
                return k
            part = stack[2, _TAG]
            if part == _TITLE and tag == _STRING and depth == 3:
                title, title_length = i, size
            elif part == _IDS and depth >= 5:
                field = _field(stack, depth)
                if field >= 0:
                    found[field, 0], found[field, 1] = i, size
                    found[field, 2] = tag == _INTEGER
            elif tag == _INTEGER and (
                (part == _TAXID and depth == 3) or (has_leaves and part == _LINKS and depth == 4)
            ):
                value = _read_integer(data, i, size)
                if 0 < value < 1 << 32:
                    taxids[taxa] = value
                    taxa += 1
            i += size
        while written > begin and headers[written - 1] == _SPACE:
            written -= 1
        blanks = 0
        while begin + blanks < written and headers[begin + blanks] == _SPACE:
            blanks += 1
        if blanks > 0:
            for j in range(begin, written - blanks):
                headers[j] = headers[j + blanks]
            written -= blanks
        header_ends[k], taxid_ends[k] = written, taxa
    return -1
