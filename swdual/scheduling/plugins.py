"""Finds policies and allocators: those of this package, of a file, of a class, of other packages.

Other packages offer theirs by entry points of the groups ``swdual.policies`` and
``swdual.allocators``. They are looked up only if a name is none of this package's.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from swdual import registry
from swdual.errors import InputError
from swdual.scheduling import allocator as allocators
from swdual.scheduling import policy as policies
from swdual.scheduling.allocator import Allocator
from swdual.scheduling.policy import JOB_KINDS, Option, Traits

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

POLICY_GROUP, ALLOCATOR_GROUP = "swdual.policies", "swdual.allocators"
"""The groups of entry points."""


class FoundPolicy(NamedTuple):
    """A policy that can be simulated.

    Parameters
    ----------
    name
        What schedules call it: the name of its file, without ``.py``, or of its class.
    make
        The class: called with platform, allocator and the options.
    options
        Its options by name.
    traits
        What else its author says of it.
    file
        Where it was read from; None if it is part of a package.
    """

    name: str
    make: Any
    options: Mapping[str, Option]
    traits: Traits
    file: str | None = None


class FoundAllocator(NamedTuple):
    """An allocator and its name."""

    name: str
    allocator: Allocator


def find_policy(policy: str | os.PathLike[str] | type) -> FoundPolicy:
    """Return the policy of a name, a file or a class.

    Parameters
    ----------
    policy
        A name of `policy_names`, the path of a Python file with one class that has a method
        ``decide(self, view)``, or such a class. See `swdual.scheduling.policy.Policy`.

    Raises
    ------
    InputError
        If there is no such policy, its file cannot be loaded, or the class is not a policy; with
        the file and, where it is known, the line.
    """
    if isinstance(policy, type):
        return _checked(_named_as(policy), policy, sys.modules.get(policy.__module__))
    if isinstance(policy, str) and not is_file(policy):
        if policy in registry.available(policies.PACKAGE):
            module = registry.load(policies.PACKAGE, policy)
            return FoundPolicy(policy, module.Policy, *_described(module.Policy, module))
        found = _of_entry_point(POLICY_GROUP, policies.PACKAGE, "policy", policy)
        if isinstance(found, ModuleType):
            return _checked(policy, _class_in(found, found.__name__), found)
        if isinstance(found, type):
            return _checked(policy, found, sys.modules.get(found.__module__))
        raise InputError(f"the entry point {policy} of {POLICY_GROUP} is not a class or a module")
    if isinstance(policy, str | os.PathLike):
        path = os.fspath(policy)
        module = load_file(path)
        return _checked(_stem(path), _class_in(module, path), module, path)
    raise InputError(
        f"a policy is a name, the path of a Python file, or a class, not {policy!r}"
        + ("; give the class, not an instance" if hasattr(policy, "decide") else "")
    )


def find_allocator(allocator: str | os.PathLike[str] | Allocator) -> FoundAllocator:
    """Return the allocator of a name, a file, or the allocator itself.

    Parameters
    ----------
    allocator
        A name of `allocator_names`, the path of a Python file, or a module or object; the last
        three have ``FORCED`` and ``choose``. See `swdual.scheduling.allocator.Allocator`.

    Raises
    ------
    InputError
        If there is no such allocator, or something is missing in it.
    """
    path = None
    found: Any = allocator
    if isinstance(allocator, str) and not is_file(allocator):
        name = allocator
        if name in registry.available(allocators.PACKAGE):
            return FoundAllocator(name, registry.load(allocators.PACKAGE, name))
        found = _of_entry_point(ALLOCATOR_GROUP, allocators.PACKAGE, "allocator", name)
    elif isinstance(allocator, str | os.PathLike):
        path = os.fspath(allocator)
        name, found = _stem(path), load_file(path)
    else:
        name = getattr(found, "__name__", type(found).__name__).rpartition(".")[2]
    if not callable(getattr(found, "choose", None)):
        raise InputError(
            f"the allocator {name} has no function choose(free, count, platform)", file=path
        )
    if not isinstance(getattr(found, "FORCED", None), bool):
        raise InputError(f"the allocator {name} does not say FORCED = True or False", file=path)
    _check_call(found.choose, ("free", "count", "platform"), f"choose of {name}", path)
    return FoundAllocator(name, found)


def policy_names() -> list[str]:
    """Return the sorted names of all policies, also of other packages."""
    return sorted({*registry.available(policies.PACKAGE), *_entry_points(POLICY_GROUP)})


def allocator_names() -> list[str]:
    """Return the sorted names of all allocators, also of other packages."""
    return sorted({*registry.available(allocators.PACKAGE), *_entry_points(ALLOCATOR_GROUP)})


def is_file(text: str) -> bool:
    """Return whether a text is the path of a Python file, not a name.

    >>> is_file("mine.py"), is_file("./mine"), is_file("easy")
    (True, True, False)
    """
    return text.endswith(".py") or os.sep in text


def load_file(path: str) -> ModuleType:
    """Return the module of a Python file; one that has changed since is loaded again.

    Raises
    ------
    InputError
        If it cannot be read, or fails while it is loaded; with the line.
    """
    try:
        changed = os.stat(path)
        if not path.endswith(".py"):
            raise InputError("a policy or an allocator is a Python file (.py)", file=path)
        return _loaded(path, os.path.realpath(path), changed.st_mtime_ns, changed.st_size)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error


def failure(error: BaseException, path: str) -> InputError:
    """Return the error that tells where in a file of the user's something went wrong.

    Parameters
    ----------
    error
        What was raised while code of the file ran.
    path
        The file.
    """
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    message = f"{type(error).__name__}: {said}".rstrip(": ")
    return InputError(message, file=path, line=line_in(path, error))


def line_in(path: str, error: BaseException) -> int | None:
    """Return the last line of a file that ran before an error; None if none did."""
    real = os.path.realpath(path)
    if isinstance(error, SyntaxError) and error.filename == real:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == real), None)


@functools.lru_cache(maxsize=64)
def _loaded(path: str, real: str, changed: int, size: int) -> ModuleType:
    """Return the module of a file. It is compiled here: nothing is written beside the file."""
    module = ModuleType(f"swdual_file_{_stem(path)}")
    module.__file__ = real
    sys.modules[module.__name__] = module  # dataclasses, among others, look for their module there
    with open(real, "rb") as file:
        source = file.read()
    try:
        exec(compile(source, real, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise failure(error, path) from error
    return module


def _stem(path: str) -> str:
    """Return what a file's plug-in is called: not as one of this package."""
    base = os.path.basename(path)
    stem = base.removesuffix(".py")
    known = (policies.PACKAGE, allocators.PACKAGE)
    return base if any(stem in registry.available(package) for package in known) else stem


