"""Options that several commands share, and BLAST's spelling of those that BLAST has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

ALREADY_SO = {
    "max-hsps": (("1",), "there is one hit for each target"),
    "task": (("blastp", "blastn"), "every target is compared in full"),
    "seg": (("no",), "nothing is masked"),
    "dust": (("no",), "nothing is masked"),
    "soft-masking": (("false",), "nothing is masked"),
    "comp-based-stats": (("0", "F", "f"), "scores are not adjusted for composition"),
}
"""BLAST's options that ask for what is done anyway: the values that do, and what is done."""

NO_USE = {
    "word-size": "an exact search has no words",
    "threshold": "an exact search has no words",
    "remote": "the search runs here",
    "num-alignments": "use -max_target_seqs",
    "num-descriptions": "use -max_target_seqs",
    "perc-identity": "use SearchResults.filter in Python, or a table with pident",
    "qcov-hsp-perc": "use SearchResults.filter in Python, or a table with qcovhsp",
    "searchsp": "use -dbsize",
}
"""BLAST's options that nothing corresponds to, and what to do instead."""

SILENT = ("parse-seqids",)
"""BLAST's options without a value that change nothing: identifiers are always kept."""

_ONE_DASH = re.compile(r"-([A-Za-z][A-Za-z_-]{2,})(?:=(.*))?")


class Command(click.Command):
    """A command that takes a word behind one dash for BLAST's option, not for many of one letter.

    Without this, -max_hsps would be -m with the value ax_hsps, and -header would ask for help.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {name for each in self.params for name in each.opts}
        left = iter(args)
        kept: list[str] = []
        for word in left:
            if word == "--":
                kept += [word, *left]
                break
            match = _ONE_DASH.fullmatch(word)
            name = match[1].replace("_", "-") if match else ""
            if not match or f"-{name}" in known:
                kept.append(word)
            elif name in SILENT:
                continue
            elif name in ALREADY_SO:
                values, fact = ALREADY_SO[name]
                value = next(left, "") if match[2] is None else match[2]
                if value not in values:
                    ctx.fail(f"-{match[1]} {value}: not here, where {fact}.")
            elif name in NO_USE:
                ctx.fail(f"No such option -{match[1]}: {NO_USE[name]}.")
            else:
                near = difflib.get_close_matches(name, [x.lstrip("-") for x in known], n=1)
                meant = [x for x in known if near and x.lstrip("-") == near[0]]
                hint = f" Did you mean {max(meant, key=len)}?" if meant else ""
                ctx.fail(f"No such option -{match[1]}.{hint}")
        return super().parse_args(ctx, kept)


class _Option(click.Option):
    """An option that also listens to BLAST's names, which the help does not show."""

    def __init__(self, names: Sequence[str], *, blast: str = "", **settings: Any) -> None:
        self._blast = blast.split()
        super().__init__([*names, *self._blast], **settings)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        whole = self.opts
        self.opts = [name for name in whole if name not in self._blast]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = whole


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """Declare an option like `click.option`; `blast` has the names that BLAST's programs use."""
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
        help="Where to write; appears when complete. Ending in .gz, .bz2, .xz or .zst: compressed.",
    ),
    option(
        "--header/--no-header",
        default=None,
        help="Names of the fields in the first line.  [default: in the format csv]",
    ),
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
