"""An audit counts what an independent count of two tables counts.

The count is written from the definitions in `docs/audit.md`, in plain Python, and shares no code
with the package.
"""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from itertools import combinations

import pytest
from support.golden_tables import golden_rows

import swdual

EDGES = [1e-50, 1e-20, 1e-10, 1e-5, 1e-3, 1, 10]


def read(lines):
    """Return the pairs of a table by query: target, E-value and bits, in the order of the table.

    E-values are decimal numbers, as floats have none below 1e-308.
    """
    found = {}
    for row in csv.DictReader(lines, delimiter="\t"):
        own = found.setdefault(row["qseqid"], [])
        if row["sseqid"] not in [target for target, _, _ in own]:
            own.append((row["sseqid"], Decimal(row["evalue"]), float(row["bitscore"])))
    return found


def bin_of(evalue):
    return sum(evalue >= edge for edge in EDGES)


def count(exact, listed, cutoff, cut=0):
    """Count what a table has of the exact hits.

    Parameters
    ----------
    exact, listed
        As `read` returns them; `exact` with far larger E-values than the cutoff.
    cutoff, cut
        The largest E-value of a hit, and the length of lists that were cut.
    """
    kinds = ("found", "missed", "unlisted")
    bins = {kind: [0] * (len(EDGES) + 1) for kind in kinds}
    extra = lower = higher = disorder = comparable = 0
    tops = {"same": 0, "other": 0, "none": 0}
    for query, hits in exact.items():
        evalues = {target: evalue for target, evalue, _ in hits}
        bits = {target: score for target, _, score in hits}
        rows = listed.get(query, [])
        names = [target for target, _, _ in rows]
        true = [target for target in evalues if evalues[target] <= cutoff]
        ends = math.inf
        if cut and len(rows) >= cut:
            listed_end = max(1e-180, *(e for _, e, _ in rows))
            ends = min(listed_end, max(evalues.get(t, math.inf) for t in names))
        for target in true:
            kind = "found"
            if target not in names:
                kind = "missed" if evalues[target] < ends else "unlisted"
            bins[kind][bin_of(evalues[target])] += 1
        extra += sum(
            evalue <= cutoff and evalues.get(target, math.inf) > cutoff
            for target, evalue, _ in rows
        )
        for target, _, score in rows:
            if target in true:
                unit = 1 if score > 99.9 and score == int(score) else 0.1
                lower += score - bits[target] <= -unit
                higher += score - bits[target] >= unit
        common = [(evalues[target], -bits[target]) for target in names if target in true]
        for (e, s), (f, t) in combinations(common, 2):
            comparable += (e < f and s < t) or (e > f and s > t)
            disorder += e > f and s > t
        if true:
            first = names[0] if names else None
            best = first in true and (
                evalues[first] == min(evalues[target] for target in true)
                or bits[first] == max(bits[target] for target in true)
            )
            tops["none" if first is None else "same" if best else "other"] += 1
    return {
        **bins,
        "extra": extra,
        "lower": lower,
        "higher": higher,
        "disorder": disorder,
        "comparable": comparable,
        "tops": tops,
    }


def counted(found):
    """Return what an audit of one table counts, as `count` does."""
    rows, (measures,) = found.summary()[:-1], found.measures()
    bins = {}
    for kind in ("found", "missed", "unlisted"):
        numbers = [row[kind] for row in rows]
        bins[kind] = numbers + [0] * (len(EDGES) + 1 - len(numbers))
    keys = ("extra", "lower", "higher", "disorder", "comparable", "tops")
    return bins | {key: measures[key] for key in keys}


@pytest.fixture(scope="module")
def exact(adjusted):
    """All hits of the exact search up to the largest E-value of the table, with every digit."""
    options = {"evalue": 100, "max_target_seqs": 0, "align": False, "adjust": "all"}
    lines = ["qseqid\tsseqid\tevalue\tbitscore"]
    for found in swdual.search(adjusted.queries, adjusted.database, **options):
        columns = (found.target_ids, found.log_evalues.tolist(), found.bits.tolist())
        lines += [
            f"{found.query.id}\t{target}\t{Decimal(log_evalue).exp()}\t{bits!r}"
            for target, log_evalue, bits in zip(*columns, strict=True)
        ]
    return read(lines)


def audit_all(case, table, **options):
    """Return the audit of a table with all targets adjusted."""
    return swdual.audit(table, case.queries, case.database, adjust="all", **options)


@pytest.mark.parametrize("cutoff", [10, 1e-3])
def test_counts_of_a_table_of_blastp_equal_an_independent_count(adjusted, exact, cutoff):
    found = audit_all(adjusted, adjusted.table, evalue=cutoff)
    listed = read(adjusted.table.read_text().splitlines())
    expected = count(exact, listed, cutoff)
    assert counted(found) == expected
    assert expected["found"] != [0] * 8
    assert (sum(expected["missed"]) > 0) == (cutoff == 10)


@pytest.mark.parametrize("length", [5, 20])
def test_counts_of_a_changed_table_whose_lists_were_cut_equal_an_independent_count(
    adjusted, exact, length, tmp_path
):
    """Rows are left out and swapped; their scores and E-values are changed in both directions."""
    head, *lines = adjusted.table.read_text().splitlines()
    seen, kept = {}, [head]
    for number, line in enumerate(lines):
        values = line.split("\t")
        seen[values[0]] = seen.get(values[0], 0) + 1
        if seen[values[0]] > length or number % 11 == 5:
            continue
        if number % 7 < 2:
            factor = (0.8, 1.3)[number % 7]
            values[3] = f"{float(values[3]) * factor:.1f}"
            values[4] = f"{float(values[4]) * (30, 0.03)[number % 7]:.2e}"
        kept.append("\t".join(values))
    for place in range(3, len(kept), 9):
        kept[place - 1], kept[place] = kept[place], kept[place - 1]
    table = tmp_path / "cut.tsv"
    table.write_text("\n".join(kept) + "\n")
    cut = length - length // 10
    found = audit_all(adjusted, table, evalue=10, max_target_seqs=cut)
    expected = count(exact, read(kept), 10, cut)
    assert counted(found) == expected
    assert min(expected["lower"], expected["higher"], expected["disorder"]) > 0
    assert (expected["extra"] > 0) == (length == 20)
    assert sum(expected["unlisted"]) > 0


def test_counts_of_two_golden_tables_equal_those_of_an_audit(sample):
    """The truth is a table, too: DIAMOND's exhaustive search of the same sequences."""
    exact = read(golden_rows("sample_diamond.tsv"))
    listed = read(golden_rows("sample_blastp.tsv"))
    expected = count(exact, listed, 5)
    found = counted(
        swdual.audit(sample.table, sample.queries, sample.database, evalue=5, comp_based_stats=0)
    )
    for key in ("found", "missed", "unlisted", "extra", "lower", "higher", "tops"):
        assert found[key] == expected[key], key
    assert sum(expected["missed"]) > 10
