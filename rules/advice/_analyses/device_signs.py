"""Signs that a file or project is for one vendor's GPUs, whatever the code at hand could do elsewhere."""

from __future__ import annotations

import ast
import re

from torchmigrate.api import Context, Use
from torchmigrate.project.text_search import create_import_pattern

_LIBRARIES = re.compile(
    rb"\b(?:triton\w*|cupy|jax|pynvml|vllm|sglang|megatron|transformer_engine|apex|deepspeed|tensorrt|flash_attn|flashinfer"
    rb"|cutlass|deep_gemm|onnxruntime|colossalai|pycuda|tilelang|spconv|torchsparse|MinkowskiEngine|tinycudann|nvdiffrast|mamba_ssm"
    rb"|causal_conv1d|isaacgym|linklink|cpp_extension|nvtx|nccl|get_device_capability|intel_extension_for_pytorch|ipex\w*|bigdl"
    rb"|torch_npu|habana_frameworks|torchrec|fbgemm_gpu|ProcessGroupNCCL)\b"
)
"""Libraries for one kind of device, and functions that ask which kind it is."""

_ACCELERATORS = frozenset({"cuda", "xpu", "mps", "npu", "mlu", "hpu", "musa", "privateuseone"})
_KERNELS = {" .cu .cuh ": r"__global__"}
_CUDA_SIGNS = (
    (("cpp_extension",), ("CUDAExtension",)),
    (("pynvml",), (create_import_pattern("pynvml"),)),
)
"""Words and patterns of code that builds CUDA kernels, or asks NVIDIA's driver."""
_TRITON = (("triton",), (r"@triton\.jit\b",))


def needs_library(ctx: Context) -> bool:
    """Return whether the file names a library for one kind of device."""
    return bool(_LIBRARIES.search(ctx.source.text))


def serves_several(use: Use, ctx: Context) -> bool:
    """Return whether the file names another accelerator than a use does, or the user asks for code for any of them."""
    own = use.symbol.split(".")[1]
    named = ctx.uses.compute_once(("accelerators",), lambda: _find_accelerators(ctx.source.syntax_tree))
    return ctx.options.device_agnostic or bool(named - {own})


def _find_accelerators(tree: ast.Module) -> frozenset[str]:
    """Return the accelerators that code names in strings, as ``"mps:0"``, and as modules of torch, ``torch.mps``."""
    names = (
        str(node.value).partition(":")[0] if isinstance(node, ast.Constant) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )
    return _ACCELERATORS.intersection(names)


def has_triton_kernels(ctx: Context) -> bool:
    """Return whether the project has Triton kernels, so that its graphs were written for the devices these run on."""
    return bool(ctx.project.find_spellings(_TRITON, beside=""))


def has_cuda_kernels(ctx: Context) -> bool:
    """Return whether the project contains or builds CUDA kernels, or asks NVIDIA's driver."""
    return any(ctx.search_elsewhere(_KERNELS)) or bool(ctx.project.find_spellings(*_CUDA_SIGNS, beside=""))
