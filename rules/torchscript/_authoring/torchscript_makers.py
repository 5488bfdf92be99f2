"""The symbols that make and load TorchScript, and whether a project still does so."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import takewhile

from torchmigrate.api import Context, Kind
from torchmigrate.project.mentions import Mention

SCRIPTS = ("torch.jit.script", "torch.jit._script.script", "torch.jit._script._script_impl")
METHODS = ("torch.jit.script_method", "torch.jit._script.script_method")
UNITS = ("torch.jit.CompilationUnit", "torch.jit._script.CompilationUnit", "torch._C.CompilationUnit")
TRACES = ("torch.jit.trace", "torch.jit._trace.trace", "torch.jit._trace._trace_impl")
TRACE_MODULES = ("torch.jit.trace_module", "torch.jit._trace.trace_module")
FREEZES = (
    *("torch.jit.freeze", "torch.jit._freeze.freeze"),
    *("torch.jit.run_frozen_optimizations", "torch.jit._freeze.run_frozen_optimizations"),
)
OPTIMIZES = ("torch.jit.optimize_for_inference", "torch.jit._freeze.optimize_for_inference")
MOBILE_OPTIMIZERS = ("torch.utils.mobile_optimizer.optimize_for_mobile",)
LOADING = ("torch.jit.load", "torch.jit._serialization.load")
BASES = ("torch.jit.ScriptModule", "torch.jit._script.ScriptModule")

TRACING = (*TRACES, *TRACE_MODULES)
E3NN = tuple(f"e3nn.util.jit.{name}" for name in ("script", "compile", "trace", "trace_module"))
"""Functions of e3nn that script or trace a module after its parts. https://docs.e3nn.org/en/stable/api/util/jit.html"""
AUTHORING = (*SCRIPTS, *METHODS, *UNITS, *TRACING, ".to_torchscript", *E3NN)
"""The symbols that compile the project's own Python to TorchScript.

`torch.jit.load` is not among them: a loaded file brings compiled code, which reads none of the project's markers.
"""
ASKS = (*AUTHORING, *BASES, *LOADING)
"""The symbols that a rule lists in its ``asks`` to call the functions below."""

INERT = (Kind.GUARD, Kind.ISINSTANCE, Kind.ANNOTATION, Kind.STRING)

SYMBOLIC = ("torch.fx.symbolic_trace", "torch.fx._symbolic_trace.symbolic_trace")
IF_TRACING = (
    *("torch.jit.is_tracing", "torch.jit._trace.is_tracing", "torch._C._is_tracing"),
    "torch.jit.script_if_tracing",
)
TRACES_ASKS = (*TRACING, ".to_torchscript", *SYMBOLIC, *IF_TRACING, "torch.onnx.export")
"""The symbols that a rule lists in its ``asks`` to call the functions below that are about tracing."""


def find_traces(ctx: Context) -> Iterator[Mention]:
    """Find the places of the checked project that trace in a way that rejects compiled functions.

    Such are tracing to TorchScript, symbolic tracing, and the TorchScript ONNX exporter (the only one before torch
    2.5, and the default one before 2.9).
    """
    yield from ctx.project.find_uses(
        *TRACING, ".to_torchscript", *SYMBOLIC, kinds=(Kind.CALL, Kind.DECORATOR, Kind.REFERENCE)
    )
    for mention in ctx.project.find_uses("torch.onnx.export", kinds=(Kind.CALL,)):
        if dict(mention.constants).get("dynamo", ctx.options.minimum >= (2, 9)) is not True:
            yield mention


def find_nearest(mentions: Sequence[Mention], ctx: Context) -> Mention:
    """Return the mention that is nearest to this file: in the most folders shared with it, then by order."""
    here = ctx.source.path.split(os.sep)
    nearest = min({mention.path for mention in mentions}, key=lambda path: _measure_distance(path, here))
    return min((mention for mention in mentions if mention.path == nearest), key=lambda one: one.line)


def _measure_distance(path: str, here: Sequence[str]) -> tuple[int, str]:
    steps = zip(here, path.split(os.sep), strict=False)
    return -sum(1 for _ in takewhile(lambda step: step[0] == step[1], steps)), path


def makes_torchscript(ctx: Context) -> bool:
    """Return whether anything in the checked project scripts or traces."""
    kinds = frozenset(Kind) - frozenset(INERT)
    return bool(
        ctx.project.find_uses(*AUTHORING, kinds=kinds) or ctx.project.find_uses(*BASES, kinds=(Kind.BASE,))
    )
