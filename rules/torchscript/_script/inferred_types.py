"""The types of the expressions in a scripted function, as far as annotations and the code itself show them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchmigrate.api import Context
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .annotated_types import NOTHING, NUMBERS, Types, read_annotation, read_signature

TUPLES = frozenset({"sizes", "tensors", "view"})
LISTS = frozenset({"list", "List"})
_ARGUMENTS = frozenset({"List", "Dict"})

NUMERIC = frozenset(
    {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"}
    | {"exp", "expm1", "ldexp", "log", "log10", "log1p", "pow", "sqrt", "erf", "erfc", "lgamma"}
    | {"add", "sub", "mul", "div", "fmod", "remainder", "neg", "gcd", "ceil", "floor", "round", "frexp"}
    | {"eq", "ne", "ge", "gt", "le", "lt", "isfinite", "isinf", "isnan"}
    | {"angle", "polar", "copysign"}
)
"""Functions of `torch` that TorchScript also accepts with only numbers, by `torch._C._jit_get_all_schemas()`."""

_TENSORS = frozenset(
    {"split", "chunk", "unbind", "tensor_split", "unsafe_chunk", "unsafe_split", "split_with_sizes"}
    | {"hsplit", "vsplit", "dsplit", "meshgrid", "broadcast_tensors"}
)
"""The functions that return several tensors: a list in TorchScript, a tuple in Python."""
_DISPLAYS = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Dict: "dict",
    ast.DictComp: "dict",
}
_CONVERSIONS = frozenset({"int", "float", "bool", "str", "list"})
_VIEWS = frozenset({"keys", "values", "items"})
_NUMBERS = {"item": NOTHING, "dim": "int", "numel": "int", "nelement": "int", "ndimension": "int"}
_TENSOR_ATTRIBUTES = {
    "shape": "sizes",
    "dtype": "dtype",
    "layout": "layout",
    "device": "device",
    "ndim": "int",
}
_GIVES_TENSOR = frozenset({"T", "mT", "H", "mH", "data", "grad", "real", "imag"})


def infer_types(function: Function, ctx: Context) -> InferredTypes:
    """Return the types in a function of the file, inferred once."""
    return ctx.uses.compute_once(
        (InferredTypes, function), lambda: InferredTypes(function, ctx.get_text(function))
    )


class InferredTypes:
    """The types of the expressions in one function."""

    def __init__(self, function: Function, text: str) -> None:
        """Infer the types; ``text`` is the source of the function, whose comments may declare types."""
        self.parameters, self.returned = read_signature(function, text)
        self._variables = dict(self.parameters)
        below = list(walk_nodes(function))
        self._afresh = _find_rebound(function, self.parameters, below)
        for _ in range(2):  # what a loop assigns, its next round reads
            for node in below:
                self._record_assignment(node)

    def __call__(self, node: ast.AST | None) -> Types:
        """Return the possible types of an expression."""
        if isinstance(node, ast.Name):
            found = self._variables.get(node.id, NOTHING)
            return found - _ARGUMENTS if node.lineno > self._afresh.get(node.id, node.lineno) else found
        if isinstance(node, ast.Constant):
            return frozenset({type(node.value).__name__}) if node.value is not None else NOTHING
        if type(node) in _DISPLAYS:
            return frozenset({_DISPLAYS[type(node)]})
        if isinstance(node, ast.IfExp):
            return self(node.body) | self(node.orelse)
        if isinstance(node, ast.UnaryOp):
            return self(node.operand)
        if isinstance(node, ast.Attribute):
            return self._attribute_types(node)
        if isinstance(node, ast.Subscript):
            whole = self(node.value)
            return whole if isinstance(node.slice, ast.Slice) else self._item_types(whole)
        if isinstance(node, ast.BinOp):
            return self._operation_types(node)
        if isinstance(node, ast.Call):
            return self._call_types(node)
        return NOTHING

    def _record_assignment(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind_value(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            self._bind_target(node.target, read_annotation(node.annotation, is_parameter=False))
        elif isinstance(node, (ast.For, ast.comprehension)):
            counts = isinstance(node.iter, ast.Call) and last_name(node.iter.func) == "range"
            self._bind_target(
                node.target, frozenset({"int"}) if counts else self._item_types(self(node.iter))
            )

    def _bind_value(self, target: ast.expr, value: ast.expr) -> None:
        """Record what an assignment binds, element by element in ``a, b = [], []``."""
        pairs = (ast.Tuple, ast.List)
        if isinstance(target, pairs) and isinstance(value, pairs) and len(target.elts) == len(value.elts):
            for element, part in zip(target.elts, value.elts, strict=True):
                self._bind_value(element, part)
        else:
            self._bind_target(target, self(value))

    def _bind_target(self, target: ast.expr, types: Types) -> None:
        if isinstance(target, ast.Name):
            self._variables[target.id] = self._variables.get(target.id, NOTHING) | types
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                self._bind_target(element, self._item_types(types))

    def _item_types(self, types: Types) -> Types:
        item = {"sizes": "int", "tensors": "Tensor", "Tensor": "Tensor"}
        return frozenset(item[one] for one in types if one in item)

    def _attribute_types(self, node: ast.Attribute) -> Types:
        if node.attr in _TENSOR_ATTRIBUTES:
            return frozenset({_TENSOR_ATTRIBUTES[node.attr]})
        if node.attr in _GIVES_TENSOR and "Tensor" in self(node.value):
            return frozenset({"Tensor"})
        return NOTHING

    def _operation_types(self, node: ast.BinOp) -> Types:
        left, right = self(node.left), self(node.right)
        if isinstance(node.op, ast.Add) and (left | right) & (TUPLES | LISTS | {"tuple"}):
            return frozenset({"list"}) if "list" in left | right else left | right
        if "Tensor" in left | right:
            return frozenset({"Tensor"})
        if left and right and left | right <= NUMBERS:
            if isinstance(node.op, ast.Div) or "float" in left | right:
                return frozenset({"float"})
            return frozenset({"int"})
        return left & {"list", "str"}

    def _call_types(self, node: ast.Call) -> Types:
        name = last_name(node.func)
        if isinstance(node.func, ast.Name):
            if name == "len":
                return frozenset({"int"})
            return _CONVERSIONS & {name}
        if not isinstance(node.func, ast.Attribute) or name is None:
            return NOTHING
        owner = self(node.func.value)
        if name == "size":
            return frozenset({"int" if node.args or node.keywords else "sizes"})
        if name == "stride" and not node.args:
            return frozenset({"sizes"})
        if name == "where" and len(node.args) == 1:
            return frozenset({"tensors"})
        if name in _TENSORS and not (owner & {"str", "sizes"}):
            # `"a b".split(" ")` of a string whose type is unknown: only strings are split at a string.
            splits_text = bool(node.args) and string_value(node.args[0]) is not None
            return frozenset({"str" if splits_text else "tensors"})
        if name in _VIEWS and not node.args and (not owner or owner & {"Dict", "dict"}):
            return frozenset({"view"})
        if name in _NUMBERS:
            return frozenset(_NUMBERS[name] and {_NUMBERS[name]})  # type: ignore[arg-type]
        if isinstance(node.func.value, ast.Name) and node.func.value.id in ("torch", "F"):
            numbers = self.argument_types(node) if name in NUMERIC else NOTHING
            return NOTHING if numbers and numbers <= NUMBERS else frozenset({"Tensor"})
        return frozenset({"Tensor"}) if "Tensor" in owner else NOTHING

    def argument_types(self, call: ast.Call) -> Types:
        """Return the types of all positional arguments together; empty if one is unknown."""
        found = [self(argument) for argument in call.args]
        return frozenset().union(*found) if found and all(found) else NOTHING


def _find_rebound(function: Function, parameters: Iterable[str], below: Iterable[ast.AST]) -> dict[str, int]:
    """Return the parameters that the body rebinds to a list or dictionary of its own, with the last line that does so."""
    bound: dict[str, list[ast.expr]] = {}
    for node in below:
        if isinstance(node, ast.Assign):
            for name in (part for target in node.targets for part in walk_nodes(target)):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    bound.setdefault(name.id, []).append(node.value)
    own = {name for name, values in bound.items() if name in parameters and all(map(_is_fresh, values))}
    return {
        target.id: statement.end_lineno or statement.lineno
        for statement in reversed(function.body)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and target.id in own
    }


def _is_fresh(value: ast.expr) -> bool:
    """Return whether an expression makes a list or dictionary, which nothing else holds."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("list", "dict", "sorted")
    return isinstance(value, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))
