"""One device's spelling of what `torch.accelerator` does on all of them.

Why: `torch.accelerator` asks whichever accelerator torch was built for: CUDA, ROCm, XPU, MPS, or one outside of torch. Code
that spells `torch.cuda` for these few questions runs on one kind only.

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.cuda.synchronize()
    →
    device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    torch.accelerator.synchronize()

What differs: where there is no accelerator, the functions of `torch.accelerator` raise, but for `device_count` and
`is_available`; those about memory in `torch.cuda` do nothing or say 0 there. Guard them by `torch.accelerator.is_available()`.

Needs: torch 2.6; 2.7 for `check_available`, 2.9 for the functions about memory, 2.10 for `get_memory_info`.

Brings: the same code on other accelerators; nothing gets faster.

When not: the code around is for this device alone. Nothing is said in functions, classes and files that are named after
the device, where a test of the device's name or a switch called after it decides or another branch is for another device (other than in a
choice that asks for one after the other), in files that use what only this device has (`torch.cuda.Event`,
NVTX, NCCL, Triton, the state of CUDA's random numbers), that name `"cuda"` or `"cuda:0"` without asking or know `torch.accelerator` already,
beside a `model.cuda()` and where one stands in the file that nothing asks for, where a module beside it that it imports has CUDA as its default,
where devices are counted for `CUDA_VISIBLE_DEVICES`, where the program refuses to run without CUDA, chooses it by a switch of its own, or
what it imports opens the process group on NCCL, in tests, and in projects with kernels of their own in CUDA.

A device is not chosen anew in files with float64, FlexAttention and CTranslate2, which MPS lacks, where MPS is commented out, nor
in those that import such files.

Source: https://docs.pytorch.org/docs/stable/accelerator.html; torch 2.6, 2.7, 2.9, 2.10 and 2.15 wheels:
torch/accelerator/__init__.py, torch/accelerator/memory.py.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.project.brought import brought

from ._seen import choices
from ._seen.advice import advise
from ._seen.devices import is_bound, needs_library
from ._seen.nodes import body_around, names_around, own

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.versions import Version

_NAMES: dict[str, tuple[str, Version]] = {
    "synchronize": ("synchronize", (2, 6)),
    "set_device": ("set_device_index", (2, 6)),
    "current_device": ("current_device_index", (2, 6)),
    "device_count": ("device_count", (2, 6)),
    "set_stream": ("set_stream", (2, 6)),
    "current_stream": ("current_stream", (2, 6)),
    "empty_cache": ("empty_cache", (2, 9)),
    "memory_allocated": ("memory_allocated", (2, 9)),
    "max_memory_allocated": ("max_memory_allocated", (2, 9)),
    "memory_reserved": ("memory_reserved", (2, 9)),
    "max_memory_reserved": ("max_memory_reserved", (2, 9)),
    "reset_peak_memory_stats": ("reset_peak_memory_stats", (2, 9)),
    "mem_get_info": ("get_memory_info", (2, 10)),
}
"""What the function is called in `torch.accelerator`, and since when."""

_SYMBOLS = {
    f"torch.{device}.{name}": new
    for device in ("cuda", "xpu")
    for name, new in _NAMES.items()
    if (device, name) != ("xpu", "set_stream")
}

rule = Rule(
    code="AD912",
    symbols=(*_SYMBOLS, *choices.ASKED),
    pairs=dict.fromkeys((*_SYMBOLS, *choices.ASKED), ()),
    since=(2, 6),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_PORTABLE = "|".join(
    (*_NAMES, "is_available", "is_initialized", "manual_seed", "manual_seed_all", "OutOfMemoryError", "amp")
)
_QUIET = frozenset(
    {"empty_cache", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"}
)
"""What does nothing on a machine without CUDA, and raises in `torch.accelerator` where there is no accelerator."""

_ONE_KIND = re.compile(
    (
        r"\.to\(\s*[\"'](?:cuda|xpu)|device(?:_type)?[\"']?\s*(?::[^=\n]{1,40}=|[=:])\s*[\"'](?:cuda|xpu)(?![\"']\s*if)"
        r"|[\"'](?:cuda|xpu)[:{](?![^\"'\n]*[\"']\s*if\b)|torch\.device\(\s*[\"'](?:cuda|xpu)[\"']\s*(?:,|\)(?!\s*if\b))"
        rf"|\b(?!backends\b)\w+\.(?:cuda|xpu)\.(?!(?:{_PORTABLE})\b)\w|torch\.version\.(?:cuda|hip)|ProfilerActivity\.(?:CUDA|XPU)"
        r"|\.cuda\(\s*[\w.]+\s*[,)]|\b\w+\.cuda\.\w+\(\s*(?:device\s*=\s*)?[\"']cuda|\bfork_rng\((?![^)\n]*device_type)"
        r"|\b(?!\w*swith\b)\w+\(\s*[\"'](?:cuda|xpu)[\"']\s*[,)](?!\s*if\b)|\b(?:cuda_stream|sycl_queue)\b"
        r"|[\"'](?:cuda|xpu)[\"']\s*if\s(?!\w+\s+else\b|[^\n]{0,80}(?:available|cuda|gpu|device))"
        r"|\bassert\s+\w+\.(?:cuda|xpu)\.is_available\(\)"
        r"|\bif\s+not\s+\w+\.(?:cuda|xpu)\.is_available\(\)\s*:\s*(?:#[^\n]*)?\s*(?:raise\b|sys\.exit\b)"
    ).encode()
)
"""What makes a file one for a single kind of device."""

_ASKED = re.compile(
    rb"cuda\.is_available\(\)[ \t]*:[ \t]*(?:#[^\n]*)?\s*(?:return\b|[\w.]+[ \t]*=)\s*(?:torch\.device\(\s*)?[\"']cuda[\"'](?!\s*,)"
)
"""CUDA's name where it was asked whether there is a device."""

