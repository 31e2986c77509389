"""Compiles the shipped kernels with NVRTC, which needs neither a GPU nor a driver."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import pytest

from swdual.backends.cuda.kernels import sources

nvrtc = pytest.importorskip(
    "cuda.bindings.nvrtc", reason="the packages cuda-bindings and nvidia-cuda-nvrtc are missing"
)

ENTRY = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)
"""What the assembler says of a kernel."""


@dataclass(frozen=True)
class Resources:
    """What an instance takes of the device: registers of a thread, bytes of local memory."""

    registers: int
    local_bytes: int


@dataclass(frozen=True)
class Build:
    """What has become of a source: machine code, and the name and resources of each instance."""

    cubin: bytes
    log: str
    names: dict[str, str]
    resources: dict[str, Resources]

    @property
    def warnings(self) -> list[str]:
        """Lines of the log in which a compiler complains."""
        return [line for line in self.log.splitlines() if re.search(r"warning ?[#:]|error", line)]


@functools.cache
def build(
    file: str, expressions: tuple[str, ...], capability: int, edit: tuple[str, str] | None = None
) -> Build:
    """Return the instances of a source for a compute capability.

    `edit` replaces one text by another in all sources, to show what a test notices.
    """
    texts = {path.name: path.read_text() for path in sources().glob("*.cu*")}
    if edit is not None:
        assert any(edit[0] in text for text in texts.values())
        texts = {name: text.replace(*edit) for name, text in texts.items()}
    headers = [name for name in texts if name.endswith(".cuh")]
    program = _done(
        nvrtc.nvrtcCreateProgram(
            texts[file].encode(),
            file.encode(),
            len(headers),
            [texts[name].encode() for name in headers],
            [name.encode() for name in headers],
        )
    )
    try:
        for expression in expressions:
            _done(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        options = [f"--gpu-architecture=sm_{capability}", "--std=c++17", "--ptxas-options=-v"]
        result = nvrtc.nvrtcCompileProgram(
            program, len(options), [option.encode() for option in options]
        )
        log = _text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).decode()
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, log
        names = {
            expression: _done(nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode()
            for expression in expressions
        }
        cubin = _text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    resources = {
        entry["name"]: Resources(
            int(entry["registers"]),
            sum(int(entry[part]) for part in ("stack", "stores", "loads")),
        )
        for entry in ENTRY.finditer(log)
    }
    return Build(cubin, log.strip("\0"), names, resources)


def _done(result):
    """Return what a call gave, without its error code."""
    assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result[0]
    return result[1] if len(result) > 1 else None


def _text(size, get, program) -> bytes:
    text = b" " * _done(size(program))
    _done(get(program, text))
    return text
