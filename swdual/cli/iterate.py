"""`swdual iterate`: searches in rounds, each with the profiles of the round before."""

from __future__ import annotations

import glob
import logging
import os
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._inputs import PROFILE_PHRASES, Inputs, input_options
from swdual.cli._options import (
    Command,
    OutputPath,
    fill_groups,
    limit_threads,
    named_inputs,
    option,
    output_options,
    read_mask,
    search_options,
)
from swdual.cli._resume import Resumption
from swdual.cli._rounds import ROUND_OPTIONS, log_round, round_options
from swdual.cli._search_options import outfmt_option, read_target_lists, refuse_shared_output
from swdual.text.messages import duration

if TYPE_CHECKING:
    from swdual.hits.query_result import QueryResult
    from swdual.master.checkpoint import Identity
    from swdual.master.iteration import Round
    from swdual.profiles import Profile

logger = logging.getLogger("swdual")

WITHOUT = ("comparison", "soft masks", "adjust", "output")
"""Topics of options that rounds of profiles do not have."""

GROUPS = fill_groups(
    {
        "Input": "query db pssm msa master ignore_master *",
        "Rounds": ROUND_OPTIONS,
        "Output": "out outfmt each_round header force",
        "Profiles": "out_pssm out_ascii_pssm save_each_pssm save_pssm_after_last_round",
        "Filters": "*",
        "Scoring": "*",
        "Speed and memory": "*",
        "Advanced": "*",
    },
    *WITHOUT,
)

EXAMPLES = """
swdual iterate queries.fasta proteins.db --iterations 3 -o hits.tsv
swdual iterate query.fasta proteins.db --each-round -f 7
swdual iterate query.fasta proteins.db --out-pssm query.asn --save-each-pssm
"""

SAVE_LAST = "--save-pssm-after-last-round"


@click.command(
    "iterate",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    phrases=PROFILE_PHRASES,
    short_help="Search in rounds, with profiles of the hits.",
)
@click.argument("files", nargs=-1, metavar="[QUERIES DB]", type=click.Path(allow_dash=True))
@input_options
@round_options(inclusion=0.002)
@outfmt_option
@option(
    "--each-round",
    is_flag=True,
    help="Write the hits of all rounds of a query, as psiblast does, not only of its last one.",
)
@output_options
@option(
    "--out-pssm",
    blast="-out-pssm",
    type=OutputPath(dir_okay=False),
    metavar="FILE",
    help="Write the profile that the last round searched with, as ASN.1 text. With several "
    "queries there is a file for each: FILE.1, FILE.2 and so on.",
)
@option(
    "--out-ascii-pssm",
    blast="-out-ascii-pssm",
    type=OutputPath(dir_okay=False),
    metavar="FILE",
    help="Write it as an ASCII PSSM.",
)
@option(
    "--save-each-pssm",
    blast="-save-each-pssm",
    is_flag=True,
    help="Write the profiles of all rounds: FILE.1 is that of the hits of round 1, and so on. The "
    "number of the query, if there are several, is before that of the round.",
)
@option(
    SAVE_LAST,
    blast="-save-pssm-after-last-round",
    is_flag=True,
    help="Write the profile of the hits of the last round, too.",
)
@search_options(*WITHOUT)
@logging_options
def command(
    files: tuple[str, ...],
    iterations: int,
    inclusion: float,
    pseudocount: int,
    query_seed: bool,
    min_block_width: int,
    outfmt: str | None,
    each_round: bool,
    out: str,
    header: bool | None,
    force: bool,
    resume: bool,
    out_pssm: str | None,
    out_ascii_pssm: str | None,
    save_each_pssm: bool,
    save_pssm_after_last_round: bool,
    **options: Any,
) -> None:
    """Search proteins in rounds, as psiblast does: each round searches with profiles.

    The first round searches with QUERIES, or with the profile of --pssm or --msa. Hits with an
    E-value below --inclusion are included: a profile is made from their alignments, and the next
    round searches with it. A query converges in the first round that includes no target which the
    round before did not. Each round compares all queries that have not converged with all sequences
    of DB.

    The output has the hits of the last round of each query. A line on standard error tells what
    each round included.

    Composition-based statistics are those of psiblast: mode 2 in the first round, mode 1 in the
    others.

    BLAST's own options work too: -query, -db, -num_iterations, -inclusion_ethresh, -out_pssm and
    the others.
    """
    if options["cluster"] is None:
        options["threads"] = limit_threads(options["threads"])
    inputs = Inputs.take(files, options)
    paths = {"asn": out_pssm, "pssm": out_ascii_pssm}
    saved = _SavedProfiles(
        {kind: path for kind, path in paths.items() if path is not None},
        each_round=save_each_pssm,
        after_last=save_pssm_after_last_round,
    )
    saved.check_options(iterations)

    from swdual.api import identify_iteration, prepare_iteration
    from swdual.format import check_taxonomy
    from swdual.io.output import replace_file
    from swdual.master.iteration import RoundOptions
    from swdual.request.options import SearchOptions
    from swdual.results.file_types import choose_format

    chosen = choose_format(out, outfmt, header)
    resumption = Resumption(out, chosen, resume=resume, force=force)
    options["mask"] = read_mask(options["mask"])
    read_target_lists(options)
    weighing = {"pseudocount": pseudocount, "min_block_width": min_block_width}
    queries = inputs.find_queries({**options, **weighing})
    rules = RoundOptions(iterations, inclusion, pseudocount, query_seed, min_block_width)
    settings = SearchOptions(
        journal=resumption.journal,
        resume=resume,
        align=chosen.needs_alignment or options["max_hsps"] != 1,
        **options,
    )
    written = {**saved.identity, "each-round": "yes" if each_round else "no"}
    if resumption.is_complete(
        lambda: {**identify_iteration(queries, inputs.db, rules, settings), **written}
    ):
        return
    refuse_shared_output(
        [os.fspath(path) for path in (out, *paths.values(), resumption.journal) if path]
    )
    replaced = resumption.replaces
    saved.check_files(named_inputs(), force=replaced)
    if options["cluster"] is not None:
        from swdual.cluster.connection import silence_dask_logs

        silence_dask_logs()
    started = time.perf_counter()
    kept: dict[int, list[QueryResult]] = {}

    def keep_record(descriptor: int) -> None:
        resumption.keep_record(descriptor, {**search.identity, **written})

    with (
        ExitStack() as journal_kept,
        replace_file(
            out,
            chosen.kind,
            force=replaced,
            inputs=named_inputs(),
            compress=True,
            finish=keep_record,
        ) as stream,
    ):
        resumption.begin()
        search = prepare_iteration(queries, inputs.db, rules, settings)
        journal_kept.enter_context(search.keep_journal(resumption.left))
        check_taxonomy(chosen.name, chosen.fields, search.targets)
        for done in search.rounds():
            for result in done.results:
                earlier = kept.get(result.number, []) if each_round else []
                kept[result.number] = [*earlier, result]
            saved.several = len(kept) > 1
            saved.write(done, is_last=done.number == iterations)
            log_round(done)
        results = (result for number in sorted(kept) for result in kept[number])
        chosen.format.write(results, stream, chosen.fields, header=chosen.header)
    last = [results[-1] for results in kept.values()]
    logger.info(
        "%s of %s after %s, %s",
        pluralize(sum(map(len, last)), "hit", "hits"),
        pluralize(len(last), "query", "queries"),
        pluralize(max((result.round for result in last), default=0), "round", "rounds"),
        duration(time.perf_counter() - started),
    )


