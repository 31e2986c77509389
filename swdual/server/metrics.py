"""What the server has done, for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from swdual.runtime.system import resident_bytes
from swdual.server.jobs import STATES, JobQueue

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def write_metrics(queue: JobQueue, responses: Counter[int]) -> str:
    """Return the metrics in Prometheus's text format.

    Parameters
    ----------
    queue
        The jobs.
    responses
        The number of responses by their status.
    """
    return "\n".join([*_lines(queue, responses), ""])


def _lines(queue: JobQueue, responses: Counter[int]) -> Iterator[str]:
    yield from _about("swdual_jobs_ended_total", "counter", "Jobs by how they ended.")
    for state in STATES[2:]:
        yield f'swdual_jobs_ended_total{{state="{state}"}} {queue.ended[state]}'
    yield from _about("swdual_responses_total", "counter", "HTTP responses by their status.")
    for status, count in sorted(responses.items()):
        yield f'swdual_responses_total{{status="{status}"}} {count}'
    for name, kind, text, value in (
        ("swdual_jobs_queued", "gauge", "Jobs that wait.", queue.queued),
        ("swdual_jobs_running", "gauge", "Jobs that run.", queue.running),
        ("swdual_jobs_kept", "gauge", "Jobs that are known.", queue.kept),
        ("swdual_results_sending", "gauge", "Results that are being read.", queue.readers),
        ("swdual_cells_total", "counter", "Cells of ended jobs.", queue.cells),
        ("swdual_result_bytes_total", "counter", "Bytes of results.", queue.result_bytes),
        ("swdual_run_seconds_total", "counter", "Run time of ended jobs.", queue.run_seconds),
        ("process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes()),
    ):
        yield from _about(name, kind, text)
        yield f"{name} {value}"


def _about(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
