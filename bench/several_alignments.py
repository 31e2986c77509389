"""Are the alignments of `--max-hsps` those of blastp's Smith-Waterman traceback?

    python bench/several_alignments.py QUERIES.fasta TARGETS.fasta --keep

Needs blastp and makeblastdb. Both programs report up to five alignments of a pair, with the same
matrix and gap penalties, without masks. The alignments of a pair are compared in their order up to
the first difference: after it, what is forbidden is another in each program.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import run, save, table

FIELDS = "qaccver saccver score evalue qstart qend sstart send nident length gaps"

OUTCOMES = {
    "equal": "equal score, E-value and places",
    "tie": "equal score, other places",
    "blastp lower": "blastp has a lower score",
    "blastp crosses": "blastp has a higher score, in the rectangle of an earlier alignment",
    "blastp higher": "blastp has a higher score elsewhere",
    "missing": "blastp reports one more, outside the rectangles of the earlier ones",
}


class Row(NamedTuple):
    """An alignment; places are 1-based and inclusive."""

    score: int
    evalue: str
    qstart: int
    qend: int
    sstart: int
    send: int
    path: tuple[int, ...]
    """Identities, length and gaps."""

    def overlaps(self, other: Row) -> bool:
        """Return whether the rectangles of two alignments have a cell in common."""
        apart = (
            *(self.qend < other.qstart, other.qend < self.qstart),
            *(self.send < other.sstart, other.send < self.sstart),
        )
        return not any(apart)


Pairs = dict[tuple[str, str], list[Row]]


def read(lines: Iterable[str]) -> Pairs:
    """Return the alignments of each query and target, in their order."""
    pairs: Pairs = {}
    for line in lines:
        query, target, score, evalue, *numbers = line.split()
        qstart, qend, sstart, send, *path = map(int, numbers)
        row = Row(int(score), evalue, qstart, qend, sstart, send, tuple(path))
        pairs.setdefault((query, target), []).append(row)
    return pairs


def compare(theirs: list[Row], ours: list[Row]) -> Iterator[str]:
    """Yield the outcome of each of their alignments, up to the first that is not "equal"."""
    for k, row in enumerate(theirs):
        own = ours[k] if k < len(ours) else None
        outcome = "equal"
        if own is None or row.score > own.score:
            outcome = "missing" if own is None else "blastp higher"
            if any(row.overlaps(earlier) for earlier in theirs[:k]):
                outcome = "blastp crosses"
        elif row.score < own.score:
            outcome = "blastp lower"
        elif row[:6] != own[:6]:
            outcome = "tie"
        yield outcome
        if outcome != "equal":
            return


@click.command()
@click.argument("queries", type=click.Path(exists=True, path_type=Path))
@click.argument("targets", type=click.Path(exists=True, path_type=Path))
@click.option("--evalue", default="0.001", show_default=True)
@click.option("--mode", default="0", show_default=True, help="Composition-based statistics.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(queries: Path, targets: Path, evalue: str, mode: str, keep: bool) -> None:
    if shutil.which("blastp") is None or shutil.which("makeblastdb") is None:
        raise click.ClickException("blastp and makeblastdb are not installed")
    query, target = str(queries.resolve()), str(targets.resolve())
    swdual = [sys.executable, "-m", "swdual"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(["makeblastdb", "-in", target, "-dbtype", "prot", "-out", "db"], folder)
        run([*swdual, "makedb", target, "db.swdual"], folder)
        ours = run(
            [
                *(*swdual, "search", query, "db.swdual", "-p", "1", "-k", "0", "-e", evalue),
                *("--max-hsps", "5", "--comp-based-stats", mode, "--mask", "none"),
                *("-o", "ours.tsv", "-f", f"6 {FIELDS}"),
            ],
            folder,
        )
        theirs = run(
            [
                *("blastp", "-query", query, "-db", "db", "-use_sw_tback", "-evalue", evalue),
                *("-max_hsps", "5", "-comp_based_stats", mode, "-seg", "no"),
                *("-max_target_seqs", "1000000", "-out", "theirs.tsv", "-outfmt", f"6 {FIELDS}"),
            ],
            folder,
        )
        with (folder / "ours.tsv").open() as left, (folder / "theirs.tsv").open() as right:
            own, blast = read(left), read(right)
    first, further, paths = Counter[str](), Counter[str](), 0
    for pair in blast.keys() & own.keys():
        outcome, *others = compare(blast[pair], own[pair])
        first[outcome] += 1
        further.update(others)
        paths += outcome == "equal" and blast[pair][0].path != own[pair][0].path
    figures: dict[str, Any] = {
        "pairs": {
            "blastp": len(blast),
            "swdual": len(own),
            "of blastp only": len(blast.keys() - own.keys()),
        },
        "first": dict(first),
        "further": dict(further),
        "first, equal but for identities, length or gaps": paths,
        "CPU seconds": {"blastp": theirs.cpu_seconds, "swdual": ours.cpu_seconds},
    }
    table(
        [
            ("alignments", "first", "further"),
            *((text, first[outcome], further[outcome]) for outcome, text in OUTCOMES.items()),
        ]
    )
    for title in ("pairs", "CPU seconds"):
        click.echo(f"{title}: " + ", ".join(f"{k} {v:.10g}" for k, v in figures[title].items()))
    click.echo(f"equal places, but other identities, length or gaps: {paths} of the first")
    save(f"several_alignments_{queries.stem.split('.')[0]}", figures, kept=keep)


if __name__ == "__main__":
    main()