def _named_as(policy: type) -> str:
    """Return the name of a class; the name of its module if it is just "Policy"."""
    return policy.__module__.rpartition(".")[2] if policy.__name__ == "Policy" else policy.__name__


def _entry_points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


def _of_entry_point(group: str, package: str, kind: str, name: str) -> Any:
    """Return what another package offers under a name."""
    points = _entry_points(group)
    if name not in points:
        raise InputError(registry.unknown(kind, name, [*registry.available(package), *points]))
    try:
        return points[name].load()
    except Exception as error:
        raise InputError(
            f"the entry point {name} = {points[name].value} of {group} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error


def _class_in(module: ModuleType, place: str) -> type:
    """Return the policy of a module: the class ``Policy``, or the only one that decides."""
    classes = {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, type)
        and thing.__module__ == module.__name__
        and not name.startswith("_")
        and hasattr(thing, "decide")
    }
    if "Policy" in classes:
        return classes["Policy"]
    if not classes:
        raise InputError("has no class with a method decide(self, view)", file=place)
    if len(classes) > 1:
        raise InputError(
            f"has {len(classes)} classes with a method decide: {', '.join(sorted(classes))}; name "
            "the policy Policy, or begin the names of the others with _",
            file=place,
        )
    return next(iter(classes.values()))


def _described(policy: type, module: ModuleType | None) -> tuple[dict[str, Option], Traits]:
    """Return what a class says of itself, or else its module; then the classes it comes from."""
    places: list[object] = []
    for each in policy.__mro__[:-1]:
        places += [each, module if each is policy else sys.modules.get(each.__module__)]

    def said(name: str, default: Any) -> Any:
        return next((vars(x)[name] for x in places if x is not None and name in vars(x)), default)

    return said("OPTIONS", {}), Traits(
        said("MALLEABLE", False), said("PLACES", False), said("JOBS", "rigid")
    )


def _checked(
    name: str, policy: type, module: ModuleType | None, path: str | None = None
) -> FoundPolicy:
    """Return a policy of which it is known that the engine can call it."""
    decide = getattr(policy, "decide", None)
    if not callable(decide):
        raise InputError(f"the class {policy.__name__} has no method decide(self, view)", file=path)
    options, traits = _described(policy, module)
    if not isinstance(options, Mapping) or not all(
        isinstance(option, Option) for option in options.values()
    ):
        raise InputError(
            "OPTIONS must be a dict from names to swdual.scheduling.Option(default, help)",
            file=path,
        )
    if traits.jobs not in JOB_KINDS:
        raise InputError(registry.unknown("value of JOBS:", traits.jobs, JOB_KINDS), file=path)
    _check_call(decide, ("self", "view"), f"decide of {policy.__name__}", path)
    _check_call(policy, ("platform", "allocator"), policy.__name__, path, tuple(options))
    return FoundPolicy(name, policy, options, traits, path)


def _check_call(
    function: Any,
    positional: tuple[str, ...],
    what: str,
    path: str | None,
    named: tuple[str, ...] = (),
) -> None:
    """Check that a function can be called with these parameters."""
    try:
        inspect.signature(function).bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        code = getattr(getattr(function, "__init__", function), "__code__", None)
        code = getattr(function, "__code__", code)
        raise InputError(
            f"{what} must take ({', '.join(positional + named)}): {error}",
            file=path,
            line=None if path is None or code is None else code.co_firstlineno,
        ) from error
