"""Predicts a search on this machine or another: plan, time and memory."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

from swdual import registry
from swdual.backend import Device
from swdual.database.database import Database
from swdual.database.id_list import IdentifierList
from swdual.errors import InputError
from swdual.hits.search_parameters import SearchParameters
from swdual.io.input import read_small
from swdual.masking.mask import parse_mask
from swdual.master.cost import (
    CalibrationCache,
    CostModel,
    Setting,
    calibrate,
    choose_clock,
)
from swdual.master.devices import available_threads, device_mix, list_gpus
from swdual.master.inputs import (
    check_profiles,
    choose_strand,
    make_scoring_scheme,
    open_database,
    read_queries,
    require_composition,
    translate_targets,
)
from swdual.master.memory import Memory, Needs, estimate_max_memory, estimate_min_memory
from swdual.master.partition import Partition, PartitionInput, partition_tasks
from swdual.master.selection import apply_taxonomy, choose_targets
from swdual.master.sequence_types import make_database_rule, make_query_rule
from swdual.master.setup import compute_max_batch_queries
from swdual.master.translation import (
    NO_TRANSLATION,
    Translation,
    check_frameshift,
    check_translated_search,
    check_translated_statistics,
    choose_translation,
    log_translation,
)
from swdual.master.worker import bind
from swdual.options import SearchOptions
from swdual.planning.planner import MAX_WORKERS, PACKAGE, Plan
from swdual.prediction.adjustment import forecast_adjustment
from swdual.profiles.query import ProfileQuery, list_profiles
from swdual.runtime.keywords import plain_number, refuse_unknown
from swdual.sequences import matrices
from swdual.sequences.frames import frame_length
from swdual.sequences.objects import plain_source
from swdual.sequences.scoring import ScoringScheme
from swdual.sequences.sequence import Sequence
from swdual.sequences.validation import OnInvalid
from swdual.taxonomy.taxid_list import TaxidList

MAX_RATES_BYTES = 1 << 28
"""Max bytes of a file with rates; ``swdual plan --json`` writes all tasks, too."""


FRAMESHIFT_RATIO = 1.8
"""Seconds of a cell with frameshifts, relative to one without.

Measured side by side: 1.7 for 60 genes of E. coli against yeast's proteins, 1.7 to 2.0 by
`calibrate`. There are as many cells as in all six frames without.
"""


def plan(
    queries: Any,
    database: Any,
    *,
    cpus: int | None = None,
    gpus: int | None = None,
    rates: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    planner: str = "dual",
    **options: Any,
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
    planner
        Name of the planner.
    **options
        `task`, `strand`, `query_gencode`, `db_gencode`, `frameshift`, `sum_stats`, `dbtype`,
        `on_invalid`, `max_target_seqs`, `evalue`, `comp_based_stats`, `adjust`, `query_loc`,
        `mask`, `lcase_masking`, `taxids`, `not_taxids`, `target_ids`, `not_target_ids`, `taxonomy`:
        as for `search`.

    Raises
    ------
    InputError
        If an argument is wrong, or no rates are known for a kind of worker.

    Examples
    --------
    >>> plan("MKVLAW", {"t": "MKVLAW"}, cpus=1, gpus=1, rates={"cpu": 40, "gpu": 800}).kinds
    ('cpu', 'gpu')
    """
    names = {*inspect.signature(plan).parameters, *(x.name for x in fields(PreviewOptions))}
    refuse_unknown("plan", options, names)
    preview = Preview(queries, database, cpus, gpus, rates, PreviewOptions(**options))
    return preview.plan(planner)


