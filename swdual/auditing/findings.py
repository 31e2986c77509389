"""What an audit finds: the verdicts on the hits of tables, and the numbers made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swdual.auditing.comparison import (
    EXTRA,
    FOUND,
    MISSED,
    RATIO_EDGES,
    SMALLEST,
    TOPS,
    UNLISTED,
    VERDICTS,
    Comparison,
    choose_edges,
    label_bins,
)
from swdual.auditing.hits import Hits
from swdual.auditing.intervals import cluster_interval, exact_interval
from swdual.auditing.table import HitTable
from swdual.version import __version__

COLUMNS = (
    *("table", "query", "target", "verdict"),
    *("evalue", "bits", "listed_evalue", "listed_bits"),
)
"""The columns of an audit's hits."""

ALL = "all"
"""The label of all bins together."""


class Sample(NamedTuple):
    """What was drawn for an audit.

    Parameters
    ----------
    unit
        "queries" or "pairs".
    drawn, population
        How many, and of how many.
    seed
        The seed of the random numbers.
    """

    unit: str
    drawn: int
    population: int
    seed: int


@dataclass(frozen=True)
class TableAudit:
    """One table of an audit.

    Parameters
    ----------
    label
        What it is called: the name of its file.
    table
        Its rows, and what its header tells.
    max_targets
        Lists of so many targets were cut; 0 if none was.
    comparison
        What it has of the truth.
    remarks
        What a reader has to know about it.
    """

    label: str
    table: HitTable
    max_targets: int
    comparison: Comparison
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Findings:
    """What tables have of the hits of an exact search: `Audit` tells what each field is."""

    tables: Sequence[TableAudit]
    truth: Hits
    cutoff: float
    query_ids: Sequence[str]
    target_ids: Mapping[int, str] = field(repr=False)
    queries: NDArray[np.int64] = field(repr=False)
    sample: Sample | None
    facts: Mapping[str, str]

    @property
    def labels(self) -> list[str]:
        """What the tables are called."""
        return [each.label for each in self.tables]

    @cached_property
    def bins(self) -> list[str]:
        """The names of the bins of E-values, and last that of all together."""
        edges = choose_edges(self.cutoff)
        names = label_bins(edges)
        names[-1] = f"{edges[-1]:g} to {self.cutoff:g}"
        return [*names, ALL]

    @cached_property
    def _bin_of(self) -> NDArray[np.int64]:
        return np.searchsorted(np.log(choose_edges(self.cutoff)), self.truth.log_evalues, "right")

    def summary(self) -> list[dict[str, Any]]:
        """Return what each table has of the truth by E-value: a row for each table and bin.

        The keys are `table`, `evalues` (the name of the bin), `hits`, `found`, `missed`,
        `unlisted`, `share` (found, of those that could be listed; None of none), and for samples
        `low` and `high`, the limits of its 95 % confidence interval.
        """
        rows = []
        for each in self.tables:
            for number, name in enumerate(self.bins):
                inside = self._bin_of == number if name != ALL else np.full(len(self.truth), True)
                rows.append({"table": each.label, "evalues": name} | self._count(each, inside))
        return rows

    def _count(self, each: TableAudit, inside: NDArray[np.bool_]) -> dict[str, Any]:
        verdicts = each.comparison.verdicts
        found, missed, unlisted = (
            int((inside & (verdicts == verdict)).sum()) for verdict in (FOUND, MISSED, UNLISTED)
        )
        counts: dict[str, Any] = {
            "hits": found + missed + unlisted,
            "found": found,
            "missed": missed,
            "unlisted": unlisted,
            "share": found / (found + missed) if found + missed else None,
        }
        if self.sample is None:
            return counts
        if not found + missed:
            return counts | {"low": None, "high": None}
        if self.sample.drawn == self.sample.population:
            return counts | {"low": counts["share"], "high": counts["share"]}
        if self.sample.unit == "pairs":
            limits = exact_interval(found, found + missed)
        else:
            size = len(self.query_ids)
            own, could = (
                np.bincount(self.truth.queries[inside & chosen], minlength=size)[self.queries]
                for chosen in (verdicts == FOUND, verdicts != UNLISTED)
            )
            limits = cluster_interval(own, could, self.sample.population)
        return counts | limits._asdict()

    def measures(self) -> list[dict[str, Any]]:
        """Return how scores, E-values and order of each table differ from the truth: a row each.

        `lower` and `higher` count common hits whose bit scores differ by more than rounding, of
        `scored`; `median_lower` and `most_lower` say by how many bits. `ratios` counts hits by
        listed over exact E-value. `disorder` is the number of pairs of common hits that are listed
        in the wrong order, of `comparable`. `tops` counts queries by the first pair that is listed.
        `extra` counts pairs above the cutoff.
        """
        rows = []
        for each in self.tables:
            found = each.comparison
            difference = found.bits - self.truth.bits
            scored = np.isfinite(difference)
            lower = difference[scored & (difference <= -found.unit)]
            with np.errstate(divide="ignore"):
                ratio = np.log(found.evalues) - self.truth.log_evalues
            ratio[(found.evalues == 0) & (self.truth.log_evalues < SMALLEST)] = 0
            ratios = np.searchsorted(np.log(RATIO_EDGES), ratio[~np.isnan(ratio)], "right")
            counts = np.bincount(ratios, minlength=len(RATIO_EDGES) + 1).tolist()
            tops = np.bincount(found.tops, minlength=len(TOPS)).tolist()
            rows.append(
                {
                    "table": each.label,
                    "extra": len(found.extra),
                    "cut_lists": found.cut_lists,
                    "scored": int(scored.sum()),
                    "lower": len(lower),
                    "median_lower": float(-np.median(lower)) if len(lower) else 0.0,
                    "most_lower": float(-lower.min(initial=0)),
                    "higher": int((scored & (difference >= found.unit)).sum()),
                    "ratios": dict(zip(label_bins(RATIO_EDGES), counts, strict=True)),
                    "disorder": int(found.disorder.sum()),
                    "comparable": int(found.comparable.sum()),
                    "tops": dict(zip(TOPS, tops, strict=True)) if len(found.tops) else None,
                }
            )
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """Return the verdict on each hit and each extra pair, for each table, as columns.

        The columns are `table`, `query`, `target`, `verdict` ("found", "missed", "unlisted" or
        "extra"), `evalue` and `bits` (exact), `listed_evalue` and `listed_bits`; None where there
        is no value.
        """
        parts: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for each in self.tables:
            found, hits = each.comparison, Hits.concatenate([self.truth, each.comparison.extra])
            verdicts = np.append(found.verdicts, np.full(len(found.extra), EXTRA))
            numbers = {
                "evalue": np.exp(hits.log_evalues),
                "bits": hits.bits,
                "listed_evalue": np.append(found.evalues, found.extra_evalues),
                "listed_bits": np.append(found.bits, found.extra_bits),
            }
            parts["table"] += [each.label] * len(hits)
            parts["query"] += [self.query_ids[k] for k in hits.queries.tolist()]
            parts["target"] += [self.target_ids[k] for k in hits.targets.tolist()]
            parts["verdict"] += [VERDICTS[k] for k in verdicts.tolist()]
            for name, column in numbers.items():
                parts[name] += [x if np.isfinite(x) else None for x in column.tolist()]
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single hits in plain values, as `--json` writes it."""
        return {
            "swdual": __version__,
            "truth": {
                "hits": len(self.truth),
                "queries": len(self.queries),
                "evalue": self.cutoff,
                **self.facts,
            },
            "sample": None if self.sample is None else self.sample._asdict(),
            "tables": [
                {
                    "table": each.label,
                    "program": each.table.run.program,
                    "options": each.table.run.options,
                    "max_target_seqs": each.max_targets,
                    "pairs": len({*zip(each.table.queries, each.table.targets, strict=True)}),
                    "remarks": list(each.remarks),
                }
                for each in self.tables
            ],
            "evalues": self.summary(),
            "measures": self.measures(),
        }
