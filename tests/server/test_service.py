"""The server as a process: killed, restarted, stopped, and asked by many clients at once."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress

import httpx
import pytest
from support.servers import SECONDS, wait_until

from swdual.database.makedb import makedb
from swdual.errors import InputError
from swdual.server.service import ServerOptions, listen

pytestmark = pytest.mark.process

LETTERS = "ACDEFGHIKLMNPQRSTVWY"


def random_proteins(count, length, seed):
    drawn = random.Random(seed)
    return "".join(f">p{k}\n{''.join(drawn.choices(LETTERS, k=length))}\n" for k in range(count))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    (folder / "t.fa").write_text(random_proteins(300, 400, 1))
    makedb([folder / "t.fa"], folder / "t.db").close()
    (folder / "s.fa").write_text(random_proteins(20_000, 1_000, 2))
    makedb([folder / "s.fa"], folder / "s.db").close()
    return folder


def test_answers_are_sent_at_once():
    """Otherwise the body waits until the client acknowledges the header lines, up to 40 ms."""
    with listen("127.0.0.1", 0, 1) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


class Server:
    """A server in a process of its own."""

    def __init__(self, folder, port=0):
        limits = ("--max-client-jobs", "200", "--max-queued", "200", "--grace", "20")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "swdual", "serve", folder / "t.db", folder / "s.db"),
                *("--port", str(port), *limits),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        self.lines = []
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"(http://\S+:(\d+))/", line)
            if found:
                self.url, self.port = found[1], int(found[2])
                break
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self._reader.start()

    def end(self, number):
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        self._reader.join()
        self.process.stderr.close()
        return code

    @property
    def errors(self):
        """What was logged, as one text."""
        return "".join(self.lines)


@contextmanager
def serving(folder, port=0):
    server = Server(folder, port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGKILL)


def ask(query):
    return {"database": "t.db", "queries": query, "format": "6 std stitle"}


QUERIES = [random_proteins(2, 200, seed) for seed in range(3, 9)]


@pytest.fixture(scope="module")
def expected(folder):
    """What each query finds, by a search without a server."""
    found = {}
    for number, query in enumerate(QUERIES):
        (folder / "q.fa").write_text(query)
        command = [sys.executable, "-m", "swdual", "search", "q.fa", "t.db", "-f", "6 std stitle"]
        found[number] = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
        assert found[number]
    return found


def behave(url, seed, expected, outcomes):
    """Be one of many clients: search, look at jobs, go away in the middle."""
    drawn = random.Random(seed)
    with httpx.Client(base_url=url, timeout=SECONDS) as http:
        for _ in range(6):
            number = drawn.randrange(len(QUERIES))
            request = ask(QUERIES[number])
            what = drawn.choice(["search", "job", "leave", "delete"])
            try:
                if what == "search":
                    sent = http.post("/search", json=request)
                    good = sent.status_code == 200 and sent.content == expected[number]
                elif what == "job":
                    place = http.post("/jobs", json=request).headers["location"]
                    http.get(f"{place}/events")
                    good = http.get(f"{place}/result").content == expected[number]
                elif what == "leave":
                    with suppress(httpx.TimeoutException):
                        http.post("/search", json=request, timeout=drawn.random() / 10)
                    good = True
                else:
                    place = http.post("/jobs", json=request).headers["location"]
                    good = http.delete(place).status_code == 200
            except httpx.TransportError:
                outcomes.append("lost")
                return
            outcomes.append("good" if good else f"wrong {what}")


def crowd(url, expected):
    """Run 50 clients; return the threads, and the list of what becomes of their requests."""
    outcomes = []
    threads = [
        threading.Thread(target=behave, args=(url, seed, expected, outcomes)) for seed in range(50)
    ]
    for thread in threads:
        thread.start()
    return threads, outcomes


@pytest.mark.nightly("swdual")
def test_fifty_clients_that_come_and_go_get_the_right_bytes(folder, expected):
    with serving(folder) as server:
        threads, outcomes = crowd(server.url, expected)
        for thread in threads:
            thread.join()
        assert set(outcomes) == {"good"}
        assert len(outcomes) == 300
        wait_until(lambda: httpx.get(f"{server.url}/healthz").json()["running"] == 0)
        assert httpx.get(f"{server.url}/healthz").json()["queued"] == 0
        assert server.end(signal.SIGTERM) == 0
        assert "Traceback" not in server.errors


def test_a_killed_server_gives_no_wrong_byte_and_leaves_no_result(folder, expected):
    with serving(folder) as server:
        threads, outcomes = crowd(server.url, expected)
        wait_until(lambda: len(outcomes) > 30)
        server.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert set(outcomes) == {"good", "lost"}
        left = [path for path in folder.glob("swdual-serve-*/*") if path.stat().st_size > 1000]
        assert not left
    with serving(folder, server.port) as again:
        sent = httpx.post(f"{again.url}/search", json=ask(QUERIES[0]), timeout=SECONDS)
        assert sent.content == expected[0]


def long_search(server, folder, out, queries=60):
    """Start the command in a search that takes long."""
    (folder / "long.fa").write_text(random_proteins(queries, 1_500, 9))
    command = [sys.executable, "-m", "swdual", "search", "long.fa", "s.db", "--server", server.url]
    return subprocess.Popen(
        [*command, "-o", out, "--force"], cwd=folder, stderr=subprocess.PIPE, text=True
    )


def is_running(server):
    return httpx.get(f"{server.url}/healthz").json()["running"] == 1


def test_the_command_ends_with_an_error_if_the_server_is_killed(folder):
    with serving(folder) as server:
        client = long_search(server, folder, "lost.tsv")
        wait_until(lambda: is_running(server))
        server.end(signal.SIGKILL)
        _, errors = client.communicate(timeout=SECONDS)
    assert client.returncode == 5
    assert "went away" in errors or "cannot be reached" in errors
    assert not [*folder.glob("*lost.tsv*")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_command_that_is_ended_cancels_its_job(folder, number, code):
    with serving(folder) as server:
        client = long_search(server, folder, "ended.tsv")
        wait_until(lambda: is_running(server))
        client.send_signal(number)
        client.communicate(timeout=SECONDS)
        assert client.returncode == code
        wait_until(lambda: not is_running(server))
        metrics = httpx.get(f"{server.url}/metrics").text
        assert 'swdual_jobs_ended_total{state="cancelled"} 1' in metrics


def test_sigterm_lets_a_result_finish_that_is_read_and_cancels_the_others(folder, expected):
    slow = {"database": "s.db", "queries": random_proteins(4, 1_500, 9)}
    before = {*folder.glob("swdual-serve-*")}  # of servers that were killed
    with serving(folder) as server:
        client = long_search(server, folder, "finished.tsv", queries=4)
        metrics = f"{server.url}/metrics"
        wait_until(lambda: "swdual_results_sending 1\n" in httpx.get(metrics).text)
        place = httpx.post(f"{server.url}/jobs", json=slow).headers["location"]
        with httpx.stream("GET", f"{server.url}{place}/events") as events:
            lines = events.iter_lines()
            assert next(lines) == "event: queued"
            assert server.end(signal.SIGTERM) == 0
            last = [line for line in lines if line.startswith("data: ")][-1]
        problem = json.loads(last.removeprefix("data: "))["problem"]
        assert (problem["status"], problem["detail"]) == (410, "the server stops")
        _, errors = client.communicate(timeout=SECONDS)
    assert client.returncode == 0, errors
    assert "SIGTERM: 1 job whose result is being read may finish; 1 other is cancelled" in (
        server.errors
    )
    assert server.errors.endswith("swdual: stopped\n")
    assert (folder / "finished.tsv").stat().st_size
    assert {*folder.glob("swdual-serve-*")} == before


def test_a_second_signal_answers_those_who_wait_and_ends_all(folder):
    slow = {"database": "s.db", "queries": random_proteins(60, 1_500, 9), "format": "xlsx"}
    found = []
    with serving(folder) as server:

        def search():
            found.append(httpx.post(f"{server.url}/search", json=slow, timeout=SECONDS).status_code)

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        metrics = f"{server.url}/metrics"
        wait_until(lambda: "swdual_results_sending 3\n" in httpx.get(metrics).text)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "may finish" in server.errors)
        assert server.end(signal.SIGTERM) == 0
        for thread in threads:
            thread.join()
        assert set(found) <= {410, 503}
        assert len(found) == 3
        assert "Traceback" not in server.errors
        assert server.errors.endswith("swdual: stopped\n")


@pytest.mark.nightly("swdual")
def test_the_memory_does_not_grow_with_the_requests(folder):
    def resident():
        text = httpx.get(f"{server.url}/metrics").text
        return int(re.search(r"^process_resident_memory_bytes (\d+)", text, re.M)[1])

    with serving(folder) as server, httpx.Client(base_url=server.url) as http:

        def send(count):
            for _ in range(count):
                assert http.post("/search", json=ask(QUERIES[0]), timeout=SECONDS).is_success

        send(150)
        before = resident()
        send(300)
        assert resident() < 1.05 * before


def test_an_address_beyond_this_machine_needs_a_token():
    for exposed in ({"host": "0.0.0.0"}, {"host": "::"}, {"allowed_hosts": ["example.org"]}):
        with pytest.raises(InputError, match="lets other machines in, which needs a token"):
            ServerOptions(**exposed)
        assert ServerOptions(**exposed, tokens=["0123456789abcdef"])
    assert ServerOptions(host="::1")
    assert ServerOptions(host="127.0.0.2")


def test_schemathesis_finds_no_failure(folder):
    """It sends what the OpenAPI document allows and forbids, and reads what comes back by it."""
    pytest.importorskip("schemathesis", reason="Schemathesis is not installed")
    with serving(folder) as server:
        checks = ("not_a_server_error", "status_code_conformance", "content_type_conformance")
        checks += ("response_schema_conformance", "unsupported_method")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
                *("--max-examples=10", "--seed=1", "--generation-deterministic", "--no-color"),
                f"--checks={','.join(checks)}",
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        metrics = httpx.get(f"{server.url}/metrics").text
        assert not re.search(r'swdual_responses_total{status="5', metrics)
        assert "Traceback" not in server.errors
