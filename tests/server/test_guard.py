"""The guard: who is let in, and by which name."""

from __future__ import annotations

from collections import Counter

import anyio
import httpx
import pytest
from starlette.responses import PlainTextResponse

from swdual.errors import InputError
from swdual.server.guard import OPEN, Guard
from swdual.server.tokens import Tokens, read_tokens

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


HOSTS = ["127.0.0.1", "::1", "localhost"]


async def tell_client(scope, receive, send):
    await PlainTextResponse(scope["state"]["client"])(scope, receive, send)


def ask(path="/jobs", tokens=(), host="127.0.0.1:80", **headers):
    """Return the response of a guarded application."""
    counts = Counter()
    guard = Guard(tell_client, HOSTS, Tokens(tokens), 9, 9, counts)

    async def run():
        transport = httpx.ASGITransport(guard, client=("192.0.2.7", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await http.get(path, headers={"Host": host, **named})

    response = anyio.run(run)
    assert counts == {response.status_code: 1}
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    return response


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:8080", "[::1]:80", "localhost"])
def test_the_names_of_the_server_are_let_in(host):
    assert ask(host=host).text == "192.0.2.7"


@pytest.mark.parametrize(
    "host", ["", "example.org", "127.0.0.1.example.org", "[::1", "localhost@example.org", "[::2]"]
)
def test_a_name_that_points_here_by_stealth_is_refused(host):
    response = ask(host=host)
    assert response.status_code == 421
    assert response.json()["status"] == 421


def test_a_page_of_another_site_is_refused():
    assert ask(Origin="http://127.0.0.1:80").status_code == 200
    assert ask(Origin="http://example.org").status_code == 403
    assert ask(Origin="null").status_code == 403


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://127.0.0.1:80]", "//[", ""])
def test_an_origin_that_is_no_address_is_refused(origin):
    assert ask(Origin=origin).status_code == 403


def test_clients_are_told_apart_by_their_tokens():
    tokens = [TOKEN, OTHER]
    assert ask(tokens=tokens, Authorization=f"Bearer {TOKEN}").text == "token 1"
    assert ask(tokens=tokens, Authorization=f"bearer {OTHER}").text == "token 2"


@pytest.mark.parametrize(
    "given", ["", TOKEN, f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN} {TOKEN}"]
)
def test_without_the_token_nothing_of_databases_and_jobs_is_told(given):
    response = ask(tokens=[TOKEN], Authorization=given)
    assert response.status_code == 401
    assert "Bearer" in response.headers["www-authenticate"]
    assert TOKEN not in response.text


@pytest.mark.parametrize(("most", "most_of_one", "status"), [(2, 9, 503), (9, 2, 429)])
def test_requests_at_a_time_are_limited_in_all_and_for_each_client(most, most_of_one, status):
    async def run():
        go = anyio.Event()

        async def wait(scope, receive, send):
            await go.wait()
            await tell_client(scope, receive, send)

        guard = Guard(wait, HOSTS, Tokens(()), most, most_of_one, Counter())
        found = []

        async def send_request():
            transport = httpx.ASGITransport(guard, client=("192.0.2.7", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                found.append((await http.get("/")).status_code)

        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(send_request)
            await anyio.wait_all_tasks_blocked()
            await send_request()
            go.set()
        go.set()
        await send_request()
        return found

    assert anyio.run(run) == [status, 200, 200, 200]


@pytest.mark.parametrize("path", OPEN)
def test_the_page_can_be_loaded_without_a_token(path):
    assert ask(path, tokens=[TOKEN]).status_code == 200


@pytest.mark.parametrize("token", ["short", "0123456789abcde\n", "0123456789abcdeé"])
def test_a_weak_token_is_refused(token):
    with pytest.raises(InputError, match="at least 16 printable ASCII characters"):
        Tokens([token])


def test_tokens_come_from_a_file_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SWDUAL_TOKEN", OTHER)
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\n\n  {OTHER}\n")
    assert read_tokens(str(file)) == [TOKEN, OTHER]
    assert read_tokens(None) == [OTHER]
    monkeypatch.delenv("SWDUAL_TOKEN")
    assert read_tokens(None) == []
    file.write_text("\n")
    with pytest.raises(InputError, match="has no token"):
        read_tokens(str(file))
    with pytest.raises(InputError, match="cannot be opened"):
        read_tokens(str(tmp_path / "none"))
