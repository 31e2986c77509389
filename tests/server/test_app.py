"""The server: what it sends is what a search here writes, and what it refuses it explains."""

from __future__ import annotations

import errno
import json
import threading
import time

import httpx
import pytest
from support.formats import FORMATS
from support.servers import SECONDS, running_server, wait_until

from swdual.api import search
from swdual.database.makedb import makedb
from swdual.request.comparison import Comparison
from swdual.server.limits import Limits
from swdual.server.media_types import MEDIA_TYPES

QUERIES = ">q1 first query\nMKVLAWGGHERMKVLAWDEF\n>q2\nACDEFGHIKLMNPQRSTVWY\n"
TARGETS = ">t1 one\nMKVLAWGGHERMKV\n>t2 two\nGGGGWW\n>t3\nACDEFGHIKLMNPQRSTVWYACD\n"
LONG = f">long\n{'MKVLAWGGHERCDEFIPQRSTNY' * 2000}\n"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    (folder / "t.fa").write_text(TARGETS)
    makedb([folder / "t.fa"], folder / "t.db").close()
    return folder / "t.db"


@pytest.fixture(scope="module")
def slow_database(tmp_path_factory):
    """A database in which a search of LONG takes many seconds."""
    folder = tmp_path_factory.mktemp("databases")
    (folder / "s.fa").write_text("".join(f">s{k}\n{LONG[6:]}" for k in range(800)))
    makedb([folder / "s.fa"], folder / "s.db").close()
    return folder / "s.db"


@pytest.fixture(scope="module")
def site(database):
    with running_server(database) as (url, queue), httpx.Client(base_url=url) as http:
        http.queue = queue
        yield http


def ask(**values):
    return {"database": "t.db", "queries": QUERIES, **values}


def test_all_formats_have_a_media_type():
    assert set(MEDIA_TYPES) == set(FORMATS)


def test_what_it_tells_of_itself(site):
    assert site.get("/healthz").json()["status"] == "ok"
    (told,) = site.get("/databases").json()
    assert told["name"] == "t.db"
    assert told["sequences"] == 3
    assert "paths" in site.get("/openapi.json").json()
    metrics = site.get("/metrics").text
    assert 'swdual_responses_total{status="200"}' in metrics
    assert "process_resident_memory_bytes" in metrics


