"""A page in one HTML file: its text, its data and its script.

The page makes no request. Its policy allows this script and these styles only, by their digests, so
that nothing in the data can become active. Data are JSON in elements that browsers do not run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from swdual.io.output import Output, Utf8
from swdual.text.messages import sanitize
from swdual.text.notebook import Markup
from swdual.version import __version__

MAX_PLAIN_BYTES = 1 << 20
"""Data up to this size are plain JSON; those of larger pages are compressed, which takes browsers
of 2023 or later to read."""

SCRIPTS = ("dom.js", "data.js", "fragment.js", "table.js")
STYLES = ("report.css",)
"""Files of this package that all pages have."""


def read_files(package: str, folder: str, names: Sequence[str]) -> list[str]:
    """Return the texts of scripts or styles that lie in a package.

    Parameters
    ----------
    package, folder
        The package, and a folder in it, or "".
    names
        Names of the files.
    """
    place = files(package).joinpath(folder)
    return [place.joinpath(name).read_text(encoding="utf-8") for name in names]


class PageWriter:
    """Writes a page piece by piece: what can be told first, then data, then all else.

    Parameters
    ----------
    stream
        Where to write.
    title
        The title of the page.
    scripts, styles
        Texts of scripts and style sheets, besides those of all pages. All scripts of a page are one
        module, in this order.
    """

    def __init__(
        self, stream: Output, title: str, scripts: Sequence[str] = (), styles: Sequence[str] = ()
    ) -> None:
        self._text = Utf8(stream)
        script = "\n".join([*read_files("swdual.report", "", SCRIPTS), *scripts])
        style = "\n".join([*read_files("swdual.report", "", STYLES), *styles])
        (template,) = read_files("swdual.report", "", ["page.html"])
        page = Template(template).substitute(
            policy=_policy(script, style),
            generator=f"swdual {__version__}",
            title=escape(sanitize(title)),
            style=style,
            script=script,
            content="\0",
        )
        head, self._end = page.split("\0")
        self._text.write(head)
        self._waiting: list[tuple[str, bytes]] | None = []
        self._bytes = 0

    def add(self, name: str, value: object) -> None:
        """Write data, which `readBlock` of the script returns by their name.

        Parameters
        ----------
        name
            Letters, digits and hyphens.
        value
            Anything that JSON can hold, and arrays. Numbers that are not finite become null.
        """
        data = encode_json(value)
        if self._waiting is None:
            self._write_compressed(name, data)
            return
        self._waiting.append((name, data))
        self._bytes += len(data)
        if self._bytes > MAX_PLAIN_BYTES:
            waiting, self._waiting = self._waiting, None
            for each in waiting:
                self._write_compressed(*each)

    def finish(self, body: Markup) -> None:
        """Write the text of the page, and its end.

        Parameters
        ----------
        body
            What the page shows before the script runs, or without it.
        """
        for name, data in self._waiting or ():
            self._write_block(name, "application/json", data.decode())
        self._text.write(body + self._end)

    def _write_compressed(self, name: str, data: bytes) -> None:
        packed = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
        self._write_block(name, "application/gzip", packed)

    def _write_block(self, name: str, kind: str, content: str) -> None:
        self._text.write(f'<script type="{kind}" id="data-{name}">{content}</script>\n')


def encode_json(value: object) -> bytes:
    r"""Return JSON that may stand in a script element: it has no "<".

    Parameters
    ----------
    value
        As for `PageWriter.add`.

    >>> encode_json({"title": "</script>", "evalue": np.array([0.5, np.nan])})
    b'{"title":"\\u003c/script>","evalue":[0.5,null]}'
    """
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").encode(errors="replace")


def _plain(value: Any) -> Any:
    """Return a value with lists for arrays, and None for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f" or np.isfinite(value).all():
            return value.tolist()
        return [each if math.isfinite(each) else None for each in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _policy(script: str, style: str) -> str:
    """Return what browsers allow the page: its script and its styles, nothing from elsewhere."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    """Return the digest of an element's text as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
