"""Record PSI-BLAST's profiles of sample sequences, as the ``pssm_`` files of this folder.

Usage::

    python tests/golden/record_pssms.py

BLAST+ must be on the path. Nothing of swdual is imported, and no hit is chosen by what it says.
"""

from __future__ import annotations

import gzip
import itertools
import tempfile
from pathlib import Path

from record import HERE, SAMPLES, first_word, quoted, records, said, words

COLUMNS = words("sseqid evalue qstart qseq sseq")
QUERIES = words("query1 glycine")


def main() -> None:
    """Write the files of each query."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        database = work / "database"
        targets = work / "targets.fasta"
        files = SAMPLES / "proteins.fasta", HERE / "biased_targets.fasta"
        targets.write_bytes(b"".join(file.read_bytes() for file in files))
        said("makeblastdb", "-in", str(targets), "-dbtype", "prot", "-out", str(database))
        queries = SAMPLES / "queries.fasta", HERE / "biased_queries.fasta"
        for header, sequence in itertools.chain(*map(records, queries)):
            if (name := first_word((header, sequence))) in QUERIES:
                query = work / f"{name}.fasta"
                query.write_text(f">{header}\n{sequence}\n")
                record(name, query, database, work)


def record(name: str, query: Path, database: Path, work: Path) -> None:
    """Write the checkpoint file, the table that psiblast makes of it, and the alignments.

    The checkpoint file is complete only if psiblast writes a table in the same run. That table has
    the statistics of the query; the one that is kept has those of the profile.
    """
    pssm, table = work / f"{name}.asn", work / f"{name}.pssm"
    command = [
        *words("psiblast -use_sw_tback -num_iterations 1 -save_pssm_after_last_round"),
        *words("-out_pssm PSSM -out_ascii_pssm OTHER -query QUERY -db TARGETS -outfmt"),
        "6 " + " ".join(COLUMNS),
    ]
    hidden = {"PSSM": pssm, "OTHER": work / "other", "QUERY": query, "TARGETS": database}
    rows = said(*(str(hidden.get(word, word)) for word in command))
    said(
        *words("psiblast -num_iterations 1 -out_ascii_pssm"),
        *map(str, (table, "-in_pssm", pssm, "-subject", query)),
    )
    version = said("psiblast", "-version").splitlines()[0]
    head = f"# {version}\n# {' '.join(map(quoted, command))}\n" + "\t".join(COLUMNS) + "\n"
    (HERE / f"pssm_{name}.tsv").write_text(f"{head}{rows}\n")
    for path in (pssm, table):
        packed = gzip.compress(path.read_bytes(), 9, mtime=0)
        (HERE / f"pssm_{path.name}.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
