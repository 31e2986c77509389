"""`swdual msa`: multiple alignments of queries with their hits in databases."""

from __future__ import annotations

import logging
import os
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import click

from swdual.cli import logging_options, pluralize
from swdual.cli._options import (
    Command,
    Count,
    OutputPath,
    Real,
    combine,
    declare,
    fill_groups,
    force_option,
    limit_threads,
    named_inputs,
    option,
    read_mask,
    search_options,
)
from swdual.cli._resume import Resumption
from swdual.cli._rounds import ROUND_OPTIONS, log_round, round_options
from swdual.cli._search_options import read_target_lists
from swdual.io.output import name_errors
from swdual.text.messages import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
    from swdual.multiple_alignment.filters import RowFilters
    from swdual.multiple_alignment.format import AlignmentFormat
    from swdual.multiple_alignment.multiple_alignment import Complex, MultipleAlignment
    from swdual.results.file_types import OutputFormat
    from swdual.sequences.sequence import Sequence as Query

logger = logging.getLogger("swdual")

WITHOUT = (
    *("comparison", "soft masks", "adjust", "output", "alignment filters"),
    *("evalue", "best"),
)
"""Topics of options that multiple alignments do not have, or have with other defaults."""

GROUPS = fill_groups(
    {
        "Input": "together *",
        "Rounds": ROUND_OPTIONS,
        "Rows": "coverage query_identity row_identity diff min_residues depth",
        "Output": "out outfmt force",
        "Filters": "evalue max_target_seqs *",
        "Scoring": "*",
        "Speed and memory": "*",
        "Advanced": "*",
    },
    *WITHOUT,
)

EXAMPLES = """
swdual msa query.fasta uniref90.db -o query.a3m
swdual msa queries.fasta uniref90.db mgnify.db -o msas/
swdual msa chains.fasta uniref90.db --complex -o complex.a3m
swdual msa job.json uniref90.db -o job_with_msa.json
"""


