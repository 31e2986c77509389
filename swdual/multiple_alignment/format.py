"""How multiple alignments are written: what every format offers.

A module in ``swdual.multiple_alignment.formats`` has `KIND`, the kind of its files, whose endings
stand for the format, and ``files(complex)``, which yields for each file what its name has behind
that of the output, and its lines.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, cast

from swdual import registry
from swdual.errors import InputError
from swdual.io.endings import find_ending
from swdual.io.file_kind import FileKind
from swdual.io.output import COMPRESSIONS, replace_file, split_compression

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

    >>> number_equal(["a", "b", "a", "a"])
    ['a', 'b', 'a.2', 'a.3']
    """
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return numbered


def list_files(
    alignments: Any, path: str | os.PathLike[str], module: AlignmentFormat
) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the files of a complex and their lines, which need not be used.

    For the parameters see `write_alignment`.
    """
    whole = os.fspath(path)
    stem = os.path.splitext(split_compression(whole)[0])[0]
    for part, lines in module.files(alignments):
        yield f"{stem}{part}{whole[len(stem) :]}" if part else whole, lines


def write_alignment(
    alignments: Any,
    path: str | os.PathLike[str],
    name: str | None = None,
    *,
    force: bool = False,
    finish: Callable[[int], None] | None = None,
) -> None:
    """Write the multiple alignments of a complex, or of one chain.

    Parameters
    ----------
    alignments
        A `Complex`.
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
    for file, lines in list_files(alignments, path, module):
        with replace_file(file, module.KIND, force=force, compress=True, finish=finish) as output:
            for line in lines:
                output.write(f"{line}\n".encode())
