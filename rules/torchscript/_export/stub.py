"""The export of a scripted module as far as its code shows it, for a person to complete."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.semantics.calls import argument

from .values import binding_of

if TYPE_CHECKING:
    from .chain import Chain


def stub(chain: Chain) -> str:
    """One line: the export and the save, with the parameters of ``forward`` where the example inputs go."""
    ctx = chain.ctx
    model = argument(chain.call, 0, "obj")
    text = ctx.text(model) if model is not None else "model"
    place, call = chain.saves[0]
    path = chain.path_of(place, call)
    forward = _forward(chain, model)
    needed = _needed(forward) if forward is not None else ["…"]
    inputs = f"({needed[0]},)" if len(needed) == 1 else f"({', '.join(needed)})"
    takes = f" (`forward({_shown(forward)})`)" if forward is not None else ""
    target = ctx.text(path) if path is not None else "path"
    return (
        f"give it example inputs{takes}: "
        f"`torch.export.save(torch.export.export({text}, {inputs}), {target})`, and name the file `….pt2`"
    )


def _forward(chain: Chain, model: ast.expr | None) -> ast.FunctionDef | None:
    """The ``forward`` of the module's class, where this file defines it."""
    found: ast.AST | None = model
    for _ in range(4):
        if isinstance(found, ast.Name):
            if found.id == "self":
                found = chain.scope.parent.node if chain.scope.parent is not None else None
            else:
                found = binding_of(found, chain.scope, chain.ctx)
        elif isinstance(found, ast.Call):
            is_method = isinstance(found.func, ast.Attribute) and found.func.attr in (
                "eval",
                "to",
                "cpu",
                "cuda",
            )
            found = found.func.value if is_method and isinstance(found.func, ast.Attribute) else found.func
    if not isinstance(found, ast.ClassDef):
        return None
    methods = (node for node in found.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == "forward"), None)


def _needed(forward: ast.FunctionDef) -> list[str]:
    """The parameters that have no default."""
    parameters = [*forward.args.posonlyargs, *forward.args.args][1:]
    needed = parameters[: len(parameters) - len(forward.args.defaults)]
    return [parameter.arg for parameter in needed]


def _shown(forward: ast.FunctionDef) -> str:
    """Its parameters but for ``self``, as they are annotated."""
    return re.sub(r"^self(, /)?(, |$)", "", ast.unparse(forward.args))
