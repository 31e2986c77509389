"""`swdual list`: what can be chosen by name."""

from __future__ import annotations

import click


@click.command("list", short_help="List what can be chosen by name.")
def command() -> None:
    """List backends, planners, output formats and their fields, and matrices."""
    from swdual import registry
    from swdual.format import NUMBERS
    from swdual.hits.fields import FIELDS
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
    ):
        click.echo(f"{kind:<10}{'  '.join(names)}")
    click.echo("\nfields of tables")
    for name, field in FIELDS.items():
        click.echo(f"  {name:<14}{field.meaning}")
