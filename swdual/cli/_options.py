"""Commands with options in groups and with BLAST's options, and options of several commands."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import click
from click.types import OptionHelpExtra

from swdual.cli._blast import (
    ANSWERS,
    FRACTIONS,
    HITS_SHOWN,
    TRUTHS,
    Accepted,
    RefusedOption,
    Switch,
)
from swdual.cli._complete import complete_names
from swdual.cli._size import Size
from swdual.errors import SwdualError
from swdual.request.declarations import OPTIONS, Declaration, list_options
from swdual.text.messages import nearest

logger = logging.getLogger("swdual")

_ONE_DASH = re.compile(r"-([A-Za-z][A-Za-z_-]{2,})(?:=(.*))?", re.DOTALL)
_PARAMETER = re.compile(r"`([a-z_.]+)(?:=([^`]*))?`")

QUOTE = "'"

_WRITTEN = "swdual.written"
"""Key, in a context, of the options as the user wrote them, by parameter."""

EXIT_CODES = (
    "0 finished, 1 input or option, 2 database, 3 device, 4 memory, 5 Dask cluster or server, "
    "6 output, 130 interrupted; docs/interruptions.md explains them."
)

ADVANCED, MESSAGES = "Advanced", "Messages"
_MESSAGE_OPTIONS = "verbose quiet no_progress log _click_default_help"


class _Number(click.ParamType[Any]):
    """A number without underscores, which Python leaves out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. See `ParamType.convert` of click."""
        if "_" in str(value):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return super().convert(value, param, ctx)


class Count(_Number, click.IntRange):
    """A whole number; messages call it so."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the name of the value in the help. See `ParamType.get_metavar` of click."""
        return "N"


class OutputPath(click.Path):
    """A file that a command writes; those of other options and arguments are its inputs."""


def named_inputs() -> list[str]:
    """Return the files that the user named, but for those that the command writes."""
    from swdual.database.reader import list_files

    files = [file for word in named_words(OutputPath) for file in list_files(word)]
    return [os.fspath(file) for file in files if os.path.isfile(file)]


def named_words(without: type | None = None, *, except_for: str = "") -> list[str]:
    """Return the words that the user gave to a command as arguments and as values of options.

    Parameters
    ----------
    without
        The type of parameters whose values are left out.
    except_for
        The name of a parameter whose value is left out.
    """
    context = click.get_current_context()
    values = [
        context.params[each.name]
        for each in context.command.params
        if each.name in context.params
        and each.name != except_for
        and not (without is not None and isinstance(each.type, without))
    ]
    words = [word for value in values for word in (value if isinstance(value, tuple) else [value])]
    return [word for word in words if isinstance(word, str)]


class Real(_Number, click.FloatRange):
    """A number; messages call it so."""

    name = "number"


