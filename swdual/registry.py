"""Plug-ins by file name: each module of a plug-in package is one implementation.

A module whose name starts with an underscore is plumbing that the implementations share.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import TypeVar

from swdual.errors import InputError, UnknownName
from swdual.text.messages import near_names

Value = TypeVar("Value")


def available(package: str) -> list[str]:
    """Return the sorted names of the implementations in a plug-in package.

    >>> available("swdual.backends")
    ['cuda', 'reference', 'simd']
    """
    return [*_list_modules(*importlib.import_module(package).__path__)]


@cache
def _list_modules(*folders: str) -> list[str]:
    """Return the names of modules; read once, as a search asks several times."""
    names = (module.name for module in pkgutil.iter_modules(folders))
    return sorted(name for name in names if not name.startswith("_"))


def load(package: str, name: str) -> ModuleType:
    """Return the module that implements `name`.

    Parameters
    ----------
    package
        The full name of a plug-in package, such as "swdual.backends".
    name
        The implementation.

    Raises
    ------
    InputError
        If there is no such implementation; the message names the nearest ones.
    """
    require(package, name)
    return importlib.import_module(f"{package}.{name}")


def require(package: str, name: str) -> None:
    """Check that there is an implementation `name`, without importing it.

    For the parameters see `load`.

    Raises
    ------
    InputError
        If there is none.
    """
    # To list the folder takes longer than to plan a small search.
    if name.isidentifier() and not name.startswith("_") and f"{package}.{name}" in sys.modules:
        return
    names = available(package)
    if name not in names:
        folder = package.rpartition(".")[2]
        kind = f"{folder[:-3]}y" if folder.endswith("ies") else folder[:-1]
        raise InputError(unknown(kind, name, names))


class NamedValues(dict[str, Value]):
    """A dictionary whose error for a name that it lacks has the nearest ones.

    Parameters
    ----------
    kind
        What the names stand for, in the singular.
    values
        The values by name.

    >>> NamedValues("metric", {"makespan": 5.0})["makespn"]
    Traceback (most recent call last):
    ...
    swdual.errors.UnknownName: unknown metric 'makespn'; did you mean makespan? There are: makespan
    """

    def __init__(self, kind: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self._kind = kind

    def __missing__(self, name: object) -> Value:
        raise UnknownName(unknown(self._kind, str(name), self))


def unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """Return the message for a name that does not exist, with the nearest ones that do.

    Parameters
    ----------
    kind
        What the name stands for, in the singular.
    name
        As it was given.
    names
        The names that exist.

    >>> unknown("matrix", "BLOSUM63", ["BLOSUM62", "PAM30"])
    "unknown matrix 'BLOSUM63'; did you mean BLOSUM62? There are: BLOSUM62, PAM30"
    """
    names = sorted(names)
    near = near_names(name, names)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    return f"unknown {kind} {name!r}{hint} There are: {', '.join(names)}"
