"""`swdual completion`: a script that completes commands, options and names in a shell."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Print a shell's completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a script that lets SHELL complete commands, options, names and files with Tab.

    Names are those of policies, allocators, platforms, planners, output formats and their fields,
    matrices, devices and backends.

    \b
    bash:  echo 'eval "$(swdual completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(swdual completion zsh)"' >> ~/.zshrc
    fish:  swdual completion fish > ~/.config/fish/completions/swdual.fish
    """
    from click.shell_completion import get_completion_class

    from swdual.cli import group

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(group, {}, "swdual", "_SWDUAL_COMPLETE").source()
    # In click's script for fish a word ends at its first comma, but ours may be lists.
    click.echo(script.replace('(string split "," ', '(string split --max 1 "," '))
