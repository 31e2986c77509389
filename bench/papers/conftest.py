"""What the tests of campaigns share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def script() -> Callable[[str], Any]:
    """Loads a campaign by its file: the name of one is that of the package."""

    def load(name: str) -> Any:
        spec = importlib.util.spec_from_file_location(f"papers_{name}", FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load
