"""Multiple alignments: a query and its hits; chains of a complex, paired by organism."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from swdual.errors import InputError
from swdual.hits.query_result import QueryResult
from swdual.io.output import replace_file
from swdual.multiple_alignment.alphafold_input import AlphaFoldInput
from swdual.multiple_alignment.filters import RowFilters, count_effective
from swdual.multiple_alignment.format import (
    choose_format,
    list_files,
    load_format,
    number_equal,
)
from swdual.multiple_alignment.organisms import find_organism
from swdual.multiple_alignment.rows import GAP, make_rows, match_columns
from swdual.runtime.extras import import_extra
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import Sequence, first_word
from swdual.text.messages import pluralize, sanitize

if TYPE_CHECKING:
    import matplotlib.axes

ABSENT = -1
"""In place of a row that a chain does not have."""

MOST_PARALOGS = 600
"""An organism with more rows than this of one chain is not paired, as in AlphaFold-Multimer."""


@dataclass(frozen=True, eq=False)
class MultipleAlignment:
    """A query and the rows that are aligned with it, the best first: ``len`` counts all of them.

    Parameters
    ----------
    titles
        The header line of each row; the first is the query's.
    rows
        The rows in a3m: upper case in the columns of the query, lower case for insertions, ``-``
        for gaps.
    organisms
        What identifies the organism of each row, or "": see `find_organism`.
    origin, filters
        The alignment that these rows were filtered from, and by what: `Complex` pairs its rows.
    """

    titles: list[str] = field(repr=False)
    rows: list[bytes] = field(repr=False)
    organisms: list[str] = field(repr=False)
    origin: MultipleAlignment | None = field(default=None, repr=False)
    filters: RowFilters | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        rows = pluralize(len(self), "row", "rows")
        return f"<MultipleAlignment {self.id!r}: {rows}, {self.columns.shape[1]:,} columns>"

    @property
    def id(self) -> str:
        """The identifier of the query."""
        return first_word(self.titles[0])

    @property
    def query(self) -> str:
        """The residues of the query."""
        return self.rows[0].decode()

    @cached_property
    def columns(self) -> NDArray[np.uint8]:
        """(rows, L) the letters in the columns of the query; read-only."""
        return match_columns(self.rows)

    @cached_property
    def effective_rows(self) -> float:
        """The effective number of rows: see `count_effective`."""
        return count_effective(self.columns)

    def describe(self) -> str:
        """Return how many rows there are, how diverse, and how much of the query they cover."""
        if len(self) == 1:
            return "only the query"
        depths = np.count_nonzero(self.columns != GAP, axis=0)
        covered = np.count_nonzero(depths > 1) / len(depths)
        return (
            f"{len(self):,} rows with the query ({self.effective_rows:,.0f} effective), "
            f"median depth {np.median(depths):,.0f}, {covered:.0%} of the query covered by hits"
        )

    @classmethod
    def of_query(cls, query: Sequence) -> Self:
        """Return the alignment of a query of proteins alone, without the stops at its end."""
        letters = PROTEIN.decode(query.unmasked)
        row = (letters.rstrip("*") or letters).replace("*", "X")
        return cls([sanitize(query.title)], [row.encode()], [find_organism(query.title)])

    @classmethod
    def from_hits(cls, *results: QueryResult) -> Self:
        """Return the query of some results with a row for each alignment of their hits.

        Parameters
        ----------
        results
            The hits of one query in one database or several, in this order.

        Raises
        ------
        InputError
            If the hits are not of proteins, or of several queries.
        """
        query = results[0].query
        found = cls.of_query(query)
        titles, rows, organisms = found.titles, found.rows, found.organisms
        length = len(found.query)
        for result in results:
            if result.params.comparison.translates:
                raise InputError("a multiple alignment is of proteins, not of translated ones")
            if result.params.scheme.matrix.alphabet is not PROTEIN:
                raise InputError("a multiple alignment is of proteins, not of nucleotides")
            if result.query.unmasked != query.unmasked:
                raise InputError(
                    "the hits are of several queries, but a multiple alignment is of one"
                )
            for piece in result.pieces():
                listed = piece.per_alignment()
                titles += map(sanitize, listed.titles)
                rows += make_rows(length, listed.tracebacks, listed.target_codes)
                known = listed.taxids if listed.targets.has_taxids else [()] * len(listed)
                organisms += map(find_organism, listed.titles, known)
        return found

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw where rows have residues, and how many there are (needs matplotlib).

        Rows are sorted by their identity with the query, which is their colour; the line is the
        number of rows at each position. ColabFold draws the same.

        Parameters
        ----------
        ax
            Where to draw; by default a new figure.
        """
        pyplot = import_extra("matplotlib.pyplot", "plot", "drawing needs matplotlib")
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
        present = self.columns != GAP
        equal = present & (self.columns == self.columns[0])
        identities = equal.sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        order = np.argsort(identities, kind="stable")
        count, length = present.shape
        shown = ax.imshow(
            np.where(present, identities[:, None], np.nan)[order],
            cmap="cividis_r",
            vmin=0,
            vmax=1,
            aspect="auto",
            origin="lower",
            interpolation="none",
            extent=(0.5, length + 0.5, 0, count),
        )
        ax.plot(np.arange(1, length + 1), present.sum(axis=0), color="#d55e00", linewidth=1.2)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        rows = pluralize(count, "row", "rows")
        ax.set(xlabel="position of the query", ylabel="rows", title=f"{self.id}: {rows}")
        ax.figure.colorbar(shown, ax=ax, label="identity with the query")
        return ax

    def filter(self, filters: RowFilters) -> Self:
        """Return the alignment of the rows that pass.

        In a `Complex` with other chains, rows are paired before they are compared.
        """
        chosen = self.take(filters.choose(self.columns).tolist())
        return replace(chosen, origin=self, filters=filters)

    def take(self, indices: Iterable[int]) -> Self:
        """Return the alignment of some rows, in this order; the query's index is 0."""
        places = list(indices)
        return type(self)(
            [self.titles[k] for k in places],
            [self.rows[k] for k in places],
            [self.organisms[k] for k in places],
        )

    def write(
        self, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False
    ) -> None:
        """Write the alignment to a file.

        Parameters
        ----------
        path
            The file, or "-" for standard output. It appears when it is complete.
        format
            "a3m", "fasta", "stockholm", "alphafold3" or "boltz". By default the end of the name
            tells; a3m if it has none.
        force
            Whether a file that is there is replaced.

        Raises
        ------
        InputError
            If there is no such format.
        OutputError
            If the file cannot be written, or is there already.
        """
        Complex.of([self]).write(path, format, force=force)


