"""Record PSI-BLAST's profiles and searches with them, as the ``profile_`` tables of this folder.

Usage::

    python tests/golden/record_profiles.py [--into FOLDER] [--threads N]

BLAST+ must be on the path. Nothing of swdual is imported, and no row is chosen by what it says.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from record import HERE, SAMPLES, Record, Recorder, first_word, records, said, words

HITS = words("qseqid sseqid score bitscore evalue qstart qend sstart send btop")
LETTERS = "-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
RESIDUES = "ARNDCQEGHILKMFPSTWYV"
STATISTICS = words("lambda kappa h lambdaUngapped kappaUngapped hUngapped")
EXACT = "-use_sw_tback"
ITERATED = f"-num_iterations 3 -comp_based_stats 0 {EXACT} -seg no"
MODES = [("0", ""), ("0", EXACT), ("1", EXACT)]
WITH_RATIOS = ("ordinary", "odd", "brief")
"""Cases of which the frequency ratios are recorded, after the first round."""

AS_PRINTED = ("odd", "brief")
"""Cases of which whole files are recorded, after the first round."""


class Case(NamedTuple):
    """A search in rounds.

    Attributes
    ----------
    name : str
        Of the case.
    query : str
        Identifier of the query.
    options : str
        Options of psiblast.
    rounds : int
        How many, at most.
    """

    name: str
    query: str
    options: str
    rounds: int


CASES = [
    *(
        Case(name, name, EXACT, 3)
        for name in words(
            "ordinary odd alike gapped brief long repeats single orphan biased distant"
        )
    ),
    *(Case(name, name, EXACT, 2) for name in words("polyq coil short query1 query2")),
    Case("histidine", "histidine", f"{EXACT} -inclusion_ethresh 0.005", 2),
    Case("ordinary_pseudocount", "ordinary", f"{EXACT} -pseudocount 12", 2),
    Case("ordinary_threshold", "ordinary", f"{EXACT} -inclusion_ethresh 1e-20", 2),
    Case("ordinary_BLOSUM45", "ordinary", f"{EXACT} -matrix BLOSUM45 -gapopen 14 -gapextend 2", 2),
    Case("orphan_BLOSUM45", "orphan", f"{EXACT} -matrix BLOSUM45 -gapopen 14 -gapextend 2", 1),
    Case("alike_BLOSUM80", "alike", f"{EXACT} -matrix BLOSUM80 -gapopen 10 -gapextend 1", 2),
    Case("odd_PAM70", "odd", f"{EXACT} -matrix PAM70 -gapopen 10 -gapextend 1", 2),
    Case("gapped_default", "gapped", "", 2),
]
ALIGNMENT_OPTIONS = {
    "": "",
    "_third": "-msa_master_idx 3",
    "_ignored": "-ignore_msa_master",
}


class Matrix(NamedTuple):
    """What PSI-BLAST writes of a profile, all numbers as it writes them."""

    query: str
    scores: list[list[str]]
    ratios: list[list[str]]
    statistics: list[str]


def list_of(text: str, name: str) -> str:
    """Return the elements of a list in ASN.1 text."""
    return re.search(rf"\b{name} \{{(.*?)\n *\}},?\n", text, re.DOTALL)[1]


def real(number: tuple[str, str]) -> str:
    """Return a real number of ASN.1, ``{ mantissa, 10, exponent }``."""
    mantissa, exponent = number
    return "0" if mantissa == "0" else f"{mantissa}e{exponent}"


def read_matrix(path: Path) -> Matrix:
    """Return a profile in ASN.1 text."""
    text = path.read_text()
    code, sequence = re.search(r"seq-data (\w+) ['\"](.*?)['\"]", text, re.DOTALL).groups()
    query = re.sub(r"\s", "", sequence)
    if code == "ncbistdaa":
        query = "".join(LETTERS[code] for code in bytes.fromhex(query))
    numbers = re.findall(r"-?\d+", list_of(text, "scores"))
    ratios = list(map(real, re.findall(r"\{ (\d+), 10, (-?\d+) \}", list_of(text, "freqRatios"))))
    assert len(numbers) == len(ratios) == len(query) * len(LETTERS)
    found = [re.search(rf"\b{name} \{{ (\d+), 10, (-?\d+) \}}", text) for name in STATISTICS]
    starts = range(0, len(numbers), len(LETTERS))
    return Matrix(
        query,
        [numbers[at : at + len(LETTERS)] for at in starts],
        [ratios[at : at + len(LETTERS)] for at in starts],
        [real(match.groups()) for match in found],
    )


class ProfileRecorder:
    """Runs psiblast and collects what the tables have.

    Parameters
    ----------
    recorder : Recorder
        Writes the tables.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.work = recorder.work
        self.queries = {
            first_word(record): record
            for path in (
                SAMPLES / "queries.fasta",
                HERE / "biased_queries.fasta",
                HERE / "profile_queries.fasta",
            )
            for record in records(path)
        }
        targets: list[Record] = [
            record
            for path in (
                SAMPLES / "proteins.fasta",
                HERE / "biased_targets.fasta",
                HERE / "profile_targets.fasta",
            )
            for record in records(path)
        ]
        self.database = recorder.blast_database(recorder.fasta("targets.fasta", targets), "prot")
        self.cases: list[list[str]] = []
        self.iterated: list[list[str]] = []
        self.rounds: list[list[str]] = []
        self.searches: list[list[str]] = []
        self.scores: list[list[str]] = []
        self.ratios: list[list[str]] = []
        self.statistics: list[list[str]] = []
        self.seeded: list[list[str]] = []

    def psiblast(self, *options: str) -> tuple[str, str]:
        """Return what psiblast prints, and its warnings."""
        command = ["psiblast", "-db", str(self.database), *options]
        command += ["-num_threads", str(self.recorder.threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout, done.stderr

    def keep(self, case: str, number: int, path: Path) -> None:
        """Keep a profile."""
        matrix = read_matrix(path)
        name = [case, str(number)]
        self.statistics.append([*name, *matrix.statistics])
        for place, (letter, scores, ratios) in enumerate(
            zip(matrix.query, matrix.scores, matrix.ratios, strict=True), 1
        ):
            self.scores.append([*name, str(place), letter, *scores])
            if case in WITH_RATIOS and number == 1:
                known = [ratios[LETTERS.index(residue)] for residue in RESIDUES]
                assert ratios.count("0") - known.count("0") == len(LETTERS) - len(RESIDUES)
                self.ratios.append([*name, str(place), letter, *known])

    def search_in_rounds(self, case: Case) -> None:
        """Search from a sequence."""
        query = self.recorder.fasta(f"{case.name}.fasta", [self.queries[case.query]])
        saved = self.work / f"{case.name}.asn"
        common = ["-query", str(query), "-outfmt", "7 " + " ".join(HITS), *words(case.options)]
        text, _ = self.psiblast(
            *common,
            *words(f"-num_iterations {case.rounds} -save_each_pssm -save_pssm_after_last_round"),
            *("-out_pssm", str(saved)),
        )
        converged = "yes" if "Search has CONVERGED!" in text else "no"
        self.cases.append([case.name, case.query, str(case.rounds), case.options, converged])
        number = 0
        for line in text.splitlines():
            if match := re.match(r"# Iteration: (\d+)", line):
                number = int(match[1])
            elif "\t" in line:
                self.rounds.append([case.name, str(number), *line.split("\t")])
        for number in range(1, case.rounds + 1):
            path = saved.with_suffix(f".asn.{number}")
            if path.exists():
                self.keep(case.name, number, path)
        self.search_again(case, saved.with_suffix(".asn.1"))
        if case.name in AS_PRINTED:
            table = self.work / f"{case.name}.pssm"
            once = self.work / f"{case.name}.once.asn"
            for option, path in (("-out_ascii_pssm", table), ("-out_pssm", once)):
                self.psiblast(*common, "-save_pssm_after_last_round", option, str(path))
                self.write_file(f"profile_{case.name}{path.suffix}", path)

    def iterate(self) -> None:
        """Search with all queries, in rounds without composition-based statistics."""
        query = self.recorder.fasta("queries.fasta", [*self.queries.values()])
        text, _ = self.psiblast(
            *("-query", str(query), "-outfmt", "7 " + " ".join(HITS), *words(ITERATED))
        )
        number = ""
        for line in text.splitlines():
            if match := re.match(r"# Iteration: (\d+)", line):
                number = match[1]
            elif "\t" in line:
                self.iterated.append([number, *line.split("\t")])

    def search_again(self, case: Case, profile: Path) -> None:
        """Search with the profile of the first round."""
        matrix = re.sub(r"-(use_sw_tback|pseudocount \S+|inclusion_ethresh \S+)", "", case.options)
        for mode, traceback in MODES:
            text, _ = self.psiblast(
                *("-in_pssm", str(profile), "-comp_based_stats", mode),
                *words(f"{traceback} {matrix}"),
                *("-outfmt", "6 " + " ".join(HITS)),
            )
            rows = [line.split("\t") for line in text.splitlines() if "\t" in line]
            exact = "yes" if traceback else "no"
            self.searches += [[case.name, mode, exact, *row[1:]] for row in rows]

    def from_alignments(self) -> None:
        """Make profiles of multiple alignments."""
        rows: dict[str, list[Record]] = {}
        for line in (HERE / "profile_alignments.tsv").read_text().splitlines()[1:]:
            name, sequence, row = line.split("\t")
            rows.setdefault(name, []).append((sequence, row))
        for name, sequences in rows.items():
            path = self.recorder.fasta(f"alignment_{name}.fasta", sequences)
            for suffix, options in ALIGNMENT_OPTIONS.items():
                saved = self.work / f"alignment_{name}{suffix}.asn"
                self.psiblast("-in_msa", str(path), *words(options), "-out_pssm", str(saved))
                case = f"alignment_{name}{suffix}"
                self.cases.append([case, f"alignment {name}", "1", options, "no"])
                self.keep(case, 1, saved)

                if not suffix:
                    self.seed(name, [row for _, row in sequences])

    def seed(self, name: str, rows: list[str]) -> None:
        """Make the profile of a multiple alignment whose gaps have the query's residues."""
        kept = [place for place, letter in enumerate(rows[0]) if letter != "-"]
        filled = [
            "".join(rows[0][k] if row[k] == "-" else row[k] for k in kept).upper() for row in rows
        ]
        named = [(f"row{k}", row) for k, row in enumerate(filled)]
        path = self.recorder.fasta(f"seeded_{name}.fasta", named)
        saved = self.work / f"seeded_{name}.asn"
        self.psiblast("-in_msa", str(path), "-out_pssm", str(saved))
        matrix = read_matrix(saved)
        for place, (letter, scores) in enumerate(zip(matrix.query, matrix.scores, strict=True), 1):
            self.seeded.append([name, str(place), letter, *scores])

    def write_file(self, name: str, path: Path) -> None:
        """Write a whole file as psiblast wrote it."""
        into = self.recorder.into / f"{name}.gz"
        with into.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
            file.write(path.read_bytes())
        print(f"{into.name}: {into.stat().st_size} bytes")

    def tables(self) -> Iterator[tuple[str, list[str], str, list[str], list[list[str]]]]:
        """Yield name, command, note, columns and rows of each table."""
        hits = "7 " + " ".join(HITS)
        rounds = [
            *words("psiblast -query QUERY -db TARGETS OPTIONS -num_iterations ROUNDS"),
            *words("-save_each_pssm -save_pssm_after_last_round -out_pssm PSSM -outfmt"),
            hits,
        ]
        search = [
            *words("psiblast -in_pssm PSSM.1 -db TARGETS -comp_based_stats MODE EXACT -outfmt"),
            "6 " + " ".join(HITS),
        ]
        note = "PSSM.ROUND is what profile_rounds wrote; alignment_ cases come from"
        note += " psiblast -in_msa ALIGNMENT -db TARGETS OPTIONS -out_pssm PSSM.1"
        targets = "TARGETS is data/proteins.fasta, biased_targets and profile_targets"
        cases = words("case query rounds options converged")
        yield "profile_cases.tsv", rounds, note, cases, self.cases
        yield "profile_rounds.tsv.gz", rounds, targets, ["case", "round", *HITS], self.rounds
        columns = ["case", "mode", "exact", *HITS[1:]]
        iterated = ["psiblast", "-query", "QUERIES", "-db", "TARGETS", *words(ITERATED)]
        iterated += ["-outfmt", hits]
        yield "profile_iterated.tsv.gz", iterated, targets, ["round", *HITS], self.iterated
        exact = f"exact is yes where EXACT is {EXACT}; -matrix, -gapopen and -gapextend as before"
        yield "profile_searches.tsv.gz", search, exact, columns, self.searches
        place = words("case round place letter")
        yield "profile_scores.tsv.gz", rounds, note, [*place, *LETTERS], self.scores
        yield "profile_ratios.tsv.gz", rounds, note, [*place, *RESIDUES], self.ratios
        seeded = ["psiblast", "-in_msa", "SEEDED", "-db", "TARGETS", "-out_pssm", "PSSM"]
        note_seeded = "SEEDED is ALIGNMENT in upper case, in the columns of its first row, with the"
        note_seeded += " residues of that row where others have gaps"
        columns = ["alignment", "place", "letter", *LETTERS]
        yield "profile_seeded.tsv.gz", seeded, note_seeded, columns, self.seeded
        columns = ["case", "round", *STATISTICS]
        yield "profile_statistics.tsv.gz", rounds, note, columns, self.statistics


def main() -> None:
    """Record the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--into", type=Path, default=HERE, help="folder for the tables")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        recorder = Recorder(HERE, Path(work), arguments.into, arguments.threads)
        recorder.versions["psiblast"] = said("psiblast", "-version").splitlines()[0]
        profiles = ProfileRecorder(recorder)
        for case in CASES:
            profiles.search_in_rounds(case)
        profiles.from_alignments()
        profiles.iterate()
        for name, command, note, columns, rows in profiles.tables():
            recorder.write(name, "psiblast", command, [note], columns, rows)


if __name__ == "__main__":
    main()
