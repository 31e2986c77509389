"""How much the server, and each of its clients, may ask for."""

from __future__ import annotations

from dataclasses import dataclass

QUIET_SECONDS = 15.0
"""After this time without news of a job a comment is sent, so that nobody closes the connection."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; sizes are bytes.

    Parameters
    ----------
    query_bytes
        Size of a request, whose queries are most of it.
    cells
        Cells of a job: residues of its queries, times those of the database.
    job_seconds
        Time that a job may run.
    result_bytes
        Size of a result.
    queued_jobs
        Jobs that wait, of all clients.
    client_jobs
        Jobs of a client that wait or run.
    client_running
        Jobs of a client that run at a time.
    kept_seconds, kept_jobs, kept_bytes
        How long finished jobs are kept, how many, and the size of their results together; the
        oldest are forgotten first.
    requests, client_requests
        Requests that are answered at a time, of all clients and of each.
    body_seconds
        Time to receive the header lines of a request, and as much for the rest.
    stall_seconds
        Time after which a client is given up to which nothing can be sent.
    """

    query_bytes: int = 4 << 20
    cells: int = 10_000_000_000_000
    job_seconds: float = 600.0
    result_bytes: int = 1 << 30
    queued_jobs: int = 64
    client_jobs: int = 8
    client_running: int = 1
    kept_seconds: float = 900.0
    kept_jobs: int = 256
    kept_bytes: int = 4 << 30
    requests: int = 256
    client_requests: int = 100
    body_seconds: float = 60.0
    stall_seconds: float = 300.0
