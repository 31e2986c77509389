"""Record what other programs print, as the golden tables of this folder.

Usage::

    python tests/golden/record.py FOLDER [--only NAME ...] [--into FOLDER] [--threads N]

``FOLDER`` holds the sequence sets (``queries20.fasta.gz`` and so on).  DIAMOND, BLAST+, tantan
and the FASTA programs must be on the path; their versions are printed and written into every table.
Nothing of swdual is imported, and no row is chosen by what it says: a table has every row that
its command prints.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "data"


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


COMMON = words(
    "qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore score"
)
DIAMOND = [*COMMON, "nident", "gaps", "qcovhsp"]
BLASTP = [*COMMON, *words("btop nident positive gaps ppos qcovhsp qframe sframe")]
BLASTN = [*COMMON, *words("sstrand qframe sframe qcovhsp btop")]
ADJUSTED = words(
    "qseqid sseqid score bitscore evalue nident positive length qstart qend sstart send"
)
REPEATED = [*ADJUSTED, "qcovs", "qcovhsp"]
SSEARCH = words("qseqid sseqid score qstart qend sstart send strand pident length cigar")

PROTEIN_SCORINGS = [
    ("BLOSUM62", 11, 1),
    ("BLOSUM45", 14, 2),
    ("BLOSUM50", 13, 2),
    ("BLOSUM80", 10, 1),
    ("BLOSUM90", 10, 1),
    ("PAM30", 9, 1),
    ("PAM70", 10, 1),
    ("PAM250", 15, 2),
]
SEG = [(12, 2.2, 2.5), (10, 1.8, 2.1), (25, 3.0, 3.3), (7, 1.0, 2.0), (2, 0.0, 1.0), (1, 0.5, 0.5)]
DUST = [(20, 64, 1), (20, 64, 5), (30, 64, 1), (10, 30, 1), (5, 8, 1), (64, 64, 32)]
THRESHOLDS = [(0.5,), (0.9,)]
MASK_NOTES = [
    "options are the values of FIRST, SECOND and THIRD; start and end count from 0, and end is the",
    "letter behind the last one; the program's last letters were raised by 1 for that",
]
ADJUSTED_SCORINGS = [
    ("BLOSUM45", 14, 2),
    ("BLOSUM50", 13, 2),
    ("BLOSUM80", 10, 1),
    ("PAM70", 10, 1),
]
NUCLEOTIDE_SCORINGS = [(2, -3, 5, 2), (1, -2, 2, 2), (1, -1, 3, 2)]

Record = tuple[str, str]


class Recorder:
    """Runs the programs in a folder of its own and writes their tables.

    Parameters
    ----------
    sets : Path
        The folder of the sequence sets.
    work : Path
        An empty folder for databases and query files.
    into : Path
        Where the tables go.
    threads : int
        How many threads the programs may have.
    """

    def __init__(self, sets: Path, work: Path, into: Path, threads: int) -> None:
        self.sets, self.work, self.into, self.threads = sets, work, into, threads
        self.versions = {
            "diamond": said("diamond", "version"),
            "blastp": said("blastp", "-version").splitlines()[0],
            "blastn": said("blastn", "-version").splitlines()[0],
            "ssearch36": "ssearch36 " + re.search(r"version: (.*)", said("ssearch36", "-h"))[1],
            "segmasker": "segmasker "
            + re.search(r"blast ([0-9.]+)", said("segmasker", "-version"))[1],
            "dustmasker": "dustmasker "
            + re.search(r"blast ([0-9.]+)", said("dustmasker", "-version"))[1],
            "tantan": said("tantan", "--version"),
        }

    def run(self, shown: list[str], hidden: dict[str, Path], extra: list[str]) -> str:
        """Return what a program prints, with the words of `hidden` replaced by their files."""
        return said(*(str(hidden.get(word, word)) for word in shown), *extra)

    def write(
        self,
        name: str,
        program: str,
        command: list[str],
        notes: list[str],
        columns: list[str],
        rows: list[list[str]],
    ) -> None:
        """Write one table: comments, the names of the columns, the rows."""
        lines = [f"# {self.versions[program]}", "# " + " ".join(map(quoted, command))]
        lines += [f"# {note}" for note in notes]
        lines += ["\t".join(columns), *("\t".join(row) for row in rows)]
        text = ("\n".join(lines) + "\n").encode()
        path = self.into / name
        if path.suffix == ".gz":
            with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
                file.write(text)
        else:
            path.write_bytes(text)
        print(f"{name}: {len(rows)} rows, {path.stat().st_size} bytes")

    def fasta(self, name: str, records: list[Record]) -> Path:
        """Return a plain file of these records."""
        path = self.work / name
        path.write_text("".join(f">{header}\n{sequence}\n" for header, sequence in records))
        return path

    def blast_database(self, path: Path, kind: str) -> Path:
        """Return a BLAST database of a plain file."""
        base = self.work / f"{path.stem}.blast"
        said("makeblastdb", "-in", str(path), "-dbtype", kind, "-out", str(base))
        return base

    # The tables.

    def diamond(self, name: str, scoring: tuple, queries: Path, targets: Path, note: str) -> None:
        """Record DIAMOND's exhaustive search: no heuristic, no masking, no correction."""
        database = self.work / f"{targets.name}.dmnd"
        if not database.exists():
            said("diamond", "makedb", "--in", str(targets), "--db", str(database), "--quiet")
        matrix, gap_open, gap_extend = map(str, scoring)
        command = [
            *words("diamond blastp --swipe --comp-based-stats 0 --masking 0 -k 0 -e 10"),
            *words(f"--matrix {matrix} --gapopen {gap_open} --gapextend {gap_extend}"),
            *words("--query QUERIES --db TARGETS --outfmt 6"),
            *DIAMOND,
        ]
        hidden = {"QUERIES": queries, "TARGETS": database}
        text = self.run(command, hidden, ["--threads", str(self.threads), "--quiet"])
        self.write(name, "diamond", command, [note], DIAMOND, tabular(text))

    def blastp(self, name: str, queries: Path, targets: Path, note: str) -> None:
        """Record blastp without masking and correction; its search is still a heuristic."""
        command = [
            *words("blastp -matrix BLOSUM62 -gapopen 11 -gapextend 1 -comp_based_stats 0"),
            *words("-seg no -max_hsps 1 -evalue 10 -max_target_seqs 5000"),
            *words("-query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(BLASTP),
        ]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "prot")}
        text = self.run(command, hidden, ["-num_threads", str(self.threads)])
        self.write(name, "blastp", command, [note], BLASTP, tabular(text))

    def adjusted(
        self, name: str, mode: int, scoring: tuple, evalue: int, files: list[Path], note: str
    ) -> None:
        """Record blastp's composition-based statistics; it aligns by Smith-Waterman.

        Which targets it aligns is still decided by its heuristic.
        """
        matrix, gap_open, gap_extend = map(str, scoring)
        command = [
            *words(f"blastp -use_sw_tback -comp_based_stats {mode} -seg no -evalue {evalue}"),
            *words(f"-matrix {matrix} -gapopen {gap_open} -gapextend {gap_extend}"),
            *words("-max_hsps 1 -max_target_seqs 5000 -query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(ADJUSTED),
        ]
        hidden = {"QUERIES": files[0], "TARGETS": self.blast_database(files[1], "prot")}
        text = self.run(command, hidden, ["-num_threads", str(self.threads)])
        self.write(name, "blastp", command, [note], ADJUSTED, tabular(text))

    def masked(
        self, name: str, queries: Path, targets: Path, note: str, soft: bool = False
    ) -> None:
        """Record blastp with masked queries; it aligns by Smith-Waterman."""
        command = [
            *words("blastp -use_sw_tback -seg yes -comp_based_stats 0 -evalue 10 -max_hsps 1"),
            *words("-soft_masking true" if soft else ""),
            *words("-max_target_seqs 5000 -query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(BLASTP),
        ]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "prot")}
        # One thread: with two, it once printed a worse alignment of two of the pairs.
        text = self.run(command, hidden, [])
        self.write(name, "blastp", command, [note], BLASTP, tabular(text))

    def masked_adjusted(self, name: str, queries: Path, targets: Path, note: str) -> None:
        """Record composition-based statistics in all modes with masked queries."""
        shown = [
            *words("blastp -use_sw_tback -seg yes -evalue 10 -max_hsps 1 -max_target_seqs 5000"),
            *words("-query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(ADJUSTED),
        ]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "prot")}
        rows = []
        for mode in "123":
            command = [*shown, "-comp_based_stats", mode]
            rows += [[mode, *row] for row in tabular(self.run(command, hidden, []))]
        command = [*shown, "-comp_based_stats", "MODE"]
        self.write(name, "blastp", command, [note], ["mode", *ADJUSTED], rows)

    def repeated(self, name: str, queries: Path, targets: Path, note: str) -> None:
        """Record several alignments a target, with and without composition-based statistics."""
        shown = [
            *words("blastp -use_sw_tback -seg no -evalue 10 -max_hsps 5 -max_target_seqs 5000"),
            *words("-query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(REPEATED),
        ]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "prot")}
        rows = []
        for mode in "02":
            command = [*shown, "-comp_based_stats", mode]
            rows += [[mode, *row] for row in tabular(self.run(command, hidden, []))]
        command = [*shown, "-comp_based_stats", "MODE"]
        self.write(name, "blastp", command, [note], ["mode", *REPEATED], rows)

    def default(self, name: str, queries: Path, targets: Path, note: str) -> None:
        """Record blastp with no option but the columns."""
        command = [*words("blastp -query QUERIES -db TARGETS -outfmt"), "6 " + " ".join(ADJUSTED)]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "prot")}
        self.write(
            name, "blastp", command, [note], ADJUSTED, tabular(self.run(command, hidden, []))
        )

    def adjusted_letters(self, name: str, sequences: Path, note: str) -> None:
        """Record the composition-based statistics of rare letters in all modes."""
        shown = [
            *words("blastp -use_sw_tback -seg no -max_hsps 1 -evalue 10"),
            *words("-query QUERIES -db QUERIES -outfmt"),
            "6 " + " ".join(ADJUSTED),
        ]
        hidden = {"QUERIES": sequences}
        database = self.blast_database(sequences, "prot")
        rows = []
        for mode in "123":
            command = [*shown, "-comp_based_stats", mode]
            command[command.index("-db") + 1] = str(database)
            rows += [[mode, *row] for row in tabular(self.run(command, hidden, []))]
        command = [*shown, "-comp_based_stats", "MODE"]
        self.write(name, "blastp", command, [note], ["mode", *ADJUSTED], rows)

    def letters(self, name: str, sequences: Path, note: str) -> None:
        """Record blastp's scores of rare letters under every matrix at its own gap prices.

        Short words and a low threshold let its heuristic find nearly every optimum.
        """
        shown = [
            *words("blastp -comp_based_stats 0 -seg no -max_hsps 1 -evalue 1e6 -word_size 2"),
            *words("-threshold 8 -query QUERIES -subject QUERIES -outfmt"),
            "6 qseqid sseqid score",
        ]
        rows = []
        for matrix, *_ in PROTEIN_SCORINGS:
            command = [*shown, "-matrix", matrix]
            text = self.run(command, {"QUERIES": sequences}, [])
            rows += [[matrix, *row] for row in tabular(text)]
        columns = words("matrix qseqid sseqid score")
        self.write(name, "blastp", [*shown, "-matrix", "MATRIX"], [note], columns, rows)

    def masks(
        self, name: str, command: list[str], values: list[tuple], sequences: Path, note: str
    ) -> None:
        """Record what a program masks, for several values of its options."""
        rows = []
        for each in values:
            options = dict(zip(words("FIRST SECOND THIRD"), map(str, each), strict=False))
            text = self.run(
                [options.get(word, word) for word in command], {"QUERIES": sequences}, []
            )
            rows += [["_".join(options.values()), *row] for row in intervals(text)]
        columns = words("options qseqid start end")
        self.write(name, command[0], command, [note, *MASK_NOTES], columns, rows)

    def blastn(
        self,
        name: str,
        scoring: tuple,
        queries: Path,
        targets: Path,
        notes: list[str],
        masking: str = "-dust no -soft_masking false",
    ) -> None:
        """Record blastn with short words; its search is still a heuristic."""
        reward, penalty, gap_open, gap_extend = map(str, scoring)
        command = [
            *words(f"blastn -task blastn {masking} -word_size 7"),
            *words(f"-reward {reward} -penalty {penalty} -gapopen {gap_open}"),
            *words(f"-gapextend {gap_extend} -max_hsps 1 -evalue 10 -max_target_seqs 5000"),
            *words("-query QUERIES -db TARGETS -outfmt"),
            "6 " + " ".join(BLASTN),
        ]
        hidden = {"QUERIES": queries, "TARGETS": self.blast_database(targets, "nucl")}
        text = self.run(command, hidden, ["-num_threads", str(self.threads)])
        self.write(name, "blastn", command, notes, BLASTN, tabular(text))

    def ssearch(
        self, name: str, options: str, queries: Path, targets: Path, notes: list[str]
    ) -> None:
        """Record the first scores of ssearch36 with their alignments; it is exhaustive.

        It cuts long identifiers short, so the targets are numbered for it.
        """
        command = ["ssearch36", *words("-q -z -1 -d 0 -m 9C"), *options.split()]
        command += ["QUERIES", "TARGETS"]
        names = [first_word(record) for record in records(targets)]
        numbered = [(str(at), sequence) for at, (_, sequence) in enumerate(records(targets))]
        hidden = {"QUERIES": queries, "TARGETS": self.fasta("numbered.fasta", numbered)}
        text = self.run(command, hidden, [])
        rows = [[row[0], names[int(row[1])], *row[2:]] for row in ssearch_rows(text)]
        notes = [
            *notes,
            "score is the raw score; pident is the identical share of the columns; with strand -1",
            "the query was reverse-complemented: its coordinates run down, the target's up",
            "ssearch36 codes gaps the other way round; cigar has SAM's letters, the query the read",
        ]
        self.write(name, "ssearch36", command, notes, SSEARCH, rows)


