"""Decodes machine code of a GPU (SASS), as nvdisasm writes it, for the interpreter.

Each opcode with its suffixes is read by one function here, from what NVIDIA documents of it (the
instruction sets of the CUDA Binary Utilities, and PTX where an instruction of PTX becomes this
one). Anything else raises `UnknownInstructionError`, so that nothing is executed by guess.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

INSTRUCTION = np.dtype(
    [
        ("operation", "u2"),
        ("destination", "u2"),
        ("sources", "u2", 6),
        ("guard", "u1"),
        ("uniform", "u1"),
        ("negated", "u1"),
        ("inverted", "u1"),
        ("lower_half", "u1"),
        ("results", "u1", 2),
        ("predicates", "u1", 2),
        ("unused", "u1", 3),
        ("offset", "i4"),
        ("detail", "u4"),
        ("target", "u4"),
    ]
)
"""The structure `Instruction` of ``sass_interpreter.cpp``."""

OPERATIONS = (
    *("MOVE", "ADD", "ADD3", "ADD3_CARRY", "ADD_HALVES", "MAD", "MAD_CARRY", "MAD_WIDE"),
    *("MAD_HIGH", "LOGIC", "PREDICATE_LOGIC", "COMPARE", "SELECT", "PERMUTE", "SHIFT", "SHIFT_ADD"),
    *("SHIFT_ADD_HIGH", "MINMAX_S32", "MINMAX_U32", "MINMAX_S16", "MINMAX_U16", "COUNT_ONES"),
    *("FIND_ONE", "HALF_ADD", "HALF_MAX", "HALF_FMA", "HALF_OF_INT", "INT_OF_HALF"),
    *("FLOAT_OF_UINT", "RECIPROCAL", "UINT_OF_FLOAT", "SPECIAL", "VOTE", "REDUCE"),
    *("TO_UNIFORM", "SHUFFLE", "LOAD_GLOBAL", "STORE_GLOBAL", "ATOMIC", "LOAD_SHARED"),
    "STORE_SHARED",
    # From here on, where control goes: these are executed whatever their guard.
    *("BRA", "BRA_DIVERGENT", "BRA_CONVERGED", "RETURN", "EXIT", "BSSY", "BSYNC", "WARPSYNC"),
    *("BARRIER", "YIELD", "NOP"),
)
SPECIALS = ("THREAD", "CTA", "LANE", "LOWER_LANES", "CTA_OF_CLUSTER")
SHUFFLES = ("UP", "DOWN", "BUTTERFLY", "INDEX")
ATOMICS = ("SUM", "MAX_S32")

SPECIAL_REGISTERS = {
    "SR_TID.X": "THREAD",
    "SR_CTAID.X": "CTA",
    "SR_LANEID": "LANE",
    "SR_LTMASK": "LOWER_LANES",
    "SR_CgaCtaId": "CTA_OF_CLUSTER",
}

ZERO, UNIFORM_ZERO = 255, 319
"""Slots of RZ and URZ: R0 is slot 0, UR0 slot 256, and constants follow behind URZ."""
CONSTANTS = 320
TRUE, NEGATED = 7, 128

LINE = re.compile(r"/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>[^;]+?)\s*;")
LABEL = re.compile(r"^(?P<label>\.L_\w+|\$__internal[\w$]+):")
GUARD = re.compile(r"^@(?P<guard>!?U?P[0-6T])\s+")
REGISTER = re.compile(r"^(?P<sign>[-~]?)(?P<kind>U?R)(?P<number>\d+|Z)(?P<suffixes>(\.\w+)*)$")
PREDICATE = re.compile(r"^(?P<sign>[!~]?)(?P<kind>U?P)(?P<number>[0-6T])$")
BANK = re.compile(r"^(?P<sign>[-~]?)c\[0x0\]\[(?P<offset>0x[0-9a-f]+|RZ)\]$")
NUMBER = re.compile(r"^-?0x[0-9a-f]+$")
JUMP = re.compile(r"^`\((?P<label>[^)]+)\)$")
ADDRESS = re.compile(
    r"^(desc\[UR\d+\])?\["
    r"((?P<register>R\d+|RZ)(?P<suffix>\.64|\.X4|\.X8|\.X16)?)?\+?(?P<uniform>UR\d+|URZ)?"
    r"\+?(?P<offset>-?0x[0-9a-f]+)?\]$"
)


class UnknownInstructionError(Exception):
    """An instruction, or a form of it, whose meaning is not written down here."""


@dataclass(frozen=True)
class Bank:
    """A word of the constant bank 0, where a launch leaves its sizes and parameters."""

    offset: int


@dataclass(frozen=True)
class Program:
    """The code of one kernel: instructions, what the slots behind the registers hold, texts."""

    code: np.ndarray
    constants: tuple[int | Bank, ...]
    texts: tuple[str, ...]


def parse(text: str, name: str) -> Program:
    """Return the program of a kernel in the text of nvdisasm."""
    lines = iter(text.splitlines())
    for line in lines:
        if line == f".text.{name}:":
            break
    else:
        raise ValueError(f"no kernel {name}")
    texts: list[str] = []
    labels: dict[str, int] = {}
    for line in lines:
        if line.startswith("//----"):
            break
        if label := LABEL.match(line):
            labels[label["label"]] = len(texts)
        elif instruction := LINE.search(line):
            if int(instruction["address"], 16) != 16 * len(texts):
                raise ValueError(f"not at its place: {line}")
            texts.append(instruction["text"])
    return decode(texts, labels)


def decode(texts: list[str], labels: dict[str, int]) -> Program:
    """Return the program of some instructions and the places of their labels."""
    constants: dict[int | Bank, int] = {}
    records = [_Decoder(text, labels, constants).record for text in texts]
    located = tuple(f"0x{16 * place:04x} {text}" for place, text in enumerate(texts))
    return Program(np.array(records, INSTRUCTION), tuple(constants), located)


class _Decoder:
    """One instruction, decoded into `record`."""

    def __init__(self, text: str, labels: dict[str, int], constants: dict[int | Bank, int]) -> None:
        self.text, self.labels, self.constants = text, labels, constants
        self.record = np.zeros((), INSTRUCTION)
        self.record["guard"] = TRUE
        self.record["results"] = TRUE
        self.record["predicates"] = TRUE
        self.record["sources"] = ZERO
        self.record["destination"] = ZERO
        if guard := GUARD.match(text):
            self.record["guard"] = self.predicate_of(guard["guard"])
            text = text[guard.end() :]
        opcode, _, rest = text.replace(".reuse", "").partition(" ")
        self.base, *self.suffixes = opcode.split(".")
        # `RET.REL.NODEC R20 `(f)` has no comma before the function that it returns to.
        rest = re.sub(r"(?<=\w) `\(", ", `(", rest)
        self.operands = [part.strip() for part in rest.split(",")] if rest.strip() else []
        base = self.base
        if base in UNIFORM:
            base = base[1:]
        read = READERS.get(base)
        if read is None:
            raise self.unknown()
        try:
            read(self, *self.operands)
        except (TypeError, ValueError) as error:  # other operands than a form has
            raise self.unknown() from error

    def unknown(self) -> UnknownInstructionError:
        return UnknownInstructionError(f"no meaning is written down for: {self.text}")

    def suffix(self, *allowed: str) -> str:
        """Take away the first suffix, which is one of these, or return an empty text."""
        if self.suffixes and self.suffixes[0] in allowed:
            return self.suffixes.pop(0)
        return ""

    def emit(self, operation: str, **fields: int) -> None:
        """Write down the operation, and fail if a suffix has not been looked at."""
        if self.suffixes:
            raise self.unknown()
        self.record["operation"] = OPERATIONS.index(operation)
        for name, value in fields.items():
            self.record[name] = value

    # Operands ---------------------------------------------------------------------------------

    def constant(self, value: int | Bank) -> int:
        if isinstance(value, int):
            value &= 0xFFFFFFFF
        return self.constants.setdefault(value, CONSTANTS + len(self.constants))

    def slot_of(self, operand: str) -> tuple[int, str, str]:
        """Return the slot of an operand, its sign, and its suffixes."""
        if register := REGISTER.match(operand):
            number, uniform = register["number"], register["kind"] == "UR"
            slot = 63 if number == "Z" and uniform else 255 if number == "Z" else int(number)
            return slot + 256 * uniform, register["sign"], register["suffixes"]
        if bank := BANK.match(operand):
            offset = 0 if bank["offset"] == "RZ" else int(bank["offset"], 16)
            return self.constant(Bank(offset)), bank["sign"], ""
        if NUMBER.match(operand):
            return self.constant(int(operand, 16)), "", ""
        raise self.unknown()

    def sources(self, *operands: str, halves: bool = False) -> None:
        """Set the sources, with signs; with `.H0_H0` only for arithmetic of halves."""
        for k, operand in enumerate(operands):
            slot, sign, suffixes = self.slot_of(operand)
            self.record["sources"][k] = slot
            self.record["negated"] |= (sign == "-") << k
            self.record["inverted"] |= (sign == "~") << k
            if suffixes and not (halves and suffixes == ".H0_H0"):
                raise self.unknown()
            self.record["lower_half"] |= bool(suffixes) << k

    def words(self, operand: str, count: int, at: int = 0) -> None:
        """Set sources from `at` on: consecutive words, the first of which the operand names."""
        slot, sign, suffixes = self.slot_of(operand)
        if sign or suffixes not in {"", ".64"} or (count > 1 and NUMBER.match(operand)):
            raise self.unknown()
        for k in range(count):
            if slot in {ZERO, UNIFORM_ZERO}:
                self.record["sources"][at + k] = slot
            elif slot < CONSTANTS:
                self.record["sources"][at + k] = slot + k
            else:
                self.record["sources"][at + k] = self.slot_at(operand, 4 * k)

    def slot_at(self, operand: str, further: int) -> int:
        bank = BANK.match(operand)
        if bank is None:
            return self.slot_of(operand)[0]
        return self.constant(Bank(int(bank["offset"], 16) + further))

    def into(self, operand: str, words: int = 1) -> None:
        """Set the destination."""
        register = REGISTER.match(operand)
        if register is None or register["sign"] or register["suffixes"]:
            raise self.unknown()
        slot = self.slot_of(operand)[0]
        if words > 1 and slot in {ZERO, UNIFORM_ZERO}:
            raise self.unknown()
        self.record["destination"] = slot
        self.record["uniform"] = register["kind"] == "UR"

    def predicate_of(self, operand: str) -> int:
        predicate = PREDICATE.match(operand)
        if predicate is None:
            raise self.unknown()
        number = 7 if predicate["number"] == "T" else int(predicate["number"])
        return number + 8 * (predicate["kind"] == "UP") + NEGATED * bool(predicate["sign"])

    def result(self, operand: str, k: int = 0) -> None:
        """Set where a predicate goes to."""
        number = self.predicate_of(operand)
        if number & NEGATED:
            raise self.unknown()
        self.record["results"][k] = number
        self.record["uniform"] |= number >= 8

    def given(self, operand: str, k: int = 0) -> None:
        """Set a predicate that is looked at."""
        self.record["predicates"][k] = self.predicate_of(operand)

    def place(self, operand: str) -> int:
        jump = JUMP.match(operand)
        if jump is None or jump["label"] not in self.labels:
            raise self.unknown()
        return self.labels[jump["label"]]


# What each opcode is ------------------------------------------------------------------------------

UNIFORM = {
    *("UMOV", "UIADD3", "UIMAD", "ULEA", "ULOP3", "UPLOP3", "USHF", "UISETP", "USEL", "UPRMT"),
    *("UPOPC", "UFLO", "ULDC"),
}
"""Opcodes of the uniform registers that have the forms of those of the others."""

READERS: dict[str, Callable[..., None]] = {}


def reader(*bases: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the function that reads some opcodes."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        READERS.update(dict.fromkeys(bases, function))
        return function

    return register


def split_predicates(operands: tuple[str, ...]) -> tuple[list[str], list[str], list[str]]:
    """Return the predicates in front, the operands, and the predicates behind."""
    front = [bool(PREDICATE.match(operand)) for operand in operands].index(False)
    back = len(operands)
    while PREDICATE.match(operands[back - 1]):
        back -= 1
    return list(operands[:front]), list(operands[front:back]), list(operands[back:])


@reader("MOV")
def _move(it: _Decoder, into: str, source: str) -> None:
    it.into(into)
    it.sources(source)
    it.emit("MOVE")


@reader("LDC")
def _load_constant(it: _Decoder, into: str, source: str) -> None:
    if not BANK.match(source):
        raise it.unknown()
    if not it.suffix("64"):
        return _move(it, into, source)
    # {c[n + 4], c[n]}: a product of nothing takes both words.
    it.into(into, 2)
    it.words(source, 2, at=2)
    return it.emit("MAD_WIDE")


@reader("CS2R")
def _special_pair(it: _Decoder, into: str, source: str) -> None:
    if source != "SRZ":
        raise it.unknown()
    if it.suffix("32"):
        it.into(into)
        return it.emit("MOVE")
    it.into(into, 2)
    return it.emit("MAD_WIDE")


@reader("S2R", "S2UR")
def _special(it: _Decoder, into: str, source: str) -> None:
    if source not in SPECIAL_REGISTERS:
        raise it.unknown()
    it.into(into)
    it.emit("SPECIAL", detail=SPECIALS.index(SPECIAL_REGISTERS[source]))


@reader("R2UR")
def _to_uniform(it: _Decoder, into: str, source: str) -> None:
    it.into(into)
    it.sources(source)
    it.emit("TO_UNIFORM")


@reader("VIADD", "IADD")
def _add(it: _Decoder, into: str, a: str, b: str) -> None:
    it.into(into)
    it.sources(a, b)
    if not it.suffix("16x2"):
        return it.emit("ADD")
    if it.record["negated"] or it.record["inverted"]:
        raise it.unknown()
    return it.emit("ADD_HALVES")


@reader("IADD3")
def _add3(it: _Decoder, into: str, *operands: str) -> None:
    results, (a, b, c), given = split_predicates(operands)
    extended = it.suffix("X")
    if len(results) > 1 or len(given) != (2 if extended else 0):
        raise it.unknown()
    it.into(into)
    it.sources(a, b, c)
    it.record["predicates"] = TRUE + NEGATED
    for result in results:
        it.result(result)
    for k, predicate in enumerate(given):
        it.given(predicate, k)
    it.emit("ADD3_CARRY" if results or given else "ADD3")


@reader("IMAD")
def _multiply_add(it: _Decoder, into: str, a: str, b: str, c: str, *carry: str) -> None:
    kind = it.suffix("WIDE", "HI")
    if kind:
        signed = not it.suffix("U32")
        it.into(into, 2 if kind == "WIDE" else 1)
        it.sources(a, b)
        it.words(c, 2, at=2)
        if carry:
            raise it.unknown()
        return it.emit("MAD_WIDE" if kind == "WIDE" else "MAD_HIGH", detail=signed)
    # MOV, IADD and SHL say how the compiler came to it: the sum is the same.
    it.suffix("MOV", "IADD", "SHL")
    extended = it.suffix("X")
    it.suffix("U32")
    it.into(into)
    it.sources(a, b, c)
    if bool(extended) != (len(carry) == 1):
        raise it.unknown()
    if extended:
        it.given(carry[0])
        return it.emit("MAD_CARRY")
    if a == b == "RZ" or a == b == "URZ":
        it.record["sources"][0] = it.record["sources"][2]
        it.record["negated"] >>= 2
        it.record["inverted"] >>= 2
        return it.emit("MOVE")
    return it.emit("MAD")


@reader("LOP3")
def _logic(it: _Decoder, *operands: str) -> None:
    results, (into, a, b, c, table), given = split_predicates(operands)
    it.suffix("LUT")
    it.into(into)
    it.sources(a, b, c)
    for result in results:
        it.result(result)
    if given not in (["!PT"], ["!UPT"]):  # another one would be mixed into the predicate
        raise it.unknown()
    it.emit("LOGIC", detail=int(table, 16))


@reader("PLOP3")
def _predicate_logic(
    it: _Decoder, first: str, second: str, a: str, b: str, c: str, table: str, other: str
) -> None:
    it.suffix("LUT")
    it.result(first)
    it.result(second, 1)
    for k, operand in enumerate((a, b, c)):
        it.record["sources"][k] = it.predicate_of(operand)
    it.emit("PREDICATE_LOGIC", detail=int(table, 16) | int(other, 16) << 8)


@reader("ISETP")
def _compare(it: _Decoder, first: str, second: str, a: str, b: str, *given: str) -> None:
    comparison = it.suffix("LT", "EQ", "LE", "GT", "NE", "GE")
    if not comparison:
        raise it.unknown()
    detail = ("LT", "EQ", "LE", "GT", "NE", "GE").index(comparison)
    if not it.suffix("U32"):
        detail |= 8
    combination = it.suffix("AND", "OR")
    if not combination:
        raise it.unknown()
    if combination == "OR":
        detail |= 16
    if it.suffix("EX"):
        detail |= 32
    if len(given) != (2 if detail & 32 else 1):
        raise it.unknown()
    it.result(first)
    it.result(second, 1)
    it.sources(a, b)
    for k, predicate in enumerate(given):
        it.given(predicate, k)
    it.emit("COMPARE", detail=detail)


@reader("SEL")
def _select(it: _Decoder, into: str, a: str, b: str, predicate: str) -> None:
    it.into(into)
    it.sources(a, b)
    it.given(predicate)
    it.emit("SELECT")


@reader("PRMT")
def _permute(it: _Decoder, into: str, a: str, selector: str, b: str) -> None:
    it.into(into)
    it.sources(a, selector, b)
    it.emit("PERMUTE")


@reader("SHF")
def _shift(it: _Decoder, into: str, low: str, by: str, high: str) -> None:
    direction = it.suffix("L", "R")
    kind = it.suffix("U32", "S32", "U64", "S64")
    if not direction or not kind:
        raise it.unknown()
    detail = (direction == "R") + 2 * (kind[0] == "S") + 8 * (kind[1:] == "64")
    if it.suffix("HI"):
        detail += 4
    it.into(into)
    it.sources(low, by, high)
    it.emit("SHIFT", detail=detail)


@reader("LEA")
def _shift_add(it: _Decoder, into: str, *operands: str) -> None:
    results, terms, given = split_predicates(operands)
    it.into(into)
    if not it.suffix("HI"):
        a, b, bits = terms
        if given or len(results) > 1:
            raise it.unknown()
        for result in results:
            it.result(result)
        it.sources(a, b)
        if it.record["negated"] or it.record["inverted"]:
            raise it.unknown()
        return it.emit("SHIFT_ADD", offset=int(bits, 16))
    signed, extended = it.suffix("SX32"), it.suffix("X")
    if results or len(given) != bool(extended):
        raise it.unknown()
    *sources, bits = terms
    if len(sources) != (2 if signed else 3):
        raise it.unknown()
    it.sources(*sources)
    if it.record["negated"] or it.record["inverted"]:
        raise it.unknown()
    it.record["predicates"] = TRUE + NEGATED
    for predicate in given:
        it.given(predicate)
    return it.emit("SHIFT_ADD_HIGH", offset=int(bits, 16), detail=bool(signed))


@reader("VIMNMX", "VIMNMX3", "VIADDMNMX", "IMNMX")
def _minmax(it: _Decoder, into: str, *operands: str) -> None:
    *sources, predicate = operands
    if len(sources) != (2 if it.base in {"VIMNMX", "IMNMX"} else 3):
        raise it.unknown()
    kind = it.suffix("S32", "U32", "S16x2", "U16x2") or "S32"
    relu = 4 if it.suffix("RELU") else 0
    it.into(into)
    it.sources(*sources)
    it.given(predicate)
    if "16" in kind and (it.record["negated"] or it.record["inverted"]):
        raise it.unknown()
    form = {"VIMNMX3": 2, "VIADDMNMX": 1}.get(it.base, 0)
    it.emit(f"MINMAX_{kind.removesuffix('x2')}", detail=form | relu)


@reader("POPC")
def _count_ones(it: _Decoder, into: str, source: str) -> None:
    it.into(into)
    it.sources(source)
    it.emit("COUNT_ONES")


@reader("FLO")
def _find_one(it: _Decoder, into: str, source: str) -> None:
    if not it.suffix("U32"):
        raise it.unknown()
    it.into(into)
    it.sources(source)
    it.emit("FIND_ONE")


def half_of(text: str) -> int:
    """Return the bits of a number in half precision."""
    return int(struct.unpack("<H", struct.pack("<e", float(text)))[0])


@reader("HADD2")
def _half_add(it: _Decoder, into: str, a: str, b: str) -> None:
    it.into(into)
    it.sources(a, b, halves=True)
    it.emit("HALF_ADD")


@reader("HMNMX2")
def _half_max(it: _Decoder, into: str, a: str, b: str, predicate: str) -> None:
    if predicate != "!PT":
        raise it.unknown()
    it.into(into)
    it.sources(a, b, halves=True)
    it.emit("HALF_MAX")


@reader("HFMA2")
def _half_multiply_add(it: _Decoder, into: str, *operands: str) -> None:
    it.suffix("MMA")  # another pipe, the same result
    relu = it.suffix("RELU")
    sources, rest = [], list(operands)
    while rest:
        if REGISTER.match(rest[0]):
            sources.append(rest.pop(0))
        else:  # an upper and a lower half, as numbers
            high, low = rest.pop(0), rest.pop(0)
            sources.append(hex(half_of(high) << 16 | half_of(low)))
    if len(sources) != 3:
        raise it.unknown()
    it.into(into)
    it.sources(*sources, halves=True)
    it.emit("HALF_FMA", detail=bool(relu))


@reader("I2F")
def _float_of_int(it: _Decoder, into: str, source: str) -> None:
    operation = {("F16",): "HALF_OF_INT", ("U32", "RP"): "FLOAT_OF_UINT"}.get(tuple(it.suffixes))
    if operation is None:
        raise it.unknown()
    it.suffixes.clear()
    it.into(into)
    it.sources(source)
    it.emit(operation)


@reader("F2I")
def _int_of_float(it: _Decoder, into: str, source: str) -> None:
    operation = {
        ("F16", "TRUNC", "NTZ"): "INT_OF_HALF",
        ("FTZ", "U32", "TRUNC", "NTZ"): "UINT_OF_FLOAT",
    }.get(tuple(it.suffixes))
    if operation is None:
        raise it.unknown()
    it.suffixes.clear()
    it.into(into)
    it.sources(source)
    it.emit(operation)


@reader("MUFU")
def _reciprocal(it: _Decoder, into: str, source: str) -> None:
    if not it.suffix("RCP"):
        raise it.unknown()
    it.into(into)
    it.sources(source)
    it.emit("RECIPROCAL")


@reader("VOTE", "VOTEU")
def _vote(it: _Decoder, *operands: str) -> None:
    *into, result, predicate = operands
    kind = it.suffix("ANY", "ALL")
    if not kind or len(into) > 1:
        raise it.unknown()
    for ballot in into:
        it.into(ballot)
    it.result(result)
    it.given(predicate)
    it.emit("VOTE", detail=kind == "ALL")


@reader("REDUX")
def _reduce(it: _Decoder, into: str, source: str) -> None:
    kind = it.suffix("MAX", "MIN")
    if not kind:
        raise it.unknown()
    signed = it.suffix("S32") != ""
    it.into(into)
    it.sources(source)
    it.emit("REDUCE", detail=(kind == "MIN") + 2 * signed)


@reader("SHFL")
def _shuffle(it: _Decoder, result: str, into: str, value: str, by: str, form: str) -> None:
    kind = it.suffix("UP", "DOWN", "BFLY", "IDX")
    if not kind:
        raise it.unknown()
    it.result(result)
    it.into(into)
    it.sources(value, by, form)
    it.emit("SHUFFLE", detail=("UP", "DOWN", "BFLY", "IDX").index(kind))


# Memory -------------------------------------------------------------------------------------------

SIZES = {"U8": 1, "S8": 1 + 256, "U16": 2, "S16": 2 + 256, "": 4, "64": 8, "128": 16}


def size_of(it: _Decoder) -> int:
    """Return the bytes that each lane reads or writes, plus 256 where the sign is kept."""
    return SIZES[it.suffix("U8", "S8", "U16", "S16", "64", "128")]


def words_of(size: int) -> int:
    """Return the registers that hold so many bytes."""
    return max(1, (size & 31) // 4)


def global_address(it: _Decoder, operand: str) -> None:
    """Set a register pair and an offset."""
    address = ADDRESS.match(operand)
    if address is None or address["suffix"] != ".64" or address["uniform"]:
        raise it.unknown()
    it.words(address["register"], 2)
    it.record["offset"] = int(address["offset"] or "0", 16)


def shared_address(it: _Decoder, operand: str) -> None:
    """Set a register that may be scaled, a uniform register and an offset, each if it is there."""
    address = ADDRESS.match(operand)
    if address is None or operand.startswith("desc") or address["suffix"] == ".64":
        raise it.unknown()
    it.sources(address["register"] or "RZ", address["uniform"] or "URZ")
    it.record["offset"] = int(address["offset"] or "0", 16)
    it.record["target"] = int((address["suffix"] or ".X1")[2:]).bit_length() - 1


def skip_caching(it: _Decoder) -> None:
    """Take away what says how memory is cached and ordered: it is one memory here."""
    if not it.suffix("E"):
        raise it.unknown()
    it.suffix("EF", "EL", "EU", "LU")


@reader("LDG")
def _load_global(it: _Decoder, into: str, address: str) -> None:
    skip_caching(it)
    size = size_of(it)
    it.suffix("CONSTANT", "STRONG")
    it.suffix("GPU", "SM", "SYS")
    it.into(into, words_of(size))
    global_address(it, address)
    it.emit("LOAD_GLOBAL", detail=size)


@reader("STG")
def _store_global(it: _Decoder, address: str, value: str) -> None:
    skip_caching(it)
    size = size_of(it)
    it.suffix("STRONG")
    it.suffix("GPU", "SM", "SYS")
    global_address(it, address)
    it.words(value, words_of(size), at=2)
    it.emit("STORE_GLOBAL", detail=size)


@reader("LDS")
def _load_shared(it: _Decoder, into: str, address: str) -> None:
    size = size_of(it)
    it.into(into, words_of(size))
    shared_address(it, address)
    it.emit("LOAD_SHARED", detail=size)


@reader("STS")
def _store_shared(it: _Decoder, address: str, value: str) -> None:
    size = size_of(it)
    shared_address(it, address)
    it.words(value, words_of(size), at=2)
    it.emit("STORE_SHARED", detail=size)


@reader("ATOMG")
def _atomic(it: _Decoder, result: str, into: str, address: str, value: str) -> None:
    if result != "PT":
        raise it.unknown()
    it.into(into)
    _reduction(it, address, value)


@reader("RED", "REDG")
def _reduction(it: _Decoder, address: str, value: str) -> None:
    skip_caching(it)
    kind = it.suffix("ADD", "MAX")
    signed = it.suffix("S32")
    it.suffix("STRONG")
    it.suffix("GPU")
    if not kind or (kind == "MAX") != bool(signed):
        raise it.unknown()
    global_address(it, address)
    it.words(value, 1, at=2)
    it.emit("ATOMIC", detail=4, target=kind == "MAX")


# Control ------------------------------------------------------------------------------------------


@reader("BRA")
def _branch(it: _Decoder, *operands: str) -> None:
    *conditions, label = operands
    kind = it.suffix("DIV", "CONV")
    if kind:
        (lanes,) = conditions
        it.sources(lanes)
        operation = "BRA_DIVERGENT" if kind == "DIV" else "BRA_CONVERGED"
        return it.emit(operation, target=it.place(label))
    if len(conditions) > 1:
        raise it.unknown()
    for condition in conditions:
        it.given(condition)
    return it.emit("BRA", target=it.place(label))


@reader("CALL")
def _call(it: _Decoder, label: str) -> None:
    # NOINC: the caller has put the address to return to into a register.
    if it.suffixes != ["REL", "NOINC"]:
        raise it.unknown()
    it.suffixes.clear()
    it.emit("BRA", target=it.place(label))


@reader("RET")
def _return(it: _Decoder, address: str, function: str) -> None:
    # To an address that is counted from the function's first instruction.
    if it.suffixes != ["REL", "NODEC"] or not JUMP.match(function):
        raise it.unknown()
    it.suffixes.clear()
    it.words(address, 2)
    it.emit("RETURN")


@reader("EXIT")
def _exit(it: _Decoder, *condition: str) -> None:
    if len(condition) > 1:
        raise it.unknown()
    for predicate in condition:
        it.given(predicate)
    it.emit("EXIT")


@reader("YIELD", "NOP")
def _plain(it: _Decoder) -> None:
    it.emit(it.base)


@reader("BSSY")
def _push(it: _Decoder, barrier: str, label: str) -> None:
    it.suffix("RECONVERGENT")
    it.place(label)
    it.emit("BSSY", detail=int(barrier.removeprefix("B")))


@reader("BSYNC")
def _meet(it: _Decoder, barrier: str) -> None:
    it.suffix("RECONVERGENT")
    it.emit("BSYNC", detail=int(barrier.removeprefix("B")))


@reader("WARPSYNC")
def _meet_warp(it: _Decoder, lanes: str = "0xffffffff") -> None:
    if not it.operands and it.suffixes != ["ALL"]:
        raise it.unknown()
    it.suffix("ALL", "EXCLUSIVE")
    it.sources(lanes)
    it.emit("WARPSYNC")


@reader("BAR")
def _barrier(it: _Decoder, number: str) -> None:
    if it.suffixes != ["SYNC", "DEFER_BLOCKING"] or number != "0x0":
        raise it.unknown()
    it.suffixes.clear()
    it.emit("BARRIER")


def enumerations() -> str:
    """Return the C++ text that gives the numbers of this module their names."""
    lists = (OPERATIONS, SPECIALS, SHUFFLES, ATOMICS)
    return "".join(f"enum {{ {', '.join(names)} }};\n" for names in lists)
