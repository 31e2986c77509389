"""Alignments with frameshifts: scores are the oracle's, paths have them, and DIAMOND agrees."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from oracles.frameshift import frameshift_score, path_score
from support.genes import COMPLEMENTS, make_gene, random_proteins

from swdual.api import allpairs, iterate, search
from swdual.backend import Device
from swdual.errors import InputError
from swdual.master import devices
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.translation import translate

ROOT = Path(__file__).parents[1]
GOLDEN, SAMPLES = ROOT / "tests" / "golden", ROOT / "data" / "proteins.fasta"
PIECES = GOLDEN / "translated_pieces.fasta.gz"
BLOSUM62 = matrices.load("BLOSUM62")
OPEN = {"stats": "none", "max_target_seqs": 0, "mask": "none", "task": "blastx"}
FIELDS = (
    *("score", "bitscore", "qframe", "qstart", "qend", "sstart", "send"),
    *("length", "nident", "mismatch", "positive", "gaps", "gapopen", "cigar", "btop"),
)


def score_of(matrix):
    rows = {
        (a, b): int(matrix.scores[PROTEIN.letters.index(a), PROTEIN.letters.index(b)])
        for a in PROTEIN.letters
        for b in PROTEIN.letters
    }
    return lambda a, b: rows[a, b]


def shift_frames(rng, gene):
    """Return a gene with up to three frameshifts."""
    for _ in range(rng.integers(0, 4)):
        place = int(rng.integers(0, len(gene)))
        gene = gene[:place] + str(rng.choice(["", "A", "CG"])) + gene[place + 1 :]
    return gene + "ATG" * (len(gene) < 3)


def draw_pairs(seed, proteins, genes, longest):
    """Return proteins, and genes of them with frameshifts."""
    rng = np.random.default_rng(seed)
    targets = random_proteins(seed, proteins, longest)
    chosen = [targets[name] for name in rng.choice([*targets], genes)]
    return targets, {f"g{k}": shift_frames(rng, make_gene(rng, x)) for k, x in enumerate(chosen)}


@cache
def amino_acids(gene, strand):
    """Return the amino acid of the codon that begins with each base of a strand."""
    turned = gene if strand > 0 else gene.translate(COMPLEMENTS)[::-1]
    codons = [NUCLEOTIDE.encode(turned[k : k + 3]) for k in range(len(turned) - 2)]
    return "".join(PROTEIN.decode(translate(codon, 1, 1)) for codon in codons)


def check_scores(backend, seed, proteins, genes, matrix=BLOSUM62, longest=30, **costs):
    targets, queries = draw_pairs(seed, proteins, genes, longest)
    costs = {"gap_open": 11, "gap_extend": 1, "frameshift": 15, **costs}
    results = search(queries, targets, backend=backend, matrix=matrix, **OPEN, **costs)
    pairs = 0
    for result, gene in zip(results, queries.values(), strict=True):
        expected = {
            name: max(
                frameshift_score(amino_acids(gene, strand), protein, score_of(matrix), **costs)
                for strand in (1, -1)
            )
            for name, protein in targets.items()
        }
        found = dict.fromkeys(targets, 0) | {hit.id: hit.score for hit in result}
        assert found == expected
        pairs += len(found)
        for hit in result:
            query, _, target = hit.alignment.rows
            assert path_score(query, target, score=score_of(matrix), **costs) == hit.score
            check_places(hit, gene, targets[hit.id])
    return pairs


def check_places(hit, gene, target):
    """Check that the rows are what is read at the places, frame after frame."""
    query_row, _, target_row = hit.alignment.rows
    assert target[hit.target_start : hit.target_end] == target_row.replace("-", "")
    strand = 1 if hit.query_frame > 0 else -1
    base = hit.query_start if strand > 0 else len(gene) - hit.query_end
    assert abs(hit.query_frame) == base % 3 + 1
    read = amino_acids(gene, strand)
    for letter in query_row.replace("-", ""):
        if letter in "\\/":
            base += 1 if letter == "\\" else -1
        else:
            assert letter in (read[base], "B", "Z", "J")
            base += 3
    assert base == (hit.query_end if strand > 0 else len(gene) - hit.query_start)
    assert hit.alignment.length == len(query_row) - query_row.count("\\") - query_row.count("/")
    assert hit.alignment.identities == sum(map(str.__eq__, query_row, target_row))


COSTS = [
    *({"frameshift": 1}, {"frameshift": 15}, {"frameshift": 200}, {"frameshift": 40_000}),
    *({"gap_open": 0, "gap_extend": 1, "frameshift": 2}, {"gap_open": 5, "gap_extend": 3}),
]


@pytest.mark.parametrize("costs", COSTS, ids=str)
@pytest.mark.parametrize("backend", ["reference", "simd"])
def test_scores_and_paths_are_the_oracles(backend, costs):
    check_scores(backend, 1, 6, 6, **costs)


@pytest.mark.parametrize("backend", ["reference", "simd"])
def test_short_pairs_with_gaps_and_shifts_are_the_oracles(backend):
    check_scores(backend, 3, 3, 3, longest=20, gap_open=2, gap_extend=1, frameshift=4)


@pytest.mark.exhaustive
@pytest.mark.nightly("swdual")
@pytest.mark.parametrize("seed", range(4))
def test_scores_of_four_thousand_pairs_are_the_oracles(seed):
    assert check_scores("simd", seed + 10, 40, 25, longest=40) == 1000


@pytest.mark.parametrize("factor", [8, 400, 2000])
def test_wider_numbers(factor):
    """Scores beyond 8 and 16 bits."""
    matrix = matrices.SubstitutionMatrix("wide", PROTEIN, factor * BLOSUM62.scores.astype(int))
    costs = {"gap_open": 11 * factor, "gap_extend": factor, "frameshift": 15 * factor}
    check_scores("simd", 2, 4, 4, matrix=matrix, **costs)


def test_scores_over_all_widths_and_many_columns():
    """A long gene with a shift every 100 residues; the walk back goes through many strips."""
    rng = np.random.default_rng(4)
    protein = "".join(rng.choice([*"ARNDCQEGHILKMFPSTWYV"], 900))
    gene = make_gene(rng, protein)
    for place in range(2700, 0, -301):
        gene = gene[:place] + "A" + gene[place:]
    result = search({"g": gene}, {"p": protein}, frameshift=15, **OPEN)[0]
    (hit,) = result
    query, _, target = hit.alignment.rows
    costs = {"gap_open": 11, "gap_extend": 1, "frameshift": 15}
    assert path_score(query, target, score=score_of(BLOSUM62), **costs) == hit.score > 3000
    check_places(hit, gene, protein)
    assert query.count("\\") + query.count("/") >= 8
    lines = [*hit.alignment.lines()]
    assert {lines[0][0], lines[-1][1]} == {hit.query_start + 1, hit.query_end}
    for first, last, row, *_ in lines:
        bases = 3 * len(row.translate({ord(x): None for x in "-\\/"}))
        inside = row.lstrip("\\/")
        shifts = inside.count("\\") - inside.count("/")
        assert abs(last - first) + 1 == bases + shifts


def test_a_long_query_is_looked_at_in_part():
    """The walk back needs only the rows that an alignment of so many columns can have."""
    rng = np.random.default_rng(5)
    targets, queries = draw_pairs(5, 1, 1, 12)
    ends = ("".join(rng.choice([*"ACGT"], 3000)) for _ in range(2))
    gene = next(ends) + queries["g0"] + next(ends)
    (hit,) = search({"g": gene}, targets, frameshift=15, **OPEN)[0]
    query, _, target = hit.alignment.rows
    costs = {"gap_open": 11, "gap_extend": 1, "frameshift": 15}
    assert path_score(query, target, score=score_of(BLOSUM62), **costs) == hit.score
    check_places(hit, gene, targets[hit.id])


def test_a_protein_far_longer_than_all_others_is_scored():
    """No kernel with frameshifts scores a target by itself, however many lanes idle beside it."""
    rng = np.random.default_rng(9)
    protein = "".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 70_000))
    gene = make_gene(rng, protein[50_000:50_040])
    queries, targets = {"g": gene[:60] + gene[61:]}, {"p": protein, "short": "MKV"}
    hit = search(queries, targets, frameshift=15, **OPEN)[0][0]
    assert hit.id == "p"
    assert hit.score > 120


def test_a_high_cost_allows_no_shift():
    """Then scores are those of the best frame."""
    targets, queries = draw_pairs(6, 8, 8, 60)
    with_shifts = search(queries, targets, frameshift=10_000, **OPEN)
    without = search(queries, targets, sum_stats=False, **OPEN)
    for one, other in zip(with_shifts, without, strict=True):
        assert {(hit.id, hit.score) for hit in one} == {(hit.id, hit.score) for hit in other}


def test_threads_and_strands_change_no_hit():
    targets, queries = draw_pairs(7, 30, 6, 60)

    def facts(**options):
        results = search(queries, targets, frameshift=15, **{**OPEN, **options})
        return [
            {(h.id, h.score, h.evalue, h.query_frame, h.alignment.cigar) for h in result}
            for result in results
        ]

    both = facts(threads=1)
    assert both == facts(threads=2)
    for plus, minus, best in zip(facts(strand="plus"), facts(strand="minus"), both, strict=True):
        assert best <= plus | minus
        assert {x[3] > 0 for x in plus} <= {True}
        assert {x[3] < 0 for x in minus} <= {True}


def test_masked_letters_are_in_lower_case():
    rng = np.random.default_rng(8)
    protein = "".join(rng.choice([*"ARNDCEGHILKMFPSTWYV"], 60))
    gene = make_gene(rng, protein[:30] + "Q" * 30 + protein[30:])
    options = {**OPEN, "mask": "seg"}
    (hit,) = search({"g": gene}, {"p": protein + "Q" * 30}, frameshift=15, **options)[0]
    assert any(letter.islower() for letter in hit.alignment.rows[0])


def test_rows_are_diamonds(tmp_path):
    """Of the pairs that DIAMOND finds: its band and seeds may miss the best score.

    Of equal scores one path in twenty may be another.
    """
    results = search(PIECES, SAMPLES, task="blastx", mask="none", frameshift=15, top=None)
    results.write(tmp_path / "ours.tsv", f"6 qseqid sseqid evalue {' '.join(FIELDS)}")
    ours = {}
    for line in (tmp_path / "ours.tsv").read_text().splitlines():
        query, target, evalue, *rest = line.split("\t")
        ours[query, target] = evalue, dict(zip(FIELDS, rest, strict=True))
    with gzip.open(GOLDEN / "frameshift_diamond.tsv.gz", "rt") as stream:
        names, *rows = (line.rstrip("\n").split("\t") for line in stream if line[0] != "#")
    equal = same = shifted = 0
    for row in rows:
        theirs = dict(zip(names, row, strict=True))
        evalue, mine = ours[theirs["qseqid"], theirs["sseqid"]]
        assert int(mine["score"]) >= int(theirs["score"])
        if mine["score"] == theirs["score"]:
            equal += 1
            assert float(evalue) == pytest.approx(float(theirs["evalue"]), rel=0.1, abs=1e-175)
            same += all(mine[name] == theirs[name] for name in FIELDS)
            shifted += "\\" in mine["cigar"] or "/" in mine["cigar"]
    assert equal >= 0.9 * len(rows)
    assert same >= 0.95 * equal
    assert shifted >= 0.5 * equal


@pytest.mark.parametrize(
    "options",
    [
        {"max_hsps": 2},
        {"sum_stats": True},
        {"comp_based_stats": 2},
        {"stats": "fit"},
        {"soft_masking": True, "mask": "seg"},
        {"frameshift": -1},
    ],
    ids=str,
)
def test_what_frameshifts_exclude_raises_an_error(options):
    targets, queries = draw_pairs(9, 2, 2, 30)
    with pytest.raises(InputError):
        search(queries, targets, **{"task": "blastx", "frameshift": 15, **options})


def test_gpus_have_no_frameshifts(monkeypatch):
    """Where there are some; elsewhere the error is that there are none."""
    targets, queries = draw_pairs(9, 2, 2, 30)
    monkeypatch.setattr(devices, "list_gpus", lambda limit: [Device("gpu")])
    with pytest.raises(InputError, match="whose kernels have no frameshifts"):
        search(queries, targets, task="blastx", frameshift=15, device="cuda")


def test_only_translated_queries_have_frameshifts():
    proteins, genes = draw_pairs(9, 2, 2, 30)
    for queries, targets, options in (
        (proteins, proteins, {}),
        (genes, genes, {"dbtype": "nucl"}),
        (proteins, genes, {"task": "tblastn"}),
        (genes, genes, {"task": "tblastx"}),
    ):
        with pytest.raises(InputError, match="frameshift=15"):
            search(queries, targets, frameshift=15, **options)
    with pytest.raises(InputError):
        allpairs(proteins, frameshift=15)
    with pytest.raises(InputError):
        iterate(proteins, proteins, frameshift=15)


def test_biopython_has_no_frameshifts():
    targets, queries = draw_pairs(9, 2, 2, 30)
    hit = next(hit for result in search(queries, targets, frameshift=15, **OPEN) for hit in result)
    with pytest.raises(InputError, match="rows"):
        hit.alignment.to_biopython()
