"""PEPMatch finds the same peptides, on the data of its own tests, which come with it."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from swdual.api import search
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.fasta import read_sequences

pepmatch = pytest.importorskip("pepmatch", reason="PEPMatch is not installed")

DATA = Path(pepmatch.__file__).parent / "tests" / "data"
PROTEOME = DATA / "proteome.fasta"
LETTERS = PROTEIN.letters[:20]

if not PROTEOME.is_file():
    pytest.skip("PEPMatch is installed without its tests", allow_module_level=True)


def find(queries, targets, limit):
    """Return {(query, accession, first letter from 1, mismatches)} of all occurrences."""
    results = search(queries, targets, task="peptide", max_mismatches=limit, max_target_seqs=0)
    found = set()
    for result in results:
        rows = result.per_alignment()
        starts, lengths, identities = (
            rows.tracebacks.column(name).tolist()
            for name in ("target_starts", "lengths", "identities")
        )
        for target, start, length, same in zip(
            rows.target_ids, starts, lengths, identities, strict=True
        ):
            accession = target.split("|")[1] if "|" in target else target
            found.add((result.query.id, accession, start + 1, length - same))
    return found


def find_by_pepmatch(queries, targets, limit, folder, **options):
    """Return the same of PEPMatch."""
    if isinstance(targets, dict):
        path = folder / "targets.fasta"
        path.write_text("".join(f">{name}\n{text}\n" for name, text in targets.items()))
        targets = path
    rows = pepmatch.Matcher(
        query=list(queries.values()),
        proteome_file=targets,
        max_mismatches=limit,
        preprocessed_files_path=folder,
        sequence_version=False,
        **options,
    ).match()
    names = {str(k + 1): name for k, name in enumerate(queries)}
    return {
        (names[row["Query ID"]], row["Protein ID"], row["Index start"], row["Mismatches"])
        for row in rows.iter_rows(named=True)
        if row["Protein ID"] is not None
    }


def read_expected(name):
    """Return the rows of a file of expected results that are no peptides without any."""
    with (DATA / f"{name}_expected.csv").open() as lines:
        return [row for row in csv.DictReader(lines) if row["Protein ID"]]


def read_peptides(name):
    return {
        sequence.id: PROTEIN.decode(sequence.codes)
        for sequence in read_sequences(DATA / f"{name}_query.fasta")
    }


@pytest.mark.parametrize(("name", "limit"), [("exact_match", 0), ("mismatching", 3)])
def test_all_occurrences_are_those_that_pepmatch_expects(name, limit):
    peptides = read_peptides(name)
    ids = {text: peptide for peptide, text in peptides.items()}
    expected = {
        (
            ids[row["Query Sequence"]],
            row["Protein ID"].split(".")[0],
            int(row["Index start"]),
            int(row["Mismatches"]),
        )
        for row in read_expected(name)
    }
    assert len(expected) == len(read_expected(name))
    assert find(peptides, PROTEOME, limit) == expected


def test_best_matches_are_those_that_pepmatch_expects():
    """No occurrence has fewer mismatches; the one that PEPMatch chooses of equal ones is there."""
    for row in read_expected("best_match"):
        limit = int(row["Mismatches"])
        peptide = {"q": row["Query Sequence"]}
        assert not find(peptide, PROTEOME, limit - 1)
        best = ("q", row["Protein ID"].split(".")[0], int(row["Index start"]), limit)
        assert best in find(peptide, PROTEOME, limit)


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_windows_with_other_letters_are_found_by_both(limit, tmp_path):
    """As PEPMatch's test of completeness: windows of its proteome with so many other letters."""
    rng = random.Random(limit)
    proteins = [PROTEIN.decode(sequence.codes) for sequence in read_sequences(PROTEOME)]
    for length in (8, 9, 10, 11, 12, 15, 20):
        peptides = {}
        for k in range(12):
            protein = rng.choice([text for text in proteins if len(text) >= length])
            start = rng.randrange(len(protein) - length + 1)
            letters = [*protein[start : start + length]]
            for place in rng.sample(range(length), limit):
                letters[place] = rng.choice(LETTERS.replace(letters[place], ""))
            peptides[f"q{k}"] = "".join(letters)
        found = find(peptides, PROTEOME, limit)
        assert len({peptide for peptide, *_ in found}) == len(peptides)
        # By itself it takes as long parts as are complete, and ends with an error from 17 letters.
        part = min(length // (limit + 1), 16)
        assert find_by_pepmatch(peptides, PROTEOME, limit, tmp_path, k=part) == found


def test_counts_are_pepmatchs(tmp_path):
    peptides = read_peptides("mismatching")
    counts = pepmatch.Matcher(
        query=list(peptides.values()),
        proteome_file=PROTEOME,
        max_mismatches=3,
        preprocessed_files_path=tmp_path,
        counts_only=True,
    ).match()
    theirs = {
        (row["Query Sequence"], row["Mismatches"]): row["Count"]
        for row in counts.iter_rows(named=True)
    }
    ours = Counter((peptides[peptide], k) for peptide, _, _, k in find(peptides, PROTEOME, 3))
    assert ours == theirs


@pytest.mark.parametrize(
    ("peptide", "target", "limit", "options", "ours", "theirs"),
    [
        # It looks up parts of k letters, two or more: some occurrences have no such part unchanged.
        ("ACDEF", "WWAWDWFWW", 2, {}, [(3, 2)], []),
        ("MSKRALIIA", "MSKRVLIIA", 1, {"k": 5}, [(1, 1)], []),
        ("SIINFEKL", "AASIInfeklAA", 1, {}, [(3, 0)], []),
        # An X of a peptide is an X of a target there, and a mismatch here.
        ("SIINFXKL", "AASIINFXKLAA", 0, {}, [], [(3, 0)]),
        ("SIINFXKL", "AASIINFXKLAA", 1, {}, [(3, 1)], [(3, 0)]),
    ],
    ids=["short", "large k", "lower case", "X", "X and a mismatch"],
)
def test_pepmatch_differs_by_its_definition(
    peptide, target, limit, options, ours, theirs, tmp_path
):
    targets = {"t": target}
    found = find({"q": peptide}, targets, limit)
    assert found == {("q", "t", *each) for each in ours}
    found = find_by_pepmatch({"q": peptide}, targets, limit, tmp_path, **options)
    assert found == {("q", "t", *each) for each in theirs}
