"""What the repair rules did to the jobs of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class RuleCount(NamedTuple):
    """How many jobs a rule matched, and what it did to them.

    Parameters
    ----------
    rule
        Its name.
    jobs
        How many it matched.
    action
        What it did to them, such as "dropped: not completed".
    """

    rule: str
    jobs: int
    action: str

    def __str__(self) -> str:
        what = "line" if self.rule == "parts" else "job"
        return f"{self.jobs:,} {what}{'' if self.jobs == 1 else 's'} {self.action}"


@dataclass(frozen=True)
class CleaningReport:
    """What the rules did to a trace; as text, a line for each rule that matched a job.

    A job that was dropped is not matched by later rules.

    Parameters
    ----------
    read, kept
        How many jobs the trace has, and how many are left.
    counts
        What each rule did, in the order in which they were applied.
    """

    read: int
    kept: int
    counts: tuple[RuleCount, ...]

    def __getitem__(self, rule: str) -> int:
        return sum(count.jobs for count in self.counts if count.rule == rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values; the names are those of `swdual simulate --json`."""
        return {
            "read": self.read,
            "kept": self.kept,
            "hits": [
                {"rule": count.rule, "jobs": count.jobs, "deed": count.action}
                for count in self.counts
            ],
        }

    def __str__(self) -> str:
        return "\n".join([f"{self.kept:,} of {self.read:,} jobs kept", *map(str, self.counts)])
