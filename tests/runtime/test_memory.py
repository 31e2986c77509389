"""How much memory a process may have: told by made-up files of the system and variables."""

from __future__ import annotations

import resource

import pytest

from swdual.errors import InputError, MemoryLimitError
from swdual.runtime import memory
from swdual.runtime.memory import (
    MIB,
    find_allowance,
    find_largest_part,
    interpolate,
    refuse_below,
)
from swdual.runtime.system import resident_bytes

RAM = 64 * MIB


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Make a system with some files, 64 MiB of memory and no limits of the process."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)

    def make(files=()):
        for path, text in {"proc/meminfo": f"MemTotal: {RAM >> 10} kB\n", **dict(files)}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return make


def least(size):
    """Return a size less a tenth."""
    return size - size // memory.SPARED_PART


def test_what_was_asked_for_is_allowed_whatever_the_system_says(system):
    """A limit set by hand is taken as it is."""
    assert find_allowance(5, root=system(), environment={}) == (5, "`memory_limit`")


def test_a_tenth_of_the_machine_is_left_to_others(system):
    """Nobody set a limit: the machine's memory, less a tenth."""
    assert find_allowance(root=system(), environment={}) == (least(RAM), "this machine's memory")


@pytest.mark.case(number=25)
@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/a/b", {"a/b/memory.max": 20, "a/memory.max": 30, "memory.max": 40}),
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": 20}),
        ("0::/a/b", {"a/memory.max": 50, "memory.max": 20}),
        ("0::/", {"memory.max": 20}),
        ("0::/../elsewhere", {"memory.max": 20}),
        ("7:memory:/a/b", {"memory/a/b/memory.limit_in_bytes": 20}),
        ("7:cpu,memory:/a/b", {"memory/a/memory.limit_in_bytes": 20}),
        ("7:memory:/in/a/container", {"memory/memory.limit_in_bytes": 20}),
    ],
)
def test_the_tightest_of_the_cgroups_counts(system, group, files):
    """Version 2 and version 1; the group itself, those around it, or what a container shows."""
    written = {
        f"sys/fs/cgroup/{path}": f"{n * MIB if isinstance(n, int) else n}\n"
        for path, n in files.items()
    }
    root = system({"proc/self/cgroup": f"5:freezer:/x\n{group}\n", **written})
    found = find_allowance(root=root, environment={})
    assert found == (least(20 * MIB), "the limit of this process's cgroup")


@pytest.mark.parametrize("text", ["max", "9223372036854771712", "-1", ""])
def test_a_cgroup_without_a_limit_does_not_count(system, text):
    """Version 2 says max, version 1 a huge number."""
    files = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": text}
    assert find_allowance(root=system(files), environment={}).bytes == least(RAM)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_MEM_PER_NODE": "30"}, 30),
        ({"SLURM_MEM_PER_CPU": "5", "SLURM_CPUS_ON_NODE": "4"}, 20),
        ({"SLURM_MEM_PER_NODE": "30", "SLURM_MEM_PER_CPU": "5", "SLURM_CPUS_ON_NODE": "4"}, 30),
    ],
)
def test_slurm_s_limit_counts(system, variables, expected):
    """MiB of the node, or of each CPU."""
    found = find_allowance(root=system(), environment=variables)
    assert found == (least(expected * MIB), "SLURM's limit for this job")


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_MEM_PER_NODE": "0"},
        {"SLURM_MEM_PER_NODE": "4G"},
        {"SLURM_MEM_PER_CPU": "5"},
        {"SLURM_MEM_PER_CPU": "five", "SLURM_CPUS_ON_NODE": "4"},
        {"SLURM_MEM_PER_NODE": "30000"},
    ],
)
def test_what_slurm_leaves_open_does_not_count(system, variables):
    """All of the node, no number, or more than there is."""
    found = find_allowance(root=system(), environment=variables)
    assert found == (least(RAM), "this machine's memory")


@pytest.mark.parametrize(
    ("which", "source"), [("RLIMIT_AS", "ulimit -v"), ("RLIMIT_RSS", "ulimit -m")]
)
def test_limits_of_the_process_count(system, monkeypatch, which, source):
    """What a shell set with ulimit."""
    limits = {getattr(resource, which): 10 * MIB}
    none = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (limits.get(asked, none), none))
    assert find_allowance(root=system(), environment={}) == (least(10 * MIB), source)


def test_a_system_that_says_nothing_limits_nothing(tmp_path, monkeypatch):
    """No proc, no sys, no variables."""
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert find_allowance(root=tmp_path, environment={}).bytes > 1 << 50
    assert resident_bytes(root=tmp_path) == 0


def test_what_the_process_holds_is_told():
    """More than an interpreter, less than the machine; it follows what is touched."""
    before = resident_bytes()
    assert 10 * MIB < before < find_allowance().bytes
    touched = bytearray(b"x") * (64 * MIB)
    assert 60 * MIB < resident_bytes() - before < 70 * MIB
    del touched


def test_too_little_is_refused_with_what_would_be_enough():
    """The limit, who set it, the smallest workable one, rounded up, and the remedy."""
    allowed = memory.Allowance(9 * MIB, "`memory_limit`")
    refuse_below(9 * MIB, allowed, "unused")
    with pytest.raises(MemoryLimitError) as found:
        refuse_below(9 * MIB + 1, allowed, "eat less")
    assert str(found.value) == (
        "9 MiB of memory (`memory_limit`) are too little; the smallest workable limit is "
        "`memory_limit=10485760`; eat less"
    )
    assert found.value.exit_code == 4
    assert isinstance(found.value, MemoryError)
    with pytest.raises(InputError, match="must be at least 1"):
        refuse_below(0, memory.Allowance(0, "x"), "unused")


def test_sizes_grow_by_like_factors_between_their_bounds():
    """The least at 0, the most at 1; where the least is more, it stays."""
    assert [interpolate(10, 1000, part) for part in (0, 0.5, 1)] == [10, 100, 1000]
    assert interpolate(50, 10, 0.5) == 50


@pytest.mark.parametrize("most", [0, 10, 137, 999, 1000, 5000])
def test_the_largest_part_costs_no_more_than_there_is(most):
    """And hardly less."""

    def cost(part):
        return round(1000 * part)

    part = find_largest_part(cost, most)
    assert cost(part) <= most
    assert cost(part) >= min(most, 1000) - 1
