"""The OpenAPI document, made of what validates requests."""

from __future__ import annotations

from functools import cache
from typing import Any

from swdual.server import events, metrics, problems
from swdual.server.guard import OPEN
from swdual.server.jobs import STATES
from swdual.server.media_types import MEDIA_TYPES
from swdual.server.requests import FIELDS, REQUIRED
from swdual.version import __version__

Schema = dict[str, Any]

_COUNT: Schema = {"type": "integer", "minimum": 0}
_SECONDS: Schema = {"type": "number", "minimum": 0}
_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": [*properties], "properties": properties}


PROBLEM: Schema = {
    **_object(type=_TEXT, title=_TEXT, status={"type": "integer"}, detail=_TEXT),
    "description": "RFC 9457. Errors of searches also have exit_code, message, file and line.",
}

JOB = _object(
    id=_TEXT,
    state={"enum": [*STATES]},
    database=_TEXT,
    format=_TEXT,
    position={"type": ["integer", "null"], "description": "In the queue, from 1."},
    cells={**_COUNT, "description": "0 until they are known."},
    cells_done=_COUNT,
    hits=_COUNT,
    result_bytes=_COUNT,
    waited_seconds=_SECONDS,
    run_seconds=_SECONDS,
    messages={"type": "array", "items": _object(level=_TEXT, text=_TEXT)},
    summary=_TEXT,
    problem={"oneOf": [{"$ref": "#/components/schemas/Problem"}, {"type": "null"}]},
)
"""The state of a job."""

DATABASE = _object(
    name=_TEXT,
    type={"enum": ["prot", "nucl"]},
    sequences=_COUNT,
    residues=_COUNT,
    digest=_TEXT,
    masks={"type": "array", "items": _TEXT},
)

HEALTH = _object(status={"const": "ok"}, version=_TEXT, queued=_COUNT, running=_COUNT)

REASONS = {
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page of another site.",
    "404": "There is no such job of this client.",
    "406": "The header Accept does not allow the format.",
    "408": "The request took too long to arrive.",
    "410": "The job was cancelled.",
    "413": "The request, the search, its time or its result is larger than a limit.",
    "415": "The request is no application/json.",
    "421": "The header Host names another server.",
    "422": "The request, the queries or the options have an error.",
    "429": "The client has too many jobs or requests.",
    "500": "The server has a defect, or its database is damaged.",
    "503": "The server has too much to do, or stops.",
    "507": "The server cannot store the result.",
}
"""Why a request is refused, by the status."""

ALWAYS = ("401", "403", "421", "429", "500", "503")
SENT = ("406", "408", "413", "415", "422")
ENDED = ("404", "410", "413", "422", "507")


def _content(schema: Schema, media_type: str = "application/json") -> Schema:
    return {"content": {media_type: {"schema": schema}}}


def _refusals(*statuses: str) -> Schema:
    shown = _content({"$ref": "#/components/schemas/Problem"}, problems.MEDIA_TYPE)
    return {each: {"description": REASONS[each], **shown} for each in sorted({*statuses, *ALWAYS})}


def _operation(name: str, summary: str, answers: Schema, *refusals: str, **more: Any) -> Schema:
    responses = answers | _refusals(*refusals)
    return {"operationId": name, "summary": summary, "responses": responses, **more}


_JOB_ANSWER: Schema = {
    "description": "The state of the job.",
    **_content({"$ref": "#/components/schemas/Job"}),
}

_RESULT: Schema = {
    "200": {
        "description": "The result, in the format of the job. If it cannot be completed, the "
        "connection is closed.",
        "content": {kind: {"schema": {}} for kind in dict.fromkeys(MEDIA_TYPES.values())},
    }
}

_REQUEST: Schema = {
    "required": True,
    **_content({"$ref": "#/components/schemas/SearchRequest"}),
}

_ID: Schema = {"name": "id", "in": "path", "required": True, "schema": _TEXT}


def _paths() -> Schema:
    """Return the operations of each address."""
    ok = {"description": "As the summary says."}
    submitted = {
        **_JOB_ANSWER,
        "headers": {"Location": {"description": "Its address.", "schema": _TEXT}},
        "links": {
            name: {"operationId": name, "parameters": {"id": "$response.body#/id"}}
            for name in ("showJob", "sendResult", "tellProgress", "cancelJob")
        },
    }
    job = {"parameters": [_ID]}
    paths: Schema = {
        "/healthz": {
            "get": _operation("tellHealth", "Whether it works", {"200": {**ok, **_content(HEALTH)}})
        },
        "/metrics": {
            "get": _operation(
                "tellMetrics",
                "What it has done, for Prometheus",
                {"200": {**ok, **_content(_TEXT, metrics.MEDIA_TYPE.partition(";")[0])}},
            )
        },
        "/databases": {
            "get": _operation(
                "listDatabases",
                "The databases",
                {"200": {**ok, **_content({"type": "array", "items": DATABASE})}},
            )
        },
        "/search": {
            "post": _operation(
                "search",
                "Search, and send the result while it is found; going cancels the job",
                _RESULT,
                *SENT,
                *ENDED,
                requestBody=_REQUEST,
            )
        },
        "/jobs": {
            "post": _operation(
                "submitJob", "Submit a job", {"202": submitted}, *SENT, requestBody=_REQUEST
            )
        },
        "/jobs/{id}": {
            **job,
            "get": _operation("showJob", "The state of a job", {"200": _JOB_ANSWER}, "404"),
            "delete": _operation(
                "cancelJob", "Cancel a job, and forget its result", {"200": _JOB_ANSWER}, "404"
            ),
        },
        "/jobs/{id}/events": {
            **job,
            "get": _operation(
                "tellProgress",
                "The state of a job whenever it changes, as server-sent events",
                {"200": {**ok, **_content(_TEXT, events.MEDIA_TYPE)}},
                "404",
            ),
        },
        "/jobs/{id}/result": {
            **job,
            "get": _operation(
                "sendResult",
                "The result of a job while it is found; going cancels a job that runs",
                _RESULT,
                *ENDED,
            ),
        },
    }
    for path, operations in paths.items():
        if path in OPEN:
            for operation in operations.values():
                operation["security"] = []
    return paths


@cache
def describe_server() -> Schema:
    """Return the OpenAPI document."""
    fields = {
        name: {**schema, "type": schema["type"][0] if len(schema["type"]) == 1 else schema["type"]}
        for name, schema in FIELDS.items()
    }
    request = {"type": "object", "required": [*REQUIRED], "properties": fields}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "swdual serve",
            "version": __version__,
            "description": "Exact Smith-Waterman searches of the databases of this server.",
        },
        "paths": _paths(),
        "security": [{}, {"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "SearchRequest": {**request, "additionalProperties": False},
                "Job": JOB,
                "Problem": PROBLEM,
            },
        },
    }
