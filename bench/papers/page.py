"""Write docs/papers.md, and the README's sentence on the papers, from the kept verdicts.

python bench/papers/page.py
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

# This folder comes last: it has a file that is called like the package.
sys.path.sort(key=lambda folder: Path(folder).resolve() == Path(__file__).resolve().parent)
sys.path.append(str(Path(__file__).resolve().parent))
from _campaign import Row, newest, read
from _verdicts import VERDICTS, count

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
README = ROOT / "README.md"
BEYOND = "beyond.csv.gz"
VERDICT_COLUMNS = " | ".join(verdict.capitalize() for verdict in VERDICTS)
SENTENCE = re.compile(r"Of \d+ distinct claims[^.]*\.")


class Paper(NamedTuple):
    """A campaign as a section of the page.

    Parameters
    ----------
    name
        Of the campaign.
    title
        Of the section.
    source
        The paper, or the chapter of the thesis.
    setting
        What was simulated, and what was not.
    figures
        Names of figures, and what they show.
    """

    name: str
    title: str
    source: str
    setting: str
    figures: dict[str, str]


PAPERS = (
    Paper(
        "swdual",
        "Searches on CPUs and GPUs",
        "the thesis, chapter 2",
        "Two CPU threads (EPYC, Zen 5). No GPU was at hand: a thread with vectors of 64 numbers "
        "stands in for it, 3.7 times as fast as the thread with 16 that is the CPU; in the thesis "
        "it is 3.0 times. Databases have 0.5 % of the thesis's sequences. Instances are rounds of "
        "one plan; for reductions and idle time they are seven searches, each with a plan of its "
        "own. Times of more than two workers are predicted: planned by the tasks' times in that "
        "round. Complexities are not judged, nor is the design of the program.",
        {"swdual": "Speeds of programs, databases and sets of queries, as figures 2.7 to 2.9"},
    ),
    Paper(
        "redirection",
        "Redirection of heavy tasks",
        "the thesis, chapter 3",
        "20 instances of each of seven traces, with the parameters of table 3.2. SPT-RD has all "
        "parameters that the thesis tried on those of LLNL-Thunder, and on 3 of Curie. An instance "
        "has as many processors as its widest job has, divided by the mean number of processors of "
        "a job: only so come out the processors of table 3.1.",
        {
            "redirection_tuning_curie": "SPT-RD on Curie by its parameters, as figures 3.3 and 3.5",
            "redirection_tuning_llnl-thunder": "SPT-RD on LLNL-Thunder by its parameters, as "
            "figures 3.4 and 3.6",
            "redirection_hpc2n": "Redirection on HPC2N, as figure 3.8 of the thesis",
        },
    ),
    Paper(
        "contiguity",
        "Contiguity and locality",
        "the thesis, chapter 4",
        "Instances of 300 random Curie jobs on 512 processors in clusters of 16, queued in random "
        "order. Best effort contiguity takes the largest ranges first, as the program of the "
        "thesis's author did.",
        {"contiguity_curie": "Contiguity and locality on Curie, as figures 4.7 to 4.12"},
    ),
    Paper(
        "platform_level",
        "Platform levels",
        "the thesis, chapter 5",
        "120 instances of each of four traces, each of a week that begins at any time, 30 of "
        "Curie, of three weeks each, and 30 of RICC, of two. They overlap, so that intervals are "
        "somewhat too narrow. Jobs without a request are left out. Sums are similar if they differ "
        "by less than 2 %.",
        {
            "platform_level_bars": "Six platforms under forced and best effort allocators, "
            "divided by `basic`, as figures 5.8 and 5.13 to 5.16"
        },
    ),
    Paper(
        "malleable",
        "Virtual malleability",
        "G. Utrera, S. Tabik, J. Corbalán, J. Labarta: A Job Scheduling Approach for Multi-core "
        "Clusters Based on Virtual Malleability. Euro-Par 2012",
        "5000 jobs of each of three traces, with 20 draws of the random overheads; 50 synthetic "
        "workloads at each load of table 1, whose jobs have the CPU utilisation that gives "
        "execution times nearest to the table's. The overhead of a shrunk job is on its "
        "communication: on SDSC's jobs from 40,000 this gives the multiprogramming level of table "
        "3, and the paper's formula, with the overhead on the whole run time, does not. A trace is "
        "not the paper's if its jobs ask for less than half as many processors at a time as table "
        "2 says.",
        {"malleable": "Virtual malleability on three traces, with the paper's own values"},
    ),
    Paper(
        "moldable",
        "Moldable jobs",
        "S. Wu, Q. Tuo, H. Jin, C. Yan, Q. Weng: HRF, A Resource Allocation Scheme for Moldable "
        "Jobs. Computing Frontiers 2015",
        "60 workloads of the Cirne-Berman model at each load; the paper has one.",
        {"moldable": "`hrf` and its rivals on 128 processors, as figures 5 to 7"},
    ),
    Paper(
        "threads",
        "Thread matrix",
        "a study with SimGrid, about 2011: threads of jobs are allocated by horizontal scanning of "
        "a matrix; the copy at hand has neither title nor authors",
        "The paper tells nothing of its jobs. Claims are judged on jobs that were calibrated on "
        "figure 8: 1 to 6 threads on 32 processors at a load of 70 %, threads of a job 50 to 100 % "
        "as long as the longest. Its backfilling is EASY without reservations.",
        {"threads": "Mean turnaround time, in percent of that of FCFS, as figures 5 to 8"},
    ),
)

INTRODUCTION = """# What the papers say, and what we find

