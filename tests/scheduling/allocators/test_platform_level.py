"""The lowest levels of the platform: processors and schedules against algorithm 5 as printed."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import platform_levels as oracle
from oracles import scheduling as engine
from support.properties import examples, in_parts, seeds
from support.scheduling_oracles import jobs_of, random_workload

from swdual import registry
from swdual.scheduling import processors as sets
from swdual.scheduling.allocator import PACKAGE
from swdual.scheduling.platform import Platform
from swdual.scheduling.simulation import simulate
from swdual.scheduling.validation import violations

pytestmark = pytest.mark.sample("values")


def by_algorithm_5(free, count, platform, *, forced):
    return oracle.platform_level(
        free, count, platform.block_sizes, platform.cluster_size, forced=forced
    )


def by_number(free, count, platform, *, forced):
    return oracle.platform_level_lowest(free, count, platform.block_sizes, forced=forced)


RULES = {
    "platform_level": partial(by_algorithm_5, forced=True),
    "best_effort_platform_level": partial(by_algorithm_5, forced=False),
    "platform_level_lowest": partial(by_number, forced=True),
    "best_effort_platform_level_lowest": partial(by_number, forced=False),
}

TREES = {
    "two levels": Platform(24, (4, 24)),
    "three levels": Platform(24, (4, 12, 24)),
    "short last blocks": Platform(23, (3, 6, 23)),
    "single processors": Platform(12, (1, 2, 6, 12)),
    "large clusters": Platform(24, (2, 12, 24), 6),
}


@pytest.fixture(params=RULES)
def rule(request):
    return request.param


def chosen_by(rule, free, count, platform):
    """Return the processors that an allocator gives of a set of free ones, or None."""
    ranges = sets.parse(" ".join(map(str, sorted(free))))
    chosen = registry.load(PACKAGE, rule).choose(ranges, count, platform)
    return None if chosen is None else list_members(chosen)


def list_members(ranges):
    return [p for first, stop in ranges.tolist() for p in range(first, stop)]


@st.composite
def trees(draw, *, any_clusters):
    """Platforms of one to four levels; clusters of any size, or those of the lowest level."""
    processors = draw(st.integers(1, 40))
    sizes = [draw(st.integers(1, 8))]
    while sizes[-1] < processors and len(sizes) < 3:
        sizes.append(sizes[-1] * draw(st.integers(2, 4)))
    sizes = [size for size in sizes if size < processors]
    cluster_size = draw(st.integers(1, processors)) if any_clusters else 0
    return Platform(processors, (*sizes, processors), cluster_size)


@st.composite
def situations(draw, *, any_clusters=False):
    """Free processors of a platform, at least one, and a number that is not above theirs."""
    platform = draw(trees(any_clusters=any_clusters))
    free = draw(st.sets(st.integers(0, platform.processors - 1), min_size=1))
    if draw(st.booleans()):  # few are taken
        free = set(range(platform.processors)) - set(list(free)[: len(free) // 2])
    return free, draw(st.integers(1, len(free))), platform


@examples(300)
@given(situation=situations())
def test_the_choice_is_that_of_the_printed_algorithm(situation):
    """Clusters are the blocks of the lowest level, as in section 5.3.1."""
    for name, expected in RULES.items():
        assert chosen_by(name, *situation) == expected(*situation), name


@examples(300)
@given(situation=situations(any_clusters=True))
def test_clusters_may_be_others_than_the_blocks_of_the_lowest_level(situation):
    """Of a cluster that lies in two blocks, the processors of the chosen block count."""
    for name, expected in RULES.items():
        assert chosen_by(name, *situation) == expected(*situation), name


@examples(200)
@given(situation=situations())
def test_largest_clusters_first_is_the_block_of_the_lowest_processors(situation):
    """The rules refuse the same, and choose in the same block, where the first uses no more of the
    clusters than the second."""
    free, count, platform = situation
    for name in ("platform_level", "best_effort_platform_level"):
        chosen = chosen_by(name, free, count, platform)
        lowest = chosen_by(f"{name}_lowest", free, count, platform)
        assert (chosen is None) == (lowest is None), name
        if chosen is not None:
            size = next(
                size for size in platform.block_sizes if len({p // size for p in lowest}) == 1
            )
            assert {p // size for p in chosen} == {p // size for p in lowest}
            clusters, others = (
                {p // platform.cluster_size for p in some} for some in (chosen, lowest)
            )
            assert len(clusters) <= len(others)


@pytest.mark.parametrize("allocator", ["platform_level", "best_effort_platform_level"])
@pytest.mark.parametrize(
    ("platform", "free", "count", "chosen"),
    [
        # The platform of figure 5.7, whose processors have numbers from 1 there.
        (Platform(8, (2, 4, 8)), "0-7", 4, "0-3"),
        (Platform(8, (2, 4, 8)), "1-7", 4, "4-7"),
        (Platform(8, (2, 4, 8)), "1-3 6-7", 3, "1-3"),
        (Platform(8, (2, 4, 8)), "0 2-3 5-7", 5, "0 2-3 6-7"),
        # Clusters of four with 1, 3, 2 and 4 free processors.
        (Platform(16, (4, 16)), "0 4-6 8-9 12-15", 5, "4 12-15"),
        (Platform(16, (4, 16)), "0 4-6 8-9 12-15", 8, "4-6 8 12-15"),
        (Platform(16, (4, 16)), "0 4-6 8-9 12-15", 10, "0 4-6 8-9 12-15"),
        # Of equally many, the lower cluster first.
        (Platform(16, (4, 16)), "0-1 4-5 8-10 12-14", 7, "0 8-10 12-14"),
    ],
)
def test_an_example_is_chosen_as_by_hand(allocator, platform, free, count, chosen):
    picked = registry.load(PACKAGE, allocator).choose(sets.parse(free), count, platform)
    assert sets.text(picked) == chosen


def test_only_a_best_effort_goes_up_a_level():
    """Two processors in no cluster of two, then in no block of four."""
    platform = Platform(8, (2, 4, 8))
    for end in ("", "_lowest"):
        for free, chosen in (("0 2 5", [0, 2]), ("1 6", [1, 6])):
            own = set(list_members(sets.parse(free)))
            assert chosen_by(f"platform_level{end}", own, 2, platform) is None
            assert chosen_by(f"best_effort_platform_level{end}", own, 2, platform) == chosen


# Whole schedules.


def check_processors(schedule, expected):
    found = [list_members(schedule.allocation(index)) for index in range(len(expected))]
    assert found == expected


@in_parts
@pytest.mark.parametrize("tree", TREES)
def test_first_come_jobs_run_where_the_oracle_says(rule, tree, part):
    """Those of a forced rule wait until it accepts what is free."""
    platform = TREES[tree]
    m = platform.processors
    for seed in seeds(50, part):
        workload = random_workload(seed, 40, m, whole=seed % 3 > 0)
        starts, processors = engine.fcfs_processors(
            jobs_of(workload), m, partial(RULES[rule], platform=platform)
        )
        schedule = simulate(workload, platform, "fcfs", rule)
        assert schedule.start_time.tolist() == starts, seed
        check_processors(schedule, processors)
        assert violations(schedule) == []


@in_parts
@pytest.mark.parametrize("compression", engine.COMPRESSIONS)
def test_reserved_processors_are_the_oracles(rule, compression, part):
    """Conservative backfilling, in which the rule chooses for each reservation."""
    for seed in seeds(50, part):
        platform = list(TREES.values())[seed % len(TREES)]
        m = platform.processors
        workload = random_workload(seed, 40, m, whole=seed % 3 > 0)
        starts, promised, processors = engine.conservative_processors(
            jobs_of(workload),
            m,
            compression,
            keep_processors=True,
            choose=partial(RULES[rule], platform=platform),
        )
        schedule = simulate(
            workload,
            platform,
            "conservative",
            rule,
            options={"by": "processors", "compression": compression},
        )
        assert schedule.start_time.tolist() == starts, seed
        assert schedule.promised.tolist() == promised
        check_processors(schedule, processors)
        assert violations(schedule) == []


def test_the_two_rules_make_different_schedules():
    """So that the tests of schedules tell them apart."""
    platform = TREES["two levels"]
    workload = random_workload(1, 100, platform.processors)
    for name in ("platform_level", "best_effort_platform_level"):
        one, other = (simulate(workload, platform, "fcfs", name + end) for end in ("", "_lowest"))
        assert any(
            one.allocation(index).tolist() != other.allocation(index).tolist()
            for index in range(len(workload))
        )
