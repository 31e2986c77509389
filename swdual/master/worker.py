"""Workers: each is a thread and a device; those that score have a scorer and a cost model, too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from swdual import registry
from swdual.backend import CachingScorer, Device, PrefetchingScorer, Scorer
from swdual.database.database import Database
from swdual.errors import DeviceMemoryError, InputError
from swdual.master.calibration import calibrate, choose_clock
from swdual.master.calibration_cache import CalibrationCache
from swdual.master.cost import CostModel
from swdual.master.devices import PACKAGE, device_mix
from swdual.sequences.scoring import ScoringScheme

logger = logging.getLogger("swdual")


Bind = Callable[[Device, Database, ScoringScheme], Scorer]
"""Returns the scorer of a device: see `bind`."""


@dataclass(frozen=True, eq=False)
class Worker:
    """A thread that runs tasks. One that is no `ScoringWorker` only aligns.

    Parameters
    ----------
    number
        Its number among all workers: CPUs that score, GPUs, CPUs that only align.
    name
        Such as "cpu 0".
    device
        Where it computes; equal devices share scorer and rates.
    """

    number: int
    name: str
    device: Device


@dataclass(frozen=True, eq=False)
class ScoringWorker(Worker):
    """One CPU thread or one GPU that scores; its thread aligns when there is nothing to score.

    Parameters
    ----------
    number, name, device
        As of any `Worker`.
    scorer
        Scores targets there.
    rates
        The cost model of its tasks.
    """

    scorer: Scorer
    rates: CostModel


def bind(device: Device, database: Database, scheme: ScoringScheme) -> Scorer:
    """Return the scorer of a device, by the `bind` of its backend.

    Parameters
    ----------
    device
        Names the backend and its settings.
    database, scheme
        What is searched, and how.

    Raises
    ------
    InputError, DeviceError
        If there is no such backend, or its device cannot be used.
    """
    module: Any = registry.load(PACKAGE, device.backend)
    scorer: Scorer = module.bind(database, scheme, **device.settings)
    return scorer


def register(
    devices: Sequence[Device],
    database: Database,
    scheme: ScoringScheme,
    book: CalibrationCache | None,
    bind_scorer: Bind = bind,
) -> list[ScoringWorker]:
    """Return a worker for each device.

    A device that has too little memory is left out, with a warning, where there are CPUs. GPUs are
    started side by side. Of GPUs of one model, the first is calibrated.

    Parameters
    ----------
    devices
        One or more.
    database, scheme
        What is searched, and how.
    book
        The known rates; None for a search so small that rates do not matter.
    bind_scorer
        Returns the scorer of a device, as `bind` does.
    """
    if not devices:
        raise InputError("a search needs at least one device")
    scorers: dict[str, Scorer] = {}
    rates: dict[str, CostModel] = {}
    bounds = book is not None and book.setting.bounds
    starting = _start_gpus(devices, lambda device: _start(bind_scorer, device, database, scheme))
    for device in dict.fromkeys(devices):
        try:
            if device in starting:
                scorer = starting[device].result()
            else:
                scorer = _start(bind_scorer, device, database, scheme)
            together = devices.count(device) if device.kind == "cpu" else 1
            scorer_of = partial(bind, device, scheme=scheme)
            measure = partial(calibrate, scorer_of, together, choose_clock(device.kind), bounds)
            rates[device.name] = (
                CostModel.from_dict({"gcups": 1})
                if book is None
                else book.find(device.rates_name, device_mix(devices), measure)
            )
        except DeviceMemoryError as error:
            if all(each.kind == "gpu" for each in devices):
                raise
            logger.warning("%s; it does nothing in this search", error)
        else:
            scorers[device.name] = scorer
    workers: list[ScoringWorker] = []
    for kind in ("cpu", "gpu"):
        able = (each for each in devices if each.kind == kind and each.name in scorers)
        for rank, device in enumerate(able):
            worker = (scorers[device.name], rates[device.name])
            workers.append(ScoringWorker(len(workers), f"{kind} {rank}", device, *worker))
    return workers


def make_alignment_workers(count: int, scoring: Sequence[ScoringWorker]) -> list[Worker]:
    """Return workers that only align, beside GPUs that score.

    Parameters
    ----------
    count
        How many.
    scoring
        The workers that score; no CPU is among them.
    """
    return [Worker(len(scoring) + k, f"cpu {k}", Device()) for k in range(count)]


def bind_cpu_scorers(
    devices: Sequence[Device], database: Database, scheme: ScoringScheme
) -> list[Scorer]:
    """Return the scorer of each CPU among some devices; equal devices share one.

    Parameters
    ----------
    devices
        GPUs among them are passed over.
    database, scheme
        What is searched, and how.
    """
    scorers: dict[str, Scorer] = {}
    for device in devices:
        if device.kind == "cpu" and device.name not in scorers:
            scorers[device.name] = bind(device, database, scheme)
    return [scorers[device.name] for device in devices if device.kind == "cpu"]


def divide_cache(workers: Sequence[ScoringWorker], max_bytes: int) -> None:
    """Divide memory for targets that are kept for the next query among the scorers that keep any.

    Parameters
    ----------
    workers
        Those that share a scorer count once.
    max_bytes
        For all together.
    """
    scorers = {id(each.scorer): each.scorer for each in workers}.values()
    caching = [scorer for scorer in scorers if isinstance(scorer, CachingScorer)]
    for scorer in caching:
        scorer.set_cache_bytes(max_bytes // len(caching))


def _start_gpus(
    devices: Sequence[Device], start: Callable[[Device], Scorer]
) -> dict[Device, Future[Scorer]]:
    """Return what comes of starting each GPU, in threads if there are several.

    Each takes seconds, to load CUDA's libraries and the kernels, and little of a CPU.
    """
    gpus = [device for device in dict.fromkeys(devices) if device.kind == "gpu"]
    if len(gpus) < 2:
        return {}
    with ThreadPoolExecutor(len(gpus)) as pool:
        return {device: pool.submit(start, device) for device in gpus}


def _start(bind_scorer: Bind, device: Device, database: Database, scheme: ScoringScheme) -> Scorer:
    """Return the scorer of a device, ready: its first task does not include its start."""
    scorer = bind_scorer(device, database, scheme)
    if isinstance(scorer, PrefetchingScorer):
        _warm_up(scorer, database)
    return scorer


def _warm_up(scorer: Scorer, database: Database) -> None:
    """Score one residue on a device."""
    block = len(database.manifest.blocks) - 1
    last = database.manifest.blocks[block].sequences
    scorer(bytes(1), block, last - 1, last, lambda cells: None)
