"""GPUs of NVIDIA's, compute capability 7.5 and later: exact scores from kernels in CUDA C++."""

from swdual.backends.cuda.availability import devices, facts, why_not
from swdual.backends.cuda.scorer import CudaScorer, bind

__all__ = ["CudaScorer", "bind", "devices", "facts", "why_not"]
