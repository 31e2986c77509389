"""SPT, but a task that too many shorter ones wait for is redirected (SPT-RD).

Machado Mendonca's thesis, sections 3.4.2 and 3.4.4.
"""

from __future__ import annotations

from swdual.scheduling.policies._dispatch import Dispatch
from swdual.scheduling.policies._sequential import RedirectingByCount


class Policy(RedirectingByCount):
    """Shortest first; a running task makes way if it keeps too many from running.

    Whenever a task is dispatched to a processor that is shorter than what is left of the one that
    runs there, that one's count goes up. At the threshold it is stopped, and begins anew on one of
    the dedicated processors, which have queues of their own.
    """

    QUEUES = Dispatch
