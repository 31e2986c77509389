"""The fields of a request: one description validates them and is part of the OpenAPI document."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from swdual.errors import InputError
from swdual.format import REPORT_ALIGNMENTS, full_name, is_format
from swdual.hits.taxa import choose_top
from swdual.io.stream import find_compression
from swdual.request.declarations import OPTIONS as DECLARED
from swdual.request.options import SearchKeywords, SearchOptions
from swdual.results.file_types import OutputFormat, choose_format
from swdual.sequences import matrices
from swdual.sequences.scoring import TASKS
from swdual.server.media_types import negotiate
from swdual.text.messages import nearest, quote, sanitize

Schema = dict[str, Any]

CHOICES: dict[str, tuple[Any, ...]] = {"task": (*TASKS,), "matrix": (*matrices.names(),)}
"""Values of options that have few, besides those that are declared."""

MAX_NUMBER = 2**53 - 1
"""The largest whole number of a request: all readers of JSON keep it as it is."""

MAX_TEXT = 4096
"""The longest text of a request, in characters, besides queries and options."""

DEFAULT_NAME = "queries"

_TYPES = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
}


def _describe_option(name: str, hint: Any) -> Schema:
    """Return the JSON Schema of an option, by its type in `SearchKeywords`."""
    union = get_origin(hint) in (Union, types.UnionType)
    parts = get_args(hint) if union else (hint,)
    schema: Schema = {"type": [_TYPES[part] for part in parts if part in _TYPES]}
    declared = DECLARED[name]
    choices = CHOICES.get(name) or declared.choices or None
    for part in parts:
        if get_origin(part) is Literal:
            choices = get_args(part)
            schema["type"] = ["string"]
    if choices is not None:
        nullable = "null" in schema["type"]
        schema["enum"] = [*choices, *([None] if nullable else [])]
    if "integer" in schema["type"]:
        least = -MAX_NUMBER if declared.minimum is None else declared.minimum
        schema |= {"minimum": least, "maximum": MAX_NUMBER}
    elif "number" in schema["type"]:
        most = sys.float_info.max if declared.maximum is None else declared.maximum
        schema |= {"minimum": declared.minimum, "maximum": most}
    if "string" in schema["type"] and choices is None:
        schema["maxLength"] = declared.longest
    schema["default"] = getattr(SearchOptions, name)
    return schema


OPTIONS: dict[str, Schema] = {
    name: _describe_option(name, hint)
    for name, hint in get_type_hints(SearchKeywords).items()
    if not DECLARED[name].server
}
"""The JSON Schema of each option of a search that a request can have."""

_TEXT: Schema = {"type": ["string"], "maxLength": MAX_TEXT}

FIELDS: dict[str, Schema] = {
    "database": {**_TEXT, "description": "A name that GET /databases lists."},
    "queries": {
        "type": ["string"],
        "description": "Sequences in FASTA. Bytes that are no UTF-8 are \\udc80 to \\udcff.",
    },
    "format": {
        **_TEXT,
        "description": "Format and fields, as the option --outfmt: '6 std qcovs'. By default that "
        "of the header Accept, else tabular.",
    },
    "header": {
        "type": ["boolean", "null"],
        "description": "Whether to write the names of the fields first.",
    },
    "report_alignments": {
        "type": ["integer"],
        "minimum": 0,
        "maximum": MAX_NUMBER,
        "default": REPORT_ALIGNMENTS,
        "description": "Hits of a query whose alignments a report (html) holds.",
    },
    "queries_name": {
        **_TEXT,
        "minLength": 1,
        "default": DEFAULT_NAME,
        "description": "What messages call the queries.",
    },
    "command": {**_TEXT, "default": "", "description": "The command that a report shows."},
    "options": {
        "type": ["object"],
        "additionalProperties": False,
        "properties": OPTIONS,
        "description": "Options of the search, named and explained as those of `swdual.search`.",
    },
}
"""The JSON Schema of each field of a request."""

REQUIRED = ("database", "queries")


@dataclass(frozen=True)
class SearchRequest:
    """What a client asks for, checked as far as that goes without reading the queries.

    Parameters
    ----------
    database
        The name of the database.
    queries
        FASTA.
    queries_name
        What messages call the queries.
    format, outfmt
        How the result is written, and how the client named it.
    options
        Keyword arguments of `SearchOptions`.
    report_alignments, command
        As for `RunResults`.
    """

    database: str
    queries: bytes
    queries_name: str
    format: OutputFormat
    outfmt: str
    options: dict[str, Any]
    report_alignments: int
    command: str


def read_request(body: bytes, accept: str = "") -> SearchRequest:
    """Return the request that a body is.

    Parameters
    ----------
    body
        JSON with `FIELDS`.
    accept
        The header Accept.

    Raises
    ------
    InputError
        If it is no JSON, or a field is missing, unknown or out of range, or the options exclude
        each other.
    NotAcceptable
        If the client accepts no format, or not the one that it names.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the request is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError("the request must be a JSON object")
    _check_names("request", value, FIELDS)
    for name in REQUIRED:
        if name not in value:
            raise InputError(f"the request lacks `{name}`")
    for name, schema in FIELDS.items():
        if name in value:
            _check(name, value[name], schema)
    options: dict[str, Any] = value.get("options", {})
    _check_names("options", options, OPTIONS)
    for name, given in options.items():
        _check(name, given, OPTIONS[name])
    outfmt = value.get("format")
    words = [] if outfmt is None else outfmt.replace(",", " ").split()
    if outfmt is None or (words and is_format(words[0])):
        chosen = negotiate(accept, full_name(words[0]) if words else None)
        outfmt = outfmt or chosen
    output = choose_format("-", outfmt, value.get("header"))
    aligns = output.needs_alignment or options.get("max_hsps", 1) != 1
    top, most = options.get("top"), options.get("max_target_seqs")
    options = {**options, "top": choose_top(output.name, top, most), "align": aligns}
    SearchOptions(**options)
    return SearchRequest(
        value["database"],
        _encode(value["queries"]),
        sanitize(value.get("queries_name", DEFAULT_NAME)),
        output,
        outfmt,
        options,
        value.get("report_alignments", REPORT_ALIGNMENTS),
        sanitize(value.get("command", "")),
    )


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _check_names(place: str, given: dict[str, Any], known: dict[str, Schema]) -> None:
    for name in given:
        if name in DECLARED and DECLARED[name].server:
            raise InputError(f"`{name}` cannot be asked of a server: {DECLARED[name].server}")
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean `{near}`?" if near else ""
            raise InputError(f"there is no field {quote(name)} in the {place}{hint}")


