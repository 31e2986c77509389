"""The worked notebooks run, and show what they showed when they were written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

DOCS = Path(__file__).parents[1] / "docs"
SPEED = re.compile(r"[\d.]+ s\b")


def run_again(name):
    """Return a notebook as it is kept, and as it comes out when it is run now."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for package in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(package)
    kept, fresh = (nbformat.read(DOCS / f"{name}.ipynb", as_version=4) for _ in range(2))
    place = {"metadata": {"path": str(DOCS)}}
    nbclient.NotebookClient(fresh, timeout=300, resources=place).execute()
    return kept, fresh


@pytest.fixture(scope="module")
def search():
    """The notebook about searches."""
    return run_again("first_search")


@pytest.fixture(scope="module")
def simulation():
    """The notebook about simulations."""
    return run_again("first_simulation")


@pytest.fixture(scope="module")
def training():
    """The notebook about the environment of Gymnasium."""
    pytest.importorskip("gymnasium")
    return run_again("first_training")


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


@pytest.mark.parametrize("name", ["search", "simulation", "training"])
def test_the_notebook_shows_what_it_showed(name, request):
    """All cells run, and their texts are those that are kept in the file."""
    kept, fresh = request.getfixturevalue(name)
    assert shown(fresh) == shown(kept)
    assert sum(map(len, shown(kept))) >= 8


def test_the_notebook_draws_tables_alignments_and_a_plot(search):
    """Results and hits appear as HTML without scripts, scores as a picture."""
    _, fresh = search
    pieces = html_of(fresh)
    assert any("<table>" in piece and "background:" in piece for piece in pieces)
    assert any("<pre" in piece and "identical" in piece for piece in pieces)
    assert not any("<script" in piece for piece in pieces)
    outputs = [o for cell in fresh.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_notebook_of_simulations_draws_tables_and_charts(simulation):
    """Schedules and comparisons as tables, charts as pictures; the policy of its own is right."""
    _, fresh = simulation
    assert sum("<table>" in piece for piece in html_of(fresh)) == 3
    outputs = [o for cell in fresh.cells if cell.cell_type == "code" for o in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert outputs[-1]["data"]["text/plain"] == "([], [])"
