"""The Standard Workload Format: see `swdual.scheduling.workload.swf`."""

from __future__ import annotations

import re

from swdual.scheduling.workload.readers.contract import TraceFormat
from swdual.scheduling.workload.swf import read_trace

FORMAT = TraceFormat(
    "swf",
    "the Standard Workload Format",
    re.compile(rb"\s*(;|\Z|[-+.\d]\S*([ \t]+[^,|]*)?(\n|\Z))").match,
    lambda path, _: read_trace(path),
)
