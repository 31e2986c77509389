"""DIAMOND, BLAST+ and ssearch36 print for real sequences what we print: see golden/README.md."""

from __future__ import annotations

import gzip
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from oracles.alignment import rescore_btop, rescore_cigar
from oracles.smith_waterman import local_score_gotoh

from swdual.api import search
from swdual.database.database import Database
from swdual.hits.hit import Hit
from swdual.results.search_results import SearchResults
from swdual.sequences.alphabet import NUCLEOTIDE
from swdual.sequences.fasta import read_sequences
from swdual.sequences.sequence import Sequence

ROOT = Path(__file__).parents[1]
GOLDEN, DATA = ROOT / "tests" / "golden", ROOT / "data"
SHARED = ROOT.parent / "shared" / "proteins"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="real data lies beside the project only"
)

MATRICES = {
    "BLOSUM62": (11, 1),
    "BLOSUM45": (14, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (15, 2),
}
"""NCBI's matrices with the gap prices of the tables."""

BASES = [(2, -3, 5, 2), (1, -2, 2, 2), (1, -1, 3, 2)]
"""Reward, penalty and gap prices of the tables."""

Row = dict[str, str]


class Table(NamedTuple):
    """A golden table: the command of the peer, its queries (turned or not), and its rows."""

    command: str
    queries: dict[str, bool]
    rows: list[Row]


def read_table(name: str) -> Table:
    """Return a golden table."""
    path = GOLDEN / name
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as stream:
        lines = stream.read().splitlines()
    comments = [line[2:] for line in lines if line.startswith("# ")]
    names, *rows = (line.split("\t") for line in lines if not line.startswith("#"))
    queries = {}
    for comment in comments:
        if comment.startswith("query: "):
            _, identifier, how = comment.split(" ", 2)
            queries[identifier] = how == "turned"
    return Table(comments[1], queries, [dict(zip(names, row, strict=True)) for row in rows])


class Compared(NamedTuple):
    """What both say of a pair: the peer's row and our hit."""

    row: Row
    hit: Hit


def compared(table: Table, results: SearchResults) -> list[Compared]:
    """Return the pairs of a table with our hits; all of them must be among these."""
    hits = {(hit.query.id, hit.id): hit for result in results for hit in result}
    queries = {result.query.id for result in results}
    rows = [row for row in table.rows if row["qseqid"] in queries]
    assert rows
    return [Compared(row, hits[row["qseqid"], row["sseqid"]]) for row in rows]


def same_score(pairs: list[Compared]) -> list[Compared]:
    """Return the pairs of which a heuristic found the optimum; it finds nothing above it."""
    assert all(int(row["score"]) <= hit.score for row, hit in pairs)
    return [pair for pair in pairs if int(pair.row["score"]) == pair.hit.score]


def places(hit: Hit) -> list[int]:
    """Return the coordinates of a hit as BLAST has them."""
    found = hit.alignment
    ends = [found.target_start + 1, found.target_end]
    return [found.query_start + 1, found.query_end, *ends[:: found.strand]]


def places_in(row: Row) -> list[int]:
    return [int(row[name]) for name in ("qstart", "qend", "sstart", "send")]


def is_optimal(row: Row, hit: Hit) -> bool:
    """Return whether the parts that a peer aligned have the score, computed by the oracle."""
    qstart, qend, sstart, send = places_in(row)
    target = hit.target.codes[min(sstart, send) - 1 : max(sstart, send)]
    if sstart > send:
        target = NUCLEOTIDE.reverse_complement(target)
    query = np.frombuffer(hit.query.codes[qstart - 1 : qend], np.uint8)
    scheme = hit.result.params.scheme
    prices = scheme.gap_open, scheme.gap_extend
    found = local_score_gotoh(query, np.frombuffer(target, np.uint8), scheme.matrix.scores, *prices)
    return found == hit.score


def agree(pairs: list[Compared]) -> None:
    """Score, bits, E-value and place of every pair are the peer's; another place is as good."""
    for row, hit in pairs:
        assert hit.score == int(row["score"])
        text = row["bitscore"]
        unit = 10.0 ** -len(text.partition(".")[2])
        assert abs(hit.bits - float(text)) <= (0.501 * unit if "." in text else 1)
        assert hit.evalue == pytest.approx(float(row["evalue"]), rel=0.01, abs=1e-179)
        assert places(hit) == places_in(row) or is_optimal(row, hit)


def same_pairs(pairs: list[Compared], results: SearchResults) -> None:
    """The peer has all of our hits, and each once."""
    theirs = [(row["qseqid"], row["sseqid"]) for row, _ in pairs]
    ours = [(hit.query.id, hit.id) for result in results for hit in result]
    assert len(ours) == len(set(ours))
    assert sorted(theirs) == sorted(ours)


def texts_agree(
    table: Table, pairs: list[Compared], results: SearchResults, folder: Path
) -> tuple[int, int]:
    """What the tabular format writes is what BLAST printed, letter by letter.

    Bits and E-values wherever the scores are equal, everything else where the alignments are.
    Returns how many rows were compared, and of how many all fields.
    """
    names = list(table.rows[0])
    results.write(folder / "ours.tsv", f"6 {' '.join(names)}")
    lines = (folder / "ours.tsv").read_text().splitlines()
    rows = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    ours = {(row["qseqid"], row["sseqid"]): row for row in rows}
    alike = 0
    for theirs, hit in pairs:
        row = ours[theirs["qseqid"], theirs["sseqid"]]
        for name in ("evalue", "bitscore", "score", "qframe"):
            assert row[name] == theirs[name], (name, theirs)
        if places(hit) == places_in(theirs) and row["btop"] == theirs["btop"]:
            assert row == theirs
            alike += 1
    return len(pairs), alike


def other_paths_are_as_good(pairs: list[Compared]) -> None:
    """Where BLAST shows another alignment than we, its BTOP scores the same."""
    for row, hit in pairs:
        qstart, _, sstart, send = places_in(row)
        if row["btop"] == hit.alignment.btop and places(hit) == places_in(row):
            continue
        scheme = hit.result.params.scheme
        alphabet = scheme.matrix.alphabet
        target = hit.target.codes
        start = sstart - 1
        if sstart > send:
            start, target = len(target) - sstart, alphabet.reverse_complement(target)
        table = scheme.matrix.scores.tolist()
        codes = {letter: code for code, letter in enumerate(alphabet.letters)}
        priced, _, _ = rescore_btop(
            row["btop"],
            alphabet.decode(hit.query.codes),
            qstart - 1,
            lambda a, b, table=table, codes=codes: table[codes[a]][codes[b]],
            scheme.gap_open,
            scheme.gap_extend,
            target=alphabet.decode(target),
            target_start=start,
        )
        assert priced == hit.score


@pytest.fixture(scope="module")
def sample():
    """Our results of the samples."""
    paths = DATA / "queries.fasta", DATA / "proteins.fasta"
    return search(*paths, max_target_seqs=0, comp_based_stats=0)


def test_the_sample_is_diamonds(sample):
    """All 96 rows of its exhaustive search, and no other."""
    pairs = compared(read_table("sample_diamond.tsv"), sample)
    assert len(pairs) == 96
    agree(pairs)
    same_pairs(pairs, sample)


def test_the_sample_is_printed_as_blastp_prints_it(sample, tmp_path):
    """57 rows; of 39 the alignment is the same and so is every field."""
    table = read_table("sample_blastp.tsv")
    pairs = same_score(compared(table, sample))
    assert len(pairs) == len(table.rows) == 57
    count, alike = texts_agree(table, pairs, sample, tmp_path)
    assert (count, alike) == (57, 39)
    other_paths_are_as_good(pairs)


def test_masked_queries_are_printed_as_blastp_prints_them(tmp_path):
    """199 rows with the optimum; of one the alignment is another one of the same score."""
    table = read_table("masked_blastp.tsv.gz")
    paths = GOLDEN / "biased_queries.fasta", GOLDEN / "biased_targets.fasta"
    results = search(*paths, mask="seg", max_target_seqs=0, comp_based_stats=0)
    pairs = same_score(compared(table, results))
    assert sum(result.query.letters != result.query.letters.upper() for result in results) >= 12
    assert texts_agree(table, pairs, results, tmp_path) == (199, 198)


def split_by_candidates(table: Table, soft: SearchResults, hard: SearchResults) -> Table:
    """Return the rows of hits; the others are of targets that the hard mask hides."""
    ours, candidates = (
        {(hit.query.id, hit.id) for result in results for hit in result} for results in (soft, hard)
    )
    pairs = [(row["qseqid"], row["sseqid"]) for row in table.rows]
    assert not {*pairs} & candidates - ours
    rows = [row for row, pair in zip(table.rows, pairs, strict=True) if pair in ours]
    return table._replace(rows=rows)


def test_softly_masked_queries_are_printed_as_blastp_prints_them(tmp_path):
    """201 of 211 rows; of the others the score with masked letters does not reach the E-value."""
    table = read_table("softly_masked_blastp.tsv.gz")
    assert "-soft_masking true" in table.command
    paths = GOLDEN / "biased_queries.fasta", GOLDEN / "biased_targets.fasta"
    asked = {"mask": "seg", "max_target_seqs": 0, "comp_based_stats": 0}
    hard = search(*paths, **asked)
    results = search(*paths, soft_masking=True, **asked)
    assert len(table.rows) == 211
    common = split_by_candidates(table, results, hard)
    pairs = same_score(compared(common, results))
    assert len(pairs) == len(common.rows)
    assert texts_agree(common, pairs, results, tmp_path) == (201, 200)
    other_paths_are_as_good(pairs)


def ssearch_agrees(table: Table, results: SearchResults, listed: int) -> None:
    """The first scores of each query are those listed, and each CIGAR has its score."""
    pairs = compared(table, results)
    for row, hit in pairs:
        assert (int(row["score"]), int(row["strand"])) == (hit.score, hit.strand)
    for result in results:
        theirs = [int(row["score"]) for row in table.rows if row["qseqid"] == result.query.id]
        assert theirs == result.scores[:listed].tolist()
    for row, hit in pairs:
        scheme = hit.result.params.scheme
        alphabet = scheme.matrix.alphabet
        scores = scheme.matrix.scores.tolist()
        codes = {letter: code for code, letter in enumerate(alphabet.letters)}
        query, start = hit.query.codes, int(row["qstart"]) - 1
        if row["strand"] == "-1":
            start, query = len(query) - int(row["qstart"]), alphabet.reverse_complement(query)
        priced = rescore_cigar(
            row["cigar"],
            *(alphabet.decode(query), alphabet.decode(hit.target.codes)),
            *(start, int(row["sstart"]) - 1),
            lambda a, b, scores=scores, codes=codes: scores[codes[a]][codes[b]],
            *(scheme.gap_open, scheme.gap_extend),
        )
        assert priced == hit.score


@pytest.mark.case(number=7)
@pytest.mark.case(number=16)
@pytest.mark.parametrize("name", MATRICES)
def test_rare_letters_score_as_blastp_scores_them(name):
    """B, J, Z, X, U, O, `*` and small letters, in both sequences: 504 of blastp's 512 scores.

    The other 8 are of alignments that its heuristics end too early.
    """
    path = GOLDEN / "letters.fasta"
    assert all(path.read_text().count(letter) > 1 for letter in "BJZXUO*bw")
    table = read_table("letters_blastp.tsv")
    table = table._replace(rows=[row for row in table.rows if row["matrix"] == name])
    pairs = compared(table, search(path, path, matrix=name, stats="none", align=False))
    missed = {"BLOSUM80": 2, "BLOSUM90": 2, "PAM30": 4}.get(name, 0)
    assert len(pairs) == 64
    assert len(same_score(pairs)) == 64 - missed


def test_the_sample_scores_as_ssearch_says():
    """The first hundred of each of five queries, and what they are aligned by has the score."""
    paths = DATA / "queries.fasta", DATA / "proteins.fasta"
    results = search(*paths, max_target_seqs=0, stats="none", align=False)
    ssearch_agrees(read_table("sample_ssearch.tsv"), results, 100)


def test_vtml200_is_the_matrix_that_ssearch_calls_vt200():
    """The same hundreds under ssearch36's own VTML200, with the same gap prices."""
    paths = DATA / "queries.fasta", DATA / "proteins.fasta"
    results = search(*paths, matrix="VTML200", max_target_seqs=0, stats="none", align=False)
    ssearch_agrees(read_table("sample_ssearch_VTML200.tsv"), results, 100)


@cache
def proteins() -> Database:
    return Database.from_fasta(SHARED / "bench20k.fasta.gz", dbtype="prot")


@cache
def protein_queries() -> list[Sequence]:
    """Return the queries of the tables: every second one, ascending in length."""
    return list(read_sequences(SHARED / "queries20.fasta.gz"))[::2]


@needs_shared
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MATRICES)
def test_every_hit_of_real_proteins_is_diamonds(name):
    """The seven shortest queries against 19,570 proteins: the same hits with an E-value up to 10,
    their scores, bits and E-values, and as good alignments."""
    prices = MATRICES[name]
    table = read_table(f"protein_diamond_{name}_{prices[0]}_{prices[1]}.tsv")
    assert f"--matrix {name} --gapopen {prices[0]} --gapextend {prices[1]}" in table.command
    results = search(
        protein_queries()[:7],
        proteins(),
        matrix=name,
        gap_open=prices[0],
        gap_extend=prices[1],
        max_target_seqs=0,
        comp_based_stats=0,
    )
    pairs = compared(table, results)
    agree(pairs)
    same_pairs(pairs, results)


