"""How many examples Hypothesis tries: a number for the whole suite, scaled by the profile.

The profile is `quick` for ``pytest`` alone, and `ci` for all other runs; both try the same examples
each time, so that a change fails for what it changes. ``pytest -m "" --hypothesis-profile=nightly``
tries twenty times as many, others each time.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from support.nightly import QUICK_PART

PERCENT = {"quick": round(100 * QUICK_PART), "ci": 100, "nightly": 2000}
"""Examples in each profile. 100 is the number of examples of a test that sets none."""

PARTS = 5
"""Cases that share the seeds of a test: one case is quick where all seeds together are slow."""

in_parts = pytest.mark.parametrize("part", range(PARTS))
"""Makes a case of each part of the seeds of a test."""


def register_profiles() -> None:
    """Register the profiles, and load `ci`."""
    for name, percent in PERCENT.items():
        settings.register_profile(
            name,
            max_examples=percent,
            deadline=None,  # how long an example takes depends on what else the machine does
            derandomize=name != "nightly",
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("ci")


class _Calls:
    """How often a number of examples was scaled in this process."""

    count = 0


calls = _Calls()


def scaled(count: int) -> int:
    """Scale a number of examples, which is the one of the profile `ci`, to the profile in use."""
    calls.count += 1
    return max(1, round(count * settings().max_examples / PERCENT["ci"]))


def seeds(count: int, part: int | None = None) -> range:
    """Return the seeds of a test that draws its examples itself.

    Parameters
    ----------
    count
        As of `examples`.
    part
        Return the seeds of this case only: with `in_parts`, `PARTS` cases share the seeds.
    """
    if part is None:
        return range(scaled(count))
    each = count // PARTS
    return range(part * each, part * each + scaled(each))


def examples(count: int, **options: object) -> settings:
    """Return settings of Hypothesis with a number of examples.

    Parameters
    ----------
    count
        The number of examples in the profile `ci`. Others scale it.
    options
        Other settings of Hypothesis.
    """
    return settings(max_examples=scaled(count), **options)
