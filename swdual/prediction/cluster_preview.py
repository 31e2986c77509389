"""Predicts a search on a described cluster: shares, plan, transfers and memory."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.backend import Device
from swdual.cluster.partition import ClusterPartition, combine_rates, partition_search
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.master.cost import CalibrationCache, CostModel, Setting
from swdual.master.inputs import open_database, translate_targets
from swdual.master.memory import Memory, Needs, estimate_max_memory, estimate_min_memory
from swdual.master.partition import PartitionInput
from swdual.master.selection import TARGET_OPTIONS
from swdual.master.serialization import HEAD, HIT
from swdual.master.setup import compute_max_batch_queries
from swdual.master.worker import bind
from swdual.planning.planner import PACKAGE
from swdual.prediction.adjustment import forecast_adjustment
from swdual.prediction.forecast import Forecast
from swdual.prediction.nodes_file import NodeKind, read_cluster
from swdual.prediction.preview import (
    DEFAULT_OPTIONS,
    PreviewOptions,
    find_rates,
    make_default_scheme,
)
from swdual.prediction.synthetic_database import SyntheticDatabase, block_bytes
from swdual.sequences.frames import frame_length

SLOWEST_GCUPS, FASTEST_GCUPS = 1e-3, 1e9
"""Bounds of a worker's speed."""


def forecast(
    queries: Any,
    database: Any,
    nodes: str | os.PathLike[str],
    *,
    planner: str = "dual",
    **options: Any,
) -> Forecast:
    """Predict a search on a cluster, without the cluster.

    Parameters
    ----------
    queries, database
        As for `swdual.search`; no database (None) if the file describes one.
    nodes
        A TOML file that says what nodes there are: see `swdual.prediction.nodes_file`.
    planner
        Name of the planner.
    **options
        `task`, `strand`, `query_gencode`, `db_gencode`, `frameshift`, `sum_stats`, `dbtype`,
        `on_invalid`, `max_target_seqs`, `evalue`, `comp_based_stats`, `adjust`,
        `mask`, `lcase_masking`: as for `swdual.search`.

    Raises
    ------
    InputError
        If an argument is wrong, or no rates are known for a worker.
    """
    preview = ClusterPreview(queries, database, nodes, PreviewOptions(**options))
    return preview.forecast(planner)


class ClusterPreview:
    """A search on a cluster that is planned but not run; the parameters are those of `forecast`."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        nodes: str | os.PathLike[str],
        options: PreviewOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.cluster = read_cluster(nodes)
        described = self.cluster.database
        if (database is None) == (described is None):
            raise InputError(
                "describes a database, but one is given, too; leave one of them out"
                if described
                else "describes no database: name one, or add [database] with its residues, "
                "sequences and longest",
                file=self.cluster.path,
            )
        chosen = [f"`{name}`" for name in TARGET_OPTIONS if getattr(options, name) is not None]
        if described and chosen:
            raise InputError(
                "describes a database, whose targets are not known; leave out "
                f"{' and '.join(chosen)}, or name a database",
                file=self.cluster.path,
            )
        known = (
            options.open_database(database, queries)
            if described is None
            else open_database({"described": "A"}, dbtype=described.alphabet.name)
        )
        self.database: Database | SyntheticDatabase
        translation = options.translation(queries, known)
        if described and translation.db_gencode is not None:
            raise InputError(
                "describes a database of nucleotides, but proteins are searched in it; describe "
                "its six frames as proteins",
                file=self.cluster.path,
            )
        params = options.parameters(queries, known, translation)
        known = translate_targets(known, translation)
        self.database = described or known
        self.frame_count = params.frame_count
        sequences = options.read_queries(queries, known, params)
        self.adjustment = forecast_adjustment(sequences, self.database, params)
        self.lengths = [frame_length(query) for query in sequences]
        self.kept = min(params.max_candidates or len(self.database), len(self.database))
        self._adjusts = params.adjusts
        self._scheme = replace(make_default_scheme(known), frameshift=options.of_search.frameshift)
        if options.frameshift and any(kind.gpus for kind in self.cluster.kinds):
            raise InputError(
                "describes GPUs, whose kernels have no frameshifts", file=self.cluster.path
            )
        book = CalibrationCache(Setting.of(params))
        self.rates = {kind.name: self._rates(kind, book) for kind in self.cluster.kinds}

    def _rates(self, kind: NodeKind, book: CalibrationCache) -> dict[str, CostModel]:
        """Return the rates of a node's workers, by "cpu" and "gpu"."""
        counts = {"cpu": kind.cpus, "gpu": kind.gpus}
        file, own = self.cluster.path, isinstance(kind.rates, str)
        try:
            models = find_rates(kind.rates, counts, self._scheme, book)
        except InputError as error:
            if own:
                raise
            raise InputError(f"{kind.name}: {error.message}", file=file) from error
        for each in models.values() if kind.rates is not None else ():
            speed = 1e-9 / each.cell_seconds
            if not ((speed >= SLOWEST_GCUPS) & (speed <= FASTEST_GCUPS)).all():
                raise InputError(
                    f"{kind.name}: gcups must be from {SLOWEST_GCUPS:g} to {FASTEST_GCUPS:g}",
                    file=kind.rates if isinstance(kind.rates, str) else file,
                )
        return models

    @property
    def adjusting_seconds(self) -> float:
        """Seconds in which all workers adjust the candidates, besides the plan."""
        workers = sum(kind.count * (kind.cpus + kind.gpus) for kind in self.cluster.kinds)
        return self.adjustment.seconds / workers

    @property
    def cells(self) -> int:
        """Cells of all queries against all targets."""
        return sum(self.lengths) * self.database.residues * self.frame_count

    def forecast(self, planner: str) -> Forecast:
        """Return the plan for the cluster and its replay."""
        registry.load(PACKAGE, planner)
        kinds, rates = [], []
        for kind in self.cluster.kinds:
            own = self.rates[kind.name]
            counts = {"cpu": kind.cpus, "gpu": kind.gpus}
            node = combine_rates(
                [own[name] for name, count in counts.items() for _ in range(count)]
            )
            kinds += [kind.kind] * kind.count
            rates += [node] * kind.count
        given = PartitionInput(self.lengths, self.database, kinds, rates, planner, self.frame_count)
        partition = partition_search(given)
        return Forecast(self.cluster, partition, self._sizes, self._max_returned(partition))

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array([block_bytes(block) for block in self.database.manifest.blocks], np.int64)

    def _max_returned(self, partition: ClusterPartition) -> int:
        """Return the max bytes that come back from the nodes."""
        return sum(
            len(partition.groups[group])
            * (HEAD.size + HIT.itemsize * min(self.kept, target_range.last - target_range.first))
            for group, target_range in (
                (group, partition.ranges[k]) for group, k in partition.shares
            )
        )

    def memory(self, kind: NodeKind, partition: ClusterPartition) -> tuple[Memory, Memory]:
        """Return the memory of a node: what makes it fastest, and the least that it needs.

        Parameters
        ----------
        kind
            Which nodes.
        partition
            What the nodes share; the largest group of queries counts.
        """
        largest = max(partition.groups, key=len, default=np.zeros(0, np.int64))
        # Nothing but lengths is asked of the database here.
        database = cast("Database", self.database)
        scorer = bind(Device("cpu"), database, self._scheme)
        needs = Needs(
            database,
            [self.lengths[query] for query in largest],
            self.kept,
            compute_max_batch_queries(self.kept),
            [scorer] * kind.cpus,
            adjusted=self._adjusts,
        )
        return estimate_max_memory(needs), estimate_min_memory(needs)
