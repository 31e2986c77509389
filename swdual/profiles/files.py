"""Reads a profile from a file of any known format, and writes one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from swdual.errors import InputError
from swdual.io.file_kind import FileKind, begins_with
from swdual.io.output import replace_file
from swdual.profiles import ascii_pssm, asn1, hmmer, tables
from swdual.profiles.position_scores import PositionScores
from swdual.profiles.text import read_text
from swdual.registry import unknown

MAX_PROFILE_BYTES = 1 << 28
"""A checkpoint file of PSI-BLAST has some 2,000 bytes for each position."""

HEAD = 1000
"""Characters in which the first line that is not blank begins."""

READERS: dict[str, Callable[[str, str | os.PathLike[str]], PositionScores]] = {
    asn1.OPENING: asn1.read_asn1,
    ascii_pssm.OPENING: ascii_pssm.read_ascii,
    hmmer.OPENING: hmmer.read_hmmer,
}
"""What reads a format, by the beginning of its files."""


def read_scores(path: str | os.PathLike[str]) -> PositionScores:
    """Return what a file says of a profile. See `swdual.profiles.read_profile`."""
    if tables.is_table(path):
        return tables.read_table(path)
    text = read_text(path, MAX_PROFILE_BYTES)
    head = text[:HEAD].lstrip()
    for opening, read in READERS.items():
        if head.startswith(opening):
            return read(text, path)
    raise InputError(
        "not a profile; expected ASN.1 text (psiblast -out_pssm), an ASCII PSSM "
        "(psiblast -out_ascii_pssm), a model of HMMER3, or a table (.npy, .csv, .tsv); "
        "`from_msa` reads a multiple alignment",
        file=path,
    )


WRITERS: dict[str, Callable[[PositionScores], Iterator[str]]] = {
    "asn": asn1.format_asn1,
    "pssm": ascii_pssm.format_ascii,
}
"""What yields the lines of each format."""

_BEGINS = begins_with(asn1.OPENING.encode(), ascii_pssm.OPENING.encode())

KINDS = {
    "asn": FileKind("a profile in ASN.1", (".asn", ".asn1", ".chk"), _BEGINS),
    "pssm": FileKind("an ASCII PSSM", (".pssm",), _BEGINS),
}
"""The kind of files of each format; one may replace the other."""


def write_scores(
    profile: PositionScores,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    force: bool = False,
) -> None:
    """Write a profile to a file. See `Profile.write`."""
    name = Path(path).suffix.lstrip(".").lower() if format is None else format
    if name not in WRITERS:
        place = os.fspath(path) if format is None else None
        raise InputError(unknown("format of profiles", name, WRITERS), file=place)
    with replace_file(path, KINDS[name], force=force) as output:
        for line in WRITERS[name](profile):
            output.write(f"{line}\n".encode())
