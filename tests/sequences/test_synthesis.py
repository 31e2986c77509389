"""Artificial families: deterministic, like Swiss-Prot in the large, related in the small."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from swdual.cli.synth import command
from swdual.errors import OutputError
from swdual.sequences.alphabet import PROTEIN
from swdual.sequences.matrices import load
from swdual.sequences.synthesis import (
    COMPOSITION,
    MAX_LENGTH,
    MEAN_LENGTH,
    MEDIAN_LENGTH,
    MIN_LENGTH,
    synthesize,
    synthesize_queries,
    write_fasta,
)

SCORES = load("BLOSUM62").scores


@pytest.fixture(scope="module")
def records():
    return list(synthesize(2_000_000, seed=11))


def families(records):
    members = defaultdict(list)
    for header, sequence in records:
        members[header.split()[1]].append((header, sequence))
    return members


def diagonal_score(a, b):
    """Return the best ungapped local score of two sequences over all diagonals."""
    a, b = (np.frombuffer(PROTEIN.encode(s), dtype=np.uint8) for s in (a, b))
    table = SCORES[np.ix_(a, b)].astype(np.int64)
    best = 0
    for offset in range(1 - len(a), len(b)):
        sums = np.concatenate([[0], np.cumsum(np.diagonal(table, offset))])
        best = max(best, int((sums - np.minimum.accumulate(sums)).max()))
    return best


def parse(text):
    return [
        (entry.splitlines()[0], "".join(entry.splitlines()[1:])) for entry in text.split(">")[1:]
    ]


def test_equal_seeds_give_equal_sequences():
    """Two runs with one seed agree in headers and sequences."""
    assert list(synthesize(300_000, seed=5)) == list(synthesize(300_000, seed=5))


def test_different_seeds_give_different_sequences():
    """No sequence of one seed occurs under another one."""
    one, other = ({sequence for _, sequence in synthesize(50_000, seed=s)} for s in (5, 6))
    assert not one & other


def test_longer_run_begins_with_the_shorter_one():
    """Asking for more residues appends sequences and changes none."""
    short = list(synthesize(300_000, seed=5))
    assert list(synthesize(900_000, seed=5))[: len(short)] == short


@pytest.mark.parametrize("residues", [0, 1, 10_000, 777_777])
def test_stops_with_the_sequence_that_reaches_the_residue_count(residues):
    """All sequences are needed to reach the count, and they do reach it."""
    lengths = [len(sequence) for _, sequence in synthesize(residues, seed=2)]
    assert sum(lengths) >= residues
    assert sum(lengths[:-1]) < max(residues, 1)


def test_identifiers_are_unique_and_headers_tell_the_family(records):
    """Headers hold a unique identifier, family, member and divergence; no member occurs twice."""
    fields = [header.split() for header, _ in records]
    assert [name for name, *_ in fields] == [f"syn{i:06d}" for i in range(1, len(records) + 1)]
    keys = {tuple(field.split("=")[0] for field in rest) for _, *rest in fields}
    assert keys == {("family", "member", "divergence")}
    assert len({(family, member) for _, family, member, _ in fields}) == len(records)


def test_composition_is_that_of_swiss_prot(records):
    """Every amino acid's share is within 0.3 percentage points of the published one."""
    counts = Counter("".join(sequence for _, sequence in records))
    shares = [100 * counts[letter] / counts.total() for letter in PROTEIN.letters[:20]]
    assert set(counts) == set(PROTEIN.letters[:20])
    assert shares == pytest.approx(COMPOSITION, abs=0.3)


def test_lengths_are_those_of_swiss_prot(records):
    """Median and mean length are within 8 % of their targets, and no length leaves the limits."""
    lengths = [len(sequence) for _, sequence in records]
    assert np.median(lengths) == pytest.approx(MEDIAN_LENGTH, rel=0.08)
    assert np.mean(lengths) == pytest.approx(MEAN_LENGTH, rel=0.08)
    assert min(lengths) >= MIN_LENGTH
    assert max(lengths) <= MAX_LENGTH


def test_few_sequences_are_singletons_and_families_have_the_size_asked_for(records):
    """About 4 % of the sequences stand alone; most families have eight members, none has more."""
    sizes = Counter(len(members) for members in families(records).values())
    assert 0.02 < sizes[1] / len(records) < 0.06
    assert max(sizes) == 8
    assert 8 * sizes[8] > 0.8 * len(records)


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_family_size_is_a_limit_from_one_to_a_thousand(size):
    """No family exceeds the size asked for, and large ones come near it."""
    largest = max(
        len(members) for members in families(synthesize(900_000, family_size=size)).values()
    )
    assert 0.9 * size <= largest <= size


def test_relatives_are_near_each_other_but_mixed(records):
    """Members of a family lie within one batch, and rarely one behind another."""
    places = defaultdict(list)
    for i, (header, _) in enumerate(records):
        places[header.split()[1]].append(i)
    assert max(found[-1] - found[0] for found in places.values()) < 1500
    adjacent = sum(b - a == 1 for found in places.values() for a, b in pairwise(found))
    assert adjacent < 0.05 * len(records)


