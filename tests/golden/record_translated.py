"""Record what blastx and tblastn print for translated genes, as the table `translated.tsv.gz`.

Usage::

    python tests/golden/record_translated.py

It also writes the genes, `translated_genes.fasta.gz`: proteins of data/proteins.fasta, changed and
translated back with random codons, in any frame of either strand, with runs of low complexity and a
few ambiguous bases; and some in genetic code 4. `translated_pieces.fasta.gz` has genes with introns
and frameshifts, whose alignments BLAST links: the table `translated_pieces.tsv.gz`. Nothing of
swdual is imported, and no row is chosen by what it says. DIAMOND aligns the same genes with
frameshifts: `frameshift_diamond.tsv.gz`.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PROTEINS = HERE.parents[1] / "data" / "proteins.fasta"

STANDARD = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
MOLD = "FFLLSSSSYY**CCWWLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
"""NCBI's genetic codes 1 and 4."""
CODONS = [a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"]
COMPLEMENT = str.maketrans("ACGTRYN", "TGCAYRN")
GENES, IN_CODE_4, IN_PIECES = 30, 6, 20

COLUMNS = [
    *("qseqid", "sseqid", "score", "bitscore", "evalue", "qframe", "sframe"),
    *("qstart", "qend", "sstart", "send", "length", "nident", "positive", "gaps"),
    *("qlen", "slen", "qcovs"),
]
COMMON = ["-comp_based_stats", "0", "-max_hsps", "1", "-max_target_seqs", "500"]
CASES = {
    "blastx": ["blastx", "-word_size", "2", *COMMON, "-seg", "no", "-sum_stats", "false"],
    "blastx-seg": ["blastx", "-word_size", "2", *COMMON, "-seg", "yes", "-sum_stats", "false"],
    "blastx-4": [
        *("blastx", "-word_size", "2", *COMMON, "-seg", "no", "-sum_stats", "false"),
        *("-query_gencode", "4", "-strand", "minus"),
    ],
    "tblastn": ["tblastn", "-word_size", "2", *COMMON, "-seg", "no", "-sum_stats", "false"],
    "tblastn-4": [
        *("tblastn", "-word_size", "2", *COMMON, "-seg", "no", "-sum_stats", "false"),
        *("-db_gencode", "4", "-dbsize", "100000"),
    ],
}
"""Names of the cases, and their commands without files."""

ONE_HSP = ["-max_hsps", "1", "-max_target_seqs", "500"]
ALONE = [*ONE_HSP, "-seg", "no", "-sum_stats", "false"]
CASES |= {
    f"{program}-mode-{mode}": [program, "-word_size", "2", "-comp_based_stats", mode, *ALONE]
    for program, modes in (("blastx", "123"), ("tblastn", "12"))
    for mode in modes
}
CASES |= {f"{program}-default": [program, *ONE_HSP] for program in ("blastx", "tblastn")}
"""Further cases, with adjusted matrices; `default` has BLAST's own options."""

LINKED = ["-comp_based_stats", "0", "-max_target_seqs", "500", "-seg", "no"]
LINKED_CASES = {
    "blastx": ["blastx", "-word_size", "2", *LINKED],
    "tblastn": ["tblastn", "-word_size", "2", *LINKED],
    "blastx-default": ["blastx", "-max_target_seqs", "500"],
    "tblastn-default": ["tblastn", "-max_target_seqs", "500"],
}


DIAMOND = [
    *("--frameshift", "15", "--masking", "0", "--comp-based-stats", "0", "--ultra-sensitive"),
    *("--max-hsps", "1", "-k", "0", "--threads", "1", "--quiet"),
]
DIAMOND_COLUMNS = [
    *("qseqid", "sseqid", "score", "bitscore", "evalue", "qframe", "qstart", "qend", "sstart"),
    *("send", "length", "nident", "mismatch", "positive", "gaps", "gapopen", "cigar", "btop"),
]


def read(path: Path) -> list[tuple[str, str]]:
    """Return the records of a FASTA file."""
    records = []
    for record in path.read_text().split(">")[1:]:
        title, _, letters = record.partition("\n")
        records.append((title.split()[0], letters.replace("\n", "")))
    return records


def change(rng: random.Random, protein: str) -> list[str]:
    """Return a relative of a protein: a quarter of the residues are others, some are missing."""
    letters = []
    for letter in protein:
        chance = rng.random()
        if chance < 0.25:
            letters.append(rng.choice("ACDEFGHIKLMNPQRSTVWY"))
        elif chance < 0.97:
            letters.append(letter)
    return letters


def translate_back(rng: random.Random, letters: list[str], code: str) -> str:
    """Return a random codon for each residue."""
    known = set(code)
    choices = {a: [c for c, b in zip(CODONS, code, strict=True) if a == b] for a in known}
    return "".join(rng.choice(choices[letter]) for letter in letters if letter in known)


def turn(rng: random.Random, text: str) -> str:
    """Return one of the strands."""
    return text.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else text


def make_gene(rng: random.Random, protein: str, code: str) -> str:
    """Return a gene of a relative of a protein."""
    letters = change(rng, protein)
    if rng.random() < 0.4:
        place = rng.randrange(len(letters))
        letters[place:place] = rng.choice("QSGP") * rng.randint(10, 40)
    gene = translate_back(rng, letters, code)
    bases = list("".join(rng.choice("ACGT") for _ in range(rng.randint(0, 40))) + gene)
    for _ in range(rng.randint(0, 4)):
        bases[rng.randrange(len(bases))] = rng.choice("RYN")
    return turn(rng, "".join(bases))


def make_pieces(rng: random.Random, protein: str) -> str:
    """Return a gene in two to five pieces: a frameshift or up to 150 bases are between them."""
    gene = translate_back(rng, change(rng, protein), STANDARD)
    places = sorted(rng.sample(range(30, len(gene) - 30), rng.randint(1, 4)))
    parts = [gene[a:b] for a, b in zip([0, *places], [*places, None], strict=True)]
    text = parts[0]
    for part in parts[1:]:
        count = rng.choice((1, 2, rng.randint(3, 150)))
        text += "".join(rng.choice("ACGT") for _ in range(count)) + part
    return turn(rng, text)


def make_genes() -> str:
    """Return the genes as FASTA."""
    rng = random.Random(20)
    proteins = [record for record in read(PROTEINS) if 60 < len(record[1]) < 400]
    lines = []
    for number in range(GENES + IN_CODE_4):
        code = STANDARD if number < GENES else MOLD
        _, protein = rng.choice(proteins)
        lines.append(f">gene{number}\n{make_gene(rng, protein, code)}\n")
    return "".join(lines)


def make_genes_in_pieces() -> str:
    """Return the genes with introns and frameshifts as FASTA."""
    rng = random.Random(21)
    proteins = [record for record in read(PROTEINS) if 120 < len(record[1]) < 500]
    genes = [make_pieces(rng, rng.choice(proteins)[1]) for _ in range(IN_PIECES)]
    return "".join(f">gene{number}\n{gene}\n" for number, gene in enumerate(genes))


def write(path: Path, text: str) -> None:
    """Write a compressed file."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
        file.write(text.encode())


def record(name: str, genes: str, step: int, cases: dict[str, list[str]]) -> None:
    """Write genes and the rows that BLAST prints for them and every `step`-th protein."""
    write(HERE / f"{name}.fasta.gz", genes)
    table = "translated" if name == "translated_genes" else name
    done = subprocess.run(["blastx", "-version"], check=True, capture_output=True, text=True)
    lines = [f"# {done.stdout.splitlines()[0]}"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        nucleotides, proteins = Path(folder, "genes.fasta"), Path(folder, "queries.fasta")
        nucleotides.write_text(genes)
        chosen = read(PROTEINS)[::step]
        proteins.write_text("".join(f">{name}\n{letters}\n" for name, letters in chosen))
        for path, kind in ((PROTEINS, "prot"), (nucleotides, "nucl")):
            made = ["makeblastdb", "-in", path, "-dbtype", kind, "-out", Path(folder, kind)]
            subprocess.run(made, check=True, capture_output=True)
        for case, command in cases.items():
            lines.append(f"# {case}: {' '.join(command)}")
            translates = command[0] == "blastx"
            files = (nucleotides, "prot") if translates else (proteins, "nucl")
            done = subprocess.run(
                [
                    *command,
                    *("-query", files[0], "-db", Path(folder, files[1])),
                    *("-outfmt", f"6 {' '.join(COLUMNS)}"),
                ],
                check=True,
                capture_output=True,
                text=True,
            )
            rows += [f"{case}\t{line}" for line in done.stdout.splitlines()]
    lines += ["\t".join(["case", *COLUMNS]), *rows]
    write(HERE / f"{table}.tsv.gz", "\n".join(lines) + "\n")
    print(f"{table}: {len(rows)} rows")


def record_frameshifts(genes: str) -> None:
    """Write what DIAMOND prints for genes with frameshifts."""
    done = subprocess.run(["diamond", "version"], check=True, capture_output=True, text=True)
    command = ["diamond", "blastx", *DIAMOND, "-f", "6", *DIAMOND_COLUMNS]
    with tempfile.TemporaryDirectory() as folder:
        nucleotides, database = Path(folder, "genes.fasta"), Path(folder, "proteins")
        nucleotides.write_text(genes)
        made = ["diamond", "makedb", "--in", PROTEINS, "--db", database, "--quiet"]
        subprocess.run(made, check=True, capture_output=True)
        files = ["--query", nucleotides, "--db", database]
        found = subprocess.run([*command, *files], check=True, capture_output=True, text=True)
    lines = [f"# {done.stdout.strip()}", f"# {' '.join(command)}", "\t".join(DIAMOND_COLUMNS)]
    rows = found.stdout.splitlines()
    write(HERE / "frameshift_diamond.tsv.gz", "\n".join([*lines, *rows]) + "\n")
    print(f"frameshift_diamond: {len(rows)} rows")


def main() -> None:
    """Write the genes and the tables."""
    record("translated_genes", make_genes(), 48, CASES)
    record("translated_pieces", make_genes_in_pieces(), 12, LINKED_CASES)
    record_frameshifts(make_genes_in_pieces())


if __name__ == "__main__":
    main()
