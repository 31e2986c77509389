"""How large is a report, and how long does Chromium take to open it?

    python bench/report.py --keep

Hits of queries of 300 residues in artificial proteins. Seconds go from the start of the navigation
to the mark that the script sets when the table and the first alignment are shown.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import in_turn, save, table

import swdual
from swdual.sequences import synthesis

MARK = "performance.getEntriesByName('ready')[0]"
MEAN_RESIDUES = 340
"""About the mean length of the artificial proteins."""


def write_report(queries: int, hits: int, path: Path) -> int:
    """Write the report of some queries with so many hits each, and return its hits."""
    records = dict(list(synthesis.synthesize(2 * MEAN_RESIDUES * hits, seed=1))[:hits])
    letters = "".join(text for _, text in synthesis.synthesize(300 * queries, seed=2))
    asked = {f"query{k}": letters[300 * k : 300 * (k + 1)] for k in range(queries)}
    found = swdual.search(asked, records, max_target_seqs=hits, evalue=math.inf, comp_based_stats=0)
    found.write(path)
    return len(found.scores)


def start_browser() -> Any:
    """Return Chromium without a window and without a network."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in (
        *("--headless=new", "--no-sandbox", "--hide-scrollbars"),
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    options.binary_location = "/usr/bin/chromium"
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


@click.command()
@click.option(
    "--cases", default="1x0 20x500 1x100000", show_default=True, help="Queries x hits of each."
)
@click.option("--repeats", default=5)
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(cases: str, repeats: int, keep: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        pages = {case: Path(name) / f"{case}.html" for case in cases.split()}
        sizes: dict[str, tuple[int, int]] = {}
        for case, path in pages.items():
            queries, hits = map(int, case.split("x"))
            if hits:
                sizes[case] = write_report(queries, hits, path), path.stat().st_size
            else:
                swdual.search({"q": "WWWW"}, {"t": "AAAA"}).write(path)
                sizes[case] = 0, path.stat().st_size
        browser = start_browser()
        try:
            times = in_turn(
                {case: lambda path=path: seconds(browser, path) for case, path in pages.items()},
                repeats,
            )
        finally:
            browser.quit()
    rows = [
        (
            case,
            f"{hits:,}",
            f"{size / 1e6:.2f}",
            *(f"{times[case][x]:.2f}" for x in ("median", "max")),
        )
        for case, (hits, size) in sizes.items()
    ]
    table([("swdual: queries x hits", "hits", "MB", "seconds", "most"), *rows])
    figures = {
        case: {"hits": hits, "bytes": size, "seconds": times[case]}
        for case, (hits, size) in sizes.items()
    }
    save("report", {"cases": figures}, kept=keep)


def seconds(browser: Any, path: Path) -> float:
    """Open a page, and return the seconds until it was ready."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get("about:blank")
    browser.get(path.as_uri())
    WebDriverWait(browser, 60).until(lambda page: page.execute_script(f"return Boolean({MARK})"))
    return float(browser.execute_script(f"return {MARK}.startTime")) / 1000


if __name__ == "__main__":
    main()
