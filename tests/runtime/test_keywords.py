"""What help shows of functions that pass their options on, and wrong names of options."""

from __future__ import annotations

import inspect
import pydoc
import warnings
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

import swdual
from swdual import scheduling
from swdual.errors import InputError
from swdual.master.pair import PairKeywords
from swdual.request.options import SearchKeywords, SearchOptions
from swdual.runtime import keywords
from swdual.sequences import matrices
from swdual.sequences.scoring import ScoringScheme


def area(*, width: int = 2, height: int = 3) -> int:
    """Return an area.

    Parameters
    ----------
    width, height
        How large it is.
    """
    return width * height


@keywords.takes_keywords_of(area)
def twice(number, **options):
    """Return an area twice, and more than once."""
    return number * area(**options)


def test_options_are_shown_and_explained_where_they_are_passed_on():
    """Signature and docstring have those of the other function."""
    assert str(inspect.signature(twice)) == "(number, *, width: int = 2, height: int = 3)"
    assert inspect.getdoc(twice).startswith("Return an area twice")
    assert "How large it is." in inspect.getdoc(twice)
    assert twice(2, width=5) == 30


@pytest.mark.parametrize("name", ["widht", "whatever"])
def test_a_wrong_name_is_refused(name):
    """With the right one, where one is near."""
    with pytest.raises(TypeError) as caught:
        twice(1, **{name: 1})
    near = "; did you mean width?" if name == "widht" else ""
    assert str(caught.value) == f"twice() has no option {name!r}{near}"


def test_annotations_that_do_not_exist_at_run_time_are_left_as_they_are():
    """Those that are imported for type checkers only."""

    def draw(*, figure: matplotlib.figure.Figure = None):  # noqa: F821
        """Return nothing."""

    shown = keywords.merge_signatures(lambda **options: None, draw)
    assert "matplotlib.figure.Figure" in str(shown)


@pytest.mark.parametrize("function", [swdual.search, swdual.iter_search])
def test_help_shows_every_option_of_a_search(function):
    """Its name, its default, and what it means."""
    parameters = inspect.signature(function).parameters
    assert [*parameters][:2] == ["queries", "database"]
    options = {name: x for name, x in parameters.items() if x.kind is x.KEYWORD_ONLY}
    assert set(options) == set(SearchKeywords.__annotations__)
    for name, option in inspect.signature(SearchOptions).parameters.items():
        if name in options:
            assert options[name].default == option.default
    page = pydoc.plain(pydoc.render_doc(function))
    assert "evalue: float | None = None" in page
    sections = inspect.getdoc(function).partition("Parameters\n")[2]
    explained = {
        name
        for line in sections.splitlines()
        if line and not line.startswith(" ")
        for name in line.split(", ")
    }
    assert set(options) <= explained
    assert sections.count("Raises\n") == 1


def test_type_checkers_know_every_option():
    """The keyword arguments have the names, the order and the types of the options."""
    assert get_type_hints(SearchKeywords) == get_type_hints(SearchOptions)
    assert [*get_type_hints(SearchKeywords)] == [each.name for each in fields(SearchOptions)]


@pytest.mark.parametrize("call", ["search", "iter_search"])
def test_editors_complete_the_options_of_a_search(call):
    """Those that read the source without running it: options are passed on in a way that shows."""
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(Path(swdual.__file__).parents[1])
    text = f"from swdual.api import {call}\n{call}('q', 'd', "
    (signature,) = jedi.Script(text, project=project).get_signatures()
    assert set(SearchKeywords.__annotations__) <= {each.name for each in signature.params}
    assert "evalue=" in [each.name for each in jedi.Script(f"{text}ev", project=project).complete()]


@pytest.mark.parametrize("name", ["evalue", "min_score", "memory_limit", "max_target_seqs"])
def test_a_number_that_no_float_can_hold_is_refused(name):
    with pytest.raises(InputError, match=f"`{name}` is too large"):
        SearchOptions(**{name: 10**5000})
    if name in WHOLE:
        with pytest.raises(
            InputError, match=f"`{name}` is 1e\\+300, but it must be at most 922337"
        ):
            SearchOptions(**{name: 10**300})
    else:
        assert SearchOptions(**{name: 10**300})


WHOLE = [name for name, hint in get_type_hints(SearchKeywords).items() if hint in (int, int | None)]
REAL = [
    name for name, hint in get_type_hints(SearchKeywords).items() if hint in (float, float | None)
]
FAMILY = {"a": "MKVLAWGGHERWCDEFMKTAYI", "b": "MKVLAWGGHERW"}
CALLS = {
    "search": lambda **options: swdual.search(FAMILY, FAMILY, **options),
    "align": lambda **options: swdual.align(*FAMILY.values(), **options),
    "iterate": lambda **options: next(swdual.iterate(FAMILY, FAMILY, **options)),
    "allpairs": lambda **options: swdual.allpairs(FAMILY, **options),
    "plan": lambda **options: swdual.plan(FAMILY, FAMILY, **options),
}


