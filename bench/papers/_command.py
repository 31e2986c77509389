"""The command of a campaign: its options, and the page of all papers, which it brings up to date.

`--judge` makes verdicts, plots and page of the rows that are kept, without a simulation.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import TRACES, Run, newest
from _report import RESULTS
from page import write_page

from swdual.version import __version__


def campaign(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return the decorator of a campaign's function, which gets a `Run` and its own options."""

    def decorate(function: Callable[..., None]) -> click.Command:
        def main(
            jobs: int, traces: Path, quick: bool, keep: bool, judge: bool, out: Path | None,
            **chosen: Any,
        ) -> None:  # fmt: skip
            kept = newest(name) if judge else None
            folder = out or (kept if judge else RESULTS / __version__ / "papers" if keep else None)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            function(Run(folder, kept, jobs, traces, quick), **chosen)
            if out is None and (keep or judge):
                write_page()

        main.__doc__ = function.__doc__
        main.__dict__.update(function.__dict__)  # the options that were put before it
        for option in (
            click.option("--out", type=click.Path(path_type=Path),
                         help="Write, and continue, this folder."),
            click.option("--judge", is_flag=True, help="Judge the kept rows, simulate nothing."),
            click.option("--keep", is_flag=True, help="Write, and continue, bench/results."),
            click.option("--quick", is_flag=True, help="A few small instances."),
            click.option("--traces", type=click.Path(path_type=Path), default=TRACES,
                         help="Their folder."),
            click.option("--jobs", default=os.cpu_count() or 1, help="Processes."),
        ):  # fmt: skip
            main = option(main)
        return click.command(name)(main)

    return decorate
