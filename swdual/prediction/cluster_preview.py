"""Predicts a search on a described cluster: shares, plan, transfers and memory."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from swdual import registry
from swdual.backend import Device
from swdual.cluster.partition import ClusterPartition, combine_rates, partition_search
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.cost import CostModel
from swdual.master.memory import Memory, Needs, estimate_max_memory, estimate_min_memory
from swdual.master.partition import PartitionInput
from swdual.master.serialization import HEAD, HIT
from swdual.master.setup import estimate_needs
from swdual.master.worker import bind
from swdual.planning.planner import PACKAGE
from swdual.prediction.adjustment import forecast_adjustment
from swdual.prediction.forecast import Forecast
from swdual.prediction.nodes_file import NodeKind, read_cluster
from swdual.prediction.preview import (
    DEFAULT_OPTIONS,
    find_rates,
)
from swdual.prediction.synthetic_database import block_bytes
from swdual.profiles.query import list_profiles
from swdual.request.declarations import TARGET_OPTIONS
from swdual.request.inputs import choose_comparison, read_sources
from swdual.request.options import SearchKeywords, SearchOptions
from swdual.request.sources import Sources, name_queries, open_sources
from swdual.sequences.frames import frame_length

SLOWEST_GCUPS, FASTEST_GCUPS = 1e-3, 1e9
"""Bounds of a worker's speed."""


def forecast(
    queries: Any,
    database: Any,
    nodes: str | os.PathLike[str],
    **options: Unpack[SearchKeywords],
) -> Forecast:
    """Predict a search on a cluster, without the cluster.

    Parameters
    ----------
    queries, database
        As for `swdual.search`; no database (None) if the file describes one.
    nodes
        A TOML file that says what nodes there are: see `swdual.prediction.nodes_file`.
    **options
        All options of `swdual.search`.

    Raises
    ------
    InputError
        If an argument is wrong, or no rates are known for a worker.
    """
    chosen = SearchOptions(**options)
    return ClusterPreview(queries, database, nodes, chosen).forecast(chosen.planner)


class ClusterPreview:
    """A search on a cluster that is planned but not run; the parameters are those of `forecast`."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        nodes: str | os.PathLike[str],
        options: SearchOptions = DEFAULT_OPTIONS,
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
        if described is None:
            sources = open_sources(queries, database, options)
        else:  # nothing but lengths and the alphabet is asked of it
            named, known = name_queries(queries, options), cast("Database", described)
            sources = Sources(named, known, known, options, list_profiles(named))
        comparison = choose_comparison(sources)
        if described and comparison.db_gencode is not None:
            raise InputError(
                "describes a database of nucleotides, but proteins are searched in it; describe "
                "its six frames as proteins",
                file=self.cluster.path,
            )
        self._options = options
        self._inputs = inputs = read_sources(sources, comparison)
        inputs.tell_remarks(options)
        self.database, self._params = inputs.database, inputs.params
        targets = described or self.database
        self.adjustment = forecast_adjustment(inputs.queries, targets, self._params)
        self.lengths = [frame_length(query) for query in inputs.queries]
        if not comparison.runs_on_gpus and any(kind.gpus for kind in self.cluster.kinds):
            raise InputError(
                f"describes GPUs, whose kernels have no cells {comparison.cells}",
                file=self.cluster.path,
            )
        book = CalibrationCache(Setting.of(self._params))
        self.rates = {kind.name: self._rates(kind, book) for kind in self.cluster.kinds}

    def _rates(self, kind: NodeKind, book: CalibrationCache) -> dict[str, CostModel]:
        """Return the rates of a node's workers, by "cpu" and "gpu"."""
        counts = {"cpu": kind.cpus, "gpu": kind.gpus}
        file, own = self.cluster.path, isinstance(kind.rates, str)
        try:
            models = find_rates(kind.rates, counts, self._params, book)
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
        return sum(self._inputs.cells)

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
        frames = self._params.frame_count
        given = PartitionInput(self.lengths, self.database, kinds, rates, planner, frames)
        partition = partition_search(given)
        return Forecast(self.cluster, partition, self._sizes, self._max_returned(partition))

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        return np.array([block_bytes(block) for block in self.database.manifest.blocks], np.int64)

    @cached_property
    def _needs(self) -> Needs:
        """What the memory of a node depends on, but for its queries and workers."""
        return estimate_needs(self.database, self.lengths, self._params, self._options, held=0)

    def _max_returned(self, partition: ClusterPartition) -> int:
        """Return the max bytes that come back from the nodes."""
        kept = self._needs.kept
        return sum(
            len(partition.groups[group])
            * (HEAD.size + HIT.itemsize * min(kept, target_range.last - target_range.first))
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
        lengths = [self.lengths[query] for query in largest]
        scorer = bind(Device("cpu"), self.database, self._params.scheme)
        needs = replace(self._needs, query_lengths=lengths, scorers=[scorer] * kind.cpus)
        return estimate_max_memory(needs), estimate_min_memory(needs)
