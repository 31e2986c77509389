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
        ("policies", registry.available("swdual.scheduling.policies")),
        ("allocators", registry.available("swdual.scheduling.allocators")),
        ("platforms", sorted(PLATFORMS)),
    ):
        yield f"{kind:<12}{'  '.join(names)}"
    yield "\nfields of tables"
    for name, field in FIELDS.items():
        yield f"  {name:<14}{field.meaning}"


def _about(what: str) -> Iterator[str]:
    """Yield the lines about one kind of thing: each with what it does."""
    if what in ("policies", "allocators"):
        yield from _plugins(f"swdual.scheduling.{what}")
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


def _plugins(package: str) -> Iterator[str]:
    """Yield what the docstring of each plug-in says, and its options with their defaults."""
    from swdual import registry

    for number, name in enumerate(registry.available(package)):
        module = registry.load(package, name)
        yield f"\n{name}" if number else name
        for paragraph in (inspect.getdoc(module) or "").split("\n\n"):
            yield from _wrapped(" ".join(paragraph.split()))
        for option, about in getattr(module, "OPTIONS", {}).items():
            values = f" ({'|'.join(about.choices)})" if about.choices else ""
            yield f"    --option {option}={about.default}{values}"
            yield from _wrapped(about.help, "        ")


def _wrapped(text: str, indent: str = "    ") -> list[str]:
    return textwrap.wrap(text, 98, initial_indent=indent, subsequent_indent=indent)
