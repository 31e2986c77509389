"""Draws the pictures of reports in docs/pictures, from the samples in data/.

    python bench/report_pictures.py

Chromium draws them without a window. Their colours are few, so that files are small.
"""

from __future__ import annotations

import io
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
from PIL import Image
from report import start_browser

import swdual
from swdual.scheduling import read_swf, simulate, write_report

ROOT = Path(__file__).parent.parent
COLOURS = 128

READY = """
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(document.documentElement.classList.contains("ready")))));
"""
"""Waits until the page has been drawn."""


def write_search(page: Path, **options: Any) -> None:
    """Write the report of a search of the samples."""
    data = ROOT / "data"
    swdual.search(data / "queries.fasta", data / "proteins.fasta", **options).write(page)


def write_simulation(page: Path) -> None:
    """Write the report of simulations of the sample trace."""
    workload = read_swf(ROOT / "data" / "jobs.swf")
    policies = ("fcfs", "easy", "conservative")
    write_report((simulate(workload, 128, policy) for policy in policies), page)


PICTURES = {
    "report": (partial(write_search, comp_based_stats=2), "q=2", 1280, 1240, "light"),
    "report_fit": (
        *(partial(write_search, stats="fit"), "q=2&minident=25&colour=conservation"),
        *(1280, 1180, "dark"),
    ),
    "simulation": (write_simulation, "run=2&sort=-waiting", 1280, 1340, "light"),
}
"""Of each picture what writes the page, the view, the size in pixels, and the colours."""


@click.command()
@click.option(
    "--folder", default=ROOT / "docs" / "pictures", type=click.Path(path_type=Path, exists=True)
)
def main(folder: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    browser = start_browser()
    try:
        with tempfile.TemporaryDirectory() as name:
            for picture, (write, view, width, height, colours) in PICTURES.items():
                page = Path(name) / f"{picture}.html"
                write(page)
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
                )
                browser.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {"features": [{"name": "prefers-color-scheme", "value": colours}]},
                )
                browser.get(f"{page.as_uri()}#{view}")
                WebDriverWait(browser, 30).until(lambda each: each.execute_script(READY))
                browser.execute_script("document.activeElement.blur()")
                drawn = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
                file = folder / f"{picture}.png"
                drawn.quantize(COLOURS, Image.Quantize.MEDIANCUT).save(file, optimize=True)
                print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
