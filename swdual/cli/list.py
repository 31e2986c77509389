"""`swdual list`: what can be chosen by name."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

import click

DETAILED = ("policies", "allocators", "platforms", "metrics", "repairs")


@click.command("list", short_help="List what can be chosen by name.")
@click.argument("what", required=False, type=click.Choice(DETAILED))
def command(what: str | None) -> None:
    """List backends, planners, output formats and their fields, and matrices.

    Also the policies, allocators and platforms that are simulated. Name one of these, or metrics
    or repairs, for details.
    """
    lines = _all() if what is None else _about(what)
    for line in lines:
        click.echo(line)


def _all() -> Iterator[str]:
    from swdual import registry
    from swdual.format import NUMBERS
    from swdual.hits.fields import FIELDS
    from swdual.scheduling import plugins
    from swdual.scheduling.platform import PLATFORMS
    from swdual.sequences import matrices

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
        ("policies", plugins.policy_names()),
        ("allocators", plugins.allocator_names()),
        ("platforms", sorted(PLATFORMS)),
    ):
        yield f"{kind:<12}{'  '.join(names)}"
    yield "\nfields of tables"
    for name, field in FIELDS.items():
        yield f"  {name:<14}{field.meaning}"


def _about(what: str) -> Iterator[str]:
    """Yield the lines about one kind of thing: each with what it does."""
    if what == "policies":
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
            yield f"{name:<26}{metric.formula}"
    else:
        from swdual.scheduling.workload.repair import RULES

        for name, rule in RULES.items():
            yield f"{name}={'|'.join(rule.choices)}  [default: {rule.choices[0]}]"
            yield from _wrapped(rule.help)


def _policies() -> Iterator[str]:
    """Yield what each policy does, the jobs that it is for, and its options with defaults."""
    import sys

    from swdual.scheduling.plugins import find_policy, policy_names
    from swdual.scheduling.policy import JOB_KINDS

    for number, name in enumerate(policy_names()):
        found = find_policy(name)
        yield f"\n{name}" if number else name
        yield from _paragraphs(sys.modules[found.make.__module__].__doc__ or found.make.__doc__)
        if found.traits.jobs != "rigid":
            yield from _wrapped(f"For {JOB_KINDS[found.traits.jobs]}.")
        for option, about in found.options.items():
            values = f" ({'|'.join(about.choices)})" if about.choices else ""
            yield f"    --option {option}={about.default}{values}"
            yield from _wrapped(about.help, "        ")
    yield "\nA policy may also be a Python file of your own: swdual simulate --policy mine.py"


def _allocators() -> Iterator[str]:
    """Yield what each allocator does."""
    from swdual.scheduling.plugins import allocator_names, find_allocator

    for number, name in enumerate(allocator_names()):
        yield f"\n{name}" if number else name
        yield from _paragraphs(find_allocator(name).allocator.__doc__)


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        yield from _wrapped(" ".join(paragraph.split()))


def _wrapped(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, 98, initial_indent=indent, subsequent_indent=indent)
