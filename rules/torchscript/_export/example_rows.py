"""Examples with a second row: ``torch.randn(1, 3)`` → ``torch.randn(2, 3)``, ``x`` → ``x.repeat_interleave(2, 0)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Template, replace, template
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .._authoring.torchscript_makers import TRACES
from .exclusive_branches import are_exclusive
from .expression_kinds import SAME_SIZE_METHODS, find_shape
from .input_sizes import find_first_size, find_value
from .module_classes import find_model_class, get_method
from .module_keepers import find_reads

if TYPE_CHECKING:
    from .result_chain import ResultChain

_NO_ROWS = re.compile(r"(^|_)([hc]([0nx]|_[0n])?|hidden|states?|cell|memory|mems)(_|$)", re.IGNORECASE)
"""Names of inputs whose first size is not the number of rows."""
_RECURRENT = re.compile(r"\b(LSTM|GRU|RNN)(Cell)?\b")


def has_rows(
    values: Sequence[ast.expr], single: Sequence[ast.expr], model: ast.expr, chain: ResultChain
) -> bool:
    """Return whether the first size of the inputs is the number of rows, as far as names and the class of the model show."""
    if any(find_first_size(value, chain) not in (None, 1) for value in values if value not in single):
        return False
    if any(_NO_ROWS.search(last_name(value) or "") for value in values):
        return False
    found = find_model_class(model, chain.use, chain.ctx)
    if found is None:
        return True
    forward = get_method(found, "forward")
    if _RECURRENT.search(ast.unparse(found)) and "batch_first=True" not in ast.unparse(found):
        return False
    names = {argument.arg for argument in forward.args.args} if forward is not None else set[str]()
    return not any(_takes_single_row(node, names) for node in walk_nodes(forward or found))


def _takes_single_row(node: ast.AST, inputs: set[str]) -> bool:
    """Return whether an expression of ``forward`` works on one row only: ``x[0]``, ``x.squeeze(0)``, ``x.unsqueeze(0)``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="squeeze"), args=[ast.Constant(value=0), *_]):
            return True
        case ast.Call(
            func=ast.Attribute(attr="unsqueeze", value=ast.Name(id=name)), args=[ast.Constant(value=0)]
        ):
            return name in inputs
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0)):
            return name in inputs
        case ast.For(iter=ast.Call(func=ast.Name(id="range")) as rounds):
            return bool(re.search(r"(size\(0\)|shape\[0\]|batch)", ast.unparse(rounds)))
    return False


def add_rows(
    inputs: ast.expr, single: Sequence[ast.expr], chain: ResultChain
) -> tuple[list[FixChange], Template | None]:
    """Return the changes that give inputs a second row where they stand or are made, and the new code of all inputs, if it changes."""
    changes: list[FixChange] = []
    code = None
    for value in single:
        size = _find_own_size(value, chain)
        if size is not None:
            changes.append(replace(size, "2"))
        elif value is inputs:
            code = template("({inputs}.repeat_interleave(2, 0),)", inputs=value)
        else:
            changes.append(replace(value, "{value}.repeat_interleave(2, 0)", value=value))
    return changes, code


def _find_own_size(value: ast.expr, chain: ResultChain) -> ast.expr | None:
    """Return the first size of a tensor that is made for the example alone."""
    if isinstance(value, ast.Name):
        made = find_value(value, chain)
        owner = chain.scope.find_scope(value.id)
        if made is value or owner is None or len(owner.bindings[value.id]) != 1 or owner is not chain.scope:
            return None
        reads = [
            node for node in find_reads(value, chain) if isinstance(getattr(node, "ctx", None), ast.Load)
        ]
        if len(reads) != 1:
            return None
    sizes = find_shape(value, chain.use, chain.ctx)
    return sizes[0] if sizes and isinstance(sizes[0], ast.Constant) else None


def render_rows(value: ast.expr, chain: ResultChain) -> Template:
    """Return the code of an input that has a second row."""
    if _gets_row_elsewhere(value, chain):
        return template("{value}", value=value)
    sizes = find_shape(value, chain.use, chain.ctx)
    if sizes and isinstance(value, ast.Call) and (code := _render_call(value, sizes[0])):
        return code
    return template("{value}.repeat_interleave(2, 0)", value=value)


def _gets_row_elsewhere(value: ast.expr, chain: ResultChain) -> bool:
    """Return whether a trace in another branch, which changes together with the chain, gives its example a second row."""
    if not isinstance(value, ast.Name) or _find_own_size(value, chain) is None:
        return False
    call = chain.flow.parents.get(value)
    return any(
        use.call is call and use.symbol in TRACES and are_exclusive(use.place, chain.use.place)
        for use in chain.ctx.uses.all_uses
    )


def _render_call(call: ast.Call, size: ast.expr) -> Template | None:
    """Return a call that makes a tensor, with another first size."""
    first = call.args[0] if call.args else None
    function = template("{f}", f=call.func)
    arguments: list[ast.expr | Template] = [*call.args]
    if first is size:
        arguments[0] = template("2")
    elif isinstance(first, (ast.Tuple, ast.List)) and first.elts[0] is size and len(first.elts) > 1:
        arguments[0] = template("(2, {rest})", rest=first.elts[1:])
    elif isinstance(call.func, ast.Attribute) and call.func.attr in SAME_SIZE_METHODS:
        inner = call.func.value
        made = _render_call(inner, size) if isinstance(inner, ast.Call) else None
        if made is None:
            return None
        function = template(f"{{made}}.{call.func.attr}", made=made)
    else:
        return None
    named = ", ".join(f"{keyword.arg}={{k{index}}}" for index, keyword in enumerate(call.keywords))
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    values = {f"k{index}": keyword.value for index, keyword in enumerate(call.keywords)}
    given = ", ".join(filter(None, ("{arguments}" if arguments else "", named)))
    return Template(f"{{function}}({given})", {"function": function, "arguments": arguments, **values})
