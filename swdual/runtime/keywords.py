"""Functions that pass keyword arguments on to others: their help shows these arguments.

Name, default and meaning of a keyword argument are written in one function. Functions that pass it
on take them from there, so that ``help`` and editors show the same everywhere.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from swdual.errors import InputError, UnknownOption
from swdual.text.messages import nearest, quote

P = ParamSpec("P")
R = TypeVar("R")

_PARAMETERS = "Parameters\n"

MAX_WHOLE = 2**63 - 1
"""The largest whole number that an option takes: what arrays, files and requests hold."""


def refuse_unknown(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise an `UnknownOption` for the first unknown name; it suggests the nearest known one.

    Parameters
    ----------
    function
        Name of the function, for the message.
    given, known
        Names of the arguments, and names that the function takes.

    >>> refuse_unknown("filter", ["min_identty"], ["min_identity", "evalue"])
    Traceback (most recent call last):
    ...
    swdual.errors.UnknownOption: filter() has no option 'min_identty'; did you mean min_identity?
    """
    names = [*known]
    for name in given:
        if name not in names:
            near = nearest(name, names)
            hint = f"; did you mean {near}?" if near else ""
            raise UnknownOption(f"{function}() has no option {name!r}{hint}")


def require_numbers(**values: Any) -> None:
    """Raise an InputError for the first value that is no number, or none that a float can hold.

    None means no value.

    >>> require_numbers(evalue=1e-3, min_score=None, top="ten")
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: `top` is 'ten', but it must be a number
    """
    for name, value in values.items():
        if isinstance(value, bool) or not (value is None or isinstance(value, numbers.Real)):
            raise InputError(f"`{name}` is {_show(value)}, but it must be a number")
        try:
            0.0 if value is None else float(value)
        except OverflowError as error:
            most = sys.float_info.max
            raise InputError(f"`{name}` is too large; it must be at most {most:g}") from error


def require_range(name: str, value: Any, minimum: float, *, percentage: bool) -> None:
    """Raise an InputError if a number is too small, a percentage above 100, or not-a-number.

    Parameters
    ----------
    name, value
        Name of the argument, and its value.
    minimum
        The smallest value.
    percentage
        Whether it is at most 100.

    >>> require_range("top", 200, 0, percentage=True)
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: `top` is 200, but it is a percentage: at most 100
    """
    if not value >= minimum:  # not-a-number is refused, too
        raise InputError(f"`{name}` is {value}, but it must be at least {minimum}")
    if percentage and value > 100:
        raise InputError(f"`{name}` is {value}, but it is a percentage: at most 100")


def plain_number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    """Return a number as Python's own: the arithmetic of narrow types of NumPy overflows.

    Parameters
    ----------
    name, value
        Name of the argument, for messages, and its value.
    kind
        The type that is needed: `int` takes whole numbers of 64 bits only, and no float.

    Raises
    ------
    InputError
        If the value is no number of this type; None is none.

    >>> plain_number("gap_open", 10.7, int)
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: `gap_open` is 10.7, but it must be a whole number
    """
    require_numbers(**{name: value})
    try:
        number = operator.index(value) if kind is int else float(value)
    except TypeError as error:
        what = "a whole number" if kind is int else "a number"
        raise InputError(f"`{name}` is {value}, but it must be {what}") from error
    if kind is int and abs(number) > MAX_WHOLE:
        limit = f"at most {MAX_WHOLE}" if number > 0 else f"at least {-MAX_WHOLE}"
        raise InputError(f"`{name}` is {number:.6g}, but it must be {limit}")
    return number


def plain_flag(name: str, value: Any) -> bool:
    """Return true or false as Python's own.

    Parameters
    ----------
    name, value
        Name of the argument, for messages, and its value.

    Raises
    ------
    InputError
        If it is neither: a text such as "no" would count as true.

    >>> plain_flag("align", "no")
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: `align` is 'no', but it must be True or False
    """
    if type(value).__name__ != "bool":  # Python's or NumPy's
        raise InputError(f"`{name}` is {_show(value)}, but it must be True or False")
    return bool(value)


def plain_index(what: str, value: Any) -> int:
    """Return the index of something that users choose, as Python's own.

    Parameters
    ----------
    what, value
        What is chosen, for messages, and the index.

    Raises
    ------
    InputError
        If it is no whole number: true would be 1.

    >>> plain_index("a query", True)
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: a query is chosen by its place or identifier, but not by True
    """
    try:
        if type(value).__name__ != "bool":  # Python's, or NumPy's, which old releases count with
            return operator.index(value)
    except TypeError:
        pass
    raise InputError(f"{what} is chosen by its place or identifier, but not by {_show(value)}")


