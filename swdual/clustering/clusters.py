"""Clusters: which sequences belong together, and which of them represents them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from swdual.clustering.linkage import link
from swdual.clustering.rules import ClusterRules
from swdual.hits.query_result import QueryResult
from swdual.hits.targets import TargetRecords
from swdual.io.file_kind import TABLE
from swdual.io.output import Output, Utf8, replace_file
from swdual.sequences.sequence import Sequence as Record
from swdual.text.messages import pluralize, sanitize


@dataclass(frozen=True, eq=False)
class Clusters(Sequence[list[str]]):
    """Clusters of all sequences of a database: ``len``, ``[]`` and ``for`` as with a list.

    Each is the list of identifiers of its members: the representative first, the others in the
    order of the input. Clusters are in the order of their representatives in the input.

    Parameters
    ----------
    ids
        The identifiers of all sequences, in the order of the input.
    representatives
        (sequences,) the number, in the input, of the representative of each sequence.
    rules
        How they were clustered.
    records
        The sequences.
    """

    ids: list[str]
    representatives: NDArray[np.int64]
    rules: ClusterRules
    records: TargetRecords = field(repr=False)

    @cached_property
    def members(self) -> list[list[int]]:
        """The numbers, in the input, of the members of each cluster; the representative first."""
        members: dict[int, list[int]] = {
            number: [number] for number in np.unique(self.representatives).tolist()
        }
        for number, representative in enumerate(self.representatives.tolist()):
            if number != representative:
                members[representative].append(number)
        return list(members.values())

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, cluster: int) -> list[str]: ...
    @overload
    def __getitem__(self, cluster: slice) -> list[list[str]]: ...
    def __getitem__(self, cluster: int | slice) -> list[str] | list[list[str]]:
        """Return the identifiers of a cluster by its number from 0, or those of several."""
        if isinstance(cluster, slice):
            return [self._name(each) for each in self.members[cluster]]
        return self._name(self.members[cluster])

    def __repr__(self) -> str:
        return f"<Clusters: {self.describe()}>"

    def describe(self) -> str:
        """Return how many clusters there are, in words.

        >>> rules = ClusterRules(min_identity=90)
        >>> Clusters(["a", "b", "c"], np.array([0, 0, 2]), rules, None).describe()
        '2 clusters, the largest of 2 sequences, 1 sequence alone'
        """
        sizes = [len(each) for each in self.members]
        largest = pluralize(max(sizes, default=0), "sequence", "sequences")
        alone = pluralize(sizes.count(1), "sequence", "sequences")
        return f"{pluralize(len(sizes), 'cluster', 'clusters')}, the largest of {largest}, " + (
            f"{alone} alone"
        )

    def _name(self, numbers: list[int]) -> list[str]:
        return [self.ids[number] for number in numbers]

    def write_table(self, stream: Output) -> None:
        """Write a line for each sequence: its representative, a tab, and the sequence.

        Parameters
        ----------
        stream
            Where to write bytes.
        """
        text = Utf8(stream)
        for names in self:
            first, *_ = names = [sanitize(name, " ") for name in names]
            text.write("".join(f"{first}\t{name}\n" for name in names))

    def write_representatives(self, stream: Output) -> None:
        """Write the representatives as FASTA, in the order of the clusters.

        Parameters
        ----------
        stream
            Where to write bytes.
        """
        text = Utf8(stream)
        for record in self._read_representatives():
            text.write(record.to_fasta())

    def _read_representatives(self) -> Iterator[Record]:
        for first, *_ in self.members:
            (title,), (codes,) = self.records.headers([first]), self.records.codes([first])
            yield Record.of_cased(title, codes, self.records.alphabet)

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the table of `write_table` to a file.

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
        with replace_file(path, TABLE, force=force, compress=True) as stream:
            self.write_table(stream)


def cluster_results(results: Iterable[QueryResult], rules: ClusterRules) -> Clusters:
    """Return the clusters of all sequences of a database.

    Parameters
    ----------
    results
        All pairs of the sequences, with alignments; consumed one by one. There is a result for each
        sequence, in the order of the input.
    rules
        How they are clustered.
    """
    ids: list[str] = []
    lengths: list[int] = []
    pairs = [np.empty((0, 2), np.int64)]
    identities = [np.empty(0)]
    records: TargetRecords | None = None
    for result in results:
        records = result.targets if records is None else records
        ids.append(result.query.id)
        lengths.append(len(result.query.codes))
        for piece in result.pieces():
            passing = np.flatnonzero(rules.find_passing(piece))
            numbers = piece.ordinals[passing]
            pairs.append(np.stack((np.full(len(numbers), result.number), numbers), axis=1))
            identities.append(rules.find_identities(piece)[passing])
    assert records is not None
    order = np.argsort(-np.array(lengths, np.int64), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    found = link(len(ids), ranks[np.concatenate(pairs)], np.concatenate(identities), rules.linkage)
    return Clusters(ids, order[found][ranks], rules, records)