def test_a_job_goes_through_its_states(site, database):
    job = site.post("/jobs", json=ask(format="6 qseqid sseqid score", options={"evalue": 1e-3}))
    assert job.status_code == 202
    address = job.headers["location"]
    events = site.get(f"{address}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    states = [json.loads(x[6:]) for x in events.text.splitlines() if x.startswith("data: ")]
    assert states[-1]["state"] == "finished"
    assert states[-1]["cells"] == states[-1]["cells_done"] == 40 * 43
    assert states[-1]["summary"].startswith("2 hits of 2 queries in 3 proteins")
    result = site.get(f"{address}/result")
    pairs = dict(record.split("\n")[:2] for record in QUERIES[1:].split("\n>"))
    found = [
        f"{hit.result.query.id}\t{hit.id}\t{hit.score}\n"
        for each in search(pairs, database, evalue=1e-3)
        for hit in each
    ]
    assert result.text == "".join(found)
    assert len(found) == 2
    assert int(result.headers["content-length"]) == states[-1]["result_bytes"]
    assert site.get(address).json()["hits"] == 2
    assert site.delete(address).status_code == 200
    assert site.get(address).status_code == 404


def test_messages_of_the_search_come_with_the_job(site):
    job = site.post("/jobs", json=ask(queries=">q\nMKVLAWGGHER\n>empty\n", queries_name="q.fa"))
    state = json.loads(site.get(f"{job.headers['location']}/events").text.split("data: ")[-1])
    (message,) = [each for each in state["messages"] if each["level"] == "warning"]
    assert message["text"].startswith("q.fa:")
    assert "swdual-serve" not in message["text"]


def test_an_error_in_the_queries_names_the_place(site):
    problem = site.post("/search", json=ask(queries=">q\nMKV1\n", queries_name="q.fa"))
    assert problem.status_code == 422
    assert problem.headers["content-type"] == "application/problem+json"
    told = problem.json()
    assert (told["file"], told["line"], told["exit_code"]) == ("q.fa", 2, 1)
    assert told["detail"].startswith("q.fa:2: ")


@pytest.mark.parametrize(
    ("letters", "options", "program"),
    [
        ("ACGTACGTTAGCCATGCAAGT", {}, "BLASTX"),
        ("ACGTACGTTAGCCATGCAAGT", {"dbtype": "prot"}, "BLASTP"),
        ("ACGTACGTTAGCCATGCAAGT", {"task": "blastp"}, "BLASTP"),
        ("GGGGSGGGGSGGGGS", {}, "BLASTP"),
        ("GGGGSGGGGSGGGGS", {"task": "blastx"}, "BLASTX"),
        ("GGGGSGGGGSGGGGS", {"strand": "plus"}, "BLASTX"),
        ("GGGGSGGGGSGGGGS", {"query_gencode": 4}, "BLASTX"),
    ],
)
def test_options_decide_about_the_type_of_queries(site, letters, options, program):
    """As in the shell: letters decide only where no option does."""
    asked = ask(queries=f">q\n{letters}\n", format="7", options={"evalue": 1e9, **options})
    assert site.post("/search", json=asked).text.startswith(f"# {program} ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/jobs/nothing", 404),
        ("DELETE", "/jobs/nothing", 404),
        ("GET", "/jobs/../healthz/..%2f..%2fetc/passwd", 404),
        ("PUT", "/jobs", 405),
        ("GET", "/search", 405),
        ("POST", "/healthz", 405),
    ],
)
def test_an_address_that_is_not_there_is_a_problem(site, method, path, status):
    response = site.request(method, path)
    assert response.status_code == status
    assert response.json()["status"] == status


@pytest.mark.parametrize(
    ("settings", "status", "words"),
    [
        ({"json": ask(database="../t.db")}, 422, "there is no database '../t.db'; there are: t.db"),
        ({"json": ask(options={"gap_open": "a"})}, 422, "`gap_open`"),
        ({"json": ask(), "headers": {"Accept": "image/png"}}, 406, "Accept"),
        ({"content": json.dumps(ask())}, 415, "application/json"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 422, "no JSON"),
        ({"json": ask(options={"task": "blastn"})}, 422, "blastn"),
        ({"json": ask(options={"gap_open": -5})}, 422, "gap"),
    ],
)
@pytest.mark.parametrize("path", ["/search"])
def test_a_request_that_cannot_be_is_refused_with_a_reason(site, path, settings, status, words):
    response = site.post(path, **settings)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert words in response.json()["detail"]


def test_a_request_that_is_too_large_is_refused_while_it_arrives(database):
    with running_server(database, limits=Limits(query_bytes=1000)) as (url, _):
        response = httpx.post(f"{url}/search", json=ask(queries=">q\n" + "MKV" * 1000))
    assert response.status_code == 413
    assert "larger than 1,000 bytes" in response.json()["detail"]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(cells=100), "1,720 cells, but a job may have at most 100"),
        (Limits(result_bytes=10), "larger than 10 bytes"),
        (Limits(job_seconds=0), "ran longer than 0 seconds"),
    ],
)
def test_a_job_beyond_a_limit_fails_with_the_reason(database, limits, words):
    with running_server(database, limits=limits) as (url, _):
        response = httpx.post(f"{url}/search", json=ask())
    assert response.status_code == 413
    assert words in response.json()["detail"]


def test_a_full_disk_is_told_and_the_next_job_is_done(site, monkeypatch):
    def fail(spool):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("swdual.server.spool.Spool.flush", fail)
        response = site.post("/search", json=ask())
    assert response.status_code == 507
    assert "No space left on device" in response.json()["detail"]
    assert site.post("/search", json=ask()).status_code == 200