_KNOWN = re.compile(rb"torch\.accelerator\b|hasattr\(\s*torch\s*,\s*[\"']accelerator[\"']")

_NOT_EVERYWHERE = re.compile(
    rb"torch\.(?:float64|double|complex128)\b|\.double\(\)|dtype\s*=\s*[\"'](?:float64|double)[\"']|\bflex_attention\b"
    rb"|\b(?:import|from)[ \t]+(?:faster_whisper|ctranslate2|onnxruntime|insightface)\b|\bCUDAExecutionProvider\b|#[^\n]*\bbackends\.mps\b"
)
"""What some accelerator lacks, so that code which falls back on the CPU today would fail on it: MPS has no float64, CTranslate2
and ONNX Runtime know CUDA alone; and what its author has left out by a comment."""
_LACKED = (
    "float64",
    "double",
    "complex128",
    "flex_attention",
    "faster_whisper",
    "ctranslate2",
    "backends.mps",
)
"""The words without which nothing of that is named."""

_ASKS = re.compile(r"(?i)cuda|gpu|device|available")

_OTHER_DEVICE = re.compile(r"\b(?:is_)?(?:mps|npu|mlu|hpu|musa)(?:\b|_)")

_OWN_NAME = re.compile(r"(?i)cuda|xpu|rocm|hip(?![a-z])|nvidia")
_OWN_FOLDER = re.compile(r"(?i)cuda|xpu|ipex|rocm|hip|nvidia|nccl")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    *_, folder, name = ["", *ctx.source.path.replace("\\", "/").split("/")]
    if any(_OWN_NAME.search(own) for own in (name, *names_around(use))) or _OWN_FOLDER.fullmatch(folder):
        return
    if _is_for_one_device(use, ctx):
        return
    if ctx.uses.once((rule.code, "of one kind"), lambda: _is_of_one_kind(ctx)) or is_bound(ctx):
        return
    if any(_moves(node) for node in _unguarded(body_around(use, ctx))):
        return
    if use.symbol in choices.ASKED:
        yield from _chosen(use, ctx)
        return
    if _is_among_devices(use, ctx):
        return
    new, since = _SYMBOLS[use.symbol]
    if new == "device_count" and b"CUDA_VISIBLE_DEVICES" in ctx.source.text:
        return
    raises = "; it raises where there is none" if new in _QUIET else ""
    yield from advise(
        use, ctx, f"`torch.accelerator.{new}` is `{{symbol}}` on every accelerator{raises}", since=since
    )


def _chosen(use: Use, ctx: Context) -> Iterator[Finding]:
    """Where a device is chosen by asking for one kind, or for several, one after the other."""
    if ctx.uses.once((rule.code, "not everywhere"), lambda: _is_not_everywhere(ctx)):
        return
    for test in choices.tests(use, ctx):
        choice = choices.choice(test, use, ctx)
        if choice is not None and (len(choice.kinds) > 1 or not _is_among_devices(use, ctx)):
            found = " and ".join(kind.upper() for kind in choice.kinds)
            message = f"`{choice.instead}` finds any accelerator, and not {found} alone"
            yield from advise(use, ctx, message, at=None if test is use.call else test, since=(2, 7))


def _is_of_one_kind(ctx: Context) -> bool:
    """Whether the file is for one kind of device, or knows `torch.accelerator` already."""
    text = ctx.source.text
    named = _ONE_KIND.search(_ASKED.sub(b"", text)) or _KNOWN.search(text)
    return (
        bool(named)
        or needs_library(ctx)
        or _helps_one_kind(ctx)
        or _runs_nccl(ctx)
        or (b".cuda(" in text and _moves_unasked(ctx.source.tree))
    )


