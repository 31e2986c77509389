"""Options that several commands share, and BLAST's spelling of those that BLAST has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click


class _Option(click.Option):
    """An option that also listens to BLAST's name, which the help does not show."""

    def __init__(self, names: Sequence[str], *, blast: str | None = None, **settings: Any) -> None:
        self._blast = blast
        super().__init__([*names, *([] if blast is None else [blast])], **settings)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        whole = self.opts
        self.opts = [name for name in whole if name != self._blast]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = whole


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """Declare an option like `click.option`; `blast` is the name that BLAST's programs use."""
    return click.option(*names, cls=_Option, **settings)


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def declare(function: Any) -> Any:
        for each in reversed(options):
            function = each(function)
        return function

    return declare


output_options = _together(
    option(
        "-o",
        "--out",
        blast="-out",
        default="-",
        show_default="standard output",
        type=click.Path(allow_dash=True),
        help="Where to write; appears when complete.",
    ),
    option("--header", is_flag=True, help="Names of the fields in the first line."),
    option("--force", is_flag=True, help="Replace the output file."),
)
"""Where a table goes."""

scheme_options = _together(
    option(
        "--dbtype",
        type=click.Choice(["auto", "prot", "nucl"]),
        default="auto",
        show_default=True,
        help="What the letters of a FASTA file mean; a database knows.",
    ),
    option(
        "--matrix",
        blast="-matrix",
        metavar="NAME|FILE",
        help="NCBI's BLOSUM45, 50, 62, 80, 90, PAM30, 70, 250, or a matrix file.  "
        "[default: BLOSUM62]",
    ),
    option(
        "--gapopen",
        blast="-gapopen",
        type=int,
        help="Price of opening a gap.  [default: BLAST's for the matrix; BLOSUM62 11, bases 5]",
    ),
    option(
        "--gapextend",
        blast="-gapextend",
        type=int,
        help="Price of each gap residue.  [default: BLAST's for the matrix; BLOSUM62 1, bases 2]",
    ),
    option("--reward", blast="-reward", type=int, help="Score of equal bases.  [default: 2]"),
    option(
        "--penalty", blast="-penalty", type=int, help="Score of different bases.  [default: -3]"
    ),
    option(
        "--strand",
        blast="-strand",
        type=click.Choice(["both", "plus", "minus"]),
        help="Strands of a nucleotide query to compare; the better counts.  [default: both]",
    ),
    option(
        "-p",
        "--threads",
        blast="-num-threads",
        type=click.IntRange(min=1),
        envvar="SWDUAL_THREADS",
        show_envvar=True,
        help="CPU threads.  [default: all that this process may use]",
    ),
)
"""How sequences are compared."""
