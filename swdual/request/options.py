"""The options of a search: one frozen object, checked where it is made.

The command line, `swdual.search`, each node of a cluster and the journal use the same
`SearchOptions`. `SearchKeywords` repeats its names and types, so that type checkers know the
keyword arguments of `swdual.search`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, get_type_hints

from swdual import registry
from swdual.backend import Device
from swdual.database.id_list import IdentifierList, parse_identifiers
from swdual.errors import InputError
from swdual.masking.mask import BLAST_PREFIX, STORED_MASKS, Mask, parse_mask
from swdual.planning.planner import PACKAGE as planners
from swdual.request.declarations import OPTIONS
from swdual.runtime.keywords import (
    plain_flag,
    plain_number,
    require_range,
    require_types,
)
from swdual.sequences import matrices
from swdual.sequences.genetic_codes import check_genetic_code
from swdual.sequences.location import Location
from swdual.sequences.scoring import TASKS
from swdual.sequences.validation import OnInvalid
from swdual.taxonomy.taxid_list import TaxidList, parse_taxids

logger = logging.getLogger("swdual")

Progress = Callable[[int, int], None]
"""Called with the cells done so far and the cells of the whole search."""

MAX_TARGET_SEQS = 500
"""Default of `max_target_seqs` without `top`."""

MAX_EVALUE = 10.0
"""Default of `evalue`."""

COMPOSITION_MODE = 2
"""Default of `comp_based_stats` where scores can be adjusted."""


class SearchKeywords(TypedDict, total=False):
    """The names and types of `SearchOptions`, as keyword arguments."""

    task: str | None
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | matrices.LetterScores | None
    gap_open: int | None
    gap_extend: int | None
    reward: int | None
    penalty: int | None
    max_target_seqs: int | None
    min_raw_score: int
    evalue: float | None
    min_score: float
    min_identity: float
    min_query_cover: float
    min_target_cover: float
    top: float | None
    max_hsps: int
    sum_stats: bool | None
    frameshift: int
    max_mismatches: int | None
    equate_il: bool
    stats: str | None
    comp_based_stats: int | None
    adjust: str
    dbsize: int | None
    taxids: TaxidList | None
    not_taxids: TaxidList | None
    target_ids: IdentifierList | None
    not_target_ids: IdentifierList | None
    search_space: str
    taxonomy: str | os.PathLike[str] | None
    strand: str | None
    query_gencode: int | None
    db_gencode: int | None
    query_loc: str | None
    mask: str | None
    lcase_masking: bool
    soft_masking: bool
    db_hard_mask: str
    db_soft_mask: str
    align: bool
    threads: int | None
    device: str | Iterable[Device]
    memory_limit: int | None
    gpu_memory_limit: int | None
    backend: str
    planner: str
    verify: int
    journal: str | os.PathLike[str] | None
    resume: bool
    dbtype: str
    on_invalid: OnInvalid
    progress: Progress | bool
    cluster: Any


_KINDS: dict[str, Any] = {
    name: kind
    for name, hint in get_type_hints(SearchKeywords).items()
    for kind in (int, float, bool, str)
    if hint in (kind, kind | None)
}
"""The types of the options that are numbers, truth values or texts."""

_NEEDED = [name for name, hint in get_type_hints(SearchKeywords).items() if hint in _KINDS.values()]
"""Those of them that cannot be None."""

_MASKS_OF_TARGETS = (("db_hard_mask", "stored"), ("db_soft_mask", "stored"))

_CHECKED = ("stats", "comp_based_stats", "adjust", "search_space")
"""Options with few values that no other object checks."""

EXCLUSIONS: tuple[tuple[Callable[[SearchOptions], Any], str], ...] = (
    (
        lambda it: it.comp_based_stats and it.stats not in (None, "table"),
        "`comp_based_stats={0.comp_based_stats}` needs the parameters of `stats='table'`, but "
        "`stats={0.stats!r}` was given; use `comp_based_stats=0`",
    ),
    (
        lambda it: it.db_hard_mask != "none" and it.db_soft_mask != "none",
        "`db_hard_mask` and `db_soft_mask` exclude each other; give one",
    ),
    *(
        (
            lambda it, name=name: it.comp_based_stats and getattr(it, name) != "none",
            f"`{name}` cannot be combined with `comp_based_stats={{0.comp_based_stats}}`, which "
            "masks targets itself, with seg:10,1.8,2.1; leave out one",
        )
        for name in ("db_hard_mask", "db_soft_mask")
    ),
    (
        lambda it: it.task == "peptide" and it.stats == "none" and it.evalue is not None,
        "`evalue` needs E-values, which peptides have with `stats='composition'` only",
    ),
    (
        lambda it: it.stats == "none" and (it.evalue is not None or it.min_score or it.dbsize),
        "`evalue`, `min_score` and `dbsize` need E-values, but `stats='none'` computes none",
    ),
    (
        lambda it: it.resume and it.journal is None,
        "`resume` needs the `journal` of the search",
    ),
)
"""Options that exclude each other, whatever is compared, and why: what `Comparison.check` does for
those that a kind of comparison excludes.
"""


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Everything that a user can choose about a search, except queries and database.

    Parameters
    ----------
    task
        BLAST's default scores: "blastp", "blastp-short" (PAM30, 9 and 1), "blastn" (2, -3, 5 and
        2) or "blastn-short" (1, -3, 5 and 2); or "sensitive" (PFASUM43, 10 and 2), which finds
        more distant relatives of domains, but has too small E-values for long proteins. What is
        given otherwise replaces them. "blastx" translates the queries, "tblastn" the database,
        "tblastx" both. By default the types of queries and database decide: "blastp", "blastn",
        "blastx" or "tblastn".
    matrix
        "BLOSUM62" or another built-in one (`swdual.sequences.matrices.names`), a matrix file, a
        `SubstitutionMatrix`, or a matrix of Biopython; nucleotides are scored by `reward` and
        `penalty` unless a matrix is given.
    gap_open, gap_extend
        A gap of k residues costs ``gap_open + k * gap_extend``; by default 11 and 1, for
        nucleotides 5 and 2; for other built-in matrices, `PREFERRED_GAPS`.
    reward, penalty
        Scores of equal and of different nucleotides; by default 2 and -3.
    max_target_seqs
        Hits to keep for each query, of those that pass all other limits; 0 keeps all. By default
        500, or all if `top` is given. Higher scores come first, ties in the order of the database's
        input. Adjusted scores are compared before they are rounded, in units of 1/32.
    min_raw_score
        Smallest score of a hit.
    evalue, min_score
        Largest E-value (by default 10) and smallest bit score of a hit.
    min_identity, min_query_cover, min_target_cover
        Smallest percentage of equal letters in the alignment of a hit, and of the residues of the
        query and of the target that the alignment covers.
    top
        Keep the hits whose raw score is at most so many percent below the query's best, and all
        that score the same.
    max_hsps
        Alignments to report of each hit, as BLAST's option of this name; 0 reports all. After the
        best alignment comes the best one in which no residue of the query and residue of the target
        are paired that are in the rows and columns of an earlier one. Each has a score and an
        E-value of its own, which pass the limits above.
    sum_stats
        For translated searches, as BLAST's option of this name: alignments of a hit that follow
        each other in query and target, such as the exons of a gene, have an E-value together (see
        `swdual.statistics.sum_statistics`), by which hits are chosen and sorted. By default true
        where proteins are compared with translated nucleotides.
    frameshift
        Penalty of a frameshift in an alignment of a translated query with a protein (blastx), as
        DIAMOND's option of this name; 15 is usual. 0 allows none: each frame is compared by itself.
    max_mismatches
        With task "peptide", the most letters that may differ between a query and a part of a target
        that is as long. By default 0; without a limit if `min_raw_score` is given instead.
    equate_il
        With task "peptide", whether I and L are equal, which have the same mass.
    stats
        "table": NCBI's parameters, for the schemes that they cover; "fit": a regression on all
        scores of the query, for any scheme; "none": no E-values and bit scores; "composition", with
        task "peptide": how many such matches are expected by chance, from the letters of the
        targets. By default "table", "fit" for PFASUM31, PFASUM43 and VTML200, and "none" with task
        "peptide".
    comp_based_stats
        Composition-based statistics of proteins, as BLAST's option of this name: 0 is none, 1
        scales the matrix for each target, 2 adjusts or scales it as the two sequences suggest, 3
        always adjusts it. Low-complexity regions of targets are masked. By default 2, as BLAST's;
        0 for nucleotides, for tblastx, with frameshifts, for other `stats` than "table", for
        matrices that are not NCBI's, and if targets are masked. Profiles have 1 where this says 2
        or 3, and 0 by default if they have no frequencies.
    adjust
        With composition-based statistics, the targets whose scores are adjusted: "candidates", or
        "all", which takes far longer.
    dbsize
        Residues to compute E-values with, instead of the database's own.
    taxids, not_taxids
        Compare only targets of some organisms, or leave them out, as BLAST's options -taxids and
        -negative_taxids do: taxonomy ids, such as "9606,10090" or [9606, 10090]. With a taxonomy,
        organisms below them are meant, too, and names are known, such as "Homo sapiens, Bacteria".
        A target of several organisms is compared if one of them is in `taxids`, and left out if
        all of them are in `not_taxids`.
    target_ids, not_target_ids
        Compare only targets with these identifiers, or leave them out, as BLAST's options
        -seqidlist and -negative_seqidlist do: a list, or a text with one a line. They find targets
        as `Database.find` does; those that find none are named in a warning.
    search_space
        Where one of these four options chooses targets, what E-values refer to: "subset", the
        targets that are compared, as in BLAST; or "database", all targets.
    taxonomy
        NCBI's taxdump, the folder or taxdump.tar.gz, in place of what the database has of it.
    strand
        "both", "plus" or "minus": which strand of a nucleotide query is compared. Of both, the
        better is kept for each target, plus where they are equal. Each strand of a query that is
        translated has three frames, of which likewise the best is kept.
    query_gencode, db_gencode
        NCBI's numbers of the genetic codes by which queries and database are translated; by
        default 1, the standard code.
    query_loc
        Compare only this part of each query, as BLAST's option of this name: its first and last
        letter, counted from 1, such as "10-50", or "10-" up to the end. Lengths, coverages and
        E-values are those of the part, positions and frames those of the whole query. Queries that
        end before it are left out.
    mask
        What finds regions of low complexity or repeats in the queries: "seg" (proteins), "dust"
        (nucleotides) or "tantan", alone or with numbers, as in "seg:12,2.2,2.5"; or "none".
        Masked letters score as X (or N). By default "seg" for translated searches, as in blastx
        and tblastn, unless they allow frameshifts; "none" for others.
    lcase_masking
        Mask letters of queries in lower case, too.
    soft_masking
        Use masks of the query only to choose candidates: targets whose score with masked letters
        passes the limits. These are scored with all letters as written.
    db_hard_mask
        The mask of targets: "stored" for the one that the database holds, or its name (see
        `Database.masks`); or a method as for `mask`, whose intervals are computed if the database
        does not hold them; or "none". Masked letters score as X (or N).
    db_soft_mask
        Likewise, but the mask is only used to choose candidates: see `soft_masking`.
    align
        Find the alignments during the search; otherwise each is found when it is looked at.
    threads
        Number of CPU threads; by default as many as the process may use. With GPUs, one of them
        feeds each; the others score, too, or with "cuda" only align.
    device
        What computes scores: "auto", "cpu", "cuda", "cuda:0,1" or "hybrid"; or the `Device` of
        each worker, which then aligns, too. "auto" is all GPUs and CPUs, but no GPU where starting
        one takes longer than the search.
    memory_limit
        Bytes of memory that the process may use at most, results that were handed on not counted;
        by default what the machine, its cgroup, SLURM and ``ulimit`` leave, less a tenth.
    gpu_memory_limit
        Bytes of each GPU's memory to use at most; by default what is free, less a tenth.
    backend
        What CPUs compute with: "simd", or "reference", which is slow and shares no code with it.
    planner
        Who plans which worker does what: "dual", or another that ``swdual list`` shows.
    verify
        Targets of each query whose scores the backend "reference" computes again, at about two
        million cells a second; the first that differs ends the search.
    journal
        A file that what is found is kept in until all has been handed on. It is deleted then, but
        not if the search fails, is interrupted or killed.
    resume
        Go on with the search that left this journal: the same queries, database and options; the
        results are the same too. Workers may be others.
    dbtype
        Type of a database that is not a file of swdual's: "prot", "nucl", or "auto": then other
        options decide, such as `task`, `strand` and `reward`, or the letters of its first 4 MiB:
        nucleotides if at least 90 % of them are A, C, G, T, U or N, and if fewer than 50 of them
        are IUPAC's other codes only. See docs/searches.md. With "prot", queries are proteins, too,
        unless another option translates them.
    on_invalid
        What becomes of letters that are none: "error", "replace" or "skip".
    progress
        True draws a bar; a function is called now and then with the cells done and those in all.
    cluster
        Search on a Dask cluster, whose workers do what this machine otherwise does: the address of
        its scheduler, its ``Client``, or itself. `threads`, `memory_limit` and the like then count
        for each worker.

    Raises
    ------
    InputError
        If a value is of the wrong type or out of range, options exclude each other, or there is no
        such planner. Names the option.
    """

    task: str | None = None
    matrix: str | os.PathLike[str] | matrices.SubstitutionMatrix | matrices.LetterScores | None = (
        None
    )
    gap_open: int | None = None
    gap_extend: int | None = None
    reward: int | None = None
    penalty: int | None = None
    max_target_seqs: int | None = None
    min_raw_score: int = 1
    evalue: float | None = None
    min_score: float = 0.0
    min_identity: float = 0.0
    min_query_cover: float = 0.0
    min_target_cover: float = 0.0
    top: float | None = None
    max_hsps: int = 1
    sum_stats: bool | None = None
    frameshift: int = 0
    max_mismatches: int | None = None
    equate_il: bool = False
    stats: str | None = None
    comp_based_stats: int | None = None
    adjust: str = "candidates"
    dbsize: int | None = None
    taxids: TaxidList | None = None
    not_taxids: TaxidList | None = None
    target_ids: IdentifierList | None = None
    not_target_ids: IdentifierList | None = None
    search_space: str = "subset"
    taxonomy: str | os.PathLike[str] | None = None
    strand: str | None = None
    query_gencode: int | None = None
    db_gencode: int | None = None
    query_loc: str | None = None
    mask: str | None = None
    lcase_masking: bool = False
    soft_masking: bool = False
    db_hard_mask: str = "none"
    db_soft_mask: str = "none"
    align: bool = True
    threads: int | None = None
    device: str | Iterable[Device] = "auto"
    memory_limit: int | None = None
    gpu_memory_limit: int | None = None
    backend: str = "simd"
    planner: str = "dual"
    verify: int = 0
    journal: str | os.PathLike[str] | None = None
    resume: bool = False
    dbtype: str = "auto"
    on_invalid: OnInvalid = "error"
    progress: Progress | bool = False
    cluster: Any = None

    def __post_init__(self) -> None:
        self._take_task()
        self._take_numbers()
        self._take_texts()
        self._take_objects()
        # Each value is valid by itself here. What options exclude is checked last.
        for excludes, message in EXCLUSIONS:
            if excludes(self):
                raise InputError(message.format(self))

    def _take_task(self) -> None:
        """Fill in what the task says of options that are not given."""
        task = TASKS.get(self.task) if isinstance(self.task, str) else None
        for name, value in ({} if task is None else task.options).items():
            if getattr(self, name) == type(self).__dataclass_fields__[name].default:
                object.__setattr__(self, name, value)

    def _take_numbers(self) -> None:
        """Check numbers and truth values, and make them Python's own."""
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if kind is str or (value is None and name not in _NEEDED):
                continue
            plain = plain_flag(name, value) if kind is bool else plain_number(name, value, kind)
            declared = OPTIONS[name]
            if declared.minimum is not None:
                require_range(name, value, declared.minimum, percentage=declared.maximum == 100)
            object.__setattr__(self, name, plain)
        for name in ("query_gencode", "db_gencode"):
            if getattr(self, name) is not None:
                check_genetic_code(getattr(self, name), name)

    def _take_texts(self) -> None:
        """Check texts."""
        for name, example in (("query_loc", "10-50"), ("mask", "seg"), *_MASKS_OF_TARGETS):
            value = getattr(self, name)
            if not (value is None or isinstance(value, str)):
                raise InputError(f"`{name}` is {value!r}, but it must be text, such as {example!r}")
        texts = [name for name, kind in _KINDS.items() if kind is str]
        given = {name: getattr(self, name) for name in texts}
        needed = {name: x for name, x in given.items() if name in _NEEDED or x is not None}
        for name in _CHECKED:
            value, choices = getattr(self, name), OPTIONS[name].choices
            if value is not None and value not in choices:
                *first, last = map(str, choices)
                known = f"{', '.join(first)} or {last}"
                raise InputError(f"`{name}` is {value!r}, but it must be {known}")
        require_types((str,), "a text", **needed)
        if self.query_loc is not None:
            try:
                Location.of(self.query_loc)
            except InputError as error:
                raise InputError(f"`query_loc`: {error}") from None
        if self.mask is not None:
            parse_mask(self.mask, "mask")
        for name, _ in _MASKS_OF_TARGETS:
            text = getattr(self, name)
            if text not in ("none", *STORED_MASKS) and not text.startswith(BLAST_PREFIX):
                parse_mask(text, name, others=STORED_MASKS)
        registry.require(planners, self.planner)

    def _take_objects(self) -> None:
        """Check lists, paths and devices, and read what could be read only once."""
        for names, parse in (
            (("taxids", "not_taxids"), parse_taxids),
            (("target_ids", "not_target_ids"), parse_identifiers),
        ):
            for name in names:
                if getattr(self, name) is not None:
                    object.__setattr__(self, name, parse(getattr(self, name), name))
        for name in ("taxonomy", "journal"):
            if getattr(self, name) is not None:
                require_types((str, os.PathLike), "a path", **{name: getattr(self, name)})
        if not callable(self.progress):
            plain_flag("progress", self.progress)
        if not isinstance(self.device, str):  # an iterator could be read only once
            require_types((Iterable,), "a text or devices", device=self.device)
            devices = tuple(self.device)
            for each in devices:
                require_types((Device,), "a text or devices", device=each)
            object.__setattr__(self, "device", devices)

    def for_nodes(self) -> Self:
        """Return the options as nodes of a cluster need them: without what only the client does."""
        return replace(
            self,
            matrix=None,
            taxids=None,
            not_taxids=None,
            target_ids=None,
            not_target_ids=None,
            taxonomy=None,
            journal=None,
            resume=False,
            progress=False,
            cluster=None,
        )

    def choose_mask(self, default: str) -> Mask:
        """Return the mask of queries.

        Parameters
        ----------
        default
            That of the comparison.
        """
        return parse_mask(default if self.mask is None else self.mask, "mask")