def _is_not_everywhere(ctx: Context) -> bool:
    """Whether the file, or what it imports of the project, needs what MPS lacks."""
    return bool(
        _NOT_EVERYWHERE.search(ctx.source.text)
        or ctx.project.spelling(
            *(((word,), (_NOT_EVERYWHERE.pattern.decode(),)) for word in _LACKED),
            beside="",
            among=brought(ctx.project, os.path.abspath(ctx.source.path), ctx.source.text),
        )
    )


_MOVED = ((), (r"\bdevice\b[^=,()\n]{0,40}=\s*[\"']cuda[\"']\s*[,)]",))
"""A parameter whose device is CUDA unless somebody says otherwise."""


def _helps_one_kind(ctx: Context) -> bool:
    """Whether the file asks for no device, and a module beside it, which it imports, is for CUDA unless told otherwise."""
    if b"is_available" in ctx.source.text:
        return False
    folder = os.path.dirname(os.path.abspath(ctx.source.path))
    beside = [
        os.path.join(folder, f"{node.module}.py")
        for node in ctx.source.tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and "." not in node.module
    ]
    return bool(beside and ctx.project.spelling(_MOVED, beside="", among=beside))


_GROUP = (("init_process_group",), (r"\binit_process_group\(\s*(?:backend\s*=\s*)?[\"']nccl[\"']",))


def _runs_nccl(ctx: Context) -> bool:
    """Whether what the file imports of the project opens its process group on NCCL, and on nothing else."""
    among = brought(ctx.project, os.path.abspath(ctx.source.path), ctx.source.text)
    return bool(among and ctx.project.spelling(_GROUP, beside="", among=among))


def _unguarded(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """What runs of some statements whether or not a device is available, as far as tests that ask for it tell."""
    asking = [
        node for node in own(body) if isinstance(node, ast.If) and "is_available" in ast.unparse(node.test)
    ]
    guarded = {id(node) for test in asking for node in own(test.body)}
    return (node for node in own(body) if id(node) not in guarded)


def _moves_unasked(tree: ast.Module) -> bool:
    """Whether something is moved to CUDA where no test around asks for a device or a switch."""
    asking = [node for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp))]
    guarded = {id(node) for test in asking if _ASKS.search(ast.unparse(test.test)) for node in ast.walk(test)}
    return any(_moves(node) and id(node) not in guarded for node in ast.walk(tree))


def _moves(node: ast.AST) -> bool:
    """Whether a tensor or a module is moved to CUDA: ``model.cuda()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"


def _is_for_one_device(use: Use, ctx: Context) -> bool:
    """Whether a test of the device's kind stands around or beside a use, or an assertion of it in its function."""
    tests = [outer.test for outer in use.place.ancestors() if isinstance(outer, (ast.If, ast.While))]
    tests += [parent.test for parent in use.parents if isinstance(parent, ast.IfExp)]
    tests += [side for parent in use.parents if isinstance(parent, ast.BoolOp) for side in parent.values]
    tests += [part.test for part in own(body_around(use, ctx)) if isinstance(part, ast.Assert)]
    return any(_names_kind(part, use, ctx) for test in tests for part in ast.walk(test))


def _is_among_devices(use: Use, ctx: Context) -> bool:
    """Whether a use stands in one of several branches, or a function has one, of which another is for another kind of device."""
    tests = [outer for outer in use.place.ancestors() if isinstance(outer, ast.If)]
    tests += [other for test in tests for other in test.orelse if isinstance(other, ast.If)]
    tests += [other for other in body_around(use, ctx) if isinstance(other, ast.If)]
    return any(_OTHER_DEVICE.search(ast.unparse(outer.test)) for outer in tests)


def _names_kind(part: ast.AST, use: Use, ctx: Context) -> bool:
    """Whether a part of a test names a kind of device: in a string, or as a switch of the program's, ``args.cuda``."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str) and bool(_OWN_NAME.search(part.value))
    if isinstance(part, ast.Name):
        value = ctx.uses.flow.definition(part, use.place.scope)
        asked = value is not None and "is_available" in ast.unparse(value)
        return not asked and bool(_OWN_NAME.search(part.id)) and not _is_torch(part, use, ctx)
    if isinstance(part, ast.Attribute):
        return bool(_OWN_NAME.search(part.attr)) and not _is_torch(part, use, ctx)
    return False


def _is_torch(part: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether a name is one of torch's own, as ``torch.cuda`` is, and no switch of the program's."""
    resolved = ctx.resolve(part, use)
    return resolved is not None and resolved.names[0].partition(".")[0] == "torch"
