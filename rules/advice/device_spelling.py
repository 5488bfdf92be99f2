"""A function of one device's module, which `torch.accelerator` offers for all devices.

Why: `torch.accelerator` works for whichever accelerator torch was built for: CUDA, ROCm, XPU, MPS, or an out-of-tree one.
Code that calls `torch.cuda` for these few functions runs on one kind only.

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.cuda.synchronize()
    →
    device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    torch.accelerator.synchronize()

What differs: without an accelerator, the functions of `torch.accelerator` raise, except `device_count` and `is_available`;
the memory functions of `torch.cuda` do nothing or return 0. Guard them with `torch.accelerator.is_available()`.

Needs: torch 2.6; 2.7 for `check_available`, 2.9 for the memory functions, 2.10 for `get_memory_info`.

Brings: the same code on other accelerators; nothing gets faster.

When not: the code is for this device only. Reported are choices between several accelerators, and calls in files that name
another accelerator as well; with `--device-agnostic` also those that know one accelerator and the CPU, and the memory functions.
Not reported are

- functions, classes, files and folders named after the device, and tests;
- code below a test of the device's name or of a switch named after it, or beside a branch for another device (unless the
  branches only choose a device);
- files that use features of this device only (`torch.cuda.Event`, NVTX, NCCL, Triton, the state of CUDA's random numbers),
  that name `"cuda"` or `"cuda:0"` unconditionally, or that already use `torch.accelerator`;
- functions with an unconditional `model.cuda()`, and files with one that depends on no test of a device or a switch;
- files that import a module beside them whose default device is CUDA, or one that opens the process group on NCCL;
- files that count devices for `CUDA_VISIBLE_DEVICES`, that refuse to run without CUDA, or choose it by a switch of their own;
- projects with their own CUDA kernels;
- functions in files that neither ask for the kind of a device, nor whether one is available, nor name the CPU.

A choice of a device is not reported in files with float64, FlexAttention or CTranslate2, which MPS lacks, in files that
mention MPS in a comment, or in files that import such files.

Source: https://docs.pytorch.org/docs/stable/accelerator.html; torch 2.6, 2.7, 2.9, 2.10 and 2.15 wheels:
torch/accelerator/__init__.py, torch/accelerator/memory.py.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.model.torch_versions import Version
from torchmigrate.project.import_closure import find_imported_files

from ._analyses import device_choices
from ._analyses.advice_findings import create_advice
from ._analyses.device_signs import has_cuda_kernels, needs_library, serves_several
from ._analyses.enclosing_nodes import enclosing_body, enclosing_names, walk_body

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
"""The name of each function in `torch.accelerator`, and the first torch that has it."""

_SYMBOLS = {
    f"torch.{device}.{name}": new
    for device in ("cuda", "xpu")
    for name, new in _NAMES.items()
    if (device, name) != ("xpu", "set_stream")
}

rule = Rule(
    code="AD912",
    symbols=(*_SYMBOLS, *device_choices.DEVICE_QUERIES),
    pairs=dict.fromkeys((*_SYMBOLS, *device_choices.DEVICE_QUERIES), ()),
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
"""Functions that do nothing on a machine without CUDA, but raise in `torch.accelerator` without an accelerator."""

_MEMORY = _QUIET | {"reset_peak_memory_stats", "get_memory_info"}
"""Functions that code for several accelerators can do without on all but one: they change no result."""

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
"""Code that is for one kind of device only."""

_SEVERAL_KINDS = re.compile(
    rb"is_available\(|[\"']cpu[\"']|\bbackends\.mps\b|\.is_cuda\b|\.type\s*[!=]=|startswith\(\s*[\"'](?:cuda|xpu)|\bif\s+\w+\.cuda\b"
)
"""Code that also runs on another kind of device, since it asks for the kind, or names the CPU."""

_AFTER_QUERY = re.compile(
    rb"cuda\.is_available\(\)[ \t]*:[ \t]*(?:#[^\n]*)?\s*(?:return\b|[\w.]+[ \t]*=)\s*(?:torch\.device\(\s*)?[\"']cuda[\"'](?!\s*,)"
)
"""CUDA's name right after a test whether CUDA is available."""

_USES_ACCELERATOR = re.compile(rb"torch\.accelerator\b|hasattr\(\s*torch\s*,\s*[\"']accelerator[\"']")

