"""GSPT, but long tasks are redirected at random (GSPT-RR).

Machado Mendonca's thesis, section 3.4.3.
"""

from __future__ import annotations

from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import RedirectingAtRandom


class Policy(RedirectingAtRandom):
    """Shortest first; some of the long tasks wait for the dedicated processors only."""

    QUEUES = CommonQueue
