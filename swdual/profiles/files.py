"""Reads a profile from a file of any known format, and writes one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.io.output import replace_file
from swdual.profiles.asn1 import OPENING, format_asn1, read_asn1
from swdual.profiles.profile import Profile
from swdual.registry import unknown

MAX_PROFILE_BYTES = 1 << 28
"""A checkpoint file of PSI-BLAST has some 2,000 bytes for each position."""


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in a file.

    Parameters
    ----------
    path
        A checkpoint file of PSI-BLAST (ASN.1 text). The content tells the format, not the name.

    Raises
    ------
    InputError
        If the file cannot be read, is damaged, or is no profile of proteins.
    """
    text = read_small(path, MAX_PROFILE_BYTES).decode(errors="replace")
    if text.lstrip().startswith(OPENING):
        return read_asn1(text, path)
    raise InputError(
        "not a profile; expected a checkpoint file of psiblast (ASN.1 text, -out_pssm)", file=path
    )


WRITERS: dict[str, Callable[[Profile], Iterator[str]]] = {"asn": format_asn1}
"""What yields the lines of each format."""


def write_profile(
    profile: Profile,
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
    with replace_file(path, force=force) as output:
        for line in WRITERS[name](profile):
            output.write(f"{line}\n".encode())