_NOT_EVERYWHERE = re.compile(
    rb"torch\.(?:float64|double|complex128)\b|\.double\(\)|dtype\s*=\s*[\"'](?:float64|double)[\"']|\bflex_attention\b"
    rb"|\b(?:import|from)[ \t]+(?:faster_whisper|ctranslate2|onnxruntime|insightface)\b|\bCUDAExecutionProvider\b|#[^\n]*\b(?i:mps)\b"
)
"""Features that some accelerator lacks, so that code which uses the CPU today would fail on it: MPS has no float64,
CTranslate2 and ONNX Runtime support only CUDA; and devices that a comment leaves out."""
_LACKED = (
    "float64",
    "double",
    "complex128",
    "flex_attention",
    "faster_whisper",
    "ctranslate2",
    "mps",
    "MPS",
)
"""Words of which every file that matches `_NOT_EVERYWHERE` contains one."""

_ASKING = re.compile(r"(?i)cuda|gpu|device|available")

_OTHER_DEVICE = re.compile(r"\b(?:is_)?(?:mps|npu|mlu|hpu|musa)(?:\b|_)")

_OWN_NAME = re.compile(r"(?i)cuda|xpu|rocm|hip(?![a-z])|nvidia")
_OWN_FOLDER = re.compile(r"(?i)cuda|xpu|ipex|rocm|hip|nvidia|nccl")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    *_, folder, name = ["", *ctx.source.path.replace("\\", "/").split("/")]
    if any(_OWN_NAME.search(own) for own in (name, *enclosing_names(use))) or _OWN_FOLDER.fullmatch(folder):
        return
    if _is_for_one_device(use, ctx):
        return
    if ctx.uses.compute_once((rule.code, "of one kind"), lambda: _is_of_one_kind(ctx)) or has_cuda_kernels(
        ctx
    ):
        return
    if any(_moves_to_cuda(node) for node in _walk_unguarded(enclosing_body(use, ctx))):
        return
    if use.symbol in device_choices.DEVICE_QUERIES:
        yield from _check_choices(use, ctx)
        return
    if _is_among_devices(use, ctx):
        return
    new, since = _SYMBOLS[use.symbol]
    if new in _MEMORY and not ctx.options.device_agnostic:
        return
    if not _SEVERAL_KINDS.search(ctx.source.text) or not serves_several(use, ctx):
        return
    if new == "device_count" and b"CUDA_VISIBLE_DEVICES" in ctx.source.text:
        return
    raises = "; guard the call, since it fails on machines without an accelerator" if new in _QUIET else ""
    message = f"`{{symbol}}` works with one kind of device only; use `torch.accelerator.{new}`, which works with any accelerator{raises}"
    yield from create_advice(use, ctx, message, since=since)


