"""What binds a file or a project to one vendor's GPUs, whatever the code at hand could do elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.api import Context

_LIBRARIES = re.compile(
    rb"\b(?:triton\w*|cupy|jax|pynvml|vllm|sglang|megatron|transformer_engine|apex|deepspeed|tensorrt|flash_attn|flashinfer"
    rb"|cutlass|deep_gemm|onnxruntime|colossalai|pycuda|tilelang|spconv|torchsparse|MinkowskiEngine|tinycudann|nvdiffrast|mamba_ssm"
    rb"|causal_conv1d|isaacgym|linklink|cpp_extension|nvtx|nccl|get_device_capability|intel_extension_for_pytorch|ipex\w*|bigdl"
    rb"|torch_npu|habana_frameworks|torchrec|fbgemm_gpu|ProcessGroupNCCL)\b"
)
"""Libraries for one kind of device, and what asks for its kind."""

_KERNELS = {" .cu .cuh ": r"__global__"}
_BOUND = (
    (("cpp_extension",), ("CUDAExtension",)),
    (("pynvml",), (r"(?m)^\s*(?:import|from)\s+pynvml\b",)),
)
"""What some file of a project says that is for NVIDIA's GPUs."""
_TRITON = (("triton",), (r"@triton\.jit\b",))


def needs_library(ctx: Context) -> bool:
    """Whether the file names a library that is for one kind of device."""
    return bool(_LIBRARIES.search(ctx.source.text))


def has_triton(ctx: Context) -> bool:
    """Whether the project has kernels in Triton: what it captures was written for the devices that those run on."""
    return bool(ctx.project.spelling(_TRITON, beside=""))


def is_bound(ctx: Context) -> bool:
    """Whether the project has kernels in CUDA, builds some, or asks NVIDIA's driver."""
    return any(ctx.elsewhere(_KERNELS)) or bool(ctx.project.spelling(*_BOUND, beside=""))
