"""Every allocator gives free processors, exactly as many, and keeps what its name promises.

Three numbers describe a choice: its ranges, its clusters and its level. A forced allocator stands
for the fewest that the platform allows at all, and refuses what cannot be had; a best effort one
stands for the fewest that the free processors allow. Both are compared with every choice there is,
on small platforms, and with the rules in plain Python on the platforms of the thesis.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations
from types import ModuleType

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import platform_levels as levels
from support.properties import examples

from swdual import registry
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import PACKAGE
from swdual.scheduling.platform import PLATFORMS, Platform

pytestmark = pytest.mark.sample("values")

ALLOCATORS = registry.available(PACKAGE)


@pytest.fixture(params=ALLOCATORS)
def name(request):
    return request.param


@pytest.fixture
def allocator(name) -> ModuleType:
    return registry.load(PACKAGE, name)


def array(members):
    """Return the ranges of a set of processors."""
    return sets.parse(" ".join(str(p) for p in sorted(members)))


def members(ranges):
    """Return the processors of ranges."""
    return {p for first, stop in ranges.tolist() for p in range(first, stop)}


def checked(allocator, free, count, platform):
    """Return the chosen processors as a set, which are free and in canonical form, or None."""
    before = free.copy()
    chosen = allocator.choose(free, count, platform)
    assert np.array_equal(free, before)
    if chosen is None:
        return None
    assert chosen.dtype == np.int64
    assert chosen.shape == (len(chosen), 2)
    assert not np.shares_memory(chosen, free)
    assert (chosen[:, 0] < chosen[:, 1]).all()
    assert (chosen[1:, 0] > chosen[:-1, 1]).all()
    assert sets.count(chosen) == count
    assert sets.minus(free, chosen) is not None
    return members(chosen)


# What describes a choice, from the definitions.


def ranges_of(chosen, platform):
    return sum(p - 1 not in chosen for p in chosen)


def clusters_of(chosen, platform):
    return len({p // platform.cluster_size for p in chosen})


def level_of(chosen, platform):
    return next(
        level
        for level, size in enumerate(platform.block_sizes, 1)
        if len({p // size for p in chosen}) == 1
    )


FEWEST = {
    "contiguous": ranges_of,
    "local": clusters_of,
    "platform_level": level_of,
    "platform_level_lowest": level_of,
}
"""What each forced allocator keeps to the fewest."""


@cache
def fewest(measure, free, count, platform):
    """Return the least measure of all choices of `count` among `free`."""
    return min(measure(set(choice), platform) for choice in combinations(free, count))


@st.composite
def platforms(draw):
    """Trees of up to ten processors with one to four levels, and clusters of any size."""
    processors = draw(st.integers(1, 10))
    sizes = [draw(st.integers(1, 3))]
    while sizes[-1] < processors and len(sizes) < 3:
        sizes.append(sizes[-1] * draw(st.integers(2, 3)))
    sizes = [size for size in sizes if size < processors]
    return Platform(processors, (*sizes, processors), draw(st.integers(0, processors)))


@st.composite
def situations(draw):
    platform = draw(platforms())
    free = draw(st.sets(st.integers(0, platform.processors - 1)))
    return frozenset(free), draw(st.integers(1, platform.processors)), platform


@examples(300)
@given(situation=situations())
def test_a_forced_allocator_refuses_only_what_cannot_be_had(situation):
    """What it gives has its property, and where any choice has it, it gives one."""
    free, count, platform = situation
    for name, measure in FEWEST.items():
        wanted = fewest(measure, frozenset(range(platform.processors)), count, platform)
        possible = count <= len(free) and fewest(measure, free, count, platform) == wanted
        allocator = registry.load(PACKAGE, name)
        assert allocator.FORCED
        chosen = checked(allocator, array(free), count, platform)
        assert (chosen is not None) == possible, name
        assert chosen is None or measure(chosen, platform) == wanted, name


@examples(300)
@given(situation=situations())
def test_a_best_effort_is_the_best_that_there_is(situation):
    """No choice among the free processors has fewer ranges, clusters or levels."""
    free, count, platform = situation
    assume(count <= len(free))
    for name, measure in FEWEST.items():
        allocator = registry.load(PACKAGE, f"best_effort_{name}")
        chosen = checked(allocator, array(free), count, platform)
        assert measure(chosen, platform) == fewest(measure, free, count, platform), name


@examples(200)
@given(situation=situations())
def test_only_a_forced_allocator_refuses_while_enough_are_free(situation):
    """And none gives processors that are not there."""
    free, count, platform = situation
    for name in ALLOCATORS:
        allocator = registry.load(PACKAGE, name)
        chosen = checked(allocator, array(free), count, platform)
        if count > len(free):
            assert chosen is None, name
        elif not allocator.FORCED:
            assert chosen is not None, name


def test_an_empty_platform_has_room_for_any_job(allocator):
    """Of any size that the platform has, on the trees of the thesis and on others."""
    small = [Platform(1), Platform(7), Platform(7, (2, 4, 7)), Platform(9, (1, 3, 9), 4)]
    for platform in small + [Platform.named(name) for name in PLATFORMS]:
        sizes = {1, 2, platform.processors // 2 + 1, platform.processors, *platform.block_sizes}
        sizes |= {size + 1 for size in platform.block_sizes[:-1]}
        for count in sorted(sizes if platform not in small else range(1, platform.processors + 1)):
            if count <= platform.processors:
                free = sets.whole(platform.processors)
                assert checked(allocator, free, count, platform) is not None, count


def test_nothing_free_is_nothing_given(allocator):
    """An empty set of processors is no error."""
    assert allocator.choose(np.empty((0, 2), np.int64), 1, Platform(4)) is None


def test_every_allocator_says_whether_it_is_forced(name, allocator):
    """A best effort is not, and says so in its name where it has a forced twin."""
    assert allocator.FORCED in {True, False}
    assert not (allocator.FORCED and name.startswith("best_effort"))


# The rules in plain Python.


def slow_basic(free, count, platform):
    return set(sorted(free)[:count])


def pieces(free):
    """Return the ranges of consecutive processors, ascending."""
    made = []
    for p in sorted(free):
        if made and made[-1][-1] == p - 1:
            made[-1].append(p)
        else:
            made.append([p])
    return made


def groups(free, size):
    """Return the free processors of each block of `size`, ascending."""
    made = {}
    for p in sorted(free):
        made.setdefault(p // size, []).append(p)
    return list(made.values())


def slow_contiguous(free, count, platform):
    return next((set(piece[:count]) for piece in pieces(free) if len(piece) >= count), None)


def slow_largest(parts, count):
    parts = sorted(parts, key=len, reverse=True)  # a stable sort: the lower of two equal ones
    return set([p for part in parts for p in part][:count])


def slow_local(free, count, platform):
    clusters = sorted(groups(free, platform.cluster_size), key=len, reverse=True)
    needed = next(
        k for k in range(1, platform.processors + 1) if k * platform.cluster_size >= count
    )
    inside = [p for cluster in clusters[:needed] for p in cluster]
    return set(inside[:count]) if len(inside) >= count else None


def slow_level(free, count, platform, forced):
    sizes = platform.block_sizes
    return as_set(levels.platform_level(free, count, sizes, platform.cluster_size, forced=forced))


def slow_level_lowest(free, count, platform, forced):
    return as_set(levels.platform_level_lowest(free, count, platform.block_sizes, forced=forced))


def as_set(chosen):
    return None if chosen is None else set(chosen)


RULES = {
    "basic": slow_basic,
    "contiguous": slow_contiguous,
    "best_effort_contiguous": lambda free, count, platform: slow_largest(pieces(free), count),
    "contiguous_or_basic": lambda *job: slow_contiguous(*job) or slow_basic(*job),
    "local": slow_local,
    "best_effort_local": lambda free, count, platform: slow_largest(
        groups(free, platform.cluster_size), count
    ),
    "platform_level": partial(slow_level, forced=True),
    "best_effort_platform_level": partial(slow_level, forced=False),
    "platform_level_lowest": partial(slow_level_lowest, forced=True),
    "best_effort_platform_level_lowest": partial(slow_level_lowest, forced=False),
}


def fragmented(rng, processors):
    """Return a set of processors as jobs of many sizes leave it."""
    free = np.ones(processors, bool)
    for size in rng.geometric(rng.choice([0.5, 0.05, 0.01]), int(rng.integers(1, 200))):
        first = rng.integers(0, processors)
        free[first : first + size] = rng.random() < 0.3
    return set(np.flatnonzero(free).tolist())


@pytest.mark.parametrize("rule", RULES)
def test_the_choice_is_that_of_the_rule(rule):
    """Processor by processor, on the platforms of the thesis and those of chapter 4."""
    rng = np.random.default_rng(6)
    allocator = registry.load(PACKAGE, rule)
    known = [Platform.named(name) for name in PLATFORMS if name != "curie"]
    known += [Platform(512, (16, 512)), Platform(100, (1, 2, 6, 100), 7), Platform(64)]
    refused = 0
    for platform in known:
        for _ in range(25):
            free = fragmented(rng, platform.processors)
            if free:
                count = min(int(2 ** rng.uniform(0, np.log2(len(free) + 1))), len(free))
                expected = RULES[rule](free, count, platform)
                assert checked(allocator, array(free), count, platform) == expected
                refused += expected is None
    assert (refused > 0) == allocator.FORCED


@examples(200)
@given(situation=situations())
def test_the_choice_is_that_of_the_rule_on_any_small_platform(situation):
    """Short blocks, clusters that cut across blocks, single processors."""
    free, count, platform = situation
    assume(count <= len(free))
    for name, rule in RULES.items():
        allocator = registry.load(PACKAGE, name)
        expected = rule(free, count, platform)
        assert checked(allocator, array(free), count, platform) == expected, name


# Worked examples: processors are numbered from 0 here and from 1 in the thesis's figures.

FIGURE = Platform(8, (2, 4, 8))
"""The tree of figures 5.1 and 5.4 to 5.7: four clusters of two."""


@pytest.mark.parametrize(
    ("rule", "free", "count", "chosen"),
    [
        ("basic", "0-1 3-7", 4, "0-1 3-4"),  # figure 5.4
        ("contiguous", "0-1 3-7", 4, "3-6"),
        ("contiguous", "0-1 3-4 6-7", 3, None),
        ("contiguous", "0-1 7", 3, None),  # the last processor is not beside the first
        ("contiguous_or_basic", "0-1 3-7", 4, "3-6"),
        ("contiguous_or_basic", "0 2 4-5 7", 3, "0 2 4"),
        ("best_effort_contiguous", "0 2 4-5 7", 3, "0 4-5"),
        ("best_effort_contiguous", "0-2 4-7", 1, "4"),  # the largest, not the first
        ("best_effort_contiguous", "0-1 3-4 6-7", 3, "0-1 3"),
        ("local", "0 2-3 5-7", 4, "2-3 6-7"),
        ("local", "0 2-3 5-7", 2, "2-3"),
        ("local", "0 2 4 7", 2, None),
        ("best_effort_local", "0 2 4 7", 2, "0 2"),
        ("best_effort_local", "0 2 4-5 7", 3, "0 4-5"),
        ("platform_level", "0 2-3 6-7", 4, None),
        ("platform_level", "0 2-3 6-7", 2, "2-3"),
        ("platform_level", "1 2 4-7", 4, "4-7"),
        ("best_effort_platform_level", "0 2-3 6-7", 4, "2-3 6-7"),
        ("best_effort_platform_level_lowest", "0 2-3 6-7", 4, "0 2-3 6"),
        ("best_effort_platform_level", "1-2 5 7", 2, "1-2"),
    ],
)
def test_a_worked_example_is_chosen_as_by_hand(rule, free, count, chosen):
    """On the eight processors of the figures of chapter 5."""
    picked = registry.load(PACKAGE, rule).choose(sets.parse(free), count, FIGURE)
    assert (None if picked is None else sets.text(picked)) == chosen