def _check_choices(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield findings for the choices of a device that ask for one kind, or for several in turn."""
    if ctx.uses.compute_once((rule.code, "not everywhere"), lambda: _is_not_everywhere(ctx)):
        return
    for test in device_choices.find_tests(use, ctx):
        choice = device_choices.find_choice(test, use, ctx)
        if choice is None or (len(choice.kinds) == 1 and not ctx.options.device_agnostic):
            continue
        if len(choice.kinds) > 1 or not _is_among_devices(use, ctx):
            found = " and ".join(kind.upper() for kind in choice.kinds)
            message = f"this choice finds only {found}; use `{choice.instead}` for any accelerator"
            yield from create_advice(use, ctx, message, at=None if test is use.call else test, since=(2, 7))


def _is_of_one_kind(ctx: Context) -> bool:
    """Return whether the file is for one kind of device, or already uses `torch.accelerator`."""
    text = ctx.source.text
    named = _ONE_KIND.search(_AFTER_QUERY.sub(b"", text)) or _USES_ACCELERATOR.search(text)
    return bool(
        named
        or needs_library(ctx)
        or _helps_one_kind(ctx)
        or _imports_nccl_setup(ctx)
        or (b".cuda(" in text and _moves_unconditionally(ctx.source.syntax_tree))
    )


def _is_not_everywhere(ctx: Context) -> bool:
    """Return whether the file, or a module of the project that it imports, needs a feature that some accelerator lacks."""
    return bool(
        _NOT_EVERYWHERE.search(ctx.source.text)
        or ctx.project.find_spellings(
            *(((word,), (_NOT_EVERYWHERE.pattern.decode(),)) for word in _LACKED),
            beside="",
            among=find_imported_files(ctx.project, os.path.abspath(ctx.source.path), ctx.source.text),
        )
    )


_CUDA_DEFAULT = ((), (r"\bdevice\b[^=,()\n]{0,40}=\s*[\"']cuda[\"']\s*[,)]",))
"""The pattern of a parameter that is CUDA by default."""


def _helps_one_kind(ctx: Context) -> bool:
    """Return whether the file asks for no device and imports a module beside it whose default device is CUDA."""
    if b"is_available" in ctx.source.text:
        return False
    folder = os.path.dirname(os.path.abspath(ctx.source.path))
    beside = [
        os.path.join(folder, f"{node.module}.py")
        for node in ctx.source.syntax_tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and "." not in node.module
    ]
    return bool(beside and ctx.project.find_spellings(_CUDA_DEFAULT, beside="", among=beside))


_NCCL_GROUP = (("init_process_group",), (r"\binit_process_group\(\s*(?:backend\s*=\s*)?[\"']nccl[\"']",))
"""The pattern of a process group that is opened on NCCL only."""


def _imports_nccl_setup(ctx: Context) -> bool:
    """Return whether a module of the project that the file imports opens the process group on NCCL only."""
    among = find_imported_files(ctx.project, os.path.abspath(ctx.source.path), ctx.source.text)
    return bool(among and ctx.project.find_spellings(_NCCL_GROUP, beside="", among=among))


def _walk_unguarded(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes in some statements that are not below a test whether a device is available."""
    asking = [
        node
        for node in walk_body(body)
        if isinstance(node, ast.If) and "is_available" in ast.unparse(node.test)
    ]
    guarded = {id(node) for test in asking for node in walk_body(test.body)}
    return (node for node in walk_body(body) if id(node) not in guarded)


def _moves_unconditionally(tree: ast.Module) -> bool:
    """Return whether something is moved to CUDA without a test of a device or a switch around it."""
    asking = [node for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp))]
    guarded = {
        id(node) for test in asking if _ASKING.search(ast.unparse(test.test)) for node in ast.walk(test)
    }
    return any(_moves_to_cuda(node) and id(node) not in guarded for node in ast.walk(tree))


def _moves_to_cuda(node: ast.AST) -> bool:
    """Return whether a node moves a tensor or a module to CUDA: ``model.cuda()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cuda"


def _is_for_one_device(use: Use, ctx: Context) -> bool:
    """Return whether a test around or beside a use, or an assertion in its function, names the device's kind."""
    tests = [
        outer.test for outer in use.place.enclosing_statements() if isinstance(outer, (ast.If, ast.While))
    ]
    tests += [parent.test for parent in use.parents if isinstance(parent, ast.IfExp)]
    tests += [side for parent in use.parents if isinstance(parent, ast.BoolOp) for side in parent.values]
    tests += [part.test for part in walk_body(enclosing_body(use, ctx)) if isinstance(part, ast.Assert)]
    return any(_names_kind(part, use, ctx) for test in tests for part in ast.walk(test))


def _is_among_devices(use: Use, ctx: Context) -> bool:
    """Return whether a branch around a use or in its function, or one of their alternatives, is for another kind of device."""
    tests = [outer for outer in use.place.enclosing_statements() if isinstance(outer, ast.If)]
    tests += [other for test in tests for other in test.orelse if isinstance(other, ast.If)]
    tests += [other for other in enclosing_body(use, ctx) if isinstance(other, ast.If)]
    return any(_OTHER_DEVICE.search(ast.unparse(outer.test)) for outer in tests)


def _names_kind(part: ast.AST, use: Use, ctx: Context) -> bool:
    """Return whether a part of a test names a kind of device, in a string or as a switch of the program: ``args.cuda``."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str) and bool(_OWN_NAME.search(part.value))
    if isinstance(part, ast.Name):
        value = ctx.uses.data_flow.find_definition(part, use.place.scope)
        asked = value is not None and "is_available" in ast.unparse(value)
        return not asked and bool(_OWN_NAME.search(part.id)) and not _belongs_to_torch(part, use, ctx)
    if isinstance(part, ast.Attribute):
        return bool(_OWN_NAME.search(part.attr)) and not _belongs_to_torch(part, use, ctx)
    return False


def _belongs_to_torch(part: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a name belongs to torch, as ``torch.cuda`` does, and is no switch of the program."""
    resolved = ctx.resolve_node(part, use)
    return resolved is not None and resolved.names[0].partition(".")[0] == "torch"
