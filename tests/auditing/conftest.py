"""Golden tables of blastp as files, each with what it is of."""

from __future__ import annotations

import pytest
from support.golden_tables import DATA, GOLDEN, Case, golden_rows

from swdual.database.database import Database


@pytest.fixture(scope="session")
def adjusted(tmp_path_factory):
    """What blastp reports up to an E-value of 100 with composition-based statistics of mode 2.

    Every third query only, as all targets are adjusted for it.
    """
    folder = tmp_path_factory.mktemp("adjusted")
    table, queries, targets = (folder / name for name in ("hits.tsv", "q.fa", "t.fa"))
    head, *rows = golden_rows("adjusted_2_BLOSUM62_11_1.tsv.gz")
    for file, own, other in (
        (queries, "queries.fasta", "biased_queries.fasta"),
        (targets, "proteins.fasta", "biased_targets.fasta"),
    ):
        file.write_text((DATA / own).read_text() + (GOLDEN / other).read_text())
    chosen = queries.read_text().removeprefix(">").split("\n>")[::3]
    names = {record.split()[0] for record in chosen}
    queries.write_text("".join(f">{record.strip()}\n" for record in chosen))
    table.write_text(head + "".join(row for row in rows if row.split("\t")[0] in names))
    return Case(table, queries, Database.from_fasta(targets))


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """What blastp reports of the sample data without composition-based statistics."""
    table = tmp_path_factory.mktemp("sample") / "hits.tsv"
    table.write_text("".join(golden_rows("sample_blastp.tsv")))
    return Case(table, DATA / "queries.fasta", Database.from_fasta(DATA / "proteins.fasta"))