def said(*command: str) -> str:
    """Return a program's output, or stop with what it complained of."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip("\n")


def quoted(word: str) -> str:
    """Return a word as a shell wants it."""
    return f'"{word}"' if " " in word else word


def tabular(text: str) -> list[list[str]]:
    """Return the rows of tabular output."""
    return [line.split("\t") for line in text.splitlines()]


def intervals(text: str) -> Iterator[list[str]]:
    """Yield the rows of BED, and of NCBI's intervals, whose ends are the last letters."""
    name = ""
    for line in text.splitlines():
        if line.startswith(">"):
            name = line[1:].split()[0]
        elif "\t" in line:
            yield line.split("\t")
        else:
            start, end = line.split(" - ")
            yield [name, start, str(int(end) + 1)]


def ssearch_rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of the lists of best scores in ssearch36's own format with ``-m 9C``."""
    query = None
    for line in text.splitlines():
        if title := re.match(r"\s*\d+>>>(\S+)", line):
            query, listed = title[1], False
        elif line.startswith("The best scores are:"):
            listed = True
        elif query is not None and listed and "\t" in line:
            description, figures, code = line.split("\t")
            before = re.search(r"\(\s*\d+\)\s*(?:\[([fr])\])?\s+(-?\d+)\s*$", description)
            figures = figures.split()
            qstart, qend, sstart, send = (figures[at] for at in (4, 5, 8, 9))
            # 4 and 5 are the query's ends, 6 and 7 what of it was shown, 8 and 9 the target's.
            yield [
                query,
                description.split()[0],
                before[2],
                qstart,
                qend,
                sstart,
                send,
                "-1" if before[1] == "r" else "1",
                figures[0],
                figures[3],
                code.translate(str.maketrans("ID", "DI")),
            ]


