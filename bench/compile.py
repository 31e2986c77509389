"""How long does each kernel of a first search take to compile, and in which step?

    python bench/compile.py --keep

All kernels are compiled in this process, one after the other, into an empty cache. Numba takes most
of the time: it infers types and writes LLVM's code. LLVM optimizes it and makes machine code.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))
from _report import save, table

from swdual.master import warm_up
from swdual.master.compilation import COMMON, COMPOSITION
from swdual.runtime import codegen
from swdual.runtime.native_code import ArgumentType, NativeCode

TYPES, OPTIMIZING, MACHINE_CODE = "types and LLVM's code", "optimizing", "machine code"


class Steps:
    """Seconds of the thread in the steps of a compilation, without those of steps inside."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside = [0.0]

    def watch(self, step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts its seconds."""

        def watched(*arguments: Any) -> Any:
            self._inside.append(0.0)
            started = time.thread_time()
            result = function(*arguments)
            took = time.thread_time() - started
            self.seconds[step] += took - self._inside.pop()
            self._inside[-1] += took
            return result

        return watched


@click.command()
@click.option("--keep", is_flag=True, help="Write bench/results.")
def main(keep: bool) -> None:
    rows: list[tuple[Any, ...]] = []
    compile_native, optimize = codegen.compile_native, codegen._optimize
    alone = threading.Lock()  # some jobs have threads

    def compile_one(name: str, dispatcher: Any, arguments: tuple[ArgumentType, ...]) -> NativeCode:
        steps = Steps()

        def optimize_watched(module: Any, machine: Any) -> None:
            machine.emit_object = steps.watch(MACHINE_CODE, machine.emit_object)
            steps.watch(OPTIMIZING, optimize)(module, machine)

        with alone:
            codegen._optimize = optimize_watched
            code: NativeCode = steps.watch(TYPES, compile_native)(name, dispatcher, arguments)
        parts = [steps.seconds[step] for step in (TYPES, OPTIMIZING, MACHINE_CODE)]
        rows.append((name, sum(parts), *parts, len(code.object_code)))
        return code

    codegen.compile_native = compile_one
    codegen.load_numba()
    gc.disable()  # as the processes that compile
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SWDUAL_CACHE_DIR"] = folder
        for name, *numbers in (*COMMON.jobs, *COMPOSITION.jobs):
            getattr(warm_up, name)(*numbers)
    rows.sort(key=lambda row: -row[1])
    sums = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
    titles = ("kernel", "seconds", TYPES, OPTIMIZING, MACHINE_CODE, "bytes")
    table([titles, *rows, ("all", *sums)])
    save("compile", {"kernels": rows}, kept=keep)


if __name__ == "__main__":
    main()
