"""Requests: what is allowed is what a search takes, and nothing else gets through."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from swdual.errors import InputError
from swdual.request.declarations import OPTIONS as DECLARED
from swdual.request.options import SearchOptions
from swdual.server.media_types import NotAcceptable
from swdual.server.requests import FIELDS, OPTIONS, read_request

QUERY = {"database": "t.db", "queries": ">q\nMKVLAW\n"}


def read(accept="", **values):
    return read_request(json.dumps({**QUERY, **values}).encode(), accept)


EXCLUDED = [name for name, declared in DECLARED.items() if declared.server]


def test_every_option_of_a_search_is_allowed_or_excluded_for_a_reason():
    names = {field.name for field in fields(SearchOptions)}
    assert {*OPTIONS} | {*EXCLUDED} == names
    assert not {*OPTIONS} & {*EXCLUDED}
    assert {"device", "journal", "taxonomy"} <= {*EXCLUDED}


@pytest.mark.parametrize("name", EXCLUDED)
def test_what_the_server_decides_cannot_be_asked(name):
    with pytest.raises(InputError, match=f"`{name}` cannot be asked of a server"):
        read(options={name: 1})


def test_every_default_is_a_valid_value():
    asked = {name: schema["default"] for name, schema in OPTIONS.items()}
    request = read(options=asked)
    assert SearchOptions(**request.options)


def test_the_format_decides_whether_hits_are_aligned():
    assert read().options["align"]
    assert not read(format="6 qseqid sseqid").options["align"]
    assert read(format="6 qseqid sseqid", options={"max_hsps": 2}).options["align"]


def test_bytes_that_are_no_text_arrive():
    assert read(queries=">é \udce9\nMK\n").queries == b">\xc3\xa9 \xe9\nMK\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "no JSON"),
        (b"[]", "must be a JSON object"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b'{"database": "t.db"}', "lacks `queries`"),
        (b'{"database": NaN}', "NaN is no number"),
        (b'{"database": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_a_body_that_is_no_request_is_refused(body, message):
    with pytest.raises(InputError, match=message):
        read_request(body)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"queries_name": ""}, "`queries_name` is empty"),
        ({"queries": ">a\n\ud800"}, "half a character"),
        ({"queries": "\x1f\udc8b\x08"}, "gz stream; send plain FASTA"),
        ({"queries": "BZh91AY"}, "bz2 stream; send plain FASTA"),
        ({"database": "x" * 5000}, "more than 4096 characters"),
        ({"databse": "x"}, "no field 'databse' in the request; did you mean `database`?"),
        ({"report_alignments": True}, "`report_alignments` is 'true', but it must be a whole"),
        ({"report_alignments": -1}, "at least 0"),
        ({"format": "5 qseqid"}, "format 5 has no fields to choose"),
        ({"format": "exe"}, "unknown format 'exe'"),
        ({"format": ""}, "unknown format"),
        ({"options": []}, "`options` is '\\[\\]', but it must be an object"),
        (
            {"options": {"evlue": 1}},
            "^there is no field 'evlue' in the options; did you mean `evalue`?",
        ),
        ({"options": {"evalue": "1"}}, "`evalue` is '1', but it must be a number or null"),
        ({"options": {"evalue": -1}}, "`evalue` is '-1', but it must be at least 0"),
        ({"options": {"max_target_seqs": 2**53}}, "at most 9007199254740991"),
        ({"options": {"max_target_seqs": 1.5}}, "whole number"),
        ({"options": {"top": 101}}, "at most 100"),
        ({"options": {"top": 10**400}}, "at most 100"),
        ({"options": {"evalue": 10**400}}, "at most 1.79769"),
        ({"options": {"min_score": 10**400}}, "at most 1.79769"),
        ({"options": {"dbsize": 10**400}}, "at most 9007199254740991"),
        ({"options": {"matrix": "/etc/passwd"}}, "`matrix` is '/etc/passwd', but it must be one"),
        ({"options": {"mask": "seg:1"}}, "mask"),
        ({"options": {"stats": "none", "evalue": 1}}, "need E-values"),
        ({"options": {"lcase_masking": 1}}, "true or false"),
    ],
)
def test_a_field_that_cannot_be_is_refused_with_its_name(values, message):
    with pytest.raises(InputError, match=message):
        read(**values)


@pytest.mark.parametrize("name", [each for each in OPTIONS if "number" in OPTIONS[each]["type"]])
def test_a_number_is_finite_and_fits_into_a_float(name):
    """JSON has no infinity, but 1e999 is read as one."""
    body = json.dumps({**QUERY, "options": {name: 123}}).replace("123", "1e999")
    with pytest.raises(InputError, match=f"`{name}` is 'Infinity', but it must be at most"):
        read_request(body.encode())
    most = OPTIONS[name]["maximum"]
    assert read(options={name: most}).options[name] == most


def test_the_header_accept_chooses_the_format():
    assert read("text/csv").format.name == "csv"
    assert read("text/html,application/xml;q=0.9,*/*;q=0.8").format.name == "html"
    assert read("*/*").format.name == "tabular"
    assert read("text/*, text/csv;q=2").format.name == "csv"
    assert read("*/*", format="7").format.name == "commented"


@pytest.mark.parametrize(
    ("accept", "values"),
    [("image/png", {}), ("text/csv", {"format": "xml"}), ("text/csv;q=0", {}), ("x;q=y", {})],
)
def test_a_client_that_accepts_no_format_is_refused(accept, values):
    with pytest.raises(NotAcceptable, match="Accept allows none of"):
        read(accept, **values)


def test_every_field_is_described():
    assert all("description" in schema for schema in FIELDS.values())