def records(path: Path) -> list[Record]:
    """Return headers and sequences of a FASTA file, gzip'ed or not."""
    opener: Callable = gzip.open if path.suffix == ".gz" else open
    found: list[list[str]] = []
    with opener(path, "rt") as file:
        for line in file:
            if line.startswith(">"):
                found.append([line[1:].strip(), ""])
            else:
                found[-1][1] += line.strip()
    return [(header, sequence) for header, sequence in found]


def turned(sequence: str) -> str:
    """Return the reverse complement."""
    return sequence[::-1].translate(str.maketrans("ACGT", "TGCA"))


def first_word(record: Record) -> str:
    """Return a record's identifier."""
    return record[0].split()[0]


def nucleotide_queries(genes: list[Record], resistance: list[Record]) -> list[Record]:
    """Return every 192nd of the genes, every 800th resistance gene and the first two with N."""
    chosen = genes[:1920:192] + resistance[::800]
    return chosen + [record for record in resistance if "N" in record[1]][:2]


def every_second_turned(chosen: list[Record]) -> tuple[list[Record], list[str]]:
    """Return the records, each second one reverse-complemented, and notes that say so."""
    queries, notes = [], []
    for at, (header, sequence) in enumerate(chosen):
        queries.append((header, turned(sequence) if at % 2 else sequence))
        notes.append(f"query: {first_word((header, ''))} {'turned' if at % 2 else 'as found'}")
    return queries, ["queries called turned were reverse-complemented, N staying N", *notes]


