"""Example inputs of a module that keeps the state of a recurrent layer in buffers.

    self.register_buffer("hidden", torch.zeros(self.rnn.num_layers, 1, self.rnn.hidden_size))
    out, h = self.rnn(x.unsqueeze(0), self.hidden)

The buffers fix the number of rows, and the layer says how many numbers a row has. An exported program updates its buffers as
TorchScript does (tried on torch 2.13).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.node_walks import walk_nodes

from .made_inputs import MadeInputs, TensorMaker
from .module_classes import get_method

if TYPE_CHECKING:
    from .result_chain import ResultChain


def find_recurrent_inputs(model: ast.expr, definition: ast.ClassDef, chain: ResultChain) -> MadeInputs | None:
    """Return an input that fits the recurrent layer to which ``forward`` passes it, together with its buffers."""
    forward, init = get_method(definition, "forward"), get_method(definition, "__init__")
    if forward is None or init is None or len(forward.args.args) != 2:
        return None
    call = _find_first_call(forward.args.args[1].arg, forward)
    if call is None or not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    state = call.args[1]
    kept = state.elts if isinstance(state, ast.Tuple) else [state]
    layer = ast.unparse(call.func)
    rows = {_find_rows(layer, last_name(one) or "", init) for one in kept}
    number = rows.pop() if len(rows) == 1 else None
    if number is None:
        return None
    size = template(f"{{model}}{layer.removeprefix('self')}.input_size", model=model)
    sizes: list[int | Template] = [number, size]
    value, shapes = TensorMaker(model, chain).make(sizes, "float32")
    is_one = "is" if number == 1 else "are"
    origin = f"the example input follows `{layer.removeprefix('self.')}`, whose state {is_one} {number} row{'s' * (number != 1)}"
    return MadeInputs(template("({value},)", value=value), template("({shapes},)", shapes=shapes), origin)


def _find_first_call(name: str, forward: ast.FunctionDef) -> ast.Call | None:
    """Return the call of ``self.layer(x.unsqueeze(0), state)`` where that is the first use of a parameter."""
    reads = [node for node in walk_nodes(forward) if isinstance(node, ast.Name) and node.id == name]
    first = min(reads, key=lambda node: (node.lineno, node.col_offset), default=None)
    for node in walk_nodes(forward):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="self")),
                args=[
                    ast.Call(func=ast.Attribute(value=given, attr="unsqueeze"), args=[ast.Constant(value=0)]),
                    ast.Tuple() | ast.Attribute(),
                ],
            ) if given is first:
                return node
    return None


def _find_rows(layer: str, buffer: str, init: ast.FunctionDef) -> int | None:
    """Return the number of rows of a buffer that has the other sizes of the state of a layer."""
    for made in _iter_buffers(buffer, init):
        match made:
            case ast.Call(args=[layers, ast.Constant(value=int() as rows), hidden]) if (
                last_name(made.func) == "zeros"
                and ast.unparse(layers) == f"{layer}.num_layers"
                and ast.unparse(hidden) == f"{layer}.hidden_size"
            ):
                return rows
    return None


def _iter_buffers(name: str, init: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the values that are registered as a buffer of this name."""
    for call in walk_nodes(init):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "self.register_buffer":
            given, value = find_argument(call, 0, "name"), find_argument(call, 1, "tensor")
            parts = given.values if isinstance(given, ast.JoinedStr) else [given]
            if value is not None and [string_value(part) for part in parts if part is not None] == [name]:
                yield value
