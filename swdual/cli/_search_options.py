"""Options that the commands of searches share: hits, statistics, masks, machine and plan."""

from __future__ import annotations

import os
from typing import Any

import click

from swdual.cli._complete import complete_format, complete_names
from swdual.cli._options import (
    Count,
    Real,
    combine,
    composition_options,
    evalue_option,
    frame_options,
    gencode_options,
    mask_options,
    option,
    scheme_options,
)
from swdual.cli._size import Size

outfmt_option = option(
    "-f",
    "--outfmt",
    blast="-outfmt",
    shell_complete=complete_format,
    metavar="FORMAT",
    help='Number or name of the format, with fields for tables: "6 std qcovhsp".  '
    "[default: by the name of the output file, else 6]",
)
"""The format of hits."""

max_hsps_option = option(
    "--max-hsps",
    blast="-max-hsps",
    type=Count(min=0),
    metavar="N",
    default=1,
    show_default=True,
    help="Largest number of alignments of a hit, each around the rectangles of those before; 0 for "
    "all that pass the filters.",
)
"""How many alignments of a hit are reported."""

best_options = combine(
    option(
        "-k",
        "--max-target-seqs",
        blast="-max-target-seqs",
        type=Count(min=0),
        metavar="N",
        help="Largest number of hits of a query, of those that pass the other filters; 0 for all.  "
        "[default: 500; all with --top]",
    ),
    option(
        "--top",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        help="Report only hits whose raw score is at most PERCENT below the best score of the "
        "query, and all hits of equal score.",
    ),
    max_hsps_option,
)
"""How many of the best hits of a query are reported, and how many alignments of each."""

alignment_filter_options = combine(
    option(
        "--min-identity",
        blast="-perc-identity",
        diamond="--id",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        default=0.0,
        help="Smallest percentage of identical letters in the alignment of a hit.",
    ),
    option(
        "--min-query-cover",
        blast="-qcov-hsp-perc",
        diamond="--query-cover",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        default=0.0,
        help="Smallest percentage of the query that the alignment of a hit covers.",
    ),
    option(
        "--min-target-cover",
        diamond="--subject-cover",
        type=Real(min=0, max=100),
        metavar="PERCENT",
        default=0.0,
        help="Smallest percentage of the target that the alignment of a hit covers.",
    ),
)
"""Which alignments hits have."""

score_filter_options = combine(
    option(
        "--min-score",
        type=Real(min=0),
        metavar="BITS",
        default=0.0,
        help="Smallest bit score of a hit.",
    ),
    option(
        "--min-raw-score",
        blast="-min-raw-gapped-score",
        type=Count(min=0),
        metavar="N",
        default=1,
        show_default=True,
        help="Smallest raw score of a hit.",
    ),
)
"""Which scores hits have, besides `evalue_option`."""

hit_options = combine(best_options, alignment_filter_options, score_filter_options)
"""Which hits are reported, besides `evalue_option`."""

statistics_options = combine(
    option(
        "--stats",
        type=click.Choice(["table", "fit", "none"]),
        help="E-values: from NCBI's parameters, from a fit to all scores of the query, or none.  "
        "[default: table; fit for PFASUM31, PFASUM43 and VTML200]",
    ),
    option(
        "--dbsize",
        blast="-dbsize",
        type=Count(min=1),
        metavar="RESIDUES",
        help="Size of the database for E-values.  [default: its residues]",
    ),
)
"""How E-values are computed."""

target_options = combine(
    option(
        "--taxids",
        blast="-taxids",
        metavar="LIST",
        help="Compare only targets of these organisms, by taxonomy ids such as 9606,10090. With a "
        "taxonomy also of those below them, and by names such as 'Homo sapiens'.",
    ),
    option(
        "--not-taxids",
        blast="-negative-taxids",
        metavar="LIST",
        help="Leave out targets of these organisms.",
    ),
    option(
        "--taxidlist",
        blast="-taxidlist",
        type=click.Path(),
        metavar="FILE",
        help="As --taxids, from a file with an id a line.",
    ),
    option(
        "--not-taxidlist",
        blast="-negative-taxidlist",
        type=click.Path(),
        metavar="FILE",
        help="As --not-taxids, from a file with an id a line.",
    ),
    option(
        "--taxonomy",
        type=click.Path(),
        metavar="PATH",
        help="NCBI's taxdump, the folder or taxdump.tar.gz.  [default: what the database keeps]",
    ),
    option(
        "--target-ids",
        blast="-seqidlist",
        type=click.Path(),
        metavar="FILE",
        help="Compare only targets whose identifiers are in FILE, one a line.",
    ),
    option(
        "--not-target-ids",
        blast="-negative-seqidlist",
        type=click.Path(),
        metavar="FILE",
        help="Leave out targets whose identifiers are in FILE.",
    ),
)
"""Which targets are compared."""

