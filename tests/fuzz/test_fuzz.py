"""Readers meet thousands of damaged files; `fuzz.run` finds more of them, given time."""

from __future__ import annotations

import importlib
import pkgutil
import random

import fuzz.targets
import pytest
from fuzz.mutation import mutated
from support.properties import scaled

pytestmark = pytest.mark.fuzz

TARGETS = [module.name for module in pkgutil.iter_modules(fuzz.targets.__path__)]
ROUNDS = {
    "a3m": 1000,
    "fasta": 500,
    "swf": 1000,
    "matrix": 2000,
    "profile": 1000,
    "config": 1000,
    "database": 1500,
    "blast": 300,
    "mmseqs": 300,
    "diamond": 300,
    "shards": 500,
    "command": 150,
    "journal": 300,
    "taxonomy": 400,
    "tables": 300,
}
"""How many inputs are tried of each: some seconds' work."""


@pytest.mark.smoke
@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read_or_refused_with_an_explanation(name):
    """Sound files, and files with the usual damage."""
    module = importlib.import_module(f"fuzz.targets.{name}")
    seeds = module.seeds()
    assert len(seeds) > 3
    for seed in seeds:
        module.target(seed)


@pytest.mark.smoke
@pytest.mark.parametrize("name", TARGETS)
def test_random_changes_are_read_or_refused_with_an_explanation(name):
    """The same inputs in every run: a failure shows the one that was too much."""
    module = importlib.import_module(f"fuzz.targets.{name}")
    seeds = module.seeds()
    mutate = getattr(module, "mutated", mutated)
    rng = random.Random(name)
    for _ in range(scaled(ROUNDS[name])):
        data = mutate(rng.choice(seeds), seeds, rng)
        try:
            module.target(data)
        except Exception as error:
            error.add_note(f"the input is {data!r}")
            raise