def test_the_queue_is_bounded_and_fair(slow_database):
    limits = Limits(client_jobs=2, queued_jobs=3)
    tokens = ["a" * 16, "b" * 16, "c" * 16]
    slow = {"database": "s.db", "queries": LONG}
    with running_server(slow_database, limits=limits, tokens=tokens) as (url, queue):

        def submit(token):
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.post(f"{url}/jobs", json=slow, headers=headers)

        first = submit(tokens[0])
        assert first.status_code == submit(tokens[0]).status_code == 202
        refused = submit(tokens[0])
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        assert submit(tokens[1]).status_code == submit(tokens[1]).status_code == 202
        refused = submit(tokens[2])
        assert refused.status_code == 503
        assert "wait already" in refused.json()["detail"]
        assert (queue.running, queue.queued) == (1, 3)
        headers = {"Authorization": f"Bearer {tokens[1]}"}
        other = httpx.get(f"{url}{first.headers['location']}", headers=headers)
        assert other.status_code == 404


def test_a_job_can_be_cancelled_while_it_waits_and_while_it_runs(slow_database):
    slow = {"database": "s.db", "queries": LONG}
    with running_server(slow_database) as (url, queue), httpx.Client(base_url=url) as http:
        runs, waits = (http.post("/jobs", json=slow).headers["location"] for _ in range(2))
        assert http.get(waits).json()["position"] == 1
        cancelled = http.delete(waits).json()
        assert cancelled["state"] == "cancelled"
        assert cancelled["run_seconds"] == 0
        with http.stream("GET", f"{runs}/events") as events:
            lines = events.iter_lines()
            assert next(lines) == "event: running"
            http.delete(runs)
            assert "event: cancelled" in [*lines]
        assert (queue.running, queue.queued) == (0, 0)
        assert queue.ended["cancelled"] == 2


@pytest.mark.parametrize("path", ["/search", "/jobs"])
def test_a_client_that_goes_cancels_its_job(slow_database, path):
    slow = {"database": "s.db", "queries": LONG}
    with running_server(slow_database) as (url, queue):

        def wait_for_result():
            with httpx.Client(base_url=url, timeout=1) as http:
                sent = http.post(path, json=slow)
                http.get(f"{sent.headers['location']}/result")

        with pytest.raises(httpx.ReadTimeout):
            wait_for_result()
        wait_until(lambda: queue.ended["cancelled"] == 1)
        assert queue.running == 0


def read_for_ever(text):
    while True:
        time.sleep(0.001)
        yield "q", b"MKV"


def slow_down(monkeypatch, phase):
    """Have a job take very long before its first cell."""
    if phase == "reading":
        monkeypatch.setattr("swdual.sequences.fasta._Text.records", read_for_ever)
    elif phase == "masking":
        read_query = Comparison.read_query
        monkeypatch.setattr(
            Comparison, "read_query", lambda *given: time.sleep(0.1) or read_query(*given)
        )
    else:
        monkeypatch.setattr("swdual.request.weak_queries.find_scores", lambda _: time.sleep(0.1))


MANY = {"database": "t.db", "queries": ">q\nMKV\n" * 10_000, "options": {"mask": "seg"}}


@pytest.mark.parametrize("phase", ["reading", "masking", "looking"])
def test_no_phase_of_a_job_escapes_the_limit_of_time(database, monkeypatch, phase):
    slow_down(monkeypatch, phase)
    with running_server(database, limits=Limits(job_seconds=0.3)) as (url, queue):
        response = httpx.post(f"{url}/search", json=MANY, timeout=SECONDS)
        wait_until(lambda: queue.running == 0)
    assert response.status_code == 413
    assert "ran longer than 0.3 seconds" in response.json()["detail"]