def main() -> None:
    """Record the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path, help="folder of the sequence sets")
    parser.add_argument("--only", nargs="*", help="names of tables: no others are recorded")
    parser.add_argument("--into", type=Path, default=HERE, help="folder for the tables")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        recorder = Recorder(arguments.sets, Path(work), arguments.into, arguments.threads)
        for version in recorder.versions.values():
            print(version)
        for name, record in tables(recorder):
            if not arguments.only or name in arguments.only:
                record(name)


def tables(recorder: Recorder) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Yield every table's name and what records it."""
    sets = recorder.sets
    sample = [SAMPLES / "queries.fasta", SAMPLES / "proteins.fasta"]
    note = "QUERIES is data/queries.fasta and TARGETS data/proteins.fasta"
    blosum62 = PROTEIN_SCORINGS[0]
    yield "sample_diamond.tsv", lambda name: recorder.diamond(name, blosum62, *sample, note)
    yield "sample_blastp.tsv", lambda name: recorder.blastp(name, *sample, note)
    options = "-s BP62 -f -11 -g -1 -b 100"
    yield "sample_ssearch.tsv", lambda name: recorder.ssearch(name, options, *sample, [note])
    vtml = "-s VT200 -f -10 -g -2 -b 100"
    yield "sample_ssearch_VTML200.tsv", lambda name: recorder.ssearch(name, vtml, *sample, [note])

    note = "QUERIES is letters.fasta beside this table"
    yield "letters_blastp.tsv", lambda name: recorder.letters(name, HERE / "letters.fasta", note)

    yield (
        "letters_adjusted.tsv.gz",
        lambda name: recorder.adjusted_letters(name, HERE / "letters.fasta", note),
    )
    yield from adjusted_tables(recorder, sample)
    note = "QUERIES is biased_queries.fasta and TARGETS biased_targets.fasta, beside this table"
    biased = [HERE / "biased_queries.fasta", HERE / "biased_targets.fasta"]
    yield "masked_blastp.tsv.gz", lambda name: recorder.masked(name, *biased, note)
    yield "masked_adjusted.tsv.gz", lambda name: recorder.masked_adjusted(name, *biased, note)
    yield "softly_masked_blastp.tsv.gz", lambda name: recorder.masked(name, *biased, note, True)

    note = "QUERIES is repeated_queries.fasta and TARGETS repeated_targets.fasta, beside this table"
    repeated = [HERE / "repeated_queries.fasta", HERE / "repeated_targets.fasta"]
    yield "repeated_blastp.tsv.gz", lambda name: recorder.repeated(name, *repeated, note)

    for kind, program, command, values in (
        ("proteins", "segmasker", "-window FIRST -locut SECOND -hicut THIRD -in QUERIES", SEG),
        ("proteins", "tantan", "-p -f3 -s FIRST QUERIES", THRESHOLDS),
        (
            "nucleotides",
            "dustmasker",
            "-level FIRST -window SECOND -linker THIRD -in QUERIES",
            DUST,
        ),
        ("nucleotides", "tantan", "-f3 -s FIRST QUERIES", THRESHOLDS),
    ):
        biased = recorder.fasta(f"{kind}.fasta", records(HERE / f"biased_{kind}.fasta.gz"))
        note = f"QUERIES is biased_{kind}.fasta.gz beside this table"
        yield (
            f"masks_{kind}_{program}.tsv.gz",
            functools.partial(
                recorder.masks,
                command=[program, *words(command)],
                values=values,
                sequences=biased,
                note=note,
            ),
        )

    twenty = records(sets / "queries20.fasta.gz")
    ten = recorder.fasta("queries10.fasta", twenty[::2])
    targets = recorder.fasta("bench20k.fasta", records(sets / "bench20k.fasta.gz"))
    note = "QUERIES is every second record, from the first, of queries20; TARGETS is bench20k"
    for scoring in PROTEIN_SCORINGS:
        name = "protein_diamond_{}_{}_{}.tsv".format(*scoring)
        yield name, lambda name, s=scoring: recorder.diamond(name, s, ten, targets, note)
    yield "protein_blastp.tsv.gz", lambda name: recorder.blastp(name, ten, targets, note)

    resistance = records(sets / "nt_resfinder.fasta.gz")
    genes = records(sets / "nt_ecoli_genes.fasta.gz")
    queries, said_of = every_second_turned(nucleotide_queries(genes, resistance))
    mixed = recorder.fasta("nucleotides.fasta", queries)
    resfinder = recorder.fasta("nt_resfinder.fasta", resistance)
    notes = ["QUERIES are records of nt_ecoli_genes and nt_resfinder; TARGETS is nt_resfinder"]
    for scoring in NUCLEOTIDE_SCORINGS:
        name = "nucleotide_blastn_{}_{}_{}_{}.tsv.gz".format(*map(abs, scoring))
        yield (
            name,
            lambda name, s=scoring: recorder.blastn(name, s, mixed, resfinder, [*notes, *said_of]),
        )
    soft = "-dust yes -soft_masking true"
    yield (
        "softly_masked_blastn.tsv.gz",
        lambda name: recorder.blastn(
            name, NUCLEOTIDE_SCORINGS[0], mixed, resfinder, [*notes, *said_of], soft
        ),
    )
    few, few_said = every_second_turned(genes[:1920:96])
    genes_only = recorder.fasta("genes.fasta", few)
    genomes = recorder.fasta("nt_genomes_small.fasta", records(sets / "nt_genomes_small.fasta.gz"))
    notes_of_genomes = ["QUERIES are records of nt_ecoli_genes; TARGETS is nt_genomes_small"]
    yield (
        "nucleotide_blastn_genomes_2_3_5_2.tsv",
        lambda name: recorder.blastn(
            name, NUCLEOTIDE_SCORINGS[0], genes_only, genomes, [*notes_of_genomes, *few_said]
        ),
    )
    short, short_said = every_second_turned(genes[:1920:320])
    six = recorder.fasta("six.fasta", short)
    options = "-n -r +2/-3 -f -5 -g -2 -b 40"
    notes_of_ssearch = ["QUERIES are records of nt_ecoli_genes; TARGETS is nt_resfinder"]
    yield (
        "nucleotide_ssearch_2_3_5_2.tsv",
        lambda name: recorder.ssearch(
            name, options, six, resfinder, [*notes_of_ssearch, *short_said]
        ),
    )


