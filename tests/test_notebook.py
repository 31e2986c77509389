"""The worked notebook runs, and shows what it showed when it was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first_search.ipynb"
SPEED = re.compile(r"[\d.]+ s\b")


@pytest.fixture(scope="module")
def notebooks():
    """The notebook as it is kept, and as it comes out when it is run now."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for package in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(package)
    kept, fresh = (nbformat.read(NOTEBOOK, as_version=4) for _ in range(2))
    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    nbclient.NotebookClient(fresh, timeout=50, resources=place).execute()
    return kept, fresh


def shown(notebook):
    """Return the text that each cell shows, without the seconds that it took."""
    return [
        [
            SPEED.sub("", output.get("text") or output["data"].get("text/plain", ""))
            for output in cell.outputs
            if output.output_type != "stream" or output.name == "stdout"
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def html_of(notebook):
    """Return every piece of HTML that the notebook shows."""
    return [
        output["data"]["text/html"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]


def test_the_notebook_shows_what_it_showed(notebooks):
    """All cells run, and their texts are those that are kept in the file."""
    kept, fresh = notebooks
    assert shown(fresh) == shown(kept)
    assert sum(map(len, shown(kept))) >= 10


def test_the_notebook_draws_tables_alignments_and_a_plot(notebooks):
    """Results and hits appear as HTML without scripts, scores as a picture."""
    _, fresh = notebooks
    pieces = html_of(fresh)
    assert any("<table>" in piece and "<svg" in piece for piece in pieces)
    assert any("<pre" in piece and "identical" in piece for piece in pieces)
    assert not any("<script" in piece for piece in pieces)
    outputs = [o for cell in fresh.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
