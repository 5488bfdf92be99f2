"""Example inputs that are made for an export: ``torch.zeros(2, 16)``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import Part, Template, template
from torchmigrate.semantics.node_walks import walk_nodes

from .result_chain import MOVES

if TYPE_CHECKING:
    from .result_chain import ResultChain

_ROWS = 2


@dataclass(frozen=True, slots=True)
class MadeInputs:
    """Example inputs whose values do not matter."""

    code: Template
    """A tuple of them."""
    shapes: Template
    """The value of ``dynamic_shapes``."""
    origin: str
    """A clause that says where their sizes come from."""


def make_inputs(
    tensors: Sequence[tuple[Sequence[int | Template], str]], model: ast.expr, origin: str, chain: ResultChain
) -> MadeInputs:
    """Return tensors of zeros with given sizes and dtypes, on the device and in the type of the module, with two rows."""
    ctx, use = chain.ctx, chain.use
    dim, zeros = ctx.write_symbol("torch.export.Dim", use), ctx.write_symbol("torch.zeros", use)
    values, shapes = list[Template](), list[Template]()
    for sizes, dtype in tensors:
        first = sizes[0] if sizes else None
        sizes = [_ROWS, *sizes[1:]] if first == 1 else sizes
        written: Part = [size if isinstance(size, Template) else template(str(size)) for size in sizes]
        code = "{zeros}({sizes})" if sizes else "{zeros}(())"
        parts: dict[str, Part] = {"zeros": zeros, "sizes": written}
        if dtype != "float32":
            code = code[:-1] + ", dtype={dtype})"
            parts["dtype"] = ctx.write_symbol(f"torch.{dtype}", use)
        if is_moved(model, chain):
            of = "next({model}.parameters())" + ("" if dtype == "float32" else ".device")
            code, parts["model"] = f"{code}.to({of})", model
        values.append(Template(code, parts))
        shapes.append(template(f"[{{dim}}.AUTO] * {len(sizes)}", dim=dim))
    form = "({inputs},)" if len(values) == 1 else "({inputs})"
    return MadeInputs(template(form, inputs=values), template(form, inputs=shapes), origin)


def is_moved(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether the file moves a module to a device or type, or anything is moved in the scope of its script."""
    text = ast.dump(model)
    for node in walk_nodes(chain.scope.node):
        if isinstance(node, ast.Attribute) and node.attr in MOVES - {"cpu", "requires_grad_"}:
            inner = node.value
            call = chain.flow.parents.get(node)
            if isinstance(call, ast.Call) and [*map(ast.unparse, call.args)] == ["'cpu'"]:
                continue
            is_made = isinstance(inner, ast.Call) and isinstance(chain.flow.parents.get(node), ast.Call)
            if ast.dump(inner) == text or is_made:
                return isinstance(model, (ast.Name, ast.Attribute))
    return False
