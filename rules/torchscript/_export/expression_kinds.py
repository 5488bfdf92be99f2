"""The kind of an expression, as far as the surrounding code shows it: a function, a module, a tensor or a tuple."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Binding, Scope
from torchmigrate.semantics.tensors import is_tensor, list_sizes

_FUNCTION_NAMES = frozenset({"f", "fn", "func", "function", "fun", "callable"})
SAME_SIZE_METHODS = frozenset(
    [
        *("to", "cuda", "cpu", "float", "half", "double", "int", "long", "bfloat16", "clone", "detach"),
        *("type", "contiguous", "requires_grad_", "normal_", "uniform_", "zero_"),
    ]
)
"""Methods that return a tensor of the same sizes."""
_RESHAPES = frozenset({"view", "reshape", "permute", "transpose", "unsqueeze", "squeeze", "expand", "repeat"})
_TENSOR_METHODS = SAME_SIZE_METHODS | _RESHAPES | {"type_as"}
_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
"""Classes of modules without a forward."""
_MODULE_METHODS = frozenset({"eval", "train", "to", "cuda", "cpu", "half"})
"""Methods that return the module itself."""
_CLASS_NAME = re.compile(r"_*[A-Z]\w*[a-z]\w*\Z")


def find_binding(node: ast.AST | None, scope: Scope, ctx: Context) -> ast.AST | None:
    """Return the node that a name is certainly bound to where it is read, or None.

    That is an expression, a definition, a parameter or an import.
    """
    if not isinstance(node, ast.Name):
        return None
    assigned = ctx.uses.data_flow.find_definition(node, scope)
    if assigned is not None:
        return assigned
    owner = scope.find_scope(node.id)
    if owner is None:
        return None
    state = ctx.uses.data_flow.find_reaching(node.id, owner).reads.get(node)
    if state is not None and len(state) == 1 and (found := next(iter(state))) is not owner.node:
        is_definition = isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        return found if is_definition else _find_unpacked(found, ctx)
    bindings: list[Binding] = owner.bindings[node.id]
    if len(bindings) != 1:
        return None
    return bindings[0].value or _find_unpacked(bindings[0].node, ctx) or bindings[0].node


def _find_unpacked(target: ast.AST, ctx: Context) -> ast.expr | None:
    """Return the value of one of several variables that are assigned together: ``x, y = 1, 2``."""
    targets = ctx.uses.data_flow.parents.get(target)
    statement = ctx.uses.data_flow.parents.get(targets) if isinstance(targets, ast.Tuple) else None
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
        return None
    assert isinstance(targets, ast.Tuple)
    values = statement.value.elts
    if len(values) != len(targets.elts) or any(
        isinstance(one, ast.Starred) for one in (*values, *targets.elts)
    ):
        return None
    return next(value for one, value in zip(targets.elts, values, strict=True) if one is target)


def find_kind(node: ast.expr, use: Use, ctx: Context, depth: int = 4) -> str | None:
    """Return "function", "class", "module", "scripted" or "container"; None where the code does not show the kind."""
    if isinstance(node, ast.Lambda):
        return "function"
    if isinstance(node, (ast.List, ast.Dict)):
        return "container"
    if isinstance(node, ast.Name) and depth:
        return _find_binding_kind(find_binding(node, use.place.scope, ctx), use, ctx, depth - 1)
    if isinstance(node, ast.Call):
        resolved = ctx.resolve_node(node, use)
        if resolved is not None and resolved.names[0].startswith("torch.jit."):
            return "scripted"
        if isinstance(node.func, ast.Attribute) and node.func.attr in _MODULE_METHODS:
            return find_kind(node.func.value, use, ctx, depth - 1) or "module"
        if last_name(node.func) in _CONTAINERS:
            return "container"
        return "module" if _CLASS_NAME.match(last_name(node.func) or "") else None
    return _find_attribute_kind(node, use, ctx, depth) if isinstance(node, ast.Attribute) else None


def _find_binding_kind(found: ast.AST | None, use: Use, ctx: Context, depth: int) -> str | None:
    match found:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "function"
        case ast.ClassDef():
            return "class"
        case ast.arg():
            return _find_annotated_kind(found)
        case ast.alias(name=name, asname=bound):
            name = bound or name
            return None if "." in name else "class" if _CLASS_NAME.match(name) else "function"
        case ast.expr():
            return find_kind(found, use, ctx, depth)
    return None


def _find_attribute_kind(node: ast.Attribute, use: Use, ctx: Context, depth: int) -> str | None:
    """Return the kind of an attribute: by its name, by the methods of this file, or by what this file assigns to it."""
    name = node.attr
    if name == "forward":
        return "module"
    if name.startswith("forward_"):
        return "function"
    resolved = ctx.resolve_node(node, use)
    if resolved is not None and resolved.certain and "()" not in resolved.names[0]:
        return "class" if _CLASS_NAME.match(name) else "function"
    if name.endswith(("model", "module", "net", "network", "backbone")):
        return "module"
    if not depth:
        return None
    values = [
        value for value in get_assigned_attributes(ctx).get(name, ()) if not _is_made_of_itself(value, node)
    ]
    kinds = {find_kind(value, use, ctx, depth - 1) for value in values}
    if name in ctx.uses.compute_once("methods", lambda: _collect_methods(ctx)):
        return None if kinds else "function"
    return "module" if kinds == {"module"} else None


def _is_made_of_itself(value: ast.expr, attribute: ast.Attribute) -> bool:
    """Return whether an attribute is bound to what a function makes of it: ``self.pad = torch.jit.script(self.pad)``."""
    first = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return isinstance(first, ast.Attribute) and ast.unparse(first) == ast.unparse(attribute)


def get_assigned_attributes(ctx: Context) -> dict[str, list[ast.expr]]:
    """Return the expressions that this file assigns to attributes, by the names of these."""
    return ctx.uses.compute_once("attributes", lambda: _collect_assigned_attributes(ctx))


def _collect_assigned_attributes(ctx: Context) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ctx.uses.data_flow.parents:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append(node.value)
    return found


def _collect_methods(ctx: Context) -> set[str]:
    inner = (s for s in ctx.uses.scopes.all if s.parent is not None and s.parent.is_class)
    return {scope.node.name for scope in inner if not isinstance(scope.node, ast.Module)}


def find_class(node: ast.expr | None, use: Use, ctx: Context) -> ast.ClassDef | None:
    """Return the class of this file that a module is an instance of; None where the code does not show one."""
    for _ in range(4):
        match node:
            case ast.Name():
                found = find_binding(node, use.place.scope, ctx)
                node = found if isinstance(found, ast.expr) else None
            case ast.Call(func=ast.Attribute(value=owner)):
                node = owner  # `.eval()`, `.to(…)`
            case ast.Call(func=function):
                found = find_binding(function, use.place.scope, ctx)
                return found if isinstance(found, ast.ClassDef) else None
    return None


def find_declared_kind(target: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str | None:
    """Return "function" or "module" by how a parameter or variable is declared; None where that does not show it."""
    if isinstance(target, ast.arg):
        return _find_annotated_kind(target)
    statement = parents.get(target)
    annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
    return "module" if re.search(r"\bModule\b", annotation) else None


def _find_annotated_kind(parameter: ast.arg) -> str | None:
    """Return "function" or "module" by the annotation of a parameter, or by its name where that is a usual one."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
    if "Callable" in annotation or (not annotation and parameter.arg in _FUNCTION_NAMES):
        return "function"
    return "module" if "Module" in annotation or parameter.arg in ("model", "module", "net", "self") else None


