"""What help shows of functions that pass their options on, and wrong names of options."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import swdual
from swdual.errors import InputError
from swdual.options import SearchKeywords, SearchOptions
from swdual.runtime import keywords


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
    assert SearchOptions(**{name: 10**300})
