"""An audit: tables compared with an exact search, all of it or a random sample."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from swdual.auditing.comparison import (
    Comparison,
    Listing,
    compare,
)
from swdual.auditing.findings import Findings, Sample, TableAudit
from swdual.auditing.hits import Hits
from swdual.auditing.intervals import require_scipy
from swdual.auditing.table import HitTable
from swdual.auditing.truth import Truth, require_bounds
from swdual.errors import InputError
from swdual.io.file_kind import JSON, PAGE, TABLE, FileKind, begins_with
from swdual.io.output import Output, Utf8, replace_file
from swdual.request.options import MAX_EVALUE
from swdual.runtime.extras import import_extra
from swdual.runtime.keywords import require_numbers
from swdual.sequences.sequence import first_word
from swdual.text.messages import pluralize, sanitize

if TYPE_CHECKING:
    import pandas
    import pyarrow

NEAR_CUTOFF = 5
"""A table whose largest E-value is so many times below the cutoff may have had another limit."""

MIN_FULL_LISTS = 3
"""So many lists of the same length, and none longer, may have been cut."""


@dataclass(frozen=True)
class Audit(Findings):
    """What tables have of the hits of an exact search. A notebook shows it; `report` saves a page.

    Parameters
    ----------
    tables
        The tables, each with its comparison.
    truth
        All hits of the exact search, or those in the sample.
    cutoff
        The largest E-value.
    query_ids, target_ids
        The identifiers of all queries, and by their numbers of the targets in `truth` and tables.
    queries
        (queries,) the numbers of the queries that were searched.
    sample
        What was drawn, or None.
    facts
        What was searched, and how, by names.
    """

    def to_pandas(self) -> pandas.DataFrame:
        """Return `columns` as a data frame (needs pandas)."""
        pd = import_extra("pandas", "pandas", "data frames need pandas")
        frame: pandas.DataFrame = pd.DataFrame(self.columns())
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return `columns` as an Arrow table (needs pyarrow)."""
        from swdual.formats._arrow import import_arrow

        return import_arrow().table(self.columns())

    def __str__(self) -> str:
        from swdual.auditing.layout import write_text

        return write_text(self)

    def _repr_html_(self) -> str:
        from swdual.auditing.page import render_tables

        return render_tables(self)

    def write(self, stream: Output, outfmt: str) -> None:
        """Write the audit.

        Parameters
        ----------
        stream, outfmt
            Where, and how: a name of `FORMATS`.
        """
        if outfmt == "html":
            from swdual.auditing.page import write_page

            write_page(self, stream)
            return
        text = Utf8(stream)
        if outfmt == "text":
            text.write(str(self))
        elif outfmt == "json":
            text.write(json.dumps(self.to_dict()) + "\n")
        else:
            columns = self.columns()
            text.write("\t".join(columns) + "\n")
            for row in zip(*columns.values(), strict=True):
                cells = ("NA" if value is None else sanitize(str(value)) for value in row)
                text.write("\t".join(cells) + "\n")

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page of the audit, in one HTML file.

        Parameters
        ----------
        path
            The file.
        force
            Replace a file that exists.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        with replace_file(path, PAGE, force=force, compress=True) as stream:
            self.write(stream, "html")


KINDS = {
    "text": FileKind("an audit", (), begins_with(b"Truth: ")),
    "json": JSON,
    "html": PAGE,
    "tsv": TABLE,
}
"""The kinds of files that `Audit.write` writes."""

FORMATS = ("text", "json", "html", "tsv")
"""What an audit can be written as."""