def test_relatives_score_far_higher_than_strangers(records):
    """Nine of ten pairs within families beat every pair across families, most of them by far."""
    chosen = [m for m in families(records).values() if len(m) == 8 and len(m[0][1]) < 400][:25]
    relatives = [
        diagonal_score(a, b)
        for members in chosen
        for (_, a), (_, b) in combinations(members[:3], 2)
    ]
    strangers = [
        diagonal_score(one[i][1], other[i][1]) for one, other in pairwise(chosen) for i in range(2)
    ]
    assert np.quantile(relatives, 0.1) > np.quantile(strangers, 0.9)
    assert np.median(relatives) > 3 * max(strangers)


def test_divergence_runs_from_near_identical_to_twilight():
    """Aligned members of one family share from above 90 % down to about 20 % of their residues."""
    parasail = pytest.importorskip("parasail", reason="parasail aligns the members")
    identities = []
    for members in list(families(synthesize(300_000, seed=3)).values())[:60]:
        for (_, a), (_, b) in combinations(members, 2):
            aligned = parasail.nw_stats_striped_32(a, b, 12, 1, parasail.blosum62)
            identities.append(aligned.matches / min(len(a), len(b)))
    assert max(identities) > 0.9
    assert 0.15 < np.quantile(identities, 0.05) < 0.25


def test_relatives_differ_by_insertions_and_deletions(records):
    """Members of a family have different lengths, around that of their ancestor."""
    spreads = [
        np.ptp([len(sequence) for _, sequence in members])
        for members in families(records).values()
        if len(members) == 8
    ]
    assert np.median(spreads) > 3
    assert np.median(spreads) < 0.1 * MEDIAN_LENGTH


def test_queries_descend_from_sequences_of_the_database():
    """Each query names its parent and family, aligns to the parent, and equals no sequence."""
    database = list(synthesize(400_000, seed=8))
    by_name = {header.split()[0]: (header, sequence) for header, sequence in database}
    queries = list(synthesize_queries(400_000, count=4, seed=8))
    lengths = [len(sequence) for _, sequence in queries]
    assert len(queries) == 4
    assert lengths == sorted(lengths)
    assert lengths[-1] > 8 * lengths[0]
    for header, sequence in queries:
        _, family, parent, _ = header.split()
        parent_header, parent_sequence = by_name[parent.removeprefix("parent=")]
        assert family in parent_header.split()
        assert sequence not in {s for _, s in database}
        assert diagonal_score(sequence, parent_sequence) > 100


def test_fasta_gives_back_what_was_written():
    """A plain parse finds the same records, in lines of at most 60 residues."""
    records = [*synthesize(20_000, seed=1), ("sixty", "A" * 60), ("next", "A" * 61)]
    stream = io.StringIO()
    counted = write_fasta(records, stream)
    assert parse(stream.getvalue()) == records
    assert counted == (len(records), sum(len(sequence) for _, sequence in records))
    assert max(len(line) for line in stream.getvalue().splitlines() if line[0] != ">") == 60


@pytest.mark.parametrize(("size", "residues"), [("900", 900), ("20k", 20_000), ("1M", 1_000_000)])
def test_command_writes_the_sequences_to_standard_output(size, residues):
    """Sizes with and without suffix give what the function gives."""
    result = CliRunner().invoke(command, [size, "--seed", "4"])
    assert result.exit_code == 0
    assert parse(result.stdout) == list(synthesize(residues, seed=4))


@pytest.mark.parametrize("size", ["0", "-5", "20T", "k", "1.5M"])
def test_command_explains_how_to_write_a_size(size):
    """A size that cannot be read is refused with examples of good ones."""
    result = CliRunner().invoke(command, ["--", size])
    assert result.exit_code == 2
    assert "650k" in result.stderr


def test_command_overwrites_only_by_force(tmp_path):
    """An existing file is kept with an error that names it and --force, which replaces it."""
    out = tmp_path / "made.fasta"
    out.write_text("mine")
    refused = CliRunner().invoke(command, ["900", "-o", str(out)])
    assert isinstance(refused.exception, OutputError)
    assert str(out) in str(refused.exception)
    assert "--force" in str(refused.exception)
    assert out.read_text() == "mine"
    assert CliRunner().invoke(command, ["900", "-o", str(out), "--force"]).exit_code == 0
    assert parse(out.read_text()) == list(synthesize(900))


def test_command_names_a_file_that_cannot_be_written(tmp_path):
    """A folder that does not exist ends in an output error, not in a traceback of Python's own."""
    out = tmp_path / "missing" / "made.fasta"
    result = CliRunner().invoke(command, ["900", "-o", str(out)])
    assert isinstance(result.exception, OutputError)
    assert str(out) in str(result.exception)


def test_importing_the_command_does_not_import_numpy():
    """The help of the program does not wait for NumPy."""
    code = "import sys, swdual.cli.synth; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_samples_are_what_their_commands_make():
    """Each command in data/README.md prints exactly the file in data/ that it names."""
    data = Path(__file__).parents[2] / "data"
    lines = (data / "README.md").read_text().splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith("    swdual synth ")]
    assert len(commands) == 2
    for *words, option, file in commands:
        assert option == "--out"
        made = CliRunner().invoke(command, words[2:]).stdout
        assert made == (data.parent / file).read_text()
