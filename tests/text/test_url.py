"""What is a URL, and that messages show none of its secrets."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from swdual.errors import DatabaseError, InputError
from swdual.text.url import find_path, is_url, redact_name, redact_text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("https://me:secret@host/q.fa", "https://host/q.fa"),
        ("https://secret@host/q.fa", "https://host/q.fa"),
        ("https://host:8080/q.fa", "https://host:8080/q.fa"),
        ("https://host:8080/@scope/q.fa", "https://host:8080/@scope/q.fa"),
        ("https://me:sec/ret@host/q.fa", "https://host/q.fa"),
        ("s3://key:sec/re+t@bucket/q.fa", "s3://bucket/q.fa"),
        ("https://host/q.fa?X-Amz-Signature=secret&a=b", "https://host/q.fa?***"),
        ("https://me:secret@host/q.fa?b=secret", "https://host/q.fa?***"),
        (
            "zip://q.fa::https://me:secret@host/a.zip?sig=sec::ret",
            "zip://q.fa::https://host/a.zip?***",
        ),
        (
            "zip://q.fa::simplecache::https://host/a.zip?secret",
            "zip://q.fa::simplecache::https://host/a.zip?***",
        ),
        ("--db=ftp://me:secret@host/x", "--db=ftp://host/x"),
        ("s3://bucket/with@sign", "s3://bucket/with@sign"),
        ("plain@file?.fa", "plain@file?.fa"),
    ],
)
def test_secrets_are_left_out_of_names(name, shown):
    assert redact_name(name) == shown
    assert "secret" not in redact_name(name)
    assert shown in redact_text(f"cannot open '{name}'")
    assert redact_text(f"see {name}, please") == f"see {shown}, please"


@pytest.mark.parametrize("kind", [InputError, DatabaseError])
def test_no_error_shows_secrets(kind):
    """Wherever the name came from."""
    url = "https://me:secret@host/q.fa?sig=secret"
    error = kind(f"cannot reach {url}", file=url)
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == "https://host/q.fa?***: cannot reach https://host/q.fa?***"
        assert "secret" not in repr(each)


def test_a_file_of_that_name_is_no_url(here):
    """Names with colons are legal."""
    assert is_url("s3://q.fa")
    assert find_path("s3://q.fa") is None
    Path("s3:").mkdir()
    Path("s3:/q.fa").write_text(">a\nMK\n")
    assert not is_url("s3://q.fa")
    assert find_path("s3://q.fa") == "s3://q.fa"


@pytest.mark.parametrize("name", ["C:/x.fa", "q.fa", "a::b.fa", "", "-", "://x", Path("s3://x")])
def test_other_names_are_paths(here, name):
    assert not is_url(name)
    assert find_path(name) == str(name)


def test_file_urls_are_paths(here):
    """With letters as they are, or as URLs escape them."""
    url = here.as_uri()
    assert find_path(f"{url}/q.fa") == str(here / "q.fa")
    local = url.replace("file://", "file://localhost")
    assert find_path(f"{local}/a%20b.fa") == str(here / "a b.fa")
    (here / "a%20b.fa").write_text("")
    assert find_path(f"{url}/a%20b.fa") == str(here / "a%20b.fa")
    assert find_path("file://elsewhere/q.fa") is None
