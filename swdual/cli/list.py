"""`swdual list`: the names that options take."""

from __future__ import annotations

import inspect
import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby

import click

from swdual.cli._options import Command

PACKAGES = {
    "backends": "swdual.backends",
    "planners": "swdual.planners",
    "formats": "swdual.formats",
}
"""Kinds of which each is a module of a package, whose docstring says what it is."""

KINDS = (
    *PACKAGES,
    *("fields", "matrices", "tasks"),
    *("policies", "allocators", "platforms", "metrics", "repairs"),
)

COLUMN = 18

MAX_WIDTH = 98
"""Columns of a paragraph where the terminal has more, or where there is none."""

EXAMPLES = """
swdual list
swdual list fields
swdual list policies
"""


@click.command(
    "list", cls=Command, examples=EXAMPLES, short_help="List the names that options take."
)
@click.argument("what", required=False, metavar="[KIND]", type=click.Choice(KINDS))
def command(what: str | None) -> None:
    """List the names that options take. With KIND, describe each name of this kind.

    \b
    KIND is one of
      backends  planners  formats  fields  matrices  tasks    (searches)
      policies  allocators  platforms  metrics  repairs       (simulations)
    """
    lines = _all() if what is None else _about(what)
    for line in lines:
        click.echo(line)


def _all() -> Iterator[str]:
    from swdual import registry
    from swdual.format import NUMBERS
    from swdual.scheduling import plugins
    from swdual.scheduling.platform import PLATFORMS
    from swdual.sequences import matrices
    from swdual.sequences.scoring import TASKS

    numbers = {name: number for number, name in NUMBERS.items()}
    formats = [
        f"{numbers[name]} ({name})" if name in numbers else name
        for name in registry.available("swdual.formats")
    ]
    for kind, names in (
        ("backends", registry.available("swdual.backends")),
        ("planners", registry.available("swdual.planners")),
        ("formats", formats),
        ("matrices", matrices.names()),
        ("tasks", TASKS),
        ("policies", plugins.policy_names()),
        ("allocators", plugins.allocator_names()),
        ("platforms", sorted(PLATFORMS)),
    ):
        yield from _item(kind, "  ".join(names), 12)
    yield "\nfields of tables"
    yield from _fields("  ")


def _about(what: str) -> Iterator[str]:
    """Yield the lines about one kind of thing: each with what it does."""
    if what in PACKAGES:
        yield from _modules(PACKAGES[what])
    elif what == "fields":
        yield from _fields()
    elif what == "matrices":
        yield from _matrices()
    elif what == "tasks":
        yield from _tasks()
    elif what == "policies":
        yield from _policies()
    elif what == "allocators":
        yield from _allocators()
    elif what == "platforms":
        from swdual.scheduling.platform import PLATFORMS

        yield f"{'':<14}{'processors':>10}  blocks of each level"
        for name, sizes in sorted(PLATFORMS.items()):
            yield f"{name:<14}{sizes[-1]:>10,}  {', '.join(map(str, sizes))}"
    elif what == "metrics":
        from swdual.scheduling.metrics import METRICS

        for name, metric in METRICS.items():
            yield from _item(name, metric.formula, 26)
    else:
        from swdual.scheduling.workload.repair import RULES

        for name, rule in RULES.items():
            choices = "|".join(rule.choices)
            yield from _item("", f"{name}={choices}  [default: {rule.choices[0]}]", 0)
            yield from _wrap(rule.help)


def _modules(package: str) -> Iterator[str]:
    """Yield each module of a package with the first sentence about it."""
    from swdual import registry

    for name in registry.available(package):
        text = inspect.cleandoc(registry.load(package, name).__doc__ or "").partition("\n\n")[0]
        about = " ".join(text.split())
        first, *more = _wrap(about, " " * COLUMN)
        yield f"{name:<{COLUMN}}{first.strip()}"
        yield from more


def _fields(indent: str = "") -> Iterator[str]:
    from swdual.hits.fields import FIELDS

    for name, field in FIELDS.items():
        yield from _item(f"{indent}{name}", field.meaning, len(indent) + 14)


def _matrices() -> Iterator[str]:
    from swdual.sequences import matrices
    from swdual.sequences.scoring import PREFERRED_GAPS

    for source, names in groupby(matrices.names(), matrices.source):
        for name in names:
            opening, extension = PREFERRED_GAPS[name]
            yield from _item(name, f"gap opening {opening}, gap extension {extension}", COLUMN)
        yield from _wrap(f"from {source}", " " * COLUMN)


def _tasks() -> Iterator[str]:
    from swdual.sequences.alphabet import ALPHABETS
    from swdual.sequences.scoring import PREFERRED_GAPS, TASKS

    for name, task in TASKS.items():
        if task.dbtype == "prot":
            scores, gaps = task.matrix, PREFERRED_GAPS[task.matrix]
        else:
            scores, gaps = f"{task.reward}/{task.penalty}", (task.gap_open, task.gap_extend)
        kind = ALPHABETS[task.dbtype].plural
        sides = {"queries": task.translates_queries, "database": task.translates_targets}
        if any(sides.values()):
            kind += f" ({' and '.join(side for side in sides if sides[side])} translated)"
        about = f"{kind}: {scores}, gap opening {gaps[0]}, gap extension {gaps[1]}"
        yield from _item(name, about, COLUMN)


def _policies() -> Iterator[str]:
    """Yield what each policy does, the jobs that it is for, and its options with defaults."""
    from swdual.scheduling.plugins import find_policy, policy_names
    from swdual.scheduling.policy import JOB_KINDS

    for number, name in enumerate(policy_names()):
        policy = find_policy(name)
        yield f"\n{name}" if number else name
        yield from _paragraphs(sys.modules[policy.make.__module__].__doc__ or policy.make.__doc__)
        if policy.traits.jobs != "rigid":
            yield from _wrap(f"For {JOB_KINDS[policy.traits.jobs]}.")
        for option, about in policy.options.items():
            values = f" ({', '.join(about.choices)})" if about.choices else ""
            yield from _item("", f"    --option {option}={about.default}{values}", 8)
            yield from _wrap(about.help, "        ")
    yield ""
    yield from _wrap("A policy may also be a Python file: swdual simulate --policy mine.py", "")


def _allocators() -> Iterator[str]:
    """Yield what each allocator does."""
    from swdual.scheduling.plugins import allocator_names, find_allocator

    for number, name in enumerate(allocator_names()):
        yield f"\n{name}" if number else name
        yield from _paragraphs(find_allocator(name).allocator.__doc__)


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield from _wrap(" ".join(paragraph.split()))


def _item(name: str, about: str, column: int) -> list[str]:
    """Return the line of a name, with what it is from a column on; lines, on a narrow terminal."""
    return textwrap.wrap(
        f"{name:<{column}}{about}",
        _width(sys.maxsize),
        subsequent_indent=" " * column,
        break_on_hyphens=False,
    )


def _wrap(text: str, indent: str = "    ") -> list[str]:
    width = min(MAX_WIDTH, _width(MAX_WIDTH))
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _width(otherwise: int) -> int:
    """Return the columns of the terminal, or a number where the output goes elsewhere."""
    return shutil.get_terminal_size((otherwise, 0)).columns
