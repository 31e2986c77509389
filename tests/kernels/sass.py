"""Reads machine code: the instructions of a kernel, its loops, and what is done in them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

LABEL = re.compile(r"^(\.L_\w+):")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<text>[^;]+?)\s*;")
BRANCH = re.compile(r"^BRA\b.*`\((?P<label>\.L_\w+)\)")

MAXIMA = ("VIADDMNMX", "VIMNMX", "VIMNMX3", "HMNMX2", "VHMNMX", "IMNMX")
"""Instructions of the recurrence alone, by which its loops are known."""

SLOWER_PIPE = (*MAXIMA, "PRMT", "LOP3", "SEL", "LEA", "ISETP", "SHF", "IADD3")
"""Instructions on the pipe of the maxima, of which one is issued every second clock."""


@dataclass(frozen=True)
class Listing:
    """The instructions of one kernel, and the place that each label stands before."""

    instructions: list[str]
    labels: dict[str, int]

    @property
    def loops(self) -> list[tuple[int, int]]:
        """First and last instruction of each loop: a branch back, and where it goes."""
        loops = []
        for place, instruction in enumerate(self.instructions):
            branch = BRANCH.match(instruction)
            if branch and self.labels.get(branch["label"], place + 1) <= place:
                loops.append((self.labels[branch["label"]], place))
        return loops

    @property
    def row_places(self) -> list[tuple[int, int]]:
        """First and last instruction of the loops over rows: they hold maxima, but no such loop."""
        busy = [loop for loop in self.loops if count(self._opcodes(loop), *MAXIMA) >= 64]
        return [
            loop
            for loop in busy
            if not any(
                other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in busy
            )
        ]

    @property
    def row_loops(self) -> list[Counter[str]]:
        """Opcodes of the loops over rows."""
        return [self._opcodes(place) for place in self.row_places]

    @property
    def row_reads(self) -> list[tuple[int, int]]:
        """How many registers the loops over rows read, of even numbers and of odd ones.

        Each kind is a bank, which delivers one of a warp's registers a clock.
        """
        return [
            tuple(
                sum(register % 2 == bank for text in self.instructions[first : last + 1]
                    for register in registers_read(text))
                for bank in (0, 1)
            )
            for first, last in self.row_places
        ]  # fmt: skip

    @property
    def opcodes(self) -> Counter[str]:
        """All opcodes, with their suffixes."""
        return self._opcodes((0, len(self.instructions) - 1))

    def _opcodes(self, loop: tuple[int, int]) -> Counter[str]:
        return Counter(text.split()[0] for text in self.instructions[loop[0] : loop[1] + 1])


def registers_read(text: str) -> list[int]:
    """Return the registers that an instruction reads, all but the first that it names.

    >>> registers_read("VIADDMNMX.S16x2 R8, R4, R113.reuse, R25, !PT"), registers_read("BRA 0x10")
    ([4, 113, 25], [])
    """
    operands = text.partition(" ")[2].split(",")[1:]
    return [int(found[1]) for each in operands if (found := re.match(r"\s*-?R(\d+)", each))]


def count(opcodes: Counter[str], *starts: str) -> int:
    """Return how many opcodes are one of these, with or without suffixes.

    >>> count(Counter({"PRMT": 2, "VIADD": 1, "VIADD.16x2": 4}), "PRMT", "VIADD.16x2")
    6
    """
    return sum(
        number
        for opcode, number in opcodes.items()
        if any(opcode == start or opcode.startswith(start + ".") for start in starts)
    )


def parse(text: str) -> dict[str, Listing]:
    """Return the listing of each kernel in the text of nvdisasm."""
    listings: dict[str, Listing] = {}
    listing = None
    for line in text.splitlines():
        if line.startswith(".text."):
            listing = listings[line[6:].rstrip(":")] = Listing([], {})
        elif listing is None:
            continue
        elif label := LABEL.match(line):
            listing.labels[label[1]] = len(listing.instructions)
        elif instruction := INSTRUCTION.search(line):
            listing.instructions.append(instruction["text"])
    return listings


def disassemble(cubin: bytes, folder: Path) -> dict[str, Listing]:
    """Return the listings of all kernels of some machine code."""
    return parse(read_text(cubin, folder))


def read_text(cubin: bytes, folder: Path) -> str:
    """Return what nvdisasm writes of some machine code."""
    file = folder / "kernels.cubin"
    file.write_bytes(cubin)
    command = [program(), "-c", file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def program() -> str:
    """Return the path of nvdisasm: the package's, or one that is installed."""
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations or []) if package else []:
        for file in sorted(Path(folder).glob("*/bin/nvdisasm")):
            return str(file)
    found = shutil.which("nvdisasm")
    if found is None:
        pytest.skip("the package nvidia-cuda-nvdisasm is missing")
    return found
