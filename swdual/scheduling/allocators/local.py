"""As few clusters as so many processors can have, or the job waits.

"Forced locality" of Machado Mendonca's thesis, section 4.5.2. Section 5.6.2 allows the cluster with
the most free processors only, by which no job that is larger than a cluster could ever start.
"""

from __future__ import annotations

from swdual.scheduling.allocators import _blocks
from swdual.scheduling.platform import Platform
from swdual.scheduling.processors import Ranges

FORCED = True


def choose(free: Ranges, count: int, platform: Platform) -> Ranges | None:
    """Return the processors of the clusters that have most free ones.

    None if these are more clusters than the job needs: then no others are fewer.
    See `Allocator.choose`.
    """
    return _blocks.fullest_clusters(free, count, platform, platform.clusters_needed(count))
