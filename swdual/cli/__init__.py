"""The command line: one file for each subcommand, which parses, calls and prints.

Errors become one line on standard error and an exit code: 1 input or option, 2 database, 3 device,
4 memory, 5 Dask cluster or server, 6 output, 130 and 143 interrupted, 141 closed pipe, 255 a defect
of swdual.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import logging
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

import click

from swdual.cli._options import EXIT_CODES, Command, OutputPath, named_inputs, named_words, option
from swdual.errors import OutputError, ReaderLeft, SwdualError
from swdual.runtime import system
from swdual.text.messages import nearest, sanitize
from swdual.text.messages import pluralize as pluralize
from swdual.text.url import redact_name
from swdual.version import __version__

# Set before NumPy is imported. Clearing huge pages takes longer than they save for arrays that are
# written once and read a few times: with them a whole search takes 4 % longer.
os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")


COMMANDS = (
    *(
        "align",
        "allpairs",
        "audit",
        "cluster",
        "completion",
        "convert",
        "extract",
        "info",
        "iterate",
        "list",
        "makedb",
    ),
    *("mask", "mcp", "msa", "plan", "search", "serve", "simulate", "synth"),
)

RESEND_SECONDS = 0.02
"""After how long a signal is sent again that a destructor has dropped."""

ELSEWHERE = {
    "blastp": "'swdual search' compares proteins, and takes blastp's options",
    "blastn": "'swdual search' compares nucleotides, and takes blastn's options",
    "psiblast": "'swdual iterate' searches proteins in rounds, and takes psiblast's options",
    "makeblastdb": "'swdual makedb' builds a database, and takes makeblastdb's options",
    "blastdbcmd": "'swdual extract' gives sequences of a database, and takes blastdbcmd's options",
    "segmasker": "'swdual mask' masks proteins and nucleotides",
    "dustmasker": "'swdual mask' masks proteins and nucleotides",
    "tantan": "'swdual mask --method tantan' masks proteins and nucleotides",
    "blastx": "'swdual search --task blastx' translates queries, and takes blastx's options",
    "jackhmmer": "'swdual iterate' searches proteins in rounds, 'swdual msa' aligns the hits",
    "hhblits": "'swdual msa' searches proteins in rounds, and aligns the hits",
    "tblastn": "'swdual search --task tblastn' translates the database",
    "tblastx": "'swdual search --task tblastx' translates queries and database",
}
"""Other programs, and what stands for them here."""


class Terminated(BaseException):
    """SIGTERM arrived."""


class _Group(click.Group):
    """Loads a subcommand's file only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            ctx.fail(f"No such command {cmd_name!r}.{_hint(cmd_name)}")
        command: click.Command = importlib.import_module(f"swdual.cli.{cmd_name}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take "help" and BLAST's -help and -version too; without arguments show the help."""
        first = args[0] if args else "help"
        if first == "help":
            args = [*args[1:2], "--help"]
        elif first in ("-help", "-version"):
            args = [f"-{first}"]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_text(EXIT_CODES)


def _hint(name: str) -> str:
    """Return a hint for a command that does not exist."""
    if name in ELSEWHERE:
        return f" {ELSEWHERE[name]}."
    near = nearest(name, COMMANDS)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"{meant} Commands: {', '.join(COMMANDS)}."


@click.group(
    cls=_Group,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: name.replace("_", "-"),
        "max_content_width": 100,
    },
)
@click.version_option(__version__, message="swdual %(version)s")
def group() -> None:
    """Exact Smith-Waterman search of proteins and nucleotides, and cluster simulators.

    \b
    swdual search queries.fasta proteins.fasta
    swdual makedb proteins.fasta.gz proteins.db   # once, for many searches
    swdual search queries.fasta proteins.db -k 10 -o hits.tsv
    swdual simulate trace.swf --policy fcfs,easy  # replay a job trace under two schedulers

    'swdual COMMAND --help' explains a command.
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with the code for what happened."""
    signal.signal(signal.SIGTERM, _on_sigterm)
    if arguments is None:
        sys.unraisablehook = _on_unraisable
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (messages have nowhere to go)
    system.prepare_streams()
    try:
        code = _run(sys.argv[1:] if arguments is None else arguments)
    except (KeyboardInterrupt, Terminated) as again:  # while the first was being answered
        code = 143 if isinstance(again, Terminated) else 130
    _ignore_signals()
    lost = _close_messages()
    if lost is not None:
        code = _print_error(str(lost), code or lost.exit_code, lost)
    is_closed = code == 141
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        # What was printed before an error may be in the buffer still.
        if system.is_reader_gone(error):
            code = code or 141
        cause = f"standard output: {error.strerror}"
        code = code or _print_error(cause, OutputError.exit_code, error)
        is_closed = True
    if is_closed:  # or the interpreter would try again, and fail, at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()  # without this, a last search for cycles takes a tenth of a second
    # With arguments, this is a function of a process that goes on.
    if arguments is None and any(map(_is_worker, threading.enumerate())):
        _exit_now(code)
    sys.exit(code)


