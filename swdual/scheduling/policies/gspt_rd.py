"""GSPT, but a task that too many shorter ones wait for is redirected (GSPT-RD).

Machado Mendonca's thesis, section 3.4.2.
"""

from __future__ import annotations

from swdual.scheduling.policies._common_queue import CommonQueue
from swdual.scheduling.policies._sequential import RedirectingByCount


class Policy(RedirectingByCount):
    """Shortest first; the longest running task makes way if it keeps too many from running.

    Whenever a task comes that is shorter than what is left of the running task with most left,
    that one's count goes up. At the threshold it is stopped, and begins anew on the dedicated
    processors, which have a queue of their own.
    """

    QUEUES = CommonQueue