def require_types(types: tuple[type, ...], what: str, **values: Any) -> None:
    """Raise an InputError for the first value of another type.

    Parameters
    ----------
    types, what
        The types, and what they are called in the message.
    values
        The arguments by name.

    >>> require_types((str,), "a text", task="blastp", strand=["plus"])
    Traceback (most recent call last):
    ...
    swdual.errors.InputError: `strand` is ['plus'], but it must be a text
    """
    for name, value in values.items():
        if not isinstance(value, types):
            raise InputError(f"`{name}` is {_show(value)}, but it must be {what}")


def _show(value: Any) -> str:
    """Return a value as messages show it."""
    return quote(value) if isinstance(value, str) else f"{value!r:.40}"


def find_fractions(**values: float | None) -> list[str]:
    """Return a warning for each percentage that looks like a fraction: above 0, and at most 1.

    Parameters
    ----------
    values
        The percentages by name; None is none.

    >>> find_fractions(min_identity=0.9, min_query_cover=80)
    ['`min_identity` is 0.9 %; it is a percentage, so that 90 stands for a fraction of 0.9']
    """
    return [
        f"`{name}` is {value:g} %; it is a percentage, so that {100 * value:g} stands for a "
        f"fraction of {value:g}"
        for name, value in values.items()
        if value is not None and 0 < value <= 1
    ]


def suggest_names(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a check: unknown keyword arguments raise, with a suggestion."""

    @functools.cache
    def known() -> list[str]:  # at the first call, since `share_help` may add names
        return [*inspect.signature(call).parameters]

    @functools.wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        refuse_unknown(function.__name__, options, known())
        return function(*args, **options)

    return call


def takes_keywords_of(source: Callable[..., Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function that passes its ``**options`` on to another.

    Signature and docstring of the function then show the options of `source`; others raise an
    error.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        share_help(function, merge_signatures(function, source), source)
        return suggest_names(function)

    return decorate


def merge_signatures(
    function: Callable[..., Any], *sources: Callable[..., Any]
) -> inspect.Signature:
    """Return the signature of a function with the options of others instead of ``**options``.

    Parameters
    ----------
    function
        The function.
    sources
        Functions whose keyword-only parameters to show. Those that the function has are left out.

    >>> def area(*, width: int = 2, height: int = 3): ...
    >>> def show(title: str, **options): ...
    >>> print(merge_signatures(show, area))
    (title: str, *, width: int = 2, height: int = 3)
    """
    own = _signature(function)
    shown = [x for x in own.parameters.values() if x.kind is not x.VAR_KEYWORD]
    for source in sources:
        options = _signature(source).parameters.values()
        shown += [x for x in options if x.kind is x.KEYWORD_ONLY and x.name not in own.parameters]
    return own.replace(parameters=shown)


def share_help(
    function: Callable[..., Any], signature: inspect.Signature, source: Callable[..., Any]
) -> None:
    """Set the signature of a function, and append sections of another docstring to its own.

    Parameters
    ----------
    function, signature
        The function to change, and its new signature.
    source
        The function whose docstring has the sections from "Parameters" on.
    """
    function.__signature__ = signature  # type: ignore[attr-defined]
    own, others = inspect.getdoc(function), inspect.getdoc(source)
    if own and others and _PARAMETERS not in own:
        function.__doc__ = f"{own}\n\n{_PARAMETERS}{others.partition(_PARAMETERS)[2]}"


def insert_parameters(function: Callable[..., Any], source: Any) -> None:
    """Add the parameters that another docstring explains to those of a function's docstring.

    They come behind the function's own, before the next section.

    Parameters
    ----------
    function
        Gets the longer docstring.
    source
        A function or class whose docstring has a section Parameters.
    """
    head, heading, own = (inspect.getdoc(function) or "").partition(_PARAMETERS)
    added = (inspect.getdoc(source) or "").partition(_PARAMETERS)[2]
    explained = added.partition("\n")[2].partition("\n\n")[0]
    parameters, gap, rest = own.partition("\n\n")
    function.__doc__ = f"{head}{heading}{parameters}\n{explained}{gap}{rest}"


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:  # of an annotation that is imported for type checkers only
        return inspect.signature(function)
