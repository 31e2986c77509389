"""The documentation site: made without warnings, complete in itself, and about all public names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import swdual
from swdual import scheduling
from swdual.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("sphinx", "myst_nb", "pydata_sphinx_theme", "sphinx_click", "sphinx_copybutton"),
    *("sphinx_design", "sphinx_gallery", "matplotlib", "pandas"),
)

pytestmark = pytest.mark.process


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what a browser loads with it."""

    def __init__(self, text):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif name in ("href", "src", "srcset", "poster") and value:
                self.loaded.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a site, made from a copy of ``docs/``.

    The scripts of the gallery are shown, not run: `test_gallery` runs them.
    """
    for package in PACKAGES:
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("site")
    for path in ROOT.iterdir():
        if path.name == "docs":
            shutil.copytree(path, folder / "docs", ignore=shutil.ignore_patterns("generated"))
        elif not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    options = ["-W", "--keep-going", "-n", "-q", "-b", "html", "-D", "plot_gallery=False"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, folder / "docs", folder / "out"],
        env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "out"


@pytest.fixture(scope="module")
def pages(site):
    """All pages by their paths, without templates of the theme, and without listings of code.

    Sphinx's listings link back to names by the module that most of them are documented in.
    """
    listings = {site / "_static", site / "_modules"}
    paths = [path for path in site.rglob("*.html") if listings.isdisjoint(path.parents)]
    return {path: Page(path.read_text()) for path in paths}


def test_every_link_leads_somewhere(site, pages):
    """To a file of the site, and to an anchor of it."""
    for path, page in pages.items():
        for link in page.links:
            place, _, anchor = link.partition("#")
            if re.match(r"\w+:", place):
                continue
            target = (path.parent / unquote(place)).resolve() if place else path
            assert target.exists(), f"{path.relative_to(site)}: {link}"
            if anchor and target in pages:
                anchors = pages[target].anchors
                assert unquote(anchor) in anchors, f"{path.relative_to(site)}: {link}"


def test_a_browser_loads_nothing_from_elsewhere(site, pages):
    """All that a page needs lies in the folder of the site."""
    for path, page in pages.items():
        for link in page.loaded:
            assert not re.match(r"(\w+:)?//", link), f"{path.relative_to(site)}: {link}"
            if not link.startswith("data:"):
                target = path.parent / unquote(re.split("[?#]", link)[0])
                assert target.exists(), f"{path.relative_to(site)}: {link}"


def test_the_reference_has_every_command_and_every_public_name(site):
    """Modules among the names have pages for what is in them."""
    commands = {path.stem for path in (site / "generated" / "commands").iterdir()}
    assert commands == {*COMMANDS}
    described = {path.stem for path in (site / "generated" / "python").iterdir()}
    described |= {"swdual.__version__", "swdual.scheduling.METRICS"}
    for package in (swdual, scheduling):
        for name in package.__all__:
            if not re.search(r"module", str(type(getattr(package, name)))):
                assert f"{package.__name__}.{name}" in described


def test_tables_are_made_from_the_code(site):
    """Each field has a row, and each option of BLAST that swdual answers."""
    from swdual.cli._blast import ANSWERS, Switch
    from swdual.hits.fields import FIELDS

    fields = (site / "reference" / "fields.html").read_text()
    assert all(f">{name}</span>" in fields for name in FIELDS)
    blast = (site / "from_blast.html").read_text()
    for name, answer in ANSWERS.items():
        shown = "-" + name.replace("-", "_")
        assert isinstance(answer, Switch) or f">{shown}</span>" in blast
