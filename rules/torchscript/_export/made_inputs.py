"""Example inputs that are made for an export: ``torch.zeros(2, 16)``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import Part, Template, template
from torchmigrate.semantics.module_methods import MOVES
from torchmigrate.semantics.node_walks import walk_nodes

from .module_classes import find_making_call
from .module_factories import is_made_elsewhere

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
    named: Template | None = None
    """A dictionary of those that are passed by name."""


def make_inputs(
    tensors: Sequence[tuple[Sequence[int | Template], str]], model: ast.expr, origin: str, chain: ResultChain
) -> MadeInputs:
    """Return tensors of zeros with given sizes and dtypes, on the device and in the type of the module, with two rows."""
    maker = TensorMaker(model, chain)
    made = [
        maker.make([_ROWS, *sizes[1:]] if sizes and sizes[0] == 1 else sizes, dtype)
        for sizes, dtype in tensors
    ]
    form = "({inputs},)" if len(made) == 1 else "({inputs})"
    values, shapes = [value for value, _ in made], [shape for _, shape in made]
    return MadeInputs(template(form, inputs=values), template(form, inputs=shapes), origin)


class TensorMaker:
    """Writes tensors of zeros, on the device and in the type of a module."""

    def __init__(self, model: ast.expr, chain: ResultChain) -> None:
        self._model, self._chain = model, chain
        self._zeros = chain.ctx.write_symbol("torch.zeros", chain.use)
        self._dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)

    def make(self, sizes: Sequence[int | Template], dtype: str) -> tuple[Template, Template]:
        """Return the code of a tensor, and that of its sizes for ``dynamic_shapes``."""
        written: Part = [size if isinstance(size, Template) else template(str(size)) for size in sizes]
        code = "{zeros}({sizes})" if sizes else "{zeros}(())"
        parts: dict[str, Part] = {"zeros": self._zeros, "sizes": written}
        if dtype != "float32":
            code = code[:-1] + ", dtype={dtype})"
            parts["dtype"] = self._chain.ctx.write_symbol(f"torch.{dtype}", self._chain.use)
        if is_moved(self._model, self._chain):
            of = "next({model}.parameters())" + ("" if dtype == "float32" else ".device")
            code, parts["model"] = f"{code}.to({of})", self._model
        return Template(code, parts), template(f"[{{dim}}.AUTO] * {len(sizes)}", dim=self._dim)


def is_moved(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether the file moves a module to a device or type, or anything is moved in the scope of its script; or a function
    elsewhere makes the module, which may do so."""
    made = find_making_call(model, chain.use, chain.ctx)
    if made is not None and is_made_elsewhere(made, chain.ctx):
        return isinstance(model, (ast.Name, ast.Attribute))
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
