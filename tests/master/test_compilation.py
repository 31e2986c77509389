"""Kernels are compiled before a search, once on a machine."""

from __future__ import annotations

import os
import sys

import pytest

from swdual.master import compilation
from swdual.master.compilation import compile_kernels


def test_a_compilation_that_failed_is_not_tried_again_by_each_search(tmp_path, monkeypatch):
    """Each kernel is then compiled when it is needed."""
    python, log = tmp_path / "python", tmp_path / "log"
    python.write_text(f"#!/bin/sh\necho started >> {log}\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", os.fspath(python))
    monkeypatch.setattr(compilation, "cache_folder", lambda: tmp_path)
    compile_kernels()
    compile_kernels()
    assert log.read_text() == "started\n"
    assert not [*tmp_path.glob("compiled-*")]  # the next process tries again
    compile_kernels(adjusts=True)
    assert log.read_text() == "started\nstarted\n"  # other kernels are


def test_a_compilation_that_was_interrupted_is_tried_again(tmp_path, monkeypatch):
    """The next search of a notebook shows the progress of the rest."""
    monkeypatch.setattr(compilation, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")

    def interrupt():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compilation.compilation, "announce", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compile_kernels()
    announced = []
    monkeypatch.setattr(compilation.compilation, "announce", lambda: announced.append(True))
    compile_kernels()
    assert announced == [True]