@needs_shared
def test_hits_of_real_proteins_are_printed_as_blastp_prints_them(tmp_path):
    """All ten queries: blastp found the optimum of 235 of its 246 hits, none above; 162 are
    aligned alike and equal in every field."""
    table = read_table("protein_blastp.tsv.gz")
    results = search(protein_queries(), proteins(), max_target_seqs=0, comp_based_stats=0)
    pairs = compared(table, results)
    assert len(pairs) == 246
    optimal = same_score(pairs)
    assert texts_agree(table, optimal, results, tmp_path) == (235, 162)
    other_paths_are_as_good(optimal)


@cache
def genes() -> Database:
    return Database.from_fasta(SHARED / "nt_resfinder.fasta.gz", dbtype="nucl")


@cache
def nucleotides() -> dict[str, Sequence]:
    """Return the records that queries are taken from, by their identifiers."""
    found: dict[str, Sequence] = {}
    for name in ("nt_ecoli_genes", "nt_resfinder"):
        for each in read_sequences(SHARED / f"{name}.fasta.gz", NUCLEOTIDE):
            found.setdefault(each.id, each)
    return found


def queries_of(table: Table, longest: float = math.inf) -> list[Sequence]:
    """Return the queries of a table, turned where they were."""
    found = []
    for identifier, turned in table.queries.items():
        record = nucleotides()[identifier]
        if len(record) <= longest:
            codes = NUCLEOTIDE.reverse_complement(record.codes) if turned else record.codes
            found.append(Sequence(record.title, codes, NUCLEOTIDE))
    return found


