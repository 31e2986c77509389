"""The traces of the archive, which lie beside the project only."""

from __future__ import annotations

from pathlib import Path

import pytest

TRACES = Path(__file__).parents[2] / ".." / "shared" / "traces"


@pytest.fixture
def archived():
    """Return a function from the name of a trace to its file."""

    def path(name):
        found = TRACES / f"{name}.swf.gz"
        if not found.is_file():
            pytest.skip("traces lie beside the project only")
        return found

    return path
