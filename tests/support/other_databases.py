"""Databases of BLAST, MMseqs2 and DIAMOND, written from their definition, byte by byte."""

from __future__ import annotations

import struct
import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PROTEIN_LETTERS = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
BASES = "ACGT"
BASE_SETS = "-ACMGRSVTWYHKDBN"


def element(tag, content, *, is_open=False):
    """Return an element of ASN.1's BER."""
    if is_open:
        return bytes([tag, 0x80]) + content + bytes(2)
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    packed = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(packed)]) + packed + content


def text(value):
    """Return a VisibleString."""
    return element(0x1A, value if isinstance(value, bytes) else value.encode())


def integer(value):
    """Return an INTEGER of the fewest bytes."""
    return element(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def identifier(kind, *fields, is_open=True):
    """Return a Seq-id: its number in the choice, and (number, element) for each field."""
    parts = b"".join(element(0xA0 | k, part, is_open=is_open) for k, part in fields)
    return element(0xA0 | kind, element(0x30, parts, is_open=is_open), is_open=is_open)


def accession(kind, word, version=None, name=None, release=None):
    """Return an identifier with an accession."""
    fields = [] if name is None else [(0, text(name))]
    fields += [(1, text(word))] + ([] if release is None else [(2, text(release))])
    fields += [] if version is None else [(3, integer(version))]
    return identifier(kind, *fields)


def local(value):
    """Return an identifier that belongs to no database: a text or a number."""
    is_number = isinstance(value, int)
    inner = element(0xA0, integer(value)) if is_number else element(0xA1, text(value))
    return element(0xA0, inner, is_open=True)


def general(database, tag):
    """Return an identifier of some database."""
    inner = element(0xA0, integer(tag)) if isinstance(tag, int) else element(0xA1, text(tag))
    return identifier(10, (0, text(database)), (1, inner))


def gi(number):
    """Return a GI."""
    return element(0xAB, integer(number), is_open=True)


def pdb(molecule, number=None, chain=None):
    """Return an identifier of a structure, with the number or the name of its chain."""
    fields = [(0, text(molecule))]
    fields += [] if number is None else [(1, integer(number))]
    return identifier(14, *fields, *([] if chain is None else [(3, text(chain))]))


def patent(country, number, sequence, key=0):
    """Return an identifier of a sequence in a patent."""
    document = element(0xA0, text(country)) + element(0xA1, element(0xA0 | key, text(number)))
    return identifier(8, (0, integer(sequence)), (1, element(0x30, document)))


def defline(title, *identifiers, taxid=None, links=(), is_open=True):
    """Return a definition line."""
    parts = [] if title is None else [(0xA0, text(title))]
    parts.append((0xA1, element(0x30, b"".join(identifiers), is_open=is_open)))
    parts += [] if taxid is None else [(0xA2, integer(taxid))]
    if links:
        parts.append((0xA4, element(0x30, b"".join(map(integer, links)))))
    content = b"".join(element(tag, part, is_open=is_open) for tag, part in parts)
    return element(0x30, content, is_open=is_open)


def header(*deflines, is_open=True):
    """Return the header of a record."""
    return element(0x30, b"".join(deflines), is_open=is_open)


def plain_headers(titles):
    """Return the headers that makeblastdb writes if it reads no identifiers."""
    return [
        header(defline(title, general("BL_ORD_ID", number), taxid=0))
        for number, title in enumerate(titles)
    ]


def packed_bases(letters, *, is_long=False):
    """Return bases of two bits, and the ambiguities of a nucleotide sequence."""
    numbers = [BASES.find(letter) for letter in letters]
    numbers += [0] * (4 - len(letters) % 4)
    numbers[-1] = len(letters) % 4
    packed = bytearray(len(numbers) // 4)
    for place, number in enumerate(numbers):
        packed[place // 4] |= max(number, 0) << (6 - 2 * (place % 4))
    entries, place, most = [], 0, 4096 if is_long else 16
    while place < len(letters):
        letter, first = letters[place], place
        while place < len(letters) and letters[place] == letter and place < first + most:
            place += 1
        kind, size = BASE_SETS.index(letter) << 28, place - first - 1
        if letter not in BASES and is_long:
            entries += [kind | size << 16, first]
        elif letter not in BASES:
            entries.append(kind | size << 24 | first)
    if entries:
        entries.insert(0, len(entries) | (1 << 31 if is_long else 0))
    return bytes(packed), b"".join(entry.to_bytes(4, "big") for entry in entries)


def _words(numbers):
    return b"".join(number.to_bytes(4, "big") for number in numbers)


def _prefixed(value):
    return len(value).to_bytes(4, "big") + value


def blast_files(headers, sequences, *, kind="p", version=5, title="a title", is_long=False):
    """Return the files of a volume of a BLAST database, by their endings.

    Parameters
    ----------
    headers, sequences
        The header of each record, in BER, and its letters.
    kind
        "p" for proteins, "n" for nucleotides.
    version, title
        Of the database.
    is_long
        Whether entries of ambiguities are long.
    """
    places, ambiguities, content = [], [], bytearray(1)
    for letters in sequences:
        places.append(len(content))
        if kind == "p":
            content += bytes(PROTEIN_LETTERS.index(letter) for letter in letters) + bytes(1)
        else:
            packed, rest = packed_bases(letters, is_long=is_long)
            content += packed
            ambiguities.append(len(content))
            content += rest
    starts = [sum(map(len, headers[:k])) for k in range(len(headers) + 1)]
    index = _words([version, int(kind == "p")])
    index += _words([0]) if version == 5 else b""
    index += _prefixed(title.encode())
    index += _prefixed(f"x.{kind}db".encode()) if version == 5 else b""
    index += _prefixed(b"Jan 1, 2026  1:00 AM\0\0") + _words([len(sequences)])
    index += sum(map(len, sequences)).to_bytes(8, "little")
    index += _words([max(map(len, sequences), default=0)])
    index += _words(starts) + _words([*places, len(content)])
    if kind == "n":
        index += _words([*ambiguities, len(content)])
    return {
        f".{kind}in": index,
        f".{kind}hr": b"".join(headers),
        f".{kind}sq": bytes(content),
    }


def mask_files(masks, intervals, *, kind="p", letter="a"):
    """Return the files of the masks of a volume.

    Parameters
    ----------
    masks
        The description of each mask by its number, as in ``{21: "20:window=12"}``.
    intervals
        For each record, the intervals of each mask by its number: first letters and letters behind
        the last ones.
    """
    data, places = b"", [0]
    for record in intervals:
        if record:
            data += _words([len(record)])
        for number, pairs in record.items():
            data += _words([number, len(pairs), *(place for pair in pairs for place in pair)])
        places.append(len(data))

    def short(value):
        size = len(value)
        head = bytes([size]) if size < 128 else bytes([0x80 | size >> 7, size & 127])
        return head + value

    head = short(b"BlastDb/MaskData") + short(b"01/01/2026 01:00:00")
    pairs = [short(str(number).encode()) + short(each.encode()) for number, each in masks.items()]
    metadata = bytes([len(pairs)]) + b"".join(pairs)
    first = 32 + len(head)
    metadata = metadata.ljust(len(metadata) + -(first + len(metadata)) % 8, b"#")
    index = _words([1, 1, 4, len(intervals)]) + len(data).to_bytes(8, "big")
    index += _words([first, first + len(metadata)]) + head + metadata + _words(places)
    return {f".{kind}{letter}a": index, f".{kind}{letter}b": data}


def mmseqs_files(records, *, kind=0, compressed=False, flags=0):
    """Return the files of an MMseqs2 database, by their endings.

    Parameters
    ----------
    records
        (key, title, letters) of each.
    kind
        0 for proteins, 1 for nucleotides.
    compressed
        Whether entries of more than 60 bytes are compressed.
    flags
        More bits of the type.
    """
    files = {}
    for end, column, number in (("", 2, kind), ("_h", 1, 12)):
        data, lines = b"", []
        for record in records:
            content = record[column]
            content = (content if isinstance(content, bytes) else content.encode()) + b"\n"
            entry = content + b"\0"
            if compressed:
                packed = zstd.compress(content) if len(content) > 60 else content
                mark = b"\0" if len(content) > 60 else b"\xff"
                entry = struct.pack("<I", len(packed)) + packed + mark
            lines.append(b"%d\t%d\t%d\n" % (record[0], len(data), len(content) + 1))
            data += entry
        value = number | flags | (1 << 31 if compressed else 0)
        files |= {
            end: data,
            f"{end}.index": b"".join(lines),
            f"{end}.dbtype": value.to_bytes(4, "little"),
        }
    return files


DIAMOND_LETTERS = "ARNDCQEGHILKMFPSTWYVBJZX*"


def diamond_file(records, *, version=3):
    """Return a DIAMOND database.

    Parameters
    ----------
    records
        (title, letters) of each; letters in lower case are masked.
    version
        Of the format.
    """
    content, entries, offset = b"", [], 96
    for title, letters in records:
        entries.append((offset + len(content), len(letters)))
        numbers = [
            DIAMOND_LETTERS.index(letter.upper()) | (128 if letter.islower() else 0)
            for letter in letters
        ]
        content += b"\xff" + bytes(numbers) + b"\xff" + title.encode() + b"\0"
    entries.append((offset + len(content), 0))
    head = struct.pack(
        "<QIIQQQ",
        0x24AF8A415EE186D,
        157,
        version,
        len(records),
        sum(len(letters) for _, letters in records),
        offset + len(content),
    )
    head += struct.pack("<Q", 48) + bytes(48)
    return head + content + b"".join(struct.pack("<QII", *entry, 0) for entry in entries)


def write_files(base, files):
    """Write the files of a database; their names are that of `base` with each ending."""
    for ending, data in files.items():
        base.with_name(base.name + ending).write_bytes(data)
    return str(base)