class CompositionMode(click.ParamType[int]):
    """A mode of composition-based statistics: a number, or one of BLAST's letters."""

    name = "mode"
    LETTERS: ClassVar = {"F": 0, "T": 2, "D": 2}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of the mode. See `ParamType.convert` of click."""
        text = str(value).upper()
        if text not in ("0", "1", "2", "3", *self.LETTERS):
            self.fail(f"{value!r} must be 0, 1, 2 or 3 (or BLAST's F, T or D).", param, ctx)
        return self.LETTERS[text] if text in self.LETTERS else int(text)


class Command(click.Command):
    """A command of swdual.

    A word with one dash is an option of BLAST, and not several options of one letter: otherwise
    -max_hsps would be -m with the value ax_hsps, and -header would show the help.

    Messages of the library name parameters as in Python, between backquotes: `evalue`, or
    `dbtype='nucl'`. Commands replace them by the options that the user wrote, or can write.

    Parameters
    ----------
    groups
        Headings of the help, each with the names of its parameters, in this order; parameters
        without a group follow under "Other".
    examples
        Command lines at the end of the help.
    phrases
        Replacements of other names between backquotes: {"sequential": "--kind sequential"}.
    """

    def __init__(
        self,
        *arguments: Any,
        groups: Mapping[str, str] | None = None,
        examples: str = "",
        phrases: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.groups = {**(groups or {}), MESSAGES: _MESSAGE_OPTIONS}
        if ADVANCED in self.groups:
            self.groups[ADVANCED] = self.groups.pop(ADVANCED)  # the last one
        self.examples = examples.strip("\n").splitlines()
        self._phrases = phrases or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer BLAST's options that swdual does not have, and parse the others.

        See `Command.parse_args` of click.
        """
        words = [*self._translate_blast(ctx, args)]
        ctx.meta[_WRITTEN] = self._written(words)
        try:
            return super().parse_args(ctx, words)
        except click.NoSuchOption as error:
            fraction = FRACTIONS.get(error.option_name)
            if fraction is not None and "--min-target-cover" in self._names():
                ctx.fail(f"{error.option_name} is not supported: {fraction}.")
            near = nearest(error.option_name, self._names())
            meant = [_longest(each.opts) for each in self.params if near in each.opts]
            raise click.NoSuchOption(error.option_name, possibilities=meant, ctx=ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; its errors name options, not parameters."""
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if isinstance(error, SwdualError):
                error.message = self.name_options(error.message, ctx)
            notes = getattr(error, "__notes__", [])
            notes[:] = [self.name_options(note, ctx) for note in notes]
            raise

    def name_options(self, message: str, ctx: click.Context) -> str:
        """Return a message with options instead of parameters between backquotes.

        Parameters
        ----------
        message
            The message.
        ctx
            The context, which knows the options that the user wrote.
        """

        def option(match: re.Match[str]) -> str:
            name, value = match.groups()
            if name in self._phrases:
                return self._phrases[name]
            parameter = next((each for each in self.params if each.name == name), None)
            if not isinstance(parameter, click.Option):
                return match[0].strip("`")
            written = option_name(parameter, ctx)
            if value is None or parameter.is_flag:
                return written
            if isinstance(parameter.type, Size):
                value = parameter.type.shown(int(value))
            return f"{written} {value.strip(QUOTE)}"

        return _PARAMETER.sub(option, message)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by groups, with all explanations in one column.

        See `Command.format_options` of click.
        """
        records = {
            str(each.name): record
            for each in self.get_params(ctx)
            if isinstance(each, click.Option)
            if (record := each.get_help_record(ctx)) is not None
        }
        sections = [
            (heading, [records.pop(name) for name in names.split() if name in records])
            for heading, names in self.groups.items()
        ]
        others = [*records.values()]
        if len(sections) == 1:
            sections = [("Options", others + sections[0][1])]
        else:
            sections.insert(-1, ("Other", others))
        widths = (len(term) for _, rows in sections for term, _ in rows)
        width = max((each for each in widths if each <= _TERM), default=_TERM)
        for heading, rows in sections:
            if rows:
                rows[0] = (rows[0][0].ljust(width), rows[0][1])
                with formatter.section(heading):
                    formatter.write_dl(rows, col_max=width)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the exit codes. See `Command.format_epilog` of click."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line.strip()}\n")
        with formatter.section("Exit codes"):
            formatter.write_text(EXIT_CODES)

    def _translate_blast(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        """Yield the words of a command line without BLAST's options that change nothing."""
        known = self._names()
        shown: dict[str, str] = {}
        left = iter(args)
        for word in left:
            if word == "--":
                yield word
                yield from left
                return
            match = _ONE_DASH.fullmatch(word)
            name = match[1].replace("_", "-") if match else ""
            if not match or f"-{name}" in known:
                yield word
            elif name == "help":
                yield "--help"
            elif name == "version":
                from swdual.version import __version__

                click.echo(f"swdual {__version__}")
                ctx.exit()
            elif name in HITS_SHOWN and "--max-target-seqs" in known:
                value = next(left, "") if match[2] is None else match[2]
                shown[match[1]] = value
                if value == "0" or len({*shown.values()}) > 1:
                    ctx.fail(
                        f"-{match[1]} {value}: every hit is shown in the list and as an "
                        "alignment; choose their number with -max_target_seqs."
                    )
                yield f"--max-target-seqs={value}"
            elif name in ANSWERS:
                yield from _answer(ctx, match, ANSWERS[name], left)
            else:
                near = nearest(name, [each.lstrip("-") for each in known])
                meant = [each for each in known if each.lstrip("-") == near]
                hint = f" Did you mean {_spell(meant, match[1])}?" if near else ""
                ctx.fail(f"No such option -{match[1]}.{hint}")

    def _names(self) -> list[str]:
        return [
            name for each in self.params if isinstance(each, click.Option) for name in each.opts
        ]

    def _written(self, words: Sequence[str]) -> dict[str, str]:
        """Return the option that the user wrote, by parameter."""
        of = {name: str(each.name) for each in self.params for name in each.opts}
        written = {}
        for word in words:
            if word == "--":
                break
            if word.startswith("-"):
                said = word.split("=")[0]
                said = said if said.replace("_", "-") in of else word[:2]
                if said.replace("_", "-") in of:
                    written[of[said.replace("_", "-")]] = said
        return written


def _answer(
    ctx: click.Context,
    option: re.Match[str],
    answer: Accepted | Switch | RefusedOption,
    left: Iterator[str],
) -> Iterator[str]:
    """Yield the flag that an option of BLAST stands for, if it changes anything.

    Parameters
    ----------
    ctx
        The context, which fails if the option is not supported.
    option, answer
        The option, its name and value as the user wrote them, and what it is answered with.
    left
        The words behind it, of which the first is its value if it has none with it.
    """
    name = f"-{option[1]}"
    if isinstance(answer, RefusedOption):
        ctx.fail(f"{name} is not supported: {answer.reason}.")
    if isinstance(answer, Accepted) and not answer.values:
        return
    value = next(left, "") if option[2] is None else option[2]
    if isinstance(answer, Switch):
        if value not in TRUTHS:
            ctx.fail(f"{name} {value}: the value is true or false.")
        if TRUTHS[value]:
            yield answer.flag
    elif value not in answer.values:
        remedy = f" ({answer.remedy})" if answer.remedy else ""
        ctx.fail(f"{name} {value} is not supported: {answer.fact}{remedy}.")


def _spell(names: Sequence[str], written: str) -> str:
    """Return an option as BLAST writes it if it has such a name and the user writes so.

    Parameters
    ----------
    names
        Names of one option, with dashes.
    written
        What the user wrote after one dash.

    >>> _spell(["--max-target-seqs", "-max-target-seqs"], "max_target_seq")
    '-max_target_seqs'
    """
    blast = [name for name in names if _ONE_DASH.fullmatch(name)]
    if "_" in written and blast:
        return "-" + blast[0][1:].replace("-", "_")
    return max(names, key=len)


_TERM = 28
"""Columns for the options in the help; longer options have a line of their own."""


def option_name(parameter: click.Parameter, ctx: click.Context | None) -> str:
    """Return the name of an option as the user wrote it, or the longest name of swdual.

    Parameters
    ----------
    parameter, ctx
        The option, and the context or None.
    """
    written = {} if ctx is None else ctx.meta.get(_WRITTEN, {})
    return str(written.get(parameter.name) or _longest(parameter.opts))


def _longest(names: Sequence[str]) -> str:
    """Return the longest name of an option; BLAST's names count if there is no other."""
    return max([name for name in names if not _ONE_DASH.fullmatch(name)] or names, key=len)


def find_written_option(name: str) -> str:
    """Return how the user wrote the option of a parameter; "" if it was not written."""
    written: dict[str, str] = click.get_current_context().meta[_WRITTEN]
    return written.get(name, "")


def read_mask(mask: str | None) -> str | None:
    """Return the mask that --mask, -seg or -dust name, with all its numbers.

    Parameters
    ----------
    mask
        The value of the option; None if it was not given.

    Raises
    ------
    InputError
        If there is no such mask.
    """
    from swdual.masking.mask import METHODS, parse_mask

    if mask is None:
        return None
    method = find_written_option("mask").lstrip("-")
    return str(parse_mask(mask, "mask", method if method in METHODS else None))


class _Option(click.Option):
    """An option that also takes names of other programs, which the help does not show."""

    def __init__(
        self, names: Sequence[str], *, blast: str = "", diamond: str = "", **settings: Any
    ) -> None:
        self.others = [*blast.split(), *diamond.split()]
        super().__init__([*names, *self.others], **settings)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return names and explanation, without the names of other programs."""
        whole = self.opts
        self.opts = [name for name in whole if name not in self.others]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = whole

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Return the default and the like; the range is shown only in errors."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of the option in messages."""
        return f"'{option_name(self, ctx)}'"


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """Declare an option, like `click.option`.

    Parameters
    ----------
    names
        The names of the option.
    settings
        As for `click.option`; also `blast` and `diamond`, the names in BLAST's programs and in
        DIAMOND, separated by spaces.
    """
    return click.option(*names, cls=_Option, **settings)


def combine(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that declares several options, in this order."""

    def declare(function: Any) -> Any:
        for each in reversed(options):
            function = each(function)
        return function

    return declare


out_option = option(
    "-o",
    "--out",
    blast="-out",
    default="-",
    type=OutputPath(allow_dash=True),
    help="Output file. It appears under its name when it is complete. A name that ends in .gz, "
    ".bz2, .xz or .zst is compressed.  [default: standard output]",
)

force_option = option("--force", is_flag=True, help="Replace the output file if it exists.")

output_options = combine(
    out_option,
    option(
        "--header/--no-header",
        default=None,
        help="Write the names of the fields in the first line, or not.  [default: for "
        "csv, not for 10]",
    ),
    force_option,
)
"""Where a table goes."""

sequence_output_options = combine(
    option(
        "-w",
        "--width",
        blast="-line-length",
        type=Count(min=1),
        default=60,
        show_default=True,
        help="Letters in each line of FASTA.",
    ),
    option(
        "-o",
        "--out",
        blast="-out",
        default="-",
        show_default="standard output",
        type=OutputPath(allow_dash=True, dir_okay=False),
        help="Output file. It appears under its name when it is complete. A name that ends in "
        ".gz, .bz2, .xz or .zst is compressed.",
    ),
    option("--force", is_flag=True, help="Replace the output file if it exists."),
)
"""Where sequences go."""

_TYPES: dict[str, Callable[[Declaration], Any]] = {
    "count": lambda declared: Count(declared.minimum),
    "number": lambda declared: Real(declared.minimum, declared.maximum),
    "path": lambda _: click.Path(),
    "size": lambda _: Size(1024),
    "mode": lambda _: CompositionMode(),
    "boolean": lambda _: click.BOOL,
    "text": lambda declared: click.Choice(declared.choices) if declared.choices else None,
}
"""What reads the value of an option, by the kind of its declaration."""


def declare(name: str, **changes: Any) -> Callable[[Any], Any]:
    """Declare an option of searches.

    Parameters
    ----------
    name
        One of `swdual.request.declarations.OPTIONS`.
    changes
        What is different in this command: fields of its declaration.
    """
    declared = OPTIONS[name]._replace(**changes)
    flag = f"--{name.replace('_', '-')}"
    names = declared.flags.split() or [flag]
    settings: dict[str, Any] = {"blast": declared.blast, "diamond": declared.diamond}
    if declared.kind == "flag":
        settings["is_flag"] = True
    else:
        settings["type"] = _TYPES[declared.kind](declared)
        settings["metavar"] = declared.metavar
    if declared.default is not None:
        settings |= {"default": declared.default, "show_default": declared.shows_default}
    if declared.completes:
        files = declared.completes == "matrices"
        settings["shell_complete"] = complete_names(declared.completes, files=files)
    if declared.variable:
        settings |= {"envvar": declared.variable, "show_envvar": True}
    return option(*names, *[name] * (flag not in names), help=declared.help, **settings)


def search_options(*without: str) -> Callable[[Any], Any]:
    """Return a decorator that declares all options of searches but those of some topics."""
    return combine(*map(declare, list_options(without)))


def fill_groups(groups: Mapping[str, str], *without: str) -> dict[str, str]:
    """Return headings of the help, and their parameters, with those of `search_options`.

    Parameters
    ----------
    groups
        Headings and parameters; ``*`` stands for the options of searches under a heading.
    without
        Topics that the command leaves out.
    """
    names: dict[str, list[str]] = {heading: [] for heading in groups}
    for name in list_options(without):
        names.setdefault(OPTIONS[name].group, []).append(name)
    return {
        heading: shown.replace("*", " ".join(names[heading])) for heading, shown in groups.items()
    }


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    from swdual.runtime.system import available_threads

    return available_threads()


def limit_threads(threads: int | None) -> int | None:
    """Return the threads to use: at most the number of CPUs, with a warning like blastp's."""
    if threads is None:
        return None
    there = cpus()
    if threads > there:
        logger.warning(
            "`threads` was reduced from %d to %d, the number of CPUs that this process may use",
            threads,
            there,
        )
    return min(threads, there)
