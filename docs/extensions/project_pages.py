"""Pages of the project that lie outside ``docs/``: those that the pages in it link to.

Sphinx reads one folder. Each linked Markdown file outside of it, such as CONTRIBUTING.md, becomes a
page in ``docs/generated/project``, and links lead there. A link to a folder becomes text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
PAGES = GENERATED / "project"

LISTED = ("CHANGELOG.md", "CONTRIBUTING.md")
"""Pages that a table of contents names."""

HOME = {ROOT / "README.md": DOCS / "index.md", DOCS / "README.md": DOCS / "index.md"}
"""The landing page takes their place."""

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def place_of(path: Path) -> Path:
    """Return the file that Sphinx reads for a file that a page links to."""
    if path in HOME:
        return HOME[path]
    outside = path.suffix == ".md" and not path.is_relative_to(DOCS)
    return PAGES / path.relative_to(ROOT) if outside else path


def rewrite(text: str, folder: Path, home: Path) -> str:
    """Return a page with links that lead from another place to where Sphinx has their targets.

    Parameters
    ----------
    text
        Markdown.
    folder
        The folder that the links of the text start from.
    home
        The folder that they will start from.
    """

    def moved(link: re.Match[str]) -> str:
        mark, label, target, heading = link.groups()
        path = Path(os.path.normpath(folder / target))
        if "://" in target or not path.is_relative_to(ROOT):
            return link[0]
        if path.is_dir():
            return label
        relative = os.path.relpath(place_of(path), home)
        return f"{mark}[{label}]({relative}{heading or ''})"

    return LINK.sub(moved, text)


def linked(text: str, folder: Path) -> list[Path]:
    """Return the Markdown files outside of ``docs/`` that a page links to."""
    targets = (Path(os.path.normpath(folder / link[3])) for link in LINK.finditer(text))
    return [path for path in targets if place_of(path).is_relative_to(PAGES) and path.is_file()]


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages that are linked, directly or by another one."""
    pages = [path for path in DOCS.rglob("*.md") if not path.is_relative_to(GENERATED)]
    waiting = [ROOT / name for name in LISTED]
    for page in pages:
        waiting += linked(page.read_text(), page.parent)
    written = set()
    while waiting:
        path = waiting.pop()
        if path in written:
            continue
        written.add(path)
        text = path.read_text()
        waiting += linked(text, path.parent)
        page = place_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        head = "" if path.name in LISTED else "---\norphan: true\n---\n\n"
        moved = head + rewrite(text, path.parent, page.parent)
        if not page.exists() or page.read_text() != moved:
            page.write_text(moved)


def rewrite_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Let the links of a page lead to where Sphinx has their targets."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and not path.is_relative_to(GENERATED):
        source[0] = rewrite(source[0], path.parent, path.parent)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the events."""
    app.connect("config-inited", write_pages)
    app.connect("source-read", rewrite_page)
    return {"parallel_read_safe": True}
