"""Help: in groups, with examples, and no wider than the terminal."""

from __future__ import annotations

import re
import shlex

import pytest

from swdual.cli import COMMANDS, group
from swdual.cli._options import Command

HAVE_GROUPS = {
    "search": ["Input", "Output", "Filters", "Scoring", "Speed and memory", "Messages", "Advanced"],
    "iterate": [
        *("Input", "Rounds", "Output", "Profiles", "Filters", "Scoring", "Speed and memory"),
        *("Messages", "Advanced"),
    ],
    "allpairs": [
        *("Input", "Output", "Filters", "Scoring", "Speed and memory", "Messages", "Advanced"),
    ],
    "cluster": [
        *("Clusters", "Input", "Output", "Filters", "Scoring", "Speed and memory", "Messages"),
        "Advanced",
    ],
    "makedb": ["Input", "Masks", "Output", "Memory", "Messages"],
    "align": ["Input", "Output", "Filters", "Scoring", "Speed", "Messages"],
    "plan": ["Input", "Filters", "Scoring", "Machine", "Plan", "Messages"],
    "mask": ["Input", "Masks", "Output", "Messages"],
    "convert": ["Formats", "Output", "Messages"],
}


def commands():
    """Return all commands, loaded, by their names."""
    return {name: group.get_command(None, name) for name in COMMANDS}


@pytest.mark.parametrize("name", HAVE_GROUPS)
def test_options_are_shown_by_groups(run, name):
    """All under a heading that is named, the examples and exit codes last."""
    headings = re.findall(r"^([A-Z][a-z ]+):(?: |$)", run(name, "--help").out, re.MULTILINE)
    assert headings == ["Usage", *HAVE_GROUPS[name], "Examples", "Exit codes"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_help(run, name):
    """Once, and with an explanation that is a sentence."""
    text = run(name, "--help").out
    for option in commands()[name].params:
        if option.param_type_name == "option" and not option.hidden:
            names = [each for each in option.opts if each.startswith("--")]
            shown = [re.search(rf"^  .*{each}\b(?!-)", text, re.MULTILINE) for each in names]
            assert any(shown), names
            assert option.help.endswith((".", "]", ")")), option.help
            assert option.help[0].isupper() or not option.help[0].isalpha(), option.help


@pytest.mark.parametrize("name", HAVE_GROUPS)
def test_help_fits_a_terminal_of_80_columns(run, monkeypatch, name):
    """What is not wrapped was written to fit."""
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run(name, "--help").out.splitlines())) <= 80


@pytest.mark.parametrize("name", HAVE_GROUPS)
def test_every_parameter_that_a_group_names_exists(name):
    """A name that was changed would silently fall into the group of the others."""
    command = commands()[name]
    assert isinstance(command, Command)
    known = {each.name for each in command.params}
    grouped = {each for names in command.groups.values() for each in names.split()}
    assert grouped - {"_click_default_help"} <= known


@pytest.mark.parametrize("name", HAVE_GROUPS)
def test_examples_name_options_that_exist(name):
    """And the command itself."""
    command = commands()[name]
    known = {option for each in command.params for option in each.opts}
    assert command.examples
    for line in command.examples:
        for call in line.partition(" #")[0].split("|"):
            words = shlex.split(call)
            if words[:2] == ["swdual", name]:
                assert {word for word in words if word.startswith("-") and word != "-"} <= known
