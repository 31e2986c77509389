"""Write the packages into ``build/packages``: ``python docs/packages/generate.py``.

Each file in ``templates/`` becomes a file of the same name there. What templates know comes from
the options of the command line, as Click has them, from ``pyproject.toml`` and from
``CITATION.cff``.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from swdual.cli import group
from swdual.cli._options import CompositionMode, Count, Real, option_name
from swdual.io.endings import ENDINGS
from swdual.version import __version__

TEMPLATES = Path(__file__).resolve().parent / "templates"
ROOT = TEMPLATES.parents[2]

PYTHON = "3.13"
"""The Python of the containers."""

FORMS = {
    "search": (("Input", "Filters", "Scoring"), {"master", "ignore_master"}),
    "makedb": (("Input", "Masks", "Output"), {"force", "shards"}),
}
"""What Galaxy's forms show: the groups of the help of each command, without some options.

Options that name files are left out, too: Galaxy gives files their names. Of the others,
`master` and `ignore_master` belong to such an option, and a database with shards is several files.
"""

GALAXY_FORMATS = {
    "tabular": "tabular",
    "commented": "tabular",
    "csv": "csv",
    "json": "json",
    "pairwise": "txt",
    "xml": "blastxml",
    "sam": "sam",
    "paf": "paf",
}
"""Formats of text, and their data types in Galaxy."""

OWN = {
    "search": {"query", "db", "out", "threads", "memory_limit"},
    "makedb": {"sources", "target", "memory_limit"},
}
"""Options that the rules of Snakemake give values to, by their own words."""


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Parameters
    ----------
    name
        As Python has it: the long option, with underscores.
    flag, off
        The long option; and the one that says the contrary, or "".
    kind
        What it takes: "integer", "float", "select" (one of `choices`), "boolean" (a flag), "text"
        or "file".
    choices
        The values of "select".
    default
        The value, or "" if the command finds it.
    minimum, maximum
        Limits of a number, or None.
    several
        Whether the option may be repeated.
    label, help
        The first sentence of the help, and the others.
    """

    name: str
    flag: str
    off: str
    kind: str
    choices: tuple[str, ...]
    default: str
    minimum: float | None
    maximum: float | None
    several: bool
    label: str
    help: str

    @classmethod
    def of(cls, each: click.Option, context: click.Context) -> Option:
        """Return an option of Click as one of these."""
        flag = option_name(each, None)
        kind, choices = _kind(each, context)
        default = each.to_info_dict()["default"]
        said, _, found = (each.help or "").partition("  [default: ")
        label, _, rest = said.partition(". ")
        return cls(
            name=flag.lstrip("-").replace("-", "_"),
            flag=flag,
            off=max(each.secondary_opts, key=len, default=""),
            kind=kind,
            choices=choices,
            default="" if kind == "boolean" or default is None else f"{default}",
            minimum=getattr(each.type, "min", None),
            maximum=getattr(each.type, "max", None),
            several=each.multiple,
            label=label.rstrip("."),
            help=" ".join(filter(None, [rest, found and f"Default: {found.rstrip(']')}."])),
        )


def _kind(each: click.Option, context: click.Context) -> tuple[str, tuple[str, ...]]:
    """Return what an option takes, and the values from which to choose."""
    if isinstance(each.type, click.Path):
        return "file", ()
    if each.is_flag:
        return "boolean", ()
    if isinstance(each.type, click.types.BoolParamType):
        return "select", ("true", "false")
    if isinstance(each.type, CompositionMode):
        return "select", ("0", "1", "2", "3")
    if isinstance(each.type, (Count, Real)):
        return "integer" if isinstance(each.type, Count) else "float", ()
    offered = tuple(item.value for item in each.shell_complete(context, ""))
    return ("select", offered) if offered else ("text", ())


