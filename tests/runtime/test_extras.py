"""What an error says about a missing package can be pasted into a shell."""

from __future__ import annotations

from importlib import metadata

import pytest

from swdual.runtime.extras import install_command

REQUIREMENTS = [
    "numpy>=2.0",
    "backports.zstd>=1; python_version < '3.14'",
    "cupy-cuda13x>=14.2; extra == 'cuda13'",
    'nvidia-cuda-nvrtc<14,>=13 ; extra == "cuda13"',
    "distributed>=2025.1; extra == 'cluster'",
    'uvloop; sys_platform != "win32" and extra == "cluster"',
]


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("cuda13", "pip install 'cupy-cuda13x>=14.2' 'nvidia-cuda-nvrtc<14,>=13'"),
        ("cluster", "pip install 'distributed>=2025.1' uvloop"),
        ("cuda", "pip install '.[cuda]'"),
    ],
)
def test_the_packages_of_an_extra_are_named(monkeypatch, extra, command):
    """With their versions: this works wherever swdual was installed from."""
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIREMENTS)
    assert install_command(extra) == command


def test_in_the_source_folder_the_command_is_for_that_folder(monkeypatch):
    """Where swdual runs, but is not installed."""

    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", requires)
    assert install_command("arrow") == "pip install '.[arrow]'"
