"""Signs that a file or project is for one vendor's GPUs, whatever the code at hand could do elsewhere."""

from __future__ import annotations

import re

from torchmigrate.api import Context

_LIBRARIES = re.compile(
    rb"\b(?:triton\w*|cupy|jax|pynvml|vllm|sglang|megatron|transformer_engine|apex|deepspeed|tensorrt|flash_attn|flashinfer"
    rb"|cutlass|deep_gemm|onnxruntime|colossalai|pycuda|tilelang|spconv|torchsparse|MinkowskiEngine|tinycudann|nvdiffrast|mamba_ssm"
    rb"|causal_conv1d|isaacgym|linklink|cpp_extension|nvtx|nccl|get_device_capability|intel_extension_for_pytorch|ipex\w*|bigdl"
    rb"|torch_npu|habana_frameworks|torchrec|fbgemm_gpu|ProcessGroupNCCL)\b"
)
"""Libraries for one kind of device, and functions that ask which kind it is."""

_KERNELS = {" .cu .cuh ": r"__global__"}
_CUDA_SIGNS = (
    (("cpp_extension",), ("CUDAExtension",)),
    (("pynvml",), (r"(?m)^\s*(?:import|from)\s+pynvml\b",)),
)
"""Words and patterns of code that builds CUDA kernels, or asks NVIDIA's driver."""
_TRITON = (("triton",), (r"@triton\.jit\b",))


def needs_library(ctx: Context) -> bool:
    """Return whether the file names a library for one kind of device."""
    return bool(_LIBRARIES.search(ctx.source.text))


def has_triton_kernels(ctx: Context) -> bool:
    """Return whether the project has Triton kernels, so that its graphs were written for the devices these run on."""
    return bool(ctx.project.find_spellings(_TRITON, beside=""))


def has_cuda_kernels(ctx: Context) -> bool:
    """Return whether the project contains or builds CUDA kernels, or asks NVIDIA's driver."""
    return any(ctx.search_elsewhere(_KERNELS)) or bool(ctx.project.find_spellings(*_CUDA_SIGNS, beside=""))