@pytest.mark.parametrize("value", [10.7, 2.0, float("inf"), float("nan"), np.float32(2), True])
@pytest.mark.parametrize("name", WHOLE)
def test_an_option_of_whole_numbers_takes_nothing_else(name, value):
    """A fraction would be cut off, and true is 1 by chance."""
    with pytest.raises(InputError, match=f"^`{name}` is '?{value}'?, but it must be a (whole )?nu"):
        SearchOptions(**{name: value})


@pytest.mark.parametrize("name", [*WHOLE, *REAL])
def test_numbers_of_numpy_become_those_of_python(name):
    """In a narrow type, sums of penalties overflow."""
    plain = SearchOptions(**{name: 1})
    for kind in (np.int8, np.uint8, np.int32, np.uint64) if name in WHOLE else (int, np.float32):
        options = SearchOptions(**{name: kind(1)})
        assert options == plain
        assert type(getattr(options, name)) is (int if name in WHOLE else float)


@pytest.mark.parametrize("name", REAL)
def test_true_is_no_real_number_either(name):
    with pytest.raises(InputError, match=f"`{name}` is True, but it must be a number"):
        SearchOptions(**{name: True})


@pytest.mark.parametrize("value", [2**63, -(2**63), 2**70])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_have_64_bits(name, value):
    """What a file, a request or an array of NumPy cannot hold is no option."""
    with pytest.raises(
        InputError, match=f"`{name}` is -?[0-9.e+]+, but it must be at (most|least)"
    ):
        SearchOptions(**{name: value})


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, hint in get_type_hints(SearchKeywords).items()
        if hint in (int, float, str, bool)
    ],
)
def test_none_is_no_value_of_an_option_that_has_no_default_of_its_own(name):
    """It reached the workers, which failed by its type."""
    with pytest.raises(InputError, match=f"^`{name}` is None, but it must be "):
        swdual.search(FAMILY, FAMILY, **{name: None})


FLAGS = [
    name for name, hint in get_type_hints(SearchKeywords).items() if hint in (bool, bool | None)
]


@pytest.mark.parametrize("value", ["no", 5, 0, [], 1.0])
@pytest.mark.parametrize("name", [*FLAGS, "progress"])
def test_a_flag_is_true_or_false(name, value):
    """The text "no" would count as true. NumPy's become Python's."""
    with pytest.raises(InputError, match=f"^`{name}` is .*, but it must be True or False"):
        SearchOptions(**{name: value})
    if name not in {"resume", "progress"}:
        assert getattr(SearchOptions(**{name: np.True_}), name) is True


@pytest.mark.parametrize("value", [5, True, ["x"], b"x", 2.5])
@pytest.mark.parametrize(
    "name", ["task", "strand", "planner", "backend", "device", "taxonomy", "journal", "dbtype"]
)
def test_a_text_or_path_is_nothing_else(name, value):
    """By the name of the option, whatever is wrong."""
    with pytest.raises(InputError, match=f"^`{name}` is .*, but it must be "):
        swdual.search(FAMILY, FAMILY, **{name: value})


@pytest.mark.parametrize("value", [2.5, 2.0, True, None, "5", float("nan"), 2**70, 10**400, [1]])
@pytest.mark.parametrize("name", ["gap_open", "gap_extend", "frameshift"])
def test_a_scoring_scheme_has_whole_penalties(name, value):
    """As the options of a search."""
    matrix = matrices.load("BLOSUM62")
    with pytest.raises(InputError, match=f"^`{name}` is (too large|.*, but it must be )"):
        ScoringScheme(matrix, **{name: value})
    assert type(getattr(ScoringScheme(matrix, **{name: np.int8(3)}), name)) is int
    with pytest.raises(InputError, match=r"^`matrix` is .*, but it must be a SubstitutionMatrix"):
        ScoringScheme(value)


@pytest.fixture(scope="module")
def results():
    return swdual.search(FAMILY, FAMILY)


@pytest.mark.parametrize("value", [True, None, 0.0, np.True_, (0,), b"a", float("nan")])
def test_a_place_is_a_whole_number(results, value):
    """True is 1 by chance; NumPy's whole numbers are taken."""
    for each, what in ((results, "a query"), (results[0], "a hit")):
        with pytest.raises(InputError, match=f"^{what} is chosen by its place or identifier, but"):
            each[value]
        assert each[np.int64(1)] == each[1]
        with pytest.raises(IndexError):
            each[2**70]