@needs_shared
@pytest.mark.sample(1)
@pytest.mark.parametrize("scoring", BASES, ids=str)
def test_hits_of_real_genes_are_printed_as_blastn_prints_them(scoring, tmp_path):
    """17 genes against 3,206, both strands, N among them: wherever blastn found the optimum, bits
    and E-values, and every field where the alignment is the same."""
    reward, penalty, gap_open, gap_extend = scoring
    numbers = "_".join(str(abs(number)) for number in scoring)
    table = read_table(f"nucleotide_blastn_{numbers}.tsv.gz")
    assert f"-reward {reward} -penalty {penalty} -gapopen {gap_open}" in table.command
    options = {"reward": reward, "penalty": penalty, "gap_open": gap_open, "gap_extend": gap_extend}
    results = search(queries_of(table), genes(), max_target_seqs=0, **options)
    pairs = compared(table, results)
    assert len(pairs) == len(table.rows) > 1000
    optimal = same_score(pairs)
    assert len(optimal) > 0.97 * len(pairs)
    agree_on_bases(optimal)
    _, alike = texts_agree(table, optimal, results, tmp_path)
    assert alike > 0.84 * len(optimal)
    other_paths_are_as_good(optimal)


def agree_on_bases(pairs: list[Compared]) -> None:
    """Strands and places are the same or as good: of equal strands we give the query's own."""
    for row, hit in pairs:
        assert places(hit) == places_in(row) or is_optimal(row, hit)
        assert row["sstrand"] in ("plus", "minus")
        if row["sstrand"] != ("plus" if hit.strand > 0 else "minus"):
            assert hit.strand == 1
            assert is_optimal(row, hit)


