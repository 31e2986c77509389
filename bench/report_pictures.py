"""Draws the pictures of reports in docs/pictures, from the samples in data/.

    python bench/report_pictures.py

Chromium draws them without a window. Their colours are few, so that files are small.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))
from PIL import Image
from report import start_browser

import swdual

ROOT = Path(__file__).parent.parent
COLOURS = 128

PICTURES = {
    "report": ({"comp_based_stats": 2}, "q=2", 1280, 1240, "light"),
    "report_fit": ({"stats": "fit"}, "q=2&minident=25&colour=conservation", 1280, 1180, "dark"),
}
"""Of each picture the options of the search, the view, the size in pixels, and the colours."""


@click.command()
@click.option(
    "--folder", default=ROOT / "docs" / "pictures", type=click.Path(path_type=Path, exists=True)
)
def main(folder: Path) -> None:
    browser = start_browser()
    try:
        with tempfile.TemporaryDirectory() as name:
            for picture, (options, view, width, height, colours) in PICTURES.items():
                page = Path(name) / f"{picture}.html"
                database = ROOT / "data" / "proteins.fasta"
                found = swdual.search(ROOT / "data" / "queries.fasta", database, **options)
                found.write(page)
                browser.execute_cdp_cmd(
                    "Emulation.setDeviceMetricsOverride",
                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
                )
                browser.execute_cdp_cmd(
                    "Emulation.setEmulatedMedia",
                    {"features": [{"name": "prefers-color-scheme", "value": colours}]},
                )
                browser.get(f"{page.as_uri()}#{view}")
                browser.execute_script("document.activeElement.blur()")
                drawn = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
                file = folder / f"{picture}.png"
                drawn.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(file, optimize=True)
                print(f"{file}: {file.stat().st_size / 1000:.0f} kB")
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
