"""The exact search that tables are compared with: identifiers, hits of queries, values of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from swdual.auditing.hits import NO_HITS, Hits
from swdual.database.database import Database
from swdual.database.lookup import find_index
from swdual.errors import InputError, UnknownIdentifier
from swdual.master.search import Search
from swdual.request.inputs import SearchInputs
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.sequence import batch_of
from swdual.text.messages import quote, sanitize

ANY_EVALUE = 1e300
"""E-values of single pairs are wanted whatever they are."""


class Truth:
    """An exact search, all of its queries or some, and single pairs of it.

    Parameters
    ----------
    run
        The search, which is not prepared yet.
    """

    def __init__(self, run: Search) -> None:
        self.run = run
        self.query_ids = [query.id for query in run.queries]
        self._queries = run.queries

    @property
    def pairs(self) -> int:
        """The number of pairs of a query and a target."""
        return len(self._queries) * len(self.run.targets)

    def find_queries(self, names: Iterable[str]) -> Mapping[str, int | str]:
        """Return the number of the query that each name stands for, or why there is none."""
        numbers = {name: k for k, name in enumerate(self.query_ids)}
        repeated = {name for k, name in enumerate(self.query_ids) if numbers[name] != k}
        found: dict[str, int | str] = {}
        for name in names:
            if name in repeated:
                found[name] = f"{quote(name)} names several queries; {_RENAME}"
                continue
            try:
                found[name] = (
                    numbers[name] if name in numbers else find_index(name, self.query_ids, "query")
                )
            except UnknownIdentifier as error:
                found[name] = error.message
        return found

    def find_targets(self, names: Iterable[str]) -> Mapping[str, int | str]:
        """Return the number of the target that each name stands for, or why there is none."""
        targets = self.run.targets
        found: dict[str, int | str] = {}
        for name, matches in targets.lookup(names).items():
            if len(matches.best) == 1:
                found[name] = matches.best[0]
            elif matches.exact:
                found[name] = f"{quote(name)} names several records of {targets.name}; {_RENAME}"
            else:
                _, errors = targets.select([name])
                after = ":" if matches.partial else ""
                found[name] = f"{targets.name}{after} {errors[name].message}"
        return found

    def facts(self) -> dict[str, str]:
        """Return what is searched, and how, by names."""
        params, targets = self.run.params, self.run.targets
        scheme = params.scheme
        facts = {
            "database": targets.name,
            "sequences": targets.describe_sequences(),
            "program": params.program,
            "scoring": f"{scheme.matrix.name}, gap open {scheme.gap_open}, "
            f"extend {scheme.gap_extend}",
            "composition": params.composition or "not adjusted",
            "translation": params.translation,
            "query part": params.query_loc or "",
            "query mask": params.mask,
            "target mask": params.db_mask or "none",
            "E-values": f"{params.stats}, of {params.dbsize or targets.residues:,} residues",
        }
        return {name: sanitize(text) for name, text in facts.items() if text}

    def search(self, numbers: NDArray[np.int64]) -> Hits:
        """Return the hits of some queries.

        Parameters
        ----------
        numbers
            Their numbers, ascending.

        Raises
        ------
        SwdualError
            As `swdual.search` documents.
        """
        self.run.select_queries(numbers.tolist())
        return Hits.collect(self.run.results(), numbers)

    def refuse_pairs(self) -> str:
        """Return why single pairs cannot be evaluated; "" if they can.

        The E-value of a protein depends on the residues of the database, which a search of a few
        targets can be told, and not on the number of its targets.
        """
        params = self.run.params
        if params.scheme.matrix.alphabet is not PROTEIN or params.comparison.translates:
            return "the sequences are not proteins on both sides"
        if params.stats != "table":
            return f"`stats={params.stats!r}` needs the scores of all targets"
        return "" if params.db_mask is None else "targets are masked"

    def evaluate(self, queries: NDArray[np.int64], targets: NDArray[np.int64]) -> Hits:
        """Return exact scores and E-values of pairs; those that score 0 are left out.

        Parameters
        ----------
        queries, targets
            (pairs,) numbers of queries and targets.
        """
        if self.refuse_pairs():
            return NO_HITS
        return Hits.concatenate(
            self._evaluate_query(number, np.unique(targets[queries == number]))
            for number in np.unique(queries).tolist()
        )

    def _evaluate_query(self, number: int, ordinals: NDArray[np.int64]) -> Hits:
        whole, query = self.run.targets, self._queries[number]
        records = batch_of(whole.records(ordinals.tolist()))
        database = Database.from_batches([records], whole.alphabet, whole.name)
        params = replace(
            self.run.params,
            dbsize=self.run.params.dbsize or whole.residues,
            evalue=ANY_EVALUE,
        )
        inputs = SearchInputs(
            database, [query], database, params, [len(query.codes) * database.residues]
        )
        options = replace(self.run.options, device="cpu", cluster=None, progress=False)
        found = Hits.collect(Search.of_inputs(inputs, options).results(), np.array([number]))
        return replace(found, targets=ordinals[found.targets])


_RENAME = "an audit cannot tell which; give each an identifier of its own"


def require_bounds(value: int, most: int, name: str, what: str) -> None:
    """Check the size of a sample.

    Parameters
    ----------
    value, most
        The size, and that of the population.
    name, what
        Name of the option, and what is drawn.

    Raises
    ------
    InputError
        If it is not between 1 and the population.
    """
    if not 1 <= value <= most:
        raise InputError(f"`{name}` is {value}, but there are {most:,} {what} to draw from")
