"""Schemes that tests of the kernels share, and how they are run over kernels and tiles."""

from __future__ import annotations

import os

import numpy as np
import pytest

from kernels.batch import NEVER, PAD, Scheme
from swdual.sequences import matrices

PAIRS = int(os.environ.get("SWDUAL_KERNEL_PAIRS", "240"))
"""Random pairs for each configuration."""


def over(configurations):
    """Run a test for each kernel and tile of a list."""
    names = [kernel.expression(tile) for kernel, tile in configurations]
    return pytest.mark.parametrize(("kernel", "tile"), configurations, ids=names)


def scheme_of(scores, gap_first, gap_next):
    """Return a scheme of some scores, in which PAD aligns with nothing."""
    matrix = np.array(scores, np.int32)
    matrix[PAD] = matrix[:, PAD] = NEVER
    return Scheme(matrix, gap_first, gap_next)


def identity(match, mismatch, gap_first, gap_next):
    return scheme_of(np.where(np.eye(32), match, mismatch), gap_first, gap_next)


def blosum62():
    scores = matrices.load("BLOSUM62").scores
    matrix = np.full((32, 32), -4)
    matrix[: len(scores), : len(scores)] = scores
    return scheme_of(matrix, 12, 1)