@dataclass(frozen=True)
class PreviewOptions:
    """The options of `swdual.search` that a prediction depends on: see there."""

    task: str | None = None
    strand: str | None = None
    query_gencode: int | None = None
    db_gencode: int | None = None
    frameshift: int = 0
    sum_stats: bool | None = None
    dbtype: str = "auto"
    on_invalid: OnInvalid = "error"
    max_target_seqs: int = 500
    evalue: float | None = None
    comp_based_stats: int | None = None
    adjust: str = "candidates"
    query_loc: str | None = None
    mask: str | None = None
    lcase_masking: bool = False
    taxids: TaxidList | None = None
    not_taxids: TaxidList | None = None
    target_ids: IdentifierList | None = None
    not_target_ids: IdentifierList | None = None
    taxonomy: str | os.PathLike[str] | None = None

    @property
    def of_search(self) -> SearchOptions:
        """The options of the search.

        Raises
        ------
        InputError
            If a value is out of range (see `SearchOptions`).
        """
        names = (
            "task",
            "strand",
            "dbtype",
            "query_gencode",
            "db_gencode",
            "frameshift",
            "sum_stats",
            "max_target_seqs",
            "evalue",
            "comp_based_stats",
            "adjust",
            "query_loc",
            "mask",
            "lcase_masking",
            "taxids",
            "not_taxids",
            "target_ids",
            "not_target_ids",
            "taxonomy",
        )
        return SearchOptions(**{name: getattr(self, name) for name in names})

    def open_database(self, source: Any, queries: Any) -> Database:
        """Return the targets that are compared, as given.

        Parameters
        ----------
        source, queries
            As the database and the queries of `swdual.search`.
        """
        rule = make_database_rule(self.of_search, queries)
        whole = open_database(source, self.on_invalid, rule)
        return choose_targets(apply_taxonomy(whole, self.of_search), self.of_search)

    def read_queries(
        self, source: Any, database: Database, params: SearchParameters
    ) -> list[Sequence]:
        """Return the queries, with their masked letters.

        Parameters
        ----------
        source
            As the queries of `swdual.search`.
        database, params
            What is searched, and what `parameters` returns.
        """
        profiles = list_profiles(source)
        if profiles:
            check_profiles(profiles, database, self.of_search)
            return [ProfileQuery.of(profile, adjusts=params.adjusts) for profile in profiles]
        return read_queries(
            source,
            database,
            make_query_rule(self.of_search, database.alphabet),
            self.on_invalid,
            mask=parse_mask(params.mask, "mask"),
            lcase_masking=self.lcase_masking,
            query_gencode=params.query_gencode,
            strand=params.strand,
            shifts=self.frameshift > 0,
            query_loc=self.query_loc,
        )

    def translation(self, source: Any, database: Database) -> Translation:
        """Return what is translated.

        Parameters
        ----------
        source
            As the queries of `swdual.search`.
        database
            What is searched, as given.

        Raises
        ------
        InputError
            As `choose_translation` and `check_translated_search` do.
        """
        if list_profiles(source):
            check_frameshift(NO_TRANSLATION, self.of_search)
            return NO_TRANSLATION
        translation = choose_translation(source, database, self.of_search)
        check_translated_search(translation, self.of_search)
        check_frameshift(translation, self.of_search)
        if self.task is None:
            log_translation(translation)
        return translation

    def parameters(
        self, source: Any, database: Database, translation: Translation = NO_TRANSLATION
    ) -> SearchParameters:
        """Return the options that decide about hits, with their defaults.

        Parameters
        ----------
        source
            As the queries of `swdual.search`.
        database
            What is searched, as given.
        translation
            What is translated.

        Raises
        ------
        InputError
            If a value is out of range (see `SearchOptions`), or composition-based statistics are
            asked for, but the database holds nucleotides.
        """
        strand = choose_strand(database, self.strand, translation)
        scheme = replace(
            make_default_scheme(database, translation), frameshift=self.of_search.frameshift
        )
        params = self.of_search.parameters(scheme, strand, list_profiles(source), translation)
        check_translated_statistics(params)
        if params.adjusts and translation.db_gencode is None:
            require_composition(database, params)
        return params


