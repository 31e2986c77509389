"""How long do searches take up to the same E-value, and which hits do they find?

    bench/peers/build.sh ~/peers
    PATH=~/peers/bin:$PATH python bench/peers/speed.py --threads 1 --threads 2 --keep
    PATH=~/peers/bin:$PATH python bench/peers/speed.py --evalue 10 --set 20 --method blastp --keep

1, 20, 200 and 2,000 proteins are searched for in 14 proteomes; also 200 of 25 to 80 residues, and
200 of yeast, which is one of the 14. The times are those of whole commands, from files to a table
of all hits, which take turns on an idle machine. Databases are made beforehand. A method is a
program with options, as in `sensitivity.py`; those that are not on PATH are skipped. Each reports
the hits up to the E-value that it computes itself. `swdual audit` tells which of the hits of an
exact search, scored as blastp does by default, are among them. Hits do not depend on threads, so
that this is done for the first number of threads.

A method that took more than 10 s runs once, others three times. A method that would take longer
than the limit, by what it took for fewer queries, does not run. `start-up` is a query of 30
residues against itself. What is measured replaces what was kept of the same E-value, threads, set
and method; the rest stays.
"""

from __future__ import annotations

import gzip
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parents[1]))
from _report import (
    RESULTS,
    TimeLimitError,
    draw_svg,
    kept_figures,
    markdown_table,
    save,
)
from _searches import PROGRAMS, execute, find_program, prepare, version_of

import swdual
from swdual.version import __version__

PROTEINS = Path(__file__).resolve().parents[2] / ".." / "shared" / "proteins"

DATABASE = "refprot14.fasta.gz"

START = "start-up"

METHODS = (
    "swdual",
    "swdual --task sensitive",
    "blastp",
    "diamond",
    "diamond --ultra-sensitive",
    "mmseqs",
    "mmseqs -s 7.5",
    "phmmer",
    "ssearch36 -s BL50",
)

REPEATED = 10.0
"""Seconds of a command that is run several times at most."""

Record = tuple[str, str]
"""A name and residues."""

Point = tuple[float, float]
"""Seconds, and the hits found in %."""


def read_records(path: Path, prefix: str) -> list[Record]:
    """Return the sequences of a FASTA file, gzip'ed or not, with names that no other has."""
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    parts = (record.split("\n", 1)[1] for record in text.decode().strip().split("\n>"))
    return [(f"{prefix}{k}", "".join(part.split())) for k, part in enumerate(parts)]


def evenly_spaced(records: list[Record], count: int) -> list[Record]:
    """Return so many of the records, at equal intervals."""
    return [records[k * len(records) // count] for k in range(count)]


def choose_queries(folder: Path) -> dict[str, list[Record]]:
    """Return the queries of each set, by its name."""
    classic = read_records(folder / "queries20.fasta.gz", "c")
    small = read_records(folder / "sprot_small.fasta.gz", "s")
    more = read_records(folder / "sprot_virus_archaea_mito.fasta.gz", "m")
    rest = 2000 - len(small)
    return {
        START: [("one", classic[0][1][:30])],
        "1": [next(each for each in classic if len(each[1]) == 464)],
        "20": classic,
        "200": evenly_spaced(small, 200),
        "2000": small + evenly_spaced(more, rest),
        "200 short": evenly_spaced([x for x in small + more if 25 <= len(x[1]) <= 80], 200),
        "200 of yeast": evenly_spaced(read_records(folder / "yeast.fasta.gz", "y"), 200),
    }


def write_fasta(path: Path, records: Iterable[Record]) -> None:
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records))


def make_folder(
    folder: Path, methods: Iterable[str], one: Record, database: list[Record]
) -> set[str]:
    """Write the database into a folder, and what each program makes of it; return the programs."""
    folder.mkdir()
    write_fasta(folder / "db.fasta", database)
    for file in ("one.fasta", "q.fasta"):
        write_fasta(folder / file, [one])
    ready = set()
    for name in dict.fromkeys(find_program(method)[0] for method in methods):
        if name.startswith("swdual") or shutil.which(name):
            prepare(name, folder)
            ready.add(name)
        else:
            click.echo(f"skipped: {name} is not on PATH", err=True)
    return ready


