"""SPT, but long tasks are redirected at random (SPT-RR).

Machado Mendonca's thesis, sections 3.4.3 and 3.4.4.
"""

from __future__ import annotations

from swdual.scheduling.policies._dispatch import Dispatch
from swdual.scheduling.policies._sequential import RedirectingAtRandom


class Policy(RedirectingAtRandom):
    """Shortest first; some of the long tasks are dispatched among the dedicated processors."""

    QUEUES = Dispatch
