"""Whether code is differentiated in a way that torch rejects in compiled code: twice, in batches, or forward.

What is differentiated is followed back from each such call: through variables, and through the arguments of the callers.
All that is called on that way, directly or through others, may be differentiated.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator

from torchmigrate.api import Context
from torchmigrate.project.indexed_file import IndexedFile
from torchmigrate.project.reachable_code import ReachedCode, VisibleCode, find_visible_code
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .value_origins import trace_origins

_SPELLINGS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("create_graph",), (r"\bcreate_graph\s*(?::\s*\w+\s*)?=(?!=)\s*(?!False\b)",)),
    (("is_grads_batched",), (r"\bis_grads_batched\s*=\s*(?!False\b)",)),
    (("gradgradcheck",), (r"\bgradgradcheck\(",)),
    (("vectorize",), (r"\bjacobian\([^\n]*\bvectorize\s*=\s*True",)),
    (("_dual",), (r"\b(?:make_dual|unpack_dual)\(",)),
)
"""The spellings of second derivatives, batched gradients and forward mode; torch 2.13 rejects each in compiled code."""
_FLAGS = frozenset({"create_graph", "is_grads_batched", "vectorize"})
_FORWARD = frozenset({"make_dual", "unpack_dual"})


def find_derivative(definition: ast.AST | None, ctx: Context) -> str | None:
    """Return the place of such a call that may differentiate a function or class of this file; None without one.

    If ``definition`` is None, it may be any code that the call can get at.
    """
    here = os.path.abspath(ctx.source.path)
    for path, first in ctx.project.find_spellings(*_SPELLINGS, beside=""):
        for line, reached in _find_reached_code(path, first, ctx):
            if reached is None or reached.includes(here, definition):
                return f"{ctx.project.get_display_path(path)}:{line}"
    return None


def _find_reached_code(path: str, first: int, ctx: Context) -> list[tuple[int, ReachedCode | None]]:
    """Return the line of each such call in a file, and the code that it may differentiate; None where that is unknown."""
    project = ctx.project
    code = find_visible_code(project, path)
    if code is None:
        return [(first, None)]
    file = code.files[path]
    return project.compute_once(
        (_find_reached_code, path),
        lambda: [
            (call.lineno, code.collect_reached_code(_find_roots(call, file, code)))
            for call in walk_nodes(file.tree)
            if isinstance(call, ast.Call) and _takes_derivative(call)
        ],
    )


def _takes_derivative(call: ast.Call) -> bool:
    if last_name(call.func) in ("gradgradcheck", *_FORWARD):
        return True
    values = (keyword.value for keyword in call.keywords if keyword.arg in _FLAGS)
    return any(not (isinstance(value, ast.Constant) and not value.value) for value in values)


def _find_roots(
    call: ast.Call, file: IndexedFile, code: VisibleCode
) -> Iterator[tuple[ast.AST | None, IndexedFile]]:
    """Yield the code that computes what a call differentiates, with the file of each."""
    name = last_name(call.func)
    outputs = find_argument(call, 0, "outputs") if name == "grad" else None
    yield from trace_origins(outputs or call, file, code)
    if name in _FORWARD:  # which goes on with what its result is given to
        yield file.find_function(call) or file.tree, file