def time_once(
    method: str, folder: Path, evalue: float, threads: int, limit: float, hits: Path
) -> dict[str, Any]:
    """Run a method, write the pairs that it found as a table, and return what it took."""
    program = PROGRAMS[find_program(method)[0]]
    targets = (folder / "db.fasta").read_text().count(">")
    done = execute(method, folder, targets, evalue, threads, limit=limit)
    with (folder / program.output).open(errors="replace") as lines, hits.open("w") as out:
        for query, target, value in program.read(lines):
            if target and float(value) <= evalue:
                out.write(f"{query}\t{target}\t{value.strip()}\n")
    return done._asdict()


def time_in_turn(
    methods: Iterable[str], folder: Path, evalue: float, threads: int, limit: float
) -> dict[str, dict[str, Any]]:
    """Return what each method took for the queries of a folder; the tables are beside them."""
    found: dict[str, dict[str, Any]] = {method: {"runs": []} for method in methods}
    for turn in range(3):
        for number, (method, own) in enumerate(found.items()):
            if turn and (own.get("over") or own["runs"][0]["seconds"] > REPEATED):
                continue
            table = folder / f"hits{number}.tsv"
            try:
                own["runs"].append(time_once(method, folder, evalue, threads, limit, table))
            except TimeLimitError:
                own["over"] = limit
                continue
            own["seconds"] = statistics.median(each["seconds"] for each in own["runs"])
            own["table"] = str(table)
            click.echo(f"  {method}: {own['runs'][-1]['seconds']:.2f} s", err=True)
    return found


def add_found(found: dict[str, dict[str, Any]], folder: Path, evalue: float) -> None:
    """Add how many of the exact hits each method found."""
    own = [x for x in found.values() if "table" in x]
    audit = swdual.audit(
        [Path(x["table"]) for x in own],
        folder / "q.fasta",
        folder / "db.fasta",
        before="6 qseqid sseqid evalue",
        evalue=evalue,
        max_target_seqs=0,
    )
    size = len(audit.bins)
    for number, x in enumerate(own):
        last = audit.summary()[(number + 1) * size - 1]
        x["listed"] = Path(x["table"]).read_text().count("\n")
        x |= {"found": last["found"], "exact": last["hits"]}


def key_of(evalue: float, threads: int, name: str) -> str:
    return f"E {evalue:g}, {threads} threads, {name} queries"


def expect_seconds(
    cells: dict[str, Any], evalue: float, threads: int, names: list[str], residues: dict[str, int]
) -> dict[str, float]:
    """Return the seconds that methods would take for a set, by the next smaller one.

    Parameters
    ----------
    cells
        What was measured.
    evalue, threads
        Of the set.
    names
        The sets, the one in question last.
    residues
        Of the queries of each set.
    """
    if len(names) < 2:
        return {}
    before, now = names[-2:]
    growth = residues[now] / residues[before]
    start = cells.get(key_of(evalue, threads, START), {})
    least = {method: x["seconds"] for method, x in start.items() if "seconds" in x}
    return {
        method: growth * (x["seconds"] - least.get(method, 0)) if "seconds" in x else float("inf")
        for method, x in cells.get(key_of(evalue, threads, before), {}).items()
        if "diamond" not in method and "mmseqs" not in method
    }


