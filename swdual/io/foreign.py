"""Files that users give by mistake: what they are, by their first bytes, and what to do."""

from __future__ import annotations

import re

HEAD_BYTES = 1024
"""Bytes that show what a file is."""

_UNPACK = "unpack it first"
_SAVE = "save it as plain text"
_CONVERT = "download it as FASTA, or convert it with EMBOSS's 'seqret'"
_READS = "write its reads with 'samtools fasta'"
_CHAINS = "download its sequences as FASTA"
_REFERENCE = "give the sequences that it refers to, as FASTA"

_TABLE = (
    (rb"PK\x03\x04", "a zip archive (or an office document)", _UNPACK),
    (rb"7z\xbc\xaf", "a 7-Zip archive", _UNPACK),
    (rb"Rar!\x1a", "a RAR archive", _UNPACK),
    (rb"\x1f\x9d", "compressed by 'compress' (.Z)", "unpack it first, or use gzip"),
    (rb"\x1f\x8b|BZh[1-9]|\xfd7zXZ|\x28\xb5\x2f\xfd", "compressed twice", "unpack it once first"),
    (rb".{257}ustar", "a tar archive", "unpack it first, with 'tar -xf'"),
    (rb"%PDF", "a PDF document", _SAVE),
    (rb"{\\rtf", "a document in RTF", _SAVE),
    (rb"\xd0\xcf\x11\xe0", "an office document", _SAVE),
    (
        rb"\s*<(?i:!doctype html|html)\b",
        "an HTML page, perhaps an error message of a server",
        "download the file again",
    ),
    (
        rb"\s*<(\?xml|!DOCTYPE|[A-Za-z][\w:.-]*(\s[^<>]*)?>)",
        "an XML document",
        "download the file in another format, sequences as FASTA",
    ),
    (
        rb"version https://git-lfs",
        "a pointer of Git LFS, not the file itself",
        "fetch that with 'git lfs pull'",
    ),
    (
        rb"SWDUALDB|SWDUALSH",
        "a swdual database",
        "in a search the queries come first, then the database; elsewhere give FASTA",
    ),
    (
        rb"\x6d\x18\xee\x15\xa4\xf8\x4a\x02",
        "a DIAMOND database",
        "in a search the queries come first, then the database; elsewhere give FASTA",
    ),
    (
        rb"\0(?!\0{8}).{4}\0{4}(?!\0{8}).{4}\0{4}",
        "a binary list of blastdb_aliastool",
        "give the text that it was made from",
    ),
    (rb"BAM\x01", "a BAM file", _READS),
    (rb"CRAM[\x02\x03]", "a CRAM file", _READS),
    (rb"@(HD\tVN|SQ\tSN|RG\tID|PG\tID):", "a SAM file", _READS),
    (rb"\s*LOCUS {2,}\S", "a GenBank file", _CONVERT),
    (rb"\s*ID {3}\S[^\n]*[;.]", "an EMBL or Swiss-Prot file", _CONVERT),
    (rb"HEADER {4}|TITLE {5}|CRYST1 |REMARK +[0-9]", "a structure of the PDB", _CHAINS),
    (rb"(ATOM|HETATM) +[0-9]+ +\S+ +\S+ +", "a structure of the PDB", _CHAINS),
    (rb"data_\S*\s*\n\s*(#|_[a-z]|loop_)", "a structure in mmCIF", _CHAINS),
    (rb"##gff-version", "a table of features (GFF)", _REFERENCE),
    (rb"##fileformat=VCF", "a table of variants (VCF)", _REFERENCE),
)
"""How files begin, what they are, and the remedy."""

_FOREIGN = [(re.compile(begin, re.DOTALL), f"is {what}; {how}") for begin, what, how in _TABLE]


def find_foreign(head: bytes) -> str | None:
    """Return what a file is that is no input, and the remedy; None if it may be one.

    Parameters
    ----------
    head
        Its first `HEAD_BYTES`, or all, decompressed.

    >>> find_foreign(b"7z\\xbc\\xaf\\x27"), find_foreign(b">a\\nMKV\\n")
    ('is a 7-Zip archive; unpack it first', None)
    """
    return next((what for begin, what in _FOREIGN if begin.match(head)), None)
