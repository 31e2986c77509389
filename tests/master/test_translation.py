"""Translated searches: the best frames are the oracle's, whatever computes them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from oracles import translation as oracle
from oracles.smith_waterman import local_score_gotoh
from support.genes import make_gene, random_genes, random_proteins

from swdual.api import iterate, search
from swdual.database import build
from swdual.database.database import Database
from swdual.errors import InputError
from swdual.prediction.preview import plan
from swdual.runtime.system import resident_bytes
from swdual.sequences import matrices
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.frames import read_part
from swdual.sequences.sequence import Sequence, batch_of
from swdual.sequences.translation import translate

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

PROTEINS = random_proteins(1, 12)
GENES = random_genes(2, PROTEINS)
FEW = dict([*GENES.items()][:5])
OTHERS = random_genes(3, dict([*PROTEINS.items()][:3]))
BLOSUM62 = matrices.load("BLOSUM62").scores
OPEN = {"evalue": 1e9, "max_target_seqs": 0, "comp_based_stats": 0, "mask": "none"}

PROGRAMS = {
    "blastx": (GENES, PROTEINS, 1, None),
    "tblastn": (PROTEINS, GENES, None, 1),
    "tblastx": (OTHERS, FEW, 1, 1),
}
"""Queries, targets, and the genetic codes of both."""


def database_of(records, alphabet):
    batch = batch_of(Sequence(k, alphabet.encode(x), alphabet) for k, x in records.items())
    return Database.from_batches([batch], alphabet, "genes" if alphabet is NUCLEOTIDE else "prots")


def score(one, other):
    codes = (np.frombuffer(PROTEIN.encode(x), np.uint8) for x in (one, other))
    return local_score_gotoh(*codes, BLOSUM62, 11, 1)


def run(program, queries=None, targets=None, **options):
    """Return the results of a program, of other queries and targets if they are given."""
    target_code = PROGRAMS[program][3]
    queries, targets = queries or PROGRAMS[program][0], targets or PROGRAMS[program][1]
    database = database_of(targets, PROTEIN if target_code is None else NUCLEOTIDE)
    return search(queries, database, task=program, **{**OPEN, **options})


def facts(results):
    """Return what was found: identifiers, scores, E-values, frames, places, operations."""
    return [
        (
            *(result.query.id, hit.id, hit.score, hit.evalue, hit.query_frame, hit.target_frame),
            *(hit.query_start, hit.query_end, hit.target_start, hit.target_end),
            *(hit.alignment.cigar, *hit.alignment.rows),
        )
        for result in results
        for hit in result
    ]


@pytest.fixture(scope="module")
def expected():
    """The hits of all programs."""
    return {program: facts(run(program, threads=1)) for program in PROGRAMS}


@pytest.mark.parametrize("backend", ["reference", "simd"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_best_frames_are_the_oracles(program, backend):
    """Scores, frames and order of all hits; the oracle translates with Biopython's tables."""
    pytest.importorskip("Bio", reason="Biopython has the tables")
    queries, targets, *codes = PROGRAMS[program]
    results = run(program, backend=backend, align=False, threads=2, sum_stats=False)
    for result, letters in zip(results, queries.values(), strict=True):
        found = oracle.search(letters, [*targets.values()], score, *codes)
        names = [*targets]
        assert [(h.id, h.score, h.query_frame, h.target_frame) for h in result] == [
            (names[each.target], *each[1:]) for each in found
        ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_first_of_equal_frames_is_the_best(program):
    """Each piece of a gene stands twice in its sequence, in two frames."""
    pytest.importorskip("Bio", reason="Biopython has the tables")
    queries, targets, *codes = PROGRAMS[program]
    few = [
        {k: x if code is None else f"{x[:60]}A{x[:60]}" for k, x in [*records.items()][:2]}
        for records, code in zip((queries, targets), codes, strict=True)
    ]
    for result, letters in zip(run(program, *few, align=False), few[0].values(), strict=True):
        found = oracle.search(letters, [*few[1].values()], score, *codes)
        assert [(h.score, h.query_frame, h.target_frame) for h in result] == [
            each[1:] for each in found
        ]


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_a_strand_has_three_frames(strand):
    pytest.importorskip("Bio", reason="Biopython has the tables")
    frames = (1, 2, 3) if strand == "plus" else (-1, -2, -3)
    for result, letters in zip(
        run("blastx", strand=strand, sum_stats=False), GENES.values(), strict=True
    ):
        found = oracle.search(letters, [*PROTEINS.values()], score, 1, None, frames)
        assert [(h.score, h.query_frame) for h in result] == [
            (x.score, x.query_frame) for x in found
        ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_alignments_tell_the_letters_of_their_places(program, expected):
    """Each row is what the frame reads at the place; its columns have the score."""
    table = {
        (a, b): int(BLOSUM62[PROTEIN.letters.index(a), PROTEIN.letters.index(b)])
        for a in PROTEIN.letters
        for b in PROTEIN.letters
    }
    for result in run(program):
        for hit in result:
            query, _, target = hit.alignment.rows
            sides = (
                (query, hit.query, hit.query_start, hit.query_end, hit.query_frame),
                (target, hit.target, hit.target_start, hit.target_end, hit.target_frame),
            )
            for row, sequence, start, end, frame in sides:
                letters = row.replace("-", "")
                assert read_part(sequence, start, end, frame)[1] == letters
                assert end - start == len(letters) * (3 if sequence.alphabet is NUCLEOTIDE else 1)
            paid = sum(table[a, b] for a, b in zip(query, target, strict=True) if "-" not in (a, b))
            gaps = hit.alignment.gap_openings * 11 + hit.alignment.gaps
            assert paid - gaps == hit.score
    assert len(expected[program]) > 10


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 2},
        {"threads": 3, "planner": "self_scheduling"},
        {"align": False},
        {"verify": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_changes_the_hits(program, options, expected):
    """Also alignments that are found when they are looked at."""
    assert facts(run(program, **options)) == expected[program]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_memory_limit_changes_nothing(program, expected):
    """It is one beyond what this process has already."""
    limit = resident_bytes() + (512 << 20)
    assert facts(run(program, memory_limit=limit)) == expected[program]


@pytest.mark.parametrize("program", PROGRAMS)
def test_blocks_and_ranges_change_nothing(program, expected, monkeypatch):
    """The frames of a target lie in several blocks, and come from several tasks."""
    monkeypatch.setattr(build, "BLOCK_BYTES", 400)
    assert facts(run(program, threads=2)) == expected[program]


@pytest.mark.parametrize("program", PROGRAMS)
def test_fewer_hits_are_the_first_of_all(program, expected):
    best = facts(run(program, max_target_seqs=3))
    for name in PROGRAMS[program][0]:
        wanted = [row for row in expected[program] if row[0] == name]
        assert [row for row in best if row[0] == name] == wanted[:3]


def test_soft_masks_choose_candidates_only():
    """Candidates are scored again with the letters of the frame as written."""
    protein = "MKVLAWTRNDEFGHIKLM" + "Q" * 30 + "STWYVARNDCEGHILKMFP"
    rng = np.random.default_rng(1)
    gene = {"g": make_gene(rng, protein)}
    hard, soft, plain = (
        search(gene, {"p": protein}, task="blastx", mask=mask, soft_masking=soft)[0][0]
        for mask, soft in (("seg", False), ("seg", True), ("none", False))
    )
    assert hard.score < soft.score == plain.score
    assert "q" in soft.alignment.rows[0]


def test_an_evalue_refers_to_the_residues_of_the_frames():
    """Those of a protein search with the frame, in a database of a third of the letters."""
    results = run("tblastn", stats="table")
    residues = sum(map(len, GENES.values())) // 3
    hit = next(hit for result in results for hit in result)
    frame = "".join(hit.alignment.rows[2].replace("-", ""))
    own = read_part(hit.target, hit.target_start, hit.target_end, hit.target_frame)[1]
    assert own == frame
    whole = PROTEIN.decode(translate(NUCLEOTIDE.encode(GENES[hit.id]), hit.target_frame, 1))
    same = search(
        {"q": str(hit.query)}, {"t": whole}, dbsize=residues, comp_based_stats=0, evalue=1e9
    )[0][0]
    assert (same.score, same.evalue) == (hit.score, pytest.approx(hit.evalue, rel=1e-12))


def test_the_types_of_queries_and_database_decide(tmp_path):
    genes = {name: gene * 3 for name, gene in GENES.items() if len(gene) > 20}
    (tmp_path / "g.fa").write_text("".join(f">{k}\n{v}\n" for k, v in genes.items()))
    (tmp_path / "p.fa").write_text("".join(f">{k}\n{v}\n" for k, v in PROTEINS.items()))
    programs = {
        (queries, database): search(tmp_path / queries, tmp_path / database)[0].params.program
        for queries in ("g.fa", "p.fa")
        for database in ("g.fa", "p.fa")
    }
    assert programs == {
        ("g.fa", "g.fa"): "blastn",
        ("g.fa", "p.fa"): "blastx",
        ("p.fa", "g.fa"): "tblastn",
        ("p.fa", "p.fa"): "blastp",
    }
    assert search(genes, PROTEINS)[0].params.program == "blastx"
    assert search(PROTEINS, database_of(genes, NUCLEOTIDE))[0].params.program == "tblastn"


def test_a_plan_counts_the_cells_of_frames():
    rates = {"cpu": 40}
    found = plan(GENES, database_of(PROTEINS, PROTEIN), cpus=2, gpus=0, rates=rates, task="blastx")
    assert len(found.workers) >= len(GENES)


GENOME = partial(database_of, GENES, NUCLEOTIDE)
PROTEOME = partial(database_of, PROTEINS, PROTEIN)
REFUSED = {
    "code": (GENES, PROTEOME, {"query_gencode": 7}, "`query_gencode` is 7, .* 1-6, 9-16, 21-31"),
    "query": (
        PROTEINS,
        PROTEOME,
        {"query_gencode": 1},
        "`query_gencode=1` translates queries, but",
    ),
    "nucleotides": (GENES, GENOME, {"query_gencode": 1}, "compared as nucleotides; .*'tblastx'"),
    "database": (PROTEINS, PROTEOME, {"db_gencode": 1}, "`db_gencode=1` translates the database"),
    "blastx": (
        GENES,
        GENOME,
        {"task": "blastx"},
        "'blastx'` searches proteins, but genes holds nu",
    ),
    "tblastn": (PROTEINS, PROTEOME, {"task": "tblastn"}, "searches nucleotides, but prots holds"),
    "mode": (
        GENES,
        GENOME,
        {"task": "tblastx", "comp_based_stats": 2},
        "translate queries and tar",
    ),
    "shifts": (
        GENES,
        PROTEOME,
        {"task": "blastx", "comp_based_stats": 2, "frameshift": 15},
        "cannot be combined with `frameshift`",
    ),
    "all": (GENES, PROTEOME, {"task": "blastx", "adjust": "all"}, "`adjust` is not for translated"),
    "fit": (GENES, PROTEOME, {"task": "blastx", "stats": "fit"}, "are not fitted"),
    "matrix": (GENES, PROTEOME, {"task": "blastx", "matrix": "VTML200"}, "VTML200 has no"),
    "case": (GENES, PROTEOME, {"task": "blastx", "lcase_masking": True}, "`lcase_masking` is not"),
    "dust": (GENES, PROTEOME, {"task": "blastx", "mask": "dust"}, "dust masks nucleotides"),
    "masked": (PROTEINS, GENOME, {"task": "tblastn", "db_hard_mask": "dust"}, "`db_hard_mask` is"),
    "strand": (PROTEINS, GENOME, {"task": "tblastn", "strand": "plus"}, "these are proteins"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case):
    queries, database, options, message = REFUSED[case]
    if case in ("database", "query"):
        queries = {name: letters * 3 for name, letters in queries.items()}
    with pytest.raises(InputError, match=message):
        search(queries, database(), **options)


def test_rounds_do_not_translate():
    with pytest.raises(InputError, match="iterated search compares proteins"):
        [*iterate(GENES, PROTEOME(), task="blastx")]
    with pytest.raises(InputError, match="look like nucleotides"):
        [*iterate(GENES, PROTEOME())]
