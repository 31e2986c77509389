"""Random proteins, and genes of their relatives in any frame."""

from __future__ import annotations

import numpy as np

from swdual.sequences.genetic_codes import GENETIC_CODES

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
CODONS = [a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"]
COMPLEMENTS = str.maketrans("ACGTN", "TGCAN")


def random_proteins(seed, count, longest=60):
    """Return proteins by their names."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, longest, count).tolist()
    return {f"p{k}": "".join(rng.choice([*AMINO_ACIDS], n)) for k, n in enumerate(lengths)}


def make_gene(rng, protein, genetic_code=1):
    """Return a gene of a protein with some other residues, in any frame of either strand."""
    changed = [rng.choice([*AMINO_ACIDS]) if rng.random() < 0.2 else x for x in protein]
    known = [*zip(CODONS, GENETIC_CODES[genetic_code], strict=True)]
    codons = [rng.choice([codon for codon, x in known if x == each]) for each in changed]
    ends = ("".join(rng.choice([*"ACGT"], rng.integers(0, 12))) for _ in range(2))
    gene = f"{next(ends)}{''.join(codons)}{next(ends)}"
    if rng.random() < 0.3:
        place = int(rng.integers(0, len(gene)))
        gene = f"{gene[:place]}N{gene[place + 1 :]}"
    return gene.translate(COMPLEMENTS)[::-1] if rng.random() < 0.5 else gene


def random_genes(seed, proteins, genetic_code=1):
    """Return a gene for each protein, by its name, and a few that are too short for all frames."""
    rng = np.random.default_rng(seed)
    genes = {f"g{k}": make_gene(rng, x, genetic_code) for k, x in enumerate(proteins.values())}
    return genes | {"short": "ATGC", "codon": "TGG"}
