"""Record what blastx and tblastn print for translated genes, as the table `translated.tsv.gz`.

Usage::

    python tests/golden/record_translated.py

It also writes the genes, `translated_genes.fasta.gz`: proteins of data/proteins.fasta, changed and
translated back with random codons, in any frame of either strand, with runs of low complexity and a
few ambiguous bases; and some in genetic code 4. Nothing of swdual is imported, and no row is chosen
by what it says.
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
GENES, IN_CODE_4 = 30, 6

COLUMNS = [
    *("qseqid", "sseqid", "score", "bitscore", "evalue", "qframe", "sframe"),
    *("qstart", "qend", "sstart", "send", "length", "nident", "positive", "gaps"),
    *("qlen", "slen", "qcovs"),
]
COMMON = ["-comp_based_stats", "0", "-max_hsps", "1", "-max_target_seqs", "500"]
CASES = {
    "blastx": ["blastx", "-word_size", "2", *COMMON, "-seg", "no", "-sum_stats", "false"],
    "blastx-seg": ["blastx", "-word_size", "2", *COMMON, "-seg", "yes", "-sum_stats", "false"],
    "blastx-sum": [
        *("blastx", "-word_size", "2", "-comp_based_stats", "0", "-max_target_seqs", "500"),
        *("-seg", "no"),
    ],
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


def read(path: Path) -> list[tuple[str, str]]:
    """Return the records of a FASTA file."""
    records = []
    for record in path.read_text().split(">")[1:]:
        title, _, letters = record.partition("\n")
        records.append((title.split()[0], letters.replace("\n", "")))
    return records


def make_gene(rng: random.Random, protein: str, code: str) -> str:
    """Return a gene of a relative of a protein."""
    letters = []
    for letter in protein:
        chance = rng.random()
        if chance < 0.25:
            letters.append(rng.choice("ACDEFGHIKLMNPQRSTVWY"))
        elif chance < 0.97:
            letters.append(letter)
    if rng.random() < 0.4:
        place = rng.randrange(len(letters))
        letters[place:place] = rng.choice("QSGP") * rng.randint(10, 40)
    known = set(code)
    choices = {a: [c for c, b in zip(CODONS, code, strict=True) if a == b] for a in known}
    gene = "".join(rng.choice(choices[letter]) for letter in letters if letter in known)
    bases = list("".join(rng.choice("ACGT") for _ in range(rng.randint(0, 40))) + gene)
    for _ in range(rng.randint(0, 4)):
        bases[rng.randrange(len(bases))] = rng.choice("RYN")
    text = "".join(bases)
    return text.translate(COMPLEMENT)[::-1] if rng.random() < 0.5 else text


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


def write(path: Path, text: str) -> None:
    """Write a compressed file."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
        file.write(text.encode())


def main() -> None:
    """Write the genes and the table."""
    genes = make_genes()
    write(HERE / "translated_genes.fasta.gz", genes)
    lines = [
        subprocess.run(["blastx", "-version"], check=True, capture_output=True, text=True).stdout
    ]
    lines = [f"# {lines[0].splitlines()[0]}"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        nucleotides, proteins = Path(folder, "genes.fasta"), Path(folder, "queries.fasta")
        nucleotides.write_text(genes)
        chosen = read(PROTEINS)[::48]
        proteins.write_text("".join(f">{name}\n{letters}\n" for name, letters in chosen))
        for path, kind in ((PROTEINS, "prot"), (nucleotides, "nucl")):
            made = ["makeblastdb", "-in", path, "-dbtype", kind, "-out", Path(folder, kind)]
            subprocess.run(made, check=True, capture_output=True)
        for case, command in CASES.items():
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
    write(HERE / "translated.tsv.gz", "\n".join(lines) + "\n")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
