"""What the options of BLAST's programs that swdual does not have are answered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_EXACT = "an exact search has no word hits to look for or to extend"
_MASK_NAME = "a mask has the name of its method; swdual makedb --mask METHOD computes it"
_NO_FILTER = "queries are masked by SEG, DUST or tantan: --mask METHOD"
_WHOLE = "list identifiers instead: -seqidlist FILE, or -negative_seqidlist FILE"


@dataclass(frozen=True)
class Accepted:
    """An option that asks for what is done anyway.

    Parameters
    ----------
    fact
        What is done.
    values
        The values that ask for it; empty for an option without a value.
    remedy
        What to do where another value is wanted.
    """

    fact: str
    values: tuple[str, ...] = ()
    remedy: str = ""


class Switch(NamedTuple):
    """An option with a value that a flag of swdual stands for."""

    flag: str


TRUTHS = {"true": True, "T": True, "t": True, "false": False, "F": False, "f": False}
"""Values of a `Switch`."""


class RefusedOption(NamedTuple):
    """An option that has no counterpart here: why, and what to do instead."""

    reason: str


ANSWERS: dict[str, Accepted | Switch | RefusedOption] = {
    "soft-masking": Switch("--soft-masking"),
    # Asks for what is done anyway.
    "subject-besthit": Accepted(
        "one alignment of each target is reported, unless --max-hsps asks for more"
    ),
    "sorthsps": Accepted("alignments of a hit are ordered by score", ("0", "1"), "sort the table"),
    "sorthits": Accepted(
        "hits are ordered by score", ("1", "2"), "sort the table, or the results in Python"
    ),
    "use-sw-tback": Accepted("alignments are those of Smith-Waterman"),
    "culling-limit": Accepted("no hit is left out for another", ("0",), "filter the table"),
    "use-index": Accepted("an exact search needs no index", ("false", "F", "f")),
    "line-length": Accepted("lines of alignments have 60 letters", ("60",)),
    "mt-mode": Accepted("the work is divided in the best way that is found", ("0", "1")),
    "parse-seqids": Accepted("identifiers are kept as the file has them"),
    "get-dups": Accepted("all records with an identifier are written"),
    "long-seqids": Accepted("identifiers are kept as the file has them"),
    "parse-deflines": Accepted("identifiers are kept as the file has them"),
    "show-gis": Accepted("identifiers are kept as the file has them"),
    "hash-index": Accepted("an exact search needs no index"),
    "input-type": Accepted("input is FASTA or FASTQ", ("fasta",), "write FASTA with blastdbcmd"),
    "blastdb-version": Accepted("databases have swdual's own format", ("4", "5")),
    # Belongs to a heuristic search.
    "word-size": RefusedOption(_EXACT),
    "threshold": RefusedOption(_EXACT),
    "window-size": RefusedOption(_EXACT),
    "xdrop-ungap": RefusedOption(_EXACT),
    "xdrop-gap": RefusedOption(_EXACT),
    "xdrop-gap-final": RefusedOption(_EXACT),
    "no-greedy": RefusedOption(_EXACT),
    "index-name": RefusedOption("an exact search needs no index"),
    "template-type": RefusedOption(_EXACT),
    "template-length": RefusedOption(_EXACT),
    "off-diagonal-range": RefusedOption(_EXACT),
    "gap-trigger": RefusedOption(_EXACT),
    "phi-pattern": RefusedOption("swdual knows no patterns; filter the hits"),
    # Has another way.
    "ungapped": RefusedOption(
        "alignments may have gaps; to have none, give gaps a high price: "
        "--gapopen 10000 --stats fit"
    ),
    "searchsp": RefusedOption("give the size of the database instead: --dbsize RESIDUES"),
    "html": RefusedOption("a report in HTML is a format: -f html, or -o report.html"),
    "subject-loc": RefusedOption(
        "whole targets are compared; cut the part out first, from a database of 'swdual makedb': "
        "swdual extract DB --all --range START-STOP"
    ),
    "max-file-sz": RefusedOption("a database is one file of any size, or --shards N files"),
    "export-search-strategy": RefusedOption("keep the command in a script instead"),
    "import-search-strategy": RefusedOption("write the options of that search on the command line"),
    "best-hit-overhang": RefusedOption("no hit is left out for another; filter the table"),
    "best-hit-score-edge": RefusedOption("no hit is left out for another; filter the table"),
    "remote": RefusedOption("the search runs on this machine, or with --cluster on yours"),
    "info": RefusedOption("'swdual info DB' describes a database"),
    "tax-info": RefusedOption("swdual extract DB --all -outfmt '%T %S' lists organisms"),
    "mask-sequence-with": RefusedOption("'swdual mask' writes masked FASTA"),
    # Masks.
    "filtering-db": RefusedOption(_NO_FILTER),
    "window-masker-db": RefusedOption(_NO_FILTER),
    "window-masker-taxid": RefusedOption(_NO_FILTER),
    "mask-data": RefusedOption("intervals are read as text: --mask-file FILE"),
    "mask-id": RefusedOption(_MASK_NAME),
    "mask-desc": RefusedOption(_MASK_NAME),
    "gi-mask": RefusedOption(_MASK_NAME),
    "gi-mask-name": RefusedOption(_MASK_NAME),
    # Chooses part of a database.
    "gilist": RefusedOption(_WHOLE),
    "ipglist": RefusedOption(_WHOLE),
    "negative-gilist": RefusedOption(_WHOLE),
    "negative-ipglist": RefusedOption(_WHOLE),
    "entrez-query": RefusedOption(_WHOLE),
    "max-intron-length": RefusedOption("alignments are linked across at most 40 residues"),
}
"""BLAST's options, with dashes for underscores, that no option of swdual's stands for."""

_COVERAGE = (
    "coverage is a percentage here; MMseqs2's -c 0.8 is --min-query-cover 80 with --cov-mode 2, "
    "--min-target-cover 80 with --cov-mode 1, and both with --cov-mode 0"
)
FRACTIONS = {
    "-c": _COVERAGE,
    "--cov-mode": _COVERAGE,
    "--min-seq-id": "identity is a percentage here; MMseqs2's 0.8 is --min-identity 80",
}
"""MMseqs2's options of filters, which are fractions there, and what to give instead."""

HITS_SHOWN = ("num-descriptions", "num-alignments")
"""Two numbers for what is one here: how many hits a query has in the output."""
