"""Find policies and allocators: of this package, in a file, a class, or of other packages.

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


class PolicyPlugin(NamedTuple):
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


class AllocatorPlugin(NamedTuple):
    """An allocator and its name."""

    name: str
    allocator: Allocator


def find_policy(policy: str | os.PathLike[str] | type) -> PolicyPlugin:
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
        return _check_policy(_name_class(policy), policy, sys.modules.get(policy.__module__))
    if isinstance(policy, str) and not is_file(policy):
        if policy in registry.available(policies.PACKAGE):
            module = registry.load(policies.PACKAGE, policy)
            return PolicyPlugin(policy, module.Policy, *_read_traits(module.Policy, module))
        plugin = _load_entry_point(POLICY_GROUP, policies.PACKAGE, "policy", policy)
        if isinstance(plugin, ModuleType):
            return _check_policy(policy, _class_in(plugin, plugin.__name__), plugin)
        if isinstance(plugin, type):
            return _check_policy(policy, plugin, sys.modules.get(plugin.__module__))
        raise InputError(f"the entry point {policy} of {POLICY_GROUP} is not a class or a module")
    if isinstance(policy, str | os.PathLike):
        path = os.fspath(policy)
        module = load_file(path)
        return _check_policy(_stem(path), _class_in(module, path), module, path)
    raise InputError(
        f"a policy is a name, the path of a Python file, or a class, not {policy!r}"
        + ("; give the class, not an instance" if hasattr(policy, "decide") else "")
    )


def find_allocator(allocator: str | os.PathLike[str] | Allocator) -> AllocatorPlugin:
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
    plugin: Any = allocator
    if isinstance(allocator, str) and not is_file(allocator):
        name = allocator
        if name in registry.available(allocators.PACKAGE):
            return AllocatorPlugin(name, registry.load(allocators.PACKAGE, name))
        plugin = _load_entry_point(ALLOCATOR_GROUP, allocators.PACKAGE, "allocator", name)
    elif isinstance(allocator, str | os.PathLike):
        path = os.fspath(allocator)
        name, plugin = _stem(path), load_file(path)
    else:
        name = getattr(plugin, "__name__", type(plugin).__name__).rpartition(".")[2]
    if not callable(getattr(plugin, "choose", None)):
        raise InputError(
            f"the allocator {name} has no function choose(free, count, platform)", file=path
        )
    if not isinstance(getattr(plugin, "FORCED", None), bool):
        raise InputError(f"the allocator {name} does not say FORCED = True or False", file=path)
    _check_call(plugin.choose, ("free", "count", "platform"), f"choose of {name}", path)
    return AllocatorPlugin(name, plugin)


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
    return text.endswith(".py") or os.path.basename(text) != text


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
        return _load(path, os.path.realpath(path), changed.st_mtime_ns, changed.st_size)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error


def to_input_error(error: BaseException, path: str) -> InputError:
    """Return an input error that names the line of the user's file where code failed.

    Parameters
    ----------
    error
        What was raised while code of the file ran.
    path
        The file.
    """
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    message = f"{type(error).__name__}: {text}".rstrip(": ")
    return InputError(message, file=path, line=find_line(path, error))


def find_line(path: str, error: BaseException) -> int | None:
    """Return the last line of a file that ran before an error, or None.

    Parameters
    ----------
    path, error
        The file, and what was raised.
    """
    real = os.path.realpath(path)
    if isinstance(error, SyntaxError) and error.filename == real:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == real), None)


@functools.lru_cache(maxsize=64)
def _load(path: str, real: str, changed: int, size: int) -> ModuleType:
    """Return the module of a file. It is compiled here: nothing is written beside the file."""
    module = ModuleType(f"swdual_file_{_stem(path)}")
    module.__file__ = real
    sys.modules[module.__name__] = module  # dataclasses, among others, look for their module there
    with open(real, "rb") as file:
        source = file.read()
    try:
        exec(compile(source, real, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise to_input_error(error, path) from error
    return module


def _stem(path: str) -> str:
    """Return the name of a file's plug-in; a name of this package gets the ending .py."""
    base = os.path.basename(path)
    stem = base.removesuffix(".py")
    known = (policies.PACKAGE, allocators.PACKAGE)
    return base if any(stem in registry.available(package) for package in known) else stem


def _name_class(policy: type) -> str:
    """Return the name of a class; the name of its module if it is just "Policy"."""
    return policy.__module__.rpartition(".")[2] if policy.__name__ == "Policy" else policy.__name__


def _entry_points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=group)}


def _load_entry_point(group: str, package: str, kind: str, name: str) -> Any:
    """Return the plug-in of another package."""
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


def _class_in(module: ModuleType, source: str) -> type:
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
        raise InputError("has no class with a method decide(self, view)", file=source)
    if len(classes) > 1:
        raise InputError(
            f"has {len(classes)} classes with a method decide: {', '.join(sorted(classes))}; name "
            "the policy Policy, or begin the names of the others with _",
            file=source,
        )
    return next(iter(classes.values()))


def _read_traits(policy: type, module: ModuleType | None) -> tuple[dict[str, Option], Traits]:
    """Return options and traits: of the class, else of its module, else of its base classes."""
    sources: list[object] = []
    for base in policy.__mro__[:-1]:
        sources += [base, module if base is policy else sys.modules.get(base.__module__)]

    def look_up(name: str, default: Any) -> Any:
        return next((vars(x)[name] for x in sources if x is not None and name in vars(x)), default)

    return look_up("OPTIONS", {}), Traits(
        look_up("MALLEABLE", False),
        look_up("PLACES", False),
        look_up("JOBS", "rigid"),
        look_up("NODES", False),
    )


def _check_policy(
    name: str, policy: type, module: ModuleType | None, path: str | None = None
) -> PolicyPlugin:
    """Return a policy after checks that the engine can call it."""
    decide = getattr(policy, "decide", None)
    if not callable(decide):
        raise InputError(f"the class {policy.__name__} has no method decide(self, view)", file=path)
    options, traits = _read_traits(policy, module)
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
    return PolicyPlugin(name, policy, options, traits, path)


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
