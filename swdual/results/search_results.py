"""The results of a search, and their conversion for other programs."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from swdual.database.lookup import find_index
from swdual.errors import InputError
from swdual.format import REPORT_ALIGNMENTS, is_format, parse_format
from swdual.formats._arrow import add_metadata, import_arrow, make_batches, make_schema
from swdual.hits.adjustment_counts import AdjustmentCounts
from swdual.hits.fields import (
    DATA,
    FIELDS,
    check_fields,
    columns,
    parse_fields,
    standardize,
)
from swdual.hits.query_result import QueryResult
from swdual.hits.shown import hits_table
from swdual.hits.sparse import collect_scores
from swdual.io.file_kind import FASTA
from swdual.io.output import Output, Utf8, replace_file
from swdual.io.stream import Source
from swdual.planning.timing import Timing
from swdual.request.search_parameters import SearchParameters
from swdual.results.file_types import choose_format
from swdual.runtime.extras import import_extra
from swdual.runtime.keywords import plain_index, plain_number, require_range, takes_keywords_of
from swdual.statistics.fit import Z_EDGES, Fit
from swdual.text import notebook
from swdual.text.messages import pluralize
from swdual.version import __version__

if TYPE_CHECKING:
    import Bio.SearchIO
    import matplotlib.axes
    import matplotlib.figure
    import pandas
    import polars
    import pyarrow
    import scipy.sparse

SINGLE_SCORES = 15
"""Up to so many different scores, a plot shows a bar for each instead of a histogram."""

MAX_LINEAR_COUNT = 20
"""Up to so many hits or targets of a bar, the axis of a plot is linear; else it is logarithmic."""

SHOWN_QUERIES, SHOWN_HITS, SHOWN_HITS_EACH = 20, 20, 3
"""A notebook shows so many queries, so many hits in all, and at least so many of each query."""


@dataclass(frozen=True, repr=False)
class Report:
    """A report of a search: `html` is the page, which a notebook shows in a frame.

    ``results.write("report.html")`` saves the report of results in a file.

    Parameters
    ----------
    html
        The whole page.
    height
        Height of the frame, in pixels.
    """

    html: str
    height: int

    def __repr__(self) -> str:
        return f"<Report: {len(self.html):,} characters of HTML>"

    def _repr_html_(self) -> str:
        return notebook.frame(self.html, "Report of a search", self.height)


class SearchResults:
    """The results of all queries, in their order: ``len``, ``[]`` and ``for`` as with a list.

    ``results["id"]`` is the result of the query with an identifier. ``results[:5]`` and
    ``results[["id", "other"]]`` are the results of some queries, as this object.

    The columns `query_numbers`, `ranks`, `scores`, `ordinals`, `target_lengths`, `bits` and
    `evalues` are NumPy arrays with one entry a hit. `to_pandas`, `to_polars` and `to_arrow` return
    tables with more columns. `version` is the release that searched, `report_alignments` the number
    of hits of a query whose alignments a report holds, `found` the number of hits that the search
    found, of which these may be a part.

    Parameters
    ----------
    queries
        The result of each query.
    params
        The options of the search.
    timing
        Duration, plans, and activities of workers.
    stats
        Basis of the E-values: method, lambda, K, H, residues, sequences.
    files
        The files that were searched with and in: no output replaces them.
    """

    report_alignments = REPORT_ALIGNMENTS

    def __init__(
        self,
        queries: list[QueryResult],
        params: SearchParameters,
        timing: Timing,
        stats: Mapping[str, str | int | float],
        files: Iterable[Source] = (),
    ) -> None:
        self._queries = queries
        self._files = tuple(files)
        self.params = params
        self.timing = timing
        self.stats = dict(stats)
        self.version = __version__
        self.found = sum(map(len, queries))

    def __len__(self) -> int:
        return len(self._queries)

    @overload
    def __getitem__(self, query: int | str) -> QueryResult: ...
    @overload
    def __getitem__(
        self, query: slice | list[int | str] | list[bool] | NDArray[Any]
    ) -> SearchResults: ...
    def __getitem__(
        self, query: int | str | slice | list[int | str] | list[bool] | NDArray[Any]
    ) -> QueryResult | SearchResults:
        """Return the result of a query, by its place or by its identifier.

        A slice, or a list or array of places and identifiers, returns results of these queries
        only; so does a mask: a list or array with true or false for each query.

        Raises
        ------
        InputError
            If no query has the identifier, or a mask is not as long as the results.

        >>> import swdual
        >>> found = swdual.search({"q1": "MKVLAW", "q2": "GGHERW"}, {"t": "MKVLAWGGHERW"})
        >>> found[["q2"]].query_ids
        ['q2']
        """
        if isinstance(query, str):
            return self._queries[find_index(query, self.query_ids, "query")]
        which: Any = query.tolist() if hasattr(query, "tolist") else query  # of NumPy or pandas
        if not isinstance(which, slice | list):
            result: QueryResult = self._queries[plain_index("a query", which)]
            return result
        if isinstance(which, list) and which and all(isinstance(k, bool | np.bool_) for k in which):
            if len(which) != len(self):
                queries = pluralize(len(self), "query", "queries")
                raise InputError(f"a mask of {len(which)} entries does not fit {queries}")
            which = np.flatnonzero(which).tolist()
        chosen = self._queries[which] if isinstance(which, slice) else [self[k] for k in which]
        part = self._with(chosen)
        if self.found == sum(map(len, self._queries)):
            part.found = sum(map(len, chosen))
        return part

    def __contains__(self, query: object) -> bool:
        """Return whether a query has this identifier, or whether this is one of the results."""
        return query in (self.query_ids if isinstance(query, str) else self._queries)

    @property
    def query_ids(self) -> list[str]:
        """Identifiers of the queries."""
        return [result.query.id for result in self]

    def __iter__(self) -> Iterator[QueryResult]:
        return iter(self._queries)

    def __eq__(self, other: object) -> bool:
        """Return whether options and hits are equal; the timing is ignored."""
        if not isinstance(other, SearchResults):
            return NotImplemented
        return self.params == other.params and self._queries == other._queries

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<SearchResults: {self._summary()}>"

    def _summary(self) -> str:
        hits = pluralize(len(self.scores), "hit", "hits")
        queries = pluralize(len(self), "query", "queries")
        return f"{hits} of {queries}, {self.timing.seconds:.3g} s"

    @cached_property
    def query_numbers(self) -> NDArray[np.int64]:
        """The number of each hit's query among the queries, from 0."""
        return np.repeat(np.arange(len(self)), [len(query) for query in self])

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each hit in its query, from 1."""
        return self._column([np.arange(1, len(query) + 1) for query in self])

    @cached_property
    def scores(self) -> NDArray[np.int64]:
        """Raw scores."""
        return self._column([query.scores for query in self])

    @cached_property
    def ordinals(self) -> NDArray[np.int64]:
        """The number of each hit's target in the database's input, from 0."""
        return self._column([query.ordinals for query in self])

    @cached_property
    def target_lengths(self) -> NDArray[np.int64]:
        """Residues of the targets."""
        return self._column([query.target_lengths for query in self])

    @cached_property
    def bits(self) -> NDArray[np.float64]:
        """Bit scores; not-a-number without statistics."""
        return self._column([query.bits for query in self], np.float64)

    @cached_property
    def evalues(self) -> NDArray[np.float64]:
        """E-values; not-a-number without statistics."""
        return self._column([query.evalues for query in self], np.float64)

    @cached_property
    def adjustment_counts(self) -> AdjustmentCounts:
        """How many pairs were adjusted for composition."""
        return AdjustmentCounts.total(query.adjustment_counts for query in self)

    @staticmethod
    def _column(parts: list[NDArray[Any]], kind: type = np.int64) -> NDArray[Any]:
        return np.concatenate(parts) if parts else np.empty(0, kind)

    def _with(self, queries: list[QueryResult]) -> SearchResults:
        part = SearchResults(queries, self.params, self.timing, self.stats, self._files)
        part.found = self.found
        return part

    def top(self, count: int) -> SearchResults:
        """Return the first `count` hits of each query."""
        return self._with([query.top(count) for query in self])

    def within(self, percent: float) -> SearchResults:
        """Return the hits that score at most `percent` percent below their query's best.

        Hits of equal scores are kept or left out together.
        """
        return self._with([query.within(percent) for query in self])

    @takes_keywords_of(QueryResult.filter)
    def filter(self, **limits: Any) -> SearchResults:
        """Return the hits that pass all of the given limits.

        >>> import swdual
        >>> found = swdual.search("MKVLAW", {"same": "MKVLAW", "part": "MKVL"})
        >>> [hit.id for hit in found.filter(min_query_cover=80)[0]]
        ['same']
        """
        return self._with([query.filter(**limits) for query in self])

    def write_fasta(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the sequences of all targets that were hit, each once, as FASTA.

        Parameters
        ----------
        path
            The file; compressed if its name ends in .gz, .bz2, .xz or .zst. "-" is standard output.
        force
            Replace a file that exists.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        written: set[int] = set()
        with replace_file(path, FASTA, force=force, inputs=self._files, compress=True) as stream:
            text = Utf8(stream)
            for result in self:
                for hit in result.iter_hits():
                    if hit.ordinal not in written:
                        written.add(hit.ordinal)
                        text.write(hit.target.to_fasta())

    def write(
        self,
        path: str | os.PathLike[str],
        outfmt: str | None = None,
        *,
        header: bool | None = None,
        force: bool = False,
    ) -> None:
        """Write the results in one of the command's formats, such as "6 std qcovhsp" or "5".

        Parameters
        ----------
        path
            The file; compressed if its name ends in .gz, .bz2, .xz or .zst. "-" is standard output.
        outfmt
            As for ``swdual search --outfmt``; by default the format of the file's name, else 6.
        header
            Write the names of the fields in the first line of a text table. By default for the
            format "csv", but not for BLAST's 10.
        force
            Replace a file that exists.

        Raises
        ------
        InputError, OutputError
            If there is no such format, the file's name stands for another, or the file cannot be
            written.
        """
        chosen = choose_format(path, None if outfmt is None else str(outfmt), header)
        with replace_file(
            path, chosen.kind, force=force, inputs=self._files, compress=True
        ) as stream:
            chosen.format.write(self, stream, chosen.fields, header=chosen.header)

    def report(self, *, alignments: int = REPORT_ALIGNMENTS, height: int = 800) -> Report:
        """Return a report, which a notebook shows; ``results.write("report.html")`` saves it.

        Parameters
        ----------
        alignments
            Number of hits of a query whose alignments the report holds, the best first.
        height
            Height in a notebook, in pixels.

        Raises
        ------
        InputError
            If a number is negative.
        """
        for name, value in (("alignments", alignments), ("height", height)):
            require_range(name, plain_number(name, value, int), 0, percentage=False)
        shown = self._with(self._queries)
        shown.report_alignments = alignments
        stream = io.BytesIO()
        parse_format("html").format.write(shown, Output(stream, "report"), (), header=False)
        return Report(stream.getvalue().decode(), int(height))

    def to_arrow(self, fields: str | SequenceOf[str] | None = None) -> pyarrow.Table:
        """Return an Arrow table with one row an alignment (needs pyarrow).

        Parameters
        ----------
        fields
            Names of fields, such as "std stitle", or a format and fields as for `write`: "7 std".
            By default all names and numbers; fields that need alignments only if the search
            computed alignments.

        Raises
        ------
        InputError
            If there is no such field, or pyarrow is not installed.
        """
        table, facts = add_metadata(self, self._fields(fields))
        kinds = make_schema(table.fields, facts)
        return import_arrow().Table.from_batches(make_batches(table, kinds), schema=kinds)

    def _fields(self, fields: str | SequenceOf[str] | None) -> tuple[str, ...]:
        if fields is not None:
            if isinstance(fields, str) and is_format(fields.split(maxsplit=1)[0]):
                fields = standardize(parse_format(fields).fields)
            return tuple(dict.fromkeys(parse_fields(fields)))
        aligned = all(query.traced is not None for query in self)
        return tuple(name for name in DATA if aligned or not FIELDS[name].traced)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the Arrow table to whoever speaks Arrow: pandas, polars, DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, fields: str | SequenceOf[str] | None = None) -> pandas.DataFrame:
        """Return a data frame with one row an alignment (needs pandas): see `to_arrow`."""
        pd = import_extra("pandas", "pandas", "data frames need pandas")
        chosen = self._fields(fields)
        chunks = [columns(query.per_alignment(), chosen) for query in self]
        parts = zip(*chunks, strict=True) if chunks else [[] for _ in chosen]
        kinds = {"text": "object", "whole": "int64", "real": "float64"}
        frame: pandas.DataFrame = pd.DataFrame(
            {
                name: pd.Series(
                    [x for part in column for x in part], dtype=kinds[FIELDS[name].kind]
                )
                for name, column in zip(chosen, parts, strict=True)
            }
        )
        return frame

    def to_polars(self, fields: str | SequenceOf[str] | None = None) -> polars.DataFrame:
        """Return a polars data frame, one row an alignment (needs polars): see `to_arrow`."""
        pl = import_extra("polars", "polars", "this needs polars")
        frame: polars.DataFrame = pl.DataFrame(self.to_arrow(fields))
        return frame

    def to_sparse(self, field: str = "score") -> scipy.sparse.coo_array:
        """Return a sparse matrix of queries and targets (needs SciPy).

        Of all pairs it is symmetric: both entries of a pair, and nothing on the diagonal. Entry
        (i, j) belongs to query i and to target j of the database's input, from 0.

        Parameters
        ----------
        field
            Name of the field whose values the entries are.

        Raises
        ------
        InputError
            If there is no such field, it is text, or SciPy is not installed.
        """
        sparse = import_extra("scipy.sparse", "sparse", "this needs SciPy")
        (name,) = check_fields([field])
        if FIELDS[name].kind == "text":
            raise InputError(f"the entries of a matrix are numbers, but {name!r} is text")
        found = collect_scores(self, lambda piece: np.asarray(columns(piece, [name])[0]))
        matrix: scipy.sparse.coo_array = sparse.coo_array(
            (found.values, (found.rows, found.columns)), shape=found.shape
        )
        return matrix

    def to_searchio(self) -> list[Bio.SearchIO.QueryResult]:
        """Return Biopython's results, one a query."""
        return [query.to_searchio() for query in self]

    def plot_scores(
        self, number: int = 0, ax: matplotlib.axes.Axes | None = None
    ) -> matplotlib.axes.Axes:
        """Draw the distribution of a query's scores (needs matplotlib).

        With fitted statistics: the z-scores of all targets (chance has mean 50 and deviation 10)
        beside the expectation. Otherwise the bit scores of the hits, or their raw scores without
        statistics.

        Parameters
        ----------
        number
            The query, counted from 0.
        ax
            Where to draw; by default a new figure.
        """
        pyplot = import_extra("matplotlib.pyplot", "plot", "drawing needs matplotlib")
        from matplotlib.ticker import MaxNLocator

        query = self[number]
        if ax is None:
            _, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
        statistics = query.statistics
        if isinstance(statistics, Fit):
            edges = [Z_EDGES[1] - 5, *Z_EDGES[1:-1], Z_EDGES[-2] + 5]
            ax.stairs(statistics.observed, edges, fill=True, label="targets", color="#4c78a8")
            ax.stairs(statistics.expected(), edges, label="by chance", color="#e45756")
            ax.set_xlabel("z-score (the last bar holds all above)")
            ax.legend(frameon=False)
        else:
            known = statistics is not None
            values, counts = np.unique(query.bits if known else query.scores, return_counts=True)
            if len(values) <= SINGLE_SCORES:
                ax.vlines(values, 0, counts, color="#4c78a8", linewidth=2)
                ax.plot(values, counts, "o", color="#4c78a8")
            else:
                ax.hist(np.repeat(values, counts), bins="auto", color="#4c78a8")
            ax.set_xlabel("bit score" if known else "raw score")
        if ax.dataLim.y1 > MAX_LINEAR_COUNT:
            ax.set_yscale("symlog", linthresh=1)
        else:
            ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_ylim(bottom=0)
        ax.set_ylabel("targets" if isinstance(statistics, Fit) else "hits")
        ax.set_title(f"{query.query.id}: {len(query):,} hits")
        return ax

    def _repr_html_(self) -> str:
        shown = self._queries[:SHOWN_QUERIES]
        each = max(SHOWN_HITS_EACH, SHOWN_HITS // max(1, len(shown)))
        summary, composition = self._summary(), self.params.composition
        if composition:
            summary += f"; composition-based statistics: {composition}"
        page = [notebook.paragraph(notebook.text(summary)), hits_table(shown, each)]
        if len(self) > len(shown):
            more = pluralize(len(self) - len(shown), "more query", "more queries")
            page.append(notebook.paragraph(notebook.faint(f"and {more}")))
        return notebook.join(page)