class Command:
    """A command and its options, for templates.

    Parameters
    ----------
    name
        The command.
    """

    def __init__(self, name: str) -> None:
        context = click.Context(group)
        command = group.get_command(context, name)
        assert command is not None
        self.name = name
        self.summary = command.get_short_help_str(100).rstrip(".")
        self.options = {
            str(each.name): Option.of(each, context)
            for each in command.params
            if isinstance(each, click.Option)
        }
        self._groups: dict[str, str] = command.groups  # type: ignore[attr-defined]
        self._help = inspect.cleandoc(command.help or "")

    def sections(self) -> Iterator[tuple[str, list[Option]]]:
        """Yield what Galaxy's form shows: a heading and its options."""
        headings, without = FORMS[self.name]
        for heading in headings:
            names = [name for name in self._groups[heading].split() if name not in without]
            options = [self.options[name] for name in names if name in self.options]
            yield heading, [each for each in options if each.kind != "file"]

    def shown(self) -> list[Option]:
        """Return the options of all sections."""
        return [each for _, options in self.sections() for each in options]

    def wrapped(self) -> list[Option]:
        """Return the options that a rule of Snakemake may have as parameters."""
        options = [each for name, each in self.options.items() if name not in OWN[self.name]]
        return sorted(options, key=lambda each: each.name)

    def text(self) -> str:
        r"""Return the help as reStructuredText; paragraphs after \b keep their lines."""
        paragraphs = []
        for each in self._help.split("\n\n"):
            head, kept, lines = each.partition("\b\n")
            paragraphs.append(f"::\n\n{re.sub('(?m)^', '    ', lines)}" if kept else head)
        return "\n\n".join(paragraphs)


def _project() -> dict[str, Any]:
    """Return the metadata of the project."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project: dict[str, Any] = tomllib.load(file)["project"]
    return project


def _year() -> int:
    """Return the year of the release, as CITATION.cff has it."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    year: int = citation["date-released"].year
    return year


def _conda(project: dict[str, Any]) -> dict[str, Any]:
    """Return what the package needs at run time, as conda writes it.

    A package without compiled files is one for all releases of Python. So a dependency of some
    releases limits the releases. It is one for all systems, too: what one of them needs, all have;
    limits of one of them are those of PyPI's wheels, and left out.
    """
    python, packages = [project["requires-python"]], dict[str, str]()
    for each in project["dependencies"]:
        name, _, marker = (part.strip() for part in each.partition(";"))
        if marker and not marker.startswith("sys_platform"):
            limit = re.fullmatch(r"python_version (< '[\d.]+')", marker)
            assert limit, f"{each}: this marker has no counterpart"
            python.append(re.sub("[ ']", "", limit[1]))
        package = re.match(r"[\w.-]+", name)[0]
        packages.setdefault(package, f"{package} {name.removeprefix(package)}".lower())
    return {"python": ",".join(python), "packages": [*packages.values()]}


def _samples() -> dict[str, str]:
    """Return FASTA for the tests in Galaxy: a query, and its family with eight more targets."""
    query = _records("queries.fasta")[0]
    family = re.findall(r" family=\d+ ", query)[0]
    targets = _records("proteins.fasta")
    near = [each for each in targets if family in each]
    return {"queries.fasta": query, "proteins.fasta": "".join(near + targets[:8])}


def _records(name: str) -> list[str]:
    return re.findall(r">[^>]+", (ROOT / "data" / name).read_text(encoding="utf-8"))


def render() -> dict[str, str]:
    """Return the text of each generated file, by its path."""
    project = _project()
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: name is not None and ".xml" in name,
    )
    templates.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    known = {
        "project": project,
        "version": __version__,
        "year": _year(),
        "python": PYTHON,
        "conda": _conda(project),
        "endings": sorted(ending[1:] for ending in ENDINGS),
        "formats": GALAXY_FORMATS,
        "search": Command("search"),
        "makedb": Command("makedb"),
    }
    files = {
        name.removesuffix(".j2"): templates.get_template(name).render(known)
        for name in templates.list_templates()
        if name.endswith(".j2")
    }
    return files | {f"galaxy/test-data/{name}": text for name, text in _samples().items()}


def write(folder: Path) -> None:
    """Write all files; those of templates that are no more are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in render().items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(ROOT / "build" / "packages")
    print("build/packages: written", file=sys.stderr)
