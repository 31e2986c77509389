"""How multiple alignments are written: what every format offers.

A module in ``swdual.multiple_alignment.formats`` has `KIND`, the kind of its files, and
``files(complex)``, which yields what the name of each file has behind that of the output, and its
lines. `ENDINGS` are those of file names that stand for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, cast

from swdual import registry
from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.io.file_kind import FileKind
from swdual.io.output import COMPRESSIONS, replace_file, split_compression
from swdual.multiple_alignment.alphafold_input import AlphaFoldInput

PACKAGE = "swdual.multiple_alignment.formats"

DEFAULT = "a3m"
"""The format of a file whose name has no ending."""


_UNSAFE = re.compile(r"[^\w.-]")

ABSENT = -1
"""In place of a row that a chain does not have."""


class Chain(Protocol):
    """The alignment of a chain: `MultipleAlignment` is one."""

    @property
    def titles(self) -> list[str]:
        """The header line of each row."""
        ...

    @property
    def rows(self) -> list[bytes]:
        """The rows in a3m, the query first."""
        ...

    @property
    def query(self) -> str:
        """The residues of the query."""
        ...


class Chains(Protocol):
    """What formats ask for: `Complex` is one, and documents it."""

    @property
    def names(self) -> list[list[str]]:
        """The identifiers of the chains that have each query."""
        ...

    @property
    def job(self) -> AlphaFoldInput | None:
        """The input of AlphaFold 3 that the chains are of, if any."""
        ...

    @property
    def chains(self) -> Sequence[Chain]:
        """The alignments, of different queries."""
        ...

    @property
    def pairs(self) -> list[tuple[int, ...]]:
        """The row of each chain in each paired row, or `ABSENT`."""
        ...

    def paired_rows(self, chain: int) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of a chain for each pair."""
        ...

    def unpaired_rows(self, chain: int) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of a chain for each of its other rows."""
        ...

    def joined_rows(self) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of all chains, one after the other."""
        ...


class AlignmentFormat(Protocol):
    """A module in ``swdual.multiple_alignment.formats``."""

    KIND: FileKind

    def files(self, alignments: Chains) -> Iterator[tuple[str, Iterator[str]]]:
        """Yield the parts of names of files, and their lines.

        Parameters
        ----------
        alignments
            The chains of a complex, or one chain.
        """
        ...


def load_format(name: str) -> AlignmentFormat:
    """Return the module of a format.

    Raises
    ------
    InputError
        If there is none; the message names the nearest.
    """
    return cast(AlignmentFormat, registry.load(PACKAGE, name))


def choose_format(path: str | os.PathLike[str], name: str | None = None) -> str:
    """Return the name of the format of a file, by the file's name unless it is given.

    Raises
    ------
    InputError
        If it is unknown.
    """
    if name is not None:
        registry.require(PACKAGE, name)
        return name
    endings = {
        ending: name
        for name in registry.available(PACKAGE)
        for ending in load_format(name).KIND.endings
    }
    ending = find_ending(path)
    if not ending or ending in endings:
        return endings.get(ending, DEFAULT)
    raise InputError(
        f"no format of multiple alignments has this ending; known are {' '.join(endings)}, and "
        f"after these {' '.join(COMPRESSIONS)}",
        file=path,
    )


def name_file(identifier: str) -> str:
    """Return an identifier as part of the name of a file.

    >>> name_file("sp|P69905|HBA_HUMAN")
    'sp_P69905_HBA_HUMAN'
    """
    return _UNSAFE.sub("_", identifier)


def write_alignment(
    alignments: Chains,
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    force: bool = False,
    finish: Callable[[int], None] | None = None,
) -> None:
    """Write a multiple alignment, or those of a complex.

    Parameters
    ----------
    alignments
        The chains.
    path
        The file. Where a format has one for each chain, its name comes before the ending.
    name, force, finish
        As for `Complex.write`.

    Raises
    ------
    InputError, OutputError
        As `MultipleAlignment.write` documents.
    """
    module = load_format(choose_format(path, name))
    for file, lines in _list_parts(alignments, path, module):
        with replace_file(file, module.KIND, force=force, compress=True, finish=finish) as output:
            for line in lines:
                output.write(f"{line}\n".encode())


def _list_parts(
    alignments: Chains, path: str | os.PathLike[str], module: AlignmentFormat
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the files of a format, and their lines."""
    whole = os.fspath(path)
    stem = os.path.splitext(split_compression(whole)[0])[0]
    for part, lines in module.files(alignments):
        yield f"{stem}{part}{whole[len(stem) :]}" if part else whole, lines