def markdown(figures: dict[str, Any]) -> str:
    """Return a table for each E-value and number of threads."""
    cells, sets = figures["cells"], figures["sets"]
    parts = [
        "# Speed beside other programs\n\n"
        f"{figures['database']}, all hits up to the E-value. Seconds of whole commands, medians; "
        "behind them the share of the hits of an exact search that the program finds. Versions: "
        f"{', '.join(f'{name} {x}' for name, x in figures['programs'].items())}.\n"
    ]
    for evalue, threads in dict.fromkeys((x["evalue"], x["threads"]) for x in figures["keys"]):
        rows = [["method", *sets]]
        methods = dict.fromkeys(
            method for name in sets for method in cells.get(key_of(evalue, threads, name), {})
        )
        for method in methods:
            row = [f"`{method}`"]
            for name in sets:
                own = cells.get(key_of(evalue, threads, name), {}).get(method, {})
                row.append(cell_of(own))
            rows.append(row)
        parts.append(
            f"\n## E-values up to {evalue:g}, {threads} thread{'s' * (threads > 1)}\n\n"
            + markdown_table(rows)
        )
    return "".join(parts)


def cell_of(own: dict[str, Any]) -> str:
    """Return seconds, and the share of exact hits that are found."""
    if "over" in own:
        return f"over {own['over']:g}"
    if "seconds" not in own:
        return "-"
    text = f"{own['seconds']:.3g}"
    if own.get("exact"):
        text += f" ({100 * own['found'] / own['exact']:.1f} %)"
    return text


def colour_of(method: str) -> str:
    """Return the colour of a program."""
    programs = [name for name in PROGRAMS if " " not in name]
    return f"C{programs.index(find_program(method)[0]) % 8}"


def figure_of(figures: dict[str, Any]) -> Any:
    """Return the figure: seconds by number of queries, for each number of threads."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    evalue = min(x["evalue"] for x in figures["keys"])
    threads = sorted({x["threads"] for x in figures["keys"] if x["evalue"] == evalue})
    figure, axes = plt.subplots(
        1, len(threads), figsize=(4 * len(threads) + 2.4, 4.4), sharey=True, squeeze=False
    )
    sets = [name for name in figures["sets"] if name.isdigit()]
    for ax, count in zip(axes[0], threads, strict=True):
        measured = [figures["cells"].get(key_of(evalue, count, name), {}) for name in sets]
        for method in dict.fromkeys(method for x in measured for method in x):
            points = [
                (int(name), x[method]["seconds"])
                for name, x in zip(sets, measured, strict=True)
                if "seconds" in x.get(method, {})
            ]
            if points:
                is_default = " " not in method
                ax.plot(
                    *zip(*points, strict=True),
                    marker="o" if is_default else "s",
                    ls="-" if is_default else "--",
                    color=colour_of(method),
                    lw=2.4 if method.startswith("swdual") else 1.3,
                    label=method,
                )
        ax.set(
            xscale="log", yscale="log", xlabel="queries",
            title=f"{count} core{'s' * (count > 1)}",
        )  # fmt: skip
    axes[0, 0].set_ylabel("seconds")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return figure


def label_offset(point: Point, points: Iterable[Point]) -> tuple[int, int]:
    """Return where the name of a method begins, in points from its mark: not across another's."""
    seconds, share = point
    beside = [(x / seconds, y) for x, y in points if 1 < x / seconds < 2 and abs(y - share) < 10]
    if not beside:
        return 9, -4
    ratio, other = min(beside)
    if ratio < 1.3:
        return (-4, 9) if other < share else (-4, -18)
    return (9, 4) if other < share else (9, -12)


def found_figure_of(figures: dict[str, Any], name: str = "200") -> Any:
    """Return the figure: seconds of each method on one core, and the hits that it finds."""
    import matplotlib.pyplot as plt

    plt.style.use("swdual.charts")
    evalue = min(x["evalue"] for x in figures["keys"])
    figure, ax = plt.subplots(figsize=(6.8, 3.8))
    points = {
        method: (own["seconds"], 100 * own["found"] / own["exact"])
        for method, own in figures["cells"].get(key_of(evalue, 1, name), {}).items()
        if own.get("exact") and not method.startswith("swdual ")
    }
    for method, (seconds, share) in points.items():
        is_ours = method == "swdual"
        ax.plot(seconds, share, "o", color=colour_of(method), ms=11 if is_ours else 7)
        ax.annotate(
            method, (seconds, share), xytext=label_offset((seconds, share), points.values()),
            textcoords="offset points", weight="bold" if is_ours else "normal",
        )  # fmt: skip
    ax.set(
        xscale="log",
        ylim=(0, 106),
        xlabel=f"seconds for {name} queries, one core",
        ylabel="hits of an exact search found, %",
        title=f"all hits with E-values up to {evalue:g}: left and above is better",
    )
    ax.set_xlim(ax.get_xlim()[0], 3 * ax.get_xlim()[1])
    return figure


