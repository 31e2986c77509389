"""The interface of masks, and how options spell them: none, seg, seg:12,2.2,2.5, tantan:0.9 ..."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from swdual.errors import InputError
from swdual.registry import unknown
from swdual.sequences.alphabet import ALPHABETS, Alphabet
from swdual.text.messages import quote

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_WINDOW = 10_000
"""Letters of a window of SEG, at most; others have 12."""

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9}", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)


class Parameter(NamedTuple):
    """A number that a method takes: its name, default and range, and whether it is whole."""

    name: str
    default: float
    minimum: float
    maximum: float
    is_whole: bool = False


class Method(NamedTuple):
    """A method of masking: its parameters, and the names of the alphabets that it is for."""

    parameters: tuple[Parameter, ...]
    alphabets: tuple[str, ...]

    @property
    def defaults(self) -> tuple[float, ...]:
        """The default of each parameter."""
        return tuple(each.default for each in self.parameters)


METHODS = {
    "none": Method((), ("prot", "nucl")),
    "seg": Method(
        (
            Parameter("window", 12, 1, MAX_WINDOW, is_whole=True),
            Parameter("locut", 2.2, 0, math.inf),
            Parameter("hicut", 2.5, 0, math.inf),
        ),
        ("prot",),
    ),
    "dust": Method(
        (
            Parameter("level", 20, 2, 64, is_whole=True),
            Parameter("window", 64, 8, 64, is_whole=True),
            Parameter("linker", 1, 1, 32, is_whole=True),
        ),
        ("nucl",),
    ),
    "tantan": Method((Parameter("threshold", 0.5, 0, 1),), ("prot", "nucl")),
}
"""What masks letters. The ranges of dust are those in which dustmasker obeys its options."""

STORED_MASKS = STORED, LOWER_CASE, FILE = "stored", "lcase", "file"
"""Names of masks of a database that are not methods: its only mask, letters in lower case, and the
intervals of a file."""

BLAST_PREFIX = "blast:"
"""What the names of masks begin with that a BLAST database holds, and that are not methods."""

DEFAULT_METHODS = {"prot": "seg", "nucl": "dust"}
"""BLAST's method for each alphabet."""


