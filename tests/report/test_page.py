"""Pages of any report: policy, data in script elements, parts of the text."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import swdual
from swdual.io.output import Output
from swdual.report import page as module
from swdual.report.elements import definitions, details, static_table
from swdual.report.page import PageWriter, encode_json
from swdual.text.notebook import Head, Markup

EVIL = "</script><!--<b onclick=x>&amp;\u2028 é 漢"


def write(blocks, **parts):
    stream = io.BytesIO()
    page = PageWriter(Output(stream, "memory"), EVIL, **parts)
    for name, value in blocks.items():
        page.add(name, value)
    page.finish(Markup("<main>text</main>"))
    return stream.getvalue().decode()


def blocks_of(text):
    return re.findall(r'<script type="([a-z/]+)" id="data-([\w-]+)">(.*?)</script>', text)


def test_data_come_before_the_text_and_the_script_comes_last():
    text = write({"a": [1], "b": {"x": EVIL}}, scripts=["// mine"], styles=["p { color: red }"])
    places = [text.index(x) for x in ('id="data-a"', 'id="data-b"', "<main>", "// mine")]
    assert places == sorted(places)
    assert text.index("p { color: red }") < text.index("</style>") < places[0]
    assert [(kind, name) for kind, name, _ in blocks_of(text)] == [
        ("application/json", "a"),
        ("application/json", "b"),
    ]
    assert json.loads(blocks_of(text)[1][2]) == {"x": EVIL}


def test_the_title_is_text():
    title = re.search("<title>(.*?)</title>", write({}))[1]
    assert title == "&lt;/script&gt;&lt;!--&lt;b onclick=x&gt;&amp;amp;? é 漢"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([1, 2], np.int64), [1, 2]),
        (np.array([0.1, np.nan, np.inf, -np.inf]), [0.1, None, None, None]),
        ([float("nan"), (1, np.int8(2))], [None, [1, 2]]),
        ({"k": np.array([[True, False]])}, {"k": [[True, False]]}),
        (EVIL, EVIL),
        (1e-300, 1e-300),
        (0.1 + 0.2, 0.1 + 0.2),
    ],
)
def test_json_holds_every_digit_and_no_markup(value, expected):
    data = encode_json(value)
    assert b"<" not in data
    assert json.loads(data) == expected


def test_half_a_character_becomes_a_question_mark():
    assert json.loads(encode_json("a\ud800b")) == "a?b"


def test_data_are_compressed_once_they_are_many(monkeypatch):
    """All of them, in their order, whichever passed the limit; equal data give equal bytes."""
    monkeypatch.setattr(module, "MAX_PLAIN_BYTES", 100)
    values = {"a": "x" * 60, "b": "y" * 60, "c": "z"}
    text = write(values)
    found = blocks_of(text)
    assert [(kind, name) for kind, name, _ in found] == [
        ("application/gzip", name) for name in values
    ]
    for (_, name, content), value in zip(found, values.values(), strict=True):
        assert json.loads(gzip.decompress(base64.b64decode(content))) == value, name
    assert write(values) == text
    assert {kind for kind, _, _ in blocks_of(write({"a": "x" * 60}))} == {"application/json"}


def test_parts_of_the_text_escape_their_values():
    for markup in (
        definitions({EVIL: EVIL}),
        static_table(EVIL, [Head(EVIL), Head("n", "right")], [(EVIL, "1")]),
        details(EVIL, Markup("")),
    ):
        assert "<b" not in markup
        assert "</script>" not in markup
        assert "&lt;b onclick=x&gt;" in markup


@pytest.mark.parametrize("folder", ["report", "formats/_html", "scheduling/reports/_html"])
def test_scripts_make_no_markup_of_texts(folder):
    """Nor do they hold what would end their element."""
    files = [*(Path(swdual.__file__).parent / folder).glob("*.js")]
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert "</script" not in text
        assert "<!--" not in text
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(", text)