`bench/papers/` repeats the experiments of the source papers, on the traces of the Parallel
Workloads Archive where a paper names these. Each distinct claim of a paper has one line, with a
verdict by the 95 % interval of our number (a paired bootstrap over the instances):

- **reproduced**: the whole interval is where the claim wants it;
- **contradicted**: no part of it is;
- **undecided**: a part of it is, so that the number of instances does not decide;
- **cannot be judged**: the workload is measurably not the paper's, or is not known.

A claim on several things is reproduced if all are, and contradicted if one is. One in twenty
intervals misses its number. The same claims on other traces, workloads and readings are in a second
table for each paper, *beyond the paper*, which is not counted.

The rows that the numbers come from are kept. `python bench/papers/threads.py --judge` makes the
verdicts and this page of them, without a simulation; each script of `bench/papers/` does so for its
own paper. The thesis is Machado Mendonça's: doctoral thesis, Grenoble, 2017.
"""


def kept(name: str, table: str) -> list[Row]:
    """Return a kept table of a campaign."""
    return read(newest(name) / f"{name}_{table}")


def sentence(verdicts: Iterable[Row]) -> str:
    """Return what the README says."""
    counts = count(verdicts)
    reproduced, contradicted, undecided, unjudged = counts.values()
    return (
        f"Of {sum(counts.values())} distinct claims judged so far, {reproduced} are "
        f"reproduced, {contradicted} contradicted, {undecided} undecided, and {unjudged} cannot be "
        "judged."
    )


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION, *_summary()]
    for paper in PAPERS:
        folder = newest(paper.name).relative_to(ROOT)
        parts += [f"\n## {paper.title}\n", f"From {paper.source}. {paper.setting}\n"]
        parts += [
            "| Place | The paper | Our reading | We find | Verdict |",
            "|---|---|---|---|---|",
            *(_line(row) for row in kept(paper.name, "verdicts.csv")),
        ]
        parts += [
            f"\nBeyond the paper ([numbers](../{(folder / paper.name).as_posix()}_{BEYOND})):\n",
            f"| Place | The paper | {VERDICT_COLUMNS} |",
            f"|---|---|{'---|' * len(VERDICTS)}",
            *_grouped(kept(paper.name, BEYOND)),
        ]
        for name, text in paper.figures.items():
            parts.append(f"\n![{text}](../{(folder / name).as_posix()}.svg)")
    return "\n".join(parts) + "\n"


def _summary() -> list[str]:
    lines = [
        f"| Paper | Claims | {VERDICT_COLUMNS} |",
        f"|---|---:|{'---:|' * len(VERDICTS)}",
    ]
    total: Counter[str] = Counter()
    for paper in PAPERS:
        counts = count(kept(paper.name, "verdicts.csv"))
        total.update(counts)
        anchor = paper.title.lower().replace(" ", "-")
        lines.append(f"| [{paper.title}](#{anchor}) | {_cells(counts)} |")
    return [*lines, f"| **All** | {_cells(total)} |"]


def _cells(counts: dict[str, int]) -> str:
    numbers = [sum(counts.values()), *(counts[verdict] for verdict in VERDICTS)]
    return " | ".join(str(number) for number in numbers)


def _line(row: Row) -> str:
    found = f"{row['number']} ({_instances(row)})"
    verdict = f"**{row['verdict']}**: {row['reason']}"
    said = f"“{row['quotation']}” ({row['where']})"
    return _cell_line([row["place"], said, row["reading"], found, verdict])


def _instances(row: Row) -> str:
    return f"{row['instances']} instance{'s' * (row['instances'] != 1)}"


def _grouped(rows: Sequence[Row]) -> list[str]:
    """Return a line for each claim: its verdicts on the other workloads and readings."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        group = groups.setdefault((row["place"], row["quotation"]), {})
        group.setdefault(row["verdict"], []).append(row["where"])
    return [
        _cell_line([
            place,
            f"“{quotation}”",
            *("; ".join(group.get(verdict, ())) for verdict in VERDICTS),
        ])
        for (place, quotation), group in groups.items()
    ]  # fmt: skip


def _cell_line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def write_page() -> None:
    """Write the page, and the sentence of the README."""
    PAGE.write_text(page())
    every = [row for paper in PAPERS for row in kept(paper.name, "verdicts.csv")]
    README.write_text(SENTENCE.sub(sentence(every), README.read_text()))


if __name__ == "__main__":
    write_page()
