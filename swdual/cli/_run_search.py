"""Runs a search for a command: opens the outputs, writes the results, and says how it went."""

from __future__ import annotations

import json
import logging
import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import click

from swdual.cli import pluralize
from swdual.cli._options import Count, OutputPath, combine, named_inputs, option
from swdual.cli._resume import Resumption
from swdual.cli._search_options import refuse_shared_output

if TYPE_CHECKING:
    from swdual.io.file_kind import FileKind
    from swdual.io.output import Output
    from swdual.master.run import RunResults
    from swdual.master.search import Search
    from swdual.planning.timing import Timing
    from swdual.results.file_types import OutputFormat

logger = logging.getLogger("swdual")

WORKERS, NODES = ("worker", "workers"), ("node", "nodes")

timing_options = combine(
    option(
        "--trace",
        type=OutputPath(),
        help="Write what each worker did in Chrome's trace format (JSON).",
    ),
    option(
        "--gantt",
        type=OutputPath(),
        help="Draw the plan and what was done: an SVG, PNG or PDF file.",
    ),
)
"""What else is written about a search."""


def find_alignments(
    align: str | None, chosen: OutputFormat, outfmt: str | None, options: Mapping[str, Any]
) -> bool:
    """Return whether the search finds the alignments of hits for its output.

    Parameters
    ----------
    align
        The value of ``--align``.
    chosen, outfmt
        How the output is written, and what the user wrote of it.
    options
        The options of the command.

    Raises
    ------
    click.UsageError
        If there shall be none, but filters or the format need them.
    """
    from swdual.request.search_parameters import ALIGNMENT_FILTERS

    given = [f"--{name.replace('_', '-')}" for name in ALIGNMENT_FILTERS if options[name] > 0]
    if align == "none" and given:
        verb = "needs" if len(given) == 1 else "need"
        filters = " and ".join(given)
        raise click.UsageError(f"{filters} {verb} alignments, but --align none finds none.")
    if chosen.needs_alignment and align == "none":
        raise click.UsageError(
            f"Format {outfmt or chosen.name!r} shows alignments, but --align none finds none; "
            'choose other fields, such as -f "6 qseqid sseqid score evalue".'
        )
    several = options.get("max_hsps", 1) != 1
    if several and align == "none":
        raise click.UsageError("--max-hsps needs alignments, but --align none finds none.")
    return chosen.needs_alignment or align == "all" or several


report_option = option(
    "--report-alignments",
    type=Count(min=0),
    metavar="N",
    default=500,
    show_default=True,
    help="Number of hits of a query whose alignments a report (html) holds, the best first.",
)
"""What a report holds."""


class ExtraOutput(Protocol):
    """Writes another file once the results are written."""

    def __call__(self, stream: Output, timing: Timing, /) -> None:
        """Write to the open file."""


@dataclass(frozen=True)
class Outputs:
    """The files that a command writes.

    Parameters
    ----------
    out
        The output.
    trace, gantt
        The values of `timing_options`.
    sequences, write_sequences
        A file of sequences that belongs to the output, and what writes it.
    report_alignments
        The value of `report_option`.
    """

    out: str
    trace: str | None
    gantt: str | None
    sequences: str | None = None
    write_sequences: Callable[[Output], None] | None = None
    report_alignments: int = 0

    @property
    def paths(self) -> list[str]:
        """All files that are written."""
        return [path for path in (self.out, self.trace, self.gantt, self.sequences) if path]

    def list_extra(self) -> Iterator[tuple[str, FileKind, ExtraOutput]]:
        """Yield each file besides the output, its kind, and what writes it."""
        from swdual.io.file_kind import DRAWING, FASTA, JSON

        if self.trace is not None:
            yield (
                self.trace,
                JSON,
                lambda stream, timing: stream.write(json.dumps(timing.trace()).encode()),
            )
        if self.gantt is not None:
            yield self.gantt, DRAWING, self._draw
        if self.sequences is not None:
            yield self.sequences, FASTA, self._write_sequences

    def _draw(self, stream: Output, timing: Timing) -> None:
        from swdual.planning.gantt import render

        assert self.gantt is not None
        stream.write(render(timing.panels(), self.gantt))

    def _write_sequences(self, stream: Output, timing: Timing) -> None:
        assert self.write_sequences is not None
        self.write_sequences(stream)


def run_search(
    prepare: Callable[[], Search],
    chosen: OutputFormat,
    resumption: Resumption,
    outputs: Outputs,
    *,
    on_nodes: bool,
) -> None:
    """Run a search and write its outputs; all appear under their names when all are complete.

    Parameters
    ----------
    prepare
        Returns the search, ready to run.
    chosen
        How the output is written.
    resumption
        Whether it goes on where another ended.
    outputs
        The files to write.
    on_nodes
        Whether it runs on a cluster.

    Raises
    ------
    click.UsageError
        If two outputs go to one file.
    SwdualError
        As `swdual.search` documents.
    """
    if outputs.gantt is not None:
        from swdual.planning.gantt import check_path

        check_path(outputs.gantt)
    if on_nodes:
        from swdual.cluster.connection import silence_dask_logs

        silence_dask_logs()
    journal = resumption.journal
    refuse_shared_output([*outputs.paths, *([] if journal is None else [os.fspath(journal)])])
    replaced = resumption.replaces

    def keep_record(descriptor: int) -> None:
        resumption.keep_record(descriptor, search.identity)

    from swdual.format import check_taxonomy, check_translated
    from swdual.io.file_kind import FASTA
    from swdual.io.output import replace_file
    from swdual.master.run import RunResults

    with ExitStack() as journal_kept, ExitStack() as opened:
        stream = opened.enter_context(
            replace_file(
                outputs.out,
                chosen.kind,
                force=replaced,
                inputs=named_inputs(),
                compress=True,
                finish=keep_record,
            )
        )
        extra = [
            (
                opened.enter_context(
                    replace_file(
                        path, kind, force=replaced, inputs=named_inputs(), compress=kind is FASTA
                    )
                ),
                write,
            )
            for path, kind, write in outputs.list_extra()
        ]
        resumption.begin()
        search = prepare()
        journal_kept.enter_context(search.keep_journal(resumption.left))
        check_translated(chosen.name, search.params)
        check_taxonomy(chosen.name, chosen.fields, search.targets)
        command = shlex.join(click.get_current_context().meta["command"])
        with RunResults(search, outputs.report_alignments, command) as results:
            chosen.format.write(results, stream, chosen.fields, header=chosen.header)
        timing = results.timing
        for other, write in extra:
            write(other, timing)
    _log_summary(timing, results, on_nodes=on_nodes)


def _log_summary(timing: Timing, results: RunResults, *, on_nodes: bool) -> None:
    """Log the number of hits and, with -v, the speed and how well the plan was met."""
    logger.info("%s", results.describe())
    logger.debug(
        "%.1f Gcells in %.2f s: %.1f GCUPS (%s)",
        timing.cells / 1e9,
        timing.seconds,
        timing.gcups,
        pluralize(len(timing.timeline.workers), *(NODES if on_nodes else WORKERS)),
    )
    error = timing.timeline.prediction_error()
    if math.isfinite(error):
        logger.debug(
            "scoring took %.3g s, %.3g s were predicted; workers were idle for %.1f %% of it; "
            "predictions of single tasks were off by %.1f %%",
            timing.timeline.makespan,
            timing.planned_seconds,
            100 * timing.idle,
            100 * error,
        )
