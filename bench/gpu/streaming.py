"""What does a database cost that is larger than the card may hold, and what do CPUs add to a card?

    python bench/gpu/streaming.py --keep

First a database of three times the memory limit beside the same database on the card, with one
query and with eight, by turns, warm. The limit is the rate at which residues can be sent, measured
here, or that of the kernels. Then whole searches, on the GPU alone and on GPU and CPUs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from _card import Clocks, TimedCard, the_card
from _data import codes_of, database_of, families, queries
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
@click.option("--residues", default=250_000_000, help="Of the families in the database.")
@click.option("--copies", default=6, help="How often the database holds them.")
@click.option("--times", default=3.0, help="The database in memory limits.")
@click.option("--length", default=375, help="Residues of a query.")
@click.option("--counts", default="1,8", help="Numbers of queries.")
@click.option("--searched", default=8, help="Queries of the whole searches.")
@click.option("--planner", default="dual", help="Of the search on GPU and CPUs.")
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(
    number: int,
    residues: int,
    copies: int,
    times: float,
    length: int,
    counts: str,
    searched: int,
    planner: str,
    repeats: int,
    keep: bool,
) -> None:
    card = the_card(number)
    database = database_of(families(residues), copies)
    numbers = [int(count) for count in counts.split(",")]
    limit = int(database.residues / times)
    click.echo(
        f"swdual on {card.name}: {len(database)} sequences, {database.residues} residues, "
        f"memory limit {limit / 1e6:.0f} MB"
    )
    with card.select(), Clocks(card) as clocks:
        copied, sent = rates_of_copies(card)
        click.echo(f"to pinned memory {copied / 1e9:.1f} GB/s, from there to the card "
                   f"{sent / 1e9:.1f} GB/s")  # fmt: skip
        streamed = streaming(card, database, numbers, length, limit, repeats, min(copied, sent))
        searches = hybrid(number, database, searched, length, planner, repeats)
    for each in streamed:
        lengths = [length] * each["queries"]
        bound = limits(card, database, lengths, clocks.hertz, pairs=True)
        cells = sum(lengths) * database.residues / 1e9
        each["by operations"] = bound.operations and cells / bound.operations
        each["by memory"] = cells / bound.memory
    shown(streamed, searches, searched * length * database.residues / 1e9)
    click.echo(str(clocks))
    about = {
        "device": card.facts(),
        "clocks": clocks.facts(),
        "sequences": len(database),
        "residues": database.residues,
        "limit_bytes": limit,
        "bytes_a_second": {"to pinned memory": copied, "to the card": sent},
    }
    figures = {"streaming": streamed, "searches": searches, "planner": planner}
    save(f"gpu_streaming_{card.short_name}", {**about, **figures}, kept=keep)


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


def streaming(
    card: TimedCard,
    database: Database,
    numbers: list[int],
    length: int,
    limit: int,
    repeats: int,
    rate: float,
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
        same = [found.scores for name in scans for found in results[name, count]]
        if any(scores != same[0] for scores in same):
            raise click.ClickException("streamed and resident databases give unlike scores")
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
    number: int, database: Database, count: int, length: int, planner: str, repeats: int
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
    everything = [hits for runs in found.values() for hits in runs]
    if any(hits != everything[0] for hits in everything):
        raise click.ClickException("searches with and without CPUs differ")
    return times


def shown(
    streamed: list[dict[str, Any]], searches: dict[str, dict[str, float]], cells: float
) -> None:
    """Print what was measured beside what is possible."""
    rows = [
        (x["queries"], x["by memory"], x["by operations"] or "-", x["resident"]["median"],
         x["streamed"]["median"], f"{x['ratio']:.1%}", f"{x['limit']:.1%}", x["uploaded"] / 1e6)
        for x in streamed
    ]  # fmt: skip
    click.echo("GCUPS of a database on the card, and of one that is sent to it as far as needed")
    head = ("queries", "by memory", "by operations", "resident", "streamed", "ratio", "at most")
    table([(*head, "MB sent"), *rows])
    times = searches.items()
    whole = [(k, t["median"], t["min"], t["max"], cells / t["median"]) for k, t in times]
    table([("search", "seconds", "least", "most", "GCUPS"), *whole])
    ratio = searches["GPU alone"]["median"] / searches["GPU and CPUs"]["median"]
    click.echo(f"with CPUs {ratio:.2f} times as fast as the GPU alone")


if __name__ == "__main__":
    main()
