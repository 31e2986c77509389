"""Predicts a search on this machine or another: plan, time and memory."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Unpack

from swdual import registry
from swdual.backend import Device
from swdual.errors import InputError
from swdual.io.input import read_small
from swdual.master.calibration import calibrate, choose_clock
from swdual.master.calibration_cache import CalibrationCache, Setting
from swdual.master.cost import CostModel
from swdual.master.devices import device_mix, list_gpus
from swdual.master.memory import Memory, Needs, estimate_max_memory, estimate_min_memory
from swdual.master.partition import Partition, PartitionInput, partition_tasks
from swdual.master.setup import estimate_needs
from swdual.master.worker import bind
from swdual.planning.planner import MAX_WORKERS, PACKAGE, Plan
from swdual.prediction.adjustment import forecast_adjustment
from swdual.request.comparison import Comparison
from swdual.request.inputs import read_inputs
from swdual.request.options import SearchKeywords, SearchOptions
from swdual.request.search_parameters import SearchParameters
from swdual.runtime.keywords import plain_number, refuse_unknown
from swdual.runtime.system import available_threads
from swdual.sequences.frames import frame_length

MAX_RATES_BYTES = 1 << 28
"""Max bytes of a file with rates; ``swdual plan --json`` writes all tasks, too."""


def plan(
    queries: Any,
    database: Any,
    *,
    cpus: int | None = None,
    gpus: int | None = None,
    rates: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    **options: Unpack[SearchKeywords],
) -> Plan:
    """Return how a search would be divided among workers, without searching.

    Parameters
    ----------
    queries, database
        As for `search`.
    cpus, gpus
        How many workers of each kind; by default those of this machine.
    rates
        What workers cost: {"cpu": GCUPS, "gpu": GCUPS}, or what ``swdual plan --json`` printed on
        another machine; a path or a mapping. By default this machine's.
    **options
        All options of `search`.

    Raises
    ------
    InputError
        If an argument is wrong, or no rates are known for a kind of worker.

    Examples
    --------
    >>> plan("MKVLAW", {"t": "MKVLAW"}, cpus=1, gpus=1, rates={"cpu": 40, "gpu": 800}).kinds
    ('cpu', 'gpu')
    """
    names = {*inspect.signature(plan).parameters, *SearchKeywords.__annotations__}
    refuse_unknown("plan", options, names)
    chosen = SearchOptions(**options)
    return Preview(queries, database, cpus, gpus, rates, chosen).plan(chosen.planner)


DEFAULT_OPTIONS = SearchOptions()
"""The options of a search for which none are given."""


class Preview:
    """A search that is planned but not run; the parameters are those of `plan`."""

    def __init__(
        self,
        queries: Any,
        database: Any,
        cpus: int | None = None,
        gpus: int | None = None,
        rates: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        options: SearchOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._options = options
        self._inputs = inputs = read_inputs(queries, database, options)
        inputs.tell_remarks(options)
        params = inputs.params
        self.database = inputs.database
        self.adjustment = forecast_adjustment(inputs.queries, self.database, params)
        self.lengths = [frame_length(query) for query in inputs.queries]
        self._counts = count_workers(cpus, gpus, params.comparison, options.threads)
        self.kinds = [kind for kind, count in self._counts.items() for _ in range(count)]
        if not self.kinds:
            raise InputError("a plan needs at least one CPU or GPU")
        book = CalibrationCache(Setting.of(params))
        self.rates = find_rates(rates, self._counts, params, book)
        named = rates if isinstance(rates, (str, os.PathLike)) else book.path
        self.rates_file = None if named is None or isinstance(rates, Mapping) else os.fspath(named)

    @property
    def adjusting_seconds(self) -> float:
        """Seconds in which the workers adjust the candidates, besides the plan.

        Where only GPUs score, they are the threads of this machine, as a search would have them.
        """
        threads = len(self.kinds)
        if not self._counts["cpu"]:
            threads = max(threads + 1, available_threads())
        return self.adjustment.seconds / threads

    @property
    def cells(self) -> int:
        """Cells of all queries against all targets."""
        return sum(self._inputs.cells)

    def partition(self, planner: str) -> Partition:
        """Return the tasks and the plan."""
        registry.load(PACKAGE, planner)
        rates = [self.rates[kind] for kind in self.kinds]
        return partition_tasks(
            PartitionInput(
                self.lengths,
                self.database,
                self.kinds,
                rates,
                planner,
                self._inputs.params.frame_count,
            )
        )

    def plan(self, planner: str) -> Plan:
        """Return the plan."""
        return self.partition(planner).plan

    @cached_property
    def _needs(self) -> Needs:
        """What the memory of the search depends on; host memory of GPUs is not known."""
        params = self._inputs.params
        needs = estimate_needs(self.database, self.lengths, params, self._options, held=0)
        scorer = bind(Device("cpu"), self.database, params.scheme)
        return replace(needs, scorers=[scorer] * self._counts["cpu"])

    @property
    def memory(self) -> Memory:
        """Memory of the search with everything that makes it faster."""
        return estimate_max_memory(self._needs)

    @property
    def min_memory(self) -> Memory:
        """Memory of the search with no more than it needs."""
        return estimate_min_memory(self._needs)

    @property
    def gpu_bytes(self) -> int:
        """Min bytes of each GPU: the residues."""
        return self.database.residues if self._counts["gpu"] else 0


def count_workers(
    cpus: int | None, gpus_wanted: int | None, comparison: Comparison, threads: int | None
) -> dict[str, int]:
    """Return the number of workers of each kind: as asked, else those of this machine.

    Parameters
    ----------
    cpus, gpus_wanted
        As asked.
    comparison
        What is to be computed.
    threads
        CPUs that a search would use; by default all.

    Raises
    ------
    InputError
        If there cannot be so many.
    """
    if not comparison.runs_on_gpus:
        if gpus_wanted:
            raise InputError(
                f"`gpus={gpus_wanted}`: the kernels of GPUs have no cells {comparison.cells}"
            )
        gpus_wanted = 0
    for name, count in (("cpus", cpus), ("gpus", gpus_wanted)):
        if count is not None and not 0 <= plain_number(name, count, int) <= MAX_WORKERS:
            raise InputError(f"`{name}` is {count}, but it must be from 0 to {MAX_WORKERS:,}")
    here = gpus_wanted if gpus_wanted is not None else len(list_gpus())
    return {
        "cpu": max(1, (threads or available_threads()) - here) if cpus is None else cpus,
        "gpu": here,
    }


def find_rates(
    given: str | os.PathLike[str] | Mapping[str, Any] | None,
    counts: Mapping[str, int],
    params: SearchParameters,
    book: CalibrationCache,
) -> dict[str, CostModel]:
    """Return the rates of each kind of worker: those given, else this machine's.

    Parameters
    ----------
    given
        As for `plan`.
    counts
        The number of workers of each kind.
    params
        The search. Given rates are those of sequences that are compared as they are written.
    book
        The known rates of this machine.
    """
    file = None
    if isinstance(given, (str, os.PathLike)):
        file = given
        given = _read(file)
    elif given is None:
        given = {}
    if isinstance(given, Mapping) and "rates" in given:
        given = given["rates"]
    if not isinstance(given, Mapping) or set(given) - {"cpu", "gpu"}:
        raise InputError('rates are {"cpu": ..., "gpu": ...}', file=file)
    models = {}
    for kind, count in counts.items():
        if not count:
            continue
        if kind in given:
            try:
                models[kind] = CostModel.from_dict(given[kind])
            except InputError as error:
                raise InputError(f"{kind}: {error.message}", file=file) from error
            cost = params.comparison.cell_cost
            models[kind] = replace(models[kind], calibrated=cost * models[kind].calibrated)
            continue
        devices = [Device("cpu")] if kind == "cpu" else list_gpus()
        if not devices:
            raise InputError(
                "there is no GPU here to measure: give its speed in GCUPS with `rates`, such as "
                '{"gpu": 1500}'
            )
        # At most as many as there are here can be calibrated together.
        cpus = min(counts["cpu"], available_threads())
        together = cpus if kind == "cpu" else 1
        scorer_of = partial(bind, devices[0], scheme=params.scheme)
        clock, bounds = choose_clock(kind), book.setting.bounds
        measure = partial(calibrate, scorer_of, together, clock, bounds)
        among = device_mix([Device("cpu")] * cpus + list_gpus()[: counts["gpu"]])
        models[kind] = book.find(devices[0].rates_name, among, measure)
    return models


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(read_small(path, MAX_RATES_BYTES))
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no JSON: {error}", file=path) from error
