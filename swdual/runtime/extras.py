"""Optional dependencies, and the commands that install them."""

from __future__ import annotations

import importlib
import re
import shlex
from types import ModuleType

from swdual.errors import InputError

_REQUIREMENT = re.compile(r"""(?P<package>[^;]+?)\s*;.*\bextra == ["'](?P<extra>[^"']+)["']""")


def import_extra(module: str, extra: str, what: str) -> ModuleType:
    """Return a module of an optional dependency.

    Parameters
    ----------
    module
        Its name, such as ``scipy.sparse``.
    extra
        As for `install_command`.
    what
        What needs it, for the message, such as "drawing needs matplotlib".

    Raises
    ------
    InputError
        If it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{what}: {install_command(extra)}") from error


def install_command(extra: str) -> str:
    """Return the command that installs an optional dependency, however swdual was installed.

    It names the packages of the extra with their versions. Where swdual is not installed, but run
    from its source folder, the command is for that folder.

    Parameters
    ----------
    extra
        A name among the optional dependencies in pyproject.toml, such as ``arrow``.
    """
    from importlib import metadata  # 10 ms

    try:
        lines = metadata.requires("swdual") or []
    except metadata.PackageNotFoundError:
        lines = []
    matches = filter(None, map(_REQUIREMENT.fullmatch, lines))
    packages = [match["package"] for match in matches if match["extra"] == extra]
    return "pip install " + " ".join(map(shlex.quote, packages or [f".[{extra}]"]))