@pytest.mark.parametrize("value", [True, None, 2.5, "5", float("nan"), 2**70, -1])
def test_a_count_of_hits_is_a_whole_number(results, value):
    """Also of the hits of one query."""
    for each in (results, results[0]):
        with pytest.raises(InputError, match=r"^`count` is .*, but it must be "):
            each.top(value)
        if value not in (2.5, 2**70):
            with pytest.raises(InputError, match=r"^`percent` is .*, but it must be "):
                each.within(value)


JOBS = scheduling.Workload.from_arrays([0, 1], 5, 1)
OTHERS = {
    "min_identity": lambda value: swdual.find_clusters(FAMILY, min_identity=value),
    "coverage": lambda value: swdual.find_clusters(FAMILY, min_identity=90, coverage=value),
    "alignments": lambda value: swdual.search(FAMILY, FAMILY).report(alignments=value),
    "height": lambda value: swdual.search(FAMILY, FAMILY).report(height=value),
    "processors": scheduling.Platform,
    "seconds": lambda value: JOBS.shifted([value]),
    "a job": lambda value: JOBS[value],
    "of Lublin": lambda value: scheduling.lublin.generate(value, 8, seed=1),
    "of Cirne": lambda value: scheduling.cirne.generate(5, value, seed=1),
}


@pytest.mark.parametrize("value", ["5", True, None, float("nan")])
@pytest.mark.parametrize("call", OTHERS)
def test_what_is_no_number_is_refused_in_other_functions_too(call, value):
    """As an InputError, not an error of NumPy."""
    with pytest.raises(InputError):
        OTHERS[call](value)


@pytest.mark.parametrize("value", [5.5, True])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        *[(call, "gap_open") for call in ("search", "align", "iterate", "allpairs")],
        *[("plan", name) for name in ("max_target_seqs", "cpus", "gpus")],
        ("iterate", "iterations"),
    ],
)
def test_every_function_refuses_what_is_no_whole_number(call, name, value):
    """By the name of the option, before anything is computed."""
    with pytest.raises(InputError, match=f"^`{name}` is '?{value}'?, but it must be a (whole )?nu"):
        CALLS[call](**{name: value})


@pytest.mark.parametrize("call", ["search", "align", "allpairs"])
def test_scores_do_not_depend_on_the_type_of_a_penalty(call):
    """Of many letters, so that their sums are larger than the types of the penalties."""
    plain = CALLS[call](gap_open=11, gap_extend=1)
    assert CALLS[call](gap_open=np.int8(11), gap_extend=np.int8(1)) == plain


PUBLIC = [
    pytest.param(function, id=f"{module.__name__}.{name}")
    for module in (swdual, scheduling)
    for name in module.__all__
    if inspect.isfunction(function := getattr(module, name))
    and any(x.kind is x.KEYWORD_ONLY for x in inspect.signature(function).parameters.values())
    and name != "start_now"  # which policies call for each job
]


@pytest.mark.parametrize("function", PUBLIC)
def test_every_public_function_suggests_the_name_of_an_option(function):
    """A misspelt one is named as it was written, before anything else is looked at."""
    parameters = inspect.signature(function).parameters.values()
    options = [x.name for x in parameters if x.kind is x.KEYWORD_ONLY]
    needed = [x for x in parameters if x.default is x.empty and x.kind is x.POSITIONAL_OR_KEYWORD]
    wrong = options[0][:-1]
    with pytest.raises(TypeError, match=f"{function.__name__}.. has no option {wrong!r}; did you"):
        function(*[None] * len(needed), **{wrong: 1})


def test_type_checkers_know_the_options_of_a_pair():
    """With the types that they have in a search."""
    known, searched = get_type_hints(PairKeywords), get_type_hints(SearchKeywords)
    assert set(known) == {
        *("task", "matrix", "gap_open", "gap_extend", "reward", "penalty", "strand")
    }
    assert known == {name: searched[name] for name in known}


@pytest.mark.parametrize("limit", ["min_identity", "min_query_cover", "min_target_cover"])
def test_a_filter_warns_of_percentages_that_look_like_fractions(limit):
    """Attributes of hits are fractions, and limits percentages."""
    found = swdual.search({"a": "MKVLAW", "b": "MKVLAW"}, {"t": "MKVLAW"})
    with pytest.warns(UserWarning, match=f"`{limit}` is 0.9 %; .* 90 stands for a fraction of 0.9"):
        found.filter(**{limit: 0.9})
    with pytest.warns(UserWarning, match="100 stands for a fraction of 1"):
        found[0].filter(**{limit: 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.filter(**{limit: 90})
        found.filter(**{limit: 0})


def test_a_search_warns_of_percentages_that_look_like_fractions(caplog):
    """Once."""
    swdual.search("MKVLAW", {"t": "MKVLAW"}, min_identity=0.5, top=1)
    (said,) = [record.message for record in caplog.records if "fraction" in record.message]
    assert said.startswith("`min_identity` is 0.5 %; it is a percentage, so that 50 stands for")
