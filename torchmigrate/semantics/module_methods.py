"""The methods of modules that return the module itself, and the results that are ScriptModules."""

from __future__ import annotations

_JIT = ("script", "trace", "trace_module", "freeze", "optimize_for_inference", "load")
SCRIPTED_RESULTS = (
    *(f"torch.jit.{maker}()" for maker in _JIT),
    "torch.utils.mobile_optimizer.optimize_for_mobile()",
)
"""The results of the functions that return a ScriptModule."""
MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_"])
MODES = frozenset({"eval", "train"})
RETURNING_SELF = MOVES | MODES
