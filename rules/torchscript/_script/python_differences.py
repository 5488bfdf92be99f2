"""Code in a scripted function that Python rejects, or that behaves differently in Python.

Each kind was tried with torch 2.13; `tests/executed/test_torchscript_language.py` tries again. Not covered are differences only
where Python raises for a value (``1.0 / 0.0``, ``math.log(0.0)``), and the class and text of exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function
from torchmigrate.semantics.node_walks import map_parents as parents_of
from torchmigrate.tables.api_ledger import list_members

from .annotated_types import NOTHING, NUMBERS, Types
from .inferred_types import LISTS, NUMERIC, TUPLES, InferredTypes

_GROWS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})
_CHANGES = _GROWS | {"update", "setdefault", "popitem"}
_LIST_ONLY = _GROWS | {"copy"}
_MAKES_TENSORS = frozenset({"tensor", "full", "arange", "as_tensor"})
_TEXT = frozenset({"float", "sizes", "tensors", "view", "dtype", "layout", "Tensor"})
_UNLISTED = frozenset({"cfloat", "cdouble"})
"""Methods of tensors that torch's stubs do not declare."""
_WRITTEN = "converts a value to text, which TorchScript formats differently"


class PythonDifference(NamedTuple):
    """A place in a scripted function that plain Python would reject, or that would have another result."""

    node: ast.AST
    reason: str
    """The end of a sentence that begins with "line 7 "."""
    operands: tuple[ast.expr, ...] = ()
    """The expressions that Python has to convert to lists, as TorchScript does, to remove the difference."""


def find_differences(function: Function, types: InferredTypes) -> Iterator[PythonDifference]:
    """Find where a function, with the given ``types``, would behave differently in Python."""
    parents = parents_of(function)
    for parameter in function.args.args:
        if types.parameters.get(parameter.arg) == frozenset({"BroadcastingList"}):
            yield PythonDifference(
                parameter, "accepts a single number for a list, which only TorchScript expands"
            )
    for node in (function, *parents):
        if reason := _explain_difference(node, types, parents):
            yield PythonDifference(node, reason, tuple(_find_list_operands(node, types)))


def _explain_difference(node: ast.AST, types: InferredTypes, parents: dict[ast.AST, ast.AST]) -> str | None:
    match node:
        case ast.BinOp(op=ast.Add()):
            return _explain_sum(types(node.left), types(node.right))
        case ast.AugAssign(op=ast.Add()):
            # A list takes a tuple, too, where it grows.
            target = types(node.target)
            return _explain_mutation(target & {"List", "Dict"}) or _explain_sum(
                target - LISTS, types(node.value)
            )
        case ast.AugAssign(op=ast.Mod()) if types(node.target) != {"str"}:
            return "computes a remainder in place, which has the sign of the dividend in TorchScript (`fmod`) and of the divisor in Python"
        case ast.BinOp(op=ast.Pow()) if types(node) == {"int"} and not _is_converted(node, parents):
            return "computes a power of integers, which is a float in TorchScript and an int in Python"
        case ast.BinOp(op=ast.Mod()) if types(node.left) == {"str"} and types(node.right) & _TEXT:
            return None if _is_message(node, parents) else _WRITTEN
        case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[other]):
            return _explain_comparison(types(node.left), types(other))
        case ast.Assign() | ast.Delete():
            changed = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
            return next(filter(None, (_explain_mutation(types(owner)) for owner in changed)), None)
        case ast.Subscript() if types(node.value) == {"view"}:
            return "indexes a dictionary's keys or values, which are lists in TorchScript only"
        case ast.Return(value=value) if value is not None:
            return _explain_return(value, types)
        case ast.Call():
            return _explain_call(node, types, parents)
        case ast.FormattedValue(value=value) if types(value) & _TEXT and not _is_message(node, parents):
            return _WRITTEN
    return None


def _explain_sum(left: Types, right: Types) -> str | None:
    if (left & TUPLES and right & LISTS) or (left & LISTS and right & TUPLES):
        return "adds a list to a value that is a list in TorchScript and a tuple in Python"
    if "list" in left | right and "List" in left | right:
        return (
            "adds a list to an argument, which is always a list in TorchScript and may be a tuple in Python"
        )
    return None


def _find_list_operands(node: ast.AST, types: InferredTypes) -> Iterator[ast.expr]:
    """Find the operands of a sum that are lists to TorchScript and may be tuples in Python."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (side for side in (node.left, node.right) if types(side) & (TUPLES | {"List"}))


def _explain_comparison(left: Types, right: Types) -> str | None:
    for one, other in ((left, right), (right, left)):
        if one == {"sizes"} and other == {"tuple"}:
            return None  # a `torch.Size` is a tuple
        if one & (TUPLES | {"List"}) and other & (LISTS | {"tuple"}):
            return "compares a list with a value that is a list in TorchScript but may be a tuple in Python, and the two are never equal"
        if one & {"dtype", "layout"} and "int" in other:
            return "compares a dtype or layout with a number, but only in TorchScript is it a number"
        if "device" in one and "str" in other:
            return "compares a device with a string, and the two are never equal in Python"
    return None


def _explain_mutation(owner: Types) -> str | None:
    if owner & TUPLES:
        return "modifies a value that is a list in TorchScript and not in Python"
    if owner & {"List", "Dict"}:
        return "modifies an argument, while TorchScript modifies a copy"
    return None


def _explain_return(value: ast.expr, types: InferredTypes) -> str | None:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    if any(types(part) & TUPLES for part in parts):
        return "returns a value that is a list in TorchScript and a tuple in Python"
    if types.returned & NUMBERS and types(value) == {"Tensor"}:
        return "returns a tensor, which TorchScript converts to a number, as annotated"
    return None


def _explain_call(node: ast.Call, types: InferredTypes, parents: dict[ast.AST, ast.AST]) -> str | None:
    name, first = last_name(node.func), node.args[0] if node.args else None
    if isinstance(node.func, ast.Name):
        if name == "round" and "Tensor" not in types(first) and not _is_converted(node, parents):
            return "rounds a number, which gives a float in TorchScript and an int in Python"
        if name == "str" and types(first) & _TEXT and not _is_message(node, parents):
            return _WRITTEN
        return None
    if not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    module = owner.id if isinstance(owner, ast.Name) else ""
    if module == "torch":
        return _explain_torch_call(node, name or "", first, types)
    if module == "math" and "Tensor" in types(first) and not _is_converted(node, parents):
        return "applies a function of `math` to a tensor, and the result is a tensor only in TorchScript"
    if types(owner) == {"Tensor"} and module not in ("self", "cls") and name not in _list_tensor_members():
        return (
            f"calls `{name}` as a method of a tensor, which only TorchScript accepts; call it as a function"
        )
    if name in _LIST_ONLY and types(owner) & TUPLES:
        return "modifies a value that is a list in TorchScript and not in Python"
    if name in _CHANGES:
        return _explain_mutation(types(owner) & {"List", "Dict"})
    if name == "format" and isinstance(owner, ast.Constant) and not _is_message(node, parents):
        given = frozenset().union(*map(types, node.args)) if node.args else NOTHING
        numbered = isinstance(owner.value, str) and any(f"{{{n}" in owner.value for n in range(10))
        if given & _TEXT or numbered:
            return _WRITTEN
    return None


@cache
def _list_tensor_members() -> frozenset[str]:
    """Return the attributes of tensors in some release of torch."""
    return frozenset(list_members("torch.Tensor")) | _UNLISTED


def _explain_torch_call(
    node: ast.Call, name: str, first: ast.expr | None, types: InferredTypes
) -> str | None:
    numbers = types.argument_types(node)
    if name in NUMERIC and numbers and numbers <= NUMBERS:
        return f"calls `torch.{name}` with numbers, which Python rejects"
    if name == "flip" and len(node.args) == 2 and types(node.args[1]) == {"int"}:
        return "calls `torch.flip` with one number, which only TorchScript converts to a list"
    given = node.args[1] if name == "full" and len(node.args) > 1 else first
    is_float = isinstance(given, ast.Name) and types.parameters.get(given.id) == frozenset({"float"})
    if name in _MAKES_TENSORS and is_float and not any(k.arg == "dtype" for k in node.keywords):
        return "creates a tensor from an argument that TorchScript converts to float and Python does not"
    return None


def _is_converted(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Return whether the type of a number does not matter: it is converted, divided or part of a comparison."""
    parent = parents.get(node)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in ("int", "float")
    return isinstance(parent, ast.Compare) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Div)
    )


def _is_message(node: ast.AST, parents: dict[ast.AST, ast.AST], variables: tuple[str, ...] = ()) -> bool:
    """Return whether a text is only shown to somebody: in a message, a warning or an exception, also through a variable.

    ``variables`` are those that the text has already passed through.
    """
    parent = parents.get(node)
    while parent is not None and not isinstance(parent, Function):
        match parent:
            case ast.Raise() | ast.Assert():
                return True
            case ast.Call() if last_name(parent.func) in ("print", "warn"):
                return True
            case ast.Assign(targets=[ast.Name(id=name)]):
                return name in variables or _is_read_as_message(name, parents, (*variables, name))
        parent = parents.get(parent)
    return False


def _is_read_as_message(name: str, parents: dict[ast.AST, ast.AST], variables: tuple[str, ...]) -> bool:
    """Return whether all that reads a variable only shows it."""
    reads = (n for n in parents if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    return all(_is_message(read, parents, variables) for read in reads)