@dataclass(frozen=True, eq=False)
class Complex:
    """The chains of a complex: one alignment of each sequence, and how often it occurs.

    Parameters
    ----------
    chains
        The alignments, of different queries.
    names
        The identifiers of the chains that have each query.
    job
        The input of AlphaFold 3 that the chains are of, if any.
    filters
        Which pairs, and which rows of each chain alone, stay.
    """

    chains: list[MultipleAlignment]
    names: list[list[str]]
    job: AlphaFoldInput | None = None
    filters: RowFilters | None = None

    @classmethod
    def of(
        cls,
        alignments: Iterable[MultipleAlignment],
        job: AlphaFoldInput | None = None,
        filters: RowFilters | None = None,
    ) -> Self:
        """Return a complex of chains, of which equal ones become one.

        Rows that filters left out take part again: which row is the partner of which does not
        depend on the others that are like them. The filters then choose among the pairs, and among
        the rows of each chain that are in no pair.

        Parameters
        ----------
        alignments
            The alignment of each chain.
        job
            The input of AlphaFold 3 that they are of, if any: it has the names.
        filters
            Which rows stay; by default those that the first chain with some was filtered by.
        """
        chains: dict[str, MultipleAlignment] = {}
        names: dict[str, list[str]] = defaultdict(list)
        given = [*alignments]
        for each, name in zip(given, number_equal(each.id for each in given), strict=True):
            chains.setdefault(each.query, each)
            names[each.query] += [name] if job is None else job.ids_of(each.query)
        for each in chains.values():
            filters = filters or each.filters
        whole = [each.origin or each for each in chains.values()]
        return cls(whole, [*names.values()], job, filters)

    def describe(self) -> str:
        """Return how many rows are paired, and of how many organisms."""
        if not any(organism for chain in self.chains for organism in chain.organisms[1:]):
            return (
                "no rows are paired, because no header tells an organism; headers need OX=, or the "
                "database taxonomy ids ('swdual makedb --taxid-map')"
            )
        organisms = {
            self.chains[place].organisms[row]
            for pair in self.pairs
            for place, row in enumerate(pair)
            if row != ABSENT
        }
        pairs = pluralize(len(self.pairs), "paired row", "paired rows")
        return f"{pairs} of {pluralize(len(organisms), 'organism', 'organisms')}"

    @cached_property
    def _all_pairs(self) -> list[tuple[int, ...]]:
        """The row of each chain in each pair, before filters."""
        rows: dict[str, list[list[int]]] = {}
        for place, chain in enumerate(self.chains):
            passing = np.ones(len(chain), bool)
            if self.filters is not None:
                passing = self.filters.accept(chain.columns)
            equal = np.count_nonzero(chain.columns == chain.columns[0], axis=1)
            seen: set[tuple[str, str | bytes]] = set()
            for row in np.argsort(-equal, kind="stable").tolist():
                organism = chain.organisms[row] if row and passing[row] else ""
                # A target counts once, though it is in two databases or has several alignments.
                marks = {(organism, first_word(chain.titles[row])), (organism, chain.rows[row])}
                if organism and not marks & seen:
                    rows.setdefault(organism, [[] for _ in self.chains])[place].append(row)
                seen |= marks
        pairs: list[tuple[int, ...]] = []
        for of_chains in rows.values():
            present = [of_chain for of_chain in of_chains if of_chain]
            if len(present) > 1 and max(map(len, present)) <= MOST_PARALOGS:
                pairs += [
                    tuple(each[rank] if each else ABSENT for each in of_chains)
                    for rank in range(min(map(len, present)))
                ]
        return sorted(pairs, key=_rank)

    @cached_property
    def pairs(self) -> list[tuple[int, ...]]:
        """The row of each chain in each paired row, or `ABSENT`; that of the queries is left out.

        Of each organism, the rows of all chains that it has and that equal their queries most are
        paired, then the second ones, as long as all of these have some. Rows of more chains come
        first, then those of better ranks. So AlphaFold-Multimer pairs (Evans et al. 2021,
        doi:10.1101/2021.10.04.463034, section 7.2).
        """
        pairs = self._all_pairs
        if self.filters is None or not pairs:
            return pairs
        joined = np.concatenate(
            [
                chain.columns[[0, *(pair[place] for pair in pairs)]]
                for place, chain in enumerate(self.chains)
            ],
            axis=1,
        )
        for place, part in enumerate(self._parts):
            absent = [k for k, pair in enumerate(pairs, start=1) if pair[place] == ABSENT]
            joined[absent, part] = GAP
        return [pairs[k - 1] for k in self.filters.thin(joined).tolist() if k]

    @property
    def _parts(self) -> list[slice]:
        """The columns of each chain in rows of all chains."""
        ends = np.cumsum([len(chain.query) for chain in self.chains]).tolist()
        return [slice(*ends) for ends in zip([0, *ends], ends, strict=False)]

    @cached_property
    def unpaired(self) -> list[list[int]]:
        """The rows of each chain that are in no pair and stay, without the query."""
        found = []
        for place, chain in enumerate(self.chains):
            paired = {pair[place] for pair in self._all_pairs}
            rows = [row for row in range(len(chain)) if row not in paired]
            if self.filters is not None:
                chosen = self.filters.choose(chain.columns[rows]).tolist()
                rows = [rows[k] for k in chosen]
                if self.filters.depth:
                    rows = rows[: max(0, self.filters.depth - len(self.pairs)) + 1]
            found.append(rows[1:])
        return found

    def rows_of(self, place: int) -> MultipleAlignment:
        """Return the alignment of the rows of a chain that stay, paired ones first."""
        paired = [pair[place] for pair in self.pairs if pair[place] != ABSENT]
        return self.chains[place].take([0, *paired, *self.unpaired[place]])

    def paired_rows(self, chain: int) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of a chain for each pair; only gaps where it has none."""
        alignment = self.chains[chain]
        gaps = b"-" * len(alignment.query)
        for pair in self.pairs:
            row = pair[chain]
            yield ("", gaps) if row == ABSENT else (alignment.titles[row], alignment.rows[row])

    def unpaired_rows(self, chain: int) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of a chain for each of its rows that is in no pair."""
        alignment = self.chains[chain]
        for row in self.unpaired[chain]:
            yield alignment.titles[row], alignment.rows[row]

    def joined_rows(self, *, repeats_queries: bool = False) -> Iterator[tuple[str, bytes]]:
        """Yield title and row of all chains, one after the other.

        The queries come first, then the pairs, then the other rows of each chain, with gaps in the
        other chains::

            >A      B         MKVLAW GGHER
            >A/9606 B/9606    MRVLAW GGHDR
            >A                MKVLAW -----
            >A/7227           MKILAW -----
            >B                ------ GGHER
            >B/4932           ------ GAHER

        Parameters
        ----------
        repeats_queries
            Whether the query of each chain, if there are several, is above the chain's other rows,
            too: ColabFold makes an alignment of these rows.
        """
        blank = [b"-" * len(chain.query) for chain in self.chains]
        yield (
            "\t".join(chain.titles[0] for chain in self.chains),
            b"".join(chain.rows[0] for chain in self.chains),
        )
        for parts in zip(*map(self.paired_rows, range(len(self.chains))), strict=True):
            yield "\t".join(title for title, _ in parts), b"".join(row for _, row in parts)
        for place, chain in enumerate(self.chains):
            rows = [*self.unpaired_rows(place)]
            if repeats_queries and len(self.chains) > 1:
                rows.insert(0, (chain.titles[0], chain.rows[0]))
            for title, row in rows:
                yield title, b"".join([*blank[:place], row, *blank[place + 1 :]])

    def plot(self, ax: matplotlib.axes.Axes | None = None) -> matplotlib.axes.Axes:
        """Draw the rows of all chains side by side, as `MultipleAlignment.plot` draws one chain.

        Parameters
        ----------
        ax
            Where to draw; by default a new figure.
        """
        titles, rows = map(list, zip(*self.joined_rows(), strict=True))
        joined = MultipleAlignment(titles, rows, [""] * len(rows))
        ax = joined.plot(ax)
        for part in self._parts[1:]:
            ax.axvline(part.start + 0.5, color="black", linewidth=0.8)
        ax.set_title(
            f"{' + '.join(map('/'.join, self.names))}: {pluralize(len(rows), 'row', 'rows')}"
        )
        return ax

    def write(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        force: bool = False,
        finish: Callable[[int], None] | None = None,
    ) -> None:
        """Write the alignment of the complex.

        Parameters
        ----------
        path, format, force
            As for `MultipleAlignment.write`. "boltz" has a file for each chain, whose identifier
            is in front of the ending.
        finish
            As for `swdual.io.output.replace_file`.

        Raises
        ------
        InputError, OutputError
            As `MultipleAlignment.write` documents.
        """
        module = load_format(choose_format(path, format))
        for file, lines in list_files(self, path, module):
            with replace_file(file, module.KIND, force=force, compress=True, finish=finish) as out:
                for line in lines:
                    out.write(f"{line}\n".encode())


def _rank(pair: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
    """Return what pairs are sorted by: the number of chains, then the product of the ranks."""
    present = [row for row in pair if row != ABSENT]
    return -len(present), math.prod(present), pair
