"""Run the commands of README.md that `COMMANDS` names, and draw the terminal as an SVG.

    python docs/pictures/record_terminal.py

The commands run on a terminal of their own, in the root folder of the project; a terminal emulator
keeps what they write. `swdual` must be on the path. The picture loads nothing.
"""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pyte
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("readme.svg")
COMMANDS = (
    "swdual search data/queries.fasta data/proteins.fasta -k 1",
    "swdual search data/queries.fasta data/proteins.fasta -k 1 -f 0",
    "swdual simulate",
)
"""How the commands begin: the first such line of README.md is run."""

COLUMNS, LINES = 108, 60
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [(22, 27, 34), (255, 123, 114), (126, 231, 135), (242, 204, 96)],
)
LAYOUT = """<svg viewBox="0 0 {width} {height}" role="img" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix, .{unique_id}-title {{
font: {char_height}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace }}
{styles}
</style><defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">
{matrix}</g></g></svg>
"""
"""The layout of rich, without fonts from the network."""


def readme_commands() -> list[str]:
    """Return the commands of README.md that begin as `COMMANDS` say."""
    lines = (ROOT / "README.md").read_text().splitlines()
    return [next(line for line in lines if line.startswith(start)) for start in COMMANDS]


def show(command: str) -> list[Text]:
    """Run a command on a terminal, and return the lines that it leaves there."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    terminal, other = pty.openpty()
    size = {"COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"}
    options = {"stdin": other, "stdout": other, "stderr": other, "cwd": ROOT}
    with subprocess.Popen(command, shell=True, env={**os.environ, **size}, **options):
        os.close(other)
        while True:
            try:
                stream.feed(os.read(terminal, 65536))
            except OSError:  # the command has ended
                break
    os.close(terminal)
    lines = [_line(screen.buffer[row]) for row in range(LINES)]
    while not lines[-1].plain:
        lines.pop()
    return lines


def _line(cells: dict[int, pyte.screens.Char]) -> Text:
    line = Text()
    for column in range(COLUMNS):
        cell = cells[column]
        colour = "" if cell.fg == "default" else cell.fg
        line.append(cell.data, f"{'bold ' if cell.bold else ''}{colour}".strip())
    line.rstrip()
    return line


def main() -> None:
    """Write the picture."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        for number, command in enumerate(readme_commands()):
            if number:
                console.print()
            console.print(Text("$ ", "green").append(command, "bold"), soft_wrap=True)
            for line in show(command):
                console.print(line, soft_wrap=True)
        svg = console.export_svg(
            title="swdual", theme=THEME, code_format=LAYOUT, unique_id="swdual"
        )
    PICTURE.write_text(svg)


if __name__ == "__main__":
    main()