def adjusted_tables(
    recorder: Recorder, sample: list[Path]
) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Yield the tables of composition-based statistics, and what records each."""
    made = [records(HERE / f"biased_{kind}.fasta") for kind in ("queries", "targets")]
    both = [
        recorder.fasta(f"adjusted_{ours.name}", records(ours) + more)
        for ours, more in zip(sample, made, strict=True)
    ]
    note = "QUERIES and TARGETS are those of data/ followed by biased_queries and biased_targets"
    blosum62 = PROTEIN_SCORINGS[0]
    for mode in (1, 2, 3):
        name = f"adjusted_{mode}_BLOSUM62_11_1.tsv.gz"
        yield name, lambda name, m=mode: recorder.adjusted(name, m, blosum62, 100, both, note)
    yield "adjusted_default.tsv.gz", lambda name: recorder.default(name, *both, note)
    few = [recorder.fasta("biased.fasta", made[0]), both[1]]
    note_of_few = "QUERIES is biased_queries; TARGETS is data/proteins.fasta and biased_targets"
    for scoring in ADJUSTED_SCORINGS:
        name = "adjusted_2_{}_{}_{}.tsv.gz".format(*scoring)
        yield (
            name,
            lambda name, s=scoring: recorder.adjusted(name, 2, s, 10, few, note_of_few),
        )


if __name__ == "__main__":
    main()