@pytest.mark.parametrize("phase", ["reading", "masking", "looking"])
@pytest.mark.parametrize("by_client", [False, True])
def test_no_phase_of_a_job_escapes_its_end(database, monkeypatch, phase, by_client):
    """Neither if it is cancelled, nor if the server stops."""
    slow_down(monkeypatch, phase)
    with running_server(database) as (url, queue):
        place = httpx.post(f"{url}/jobs", json=MANY).headers["location"]
        wait_until(lambda: queue.running == 1)
        if by_client:
            assert httpx.delete(f"{url}{place}").status_code == 200
            wait_until(lambda: queue.running == 0)
    assert queue.ended == {"cancelled": 1}


def test_results_that_are_being_read_count_until_they_are_read(database):
    """A client that takes nothing cannot fill the disk, and others are not held up."""
    tokens = ["a" * 16, "b" * 16]
    with running_server(database, limits=Limits(kept_bytes=10), tokens=tokens) as (url, queue):

        def submit(token):
            headers = {"Authorization": f"Bearer {token}"}
            sent = httpx.post(f"{url}/jobs", json=ask(), headers=headers)
            return queue._jobs[sent.json()["id"]]

        held = submit(tokens[0])
        queue.begin_reading(held)
        wait_until(lambda: held.has_ended)
        assert held.size > 10
        headers = {"Authorization": f"Bearer {tokens[0]}"}
        assert httpx.delete(f"{url}/jobs/{held.id}", headers=headers).status_code == 200
        waits = submit(tokens[0])
        other = submit(tokens[1])
        wait_until(lambda: other.has_ended)
        assert other.state == "finished"
        assert (waits.state, queue.queued) == ("queued", 1)
        held._loop.call_soon_threadsafe(queue.end_reading, held)
        wait_until(lambda: waits.has_ended)
        assert waits.state == "finished"


@pytest.mark.parametrize("format_name", ["tabular", "xlsx"])
def test_a_client_that_waits_when_the_server_stops_is_told_so(slow_database, caplog, format_name):
    slow = {"database": "s.db", "queries": LONG, "format": format_name}
    found = []
    with running_server(slow_database, grace_seconds=0) as (url, queue):
        thread = threading.Thread(
            target=lambda: found.append(httpx.post(f"{url}/search", json=slow, timeout=SECONDS))
        )
        thread.start()
        wait_until(lambda: queue.readers == 1)
    thread.join()
    assert found[0].status_code == 503
    assert found[0].headers["retry-after"]
    assert found[0].json()["detail"].startswith("the server stops")
    assert not [record for record in caplog.records if record.exc_info]


def test_finished_jobs_are_forgotten_oldest_first(database):
    with running_server(database, limits=Limits(kept_jobs=2)) as (url, queue):
        addresses = []
        for _ in range(5):
            sent = httpx.post(f"{url}/jobs", json=ask())
            addresses.append(sent.headers["location"])
            assert "finished" in httpx.get(f"{url}{addresses[-1]}/events").text
        known = [httpx.get(f"{url}{each}").status_code for each in addresses]
        assert known == [404, 404, 404, 200, 200]
        assert queue.kept == 2


def test_several_jobs_run_at_a_time_and_do_not_mix(database):
    limits = Limits(client_jobs=20, client_running=4)
    queries = {k: f">q{k}\n{'ACDEFGHIKLMNPQRSTVWY'[k:]}\n" for k in range(8)}
    found = {}
    with running_server(database, limits=limits, jobs=4) as (url, _):

        def search_for(k):
            sent = ask(queries=queries[k], format="6 qseqid sseqid score")
            found[k] = httpx.post(f"{url}/search", json=sent, timeout=60).text

        threads = [threading.Thread(target=search_for, args=(k,)) for k in queries]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        again = {k: found[k] for k in sorted(found)}
        found.clear()
        for k in queries:
            search_for(k)
    assert again == found
    assert all(text.startswith(f"q{k}\tt3\t") for k, text in found.items())


def test_a_report_cannot_act_as_a_part_of_the_site(site):
    sent = site.post("/search", json=ask(format="html", command="<script>alert(1)</script>"))
    assert sent.headers["content-security-policy"] == "sandbox allow-scripts allow-downloads"
    assert "<script>alert(1)" not in sent.text
    assert "&lt;script&gt;alert(1)" in sent.text