DEFAULT_OPTIONS = PreviewOptions()
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
        options: PreviewOptions = DEFAULT_OPTIONS,
    ) -> None:
        queries = plain_source(
            queries,
            none="there are no queries (None); give a path, or sequences",
            on_invalid=options.on_invalid,
        )
        targets = options.open_database(database, queries)
        translation = options.translation(queries, targets)
        params = options.parameters(queries, targets, translation)
        self.database = translate_targets(targets, translation)
        self.frame_count = params.frame_count
        sequences = options.read_queries(queries, self.database, params)
        self.adjustment = forecast_adjustment(sequences, self.database, params)
        self.lengths = [frame_length(query) for query in sequences]
        self._kept = min(params.max_candidates or len(self.database), len(self.database))
        self._adjusts = params.adjusts
        self._counts = _count_workers(cpus, gpus, params.scheme)
        self.kinds = [kind for kind, count in self._counts.items() for _ in range(count)]
        if not self.kinds:
            raise InputError("a plan needs at least one CPU or GPU")
        book = CalibrationCache(Setting.of(params))
        scheme = replace(
            make_default_scheme(self.database), frameshift=options.of_search.frameshift
        )
        self.rates = find_rates(rates, self._counts, scheme, book)
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
        return sum(self.lengths) * self.database.residues * self.frame_count

    def partition(self, planner: str) -> Partition:
        """Return the tasks and the plan."""
        registry.load(PACKAGE, planner)
        rates = [self.rates[kind] for kind in self.kinds]
        return partition_tasks(
            PartitionInput(
                self.lengths, self.database, self.kinds, rates, planner, self.frame_count
            )
        )

    def plan(self, planner: str) -> Plan:
        """Return the plan."""
        return self.partition(planner).plan

    @cached_property
    def _needs(self) -> Needs:
        """What the memory of the search depends on; host memory of GPUs is not known."""
        database = self.database
        scorer = bind(Device("cpu"), database, make_default_scheme(database))
        return Needs(
            database,
            self.lengths,
            self._kept,
            compute_max_batch_queries(self._kept),
            [scorer] * self._counts["cpu"],
            adjusted=self._adjusts,
        )

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


def make_default_scheme(
    database: Database, translation: Translation = NO_TRANSLATION
) -> ScoringScheme:
    """Return a scheme for calibrations; of a scheme, rates depend on frameshifts only."""
    if translation.db_gencode is not None:
        return ScoringScheme(matrices.load("BLOSUM62"))
    return make_scoring_scheme(database, None, None, None, None, None)


def _count_workers(
    cpus: int | None, gpus_wanted: int | None, scheme: ScoringScheme
) -> dict[str, int]:
    """Return the number of workers of each kind: as asked, else those of this machine."""
    if scheme.frameshift:
        if gpus_wanted:
            raise InputError(f"`gpus={gpus_wanted}`: the kernels of GPUs have no frameshifts")
        gpus_wanted = 0
    for name, count in (("cpus", cpus), ("gpus", gpus_wanted)):
        if count is not None and not 0 <= plain_number(name, count, int) <= MAX_WORKERS:
            raise InputError(f"`{name}` is {count}, but it must be from 0 to {MAX_WORKERS:,}")
    here = gpus_wanted if gpus_wanted is not None else len(list_gpus())
    return {"cpu": max(1, available_threads() - here) if cpus is None else cpus, "gpu": here}


def find_rates(
    given: str | os.PathLike[str] | Mapping[str, Any] | None,
    counts: Mapping[str, int],
    scheme: ScoringScheme,
    book: CalibrationCache,
) -> dict[str, CostModel]:
    """Return the rates of each kind of worker: those given, else this machine's.

    Parameters
    ----------
    given
        As for `plan`.
    counts
        The number of workers of each kind.
    scheme
        A scheme, for calibrations. With frameshifts, given rates are those without.
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
            if scheme.frameshift:
                given_cells = models[kind].calibrated
                models[kind] = replace(models[kind], calibrated=FRAMESHIFT_RATIO * given_cells)
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
        scorer_of = partial(bind, devices[0], scheme=scheme)
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
