"""`swdual cluster`: clusters of similar sequences."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from swdual.cli import logging_options
from swdual.cli._options import (
    Command,
    OutputPath,
    Real,
    fill_groups,
    force_option,
    option,
    out_option,
)
from swdual.cli._pairs import PAIR_PHRASES, WITHOUT, pair_options, run_pairs
from swdual.cli._run_search import Outputs

if TYPE_CHECKING:
    from swdual.clustering.clusters import Clusters
    from swdual.clustering.rules import ClusterRules
    from swdual.hits.query_result import QueryResult
    from swdual.io.output import Output

logger = logging.getLogger("swdual")

OWN = ("alignment filters", "evalue", "output")
"""Topics of options that clusters do not have, or have in another way."""

GROUPS = fill_groups(
    {
        "Clusters": "min_identity coverage coverage_mode identity_mode linkage",
        "Input": "*",
        "Output": "out representatives force",
        "Filters": "evalue *",
        "Scoring": "*",
        "Speed and memory": "*",
        "Advanced": "* trace gantt",
    },
    *WITHOUT,
    *OWN,
)

EXAMPLES = """
swdual cluster proteins.fasta --min-identity 90 -o clusters.tsv
swdual cluster proteins.fasta --min-identity 50 --linkage set-cover
swdual cluster proteins.db --min-identity 30 --representatives set.fasta
"""


@click.command(
    "cluster",
    cls=Command,
    groups=GROUPS,
    examples=EXAMPLES,
    phrases=PAIR_PHRASES,
    short_help="Cluster similar sequences.",
)
@pair_options(*OWN)
@option(
    "--min-identity",
    type=Real(min=0, max=100),
    metavar="PERCENT",
    required=True,
    help="Smallest percentage of equal letters of two sequences.",
)
@option(
    "-c",
    "--coverage",
    type=Real(min=0, max=100),
    metavar="PERCENT",
    default=80.0,
    show_default=True,
    help="Smallest percentage of a sequence that the alignment covers.",
)
@option(
    "--coverage-mode",
    type=click.Choice(["both", "longer", "shorter"]),
    default="both",
    show_default=True,
    help="Sequence of a pair that --coverage is about.",
)
@option(
    "--identity-mode",
    type=click.Choice(["alignment", "shorter", "longer"]),
    default="alignment",
    show_default=True,
    help="What --min-identity is a percentage of: the columns of the alignment, or the residues of "
    "the shorter or the longer sequence.",
)
@option(
    "--linkage",
    type=click.Choice(["greedy", "set-cover", "single", "complete"]),
    default="greedy",
    show_default=True,
    help="Which pairs of a cluster are similar. greedy: each sequence and the representative, "
    "longest first (CD-HIT); set-cover: likewise, largest cluster first (MMseqs2); single: some, "
    "as connected components; complete: all.",
)
@option(
    "--representatives",
    type=OutputPath(dir_okay=False),
    metavar="FILE",
    help="Write the representatives of the clusters as FASTA.",
)
@option(
    "-e",
    "--evalue",
    type=Real(min=0),
    metavar="E",
    help="Largest E-value of two similar sequences.  [default: 0.001]",
)
@out_option
@force_option
@logging_options
def command(
    source: str,
    out: str,
    representatives: str | None,
    force: bool,
    trace: str | None,
    gantt: str | None,
    progress: bool,
    min_identity: float,
    coverage: float,
    coverage_mode: str,
    identity_mode: str,
    linkage: str,
    **options: Any,
) -> None:
    """Cluster sequences by exact alignments of all pairs.

    INPUT is a FASTA or FASTQ file, compressed or not, "-" for standard input, or a database that
    'swdual makedb' wrote. Two sequences are similar if their alignment passes --min-identity,
    --coverage and --evalue.

    The output has a line for each sequence: the representative of its cluster, a tab, and the
    sequence, as MMseqs2 writes it. Unless --linkage says otherwise, the longest sequence of a
    cluster represents it; of equally long ones, that which comes first in INPUT.
    """
    from swdual.clustering.rules import CLUSTER_EVALUE, ClusterRules
    from swdual.results.file_types import OutputFormat

    rules = ClusterRules(
        min_identity=min_identity,
        coverage=coverage,
        coverage_mode=coverage_mode,
        identity_mode=identity_mode,
        linkage=linkage,
    )
    writer = _ClusterFormat(rules)
    chosen = OutputFormat("clusters", writer, rules.describe(), header=False)
    outputs = Outputs(out, trace, gantt, representatives, writer.write_representatives)
    options["align"] = True
    if options["evalue"] is None and options["stats"] != "none":
        options["evalue"] = CLUSTER_EVALUE
    run_pairs(source, chosen, outputs, options, force=force, progress=progress)
    if writer.clusters is not None:
        logger.info("%s", writer.clusters.describe())


class _ClusterFormat:
    """Writes the clusters of all pairs; a `Format` that waits for all results.

    Parameters
    ----------
    rules
        How sequences are clustered.
    """

    FIELDS: tuple[str, ...] = ()

    def __init__(self, rules: ClusterRules) -> None:
        self._rules = rules
        self.clusters: Clusters | None = None

    def write(
        self, results: Iterable[QueryResult], stream: Output, fields: Sequence[str], *, header: bool
    ) -> None:
        """Write the table of clusters. See `Format.write`."""
        from swdual.clustering.clusters import cluster_results

        self.clusters = cluster_results(results, self._rules)
        self.clusters.write_table(stream)

    def write_representatives(self, stream: Output) -> None:
        """Write the representatives, once the table is written."""
        assert self.clusters is not None
        self.clusters.write_representatives(stream)