def _check(name: str, value: Any, schema: Schema) -> None:
    """Check a value by the part of JSON Schema that `FIELDS` use."""
    kinds = schema["type"]
    fits = {
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "null": value is None,
        "object": isinstance(value, dict),
    }
    shown = quote(str(value)) if isinstance(value, str) else quote(json.dumps(value))
    if not any(fits[kind] for kind in kinds):
        words = " or ".join(_WORDS.get(kind, "an object") for kind in kinds)
        raise InputError(f"`{name}` is {shown}, but it must be {words}")
    if "enum" in schema and value not in schema["enum"]:
        there = ", ".join("null" if each is None else str(each) for each in schema["enum"])
        raise InputError(f"`{name}` is {shown}, but it must be one of {there}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        least, most = schema.get("minimum"), schema.get("maximum")
        if least is not None and value < least:
            raise InputError(f"`{name}` is {shown}, but it must be at least {least}")
        if most is not None and value > most:
            raise InputError(f"`{name}` is {shown}, but it must be at most {most}")
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            raise InputError(f"`{name}` is empty")
        if len(value) > schema.get("maxLength", len(value)):
            raise InputError(f"`{name}` has more than {schema['maxLength']} characters")


def _encode(queries: str) -> bytes:
    """Return the bytes of queries; of compressed ones nobody could tell the size.

    Raises
    ------
    InputError
        If they are compressed, or half a character.
    """
    try:
        data = queries.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise InputError("`queries` has half a character (a surrogate)") from error
    compression = find_compression(data)
    if compression is not None:
        raise InputError(f"`queries` is a {compression} stream; send plain FASTA")
    return data
