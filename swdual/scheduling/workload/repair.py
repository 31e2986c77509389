"""Rules that repair or drop damaged jobs, each with its choices.

Archives keep what was logged. Jobs that never ran, requests that nobody wrote down and runs that
outlived their request are in nearly all of their traces, and programs that read them differ in
what they make of these jobs. Here each choice has a name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from swdual.errors import InputError
from swdual.scheduling.workload.trace import MAX_VALUE
from swdual.text.messages import parse_number


class Rule(NamedTuple):
    """The choices for one kind of damage.

    Parameters
    ----------
    choices
        What the rule may say, the default first.
    help
        What it is about, in a line.
    """

    choices: tuple[str, ...]
    help: str


RULES = MappingProxyType(
    {
        "status": Rule(("any", "completed"), "which jobs are taken, by field 11"),
        "run_time": Rule(("drop", "one_second"), "jobs with a run time of 0 or less"),
        "processors": Rule(
            ("allocated", "requested"),
            "which of fields 5 and 8 counts; the other one where it is missing",
        ),
        "requested_time": Rule(
            ("run_time", "drop"),
            "what jobs without requested time request; also a number of seconds",
        ),
        "overrun": Rule(("keep", "extend", "drop"), "jobs that ran longer than they requested"),
        "too_wide": Rule(("error", "drop", "cap"), "jobs wider than the machine"),
        "preceding": Rule(
            ("ignore", "follow"), "jobs that follow a preceding job, by fields 17 and 18"
        ),
    }
)
"""The rules that have a choice, in the order in which they are applied."""


@dataclass(frozen=True)
class Repairs:
    """Rules for damaged jobs of a trace, in the order in which they are applied.

    Lines about parts of jobs are dropped under all rules, since another line sums them up; so are
    jobs whose submit time is missing, since they have no place in time.

    Parameters
    ----------
    status
        Take jobs of "any" status, or only those that "completed" (field 11 is 1).
    run_time
        "drop" jobs with a run time of 0 or less, or let them run "one_second".
    processors
        Which field counts, the "allocated" (5) or the "requested" processors (8). Where it is
        missing the other one does; where both are, the job is dropped. Some sites wrote nodes
        into field 8.
    requested_time
        Where it is 0 or less: the "run_time" is requested, or that many seconds, or "drop".
    overrun
        Jobs that ran longer than they requested: "keep" them, so that they will be killed at
        their request; "extend" the request to the run time; or "drop" them.
    too_wide
        Jobs wider than the machine: an "error", "drop" them, or "cap" them to its size.
    preceding
        Jobs with a preceding job (field 17): "ignore" it, so that they are submitted at their own
        times; or "follow" it, so that they are submitted when it has ended and the think time
        (field 18) has passed, and not before their own times. One is followed that is before its
        follower in time or, at the same time, in the file, and was not dropped.

    Raises
    ------
    InputError
        If there is no such choice.
    """

    status: str = "any"
    run_time: str = "drop"
    processors: str = "allocated"
    requested_time: str | float = "run_time"
    overrun: str = "keep"
    too_wide: str = "error"
    preceding: str = "ignore"

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            chosen = getattr(self, name)
            if chosen in rule.choices:
                continue
            remedy = f"choose one of {', '.join(rule.choices)}"
            if name == "requested_time":
                remedy += ", or a number of seconds above 0"
                seconds = _seconds(chosen)
                if seconds is not None:
                    object.__setattr__(self, name, seconds)
                    continue
            raise InputError(f"the rule {name} cannot be {chosen!r}; {remedy}")


def _seconds(chosen: str | float) -> float | None:
    """Return a choice as seconds, or None if it is not a number."""
    try:
        seconds = parse_number(chosen)
    except ValueError:
        return None
    return seconds if 0 < seconds <= MAX_VALUE else None


RULE_SETS = MappingProxyType(
    {"standard": Repairs(), "thesis": Repairs(status="completed", too_wide="drop")}
)
"""Rules by name. "thesis" gives the job counts of tables 3.1 and 5.2 of Machado Mendonca's thesis:
jobs that completed after a run time above 0. Its programs took field 8 for the processors, which
in the trace of Curie is often missing or a number of nodes; we stay with field 5."""


def rules(name: str = "standard", changes: Iterable[str] = ()) -> Repairs:
    """Return a rule set by its name, with some rules otherwise.

    Parameters
    ----------
    name
        One of `RULE_SETS`.
    changes
        Texts such as "overrun=drop"; of two about the same rule the last one counts.

    Raises
    ------
    InputError
        If there is no such rule set, rule or choice.

    >>> rules("thesis", ["overrun=drop"]).overrun
    'drop'
    """
    if name not in RULE_SETS:
        raise InputError(f"there are no rules {name!r}; choose one of {', '.join(RULE_SETS)}")
    chosen = {}
    for change in changes:
        rule, _, choice = change.partition("=")
        if rule not in RULES:
            raise InputError(
                f"{change!r} is about no rule; write RULE=CHOICE, where RULE is one of "
                f"{', '.join(RULES)}"
            )
        chosen[rule] = choice
    return replace(RULE_SETS[name], **chosen)
