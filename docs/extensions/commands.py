"""A page for each command, from its Click object, with the options in the groups of its help."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
from sphinx.application import Sphinx
from sphinx.config import Config

PAGES = Path(__file__).parents[1] / "generated" / "commands"

PAGE = """.. click:: swdual.cli.{name}:command
    :prog: swdual {name}
"""

OPTION = ".. option:: "
BLAST_NAME = re.compile(r"(?<=[ ,])-\w[\w-]+, ")
"""A name with one dash, before others; the help does not show it either."""


def write_pages(app: Sphinx, config: Config) -> None:
    """Write a page for each command."""
    from swdual.cli import COMMANDS

    PAGES.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        page = PAGES / f"{name}.rst"
        text = PAGE.format(name=name)
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def _command(context: click.Context) -> click.Command:
    """Return the command of a page, without its parents."""
    name = (context.info_name or "").split()[-1]
    command: click.Command = importlib.import_module(f"swdual.cli.{name}").command
    return command


def group_options(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Put the options of a page under the headings of the command's help, without BLAST's names."""
    blocks: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith(OPTION):
            line = BLAST_NAME.sub("", line)
            current = blocks.setdefault(line, [])
        current.append(line)
    command = _command(context)
    parameters = {
        option: parameter.name for parameter in command.params for option in parameter.opts
    }
    homes = {
        name: heading
        for heading, names in getattr(command, "groups", {}).items()
        for name in names.split()
    }
    grouped: dict[str, list[str]] = {heading: [] for heading in [*homes.values(), "Other"]}
    for line, block in blocks.items():
        first = re.split(r"[ ,]", line.removeprefix(OPTION), maxsplit=1)[0]
        grouped[homes.get(parameters.get(first) or "", "Other")] += block
    lines[:] = [
        line
        for heading, block in grouped.items()
        if block
        for line in (f".. rubric:: {heading}", "", *block, "")
    ]


def add_examples(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Show the examples of the command's help."""
    examples = getattr(_command(context), "examples", [])
    if examples:
        lines += [".. rubric:: Examples", "", ".. code-block:: sh", ""]
        lines += [f"    {line}" for line in examples] + [""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the events."""
    app.connect("config-inited", write_pages)
    app.connect("sphinx-click-process-options", group_options)
    app.connect("sphinx-click-process-epilog", add_examples)
    return {"parallel_read_safe": True}
