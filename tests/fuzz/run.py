"""Fuzz one reader, guided by the branches that inputs take (needs ``pip install '.[fuzz]'``).

    python tests/fuzz/run.py fasta --seconds 3600 --corpus corpus/fasta

What was found before is kept in the corpus and begun with the next time. An input that ends in
anything but success or an explained error is written to the current folder as ``crash-...`` and
ends the run.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import random
import re
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).parent.parent
MAX_INPUT_LENGTH = 1 << 14
MAX_SECONDS = 10
MAX_MEMORY = 12_288
"""Bytes of an input, seconds that one may take, and MiB of the process."""


def modules():
    """Return all modules of swdual, and those with kernels, which cannot be compiled with counters.

    What needs packages for a GPU is left out.
    """
    root = TESTS.parent
    texts = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): text
        for path in sorted((root / "swdual").rglob("*.py"))
        if "cupy" not in (text := path.read_text()) and path.stem != "__main__"
    }
    compiled = re.compile(r"^@(native|kernel)|numba", re.MULTILINE)
    kernels = [name for name, text in texts.items() if compiled.search(text)]
    return list(texts), kernels


def main():
    """Read the arguments, prepare the corpus and run."""
    sys.path[:0] = [str(TESTS), str(TESTS.parent)]
    import atheris
    import fuzz.targets

    targets = [module.name for module in pkgutil.iter_modules(fuzz.targets.__path__)]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=targets)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--timeout", type=int, default=MAX_SECONDS, help="Of one input.")
    parser.add_argument("--replay", type=Path, nargs="*", help="Only try these inputs.")
    given = parser.parse_args()

    names, kernels = modules()
    with atheris.instrument_imports(include=["swdual", "tomllib"], exclude=kernels):
        for name in names:
            importlib.import_module(name)
    module = importlib.import_module(f"fuzz.targets.{given.target}")
    warnings.simplefilter("error")
    if given.replay is not None:
        for path in given.replay:
            module.target(path.read_bytes())
        return
    given.corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(module.seeds()):
        module.target(seed)  # also compiles what Numba has to
        (given.corpus / f"seed-{number:03}").write_bytes(seed)
    options = [
        f"-max_total_time={given.seconds}",
        f"-max_len={MAX_INPUT_LENGTH}",
        f"-timeout={given.timeout}",
        f"-rss_limit_mb={MAX_MEMORY}",
        "-print_final_stats=1",
    ]

    def changed(data, most, seed):
        """Return an input with a change that libFuzzer makes, or one that knows the format."""
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return atheris.Mutate(data, most)
        return module.mutated(data, [data], rng)[:most]

    own = {"custom_mutator": changed} if hasattr(module, "mutated") else {}
    atheris.Setup([sys.argv[0], *options, str(given.corpus)], module.target, **own)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