@click.command(help=__doc__.split("\n\n", 1)[0])
@click.option("--method", "methods", multiple=True, default=METHODS, help="Repeatable.")
@click.option("--set", "names", multiple=True, 
              help="1, 20, 200, 2000, '200 short' or '200 of yeast'; repeatable.")  # fmt: skip
@click.option("--evalue", default=1e-3, show_default=True)
@click.option("--threads", "counts", multiple=True, default=(1,), type=click.IntRange(min=1))
@click.option("--limit", default=600.0, show_default=True, help="Seconds of a command.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), default=PROTEINS,
              help="Folder of the sequences.")  # fmt: skip
@click.option("--targets", type=click.IntRange(min=1), help="Take so many of the database.")
@click.option("--name", default="peers", help="Name of the results.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    methods: tuple[str, ...],
    names: tuple[str, ...],
    evalue: float,
    counts: tuple[int, ...],
    limit: float,
    data: Path,
    targets: int | None,
    name: str,
    keep: bool,
) -> None:
    sets = choose_queries(data)
    if unknown := {*names} - {*sets}:
        raise click.UsageError(f"unknown sets: {', '.join(sorted(unknown))}")
    database = read_records(data / DATABASE, "t")[:targets]
    figures: dict[str, Any] = kept_figures(name) if keep else {}
    cells = figures.setdefault("cells", {})
    residues = {key: sum(len(letters) for _, letters in x) for key, x in sets.items()}
    with tempfile.TemporaryDirectory() as temporary:
        folders = {START: Path(temporary, "small"), "large": Path(temporary, "large")}
        one = sets[START][0]
        make_folder(folders[START], methods, one, [one])
        ready = make_folder(folders["large"], methods, one, database)
        chosen = [START, *(key for key in sets if key in names or (not names and key != START))]
        for threads in counts:
            for number, key in enumerate(chosen):
                folder = folders.get(key, folders["large"])
                write_fasta(folder / "q.fasta", sets[key])
                expected = expect_seconds(cells, evalue, threads, chosen[1 : number + 1], residues)
                able = [
                    method
                    for method in methods
                    if find_program(method)[0] in ready and expected.get(method, 0) <= limit
                ]
                click.echo(key_of(evalue, threads, key), err=True)
                found = time_in_turn(able, folder, evalue, threads, limit)
                if key != START and threads == counts[0]:
                    add_found(found, folder, evalue)
                for own in found.values():
                    own.pop("table", None)
                cells.setdefault(key_of(evalue, threads, key), {}).update(found)
                keys = figures.setdefault("keys", [])
                entry = {"evalue": evalue, "threads": threads}
                if entry not in keys:
                    keys.append(entry)
                figures |= {
                    "database": f"{DATABASE}, {len(database):,} sequences, "
                    f"{sum(len(letters) for _, letters in database):,} residues",
                    "sets": residues,
                    "programs": figures.get("programs", {})
                    | {name: version_of(name) for name in sorted(ready)},
                }
                save(name, figures, kept=keep, quiet=True)
    click.echo(markdown(figures))
    if keep:
        folder = RESULTS / __version__
        (folder / f"{name}.md").write_text(markdown(figures))
        draw_svg(folder / f"{name}.svg", lambda: figure_of(figures))
        draw_svg(folder / f"{name}_found.svg", lambda: found_figure_of(figures))


if __name__ == "__main__":
    main()
