"""Compiles the shipped kernels with NVRTC, which needs neither a GPU nor a driver.

The compiler is the one that is installed. The environment variable ``SWDUAL_NVRTC`` names folders
with others, as ``pip install --target FOLDER 'nvidia-cuda-nvrtc-cu12==12.8.*'`` fills them,
separated as in ``PATH``.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from swdual.backends.cuda.kernels import Tile, sources

pathfinder = pytest.importorskip(
    "cuda.pathfinder", reason="the packages cuda-bindings and nvidia-cuda-nvrtc are missing"
)

PACKAGES = {
    "12.8": "nvidia-cuda-nvrtc-cu12==12.8.*",
    "12.9": "nvidia-cuda-nvrtc-cu12==12.9.*",
    "13.0": "nvidia-cuda-nvrtc==13.0.*",
}
"""Older compilers that the kernels are for."""

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


def representative(tiles: Sequence[Tile]) -> tuple[Tile, ...]:
    """Return tiles of all columns with one number of lanes, and of the ends with the others."""
    lanes = sorted({tile.lanes for tile in tiles})
    ends = [choice(tile.columns for tile in tiles) for choice in (min, max)]
    middle = lanes[len(lanes) // 2]
    return tuple(tile for tile in tiles if tile.lanes == middle or tile.columns in ends)


@functools.cache
def load(path: str | None = None) -> ctypes.CDLL:
    """Return a compiler: that of a library, or the installed one."""
    return ctypes.CDLL(path or pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)


@functools.cache
def find_compiler(version: str) -> ctypes.CDLL:
    """Return an older compiler; skip the test, and say why, where it is missing."""
    for folder in filter(None, os.environ.get("SWDUAL_NVRTC", "").split(os.pathsep)):
        for library in Path(folder).glob("nvidia/*/lib/libnvrtc.so.*"):
            found = load(str(library))
            major, minor = ctypes.c_int(), ctypes.c_int()
            _do(found, "nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
            if f"{major.value}.{minor.value}" == version:
                # It asks for this one by its name alone, and finds it if it is there.
                load(str(library.with_name(f"libnvrtc-builtins.so.{version}")))
                return found
    pytest.skip(f"no folder of SWDUAL_NVRTC has NVRTC {version}: {PACKAGES[version]}")


@functools.cache
def build(
    file: str,
    expressions: tuple[str, ...],
    capability: int,
    edit: tuple[str, str] | None = None,
    compiler: ctypes.CDLL | None = None,
) -> Build:
    """Return the instances of a source for a compute capability.

    `edit` replaces one text by another in all sources, to show what a test notices. The compiler is
    the installed one, or another.
    """
    compiler = compiler or load()
    texts = {path.name: path.read_text() for path in sources().glob("*.cu*")}
    if edit is not None:
        assert any(edit[0] in text for text in texts.values())
        texts = {name: text.replace(*edit) for name, text in texts.items()}
    headers = [name for name in texts if name.endswith(".cuh")]
    program = ctypes.c_void_p()
    _do(
        compiler,
        "nvrtcCreateProgram",
        ctypes.byref(program),
        texts[file].encode(),
        file.encode(),
        len(headers),
        _strings([texts[name] for name in headers]),
        _strings(headers),
    )
    try:
        for expression in expressions:
            _do(compiler, "nvrtcAddNameExpression", program, expression.encode())
        options = [f"--gpu-architecture=sm_{capability}", "--std=c++17", "--ptxas-options=-v"]
        result = compiler.nvrtcCompileProgram(program, len(options), _strings(options))
        log = _read(compiler, "nvrtcGetProgramLog", program).decode()
        assert result == 0, log
        names = {}
        for expression in expressions:
            name = ctypes.c_char_p()
            _do(
                compiler,
                "nvrtcGetLoweredName",
                program,
                expression.encode(),
                ctypes.byref(name),
            )
            names[expression] = name.value.decode()
        cubin = _read(compiler, "nvrtcGetCUBIN", program)
    finally:
        compiler.nvrtcDestroyProgram(ctypes.byref(program))
    resources = {
        entry["name"]: Resources(
            int(entry["registers"]),
            sum(int(entry[part]) for part in ("stack", "stores", "loads")),
        )
        for entry in ENTRY.finditer(log)
    }
    return Build(cubin, log.strip("\0"), names, resources)


def _do(compiler, function, *arguments) -> None:
    """Call a function of the compiler, which returns an error code."""
    assert getattr(compiler, function)(*arguments) == 0, function


def _strings(texts):
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _read(compiler, function, program) -> bytes:
    """Return what a function of the compiler fills a buffer with, whose size another tells."""
    size = ctypes.c_size_t()
    _do(compiler, f"{function}Size", program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    _do(compiler, function, program, text)
    return text.raw
