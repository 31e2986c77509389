"""The run-time penalty of a platform: a job whose processors lie far apart runs longer.

Section 5.3.4 of Machado Mendonca's thesis. A job's distance is the level of its processors minus
the lowest level at which it could have run; a factor says what a level costs. What then takes
longer than the requested time is killed there, which is the engine's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.text.messages import parse_number


def _linear(run_time: float, distance: int, factor: float) -> float:
    """Return formula 5.1: T + T R F."""
    return run_time + run_time * distance * factor


def _quadratic(run_time: float, distance: int, factor: float) -> float:
    """Return formula 5.2: T F^R."""
    return float(run_time * factor**distance)


KINDS: Mapping[str, tuple[Callable[[float, int, float], float], float]] = {
    "linear": (_linear, 0.0),
    "quadratic": (_quadratic, 1.0),
}
"""The formula of each kind of penalty, and its least factor: the one that changes no run time."""

MAX_PENALTY = 1e6
"""The largest factor: run times stay finite on any tree."""


@dataclass(frozen=True)
class Penalty:
    """How much longer jobs run if their processors lie far apart.

    Parameters
    ----------
    kind
        "linear": a level more adds `factor` times the run time (formula 5.1). "quadratic", as the
        thesis calls it: a level more multiplies it by `factor` (formula 5.2).
    factor
        The thesis's experiments have 2.

    Raises
    ------
    InputError
        If there is no such penalty, or if it would make jobs faster.

    Examples
    --------
    >>> Penalty("linear", 2).run_time(100.0, 3), Penalty("quadratic", 2).run_time(100.0, 3)
    (700.0, 800.0)
    """

    kind: str
    factor: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(unknown("penalty", self.kind, KINDS))
        min_factor = KINDS[self.kind][1]
        if not min_factor <= self.factor <= MAX_PENALTY:
            raise InputError(
                f"the factor of a {self.kind} penalty must be {min_factor:g} to {MAX_PENALTY:g}, "
                f"not {self.factor:g}"
            )

    def run_time(self, run_time: float, distance: int) -> float:
        """Return the seconds a job runs, given those it runs at its lowest level.

        Parameters
        ----------
        run_time
            Seconds at the lowest level that has room for the job.
        distance
            The level of its processors minus that level.
        """
        return KINDS[self.kind][0](run_time, distance, self.factor)

    def __str__(self) -> str:
        return f"{self.kind}:{float(self.factor)!r}".removesuffix(".0")


def parse(text: str) -> Penalty:
    """Return the penalty that a text like ``quadratic:2`` means.

    >>> parse("linear:0.5")
    Penalty(kind='linear', factor=0.5)

    Raises
    ------
    InputError
        If the text is not a penalty.
    """
    kind, colon, factor = text.partition(":")
    if kind not in KINDS:
        raise InputError(unknown("penalty", kind, KINDS))
    try:
        value = parse_number(factor)
    except ValueError as error:
        cause = f"{factor!r} is no number" if colon else f"{text!r} has no factor"
        raise InputError(f"{cause}; write {kind}:2 or the like") from error
    return Penalty(kind, value)
