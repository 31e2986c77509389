"""Where compiled kernels and measured rates are kept."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from swdual.runtime import cache, jit


@pytest.fixture(autouse=True)
def _fresh_choice():
    clear()
    yield
    clear()


def test_the_folder_that_the_user_names_comes_first(monkeypatch, tmp_path):
    """SWDUAL_CACHE_DIR wins over the user's cache folder."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A copy of the package, whose files may be changed."""
    copy = tmp_path / "swdual"
    shutil.copytree(Path(cache.__file__).parents[1], copy)
    monkeypatch.setattr(cache, "_PACKAGE", copy)
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(tmp_path / "chosen"))
    return copy


def clear():
    for function in (
        *(cache.cache_folder, cache.numba_folder, cache.source_digest),
        *(cache._list_needed, cache._holds_kernels, cache._read),
    ):
        function.cache_clear()


@pytest.mark.parametrize(
    ("changed", "scores", "numba"),
    [
        ("cli/search.py", False, False),
        ("scheduling/kernels/insertion.py", False, False),
        ("scheduling/kernels/compress_by_count.py", False, True),
        ("scheduling/kernels/profile.py", False, True),
        ("scheduling/processors.py", False, True),
        ("runtime/jit.py", False, True),
        ("lanes/vector.py", True, False),
        ("lanes/registers.py", True, False),
        ("runtime/codegen.py", True, False),
        ("backends/_gotoh.py", True, False),
    ],
)
def test_only_files_that_a_kernel_depends_on_cost_a_compilation(package, changed, scores, numba):
    """That is its own file, other kernels, and where constants come from."""
    jobs = package / "scheduling/kernels/compress_by_count.py"

    def state():
        clear()
        return (
            cache.source_digest(str(package / "backends/_gotoh.py")),
            cache.numba_folder(str(jobs)),
        )

    before = state()
    with (package / changed).open("a") as file:
        file.write("# changed\n")
    after = state()
    assert [old != new for old, new in zip(before, after, strict=True)] == [scores, numba]


def test_constants_of_kernels_count(package):
    """The codes of an alignment's operations are compiled into the walk."""
    before = cache.source_digest(str(package / "alignment/tile.py"))
    with (package / "alignment/tracebacks.py").open("a") as file:
        file.write("# changed\n")
    clear()
    assert cache.source_digest(str(package / "alignment/tile.py")) != before


def test_constants_of_numba_kernels_count(package):
    """Where the hash of an identifier begins is compiled into the look-up."""
    before = cache.numba_folder(str(package / "database/_find.py"))
    with (package / "database/hashes.py").open("a") as file:
        file.write("# changed\n")
    clear()
    assert cache.numba_folder(str(package / "database/_find.py")) != before


@pytest.fixture
def reachable(monkeypatch):
    """Others get to the folders of the test, unlike to those of pytest."""
    monkeypatch.setattr(cache, "_is_shut", lambda state, user: False)


@pytest.fixture
def places(monkeypatch, tmp_path):
    """The folders that are tried, in this order; there is only that of the test to choose."""
    assert os.getuid() >= 0  # what follows is about the users of POSIX
    names = {name: tmp_path / name / "new" for name in ("chosen", "home", "tmp")}
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(names["chosen"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(names["home"]))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(names["tmp"]))
    return names


def give_away(path, monkeypatch):
    """Let a folder belong to another user."""
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
        return
    real = Path.stat

    def stat(self, **options):
        state = real(self, **options)
        return os.stat_result([*state[:4], 12345, *state[5:]]) if self == path else state

    monkeypatch.setattr(Path, "stat", stat)