def _is_worker(thread: threading.Thread) -> bool:
    """Return whether a thread is one that a search leaves behind if it does not stop in time."""
    return thread.daemon and thread.name.startswith("swdual ")


def _exit_now(code: int) -> NoReturn:
    """End the process while worker threads run; what was written is complete.

    The end of the interpreter would unwind the stack of a thread that comes back from compiled
    code. C++ code forbids that, such as NumPy's for ``np.unique``: the process would end by SIGABRT
    ("terminate called without an active exception").
    """
    atexit._run_exitfuncs()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _run(arguments: list[str]) -> int:
    verbose = any(argument in ("-v", "--verbose") for argument in arguments)
    try:
        if "_SWDUAL_COMPLETE" in os.environ:
            group.main(arguments, prog_name="swdual")
        # Not group.main: it would turn a closed pipe into exit code 1.
        with group.make_context("swdual", [*arguments]) as context:
            context.meta["command"] = ["swdual", *map(redact_name, arguments)]
            group.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo("\n".join(map(sanitize, shown.getvalue().split("\n"))), err=True, nl=False)
        return 1
    except (KeyboardInterrupt, click.Abort) as stop:
        _ignore_signals()
        return _print_error("interrupted", 130, stop)
    except Terminated as stop:
        _ignore_signals()
        return _print_error("terminated", 143, stop)
    except ReaderLeft:
        return 141
    except SwdualError as error:
        return _print_error(str(error), error.exit_code, error)
    except MemoryError as error:
        return _print_error(
            "out of memory; give it less at a time: fewer queries, part of a database or trace",
            4,
            error,
        )
    except OSError as error:
        if system.is_reader_gone(error):
            return 141
        if verbose:
            traceback.print_exc()
        cause = str(error.strerror or error)
        if error.filename is not None:
            cause = f"{error.filename}: {cause}"
        elif _is_of_stdout(error):
            cause = f"standard output: {cause}"
        else:
            cause += "; run again with -v to see where"
        return _print_error(cause, OutputError.exit_code, error)
    except Exception as error:
        if verbose:
            traceback.print_exc()
        return _print_error(
            f"internal error: {type(error).__name__}: {error}; run again with -v for the details "
            "and please report it",
            255,
            error,
        )
    return 0


