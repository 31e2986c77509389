"""What the scripts of the gallery need when sphinx-gallery runs them."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "gallery"


def name_file(settings: Any, name: str) -> None:
    """Give a script its ``__file__``, as Python does: sphinx-gallery runs it without.

    Scripts find the samples beside themselves, and so run in any folder.
    """
    builtins.__file__ = str(next(GALLERY.rglob(name)))  # type: ignore[attr-defined]
