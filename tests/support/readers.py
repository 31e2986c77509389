"""Every reader of a text that users give, with a text that it reads.

`READERS` is the table for tests of what all of them have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swdual.cli._times import read_times
from swdual.database.id_list import read_id_list
from swdual.database.taxids import find_accessions
from swdual.io.input import MAX_BYTES
from swdual.profiles import Profile, read_profile
from swdual.results.conversion import open_table
from swdual.scheduling.platform import Platform
from swdual.scheduling.workload.swf import read_trace
from swdual.sequences.alphabet import NUCLEOTIDE, PROTEIN
from swdual.sequences.fasta import read_sequences
from swdual.sequences.interval_file import read_intervals
from swdual.sequences.matrices import load
from swdual.server.tokens import read_tokens
from swdual.taxonomy.taxid_list import read_taxids

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
RESIDUES = "MKVLAWGGHERW"
ROW = "q1\tt1\t100.000\t50\t0\t0\t1\t50\t1\t50\t1e-20\t90.0\n"
JOB = "{} {} 1 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n"


class Reader(NamedTuple):
    """What reads a kind of file.

    Parameters
    ----------
    name
        The kind.
    ending
        How names of such files end.
    read
        Returns what a file says, for comparison.
    text
        Returns a text of so many units: records, rows, jobs, positions.
    damage
        Changes a text in its last unit, so that it is refused.
    """

    name: str
    ending: str
    read: Callable[[Path], Any]
    text: Callable[[int], str]
    damage: Callable[[str], str]


def _records(path: Path) -> list[Any]:
    return [(record.title, record.codes) for record in read_sequences(path)]


def _bases(path: Path) -> list[Any]:
    return [(record.title, record.codes) for record in read_sequences(path, NUCLEOTIDE)]


def _profile(path: Path) -> Any:
    found = read_profile(path)
    return found.codes, found.scores.tolist()


def _alignment(path: Path) -> Any:
    found = Profile.from_msa(path)
    return found.title, found.codes, found.scores.tolist()


def _accessions(path: Path) -> Any:
    header = np.frombuffer(b"A1", np.uint8)
    return find_accessions(header, np.array([2]), path).tolist()


def _rows(path: Path, before: str | None = None) -> Any:
    with open_table(path, before) as table:
        return table.fields, [[list(column) for column in chunk] for chunk in table.chunks]


def _fasta(count: int) -> str:
    return ">a first\n" + "M\n" * count + ">b\nMKV\n"


def _bad_fasta(text: str) -> str:
    return text.replace("\n>b", "1\n>b")


def _hmmer(count: int) -> str:
    other, own = f"{-math.log(0.01):.5f}", f"{-math.log(0.81):.5f}"
    transitions = "          0.01000 4.00000 4.00000 0.60000 0.80000 0.50000 0.70000"
    insertions = "          " + "  ".join([other] * 20)
    letters = sorted(AMINO_ACIDS)
    lines = [
        *("HMMER3/f [3.3.2 | Nov 2020]", "NAME  sample", "DESC  of a test"),
        *(f"LENG  {count}", "ALPH  amino", "RF    no"),
        "HMM          " + "        ".join(letters),
        "            m->m     m->i     m->d     i->m     i->i     d->m     d->d",
        *(insertions, transitions),
    ]
    for number in range(1, count + 1):
        own_letter = RESIDUES[number % len(RESIDUES)]
        cells = "  ".join(own if letter == own_letter else other for letter in letters)
        lines += [f"{number:>7}   {cells}  {number} a - - -", insertions, transitions]
    return "\n".join([*lines, "//", ""])


def _pssm(count: int) -> str:
    head = "\nLast position-specific scoring matrix computed\n           " + "  ".join(AMINO_ACIDS)
    rows = []
    for number in range(1, count + 1):
        letter = RESIDUES[number % len(RESIDUES)]
        cells = "  ".join(" 5" if each == letter else "-2" for each in AMINO_ACIDS)
        rows.append(f"{number:>5} {letter}  {cells}")
    foot = "                      K         Lambda\nPSI Gapped           0.0410     0.2670\n"
    return "\n".join([head, *rows, "", foot])


def _asn1(count: int) -> str:
    query = (RESIDUES * (count // len(RESIDUES) + 1))[:count]
    scores = ",\n".join(["5", *["-2"] * 27] * count)
    real = "{ 267, 10, -3 }"
    names = ("lambda", "kappa", "h", "lambdaUngapped", "kappaUngapped", "hUngapped")
    numbers = ",\n".join(f"{name} {real}" for name in names)
    return (
        "PssmWithParameters ::= {\npssm {\nisProtein TRUE,\nnumRows 28,\n"
        f"numColumns {count},\nbyRow FALSE,\n"
        f'query seq {{\nid {{\nlocal str "q"\n}},\ninst {{\nseq-data ncbieaa "{query}"\n}}\n}},\n'
        f"finalData {{\nscores {{\n{scores}\n}},\n{numbers}\n}}\n}}\n}}\n"
    )


def _jsonl(count: int) -> str:
    return "".join(f'{{"qseqid": "q{k}", "sseqid": "t", "score": 9}}\n' for k in range(count))


def _commented(count: int) -> str:
    names = (
        "query acc.ver, subject acc.ver, % identity, alignment length, mismatches, gap opens, "
        "q. start, q. end, s. start, s. end, evalue, bit score"
    )
    head = f"# BLASTP 2.12.0+\n# Query: q1\n# Database: x\n# Fields: {names}\n"
    return head + f"# {count} hits found\n" + ROW * count + "# BLAST processed 1 queries\n"


def _last(row: str, wrong: str) -> Callable[[str], str]:
    """Return what replaces the last one of equal parts of a text."""

    def damage(text: str) -> str:
        before, _, after = text.rpartition(row)
        return before + wrong + after

    return damage


def _before(path: Path) -> Any:
    return _rows(path, "7")


READERS = [
    Reader("FASTA", ".fa", _records, _fasta, _bad_fasta),
    Reader(
        "FASTA of bases",
        ".fna",
        _bases,
        lambda n: _fasta(n).replace("M\n", "A\n").replace("MKV", "ACG"),
        _bad_fasta,
    ),
    Reader("FASTQ", ".fq", _bases, lambda n: "@r\nACGT\n+\nIIII\n" * n, _last("ACGT", "AC1T")),
    Reader(
        "intervals",
        ".int",
        lambda path: list(read_intervals(path)),
        lambda n: ">a\n" + "3 - 9\n" * n,
        _last("3 - 9", "3 + 9"),
    ),
    Reader(
        "a3m",
        ".a3m",
        _alignment,
        lambda n: f">q\n{RESIDUES}\n" * n,
        _last(RESIDUES, "1" + RESIDUES[1:]),
    ),
    Reader(
        "Stockholm",
        ".sto",
        _alignment,
        lambda n: "# STOCKHOLM 1.0\n" + "".join(f"r{k} {RESIDUES}\n" for k in range(n)) + "//\n",
        _last(RESIDUES, "1" + RESIDUES[1:]),
    ),
    Reader(
        "Clustal",
        ".aln",
        _alignment,
        lambda n: "CLUSTAL W\n\n" + "".join(f"r{k} {RESIDUES}\n" for k in range(n)),
        _last(RESIDUES, "1" + RESIDUES[1:]),
    ),
    Reader("ASCII PSSM", ".pssm", _profile, _pssm, _last("-2", "x")),
    Reader("HMMER3", ".hmm", _profile, _hmmer, _last("0.21072", "x")),
    Reader("ASN.1", ".asn", _profile, _asn1, _last("-2", "#")),
    Reader("map of taxids", ".map", _accessions, lambda n: "A1 9606\n" * n, _last("9606", "x")),
    Reader(
        "list of taxids",
        ".txt",
        lambda path: read_taxids(path, "taxids"),
        lambda n: "9606\n" * n,
        _last("9606", "x"),
    ),
    Reader(
        "trace",
        ".swf",
        lambda path: read_trace(path).values.tolist(),
        lambda n: "; MaxProcs: 64\n" + "".join(JOB.format(k + 1, k) for k in range(n)),
        _last(" 1 100 4", " 1 x 4"),
    ),
    Reader("tabular", ".tsv", _rows, lambda n: ROW * n, _last("90.0", "x")),
    Reader("commented", ".m9", _before, _commented, _last("90.0", "x")),
    Reader("CSV", ".csv", _rows, lambda n: ROW.replace("\t", ",") * n, _last("90.0", "x")),
    Reader("JSON Lines", ".jsonl", _rows, _jsonl, _last("9}", "x}")),
    Reader(
        "JSON",
        ".json",
        _rows,
        lambda n: "[" + _jsonl(n).strip().replace("\n", ",\n") + "]\n",
        _last("9}", "x}"),
    ),
    Reader(
        "matrix",
        ".mat",
        lambda path: load(str(path), PROTEIN).scores.tolist(),
        lambda n: "# a matrix\n" * n + "  A R\nA 4 -1\nR -1 5\n",
        _last("-1 5", "-1 x"),
    ),
    Reader(
        "TOML",
        ".toml",
        Platform.load,
        lambda n: "# a machine\n" * n + "processors = 12\n",
        _last("12", "= 12"),
    ),
    Reader(
        "JSON platform",
        ".json",
        Platform.load,
        lambda n: "\n" * n + '{"processors": 12}\n',
        _last("12", "x"),
    ),
    Reader(
        "times",
        ".csv",
        lambda path: [column.tolist() for column in read_times(path)],
        lambda n: "cpu,gpu\n" + "1.5,2\n" * n,
        _last("1.5", "x"),
    ),
    Reader(
        "list of ids",
        ".ids",
        lambda path: list(read_id_list(str(path))),
        lambda n: "sp|P1|A first\n" * n,
        _last("first", "x" * MAX_BYTES),
    ),
    Reader(
        "tokens",
        ".tokens",
        lambda path: read_tokens(str(path)),
        lambda n: "0123456789abcdef\n" * n,
        _last("f", "\xe9"),
    ),
]
"""All of them."""
