"""What does a database cost that is larger than the card may hold, and what do CPUs add to a card?

    python bench/gpu/streaming.py --keep

The database is a file. First it is scanned from there, once each time: with the file in the page
cache of the system, and after it was dropped from there as far as the system does that. Then a
database of three times the memory limit is scanned beside the same database on the card, with one
query and with eight, by turns, warm. The limit is the rate at which residues can be sent, measured
here, or that of the kernels. Then whole searches, on the GPU alone and on GPU and CPUs.

Unlike scores are noted in the figures, and the exit code is 4 in the end. Figures are written after
every part.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import Clocks, TimedCard, the_card
from _checks import Checks
from _data import codes_of, families, queries, write_database
from _report import in_turn, save, table
from _scan import Scan, Scanned, limits

import swdual
from swdual import Database
from swdual.backends.cuda.memory import STAGE_BYTES

SENT_BYTES = 1 << 30
"""Bytes whose way to the card is timed, stage by stage."""

TARGETS = 10
"""Hits of a query."""


@click.command()
@click.option("--number", default=0, help="Which GPU.")
@click.option("--residues", default=1_500_000_000, help="Size of the database.")
@click.option("--times", default=3.0, help="The database in memory limits.")
@click.option("--length", default=375, help="Residues of a query.")
@click.option("--counts", default="1,8", help="Numbers of queries.")
@click.option("--searched", default=8, help="Queries of the whole searches.")
@click.option("--planner", default="dual", help="Of the search on GPU and CPUs.")
@click.option("--repeats", default=5)
@click.option("--folder", type=click.Path(path_type=Path), help="Keep and use again what is made.")
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    number: int,
    residues: int,
    times: float,
    length: int,
    counts: str,
    searched: int,
    planner: str,
    repeats: int,
    folder: Path | None,
    keep: bool,
) -> None:
    card, checks = the_card(number), Checks()
    numbers = [int(count) for count in counts.split(",")]
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"families{residues}.swdual"
        if not path.exists():
            part = path.with_suffix(".part")
            write_database(families(residues), part)
            part.rename(path)
        database, clocks = Database.open(path), Clocks(card)
        stack.callback(database.close)
        limit = int(database.residues / times)
        click.echo(
            f"swdual on {card.name}: {len(database)} sequences, {database.residues} residues, "
            f"memory limit {limit / 1e6:.0f} MB"
        )
        figures: dict[str, Any] = {
            "device": card.facts(),
            "sequences": len(database),
            "residues": database.residues,
            "limit_bytes": limit,
            "planner": planner,
        }

        def write(name: str, part: Any) -> None:
            figures.update({name: part, "clocks": clocks.facts(), "notes": checks.notes})
            save(f"gpu_streaming_{card.short_name}", figures, kept=keep, quiet=True)

        with card.select(), clocks:
            copied, sent = rates_of_copies(card)
            write("bytes_a_second", {"to pinned memory": copied, "to the card": sent})
            click.echo(f"to pinned memory {copied / 1e9:.1f} GB/s, from there to the card "
                       f"{sent / 1e9:.1f} GB/s")  # fmt: skip
            read = from_file(card, path, length, limit, repeats, checks)
            write("from the file", read)
            show_reading(read)
            streamed = streaming(
                card, database, numbers, length, limit, repeats, min(copied, sent), checks
            )
            for each in streamed:
                lengths = [length] * each["queries"]
                bound = limits(card, database, lengths, clocks.hertz, pairs=True)
                cells = sum(lengths) * database.residues / 1e9
                each["by operations"] = bound.operations and cells / bound.operations
                each["by memory"] = cells / bound.memory
            write("streaming", streamed)
            show_streaming(streamed)
            searches = hybrid(number, database, searched, length, planner, repeats, checks)
            write("searches", searches)
            show_searches(searches, searched * length * database.residues / 1e9)
        click.echo(str(clocks))
    checks.end()


def rates_of_copies(card: TimedCard) -> tuple[float, float]:
    """Return the bytes a second from the host's memory to pinned memory, and from there on."""
    size = min(SENT_BYTES, card.memory()[0] // 4)
    stage, source = card.allocate_pinned(STAGE_BYTES), np.ones(STAGE_BYTES, np.uint8)
    buffer, stream = card.allocate(size), card.stream()
    rounds = max(1, size // STAGE_BYTES)

    def sent() -> float:
        started = time.perf_counter()
        for place in range(rounds):
            some = stage[: size - place * STAGE_BYTES]
            stream.upload(buffer, place * STAGE_BYTES, some)
        stream.record().wait()
        return min(size, rounds * STAGE_BYTES) / (time.perf_counter() - started)

    def copied() -> float:
        started = time.perf_counter()
        for _ in range(rounds):
            np.copyto(stage, source)
        return rounds * STAGE_BYTES / (time.perf_counter() - started)

    found = in_turn({"copied": copied, "sent": sent}, 3)
    buffer.free()
    return found["copied"]["median"], found["sent"]["median"]


def drop_from_cache(path: Path) -> None:
    """Ask the system to drop a file from its page cache; nobody may have mapped it."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def share_cached(path: Path) -> float:
    """Return the share of a file's pages that are in the page cache."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        held = np.frombuffer(data, np.uint8)
        pages = np.zeros(-(-len(held) // mmap.PAGESIZE), np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        place, size = ctypes.c_void_p(held.ctypes.data), ctypes.c_size_t(len(held))
        failed = libc.mincore(place, size, ctypes.c_void_p(pages.ctypes.data))
        del held  # a map that is in use cannot be closed
    if failed:
        raise OSError(ctypes.get_errno(), f"{path}: mincore failed")
    return float((pages & 1).mean())


def read_whole(path: Path) -> None:
    """Read a file, so that it is in the page cache if there is room."""
    with path.open("rb", buffering=0) as stream:
        while stream.read(64 << 20):
            pass


def from_file(
    card: TimedCard, path: Path, length: int, limit: int, repeats: int, checks: Checks
) -> dict[str, list[dict[str, float]]]:
    """Measure the first scan of a file with one query, which reads all of it, by turns."""
    (query,) = codes_of(queries([length]))
    states = {"page cache warm": read_whole, "page cache cold": drop_from_cache}
    found: dict[str, list[dict[str, float]]] = {state: [] for state in states}
    expected: list[list[int]] = []
    for turn in range(repeats + 1):
        for state, prepare in states.items():
            prepare(path)
            cached = share_cached(path)
            database = Database.open(path)
            scanned = Scan(database, card, TARGETS, limit).scan([query])
            size = database.residues
            database.close()
            expected = expected or scanned.scores
            checks.compare(scanned.scores, expected, f"a scan with the {state}")
            if turn > 0:  # the first compiles the kernels
                found[state].append(
                    {"cached": cached, "seconds": scanned.seconds,
                     "residues a second": size / scanned.seconds,
                     "gcups": size * length / scanned.seconds / 1e9}
                )  # fmt: skip
    return found


def show_reading(read: dict[str, list[dict[str, float]]]) -> None:
    """Print the scans of the file."""
    rows = []
    for state, runs in read.items():
        middle = sorted(runs, key=lambda run: run["seconds"])[len(runs) // 2]
        rate = middle["residues a second"] / 1e9
        rows.append((state, f"{middle['cached']:.0%}", middle["seconds"], rate, middle["gcups"]))
    table([("from the file", "cached", "seconds", "G residues a second", "GCUPS"), *rows])


def streaming(
    card: TimedCard,
    database: Database,
    numbers: list[int],
    length: int,
    limit: int,
    repeats: int,
    rate: float,
    checks: Checks,
) -> list[dict[str, Any]]:
    """Measure scans of a database that lies on the card, and of one that passes through."""
    codes = codes_of(queries([length] * max(numbers)))
    scans = {
        "resident": Scan(database, card, TARGETS),
        "streamed": Scan(database, card, TARGETS, limit),
    }
    results: dict[tuple[str, int], list[Scanned]] = {}

    def measure(name: str, count: int) -> Callable[[], float]:
        def measured() -> float:
            found = scans[name].scan(codes[:count])
            results.setdefault((name, count), []).append(found)
            return found.seconds

        return measured

    measures = {f"{k} {n}": measure(k, n) for n in numbers for k in scans}
    for warm in measures.values():
        warm()
    times = in_turn(measures, repeats)
    figures = []
    for count in numbers:
        for name in scans:
            for found in results[name, count]:
                right = results["resident", count][0].scores
                checks.compare(found.scores, right, f"{name}, {count} together: a scan")
        cells = count * length * database.residues
        resident, streamed = (times[f"{name} {count}"] for name in scans)
        uploaded = max(found.uploaded for found in results["streamed", count][1:])
        figures.append(
            {
                "queries": count,
                "resident": {k: cells / x / 1e9 for k, x in resident.items()},
                "streamed": {k: cells / x / 1e9 for k, x in streamed.items()},
                "ratio": resident["median"] / streamed["median"],
                "uploaded": uploaded,
                "limit": min(1.0, resident["median"] * rate / max(uploaded, 1)),
            }
        )
    return figures


def hybrid(
    number: int,
    database: Database,
    count: int,
    length: int,
    planner: str,
    repeats: int,
    checks: Checks,
) -> dict[str, dict[str, float]]:
    """Measure whole searches on the GPU alone, and on GPU and CPUs."""
    records = {f"q{k}": text for k, (_, text) in enumerate(queries([length] * count))}
    found: dict[str, list[list[tuple[str, int]]]] = {}

    def measure(device: str) -> Callable[[], float]:
        def measured() -> float:
            started = time.perf_counter()
            results = swdual.search(
                records, database, device=device, planner=planner, align=False,
                max_target_seqs=TARGETS,
            )  # fmt: skip
            seconds = time.perf_counter() - started
            hits = [[(hit.id, hit.score) for hit in result] for result in results]
            found.setdefault(device, []).append(hits)
            return seconds

        return measured

    devices = {"GPU alone": f"cuda:{number}", "GPU and CPUs": "hybrid"}
    measures = {name: measure(device) for name, device in devices.items()}
    for warm in measures.values():
        warm()
    times = in_turn(measures, repeats)
    for device, runs in found.items():
        for hits in runs:
            checks.compare(hits, found[f"cuda:{number}"][0], f"a search on {device}")
    return times


def show_streaming(streamed: list[dict[str, Any]]) -> None:
    """Print what was measured beside what is possible."""
    rows = [
        (x["queries"], x["by memory"], x["by operations"] or "-", x["resident"]["median"],
         x["streamed"]["median"], f"{x['ratio']:.1%}", f"{x['limit']:.1%}", x["uploaded"] / 1e6)
        for x in streamed
    ]  # fmt: skip
    click.echo("GCUPS of a database on the card, and of one that is sent to it as far as needed")
    head = ("queries", "by memory", "by operations", "resident", "streamed", "ratio", "at most")
    table([(*head, "MB sent"), *rows])


def show_searches(searches: dict[str, dict[str, float]], cells: float) -> None:
    """Print the whole searches."""
    times = searches.items()
    whole = [(k, t["median"], t["min"], t["max"], cells / t["median"]) for k, t in times]
    table([("search", "seconds", "least", "most", "GCUPS"), *whole])
    ratio = searches["GPU alone"]["median"] / searches["GPU and CPUs"]["median"]
    click.echo(f"with CPUs {ratio:.2f} times as fast as the GPU alone")


if __name__ == "__main__":
    main()
