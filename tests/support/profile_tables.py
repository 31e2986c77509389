"""What PSI-BLAST printed of profiles, and the figures of the matrices that it used."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
from oracles.composition import LETTERS, NEVER, RESIDUES
from oracles.profiles import Figures, aligned_row, alignment_lines, alignment_rows

from swdual.profiles import Profile

ROOT = Path(__file__).parents[2]
GOLDEN, DATA, PACKAGE = ROOT / "tests" / "golden", ROOT / "data", ROOT / "swdual"

INCLUSION = 0.002

Row = Mapping[str, str]


@cache
def table(name: str) -> list[Row]:
    """Return the rows of a golden table."""
    path = GOLDEN / name
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    names, *rows = (line.split("\t") for line in lines)
    return [dict(zip(names, row, strict=True)) for row in rows]


@cache
def by_case(name: str) -> Mapping[tuple[str, ...], list[Row]]:
    """Return the rows of a golden table by case, and by round if the table has rounds."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in table(name):
        key = (row["case"], row["round"]) if "round" in row else (row["case"],)
        found.setdefault(key, []).append(row)
    return found


@cache
def sequences(kind: str) -> Mapping[str, str]:
    """Return all queries or all targets, in upper case, by their identifiers."""
    ours = {"queries": "queries.fasta", "targets": "proteins.fasta"}[kind]
    found: dict[str, str] = {}
    for path in (
        DATA / ours,
        GOLDEN / f"biased_{kind}.fasta",
        GOLDEN / f"profile_{kind}.fasta",
    ):
        for record in path.read_text().split(">")[1:]:
            header, *lines = record.splitlines()
            assert header.split()[0] not in found
            found[header.split()[0]] = "".join(lines).upper()
    return found


@cache
def residues() -> int:
    """Return the residues of all targets."""
    return sum(map(len, sequences("targets").values()))


@cache
def alignment(name: str) -> list[str]:
    """Return the rows of a multiple alignment."""
    found = table("profile_alignments.tsv")
    return [row["row"] for row in found if row["alignment"] == name]


def options_of(case: str) -> Mapping[str, str]:
    """Return the options of a case: their values by their names without the dash."""
    found: dict[str, str] = {}
    name = ""
    for word in next(
        row["options"] for row in table("profile_cases.tsv") if row["case"] == case
    ).split():
        if word.startswith("-"):
            name = word[1:]
            found[name] = ""
        else:
            found[name] = word
    return found


def figures_of(case: str) -> Figures:
    """Return the figures of a case's matrix and gaps."""
    options = options_of(case)
    gap = int(options.get("gapopen", 11)), int(options.get("gapextend", 1))
    return figures(options.get("matrix", "BLOSUM62"), gap)


@cache
def figures(matrix: str, gap: tuple[int, int]) -> Figures:
    """Return the figures of a matrix, as the package's tables have them.

    The letters of the tables of ratios and of scores are in other orders than `LETTERS`.
    """

    def read(path: str) -> Mapping:
        return json.loads((PACKAGE / path).read_text())

    composition = read("composition/ncbi_composition.json")
    known = composition["letters"]
    triangle = composition["matrices"][matrix]["ratios"]
    ratios = np.zeros((len(LETTERS), len(LETTERS)))
    for i, row in enumerate(triangle):
        for j, ratio in enumerate(row):
            a, b = LETTERS.index(known[i]), LETTERS.index(known[j])
            ratios[a, b] = ratios[b, a] = ratio
    lower = composition["matrices"][matrix]["joint"]
    joint = np.zeros((len(RESIDUES), len(RESIDUES)))
    for i, row in enumerate(lower):
        joint[i, : i + 1] = joint[: i + 1, i] = row

    tables = read("sequences/ncbi_matrices.json")
    scores, listed = tables["matrices"][matrix], tables["letters"]

    def score(a: str, b: str) -> int:
        a, b = ({"U": "C", "O": "X"}.get(letter, letter) for letter in (a, b))
        if "-" in (a, b):
            return NEVER
        return scores["rows"][listed.index(a)][listed.index(b)]

    parameters = read("statistics/ncbi_parameters.json")["protein"][matrix]
    row = next(row for row in parameters["gapped"] if tuple(row[:2]) == gap)
    standard = json.loads((GOLDEN / "blosum62.json").read_text())["standard"]
    places = [LETTERS.index(residue) for residue in RESIDUES]
    frequencies = np.zeros(len(LETTERS))
    frequencies[places] = standard
    return Figures(
        {a: {b: score(a, b) for b in LETTERS} for a in LETTERS},
        ratios,
        3 if matrix == "BLOSUM45" else 2,
        joint.sum(axis=1),
        frequencies / frequencies.sum(),
        gap,
        [row[2], row[3], row[5], row[7], row[8]],
        (parameters["ungapped"][3], parameters["ungapped"][5]),
    )


def included_rows(case: str, number: str) -> list[str]:
    """Return the rows that PSI-BLAST took a profile from, without the query, after a round."""
    query = next(row["query"] for row in table("profile_cases.tsv") if row["case"] == case)
    if query.startswith("alignment "):
        master = int(options_of(case).get("msa_master_idx", 1)) - 1
        return alignment_rows(alignment(query.split()[1]), master)[1:]
    limit = float(options_of(case).get("inclusion_ethresh", INCLUSION))
    whole = sequences("queries")[query]
    hits: dict[str, list[tuple[int, str, str]]] = {}
    for row in by_case("profile_rounds.tsv.gz").get((case, number), []):
        evalue = float(row["evalue"])
        assert evalue != limit, "the printed E-value does not tell whether the hit is included"
        if evalue < limit:
            start, end, first, last = (int(row[k]) for k in ("qstart", "qend", "sstart", "send"))
            target = sequences("targets")[row["sseqid"]][first - 1 : last]
            lines = alignment_lines(whole[start - 1 : end], target, row["btop"])
            hits.setdefault(row["sseqid"], []).append((start - 1, *lines))
    return [aligned_row(len(whole), parts) for parts in hits.values()]


@cache
def make_profile(case: str, number: str) -> Profile:
    """Return the profile of the alignments that psiblast made one from."""
    options = options_of(case)
    query = next(row["query"] for row in table("profile_cases.tsv") if row["case"] == case)
    if query.startswith("alignment "):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.fasta"
            rows = enumerate(alignment(query.split()[1]))
            path.write_text("".join(f">row{k}\n{row}\n" for k, row in rows))
            return Profile.from_msa(
                path,
                master=int(options.get("msa_master_idx", 1)),
                ignore_master="ignore_msa_master" in options,
            )
    return Profile.from_alignments(
        sequences("queries")[query],
        included_rows(case, number),
        matrix=options.get("matrix", "BLOSUM62"),
        pseudocount=int(options.get("pseudocount", 0)),
    )
