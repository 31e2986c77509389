"""Tables that are made from the code: ``{table-of} fields`` in a page shows all fields.

A table is Markdown, so that its cells may hold links and code.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import struct
import sys
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Rows = Iterable[tuple[Any, ...]]


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


def _first_paragraph(text: str | None) -> str:
    return " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())


def _plug_ins(package: str) -> Rows:
    from swdual import registry

    for name in registry.available(package):
        yield _code(name), _first_paragraph(registry.load(package, name).__doc__)


def _commands() -> Rows:
    from swdual.cli import COMMANDS

    yield "Command", "What it does"
    for name in COMMANDS:
        command = importlib.import_module(f"swdual.cli.{name}").command
        link = f"[`swdual {name}`](../generated/commands/{name}.rst)"
        yield link, command.get_short_help_str(200)


def _planners() -> Rows:
    yield "`--planner`", "Assigns tasks to workers"
    yield from _plug_ins("swdual.planners")


def _backends() -> Rows:
    yield "`--backend`", "Computes scores"
    yield from _plug_ins("swdual.backends")


def _formats() -> Rows:
    from swdual.format import NUMBERS
    from swdual.results.file_types import ENDINGS

    numbers = {name: number for number, name in NUMBERS.items()}
    yield "`-f`", "BLAST's number", "Names of files", "Content"
    for name, text in _plug_ins("swdual.formats"):
        bare = name.strip("`")
        endings = ", ".join(_code(ending) for ending, format in ENDINGS.items() if format == bare)
        yield name, numbers.get(bare, ""), endings, text


def _fields() -> Rows:
    from swdual.formats.commented import NAMES
    from swdual.hits.fields import FIELDS

    kinds = {"text": "text", "whole": "integer", "real": "real number"}
    yield "Field", "In format 7", "Type", "Meaning", "Needs the alignment"
    for name, field in FIELDS.items():
        traced = "yes" if field.traced else ""
        yield _code(name), NAMES.get(name, ""), kinds[field.kind], field.meaning, traced


def _taxonomy_fields() -> Rows:
    from swdual.hits.fields import FIELDS, TAXA, TAXIDS

    yield "Field", "Meaning", "Needs the tree"
    for name in (*TAXIDS, *TAXA):
        yield _code(name), FIELDS[name].meaning, "yes" if name in TAXA else ""


def _matrices() -> Rows:
    from swdual.sequences import matrices
    from swdual.sequences.scoring import PREFERRED_GAPS

    yield "`--matrix`", "Gap opening and extension", "Source"
    for name in matrices.names():
        yield _code(name), ", ".join(map(str, PREFERRED_GAPS[name])), matrices.source(name)


def _tasks() -> Rows:
    from swdual.sequences.scoring import PREFERRED_GAPS, TASKS

    yield "`--task`", "Scores", "Gap opening and extension", "Translates"
    for name, task in TASKS.items():
        if task.dbtype == "prot":
            scores, gaps = task.matrix, PREFERRED_GAPS[task.matrix]
        else:
            scores, gaps = f"{task.reward}/{task.penalty}", (task.gap_open, task.gap_extend)
        sides = {"queries": task.translates_queries, "database": task.translates_targets}
        translated = " and ".join(side for side in sides if sides[side])
        yield _code(name), scores, ", ".join(map(str, gaps)), translated


def _codes() -> Rows:
    from swdual import errors

    yield "Exit code", "Errors in Python", "Meaning"
    yield 0, "", "finished, with or without hits"
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    failures = [kind for kind in kinds if issubclass(kind, errors.SwdualError)]
    for kind in sorted(failures[1:], key=lambda kind: kind.exit_code):
        yield kind.exit_code, f"`swdual.errors.{kind.__name__}`", _first_paragraph(kind.__doc__)
    yield "130, 143, 141", "", "ended by Ctrl-C, by SIGTERM, by a closed pipe"
    yield 255, "", "an error in swdual itself"


def _policies() -> Rows:
    from swdual.scheduling.plugins import find_policy, policy_names

    yield "`--policy`", "Rule", "Jobs", "Options and their defaults"
    for name in policy_names():
        policy = find_policy(name)
        text = sys.modules[policy.make.__module__].__doc__ or policy.make.__doc__
        options = ", ".join(
            _code(f"{key}={about.default}") for key, about in policy.options.items()
        )
        yield _code(name), _first_paragraph(text), policy.traits.jobs, options


def _allocators() -> Rows:
    from swdual.scheduling.plugins import allocator_names, find_allocator

    yield "`--allocator`", "Rule"
    for name in allocator_names():
        yield _code(name), _first_paragraph(find_allocator(name).allocator.__doc__)


def _platforms() -> Rows:
    from swdual.scheduling.platform import PLATFORMS

    yield "`--platform`", "Processors", "Processors in a block of each level"
    for name, sizes in sorted(PLATFORMS.items()):
        yield _code(name), f"{sizes[-1]:,}", ", ".join(f"{size:,}" for size in sizes)


def _metrics() -> Rows:
    from swdual.scheduling.metrics import METRICS

    yield "`--metric`", "Definition", "Unit"
    for name, metric in METRICS.items():
        yield _code(name), metric.formula, metric.unit


def _repairs() -> Rows:
    from swdual.scheduling.workload.repair import RULES

    yield "`--repair`", "Values, the default first", "About"
    for name, rule in RULES.items():
        yield _code(name), ", ".join(map(_code, rule.choices)), rule.help


def _header() -> Rows:
    from swdual.database.layout import HEADER, HEADER_BYTES

    names = (
        "magic: `SWDUALDB`",
        "major version",
        "minor version",
        "byte order mark",
        "offset of the manifest",
        "bytes of the manifest",
        "bytes of the file",
        "XXH3-128 of the manifest",
    )
    return _packed(HEADER.format, names, HEADER_BYTES)


def _shard_header() -> Rows:
    from swdual.database.layout import HEADER_BYTES, SHARD_HEADER

    names = (
        "magic: `SWDUALSH`",
        "number of the shard, from 0",
        "number of shards",
        "bytes of the file",
        "XXH3-128 of the manifest of the database",
    )
    return _packed(SHARD_HEADER.format, names, HEADER_BYTES)


def _packed(format: str, names: Iterable[str], size: int) -> Rows:
    """Yield where each value of a packed header lies; the last eight bytes are a checksum."""
    codes = [
        each
        for count, letter in re.findall(r"(\d*)([a-zA-Z])", format)
        for each in ([count + letter] if letter == "s" else [letter] * int(count or 1))
    ]
    yield "Offset", "Bytes", "Type in Python's `struct`", "Value"
    offset = 0
    for code, name in zip(codes, names, strict=True):
        yield offset, struct.calcsize("<" + code), _code(code), name
        offset += struct.calcsize("<" + code)
    yield offset, size - 8 - offset, "", "zero"
    yield size - 8, 8, "`8s`", "XXH3-64 of the bytes before"


def _blast_options(command: str) -> Rows:
    """Yield BLAST's options that a command has under a name of its own, or under the same."""
    parameters = importlib.import_module(f"swdual.cli.{command}").command.params
    yield "BLAST", f"`swdual {command}`", "Meaning"
    for parameter in parameters:
        if not isinstance(parameter, click.Option):
            continue
        names = [*parameter.opts, *parameter.secondary_opts]
        theirs = [name for name in names if re.fullmatch(r"-\w[\w-]+", name)]
        ours = [name for name in names if name not in getattr(parameter, "others", theirs)]
        if theirs:
            shown = (name.replace("-", "_").replace("_", "-", 1) for name in theirs)
            pairs = ", ".join(map(_code, shown)), ", ".join(map(_code, ours))
            yield *pairs, _first_sentence(parameter.help or "")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:]) |  \[", text, maxsplit=1)[0].rstrip(":")


def _blast_answers(kind: type, head: tuple[str, ...]) -> Rows:
    """Yield BLAST's options that are answered in one way."""
    from swdual.cli._blast import ANSWERS, Accepted

    yield head
    for name, answer in ANSWERS.items():
        if isinstance(answer, kind):
            shown = "-" + name.replace("-", "_")
            if isinstance(answer, Accepted):
                yield _code(shown), ", ".join(map(_code, answer.values)), answer.fact
            else:
                yield _code(shown), *answer


def _accepted() -> Rows:
    from swdual.cli._blast import Accepted

    return _blast_answers(Accepted, ("BLAST", "Values that are accepted", "Because"))


def _refused() -> Rows:
    from swdual.cli._blast import RefusedOption

    return _blast_answers(RefusedOption, ("BLAST", "Why it is refused, and what to do instead"))


TABLES: dict[str, Callable[[], Rows]] = {
    "allocators": _allocators,
    "backends": _backends,
    "blast-accepted": _accepted,
    "blast-refused": _refused,
    **{
        f"blast-{name}": functools.partial(_blast_options, name)
        for name in ("search", "iterate", "makedb", "extract", "mask")
    },
    "commands": _commands,
    "exit-codes": _codes,
    "fields": _fields,
    "formats": _formats,
    "header": _header,
    "matrices": _matrices,
    "metrics": _metrics,
    "planners": _planners,
    "platforms": _platforms,
    "policies": _policies,
    "repairs": _repairs,
    "shard-header": _shard_header,
    "tasks": _tasks,
    "taxonomy-fields": _taxonomy_fields,
}
"""Each yields the head of the table first."""


class TableOf(SphinxDirective):
    """A table of all that the code has of a kind."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        head, *rows = TABLES[self.arguments[0]]()
        lines = [head, ("---",) * len(head), *rows]
        text = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
        table, *_ = found = self.parse_text_to_nodes("\n".join(text))
        table["classes"].append("names")
        return found


def _cell(value: object) -> str:
    return str(value).replace("|", r"\|").replace("*", r"\*").replace("<", r"\<")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("table-of", TableOf)
    return {"parallel_read_safe": True}
