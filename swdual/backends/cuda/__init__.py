"""GPUs of NVIDIA's, compute capability 7.5 and later: exact scores from kernels in CUDA C++.

``driver``, ``availability``
    Which GPUs there are; whether they can be used, and what is missing.
``card``, ``cupy_card``
    A GPU as the host sees it; the same through CuPy.
``kernels``
    Names and limits of the kernels, which are compiled from the folder ``kernels``.
``pieces``, ``memory``
    Targets cut as a GPU needs them; which of them are on the card.
``occupancy``
    Tiles and windows of long queries against few targets.
``query``
    A query: its letters, or the scores of its positions.
``slot``, ``launch``
    The memory of a launch; what it is given.
``pipeline``
    Launches ahead of the calls.
``scorer``
    Scores a query against targets with all of these.
"""

from swdual.backends.cuda.availability import devices, facts, find_model, why_not
from swdual.backends.cuda.scorer import CudaScorer, bind

__all__ = ["CudaScorer", "bind", "devices", "facts", "find_model", "why_not"]