@dataclass(frozen=True)
class Mask:
    """A method of masking with its parameters; `parse_mask` makes one.

    Parameters
    ----------
    name
        A key of `METHODS`.
    parameters
        Its numbers: window, locut and hicut; level, window and linker; or threshold.

    >>> str(Mask("seg", (12, 2.2, 2.5)))
    'seg:12,2.2,2.5'
    """

    name: str
    parameters: tuple[float, ...] = ()

    def __str__(self) -> str:
        numbers = ",".join(f"{number:g}" for number in self.parameters)
        return f"{self.name}:{numbers}" if numbers else self.name

    @property
    def alphabet(self) -> Alphabet | None:
        """The type of sequences that the method masks; None if it masks both."""
        kinds = METHODS[self.name].alphabets
        return ALPHABETS[kinds[0]] if len(kinds) == 1 else None

    def require(self, alphabet: Alphabet, option: str) -> None:
        """Check that the method masks such sequences.

        Parameters
        ----------
        alphabet
            Of the sequences.
        option
            The parameter that names the mask, for the message.

        Raises
        ------
        InputError
            If it does not; the message names those that do.
        """
        if alphabet.name not in METHODS[self.name].alphabets:
            others = [name for name, each in METHODS.items() if alphabet.name in each.alphabets]
            (kind,) = METHODS[self.name].alphabets
            raise InputError(
                f"`{option}` is {self}, but {self.name} masks {ALPHABETS[kind].plural}, and these "
                f"are {alphabet.plural}; use {', '.join(others[:-1])} or {others[-1]}"
            )

    def find(self, codes: bytes, alphabet: Alphabet) -> NDArray[np.int64]:
        """Return the intervals of a sequence that are masked.

        Parameters
        ----------
        codes, alphabet
            The sequence; the alphabet is one that `require` accepts.

        Returns
        -------
        (intervals, 2) first letters, and the letters behind the last ones, from 0: sorted and
        disjoint.
        """
        import numpy as np

        from swdual.masking import dust, seg, tantan

        if self.name == "seg":
            window, locut, hicut = self.parameters
            return seg.find_low_complexity(codes, int(window), locut, hicut)
        if self.name == "dust":
            level, window, linker = map(int, self.parameters)
            return dust.find_low_complexity(codes, level, window, linker)
        if self.name == "tantan":
            return tantan.find_repeats(codes, alphabet, *self.parameters)
        return np.empty((0, 2), np.int64)

    def mark(
        self,
        codes: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        alphabet: Alphabet,
        mark: int,
        marked: NDArray[np.uint8],
    ) -> None:
        """Mark the letters of several sequences that are masked.

        Parameters
        ----------
        codes, starts, lengths
            Codes of all sequences, and (sequences,) where each begins and how long it is.
        alphabet
            One that `require` accepts.
        mark, marked
            The mark, a power of two, is set in the bytes of `marked` that stand for such letters.
        """
        import numpy as np

        from swdual.masking import dust, seg, tantan

        longest = int(lengths.max(initial=0))
        intervals = np.empty(((longest + 1) // 2, 2), np.int64)
        if self.name == "seg":
            window, locut, hicut = int(self.parameters[0]), *self.parameters[1:]
            work = np.empty(seg.count_work(longest), np.int64)
            parameters = (window, float(locut), float(hicut))
            tables = seg.entropy_terms(window), seg.log_factorials(), work, intervals
            seg.mark_seg(codes, starts, lengths, parameters, *tables, mark, marked)
        elif self.name == "dust":
            level, window, linker = map(int, self.parameters)
            work = np.empty(dust.COUNT_WORK, np.int64)
            whole = (level, window, linker)
            dust.mark_dust(codes, starts, lengths, whole, work, intervals, mark, marked)
        elif self.name == "tantan":
            period = tantan.MAX_PERIOD[alphabet.name]
            numbers = np.empty(tantan.count_work(longest, period))
            ratios = tantan.likelihood_ratios(alphabet)
            pair = (period, float(self.parameters[0]))
            space = ratios, numbers, intervals
            tantan.mark_tantan(codes, starts, lengths, pair, *space, mark, marked)


def parse_mask(
    text: str, option: str, method: str | None = None, others: Iterable[str] = ()
) -> Mask:
    """Return the mask that an option asks for.

    Parameters
    ----------
    text
        The name of a method, alone or with all of its parameters.
    option
        The parameter that the text was given for, for messages.
    method
        What BLAST's spellings "yes" and "12 2.2 2.5" stand for, if they are allowed.
    others
        Names that the option takes besides, for messages.

    Raises
    ------
    InputError
        If there is no such method, or it cannot have such parameters.

    >>> parse_mask("tantan", "mask"), parse_mask("10 1.8 2.1", "seg", "seg")
    (Mask(name='tantan', parameters=(0.5,)), Mask(name='seg', parameters=(10.0, 1.8, 2.1)))
    """
    name, colon, rest = text.strip().partition(":")
    words = rest.split(",") if colon else []
    if method is not None and not colon:
        if name in ("yes", "no"):
            name = method if name == "yes" else "none"
        elif name[:1].isdigit():
            name, words = method, name.split()
    if name not in METHODS:
        raise InputError(f"`{option}`: {unknown('method', name, (*METHODS, *others))}")
    wanted = METHODS[name].parameters
    if not words and not colon:
        return Mask(name, METHODS[name].defaults)
    if len(words) != len(wanted):
        names = ", ".join(each.name for each in wanted)
        needed = f"takes {names}, such as {Mask(name, METHODS[name].defaults)}"
        raise InputError(
            f"`{option}` is {quote(text)}, but {name} {needed if wanted else 'takes no numbers'}"
        )
    numbers = []
    for word, each in zip(words, wanted, strict=True):
        word = word.strip()
        pattern = _WHOLE if each.is_whole else _NUMBER
        number = float(word) if pattern.fullmatch(word) else math.nan
        if not each.minimum <= number <= each.maximum:
            kind = "a whole number" if each.is_whole else "a number"
            most = "" if each.maximum == math.inf else f" to {each.maximum:g}"
            raise InputError(
                f"`{option}` is {quote(text)}, but the {each.name} of {name} is {kind} from "
                f"{each.minimum:g}{most}, such as {each.default:g}"
            )
        numbers.append(number)
    if name == "seg" and numbers[1] > numbers[2]:
        raise InputError(
            f"`{option}` is {quote(text)}, but locut ({numbers[1]:g}) may not be above hicut "
            f"({numbers[2]:g}); exchange them"
        )
    return Mask(name, tuple(numbers))