def find_input_form(node: ast.expr, use: Use, ctx: Context, depth: int = 4) -> str | None:
    """Return "tuple", "list" or "one" for the example inputs of a trace; None where the code does not show it."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return type(node).__name__.lower()
    if isinstance(node, (ast.Dict, ast.DictComp)):
        return "one"
    if isinstance(node, ast.Name) and depth:
        found = find_binding(node, use.place.scope, ctx)
        owner = use.place.scope.find_scope(node.id)
        arguments = getattr(owner.node, "args", None) if owner else None
        if isinstance(found, ast.arg) and found is getattr(arguments, "vararg", None):
            return "tuple"
        if isinstance(found, ast.arg) and found.annotation is not None:
            text = ast.unparse(found.annotation).replace("typing.", "").replace("torch.", "")
            return "tuple" if re.match(r"[Tt]uple\b", text) else "one" if text == "Tensor" else None
        return find_input_form(found, use, ctx, depth - 1) if isinstance(found, ast.expr) else None
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        resolved = ctx.resolve_node(node.func, use)
        if name in ("tuple", "list") and resolved is None:
            return name
        if is_tensor(node, use.place, ctx.uses) or (
            isinstance(node.func, ast.Attribute) and name in _TENSOR_METHODS
        ):
            return "one"
    return None


def find_shape(node: ast.expr, use: Use, ctx: Context) -> list[ast.expr] | None:
    """Return the sizes that a tensor is made with (``torch.randn(2, 3)``), followed through a variable and `.to(...)`."""
    for _ in range(4):
        if isinstance(node, ast.Name):
            found = find_binding(node, use.place.scope, ctx)
            if not isinstance(found, ast.expr):
                return None
            node = found
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _RESHAPES:
                return None
            if node.func.attr not in _TENSOR_METHODS:
                break
            node = node.func.value
        else:
            break
    resolved = ctx.resolve_node(node.func, use) if isinstance(node, ast.Call) else None
    if resolved is None or not resolved.names[0].startswith("torch."):
        return None
    assert isinstance(node, ast.Call)
    sizes = list_sizes(node)
    return None if not sizes or any(isinstance(size, ast.Starred) for size in sizes) else sizes
