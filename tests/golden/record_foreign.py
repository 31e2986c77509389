"""Record tables as other programs write them, for the tests of what is read.

Usage::

    python tests/golden/record_foreign.py [--into FOLDER]

BLAST+, DIAMOND, MMseqs2 and ssearch36 must be on the path. Each table of the folder ``foreign`` is
what its command printed, byte by byte. Nothing of swdual is imported.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "foreign"

BLASTP = "blastp -query q.fa -db blast -evalue 1e-3 -num_threads 1 -outfmt"
BLASTN = "blastn -query n.fa -subject m.fa -task blastn -evalue 1e-5 -dust no -outfmt"
DIAMOND = "diamond blastp -q q.fa -d diamond --threads 1 --quiet"
MMSEQS = "mmseqs easy-search q.fa t.fa OUT tmp --threads 1 -v 1 --format-mode"
SSEARCH = "ssearch36 -q -d 0 -E 0.001 -z 3 -T 1 -m"
NAMES = "query,target,fident,pident,alnlen,mismatch,gapopen,qstart,qend,tstart,tend,evalue,bits"
MORE = "qcov,tcov,qlen,tlen,cigar,qframe,empty,theader"

COMMANDS = {
    "blastp_6.txt": f"{BLASTP} 6",
    "blastp_7.txt": f"{BLASTP} 7",
    "blastp_10.csv": f"{BLASTP} 10",
    "blastp_6_more.txt": f"{BLASTP} '6 std qcovs qlen slen stitle'",
    "blastp_7_more.txt": f"{BLASTP} '7 std qgi sgi sallgi sallacc qcovus stitle'",
    "blastn_coverage.txt": f"{BLASTN} '6 qaccver saccver qstart qend sstart send qcovs qcovus'",
    "diamond.m8": DIAMOND,
    "diamond_simple.tsv": f"{DIAMOND} --header simple",
    "diamond_verbose.tsv": f"{DIAMOND} --header verbose",
    "diamond_unal.m8": f"{DIAMOND} --unal 1",
    "diamond_unal_simple.tsv": f"{DIAMOND} --unal 1 --header simple",
    "diamond_unal_more.tsv": f"{DIAMOND} --unal 1 --header verbose -f 6 qseqid sseqid pident "
    "length mismatch qlen slen evalue bitscore approx_pident qcovhsp cigar qtitle stitle",
    "mmseqs_0.m8": f"{MMSEQS} 0",
    "mmseqs_0_more.m8": f"{MMSEQS} 0 --format-output {NAMES},{MORE}",
    "mmseqs_2.m8": f"{MMSEQS} 2",
    "mmseqs_4.tsv": f"{MMSEQS} 4",
    "mmseqs_4_more.tsv": f"{MMSEQS} 4 -a --format-output {NAMES},{MORE}",
    "ssearch_8.m8": f"{SSEARCH} 8 q.fa t.fa",
    "ssearch_8C.txt": f"{SSEARCH} 8C q.fa t.fa",
    "ssearch_8CC.txt": f"{SSEARCH} 8CC q.fa t.fa",
    "ssearch_8CBL.txt": f"{SSEARCH} 8CBL q.fa t.fa",
}


def main() -> None:
    """Run all commands in a folder of their own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=HERE)
    into = parser.parse_args().into.resolve()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)

        def run(command: str) -> bytes:
            words = shlex.split(command)
            done = subprocess.run(words, cwd=work, check=True, capture_output=True)
            return done.stdout

        for ours, theirs in (
            *(("queries", "q"), ("targets", "t")),
            *(("coverage_query", "n"), ("coverage_targets", "m")),
        ):
            (work / f"{theirs}.fa").write_bytes((HERE / f"{ours}.fasta").read_bytes())
        run("makeblastdb -in t.fa -dbtype prot -out blast")
        run("diamond makedb --in t.fa -d diamond --quiet")
        for table, command in COMMANDS.items():
            text = run(command.replace("OUT", table))
            if "OUT" in command:
                text = (work / table).read_bytes()
            (into / table).write_bytes(text)
            print(f"{table}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
