"""The penalty is the thesis's formulas 5.1 and 5.2, and never makes a job faster."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swdual.errors import InputError
from swdual.scheduling.penalty import Penalty, parse


@pytest.mark.parametrize(
    ("penalty", "run_times"),
    [
        (Penalty("linear", 2), [100, 300, 500, 700]),
        (Penalty("linear", 0.25), [100, 125, 150, 175]),
        (Penalty("linear", 0), [100, 100, 100, 100]),
        (Penalty("quadratic", 2), [100, 200, 400, 800]),
        (Penalty("quadratic", 1.5), [100, 150, 225, 337.5]),
        (Penalty("quadratic", 1), [100, 100, 100, 100]),
    ],
)
def test_run_times_are_those_of_the_formulas(penalty, run_times):
    """T + T R F and T F^R for 100 seconds and 0 to 3 levels too many."""
    assert [penalty.run_time(100.0, distance) for distance in range(4)] == run_times


@given(
    kind=st.sampled_from(["linear", "quadratic"]),
    factor=st.floats(1, 1e6),
    run_time=st.floats(0, 1e9),
    distance=st.integers(0, 31),
)
def test_a_penalty_never_shortens_and_grows_with_the_distance(kind, factor, run_time, distance):
    """No level too many changes nothing; run times stay finite."""
    penalty = Penalty(kind, factor)
    assert penalty.run_time(run_time, 0) == run_time
    nearer, farther = (penalty.run_time(run_time, distance + more) for more in (0, 1))
    assert run_time <= nearer <= farther < math.inf


def test_a_text_is_a_penalty_and_back():
    """As on the command line."""
    assert parse("quadratic:2") == Penalty("quadratic", 2)
    assert parse("linear:0.5") == Penalty("linear", 0.5)
    assert str(parse("linear:0.50")) == "linear:0.5"
    assert str(Penalty("quadratic", 2)) == "quadratic:2"
    assert parse(str(Penalty("linear", 1 / 3))) == Penalty("linear", 1 / 3)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("quadratik:2", "unknown penalty 'quadratik'; did you mean quadratic"),
        ("", "unknown penalty ''"),
        ("quadratic", "'quadratic' has no factor; write quadratic:2"),
        ("linear:", "'' is no number; write linear:2"),
        ("linear:x", "'x' is no number"),
        ("linear:1_0", "'1_0' is no number"),
        ("linear:-1", r"the factor of a linear penalty must be 0 to 1e\+06, not -1"),
        ("linear:nan", "not nan"),
        ("quadratic:inf", "not inf"),
        ("quadratic:0.5", r"must be 1 to 1e\+06, not 0.5"),
    ],
)
def test_a_text_that_is_no_penalty_is_refused(text, cause):
    """With the cause and what to write."""
    with pytest.raises(InputError, match=cause):
        parse(text)