search_space_option = option(
    "--search-space",
    type=click.Choice(["subset", "database"]),
    default="subset",
    show_default=True,
    help="What E-values refer to where targets are chosen: the subset of targets that is "
    "compared, as in BLAST, or the whole database.",
)
"""What E-values refer to where targets are chosen."""


def read_target_lists(options: dict[str, Any]) -> None:
    """Replace files with lists of targets by what they hold.

    Parameters
    ----------
    options
        All options of a search. Taxonomy ids of files are added to those that are listed.

    Raises
    ------
    InputError
        If a file cannot be read, or holds something else.
    """
    from swdual.database.id_list import read_id_list
    from swdual.taxonomy.taxid_list import read_taxids

    for name, file in (("taxids", "taxidlist"), ("not_taxids", "not_taxidlist")):
        path = options.pop(file)
        if path is not None:
            listed = [] if options[name] is None else [options[name]]
            options[name] = [*listed, *read_taxids(path, file)]
    for name in ("target_ids", "not_target_ids"):
        if options[name] is not None:
            options[name] = read_id_list(options[name])


target_mask_options = combine(
    option(
        "--db-hard-mask",
        blast="-db-hard-mask",
        shell_complete=complete_names("target masks"),
        default="none",
        show_default=True,
        metavar="MASK",
        help="Score masked letters of the database as X (or N): stored for its mask, or a name "
        "that 'swdual info' shows, or a method as for --mask.",
    ),
    option(
        "--db-soft-mask",
        blast="-db-soft-mask",
        shell_complete=complete_names("target masks"),
        default="none",
        show_default=True,
        metavar="MASK",
        help="Use this mask of the database only to choose candidates; these are scored with all "
        "letters as written.",
    ),
)
"""What is masked in targets."""

result_options = combine(
    evalue_option,
    hit_options,
    scheme_options,
    gencode_options,
    statistics_options,
    composition_options,
    frame_options,
    mask_options,
    option(
        "--soft-masking",
        is_flag=True,
        help="Use masks of the query only to choose candidates; these are scored with all letters "
        "as written.",
    ),
    target_mask_options,
    target_options,
    search_space_option,
)
"""All options that the hits of a search depend on, but for its inputs."""

INPUT = (
    "dbtype on_invalid query_loc mask lcase_masking soft_masking db_hard_mask db_soft_mask taxonomy"
)
FILTERS = (
    "evalue max_target_seqs top max_hsps min_identity min_query_cover min_target_cover min_score "
    "min_raw_score taxids not_taxids taxidlist not_taxidlist target_ids not_target_ids"
)
SCORING = (
    "task matrix gap_open gap_extend reward penalty strand query_gencode db_gencode frameshift "
    "stats sum_stats comp_based_stats dbsize search_space"
)
"""The parameters of `result_options`, but ``--adjust``, by the groups of the help."""

device_options = combine(
    option(
        "--device",
        shell_complete=complete_names("devices"),
        metavar="NAME",
        default="auto",
        show_default=True,
        help="Where to compute scores: auto, cpu, cuda, cuda:0,1 or hybrid. CPUs find the "
        "alignments.",
    ),
    option(
        "--memory-limit",
        type=Size(1024),
        help="Largest amount of memory to use, such as 4G.  [default: 90 % of what the machine or "
        "job allows]",
    ),
    option(
        "--gpu-memory-limit",
        type=Size(1024),
        help="Largest amount of memory to use on each GPU, such as 8G.  [default: 90 % of what is "
        "free]",
    ),
)
"""What of this machine computes."""

machine_options = combine(
    device_options,
    option(
        "--cluster",
        metavar="ADDRESS",
        help="Search on the Dask cluster with this scheduler, such as tcp://host:8786.",
    ),
)
"""Where a search runs."""

plan_options = combine(
    option(
        "--planner",
        shell_complete=complete_names("planners"),
        default="dual",
        show_default=True,
        metavar="NAME",
        help="Scheduling algorithm that divides the work; see 'swdual list planners'.",
    ),
    option(
        "--verify",
        type=Count(min=0),
        default=0,
        metavar="N",
        help="Compute N random scores of each query again with the slow reference code, and "
        "compare.",
    ),
    option(
        "--backend",
        shell_complete=complete_names("backends"),
        default="simd",
        metavar="NAME",
        show_default=True,
        help="Code that CPUs run: simd, or reference, which is slow and shares no code with it.",
    ),
)
"""How the work is divided and checked."""


def refuse_shared_output(outputs: list[str]) -> None:
    """Raise an error if two outputs go to one file: the second would replace the first."""
    targets = [path if path == "-" else os.path.realpath(path) for path in outputs]
    for path, target in zip(outputs, targets, strict=True):
        if targets.count(target) > 1:
            name = "standard output" if target == "-" else path
            raise click.UsageError(f"Only one output can go to {name}.")
