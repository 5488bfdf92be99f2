"""The sizes of the inputs that a project's own code calls a traced module with."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from .expression_kinds import SAME_SIZE_METHODS, find_binding, find_shape

if TYPE_CHECKING:
    from .result_chain import ResultChain

_KEEPS = SAME_SIZE_METHODS | {"fill_"}


def render_dynamic_shapes(chain: ResultChain, inputs: ast.expr | None) -> Template | None:
    """Return the value of ``dynamic_shapes`` for the sizes that vary between calls of the result; None where none does.

    Raise NoFix where the export could not take the sizes of a call.
    """
    calls = [call for call in chain.find_calls() if call is not inputs]
    others = [call.args for call in calls if inputs is None or not _is_whole(call, inputs, chain)]
    checks = find_argument(chain.call, None, "check_inputs")
    if isinstance(checks, (ast.List, ast.Tuple)):
        others += [_find_positional(element, chain) for element in checks.elts]
    entries = []
    for index, example in enumerate(_find_positional(inputs, chain)):
        given = [arguments[index] for arguments in others if index < len(arguments)]
        entries.append(_find_varying_dimensions(example, given, chain))
    if not any(entries):
        return None
    if chain.ctx.options.minimum < (2, 6):
        raise NoFix("the result is called with several sizes, and `torch.export.Dim.DYNAMIC` needs torch 2.6")
    shapes = ", ".join(
        "{{" + ", ".join(f"{d}: {{dim}}.DYNAMIC" for d in dims) + "}}" if dims else "None" for dims in entries
    )
    code = f"({shapes},)" if len(entries) == 1 else f"({shapes})"
    return template(code, dim=chain.ctx.write_symbol("torch.export.Dim", chain.use))


def _find_varying_dimensions(example: ast.expr, given: Sequence[ast.expr], chain: ResultChain) -> list[int]:
    """Return the dimensions, from 0, in which the inputs ``given`` by calls have other sizes than the example.

    Raise NoFix where a size is unclear.
    """
    sizes = find_shape(example, chain.use, chain.ctx)
    varying = set()
    for tensor in given:
        if _is_like(tensor, example, chain):
            continue
        unclear = NoFix(
            f"line {tensor.lineno} calls the result with `{chain.ctx.get_text(tensor)}`, whose sizes may differ from the example's; pass `dynamic_shapes`"
        )
        others = find_shape(tensor, chain.use, chain.ctx)
        if sizes is None or others is None or len(others) != len(sizes):
            raise unclear
        for dimension, (one, other) in enumerate(zip(sizes, others, strict=True)):
            if _do_differ(one, other, chain):
                varying.add(dimension)
            elif not _are_equal(one, other, chain):
                raise unclear
    # An export takes a size of 1 for a constant, and rejects `Dim.DYNAMIC` for it.
    if sizes is not None and any(_find_number(sizes[dimension], chain) == 1 for dimension in varying):
        raise NoFix(
            "the result is called with several sizes, but the example has size 1; use an example with a size of at least 2"
        )
    return sorted(varying)


def render_example_sizes(inputs: ast.expr | None, chain: ResultChain) -> str:
    """Return the sizes of the example inputs as the code spells them, ``1x3x8,?``; ``?`` where it does not."""
    return ",".join(_render_sizes(tensor, chain) for tensor in _find_positional(inputs, chain))


def render_call_sizes(chain: ResultChain) -> str:
    """Return the sizes of all calls of the result, separated by blanks; ``*`` for a size that varies between calls."""
    calls = (
        ",".join(_render_varying_sizes(tensor, chain) for tensor in call.args) for call in chain.find_calls()
    )
    return " ".join(calls)


def may_differ(example: str, sizes: str) -> bool:
    """Return whether the sizes of some call may differ from those of the example, as far as both are spelled."""
    if not example:
        return False
    pairs = (zip(example.split(","), call.split(","), strict=False) for call in sizes.split())
    return any("?" not in one + other and one != other for pair in pairs for one, other in pair)


def _render_sizes(tensor: ast.expr, chain: ResultChain) -> str:
    sizes = find_shape(tensor, chain.use, chain.ctx)
    numbers = (
        [_find_number(size, chain) for size in sizes]
        if sizes is not None
        else _find_nested_sizes(tensor, chain)
    )
    return "x".join(map(str, numbers)) if numbers and None not in numbers else "?"


def _render_varying_sizes(tensor: ast.expr, chain: ResultChain) -> str:
    """Return the sizes of an input, with ``*`` for parameters and loop variables."""
    sizes = find_shape(tensor, chain.use, chain.ctx) or []
    shown = ["*" if _is_varying(size, chain) else _find_number(size, chain) for size in sizes]
    return "x".join(map(str, shown)) if "*" in shown and None not in shown else _render_sizes(tensor, chain)


def _is_varying(size: ast.expr, chain: ResultChain) -> bool:
    return isinstance(find_binding(size, chain.scope, chain.ctx), ast.arg) or _is_loop_variable(size, chain)


def _find_nested_sizes(tensor: ast.expr, chain: ResultChain) -> list[int | None]:
    """Return the sizes of ``torch.tensor([[1, 2]])``."""
    tensor = _find_value(tensor, chain)
    if not isinstance(tensor, ast.Call) or not tensor.args or last_name(tensor.func) != "tensor":
        return []
    sizes: list[int | None] = []
    value: ast.expr | None = tensor.args[0]
    while isinstance(value, (ast.List, ast.Tuple)):
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        sizes.append(None if starred else len(value.elts))
        value = value.elts[0] if value.elts else None
    return sizes


def _find_positional(inputs: ast.expr | None, chain: ResultChain) -> list[ast.expr]:
    """Return the positional inputs of an example."""
    if isinstance(inputs, ast.Call) and any(inputs.func is place for place in chain.modules):
        return inputs.args  # a call of the scripted module, which serves as the example
    found = find_binding(inputs, chain.scope, chain.ctx)
    inputs = found if isinstance(found, (ast.Tuple, ast.List)) else inputs
    if isinstance(inputs, (ast.Tuple, ast.List)):
        return inputs.elts
    return [inputs] if inputs is not None else []


def _is_whole(call: ast.Call, inputs: ast.expr, chain: ResultChain) -> bool:
    """Return whether a call has the example inputs themselves: ``traced(*inputs)``."""
    given = call.args[0] if len(call.args) == 1 else None
    return isinstance(given, ast.Starred) and _is_like(given.value, inputs, chain)


def _is_like(given: ast.expr, example: ast.expr, chain: ResultChain) -> bool:
    """Return whether an input is the example, or derived from it by operations that keep its sizes."""
    if isinstance(given, ast.Constant):
        return True
    if ast.dump(given) == ast.dump(example) and not isinstance(given, ast.Call):
        return _have_same_values(given, example, chain)
    match given:
        case ast.Starred(value=inner) | ast.Tuple(elts=[inner]) | ast.List(elts=[inner]):
            return _is_like(inner, example, chain)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_like(body, example, chain) and _is_like(orelse, example, chain)
        case ast.Name():
            value = _find_value(given, chain)
            return not isinstance(value, ast.Name) and _is_like(value, example, chain)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _KEEPS:
            return _is_like(owner, example, chain)
        case ast.Call(func=ast.Attribute(attr=name), args=[tensor, *_]):
            return name.endswith("_like") and _is_like(tensor, example, chain)
        case ast.BinOp(left=tensor, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=tensor):
            return not isinstance(tensor, ast.Constant) and _is_like(tensor, example, chain)
    return False


def _have_same_values(one: ast.expr, other: ast.expr, chain: ResultChain) -> bool:
    """Return whether the variables in two equal expressions have the same values."""
    pairs = zip(ast.walk(one), ast.walk(other), strict=True)
    return all(_binding_key(a, chain) == _binding_key(b, chain) for a, b in pairs if isinstance(a, ast.Name))


def _binding_key(name: ast.AST, chain: ResultChain) -> object:
    """Return a key that is equal for two reads of a variable that see the same value."""
    assert isinstance(name, ast.Name)
    owner = chain.scope.find_scope(name.id)
    if owner is None:
        return name.id
    return chain.flow.find_reaching(name.id, owner).reads.get(name, name.id)


def _are_equal(one: ast.expr, other: ast.expr, chain: ResultChain) -> bool:
    """Return whether two sizes are certainly the same: one number, or variables with one value."""
    if (number := _find_number(one, chain)) is not None:
        return number == _find_number(other, chain)
    if ast.dump(one) != ast.dump(other) or any(isinstance(part, ast.Call) for part in ast.walk(one)):
        return False
    return _have_same_values(one, other, chain)


def _find_number(size: ast.expr, chain: ResultChain) -> int | None:
    size = _find_value(size, chain)
    return size.value if isinstance(size, ast.Constant) and isinstance(size.value, int) else None


def _find_value(node: ast.expr, chain: ResultChain) -> ast.expr:
    """Return the expression that is assigned to a variable, where that is certain; any other expression as it is."""
    found = find_binding(node, chain.scope, chain.ctx)
    return found if isinstance(found, ast.expr) else node


def _do_differ(example: ast.expr, other: ast.expr, chain: ResultChain) -> bool:
    """Return whether two sizes certainly differ: two numbers, or a number and a loop variable."""
    one, two = _find_number(example, chain), _find_number(other, chain)
    if one is not None and two is not None:
        return one != two
    return one is not None and _is_loop_variable(other, chain)


def _is_loop_variable(size: ast.expr, chain: ResultChain) -> bool:
    if not isinstance(size, ast.Name):
        return False
    owner = chain.scope.find_scope(size.id)
    targets = [binding.node for binding in owner.bindings[size.id]] if owner else []
    return len(targets) == 1 and isinstance(chain.flow.parents.get(targets[0]), (ast.For, ast.AsyncFor))
