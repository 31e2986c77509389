"""Runs a search again and again, and kills it one moment later each time: see support/crash.py.

``python crash_search.py FOLDER search|iterate`` searches ``many.fa`` in itself and writes
``hits.tsv``.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from support.crash import die

from swdual.cli import main as command
from swdual.master import ranges

OPTIONS = {
    "search": ("--stats", "none", "-k", "3", "--quiet"),
    "iterate": ("--iterations", "2", "-k", "3", "--each-round", "--quiet"),
}


def search(name: str, place: Path) -> None:
    """Do what the command does, and end this process with its exit code."""
    out = os.fspath(place / "hits.tsv")
    try:
        command([name, "many.fa", "many.fa", *OPTIONS[name], "-o", out])
    except SystemExit as stop:
        os._exit(stop.code or 0)


def main(folder: str, name: str) -> None:
    """Search once, so that kernels are compiled, then die at each moment."""
    ranges.MIN_RANGE_RESIDUES = 500
    if os.fork() == 0:
        search(name, Path())
    os.wait()
    die(folder, lambda place: None, partial(search, name))


if __name__ == "__main__":
    main(*sys.argv[1:])
