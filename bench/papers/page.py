"""Fill the tables of docs/papers/, and the README's sentence on the papers, from the kept verdicts.

    python bench/papers/page.py

The pages are written by hand, but for what is between `<!-- claims -->` and `<!-- end -->` and the
like.
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
from _campaign import newest, read_texts
from _verdicts import (
    CONTRADICTED,
    REPRODUCED,
    UNDECIDED,
    UNJUDGED,
    VERDICTS,
    Claim,
    count,
    split_quotation,
    verdicts_on_sentences,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "papers"
README = ROOT / "README.md"
SENTENCE = re.compile(r"Of \d+ sentences[^.]*\.")

SIGNS = {REPRODUCED: "✓", CONTRADICTED: "✗", UNDECIDED: "?", UNJUDGED: "–"}


class Paper(NamedTuple):
    """A campaign, and a page.

    Parameters
    ----------
    name
        Of both.
    title
        Of the page.
    source
        The paper, or the chapter of the thesis.
    systems
        What it is about.
    minutes
        What the whole campaign takes a core.
    figures
        Files of figures, and what they show.
    columns
        Machines, traces or loads that have a column each.
    """

    name: str
    title: str
    source: str
    systems: str
    minutes: int
    figures: dict[str, str]
    columns: tuple[str, ...] = ()


PLATFORMS = ("kth-sp2", "sdsc-blue", "hpc2n", "llnl-thunder", "curie", "ricc")

TUNING = "SPT-RD by its parameters on {}, as figures {}"
COMPARED = "Policies on {}, as figure {} of the thesis"
CLOUDS = "Sums of flows of two variants, as figure {} of the thesis"

PAPERS = (
    Paper(
        "swdual", "Searches on CPUs and GPUs", "thesis, chapter 2",
        "SWDUAL, `dual_plain`, `dual_dp`", 75,
        {"swdual": "Speeds of programs, databases and sets of queries, as figures 2.7 to 2.9"},
    ),
    Paper(
        "redirection", "Redirection of heavy tasks", "thesis, chapter 3",
        "`spt_rd`, `gspt_rd`, `spt_rr`, `gspt_rr`", 35,
        {
            "redirection_tuning_curie": TUNING.format("Curie", "3.3 and 3.5"),
            "redirection_tuning_llnl-thunder": TUNING.format("LLNL-Thunder", "3.4 and 3.6"),
            "redirection_curie": COMPARED.format("Curie", "3.7"),
            "redirection_hpc2n": COMPARED.format("HPC2N", "3.8"),
            "redirection_kth-sp2": COMPARED.format("KTH-SP2", "3.9"),
            "redirection_llnl-thunder": COMPARED.format("LLNL-Thunder", "3.10"),
            "redirection_metacentrum": COMPARED.format("Metacentrum", "3.11"),
            "redirection_ricc": COMPARED.format("RICC", "3.12"),
            "redirection_sdsc-blue": COMPARED.format("SDSC-Blue", "3.13"),
        },
    ),
    Paper(
        "contiguity", "Contiguity and locality", "thesis, chapter 4",
        "`conservative`, five allocators, `shelves`", 10,
        {"contiguity_curie": "Contiguity and locality on Curie, as figures 4.7 to 4.12"},
    ),
    Paper(
        "platform_level", "Platform levels", "thesis, chapter 5",
        "`platform_level` and its rivals", 65,
        {
            "platform_level_bars": "Six platforms under all allocators, divided by `basic`, as "
            "figures 5.8 and 5.13 to 5.16 of the thesis",
            **{
                f"platform_level_clouds_{number}": CLOUDS.format(number)
                for number in ("5.9", "5.10", "5.11", "5.12")
            },
        },
        PLATFORMS,
    ),
    Paper(
        "malleable", "Virtual malleability", "Utrera and others, 2012",
        "`fcfs_malleable`, `easy`", 6,
        {"malleable": "Virtual malleability on three traces, with the paper's own values"},
        ("ctc", "sdsc-blue", "sdsc"),
    ),
    Paper(
        "moldable", "Moldable jobs", "Wu and others, 2015", "`hrf` and its rivals", 27,
        {"moldable": "`hrf` and its rivals on 128 processors, as figures 5 to 7 of the paper"},
        ("light", "middle", "heavy"),
    ),
    Paper(
        "threads", "Thread matrix", "a study with SimGrid, about 2011", "`thread_matrix`", 13,
        {"threads": "Mean turnaround time, in per cent of that of FCFS, as figures 5 to 8"},
    ),
)  # fmt: skip


def kept(name: str, table: str) -> list[dict[str, str]]:
    """Return a kept table of a campaign; none if it has no such table."""
    return read_texts(newest(name) / f"{name}_{table}")


def claims_of(name: str) -> list[Claim]:
    """Return the kept claims of a campaign."""
    return [
        Claim(**{**row, "instances": int(row["instances"])})
        for row in kept(name, "verdicts.csv")
        if row.pop("claim")
    ]


def sentence() -> str:
    """Return what the README and the index say."""
    total: Counter[str] = Counter()
    for paper in PAPERS:
        total.update(verdicts_on_sentences(claims_of(paper.name)).values())
    reproduced, contradicted, undecided, unjudged = (total[verdict] for verdict in VERDICTS)
    return (
        f"Of {total.total()} sentences of the papers, {reproduced} hold wherever they can be "
        f"judged, {contradicted} fail somewhere, {undecided} are open somewhere, and {unjudged} "
        "cannot be judged."
    )


def pages() -> dict[Path, str]:
    """Return the pages with their tables as they are to be."""
    found = {PAGES / "index.md": {"papers": _summary(), "sentence": [sentence()]}}
    for paper in PAPERS:
        found[PAGES / f"{paper.name}.md"] = {
            "figures": _figures(paper),
            "claims": _claims(paper),
            "reasons": _reasons(paper.name),
            "inputs": _inputs(paper.name),
            "beyond": _beyond(paper.name),
        }
    found[PAGES / "swdual.md"]["speeds"] = _speeds()
    return {path: fill(path.read_text(), blocks) for path, blocks in found.items()}


def fill(text: str, blocks: dict[str, list[str]]) -> str:
    """Return a page with other lines between its marks."""
    for name, lines in blocks.items():
        mark = f"<!-- {name} -->"
        pattern = re.compile(rf"{mark}\n.*?<!-- end -->", re.DOTALL)
        if lines and not pattern.search(text):
            raise ValueError(f"a page has no {mark}, but there are lines for it")
        block = "\n".join([mark, *lines, "<!-- end -->"])
        text = pattern.sub(lambda _, block=block: block, text)
    return text


def _summary() -> list[str]:
    lines = [
        "| Paper | Systems | Core minutes | Sentences | ✓ | ✗ | ? | – | Rows ✓ ✗ ? – |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    sums: Counter[str] = Counter()
    for paper in PAPERS:
        claims = claims_of(paper.name)
        counts = count(verdicts_on_sentences(claims).values())
        rows = count(each.verdict for each in claims)
        sums.update(counts)
        numbers = [sum(counts.values()), *counts.values()]
        cells = [f"[{paper.title}]({paper.name}.md), {paper.source}", paper.systems, paper.minutes,
                 *numbers, " / ".join(map(str, rows.values()))]  # fmt: skip
        lines.append(_cells(cells))
    total = [sums.total(), *(sums[verdict] for verdict in VERDICTS)]
    minutes = sum(paper.minutes for paper in PAPERS)
    return [*lines, _cells(["**All**", "", minutes, *total, ""])]


def _claims(paper: Paper) -> list[str]:
    """Return a line for each sentence, with a column for each machine."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    readings: dict[tuple[str, str], str] = {}
    for each in claims_of(paper.name):
        column, rest = _column(each.where, paper.columns)
        part = ", ".join(filter(None, (split_quotation(each.quotation)[1], rest)))
        said = each.brief.removeprefix(part).strip() if part else each.brief
        cell = f"{SIGNS[each.verdict]} {part + ':' if part and said else part} {said}"
        groups.setdefault(each.sentence, {}).setdefault(column, []).append(" ".join(cell.split()))
        readings.setdefault(each.sentence, each.reading)
    used = {column for cells in groups.values() for column in cells}
    columns = [c for c in (*paper.columns, "") if c in used]
    titles = [column or ("all" if paper.columns else "We find") for column in columns]
    return [
        _cells(["#", "Place", "The paper", "Our reading", *titles]),
        "|---" * (4 + len(columns)) + "|",
        *(
            _cells([
                number, place, f"“{text}”", readings[place, text],
                *("; ".join(cells.get(column, ())) for column in columns),
            ])
            for number, ((place, text), cells) in enumerate(groups.items(), 1)
        ),
    ]  # fmt: skip