UMASKS = (0o000, 0o002, 0o022, 0o027, 0o077)


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("private", [True, False], ids=["private-group", "shared-group"])
@pytest.mark.parametrize("chosen", [True, False], ids=["chosen", "default"])
@pytest.mark.parametrize("mask", UMASKS, ids=[f"{mask:03o}" for mask in UMASKS])
def test_what_swdual_makes_is_its_cache_folder_again(
    places, umask, monkeypatch, mask, chosen, private
):
    """Under any umask, whoever else is in the user's group, and in the next run."""
    if not chosen:
        monkeypatch.delenv("SWDUAL_CACHE_DIR")
    monkeypatch.setattr(cache.system, "is_private_group", lambda group: private)
    umask(mask)
    folder = cache.cache_folder()
    clear()
    assert cache.cache_folder() == folder
    top = places["chosen"] if chosen else places["home"] / "swdual"
    assert folder.parent == top
    for level in (folder, *folder.parents):
        if level == places["chosen"].parents[1]:
            break
        assert level.stat().st_mode & 0o777 == 0o700


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("which", ["folder", "parent", "above"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_change_is_not_used(places, monkeypatch, which, mode):
    """Code is loaded from there. Above it, the sticky bit keeps others from renaming folders."""
    monkeypatch.setattr(cache.system, "is_private_group", lambda group: False)
    folder = cache.cache_folder()
    level = {"folder": folder, "parent": folder.parent, "above": folder.parents[1]}[which]
    level.chmod(mode)
    clear()
    used = (
        folder if mode == 0o1777 and which != "folder" else places["home"] / "swdual" / folder.name
    )
    assert cache.cache_folder() == used


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("level", ["folder", "parent"])
def test_a_folder_of_another_user_is_not_used(places, monkeypatch, level):
    """Its owner can write to it, whatever its mode."""
    folder = cache.cache_folder()
    give_away(folder if level == "folder" else folder.parent, monkeypatch)
    clear()
    assert cache.cache_folder() == places["home"] / "swdual" / folder.name


@pytest.mark.usefixtures("reachable")
def test_the_group_of_the_user_alone_may_write(places, monkeypatch):
    """Umask 002 is the default where each user has such a group; other groups may not."""
    folder = cache.cache_folder()
    folder.parents[1].chmod(0o775)
    group = folder.parents[1].stat().st_gid
    for alone in (True, False):
        clear()
        monkeypatch.setattr(
            cache.system, "is_private_group", lambda asked, alone=alone: asked == group and alone
        )
        assert (cache.cache_folder() == folder) == alone


@pytest.mark.usefixtures("reachable")
def test_the_home_folder_may_have_any_mode(places, monkeypatch):
    """Who can write there can change more than a cache; folders in it are judged."""
    monkeypatch.setattr(cache.system, "is_private_group", lambda group: False)
    folder = cache.cache_folder()
    home = folder.parents[1]
    home.chmod(0o777)
    home.parent.chmod(0o777)
    for named, used in ((home, True), (home.parent / "other", False)):
        monkeypatch.setenv("HOME", str(named))
        clear()
        assert (cache.cache_folder() == folder) == used


def test_nobody_gets_to_what_is_below_a_folder_of_the_user_alone(places, monkeypatch):
    """There modes matter no more, but for the last folder's: it may come from elsewhere."""
    monkeypatch.setattr(cache.system, "is_private_group", lambda group: False)
    folder, is_shut = cache.cache_folder(), cache._is_shut
    home = folder.parents[2]
    of_home = home.stat()
    monkeypatch.setattr(
        cache,
        "_is_shut",
        lambda state, user: os.path.samestat(state, of_home) and is_shut(state, user),
    )
    folder.parent.chmod(0o777)
    for mode, used in ((0o700, True), (0o711, False), (0o710, False), (0o744, True)):
        home.chmod(mode)
        clear()
        assert (cache.cache_folder() == folder) == used
    folder.chmod(0o777)
    clear()
    assert cache.cache_folder() != folder


@pytest.mark.usefixtures("reachable")
def test_links_lead_to_the_folder_that_is_judged(places, monkeypatch):
    """What a link leads to is used under its own name, so the link may change afterwards."""
    folder = cache.cache_folder()
    link = folder.parents[2] / "link"
    link.symlink_to(folder.parent)
    monkeypatch.setenv("SWDUAL_CACHE_DIR", str(link))
    clear()
    assert cache.cache_folder() == folder


@pytest.mark.usefixtures("reachable")
def test_if_nothing_can_be_kept_a_warning_says_why_once(places, monkeypatch, caplog):
    """It names the folders that others can change, and what to do."""
    for place in places.values():
        place.mkdir(parents=True)
        place.chmod(0o777)
    assert cache.cache_folder() is None
    assert cache.cache_folder() is None
    (message,) = caplog.messages
    assert message == (
        "kernels are compiled at each run: "
        + "".join(
            f"{place} can be written by others (chmod go-w {place}); " for place in places.values()
        )
        + "name a folder of yours by SWDUAL_CACHE_DIR"
    )


def test_an_empty_name_of_a_folder_names_none(places, monkeypatch, tmp_path):
    """As of other variables of folders; nothing appears in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWDUAL_CACHE_DIR", "")
    assert cache.cache_folder().parents[1] == places["home"]
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


def test_without_any_folder_kernels_live_in_memory(monkeypatch, caplog):
    """Where nothing can be written there is no cache, and a kernel works all the same."""
    monkeypatch.setenv("SWDUAL_CACHE_DIR", "/dev/null/x")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/x")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/dev/null/x")
    assert cache.cache_folder() is None
    assert caplog.messages == [
        "kernels are compiled at each run: no cache folder can be written to; name a folder of "
        "yours by SWDUAL_CACHE_DIR"
    ]

    @jit.kernel
    def twice(x):
        return 2 * x

    assert twice(21) == 42