@needs_shared
def test_softly_masked_genes_are_printed_as_blastn_prints_them(tmp_path):
    """DUST as blastn uses it by default; all but a few of its rows are hits here, too."""
    table = read_table("softly_masked_blastn.tsv.gz")
    assert "-dust yes -soft_masking true" in table.command
    asked = {"mask": "dust", "max_target_seqs": 0}
    queries = queries_of(table)
    hard = search(queries, genes(), **asked)
    results = search(queries, genes(), soft_masking=True, **asked)
    assert sum(result.query.letters != result.query.letters.upper() for result in results) >= 3
    common = split_by_candidates(table, results, hard)
    assert len(common.rows) > 0.99 * len(table.rows) > 1000
    optimal = same_score(compared(common, results))
    assert len(optimal) > 0.97 * len(common.rows)
    agree_on_bases(optimal)
    _, alike = texts_agree(common, optimal, results, tmp_path)
    assert alike > 0.84 * len(optimal)
    other_paths_are_as_good(optimal)


@needs_shared
def test_hits_in_whole_genomes_are_printed_as_blastn_prints_them(tmp_path):
    """The genes of up to 450 bases against three genomes of up to 171,823."""
    table = read_table("nucleotide_blastn_genomes_2_3_5_2.tsv")
    genomes = Database.from_fasta(SHARED / "nt_genomes_small.fasta.gz", dbtype="nucl")
    results = search(queries_of(table, 450), genomes, max_target_seqs=0)
    optimal = same_score(compared(table, results))
    agree_on_bases(optimal)
    count, alike = texts_agree(table, optimal, results, tmp_path)
    assert count >= alike > 10
    other_paths_are_as_good(optimal)


@needs_shared
def test_real_genes_score_as_ssearch_says():
    """The first forty of each of six genes, with their strands."""
    table = read_table("nucleotide_ssearch_2_3_5_2.tsv")
    assert "-r +2/-3 -f -5 -g -2 -b 40" in table.command
    results = search(queries_of(table), genes(), max_target_seqs=0, stats="none", align=False)
    ssearch_agrees(table, results, 40)