def _figures(paper: Paper) -> list[str]:
    """Return the kept figures of a campaign."""
    folder = (newest(paper.name)).relative_to(ROOT).as_posix()
    lines = [f"![{text}](../../{folder}/{name}.svg)" for name, text in paper.figures.items()]
    return [line for both in zip(lines, [""] * len(lines), strict=True) for line in both][:-1]


def _column(where: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column of a claim, and what else its place says; "" is the column of others."""
    for column in columns:
        if where == column:
            return column, ""
        if where.startswith(f"{column}, "):
            return column, where.removeprefix(f"{column}, ")
    return "", where if columns else ""


def _reasons(name: str) -> list[str]:
    """Return why sentences fail or cannot be judged, where we know it."""
    numbers: dict[str, list[str]] = {}
    for row in kept(name, "verdicts.csv"):
        usual = re.match(r"(the whole|no part of the|a part of the) interval", row["reason"])
        if not usual and row["verdict"] != REPRODUCED:
            of = numbers.setdefault(row["reason"], [])
            if row["claim"] not in of:
                of.append(row["claim"])
    return [f"- **{', '.join(sorted(of, key=int))}**: {reason}." for reason, of in numbers.items()]


def _inputs(name: str) -> list[str]:
    """Return a line for each description of a workload."""
    rows = kept(name, "inputs.csv")
    return [] if not rows else [
        "| Place | The paper | Where | Here | |",
        "|---|---|---|---|---|",
        *(
            _cells([row["place"], row["quotation"], row["where"], row["number"],
                    SIGNS[row["verdict"]]])
            for row in rows
        ),
    ]  # fmt: skip


def _speeds() -> list[str]:
    """Return a line for each program of chapter 2: its GCUPS on each database."""
    rows = kept("swdual", "summary.csv")
    cases = [*dict.fromkeys(row["case"] for row in rows if row["part"] == "table2.4"), "UniProt"]
    speeds: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        if row["part"] in {"table2.2", "table2.4", "whole"}:
            whole = ", full size" if row["part"] == "whole" else ""
            name = row["program"].removeprefix(f"{row['workers']} ")
            name = {"thesis": "`dual_plain`, CPUs and GPUs", "evened": "`dual`, CPUs and GPUs"}.get(
                name, name
            )
            cells = speeds.setdefault((name, row["workers"], row["how"]), {})
            cells[row["case"] + whole] = f"{float(row['gcups']):.3g}"
            if row["case"] == "UniProt" and row["thesis_gcups"]:
                cells["thesis"] = f"{float(row['thesis_gcups']):.3g}"
    columns = [*cases, "UniProt, full size", "thesis"]
    titles = [*columns[:-1], "the thesis, UniProt"]
    return [
        _cells(["Program", "Workers", "How", *titles]),
        "|---|---:|---" + "|---:" * len(columns) + "|",
        *(_cells([*key, *(cells.get(x, "") for x in columns)]) for key, cells in speeds.items()),
    ]


def _beyond(name: str) -> list[str]:
    """Return a line for each other workload or reading: how many verdicts it has of each kind."""
    groups: dict[str, list[str]] = {}
    for row in kept(name, "beyond.csv.gz"):
        groups.setdefault(row["where"], []).append(row["verdict"])
    return [] if not groups else [
        "| Workload or reading | ✓ | ✗ | ? | – |",
        "|---|---:|---:|---:|---:|",
        *(_cells([where, *count(found).values()]) for where, found in groups.items()),
    ]  # fmt: skip


def _cells(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def write_pages() -> None:
    """Write the pages, and the sentence of the README."""
    for path, text in pages().items():
        path.write_text(text)
    README.write_text(SENTENCE.sub(sentence(), README.read_text()))


if __name__ == "__main__":
    write_pages()
