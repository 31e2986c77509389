"""Compile the libraries that a Python for Windows under Wine lacks; see windows.sh.

    python windows_libraries.py FOLDER

Three files are written beside python311.dll: a program that starts it; python3.dll, which passes
calls of the stable interface on to it; and the mathematical functions of C with those of complex
numbers, which Wine 10 lacks. Modules that ask Windows for these functions get the name of that file
instead.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

WINDOWS_MATH, OUR_MATH = "api-ms-win-crt-math-l1-1-0.dll", "swd-ms-win-crt-math-l1-1-0.dll"
"""Of equal length: one replaces the other within files."""

START = """
#include <windows.h>
int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    return ((int (*)(int, wchar_t **))GetProcAddress(python, "Py_Main"))(count, words);
}
"""

COMPLEX = """
#include <complex.h>
typedef union { struct { float re, im; } parts; float complex z; } f;
typedef union { struct { double re, im; } parts; double complex z; } d;
"""
"""Windows passes structures of two numbers, and takes long double for double."""

_FUNCTION = re.compile(
    r"c(?P<name>(?P<real>abs|arg|real|imag)|pow|(?:a?(?:sin|cos|tan)h?|exp|log|sqrt))(?P<kind>[fl]?)"
)


def compile_c(source: str, *arguments: object) -> None:
    """Compile C for Windows."""
    command = ["x86_64-w64-mingw32-gcc", "-O1", "-static", *map(str, arguments), "-x", "c", "-"]
    subprocess.run(command, input=source, text=True, check=True)


def imports_of(file: Path, library: str) -> Iterator[str]:
    """Yield the names of the functions that a file takes from a library."""
    text = subprocess.run(
        ["objdump", "-p", file], capture_output=True, text=True, check=True
    ).stdout
    for part in text.split("DLL Name: ")[1:]:
        name, _, table = part.partition("\n")
        if name == library:
            yield from re.findall(r"^\t[0-9a-f]+\t +\d+ +(\w+)$", table, re.MULTILINE)
            yield from re.findall(r"^\t[0-9a-f]+ +<none> +[0-9a-f]+ +(\w+)$", table, re.MULTILINE)


def complex_function(name: str) -> str | None:
    """Return C for a function of complex numbers; None if it is none."""
    if name in ("_FCbuild", "_Cbuild", "_LCbuild"):
        kind, real = ("f", "float") if name == "_FCbuild" else ("d", "double")
        return f"{kind} our_{name}({real} re, {real} im) {{ return ({kind}){{ {{re, im}} }}; }}"
    found = _FUNCTION.fullmatch(name)
    if found is None:
        return None
    kind, real, ending = ("f", "float", "f") if found["kind"] == "f" else ("d", "double", "")
    call = f"c{found['name']}{ending}"
    if found["real"]:
        return f"{real} our_{name}({kind} a) {{ return {call}(a.z); }}"
    if found["name"] == "pow":
        return f"{kind} our_{name}({kind} a, {kind} b) {{ a.z = {call}(a.z, b.z); return a; }}"
    return f"{kind} our_{name}({kind} a) {{ a.z = {call}(a.z); return a; }}"


def write_math(folder: Path) -> None:
    """Write the mathematical functions that modules ask for, and have them ask there."""
    modules = [
        file
        for file in folder.rglob("*")
        if file.suffix in (".pyd", ".dll") and WINDOWS_MATH.encode() in file.read_bytes()
    ]
    names = sorted({name for file in modules for name in imports_of(file, WINDOWS_MATH)})
    ours = {name: source for name in names if (source := complex_function(name)) is not None}
    exports = [f"{name} = {'our_' if name in ours else 'ucrtbase.'}{name}" for name in names]
    table = folder / "math.def"
    table.write_text("\n".join([f'LIBRARY "{OUR_MATH}"', "EXPORTS", *exports, ""]))
    compile_c("\n".join([COMPLEX, *ours.values(), ""]), "-shared", table, "-o", folder / OUR_MATH)
    table.unlink()
    for file in modules:
        file.write_bytes(file.read_bytes().replace(WINDOWS_MATH.encode(), OUR_MATH.encode()))


def write_stable_interface(folder: Path) -> None:
    """Write python3.dll: every function of python311.dll by its name."""
    command = ["objdump", "-p", folder / "python311.dll"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\t\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(_?Py\w+)$", text, re.M)
    table = folder / "stable.def"
    exports = [f"{name} = python311.{name}" for name in names]
    table.write_text("\n".join(['LIBRARY "python3.dll"', "EXPORTS", *exports, ""]))
    compile_c("", "-shared", table, "-o", folder / "python3.dll")
    table.unlink()


def main() -> None:
    """Write the three files."""
    folder = Path(sys.argv[1])
    write_math(folder)
    write_stable_interface(folder)
    compile_c(START, "-municode", "-o", folder / "python.exe")


if __name__ == "__main__":
    main()
