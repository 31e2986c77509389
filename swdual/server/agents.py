"""Tools for agents, by the Model Context Protocol: each call of a tool is a job of a server."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing
from functools import partial, wraps
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Annotated, Any, Generic, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field, WithJsonSchema

from swdual import api
from swdual.auditing.table import read_hits
from swdual.database.database import Database
from swdual.errors import SwdualError
from swdual.format import Table
from swdual.formats._objects import format_objects
from swdual.hits.fields import columns
from swdual.hits.query_result import QueryResult
from swdual.master.pair import PairKeywords, align_sequences, read_pairs
from swdual.prediction.preview import Preview
from swdual.request.options import SearchOptions
from swdual.runtime.keywords import refuse_unknown
from swdual.sequences.location import Location
from swdual.sequences.objects import plain_source
from swdual.server import requests
from swdual.server.jobs import JobQueue, SearchJob
from swdual.server.problems import Refused
from swdual.server.service import ServerOptions
from swdual.version import __version__

HIT = ("sseqid", "stitle", "score", "bitscore", "evalue", "pident", "qcovs", "length")
HIT_FIELDS = (*HIT, "qstart", "qend", "sstart", "send")
"""What tells of a hit, as in the output formats."""

_OPTIONS: Any = Field(default_factory=dict)

ARGUMENTS: dict[str, Any] = {
    "database": Annotated[str, Field(description="A name that `list_databases` gives.")],
    "queries": Annotated[str, Field(description="Sequences as FASTA text.")],
    "pairs": Annotated[str, Field(description="A pair a line: name, letters, name, letters.")],
    "table": Annotated[str, Field(description="Hits as text: a table of BLAST's format 6.")],
    "options": Annotated[dict[str, Any], _OPTIONS, WithJsonSchema(requests.FIELDS["options"])],
}
"""The arguments that become the request of a job."""

SHORT = {"type": "object", "description": "Options, of those of `search`."}
"""What stands for the schema of the options in other tools than `search`."""

Count = Annotated[int, Field(ge=0, le=100_000)]
Part = Annotated[str, Field(description="First and last letter, from 1: 10-50")]
Form = Annotated[str, Field(description="Format and fields of the table: 6 qseqid sseqid evalue")]
Result = TypeVar("Result")
Results = Generator[dict[str, Any]]


class Answer(BaseModel, Generic[Result]):
    """What a tool answers; the messages are warnings and remarks."""

    results: list[Result]
    messages: list[str]


class ShownHits(BaseModel):
    """The best hits of a query, and how many others pass the limits."""

    query: str
    more: int
    hits: Annotated[list[dict[str, Any]], Field(description=f"Each has {', '.join(HIT_FIELDS)}")]


class ToolJob(SearchJob):
    """A call of a tool, which yields results; the others are the parameters of `SearchJob`."""

    def __init__(self, tool: Callable[[ToolJob], Results], texts: Any, *others: Any) -> None:
        super().__init__(*others)
        self.texts = texts
        self.results: list[Any] = []
        self._tool = tool

    def _work(
        self, request: Any, queries: Path, database: Database, options: Any, scorers: Any
    ) -> None:
        self.path, self.targets = queries, database
        self.options = {**request.options, **options, "progress": self._report}
        written = 0
        with closing(self._tool(self)) as results:
            for result in results:
                written += len(json.dumps(result))
                self.check_size(written)
                self.results.append(result)


def search(job: ToolJob, max_hits: Count = 10, alignments: bool = False) -> Results:
    """Find the sequences of a database that are most similar to each query, by exact
    Smith-Waterman scores: use it for homologs, also distant ones. Nucleotides are translated to be
    compared with proteins. The best `max_hits` of each query come first, `more` counts the others
    (up to the option `max_target_seqs`, 500). An E-value (at most the option `evalue`, 10) is the
    number of hits this good by chance: below 0.001 a hit is very likely related. Positions count
    from 1. `alignments` adds the aligned letters. Peptides of up to 50 residues are looked up as a
    whole with the options `task="peptide"` and `max_mismatches`."""
    run = api.prepare_search(job.path, job.targets, SearchOptions(**job.options))
    with closing(run.results()) as results:
        for result in results:
            yield _show(result, max_hits, alignments)


def _show(result: QueryResult, most: int, alignments: bool) -> dict[str, Any]:
    """Return the best hits of a query, as `ShownHits`."""
    shown = result.top(most)
    rows = shown.per_alignment()
    table = Table(HIT_FIELDS, iter([columns(rows, HIT_FIELDS)]))
    hits = [json.loads(row) for row in format_objects(table)]
    for row, hit in zip(hits, rows if alignments else (), strict=alignments):
        row["alignment"] = str(hit.alignment)
    return {"query": result.query.id, "more": len(result) - len(shown), "hits": hits}


def extract(job: ToolJob, identifiers: list[str], part: Part = "1-") -> Results:
    """Get records of a database as FASTA, or the same part of each, by their identifiers: `sseqid`
    of a hit, or the accession in it. `length` is that of the whole record."""
    chosen, unknown = job.targets.select(identifiers)
    for record in job.targets.records(chosen):
        fasta = Location.of(part).cut(record).to_fasta()
        yield {"id": record.id, "length": len(record), "fasta": fasta}
    for error in unknown.values():
        if not chosen:
            raise error
        job.add_message("warning", str(error))


def align(job: ToolJob) -> Results:
    """Align pairs of sequences that you give by exact local (Smith-Waterman) alignment. A line of
    `pairs` is a query and a target between tabs, or name and letters of each. Of the options it
    takes those of the scoring, such as `matrix`, `gap_open` and `dbtype`, and `stats` ("table" for
    E-values). Returns score, positions and aligned letters of each pair."""
    allowed = {*PairKeywords.__annotations__, "dbtype", "stats"}
    refuse_unknown("align", job.texts.get("options", ()), allowed)
    options = SearchOptions(**job.options)
    for result in align_sequences(read_pairs(job.path, None, options), options):
        yield _show(result, 1, alignments=True)


def audit(job: ToolJob, before: Form = "", max_missed: Count = 10) -> Results:
    """Check what a table of hits of BLAST, DIAMOND, MMseqs2 or another program (of these queries in
    this database) lacks of the hits of an exact search. The options `evalue` and `max_target_seqs`
    are those of the program. Returns hits found, missed and unlisted (behind the end of a list that
    was cut) by E-value, differences of scores, and the best `max_missed` missed hits."""
    # The header of a table may tell options, too, such as a matrix file.
    told = {
        "database": "",
        "queries": "",
        "options": read_hits(job.path, before or None).run.scoring,
    }
    requests.read_request(json.dumps(told).encode())
    given = job.options.items()
    options = {name: value for name, value in given if value is not None and name != "align"}
    stream = type("queries", (io.StringIO,), {})  # messages call the queries so
    queries = plain_source(stream(job.texts["queries"]))
    found = api.audit(job.path, queries, job.targets, before=before or None, **options)
    facts, pairs = found.to_dict(), found.columns()
    rows = [dict(zip(pairs, row, strict=True)) for row in zip(*pairs.values(), strict=True)]
    missed = sorted((x for x in rows if x["verdict"] == "missed"), key=lambda x: x["evalue"])
    for row in (*facts["evalues"], *facts["measures"], *missed):
        del row["table"]  # it is a temporary file
    kept = {name: facts[name] for name in ("evalues", "measures")}
    yield {**kept, "missed": missed[:max_missed], "remarks": facts["tables"][0]["remarks"]}


def plan(job: ToolJob) -> Results:
    """Predict how many seconds a search takes on this machine, its cells (residues of queries times
    those of the database) and bytes of memory. Use it before a large search."""
    gpus = 0 if job.options["device"] == "cpu" else None
    seen = Preview(job.path, job.targets, gpus=gpus, options=SearchOptions(**job.options))
    seconds = seen.plan("dual").makespan + seen.adjusting_seconds
    yield {"seconds": seconds, "cells": seen.cells, "memory": seen.memory.total}


def msa(
    job: ToolJob, iterations: Count = 3, inclusion: float = 0.001, depth: Count = 100
) -> Results:
    """Make a multiple alignment of each protein with its relatives in a database, by searches in
    `iterations` rounds (0: until nothing is new) with hits of E-values below `inclusion`: use it
    for families, conservation, structure prediction. Returns a3m (insertions in lower case): the
    query and the best rows, at most `depth` (0: all)."""
    rules: Any = {"iterations": iterations, "inclusion": inclusion, "depth": depth}
    for each in api.msa(job.path, job.targets, **rules, **job.options):
        rows = zip(each.titles, each.rows, strict=True)
        text = "".join(f">{title}\n{row.decode()}\n" for title, row in rows)
        yield {"query": each.id, "rows": len(each), "a3m": text}


TOOLS: Mapping[Callable[..., Results], tuple[Any, str]] = {
    search: (Answer[ShownHits], "database queries options"),
    extract: (Answer[dict[str, Any]], "database"),
    align: (Answer[ShownHits], "pairs options"),
    audit: (Answer[dict[str, Any]], "table database queries options"),
    plan: (Answer[dict[str, float]], "database queries options"),
    msa: (Answer[dict[str, Any]], "database queries options"),
}
"""What each tool yields, and which of `ARGUMENTS` it has; the first text is that of the job."""


async def list_databases(job: Context[JobQueue, Any]) -> Answer[dict[str, Any]]:
    """List the databases that the other tools can use, with type (prot or nucl), numbers of
    sequences and residues, and masks. Call it first."""
    databases = job.request_context.lifespan_context.list_databases()
    return Answer(results=databases, messages=[])


async def _run(
    function: Callable[..., Results], job: Context[JobQueue, Any], **given: Any
) -> dict[str, Any]:
    """Return the answer of a tool; `ToolError` says why there is none."""
    queue = job.request_context.lifespan_context
    name = next((x for x in ("table", "pairs") if x in given), "queries")
    request = {"database": given.get("database", next(iter(queue.databases)))}
    request |= {
        "queries": given.get(name, ""),
        "queries_name": name,
        "options": given.get("options", {}),
    }
    own = {x: value for x, value in given.items() if x not in ARGUMENTS}
    try:
        if len(json.dumps(given)) > queue.limits.query_bytes:
            raise Refused(413, f"more than {queue.limits.query_bytes:,} bytes; send less at a time")
        read = requests.read_request(json.dumps(request).encode())
        run: Any = queue.submit(read, "", partial(ToolJob, partial(function, **own), given))
    except (SwdualError, Refused) as error:
        raise ToolError(str(error)) from error
    told = 0
    try:
        while not run.has_ended:
            change = run.change
            if run.cells_done > told:  # it must not fall, as it does in the next round of `msa`
                told = run.cells_done
                await job.report_progress(told, run.cells)
            await change.wait()
    finally:
        queue.forget(run)
    if run.problem is not None:
        raise ToolError(run.problem.detail)
    return {"results": run.results, "messages": [each["text"] for each in run.messages]}


def serve(databases: Mapping[str, Database], options: ServerOptions) -> None:
    """Serve the client at standard input and output until the input ends, or a signal comes.

    A thread reads, so that a signal ends the process although no input comes.
    """
    ended: Future[None] = Future()

    def run(server: MCPServer[JobQueue]) -> None:
        try:
            ended.set_result(server.run())
        except BaseException as error:
            ended.set_exception(error)

    with TemporaryDirectory(prefix="swdual-mcp-", ignore_cleanup_errors=True) as folder:
        server = make_server(databases, options, Path(folder))
        Thread(target=run, args=(server,), name="swdual mcp", daemon=True).start()
        ended.result()


def make_server(
    databases: Mapping[str, Database], options: ServerOptions, folder: Path
) -> MCPServer[JobQueue]:
    """Return a server of the tools; see `JobQueue` for the parameters."""

    @asynccontextmanager
    async def keep_queue(server: MCPServer[JobQueue]) -> AsyncIterator[JobQueue]:
        chosen = options.search_options
        queue = JobQueue(databases, options.limits, options.jobs, chosen, folder)
        logging.getLogger("swdual").addFilter(queue.keep_message)
        try:
            yield queue
        finally:
            logging.getLogger("swdual").removeFilter(queue.keep_message)
            await queue.close()

    tools = [Tool.from_function(list_databases, context_kwarg="job")]
    for function, (answer, names) in TOOLS.items():
        call = wraps(function)(partial(_run, function))
        job, *own = signature(function, eval_str=True).parameters.values()
        shared = [Parameter(x, job.kind, annotation=ARGUMENTS[x]) for x in names.split()]
        vars(call)["__signature__"] = Signature([job, *shared, *own], return_annotation=answer)
        tools.append(Tool.from_function(call, context_kwarg="job"))
    for tool in tools:
        tool.description = cleandoc(tool.description)
        tool.annotations = ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        )
        tool.fn_metadata.arg_model.model_config["extra"] = "forbid"
        tool.fn_metadata.arg_model.model_rebuild(force=True)
        tool.parameters = tool.fn_metadata.arg_model.model_json_schema()
        if tool.name != "search" and "options" in tool.parameters["properties"]:
            tool.parameters["properties"]["options"] = SHORT
    return MCPServer(
        "swdual", version=__version__, tools=tools, lifespan=keep_queue, log_level="WARNING"
    )
