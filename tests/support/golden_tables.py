"""Golden tables of programs, and the sequences that they are of."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

from swdual.database.database import Database

ROOT = Path(__file__).parents[2]
GOLDEN, DATA = ROOT / "tests" / "golden", ROOT / "data"


class Case(NamedTuple):
    """A table, and what it is of."""

    table: Path
    queries: Path
    database: Database


def golden_rows(name):
    """Return the lines of a golden table from that with the names of the fields on."""
    opened = gzip.open if name.endswith(".gz") else open
    with opened(GOLDEN / name, "rt") as lines:
        return [line for line in lines if not line.startswith("#")]
