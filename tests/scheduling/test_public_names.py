"""What ``from swdual.scheduling import ...`` offers."""

from __future__ import annotations

import types

import pytest

from swdual import scheduling


def test_every_public_name_is_there():
    """Functions and classes under their own names, and three modules."""
    assert dir(scheduling) == sorted(scheduling.__all__)
    for name in scheduling.__all__:
        thing = getattr(scheduling, name)
        assert isinstance(thing, types.ModuleType) is (name in ("campaign", "cirne", "lublin"))
        assert name == "METRICS" or thing.__name__.rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = scheduling.nothing


def test_a_generated_workload_is_cut_and_simulated_by_public_names(tmp_path):
    """From a model to a file of jobs."""
    whole = scheduling.lublin.generate(300, 64, seed=1)
    part = scheduling.sample(scheduling.windows(whole, 1, 1, seed=1, period=3600)[0], 1, seed=1)
    power = scheduling.PowerModel(busy=200, idle=100)
    schedule = scheduling.simulate(part, 64, power=power)
    assert set(schedule.metrics) == set(scheduling.METRICS)
    schedule.write_jobs(tmp_path / "jobs.csv")
    assert (tmp_path / "jobs.csv").read_text().count("\n") == 2
    assert schedule.explain(int(part.number[0])).startswith(f"job {part.number[0]}: submitted")
