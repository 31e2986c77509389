"""Every policy of the package, with the options with which it is tried."""

from __future__ import annotations

import pytest

from swdual import registry
from swdual.scheduling import policy as policies
from swdual.scheduling.conformance import list_variants
from swdual.scheduling.plugins import find_policy

MORE = {
    "easy": [
        {"reserve_depth": "0"},
        {"reserve_depth": "3"},
        {"predictor": "last_two", "correction": "doubling", "order": "saf"},
    ],
    "conservative": [{"by": "processors", "compression": "thesis"}],
    "gang": [{"quantum": "30"}],
}
"""Options to try beside the defaults and each choice by itself."""


def trials():
    """Return each policy with each set of options that is tried: also of files that are new."""
    return [
        pytest.param(name, options, id=" ".join([name, *(f"{k}={v}" for k, v in options.items())]))
        for name in registry.available(policies.PACKAGE)
        for options in (*list_variants(find_policy(name)), *MORE.get(name, ()))
    ]
