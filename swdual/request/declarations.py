"""Every option of a search, declared once: what commands, the library and servers know of it.

Commands make their options of it, `SearchOptions` checks values by it, the search server makes its
schema of it. It imports nothing, since a command reads it before it does anything else.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, NamedTuple


class Declaration(NamedTuple):
    """An option of a search.

    Parameters
    ----------
    group
        The heading of the help that it stands under; "" if no command has it.
    topic
        What it is about. Commands leave out whole topics.
    help
        What the help says of it.
    flags
        Its names on the command line, if these are others than ``--`` and its name.
    blast, diamond
        Its names in BLAST's programs and in DIAMOND, separated by spaces.
    kind
        What its value is: "text", "count" (a whole number), "number", "flag", "boolean", "path",
        "size" (bytes, such as 4G) or "mode" (of composition-based statistics).
    metavar
        What the help calls the value.
    choices
        All values, if there are few.
    default, shows_default
        The default of commands, if it is not None, and whether the help shows it.
    completes
        The names that complete the value in a shell: see `complete_names`.
    variable
        The environment variable that has the value.
    minimum, maximum
        The limits of a number.
    longest
        The longest text that a server takes, in characters.
    implies
        The types of queries and targets, "prot" or "nucl", that the option makes sense for.
    server, pairs
        Why a server, or a comparison of all pairs, cannot have it; "" if it can.
    library
        Whether it is one of `SearchOptions`; the others become part of one of these.
    """

    group: str
    topic: str
    help: str = ""
    flags: str = ""
    blast: str = ""
    diamond: str = ""
    kind: str = "text"
    metavar: str | None = None
    choices: tuple[Any, ...] = ()
    default: Any = None
    shows_default: bool = False
    completes: str = ""
    variable: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    longest: int = 4096
    implies: tuple[str, str] | None = None
    server: str = ""
    pairs: str = ""
    library: bool = True


OPTIONS: dict[str, Declaration] = {
    "dbtype": Declaration(
        "Input",
        "input",
        "Type of the sequences in a FASTA file. auto: other options decide, then the "
        "letters: nucleotides if at least 90 % of them are A, C, G, T, U or N, else "
        "proteins. A swdual database knows its type.",
        blast="-dbtype",
        choices=("auto", "prot", "nucl"),
        default="auto",
        shows_default=True,
    ),
    "on_invalid": Declaration(
        "Input",
        "input",
        "What to do with invalid letters: stop with an error, read them as X (or N), "
        "or skip the record.",
        choices=("error", "replace", "skip"),
        default="error",
        shows_default=True,
    ),
    "query_loc": Declaration(
        "Input",
        "queries",
        "Compare only this part of each query, counted from 1, such as 10-50 or 10-. "
        "Positions are those of the whole query.",
        blast="-query-loc",
        metavar="FIRST-LAST",
        pairs="takes a part of each query, but here queries are targets, too",
    ),
    "mask": Declaration(
        "Input",
        "masks",
        "What finds low complexity in queries, to be scored as X (or N): seg "
        "(proteins), dust (nucleotides), tantan or none, alone or with numbers: "
        "seg:12,2.2,2.5. By default seg for translated searches, else none.",
        blast="-seg -dust",
        metavar="METHOD",
        completes="masks",
    ),
    "lcase_masking": Declaration(
        "Input",
        "queries",
        "Mask letters of queries in lower case, too.",
        blast="-lcase-masking",
        kind="flag",
        pairs="masks letters of queries, but here queries are targets, too",
    ),
    "soft_masking": Declaration(
        "Input",
        "soft masks",
        "Use masks of the query only to choose candidates; these are scored with all "
        "letters as written.",
        kind="flag",
    ),
    "db_hard_mask": Declaration(
        "Input",
        "masks",
        "Score masked letters of the database as X (or N): stored for its mask, or a "
        "name that 'swdual info' shows, or a method as for --mask.",
        blast="-db-hard-mask",
        metavar="MASK",
        default="none",
        shows_default=True,
        completes="target masks",
    ),
    "db_soft_mask": Declaration(
        "Input",
        "masks",
        "Use this mask of the database only to choose candidates; these are scored "
        "with all letters as written.",
        blast="-db-soft-mask",
        metavar="MASK",
        default="none",
        shows_default=True,
        completes="target masks",
    ),
    "taxonomy": Declaration(
        "Input",
        "targets",
        "NCBI's taxdump, the folder or taxdump.tar.gz.  [default: what the database keeps]",
        kind="path",
        metavar="PATH",
        server="the database has its own",
    ),
    "evalue": Declaration(
        "Filters",
        "evalue",
        "Largest E-value of a hit.  [default: 10]",
        flags="-e --evalue",
        blast="-evalue",
        kind="number",
        metavar="E",
        minimum=0,
    ),
    "max_target_seqs": Declaration(
        "Filters",
        "best",
        "Largest number of hits of a query, of those that pass the other filters; 0 "
        "for all.  [default: 500; all with --top]",
        flags="-k --max-target-seqs",
        blast="-max-target-seqs",
        kind="count",
        minimum=0,
        pairs="keeps the best hits of each query, but a pair belongs to two sequences",
    ),
    "top": Declaration(
        "Filters",
        "best",
        "Report only hits whose raw score is at most PERCENT below the best score of "
        "the query, and all hits of equal score.",
        kind="number",
        metavar="PERCENT",
        minimum=0,
        maximum=100,
        pairs="keeps the best hits of each query, but a pair belongs to two sequences",
    ),
    "max_hsps": Declaration(
        "Filters",
        "alignments",
        "Largest number of alignments of a hit, each around the rectangles of those "
        "before; 0 for all that pass the filters.",
        blast="-max-hsps",
        kind="count",
        default=1,
        shows_default=True,
        minimum=0,
    ),
    "min_identity": Declaration(
        "Filters",
        "alignment filters",
        "Smallest percentage of identical letters in the alignment of a hit.",
        blast="-perc-identity",
        diamond="--id",
        kind="number",
        metavar="PERCENT",
        default=0.0,
        minimum=0,
        maximum=100,
    ),
    "min_query_cover": Declaration(
        "Filters",
        "alignment filters",
        "Smallest percentage of the query that the alignment of a hit covers.",
        blast="-qcov-hsp-perc",
        diamond="--query-cover",
        kind="number",
        metavar="PERCENT",
        default=0.0,
        minimum=0,
        maximum=100,
    ),
    "min_target_cover": Declaration(
        "Filters",
        "alignment filters",
        "Smallest percentage of the target that the alignment of a hit covers.",
        diamond="--subject-cover",
        kind="number",
        metavar="PERCENT",
        default=0.0,
        minimum=0,
        maximum=100,
    ),
    "min_score": Declaration(
        "Filters",
        "score filters",
        "Smallest bit score of a hit.",
        kind="number",
        metavar="BITS",
        default=0.0,
        minimum=0,
    ),
    "min_raw_score": Declaration(
        "Filters",
        "score filters",
        "Smallest raw score of a hit.",
        blast="-min-raw-gapped-score",
        kind="count",
        default=1,
        shows_default=True,
        minimum=0,
    ),
    "taxids": Declaration(
        "Filters",
        "targets",
        "Compare only targets of these organisms, by taxonomy ids such as "
        "9606,10090. With a taxonomy also of those below them, and by names such as "
        "'Homo sapiens'.",
        blast="-taxids",
        metavar="LIST",
        longest=1 << 20,
        pairs="chooses targets, but here these are queries, too",
    ),
    "not_taxids": Declaration(
        "Filters",
        "targets",
        "Leave out targets of these organisms.",
        blast="-negative-taxids",
        metavar="LIST",
        longest=1 << 20,
        pairs="chooses targets, but here these are queries, too",
    ),
    "taxidlist": Declaration(
        "Filters",
        "targets",
        "As --taxids, from a file with an id a line.",
        blast="-taxidlist",
        kind="path",
        metavar="FILE",
        library=False,
    ),
    "not_taxidlist": Declaration(
        "Filters",
        "targets",
        "As --not-taxids, from a file with an id a line.",
        blast="-negative-taxidlist",
        kind="path",
        metavar="FILE",
        library=False,
    ),
    "target_ids": Declaration(
        "Filters",
        "targets",
        "Compare only targets whose identifiers are in FILE, one a line.",
        blast="-seqidlist",
        kind="path",
        metavar="FILE",
        longest=1 << 20,
        pairs="chooses targets, but here these are queries, too",
    ),
    "not_target_ids": Declaration(
        "Filters",
        "targets",
        "Leave out targets whose identifiers are in FILE.",
        blast="-negative-seqidlist",
        kind="path",
        metavar="FILE",
        longest=1 << 20,
        pairs="chooses targets, but here these are queries, too",
    ),
    "task": Declaration(
        "Scoring",
        "scheme",
        "Set of default parameters: blastp, blastp-short (up to 30 residues), sensitive "
        "(for distant relatives of domains; E-values of long proteins are too small), blastn or "
        "blastn-short (up to 50 bases). 'swdual search' and 'swdual plan' also take blastx, "
        "tblastn and tblastx, which translate queries, the database, or both; and 'swdual search' "
        "takes peptide: whole queries, without gaps, wherever they occur.  [default: by the types "
        "of queries and database]",
        blast="-task",
        metavar="NAME",
        completes="tasks",
    ),
    "matrix": Declaration(
        "Scoring",
        "scheme",
        "Scoring matrix: BLOSUM45, 50, 62, 80, 90, PAM30, 70, 250, PFASUM31, 43, "
        "VTML200, or a matrix file.  [default: BLOSUM62]",
        blast="-matrix",
        metavar="NAME|FILE",
        completes="matrices",
    ),
    "gap_open": Declaration(
        "Scoring",
        "scheme",
        "Gap opening penalty.  [default: that of the matrix: BLOSUM62 11, bases 5]",
        flags="--gapopen",
        blast="-gapopen",
        kind="count",
    ),
    "gap_extend": Declaration(
        "Scoring",
        "scheme",
        "Gap extension penalty.  [default: that of the matrix: BLOSUM62 1, bases 2]",
        flags="--gapextend",
        blast="-gapextend",
        kind="count",
    ),
    "reward": Declaration(
        "Scoring",
        "scheme",
        "Reward for a nucleotide match.  [default: 2]",
        blast="-reward",
        kind="count",
        implies=("nucl", "nucl"),
    ),
    "penalty": Declaration(
        "Scoring",
        "scheme",
        "Penalty for a nucleotide mismatch.  [default: -3]",
        blast="-penalty",
        kind="count",
        implies=("nucl", "nucl"),
    ),
    "strand": Declaration(
        "Scoring",
        "scheme",
        "Strand of a nucleotide query to compare. The better of both counts.  [default: both]",
        blast="-strand",
        choices=("both", "plus", "minus"),
        implies=("nucl", "nucl"),
    ),
    "query_gencode": Declaration(
        "Scoring",
        "comparison",
        "NCBI's number of the genetic code that translates queries.  [default: 1]",
        blast="-query-gencode",
        kind="count",
        minimum=1,
        implies=("nucl", "prot"),
    ),
    "db_gencode": Declaration(
        "Scoring",
        "comparison",
        "NCBI's number of the genetic code that translates the database.  [default: 1]",
        blast="-db-gencode",
        kind="count",
        minimum=1,
        implies=("prot", "nucl"),
    ),
    "frameshift": Declaration(
        "Scoring",
        "comparison",
        "Allow frameshifts within alignments of translated queries (blastx), each at "
        "this cost; 15 is usual.  [default: 0, which allows none]",
        flags="--frameshift -F",
        kind="count",
        metavar="COST",
        default=0,
        minimum=0,
        implies=("nucl", "prot"),
    ),
    "max_mismatches": Declaration(
        "Scoring",
        "comparison",
        "With --task peptide: the most letters of a query that may differ.  [default: 0; no "
        "limit with --min-raw-score]",
        kind="count",
        metavar="K",
        minimum=0,
        implies=("prot", "prot"),
    ),
    "equate_il": Declaration(
        "Scoring",
        "comparison",
        "With --task peptide: I and L are equal.",
        kind="flag",
        implies=("prot", "prot"),
    ),
    "stats": Declaration(
        "Scoring",
        "statistics",
        "E-values: from NCBI's parameters, from a fit to all scores of the query, none, or "
        "of peptides from the composition of the database.  [default: table; fit for PFASUM31, "
        "PFASUM43 and VTML200; none for peptides]",
        choices=("table", "fit", "none", "composition"),
    ),
    "sum_stats": Declaration(
        "Scoring",
        "comparison",
        "Whether alignments of a hit that follow each other have an E-value "
        "together.  [default: true for blastx and tblastn]",
        blast="-sum-stats",
        kind="boolean",
        metavar="true|false",
    ),
    "comp_based_stats": Declaration(
        "Scoring",
        "statistics",
        "Composition-based statistics of proteins, as in BLAST: 0 or F for none, 1, "
        "2 or T, 3.  [default: 2; of profiles: 1; where scores cannot be adjusted: 0]",
        blast="-comp-based-stats",
        kind="mode",
        metavar="MODE",
        choices=(0, 1, 2, 3),
    ),
    "dbsize": Declaration(
        "Scoring",
        "statistics",
        "Size of the database for E-values.  [default: its residues]",
        blast="-dbsize",
        kind="count",
        metavar="RESIDUES",
        minimum=1,
    ),
    "search_space": Declaration(
        "Scoring",
        "targets",
        "What E-values refer to where targets are chosen: the subset of targets that "
        "is compared, as in BLAST, or the whole database.",
        choices=("subset", "database"),
        default="subset",
        shows_default=True,
    ),
    "threads": Declaration(
        "Speed and memory",
        "threads",
        "Number of CPU threads; with GPUs, one of them feeds each.  [default: all "
        "that this process may use]",
        flags="-p --threads",
        blast="-num-threads",
        kind="count",
        variable="SWDUAL_THREADS",
        minimum=1,
        server="the server decides",
    ),
    "device": Declaration(
        "Speed and memory",
        "machine",
        "Where to compute scores: auto, cpu, cuda, cuda:0,1 or hybrid. CPUs find the alignments.",
        metavar="NAME",
        default="auto",
        shows_default=True,
        completes="devices",
        server="the server decides",
    ),
    "memory_limit": Declaration(
        "Speed and memory",
        "machine",
        "Largest amount of memory to use, such as 4G.  [default: 90 % of what the "
        "machine or job allows]",
        kind="size",
        minimum=1,
        server="the server decides",
    ),
    "gpu_memory_limit": Declaration(
        "Speed and memory",
        "machine",
        "Largest amount of memory to use on each GPU, such as 8G.  [default: 90 % of what is free]",
        kind="size",
        minimum=1,
        server="the server decides",
    ),
    "cluster": Declaration(
        "Speed and memory",
        "machine",
        "Search on the Dask cluster with this scheduler, such as tcp://host:8786.",
        metavar="ADDRESS",
        server="the server decides",
    ),
    "resume": Declaration(
        "Speed and memory",
        "resume",
        "Continue an interrupted search; what it had found is in OUT.journal. If OUT "
        "is complete and the output of this search, nothing is done.",
        kind="flag",
        server="a server keeps no journal",
    ),
    "align": Declaration(
        "Advanced",
        "output",
        "Align all hits, or none.  [default: as the output format needs]",
        choices=("all", "none"),
        server="follows from the format",
    ),
    "adjust": Declaration(
        "Advanced",
        "adjust",
        "Targets whose scores --comp-based-stats adjusts: those that could become hits, or all.",
        choices=("candidates", "all"),
        default="candidates",
        shows_default=True,
    ),
    "planner": Declaration(
        "Advanced",
        "planner",
        "Scheduling algorithm that divides the work; see 'swdual list planners'.",
        metavar="NAME",
        default="dual",
        shows_default=True,
        completes="planners",
        server="the server decides",
    ),
    "verify": Declaration(
        "Advanced",
        "checks",
        "Compute N random scores of each query again with the slow reference code, and compare.",
        kind="count",
        default=0,
        minimum=0,
        server="the server decides",
    ),
    "backend": Declaration(
        "Advanced",
        "checks",
        "Code that CPUs run: simd, or reference, which is slow and shares no code with it.",
        metavar="NAME",
        default="simd",
        shows_default=True,
        completes="backends",
        server="the server decides",
    ),
    "journal": Declaration(
        "",
        "resume",
        server="a server keeps no journal",
    ),
    "progress": Declaration(
        "",
        "progress",
        server="the server tells it by itself",
    ),
}
"""The options by name, in the order in which the help shows those of a group."""


TARGET_OPTIONS = ("taxids", "not_taxids", "target_ids", "not_target_ids")
"""Options that choose targets."""

AUDIT_WITHOUT = (
    "best",
    "alignments",
    "alignment filters",
    "score filters",
    "resume",
    "output",
)
"""Topics that the exact search of an audit does not have: it finds all hits, and no alignments."""


def list_options(without: Collection[str] = ()) -> list[str]:
    """Return the names of the options that commands have.

    Parameters
    ----------
    without
        Topics that are left out.
    """
    return [name for name, each in OPTIONS.items() if each.group and each.topic not in without]


@cache
def list_topics(*topics: str) -> tuple[str, ...]:
    """Return the names of all options of some topics."""
    return tuple(name for name, each in OPTIONS.items() if each.topic in topics)
