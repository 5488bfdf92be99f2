"""The sizes of the inputs that a project's own code calls a traced module with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from .._authoring.torchscript_makers import SCRIPTS
from .expression_kinds import SAME_SIZE_METHODS, find_binding, find_input_form, find_shape

if TYPE_CHECKING:
    from .result_chain import ResultChain

_KEEPS = SAME_SIZE_METHODS | {"fill_"}
_OF_ARRAYS = frozenset({"Tensor", "FloatTensor", "tensor", "as_tensor", "from_numpy"})
"""Functions that make a tensor of an array."""
_NUMPY = frozenset({"np", "numpy", "np.random", "numpy.random"})
_ARRAYS = frozenset({"ones", "zeros", "empty", "full", "random", "rand", "randn", "random_sample"})
"""Functions of numpy that make an array of sizes that they get first, or by name."""


def render_example_sizes(inputs: ast.expr | None, chain: ResultChain) -> str:
    """Return the sizes of the example inputs as the code spells them, ``1x3x8,?``; ``?`` where it does not.

    Empty where it does not show how many inputs there are.
    """
    values = find_positional(inputs, chain)
    if values == [inputs] and find_input_form(values[0], chain.use, chain.ctx) != "one":
        return ""
    return ",".join(_render_sizes(tensor, chain) for tensor in values)


def render_call_sizes(chain: ResultChain) -> str:
    """Return the sizes of all calls of the result, separated by blanks.

    A size that varies between calls is ``*``; inputs given by name, or as a whole, are ``=`` and ``…``.
    """
    return " ".join(_render_arguments(call, chain) for call in chain.find_calls())


def _render_arguments(call: ast.Call, chain: ResultChain) -> str:
    if call.keywords:
        return "="
    if any(isinstance(one, ast.Starred) for one in call.args):
        return "…"
    return ",".join(_render_varying_sizes(tensor, chain) for tensor in call.args)


def are_refused(example: str, sizes: str) -> bool:
    """Return whether an export with the sizes of the example refuses those of some call, as far as both are spelled.

    It takes any sizes but where the example has size 1, and neither another number of inputs or dimensions nor names.
    """
    if not example:
        return False
    examples = example.split(",")
    for call in sizes.split():
        given = call.split(",")
        if call == "=" or (call != "…" and len(given) != len(examples)):
            return True
        if any(_is_refused(*pair) for pair in zip(examples, given, strict=False) if "?" not in "".join(pair)):
            return True
    return False


def _is_refused(example: str, given: str) -> bool:
    one, other = example.split("x"), given.split("x")
    if given in ("*", "…"):
        return False
    return len(one) != len(other) or any(a == "1" and b != "1" for a, b in zip(one, other, strict=True))


def _render_sizes(tensor: ast.expr, chain: ResultChain) -> str:
    sizes = find_shape(tensor, chain.use, chain.ctx)
    numbers = (
        [find_number(size, chain) for size in sizes]
        if sizes is not None
        else _find_nested_sizes(tensor, chain)
    )
    if tensor in chain.doubled and numbers:
        numbers[0] = 2
    return "x".join(map(str, numbers)) if numbers and None not in numbers else "?"


def _render_varying_sizes(tensor: ast.expr, chain: ResultChain) -> str:
    """Return the sizes of an input, with ``*`` for parameters and loop variables."""
    sizes = find_shape(tensor, chain.use, chain.ctx) or []
    shown = ["*" if _is_varying(size, chain) else find_number(size, chain) for size in sizes]
    return "x".join(map(str, shown)) if "*" in shown and None not in shown else _render_sizes(tensor, chain)


def _is_varying(size: ast.expr, chain: ResultChain) -> bool:
    return isinstance(find_binding(size, chain.scope, chain.ctx), ast.arg) or _is_loop_variable(size, chain)


def find_first_size(tensor: ast.expr, chain: ResultChain) -> int | None:
    """Return the first size of a tensor; None where the code does not show it as a number."""
    for _ in range(6):
        tensor = find_value(tensor, chain)
        match tensor:
            case ast.Call(func=ast.Attribute(attr="unsqueeze"), args=[ast.Constant(value=0)]):
                return 1
            case ast.Call(func=ast.Attribute(attr="reshape" | "view"), args=[first, *_]):
                return _find_leading_number(first, chain)
            case ast.Call(func=ast.Attribute(attr=name), args=[array]) if name in _OF_ARRAYS and isinstance(
                find_value(array, chain), ast.Call
            ):
                tensor = array
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if (
                ast.unparse(owner) in _NUMPY and name in _ARRAYS
            ):
                shape = find_argument(tensor, 0, "shape", "size")
                return _find_leading_number(shape, chain) if shape is not None else None
            case ast.Subscript(slice=ast.Constant(value=None)):
                return 1
            case ast.Subscript(slice=ast.Tuple(elts=[ast.Constant(value=None), *_])):
                return 1
            case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in SAME_SIZE_METHODS | {
                "astype"
            }:
                tensor = owner
            case ast.Call(
                func=ast.Attribute(attr="cat"), args=[ast.List(elts=[first, *_]), ast.Constant(value=at)]
            ) if at:
                tensor = first
            case ast.BinOp(left=tensor, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=tensor):
                pass
            case _:
                break
    if sizes := find_shape(tensor, chain.use, chain.ctx):
        return find_number(sizes[0], chain)
    nested = _find_nested_sizes(tensor, chain)
    return nested[0] if nested else None


def _find_leading_number(sizes: ast.expr, chain: ResultChain) -> int | None:
    """Return the first of several sizes, or a size itself, where it is a number and not ``-1``."""
    first = sizes.elts[0] if isinstance(sizes, (ast.Tuple, ast.List)) and sizes.elts else sizes
    return find_number(first, chain)


def _find_nested_sizes(tensor: ast.expr, chain: ResultChain) -> list[int | None]:
    """Return the sizes of ``torch.tensor([[1, 2]])``."""
    tensor = find_value(tensor, chain)
    if not isinstance(tensor, ast.Call) or not tensor.args or last_name(tensor.func) != "tensor":
        return []
    sizes: list[int | None] = []
    value: ast.expr | None = tensor.args[0]
    while isinstance(value, (ast.List, ast.Tuple)):
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        sizes.append(None if starred else len(value.elts))
        value = value.elts[0] if value.elts else None
    return sizes


def find_positional(inputs: ast.expr | None, chain: ResultChain) -> list[ast.expr]:
    """Return the positional inputs of an example."""
    if isinstance(inputs, ast.Call) and chain.use.symbol in SCRIPTS:
        return inputs.args  # a call of the module, which serves as the example
    found = find_binding(inputs, chain.scope, chain.ctx)
    inputs = found if isinstance(found, (ast.Tuple, ast.List)) else inputs
    if isinstance(inputs, (ast.Tuple, ast.List)):
        return inputs.elts
    return [inputs] if inputs is not None else []


def is_like(given: ast.expr, example: ast.expr, chain: ResultChain) -> bool:
    """Return whether an input is the example, or derived from it by operations that keep its sizes."""
    if isinstance(given, ast.Constant):
        return True
    if ast.dump(given) == ast.dump(example) and not isinstance(given, ast.Call):
        return _have_same_values(given, example, chain)
    match given:
        case ast.Starred(value=inner) | ast.Tuple(elts=[inner]) | ast.List(elts=[inner]):
            return is_like(inner, example, chain)
        case ast.IfExp(body=body, orelse=orelse):
            return is_like(body, example, chain) and is_like(orelse, example, chain)
        case ast.Name():
            value = find_value(given, chain)
            return not isinstance(value, ast.Name) and is_like(value, example, chain)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _KEEPS:
            return is_like(owner, example, chain)
        case ast.Call(func=ast.Attribute(attr=name), args=[tensor, *_]):
            return name.endswith("_like") and is_like(tensor, example, chain)
        case ast.BinOp(left=tensor, right=ast.Constant()) | ast.BinOp(left=ast.Constant(), right=tensor):
            return not isinstance(tensor, ast.Constant) and is_like(tensor, example, chain)
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


def find_number(size: ast.expr, chain: ResultChain) -> int | None:
    size = find_value(size, chain)
    return size.value if isinstance(size, ast.Constant) and isinstance(size.value, int) else None


def find_value(node: ast.expr, chain: ResultChain) -> ast.expr:
    """Return the expression that is assigned to a variable, where that is certain; any other expression as it is."""
    found = find_binding(node, chain.scope, chain.ctx)
    return found if isinstance(found, ast.expr) else node


def _is_loop_variable(size: ast.expr, chain: ResultChain) -> bool:
    if not isinstance(size, ast.Name):
        return False
    owner = chain.scope.find_scope(size.id)
    targets = [binding.node for binding in owner.bindings[size.id]] if owner else []
    return len(targets) == 1 and isinstance(chain.flow.parents.get(targets[0]), (ast.For, ast.AsyncFor))
