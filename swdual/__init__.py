"""Exact Smith-Waterman search of proteins and nucleotides, on all of a machine's processors.

>>> import swdual
>>> results = swdual.search("MKVLAW", {"same": "MKVLAW", "other": "GGGG"})
>>> results[0][0].score
29
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from swdual.version import __version__

if sys.byteorder == "big":
    import platform

    raise ImportError(
        f"swdual cannot run on {platform.machine()}: sys.byteorder is 'big', but its database "
        "files and its vector code are little-endian; use x86-64 or ARM64"
    )
if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "swdual has not been tested without the global interpreter lock, which this free-threaded "
        "Python has disabled; set the environment variable PYTHON_GIL=1, or use the default build"
    )

if TYPE_CHECKING:
    from swdual.alignment.alignment import Alignment
    from swdual.api import allpairs, audit, find_clusters, iter_search, iterate, msa, search
    from swdual.backend import Device
    from swdual.database.database import Database
    from swdual.database.makedb import makedb
    from swdual.errors import (
        ClusterError,
        DatabaseError,
        DeviceError,
        DeviceMemoryError,
        EngineError,
        InputError,
        MatrixError,
        MemoryLimitError,
        OutputError,
        StatisticsUnavailable,
        SwdualError,
    )
    from swdual.hits.hit import Hit
    from swdual.hits.query_result import QueryResult
    from swdual.master.pair import align, align_pairs
    from swdual.multiple_alignment.multiple_alignment import Complex, MultipleAlignment
    from swdual.planning.planner import Plan
    from swdual.prediction.preview import plan
    from swdual.profiles.profile import Profile, read_profile
    from swdual.results.search_results import SearchResults
    from swdual.sequences.matrices import SubstitutionMatrix
    from swdual.sequences.scoring import ScoringScheme

_HOMES = {
    "swdual.alignment.alignment": ("Alignment",),
    "swdual.database.database": ("Database",),
    "swdual.database.makedb": ("makedb",),
    "swdual.hits.hit": ("Hit",),
    "swdual.hits.query_result": ("QueryResult",),
    "swdual.backend": ("Device",),
    "swdual.master.pair": ("align", "align_pairs"),
    "swdual.prediction.preview": ("plan",),
    "swdual.multiple_alignment.multiple_alignment": ("Complex", "MultipleAlignment"),
    "swdual.planning.planner": ("Plan",),
    "swdual.profiles.profile": ("Profile", "read_profile"),
    "swdual.results.search_results": ("SearchResults",),
    "swdual.api": ("allpairs", "audit", "find_clusters", "iter_search", "iterate", "msa", "search"),
    "swdual.sequences.matrices": ("SubstitutionMatrix",),
    "swdual.sequences.scoring": ("ScoringScheme",),
}
"""The modules of public names; the others are errors."""

__all__ = [
    "Alignment",
    "ClusterError",
    "Complex",
    "Database",
    "DatabaseError",
    "Device",
    "DeviceError",
    "DeviceMemoryError",
    "EngineError",
    "Hit",
    "InputError",
    "MatrixError",
    "MemoryLimitError",
    "MultipleAlignment",
    "OutputError",
    "Plan",
    "Profile",
    "QueryResult",
    "ScoringScheme",
    "SearchResults",
    "StatisticsUnavailable",
    "SubstitutionMatrix",
    "SwdualError",
    "__version__",
    "align",
    "align_pairs",
    "allpairs",
    "audit",
    "find_clusters",
    "iter_search",
    "iterate",
    "makedb",
    "msa",
    "plan",
    "read_profile",
    "search",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import swdual`` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'swdual' has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "swdual.errors")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