class AuditRequest(NamedTuple):
    """What an audit is asked for.

    Parameters
    ----------
    tables
        The tables.
    cutoff
        The largest E-value.
    max_targets
        Lists of so many targets were cut, whatever headers tell; None for what they tell.
    sample, sample_pairs
        How many queries, or pairs, are drawn; None for all.
    seed
        The seed of the random numbers.
    """

    tables: Sequence[HitTable]
    cutoff: float
    max_targets: int | None
    sample: int | None
    sample_pairs: int | None
    seed: int

    @classmethod
    def of(cls, tables: Sequence[HitTable], *, cutoff: float | None, **others: Any) -> Self:
        """Return a request with the cutoff that the headers of the tables tell.

        Parameters
        ----------
        tables, cutoff, others
            As above; None for what the headers tell, else the default of a search.

        Raises
        ------
        InputError
            If there is no table, or a number is out of range.
        """
        if not tables:
            raise InputError("there is no table; name one or more")
        if cutoff is None:
            told = [each.run.evalue for each in tables if each.run.evalue is not None]
            cutoff = min(told, default=MAX_EVALUE)
        require_numbers(evalue=cutoff, max_target_seqs=others["max_targets"])
        if not 0 < cutoff < math.inf:
            raise InputError(f"`evalue` is {cutoff}, but it must be a number above 0")
        return cls(tables, cutoff, **others)

    def find_scoring(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the exact search: those given, and others that headers tell.

        Parameters
        ----------
        options
            Those given; None stands for a default.

        Raises
        ------
        InputError
            If the headers contradict each other, or there would be no E-values.
        """
        if options.get("stats") == "none":
            raise InputError("an audit compares E-values, but `stats='none'` computes none")
        chosen = dict(options)
        for name in dict.fromkeys(key for table in self.tables for key in table.run.scoring):
            told = {table.run.scoring.get(name) for table in self.tables} - {None}
            if chosen.get(name) is None:
                if len(told) > 1:
                    raise InputError(
                        f"the tables were made with different values of `{name}`: "
                        f"{', '.join(map(str, sorted(told, key=str)))}; name that of the exact "
                        "search, or audit them one by one"
                    )
                chosen[name] = told.pop()
        return chosen


def run_audit(request: AuditRequest, truth: Truth) -> Audit:
    """Return the audit of some tables.

    Parameters
    ----------
    request
        What is asked for.
    truth
        The exact search, not prepared yet.

    Raises
    ------
    InputError
        If a table names a query or a target that is not there, or the sample is impossible.
    SwdualError
        As `swdual.search` documents.
    """
    listings = [
        Listing.of(
            table,
            table.number(table.queries, truth.find_queries),
            table.number(table.targets, truth.find_targets),
        )
        for table in request.tables
    ]
    sample, queries, pairs = _draw(request, truth)
    listings = [each.take(np.isin(each.queries, queries)) for each in listings]
    limits = [_find_limit(request, table) for table in request.tables]
    known = truth.search(queries) if pairs is None else truth.evaluate(*pairs)
    others = Hits.concatenate([known, _evaluate_others(listings, limits, known, request, truth)])
    # Only candidates are adjusted for composition. A pair that a table lists may be a hit all the
    # same, and then belongs to the truth.
    hits = others.take(np.exp(others.log_evalues) <= request.cutoff)
    if pairs is not None:
        hits = hits.take(_find_drawn(hits, pairs))
    hits = hits.take(np.lexsort((-hits.bits, hits.queries)))
    tables = []
    labels = label_tables([table.path for table in request.tables])
    for label, table, listing, limit in zip(labels, request.tables, listings, limits, strict=True):
        told = table.run.evalue
        comparison = compare(
            listing,
            hits,
            others,
            cutoff=request.cutoff,
            max_evalue=request.cutoff if told is None else told,
            max_targets=limit,
            counted=_find_drawn(listing, pairs),
            tops=pairs is None,
        )
        remarks = _list_remarks(request, table, listing, comparison, len(queries))
        if len(comparison.extra) and (why := truth.refuse_pairs()):
            remarks.append(f"exact E-values of extra pairs are not known: {why}")
        tables.append(TableAudit(label, table, limit, comparison, tuple(remarks)))
    named = np.unique(np.concatenate([hits.targets, *(each.targets for each in listings)]))
    names = map(first_word, truth.run.targets.headers(named))
    return Audit(
        tables,
        hits,
        request.cutoff,
        truth.query_ids,
        dict(zip(named.tolist(), names, strict=True)),
        queries,
        sample,
        truth.facts(),
    )


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def _draw(
    request: AuditRequest, truth: Truth
) -> tuple[Sample | None, NDArray[np.int64], Pairs | None]:
    """Return the sample, the queries that it concerns, and the pairs that were drawn, if any."""
    count = len(truth.query_ids)
    everything = np.arange(count)
    random = np.random.default_rng(request.seed)
    if request.sample is not None and request.sample_pairs is not None:
        raise InputError("`sample` and `sample_pairs` exclude each other; give one of them")
    if request.sample is not None:
        require_bounds(request.sample, count, "sample", "queries")
        require_scipy()
        queries = np.sort(random.choice(count, request.sample, replace=False))
        return Sample("queries", request.sample, count, request.seed), queries, None
    if request.sample_pairs is None:
        return None, everything, None
    if why := truth.refuse_pairs():
        raise InputError(f"`sample_pairs` cannot be used: {why}; use `sample`, which draws queries")
    require_bounds(request.sample_pairs, truth.pairs, "sample_pairs", "pairs")
    require_scipy()
    keys = np.sort(random.choice(truth.pairs, request.sample_pairs, replace=False))
    pairs = np.divmod(keys, truth.pairs // count)
    return Sample("pairs", request.sample_pairs, truth.pairs, request.seed), everything, pairs


def _find_drawn(listing: Listing | Hits, pairs: Pairs | None) -> NDArray[np.bool_]:
    """Return which pairs of a list were drawn, (pairs,)."""
    if pairs is None:
        return np.full(len(listing.queries), True)
    drawn = Hits(*pairs, *np.zeros((2, len(pairs[0]))))
    return drawn.find(listing.queries, listing.targets) >= 0


def _find_limit(request: AuditRequest, table: HitTable) -> int:
    """Return the number of targets at which the lists of a table were cut; 0 if none was."""
    if request.max_targets is not None:
        return request.max_targets
    return 1 if table.run.cuts_all else table.run.max_targets or 0


def _evaluate_others(
    listings: Sequence[Listing],
    limits: Sequence[int],
    known: Hits,
    request: AuditRequest,
    truth: Truth,
) -> Hits:
    """Return exact values of listed pairs that the truth does not tell, where they matter.

    They matter if the pair is listed up to the cutoff, and at the end of a list that was cut. Of a
    sample of pairs, others than those that were drawn matter for the second only.
    """
    wanted = [np.empty((2, 0), np.int64)]
    for listing, limit in zip(listings, limits, strict=True):
        lists = np.bincount(listing.queries, minlength=len(truth.query_ids))
        matters = (lists >= limit)[listing.queries] & (limit > 0)
        if request.sample_pairs is None:
            matters |= ~(listing.evalues > request.cutoff)
        matters &= known.find(listing.queries, listing.targets) < 0
        wanted.append(np.stack([listing.queries[matters], listing.targets[matters]]))
    return truth.evaluate(*np.unique(np.concatenate(wanted, axis=1), axis=1))


def _list_remarks(
    request: AuditRequest, table: HitTable, listing: Listing, found: Comparison, queries: int
) -> list[str]:
    """Return what a reader has to know about a table.

    Parameters
    ----------
    request, table, listing, found
        What is asked for; the table, its pairs of the queries that were searched, and what it has.
    queries
        Number of queries that were searched.
    """
    run, remarks = table.run, list(table.run.remarks)
    lists = np.unique(listing.queries, return_counts=True)[1]
    if len(lists) < queries:
        remarks.append(f"{queries - len(lists):,} of {queries:,} queries have no row")
    longest = int(lists.max(initial=0))
    full = int((lists == longest).sum())
    often = full >= MIN_FULL_LISTS and 10 * full >= len(lists) and longest > 1
    if request.max_targets is None and run.max_targets is None and often:
        remarks.append(
            f"{full:,} lists have {longest:,} targets, and none has more: if they were cut, give "
            f"--max-target-seqs {longest}"
        )
    if run.cuts_all:
        remarks.append("--top cuts every list: hits below its end are unlisted")
    if found.cut_lists and not run.cuts_all:
        remarks.append(f"{pluralize(found.cut_lists, 'list was', 'lists were')} cut")
    known = listing.evalues[~np.isnan(listing.evalues)]
    largest = float(known.max(initial=0))
    if run.evalue is not None and run.evalue < request.cutoff:
        remarks.append(f"run with E-values up to {run.evalue:g}: hits above that are unlisted")
    elif run.evalue is None and len(known) and largest < request.cutoff / NEAR_CUTOFF:
        remarks.append(
            f"the largest E-value is {largest:.2g}: if the table was run with a smaller limit than "
            f"{request.cutoff:g}, give it as --evalue"
        )
    return remarks


def label_tables(paths: Sequence[str]) -> list[str]:
    """Return what tables are called: the names of their files, or their paths if names repeat.

    >>> label_tables(["a/x.tsv", "y.tsv"]), label_tables(["a/x.tsv", "b/x.tsv"])
    (['x.tsv', 'y.tsv'], ['a/x.tsv', 'b/x.tsv'])
    """
    names = [os.path.basename(path) for path in paths]
    return [sanitize(name) for name in (names if len({*names}) == len(names) else paths)]
