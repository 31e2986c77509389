"""Runs a search again and again, and kills it one moment later each time: see support/crash.py.

``python crash_search.py FOLDER`` searches ``many.fa`` in itself and writes ``hits.tsv``.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from support.crash import die

from swdual.cli import main as command
from swdual.master import ranges

SEARCH = ("search", "many.fa", "many.fa", "--stats", "none", "-k", "3", "--quiet")


def search(place: Path) -> None:
    """Do what the command does, and end this process with its exit code."""
    try:
        command([*SEARCH, "-o", os.fspath(place / "hits.tsv")])
    except SystemExit as stop:
        os._exit(stop.code or 0)


def main(folder: str) -> None:
    """Search once, so that kernels are compiled, then die at each moment."""
    ranges.MIN_RANGE_RESIDUES = 500
    if os.fork() == 0:
        search(Path())
    os.wait()
    die(folder, lambda place: None, search)


if __name__ == "__main__":
    main(*sys.argv[1:])
