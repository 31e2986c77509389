"""The output formats by what they have in common, so that tests find a new one by themselves."""

from __future__ import annotations

from swdual import registry
from swdual.hits.fields import FIELDS, TAXA, TAXIDS
from swdual.results.file_types import SELF_COMPRESSED

FORMATS = registry.available("swdual.formats")

FIXED = [name for name in FORMATS if not registry.load("swdual.formats", name).FIELDS]
"""Formats of a fixed layout: no fields can be chosen."""

TEXT = [name for name in FORMATS if name not in SELF_COMPRESSED]
"""Formats that people read, or programs line by line."""

PLAIN_FIELDS = tuple(name for name in FIELDS if name not in (*TAXIDS, *TAXA))
"""Fields that any search has; the others need the taxonomy of the targets."""

UNALIGNED = ("lca",)
"""Formats of a fixed layout that show nothing of alignments."""

OF_A_RUN = ("html",)
"""Formats that tell of the run, too, which results know and a list of their queries does not."""
