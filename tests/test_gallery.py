"""The scripts of the gallery run: each asserts what its text says."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.rglob("plot_*.py"))

RUN = """
import runpy, sys
from matplotlib import pyplot

runpy.run_path(sys.argv[1], run_name="__main__")
figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
assert figures, "no picture"
for figure in figures:
    figure.savefig(sys.argv[2])
"""
"""Runs a script, and draws its pictures: problems of their layout show only then."""


def name_of(script):
    return script.relative_to(GALLERY).with_suffix("").as_posix()


@pytest.mark.process
@pytest.mark.nightly("docs/gallery", "swdual")
@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_runs_anywhere_and_leaves_nothing_behind(script, tmp_path):
    for package in ("matplotlib", "pandas", "pyarrow", "scipy"):
        pytest.importorskip(package)
    for folder in ("work", "temporary"):
        (tmp_path / folder).mkdir()
    before = sorted(GALLERY.rglob("*"))
    result = subprocess.run(
        [sys.executable, "-W", "error", "-B", "-c", RUN, script, tmp_path / "picture.png"],
        cwd=tmp_path / "work",
        env=os.environ | {"MPLBACKEND": "agg", "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Warning" not in result.stderr
    assert not list((tmp_path / "work").iterdir())
    assert not list((tmp_path / "temporary").iterdir())
    assert sorted(GALLERY.rglob("*")) == before


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_has_a_title_cells_and_a_picture_in_the_house_style(script):
    source = script.read_text()
    text = ast.get_docstring(ast.parse(source))
    assert text is not None
    title, line, blank, *rest = text.splitlines()
    assert line == "=" * len(title)
    assert not blank
    assert rest
    headings = re.findall(r"(?m)^# %%\n# (.+)\n# (-+)\n#?$", source)
    assert len(headings) == source.count("# %%") >= 3
    assert all(len(heading) == len(line) for heading, line in headings)
    assert headings[-1][0] == "What to see"
    assert "plt.show()" in source
    assert 'plt.style.use("swdual.charts")' in source


def test_titles_are_unique_and_every_group_has_an_introduction():
    titles = [script.read_text().splitlines()[1] for script in SCRIPTS]
    assert len({*titles}) == len(titles) >= 18
    for folder in {GALLERY, *(script.parent for script in SCRIPTS)}:
        introduction = (folder / "README.rst").read_text().splitlines()
        assert len(introduction[0]) == len(introduction[1])
        assert len(introduction) > 3
