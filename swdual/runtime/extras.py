"""Optional dependencies, and the commands that install them."""

from __future__ import annotations

import re
import shlex

_REQUIREMENT = re.compile(r"""(?P<package>[^;]+?)\s*;.*\bextra == ["'](?P<extra>[^"']+)["']""")


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
