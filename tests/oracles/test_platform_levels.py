"""The oracle of platform levels agrees with choices that are found by hand."""

import pytest

from .platform_levels import platform_level, platform_level_lowest
from .scheduling import Job, conservative_processors, fcfs_processors

FIGURE = (2, 4, 8)
"""Block sizes of the tree of figure 5.7, four clusters of two."""


@pytest.mark.parametrize(
    ("free", "count", "forced", "largest", "lowest"),
    [
        ([4, 5, 6, 7, 0, 2], 4, True, [4, 5, 6, 7], [4, 5, 6, 7]),  # figure 5.7
        ([1, 2, 3, 4], 3, True, [1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], 2, True, [2, 3], [2, 3]),
        ([0, 2, 3, 5, 6, 7], 5, True, [0, 2, 3, 6, 7], [0, 2, 3, 5, 6]),
        ([0, 2, 5], 2, True, None, None),
        ([0, 2, 5], 2, False, [0, 2], [0, 2]),
        ([0, 3, 5, 6, 7], 4, True, None, None),
        ([0, 3, 5, 6, 7], 4, False, [0, 3, 6, 7], [0, 3, 5, 6]),
        ([0, 1], 3, False, None, None),
        ([], 1, False, None, None),
    ],
)
def test_choices_on_the_figure(free, count, forced, largest, lowest):
    """Largest clusters first, or the lowest processors, of the same block."""
    assert platform_level(free, count, FIGURE, 2, forced=forced) == largest
    assert platform_level_lowest(free, count, FIGURE, forced=forced) == lowest


def test_a_cluster_counts_what_its_block_has_of_it():
    """Clusters of three across blocks of four: in the second block, 4 and 5, and 6 and 7."""
    assert platform_level([3, 4, 6, 7], 3, (4, 8), 3, forced=True) == [4, 6, 7]
    assert platform_level([3, 4, 5, 7], 3, (4, 8), 3, forced=True) == [4, 5, 7]


def test_a_forced_rule_makes_the_first_of_the_queue_wait():
    """Two processors of different clusters are free at 1: at 2, a whole cluster is."""
    jobs = [Job(0, 1, 1, 1), Job(0, 2, 2, 1), Job(0, 1, 1, 1), Job(0, 4, 4, 1), Job(0, 1, 1, 2)]

    def forced(free, count):
        return platform_level(free, count, (2, 4), 2, forced=True)

    def patient(free, count):
        return platform_level(free, count, (2, 4), 2, forced=False)

    places = [[0], [1], [2], [3]]
    assert fcfs_processors(jobs, 4, forced) == ([0, 0, 0, 0, 2], [*places, [0, 1]])
    assert fcfs_processors(jobs, 4, patient) == ([0, 0, 0, 0, 1], [*places, [0, 2]])
    reserved = conservative_processors(jobs, 4, choose=forced)
    assert reserved == ([0, 0, 0, 0, 2], [0, 0, 0, 0, 2], [*places, [0, 1]])