class _SavedProfiles:
    """Writes the profiles of an iterated search.

    Parameters
    ----------
    paths
        Files by the format of `Profile.write`.
    each_round
        Whether profiles of all rounds are written.
    after_last
        Whether the profile of the hits of the last round is written.

    `several` tells whether there are several queries.
    """

    def __init__(self, paths: dict[str, str], *, each_round: bool, after_last: bool) -> None:
        self._paths = paths
        self._each_round = each_round
        self._after_last = after_last
        self._force = False
        self._searched: dict[int, Profile | None] = {}
        self.several = False

    def check_options(self, iterations: int) -> None:
        """Raise an error if profiles cannot be written, or no file is named for them."""
        if (self._each_round or self._after_last) and not self._paths:
            name = SAVE_LAST if self._after_last else "--save-each-pssm"
            raise click.UsageError(f"{name} needs a file: --out-pssm or --out-ascii-pssm.")
        if self._paths and iterations == 1 and not self._after_last:
            raise click.UsageError(
                f"With --iterations 1, no round searches with a profile to write; {SAVE_LAST} "
                "writes that of its hits."
            )

    @property
    def identity(self) -> Identity:
        """What is written, by the names of the options."""
        return {
            "out-pssm": self._paths.get("asn"),
            "out-ascii-pssm": self._paths.get("pssm"),
            "save-each-pssm": "yes" if self._each_round else "no",
            SAVE_LAST.lstrip("-"): "yes" if self._after_last else "no",
        }

    def check_files(self, inputs: list[str], *, force: bool) -> None:
        """Raise an error if a file exists that must not be replaced.

        Parameters
        ----------
        inputs, force
            What the command reads, and whether files are replaced.
        """
        from swdual.io.output import check_target
        from swdual.profiles.files import KINDS

        self._force = force
        for kind, path in self._paths.items():
            for name in (path, *sorted(glob.glob(f"{glob.escape(path)}.[0-9]*"))):
                check_target(name, KINDS[kind], force=force, inputs=inputs)

    def write(self, done: Round, *, is_last: bool) -> None:
        """Write the profiles of a round that are to be written.

        Parameters
        ----------
        done, is_last
            The round, and whether it is the last one of all queries.
        """
        if not self._paths:
            return
        for place, (result, converged) in enumerate(zip(done.results, done.converged, strict=True)):
            ends = converged or is_last
            if not ends or self._after_last:
                self._searched[result.number] = done.profile(place)
                if self._each_round:
                    self._write(result.number, done.number)
            if ends and not self._each_round:
                self._write(result.number)

    def _write(self, *numbers: int) -> None:
        """Write the profile of a query, whose number comes first, and that of the round."""
        query, *others = numbers
        parts = [query + 1, *others] if self.several else others
        profile = self._searched[query]
        if profile is None:
            return
        for kind, path in self._paths.items():
            profile.write(".".join([path, *map(str, parts)]), kind, force=self._force)
