"""The command of a campaign: its options, and the pages of the papers, which it brings up to date.

`--judge` makes verdicts, plots and pages of the rows that are kept, without a simulation.
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
from _study import Study, conclude, conclude_part
from page import write_pages

from swdual.version import __version__


def campaign(name: str) -> Callable[[Callable[..., Study]], click.Command]:
    """Return the decorator of a campaign's function, which gets a `Run` and its own options."""

    def decorate(function: Callable[..., Study]) -> click.Command:
        def main(
            jobs: int, traces: Path, quick: bool, keep: bool, judge: bool, out: Path | None,
            numbers: tuple[int, ...], figures: tuple[str, ...], **chosen: Any,
        ) -> None:  # fmt: skip
            kept = newest(name) if judge else None
            part = bool(numbers or figures)
            whole = kept if judge else RESULTS / __version__ / "papers" if keep else None
            folder = out or (None if part else whole)
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            run = Run(folder, kept, jobs, traces, quick)
            study = function(run, **chosen)
            if part:
                conclude_part(name, study, run, numbers, figures)
                return
            conclude(name, study, run)
            if out is None and (keep or judge):
                write_pages()

        main.__doc__ = function.__doc__
        main.__dict__.update(function.__dict__)  # the options that were put before it
        for option in (
            click.option("--out", type=click.Path(path_type=Path),
                         help="Write, and continue, this folder."),
            click.option("--claim", "numbers", type=int, multiple=True, metavar="NUMBER",
                         help="Only this sentence of the page; may be repeated."),
            click.option("--figure", "figures", multiple=True, metavar="NUMBER",
                         help="Only this figure of the paper, or 'table 2'; may be repeated."),
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
