"""Browsers, each started once for a file of tests."""

from __future__ import annotations

import pytest
from support.browsers import BROWSERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module", params=BROWSERS)
def browser(request, tmp_path_factory):
    started = BROWSERS[request.param](tmp_path_factory.mktemp(request.param))
    yield started
    started.close()
