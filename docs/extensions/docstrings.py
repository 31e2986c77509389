"""What the docstrings and signatures of swdual need to be shown well."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def keep_sentence(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]
) -> None:
    """Put an empty comment before the text of an attribute.

    Napoleon, which comes next, takes what is before a colon in the first line for a type; these
    texts are sentences.
    """
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


def shorten(
    app: Sphinx, what: str, name: str, item: Any, options: Any, signature: str | None, result: Any
) -> tuple[str, Any] | None:
    """Write a default that is the table of all metrics by its name."""
    if signature is None:
        return None
    return re.sub(r"\{'\w+': Metric\(.*\)\}", "METRICS", signature), result


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the events."""
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True}
