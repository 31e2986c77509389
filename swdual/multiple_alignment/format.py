"""How multiple alignments are written: what every format offers.

A module in ``swdual.multiple_alignment.formats`` has `KIND`, the kind of its files, whose endings
stand for the format, and ``files(complex)``, which yields for each file what its name has behind
that of the output, and its lines.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

from swdual import registry
from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.io.file_kind import FileKind
from swdual.io.output import COMPRESSIONS, split_compression

PACKAGE = "swdual.multiple_alignment.formats"

DEFAULT = "a3m"
"""The format of a file whose name has no ending."""

_UNSAFE = re.compile(r"[^\w.-]")


class AlignmentFormat(Protocol):
    """A module in ``swdual.multiple_alignment.formats``."""

    KIND: FileKind

    def files(self, alignments: Any) -> Iterator[tuple[str, Iterator[str]]]:
        """Yield the parts of names of files, and their lines.

        Parameters
        ----------
        alignments
            A `Complex`.
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


def choose_format(
    path: str | os.PathLike[str], name: str | None = None, default: str = DEFAULT
) -> str:
    """Return the name of the format of a file, by the file's name unless it is given.

    `default` is that of a file whose name has no ending.

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
        return endings.get(ending, default)
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


def number_equal(names: Iterable[str]) -> list[str]:
    """Return names, of which equal ones get a number from 2 on.

    >>> number_equal(["a", "a", "a.2", "a"])
    ['a', 'a.2', 'a.2.2', 'a.3']
    """
    counts: Counter[str] = Counter()
    numbered: dict[str, None] = {}
    for name in names:
        counts[name] += 1
        chosen = name
        while chosen in numbered:
            counts[name] += chosen != name
            chosen = f"{name}.{max(counts[name], 2)}"
        numbered[chosen] = None
    return [*numbered]


def list_files(
    alignments: Any, path: str | os.PathLike[str], module: AlignmentFormat
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the files of a complex and their lines, which need not be used.

    Parameters
    ----------
    alignments
        A `Complex`.
    path
        The file. Where a format has one for each chain, its name comes before the ending.
    module
        The format.
    """
    whole = os.fspath(path)
    stem = os.path.splitext(split_compression(whole)[0])[0]
    for part, lines in module.files(alignments):
        yield f"{stem}{part}{whole[len(stem) :]}" if part else whole, lines