def _is_of_stdout(error: OSError) -> bool:
    """Return whether click raised an error: it writes to standard output by itself."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_code is click.echo.__code__


def _print_error(message: str, code: int, error: BaseException) -> int:
    click.echo(f"swdual: error: {sanitize(message)}", err=True)
    for note in getattr(error, "__notes__", ()):
        click.echo(f"swdual: {sanitize(note)}", err=True)
    return code


def _ignore_signals() -> None:
    """Ignore signals that end a command: it has ended, and its exit code must stay."""
    for number in system.ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _on_sigterm(signum: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


def _on_unraisable(lost: sys.UnraisableHookArgs) -> None:
    """Send a signal again whose exception was raised in a destructor, where Python drops it.

    Other exceptions of destructors are reported as ever. The signal waits until the destructor has
    returned. If it meets another one, this is called again.
    """
    numbers: dict[type[BaseException], int | None] = {
        KeyboardInterrupt: signal.SIGINT,
        Terminated: signal.SIGTERM,
        ReaderLeft: system.SIGPIPE,
    }
    number = numbers.get(lost.exc_type)
    if number is None:
        sys.__unraisablehook__(lost)
        return
    timer = threading.Timer(RESEND_SECONDS, system.signal_main_thread, (number,))
    timer.daemon = True
    timer.start()


def logging_options(function: Any) -> Any:
    """Add the options that control the messages of a command, and set these up before it runs.

    Of the options it only gets whether to draw a progress bar, as `progress`.
    """

    @option("--quiet", is_flag=True, help="Print only errors on standard error.")
    @option("-v", "--verbose", is_flag=True, help="Print details of each step.")
    @option("--no-progress", is_flag=True, help="Hide the progress bar.")
    @option(
        "--log",
        blast="-logfile",
        type=OutputPath(dir_okay=False),
        metavar="FILE",
        help="Append the messages to FILE, with all details.",
    )
    @functools.wraps(function)
    def command(
        *, quiet: bool, verbose: bool, no_progress: bool, log: str | None, **options: Any
    ) -> None:
        _set_up_messages(quiet=quiet, verbose=verbose, log=log)
        function(progress=not (quiet or no_progress), **options)

    return command


def _set_up_messages(*, quiet: bool, verbose: bool, log: str | None) -> None:
    """Send the package's messages to standard error, and to a file if there is one."""
    logger = logging.getLogger("swdual")
    logger.setLevel(logging.DEBUG if verbose or log is not None else logging.INFO)
    logger.propagate = False
    _close_messages()
    context = click.get_current_context(silent=True)
    shown = logging.StreamHandler(sys.stderr)
    shown.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.INFO)
    shown.setFormatter(_Lines(context))
    logger.addHandler(shown)
    if log is not None:
        others = [os.path.realpath(word) for word in named_words(except_for="log")]
        linked = any(os.path.exists(log) and os.path.samefile(log, x) for x in named_inputs())
        if linked or os.path.realpath(log) in others:
            raise OutputError(
                "is also an input or output; append the messages to another file", file=log
            )
        try:
            kept = _LogFile(log, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot be written: {error.strerror}", file=log) from error
        kept.setFormatter(_FileLines(context))
        logger.addHandler(kept)


def _close_messages() -> OutputError | None:
    """Close all handlers; return the error of a file that could not be written."""
    logger = logging.getLogger("swdual")
    lost = None
    for handler in [*logger.handlers]:
        logger.removeHandler(handler)
        handler.close()
        if isinstance(handler, _LogFile):
            lost = handler.lost
    return lost


class _LogFile(logging.FileHandler):
    """A file of messages. An error of the file is reported at the end: the work goes on."""

    lost: OutputError | None = None

    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            self._lose(error)
        else:
            super().handleError(record)

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        cause = error.strerror or error
        self.lost = OutputError(f"cannot be written: {cause}", file=self.baseFilename)


class _Messages(logging.Formatter):
    """Formats messages with the options of a command instead of parameters of a function."""

    def __init__(self, context: click.Context | None) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")
        self._context = context

    def text(self, record: logging.LogRecord) -> str:
        """Return the message of a record, on one line."""
        message = record.getMessage()
        if self._context is not None and isinstance(self._context.command, Command):
            message = self._context.command.name_options(message, self._context)
        return sanitize(message)


class _Lines(_Messages):
    """``swdual: warning: ...``; plain information without the level."""

    def format(self, record: logging.LogRecord) -> str:
        level = "" if record.levelno <= logging.INFO else f"{record.levelname.lower()}: "
        return f"swdual: {level}{self.text(record)}"


class _FileLines(_Messages):
    """The lines of a log file; line breaks in a message are replaced."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = self.text(record)
        return super().formatMessage(record)
