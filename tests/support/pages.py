"""The code blocks of Markdown pages, and the sample files that they name.

A block in the language ``sh`` or ``python`` is run, unless a comment before it says why not:

    <!-- not run: it needs a cluster -->

A block ``output`` is what the block before it writes on standard output. Each of its lines must
follow in the output, after the one before it; ``...`` stands for anything. A comment names the file
that a block in any language becomes:

    <!-- file: smallest_area.py -->
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from support.genes import CODONS
from support.taxa import TWO_SPECIES, write_archive

import swdual
from swdual.sequences.genetic_codes import GENETIC_CODES

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "generated"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(ROOT / "bench" / "results" / name for name in ("speed.md", "accuracy.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if GENERATED not in page.parents),
]

_BLOCK = re.compile(
    r"(?ms)^(?: *<!-- (?P<key>not run|file): (?P<value>[^>]*?) -->\n+)?"
    r"^(?P<fence> *`{3,})(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)$"
)

SHIM = """#!/bin/sh
# The commands of a page are alternatives: outputs of the same name are replaced.
case " $* " in
    *" --resume"* | " info "* | " list "* | " plan "* | " completion "* | " mcp "* | " -"*) ;;
    *) set -- "$@" --force ;;
esac
export PYTHONPATH="{path}" # clients of a server may not pass it on
exec {python} -m swdual "$@"
"""


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    code: str
    reason: str  # why it is not run
    file: str  # what it becomes


def blocks_of(page):
    """Return the code blocks of a page, in their order."""
    return [
        Block(
            found["language"],
            textwrap.dedent(found["code"]),
            *((found["value"] if found["key"] == key else "") for key in ("not run", "file")),
        )
        for found in _BLOCK.finditer(page.read_text())
    ]


def missing_line(shown, output):
    """Return the first line of a block ``output`` that does not follow in an output, or None."""
    lines = iter(_plain(output))
    for line in _plain(shown):
        pattern = re.escape(line).replace(re.escape("..."), ".*")
        if not any(re.fullmatch(pattern, other) for other in lines):
            return line
    return None


def _plain(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def write_samples(folder):
    """Write the files that the pages name: small ones, with relatives of the queries."""
    shutil.copytree(ROOT / "data", folder / "data")
    proteins = swdual.Database.from_fasta(ROOT / "data" / "proteins.fasta")
    queries = swdual.Database.from_fasta(ROOT / "data" / "queries.fasta")
    names = {"syn001752": "Q8WTQ7", "syn000048": "P01008"}
    families = ("family=298 ", "family=9 ")
    some = {
        names.get(record.id, record.id): str(record)
        for record in proteins
        if len(record) < 120 or record.id in names or any(x in record.title for x in families)
    }
    some = dict([*some.items()][:80]) | {new: str(proteins[old]) for old, new in names.items()}
    _write_fasta(folder / "proteins.fasta", some)
    with gzip.open(folder / "uniprot.fasta.gz", "wb") as stream:
        stream.write((folder / "proteins.fasta").read_bytes())
    _write_organisms(folder, some)
    two = {"P02232": str(queries["query1"]), "query2": str(queries["query2"])}
    _write_fasta(folder / "queries.fasta", two)
    for name in ("query.fasta", "q.fasta", "q.fa"):
        _write_fasta(folder / name, {"P02232": two["P02232"]})
    _write_fasta(folder / "peptides.fasta", {"peptide": two["P02232"][20:40]})
    _write_genes(folder, some)
    database = swdual.makedb(folder / "proteins.fasta", folder / "uniprot.db")
    swdual.makedb(folder / "proteins.fasta", folder / "proteins.db")
    results = swdual.search({"P02232": two["P02232"]}, database)
    results.write(folder / "blast.tsv", "6")
    result = results[0]
    swdual.MultipleAlignment.from_hits(result).write(folder / "family.a3m")
    for name in ("family.asn", "q.asn"):
        swdual.Profile.from_hits(result).write(folder / name)
    rows = [two["P02232"], *(two["P02232"][:k] + "A" + two["P02232"][k + 1 :] for k in (7, 40))]
    _write_fasta(folder / "family.fasta", {f"row{k}": row for k, row in enumerate(rows)})
    proteins = [
        {"protein": {"id": k, "sequence": v}} for k, v in zip("AB", two.values(), strict=True)
    ]
    job = {"name": "x", "modelSeeds": [1], "sequences": proteins, "dialect": "alphafold3"}
    (folder / "job.json").write_text(json.dumps({**job, "version": 1}))
    (folder / "times.csv").write_text("cpu,gpu\n3,1\n4,2\n2,1\n")
    (folder / "cluster.json").write_text('{"cpu": 45, "gpu": 1500}')
    policies = ROOT / "swdual" / "scheduling" / "policies"
    shutil.copy(policies / "fcfs.py", folder / "mine.py")


def _write_fasta(path, sequences):
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in sequences.items()))


def _write_organisms(folder, proteins):
    """Write proteins of two species as UniProt has them, and a taxonomy."""
    titles = {
        name: f"sp|{name}|X OS=Some species OX={(9606, 562)[number % 2]} PE=1"
        for number, name in enumerate(proteins)
    }
    records = (f">{titles[name]}\n{letters}\n" for name, letters in proteins.items())
    with gzip.open(folder / "swissprot.fasta.gz", "wt") as stream:
        stream.write("".join(records))
    write_archive(TWO_SPECIES, folder / "taxdump.tar.gz")


def _write_genes(folder, proteins):
    """Write genes of two proteins, genomes that hold them, and a read that lacks a base."""
    draw = random.Random(1)
    codons = dict(zip(GENETIC_CODES[1], CODONS, strict=True))
    genes = {
        name: "".join(codons[letter] for letter in proteins[name] if letter in codons)
        for name in ("Q8WTQ7", "P01008")
    }
    genes = {f"gene_of_{name}": gene for name, gene in genes.items()}
    _write_fasta(folder / "genes.fasta", genes)
    flank = ["".join(draw.choices("ACGT", k=300)) for _ in range(4)]
    genomes = {
        f"genome{k}": flank[2 * k] + gene + flank[2 * k + 1]
        for k, gene in enumerate(genes.values())
    }
    _write_fasta(folder / "genomes.fasta", genomes)
    gene = genes["gene_of_Q8WTQ7"]
    for name in ("reads.fasta", "reads.fa"):
        _write_fasta(folder / name, {"read": gene[:150] + gene[151:]})
    masked = {"masked": gene[:60] + gene[60:120].lower() + gene[120:]}
    _write_fasta(folder / "repeatmasked.fasta", masked)


def write_shim(folder):
    """Write a program ``swdual`` of this interpreter; return the folder, to put on the path."""
    folder.mkdir()
    shim = folder / "swdual"
    shim.write_text(SHIM.format(python=sys.executable, path=os.environ.get("PYTHONPATH", "")))
    shim.chmod(0o755)
    return folder


def run_shell(code, folder, environment):
    """Run commands, and return what they write on standard output."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout
