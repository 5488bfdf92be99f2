"""Patterns for torch's indexes, archives, images, variables and modules, and for the options of installers."""

from __future__ import annotations

import re

_INSERTION = (
    r"\$\{\{[^{}]*\}\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{env:[^{}]*\}|\{\w+\}"
)
_URL_CHARACTER = rf"(?:{_INSERTION}|\$\w+|<\w+>|[\w.~:/?#@!&*+=%-])"
INDEX_URL = re.compile(
    rf"(?:https?://{_URL_CHARACTER}*?|//)?(?:download(?:-r2)?\.pytorch\.org/whl|/pytorch-wheels)(?:/{_URL_CHARACTER}*)?",
    re.ASCII,
)
"""The URL of an index of torch's builds, or of a mirror of it."""

LIBTORCH = re.compile(rf"https?://download(?:-r2)?\.pytorch\.org/libtorch/{_URL_CHARACTER}+?\.zip", re.ASCII)
"""The URL of an archive of torch's C++ library."""

BUILD_PAGE = re.compile(
    rf"https?://(?:(?:data\.pyg\.org|(?:data\.)?pytorch-geometric\.com)/whl|data\.dgl\.ai/wheels(?:-test)?)/torch-{_URL_CHARACTER}+\.html",
    re.ASCII,
)
"""The page with the wheels that PyG or DGL build for one torch and CUDA."""

_WATCHED = (
    r"(?:(?<=:-)|(?<![\w.-]))(?P<repository>nvidia/cuda|(?:pytorch|nvidia|runpod)/pytorch|r8\.im/cog-base)"
)
REPOSITORY = re.compile(rf"{_WATCHED}\Z")
IMAGE = re.compile(
    rf"{_WATCHED}:(?P<tag>(?:{_INSERTION}|\$\w+|[\w.-])+)(?P<digest>@sha256:\w+)?",
    re.ASCII,
)

WATCHED_VARIABLE = re.compile(
    r"TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES|CUDA_VERSION|TORCH_DISTRIBUTED_USE_TORCHCOMMS"
    r"|MACOSX_DEPLOYMENT_TARGET|CIBW_MANYLINUX_\w+_IMAGE|PYTORCH_CUDA_ALLOC_CONF"
    r"|NCCL_(?:ASYNC_ERROR_HANDLING|BLOCKING_WAIT|DESYNC_DEBUG|ENABLE_TIMING)"
    r"|TORCH_NCCL_(?:TRACE_BUFFER_SIZE|TRACE_CPP_STACK|DEBUG_INFO_TEMP_FILE)"
)
"""The environment variables that rules check."""

TORCH_MODULE = re.compile(
    r"(?:(?<![\w-])-m[\"',\s\\]+|^[ \t]*-[ \t]+[\"']?(?=[\w.]+[\"']?[ \t]*$))(?P<name>torch\.distributed\.launch)(?![\w.-])",
    re.MULTILINE,
)
"""A module of torch's that a command runs: after ``-m``, or as the only word of a YAML item."""

INDEX_OPTIONS = {
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--default-index": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "--index": "--extra-index-url",
    "--find-links": "--find-links",
    "-f": "--find-links",
    "--torch-backend": "--torch-backend",
}
"""The options of pip and uv for indexes → their name in `Reference.option`."""

INCLUDE_OPTIONS = {
    **dict.fromkeys(("-r", "--requirement", "-c", "--constraint"), "{}"),
    **dict.fromkeys(("-e", "--editable"), "{}/"),
}
"""The options of pip and uv that include a list or a project → the form of their value in `Environment.includes`."""

CONDA_REQUIREMENT = re.compile(
    r"(?:(?:[\w./-]*:)?[\w./-]*:)?(?P<name>[\w.-]+?)[ \t]*(?P<version>(?:[=<>!~]+(?:[ \t]+(?=[\d*]))?|[ \t]\d)"
    r"[^\s#]*(?:[ \t]*,[ \t]*[=<>!~]*[ \t]*[^\s#]+)*)?"
    r"(?:[ \t]+[\w*.-]+)?",
    re.ASCII,
)
"""A conda match specification: ``channel:namespace:name=version=build``; the namespace may be empty, and the channel missing."""
