"""Where a program chooses a device by asking for CUDA, and what chooses any accelerator instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.resolve import leaf, string

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_FOUND = 'torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'


def tests(use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Where the answer is asked for: the call itself, or the reads of the variable that keeps it."""
    if use.call is not None:
        try:
            yield from list(ctx.uses.flow.places(use.call, use.place.scope))
        except Escape:
            return


def instead(test: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> str | None:
    """What says ``"cuda" if torch.cuda.is_available() else "cpu"`` for all accelerators: a device, or its name."""
    choice = parents.get(test)
    if isinstance(choice, ast.If) and choice.test is test:
        (to, value), (other, otherwise) = _given(choice.body), _given(choice.orelse)
        around = None
        if to is None or to != other:
            return None
    elif isinstance(choice, ast.IfExp) and choice.test is test:
        value, otherwise, around = choice.body, choice.orelse, parents.get(choice)
    else:
        return None
    if value is None or otherwise is None or (_device(value), _device(otherwise)) != ("cuda", "cpu"):
        return None
    if isinstance(value, ast.Call) or (isinstance(around, ast.Call) and leaf(around.func) == "device"):
        indexed = isinstance(around, ast.Call) and len(around.args) + len(around.keywords) > 1
        return None if indexed and not isinstance(value, ast.Call) else _FOUND
    return f"({_FOUND}).type"


def _given(body: list[ast.stmt]) -> tuple[str | None, ast.expr | None]:
    """What the only statement of a body sets or returns, and to what."""
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Assign) and len(only.targets) == 1:
        return ast.unparse(only.targets[0]), only.value
    return ("return", only.value) if isinstance(only, ast.Return) else (None, None)


def _device(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return string(node)
