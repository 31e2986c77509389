"""The declarations of options say what `SearchOptions` takes."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from swdual.request.declarations import OPTIONS
from swdual.request.options import SearchKeywords, SearchOptions

LIBRARY = [name for name, declared in OPTIONS.items() if declared.library]
HINTS = get_type_hints(SearchKeywords)
KINDS = {
    "count": int,
    "number": float,
    "size": int,
    "mode": int,
    "flag": bool,
    "boolean": bool,
    "text": str,
    "path": str,
}


def test_every_option_is_declared_once():
    assert sorted(LIBRARY) == sorted(HINTS)
    assert {*OPTIONS} - {*LIBRARY} == {"taxidlist", "not_taxidlist"}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_declaration_has_the_type_and_the_default_of_the_option(name):
    declared, default = OPTIONS[name], getattr(SearchOptions, name)
    if declared.group and name not in ("align", "target_ids", "not_target_ids"):
        hint = HINTS[name]
        kind = KINDS[declared.kind]
        assert kind in (hint, *get_args(hint)) or all(x in declared.choices for x in get_args(hint))
        assert declared.default in (default, None)
        assert default in (declared.default, None, False) or declared.default == default
    if declared.choices and default is not None and name != "align":
        assert default in declared.choices


@pytest.mark.parametrize("name", [x for x in LIBRARY if OPTIONS[x].minimum is not None])
def test_a_number_below_the_minimum_is_refused(name):
    least = OPTIONS[name].minimum
    with pytest.raises(ValueError, match=f"`{name}` is {least - 1}"):
        SearchOptions(**{name: least - 1})
    if OPTIONS[name].maximum is not None:
        with pytest.raises(ValueError, match="at most 100"):
            SearchOptions(**{name: OPTIONS[name].maximum + 1})