row_options = combine(
    option(
        "--coverage",
        blast="-cov",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        default=0,
        show_default=True,
        help="Smallest part of the query at which a row has residues.",
    ),
    option(
        "--query-identity",
        blast="-qid",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        default=0,
        show_default=True,
        help="Smallest part of a row's residues that equal the query's.",
    ),
    option(
        "--row-identity",
        blast="-id",
        type=Count(min=0, max=100),
        metavar="PERCENT",
        default=100,
        show_default=True,
        help="Largest identity of two rows, as hhfilter has it.",
    ),
    option(
        "--diff",
        blast="-diff",
        type=Count(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="Keep the most diverse rows, N around each column, as hhfilter does; 0 keeps all.",
    ),
    option(
        "--min-residues",
        type=Count(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="Smallest number of residues of a row.",
    ),
    option(
        "--depth",
        type=Count(min=0),
        metavar="N",
        default=0,
        show_default=True,
        help="Largest number of rows besides the query, the best first; 0 for all.",
    ),
)
"""Which rows stay."""


@click.command(
    "msa",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    short_help="Make multiple alignments of queries and their hits.",
)
@click.argument("files", nargs=-1, metavar="QUERIES DB [DB ...]", type=click.Path(allow_dash=True))
@option(
    "--complex",
    "together",
    is_flag=True,
    help="The queries are the chains of a complex: rows of one organism are paired.",
)
@round_options(inclusion=0.001)
@row_options
@option(
    "-o",
    "--out",
    default="-",
    type=OutputPath(allow_dash=True),
    metavar="FILE|FOLDER",
    help="Output file; or a folder, such as msas/, with a file for each query. A name that ends in "
    ".gz, .bz2, .xz or .zst is compressed.  [default: standard output]",
)
@option(
    "-f",
    "--outfmt",
    metavar="FORMAT",
    help="Name of the format: a3m, stockholm, fasta, alphafold3 or boltz.  [default: by the name "
    "of the output; else a3m, or alphafold3 for its input]",
)
@force_option
@declare("evalue", help="Largest E-value of a row.  [default: that of --inclusion]")
@declare(
    "max_target_seqs",
    help="Largest number of hits of a query in each DB; 0 for all.  [default: 10000]",
)
@search_options(*WITHOUT)
@logging_options
def command(
    files: tuple[str, ...],
    together: bool,
    iterations: int,
    inclusion: float,
    pseudocount: int,
    query_seed: bool,
    min_block_width: int,
    coverage: float,
    query_identity: float,
    row_identity: int,
    diff: int,
    min_residues: int,
    depth: int,
    out: str,
    outfmt: str | None,
    force: bool,
    resume: bool,
    **options: Any,
) -> None:
    """Make a multiple alignment of each query with its hits, for AlphaFold, Boltz and others.

    Each DB is searched in rounds, as 'swdual iterate' does. The hits of the last round become rows
    of the alignment: those of the first DB come first, in each DB the best ones. Rows that equal an
    earlier one in all columns of the query are left out.

    QUERIES is a FASTA file, or an input of AlphaFold 3 (JSON): then the output is the same input
    with the alignments of its proteins, which are paired by organism.

    \b
    Formats: a3m (.a3m)          insertions in lower case; of complexes as ColabFold has it
             stockholm (.sto)    as jackhmmer writes it
             fasta (.afa)        rows of one length
             alphafold3 (.json)  input of AlphaFold 3, with unpairedMsa
             boltz (.csv)        a file for each chain
    """
    if len(files) < 2:
        raise click.UsageError("Name a file of queries and one database or several.")
    if options["cluster"] is None:
        options["threads"] = limit_threads(options["threads"])
    query, *databases = files

    from swdual.api import identify_msa, prepare_msa
    from swdual.cli._inputs import name_input
    from swdual.io.output import check_target
    from swdual.master.iteration import RoundOptions
    from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
    from swdual.multiple_alignment.filters import RowFilters
    from swdual.request.inputs import read_inputs
    from swdual.request.options import SearchOptions

    job = AlphaFoldInput.read(query) if AlphaFoldInput.is_one(query) else None
    together = together or job is not None
    target = _Target.of(query, out, outfmt, job, together=together)
    rules = RoundOptions(iterations, inclusion, pseudocount, query_seed, min_block_width)
    filters = RowFilters(coverage, query_identity, row_identity, diff, min_residues, depth)
    options["mask"] = read_mask(options["mask"])
    read_target_lists(options)
    if job is not None and options["dbtype"] == "auto":
        options["dbtype"] = "prot"  # the input says what is a protein
    resumption = Resumption(target.main, target.shown, resume=resume, force=force)
    settings = SearchOptions(journal=resumption.journal, resume=resume, **options)
    if options["cluster"] is not None:
        from swdual.cluster.connection import silence_dask_logs

        silence_dask_logs()
    sources = [*map(name_input, databases)]
    queries = name_input(query) if job is None else job.queries()
    shown = {**asdict(filters), "complex": "yes" if together else "no"}
    identity = {name.replace("_", "-"): value for name, value in shown.items()}
    if job is not None:
        identity["input"] = job.digest
    several = target.may_be_several and "-" not in files
    if resumption.is_complete(
        lambda: {**identify_msa(queries, sources, rules, settings), **identity},
        (lambda: target.list_files(read_inputs(queries, sources[0], settings).queries))
        if several
        else None,
    ):
        return
    replaced = resumption.replaces
    started = time.perf_counter()

    def keep_record(descriptor: int) -> None:
        resumption.keep_record(descriptor, {**search.identity, **identity})

    with ExitStack() as journal_kept:
        if target.make_folder():
            journal_kept.callback(target.remove_empty_folder)
        resumption.begin()
        search = prepare_msa(queries, sources, rules, settings)
        journal_kept.enter_context(search.keep_journal(resumption.left))
        written = target.list_files(search.queries)
        for file in written if target.is_regular else ():
            check_target(file, target.module.KIND, force=replaced, inputs=named_inputs())
        for done in search.rounds():
            log_round(done)
        complexes = target.group(search.alignments(), filters)
        for name, chains in complexes.items():
            chains.write(name, target.format, force=replaced, finish=keep_record)
    for chains in complexes.values():
        count = len(chains.chains)
        for place in range(count) if logger.isEnabledFor(logging.INFO) else ():
            rows = chains.rows_of(place)
            logger.info("%s: %s", rows.id, rows.describe())
        if count > 1:
            log = logger.info if chains.pairs else logger.warning
            log("%s: %s", " + ".join(each.id for each in chains.chains), chains.describe())
    if len(written) > 1:
        logger.info("written: %s", ", ".join(written))
    logger.info(
        "%s after %s",
        pluralize(len(search.queries), "alignment", "alignments"),
        duration(time.perf_counter() - started),
    )


@dataclass(frozen=True)
class _Target:
    """Where alignments go.

    Parameters
    ----------
    out
        The value of ``--out``.
    format, module
        The name and the module of the format.
    is_folder
        Whether `out` is a folder, with a file for each query or for the complex.
    together
        What the file of a complex is called in a folder; None if queries are no complex.
    job
        The input of AlphaFold 3 that the queries are of, if any.
    """

    out: str
    format: str
    module: AlignmentFormat
    is_folder: bool
    together: str | None
    job: AlphaFoldInput | None

    @classmethod
    def of(
        cls,
        queries: str,
        out: str,
        outfmt: str | None,
        job: AlphaFoldInput | None,
        *,
        together: bool,
    ) -> Self:
        """Return the target that the arguments and options name.

        Raises
        ------
        InputError
            If the format is unknown.
        """
        from swdual.multiple_alignment.alphafold_input import DIALECT
        from swdual.multiple_alignment.format import (
            DEFAULT,
            choose_format,
            load_format,
            name_file,
        )

        is_folder = out.endswith(("/", os.sep)) or os.path.isdir(out)
        default = DEFAULT if job is None else DIALECT
        format = choose_format(out, outfmt or (default if is_folder else None), default)
        name = name_file(Path(queries).name.partition(".")[0]) or "complex"
        return cls(out, format, load_format(format), is_folder, name if together else None, job)

    @property
    def main(self) -> str:
        """What the name of the journal is made of."""
        return os.path.join(self.out, "msa") if self.is_folder else self.out

    @property
    def shown(self) -> OutputFormat:
        """How the output is written."""
        from swdual.results.file_types import OutputFormat

        return OutputFormat(self.format, cast(Any, self.module), (), False)

    @property
    def is_regular(self) -> bool:
        """Whether the output is a file or a folder, not a pipe or a device."""
        if self.is_folder:
            return True
        return self.out != "-" and (os.path.isfile(self.out) or not os.path.exists(self.out))

    @property
    def may_be_several(self) -> bool:
        """Whether there may be several files."""
        return self.is_folder or self.together is not None

    def make_folder(self) -> bool:
        """Return whether a folder was made; that of a file must be there."""
        with name_errors(self.out):
            if self.is_folder and not os.path.isdir(self.out):
                os.makedirs(self.out)
                return True
            os.stat(os.path.dirname(self.out) or ".")
        return False

    def remove_empty_folder(self) -> None:
        """Remove the folder if nothing is in it, as after an error."""
        with suppress(OSError):  # it holds files
            os.rmdir(self.out)

    def group(
        self, alignments: Sequence[MultipleAlignment], filters: RowFilters | None = None
    ) -> dict[str, Complex]:
        """Return the outputs, and the chains of each.

        Parameters
        ----------
        alignments
            One of each query.
        filters
            Which rows stay.

        Raises
        ------
        click.UsageError
            If there are several alignments for one file.
        """
        from swdual.multiple_alignment.format import name_file, number_equal
        from swdual.multiple_alignment.multiple_alignment import Complex

        ending = self.module.KIND.endings[0] if self.is_folder else ""
        if self.together is not None:
            name = os.path.join(self.out, self.together + ending) if ending else self.out
            return {name: Complex.of(alignments, self.job, filters)}
        if not self.is_folder:
            if len(alignments) > 1:
                raise click.UsageError(
                    f"There are {len(alignments):,} queries: name a folder with -o, such as "
                    "msas/, which gets a file for each; or say that they are the chains of a "
                    "--complex."
                )
            return {self.out: Complex.of(alignments, filters=filters)}
        names = (name_file(each.id) or str(k) for k, each in enumerate(alignments, start=1))
        return {
            os.path.join(self.out, name + ending): Complex.of([each], filters=filters)
            for name, each in zip(number_equal(names), alignments, strict=True)
        }

    def list_files(self, queries: Sequence[Query]) -> list[str]:
        """Return the names of the files that the alignments of some queries go to.

        Raises
        ------
        click.UsageError
            If there are several alignments for one file.
        """
        from swdual.multiple_alignment.format import list_files
        from swdual.multiple_alignment.multiple_alignment import MultipleAlignment

        files = [
            file
            for name, chains in self.group([*map(MultipleAlignment.of_query, queries)]).items()
            for file, _ in list_files(chains, name, self.module)
        ]
        if len(files) > 1 and not self.is_regular:
            raise click.UsageError(
                f"{self.format} has a file for each chain: name the output with -o."
            )
        return files
