"""What an expression is, as far as the code around it shows: a function, a module, a tensor, a tuple."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.tensors import is_tensor, list_sizes

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Binding, Scope

_FUNCTION_NAMES = frozenset({"f", "fn", "func", "function", "fun", "callable"})
_TENSOR_METHODS = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "int",
        "long",
        "bfloat16",
        "unsqueeze",
        "squeeze",
        "clone",
        "detach",
        "contiguous",
        "view",
        "reshape",
        "permute",
        "transpose",
        "requires_grad_",
        "expand",
        "repeat",
        "type_as",
        "normal_",
        "uniform_",
        "zero_",
    ]
)
_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "ParameterList", "ParameterDict"})
"""Modules without a forward."""
_CLASS_NAME = re.compile(r"_*[A-Z]\w*[a-z]\w*\Z")


def binding_of(node: ast.Name, scope: Scope, ctx: Context) -> ast.AST | None:
    """What a name certainly stands for where it is read: an expression, a definition, a parameter, an import."""
    assigned = ctx.uses.flow.definition(node, scope)
    if assigned is not None:
        return assigned
    owner = scope.find(node.id)
    if owner is None:
        return None
    state = ctx.uses.flow.reaching(node.id, owner).reads.get(node)
    if state is not None and len(state) == 1 and (found := next(iter(state))) is not owner.node:
        return found if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else None
    bindings: list[Binding] = owner.bindings[node.id]
    if len(bindings) != 1:
        return None
    return bindings[0].value or bindings[0].node


def kind_of(node: ast.expr, use: Use, ctx: Context, depth: int = 4) -> str | None:
    """ "function", "class", "module", "scripted" or "container"; None where the code does not show it."""
    if isinstance(node, ast.Lambda):
        return "function"
    if isinstance(node, (ast.List, ast.Dict)):
        return "container"
    if isinstance(node, ast.Name) and depth:
        found = binding_of(node, use.place.scope, ctx)
        if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return "function"
        if isinstance(found, ast.ClassDef):
            return "class"
        if isinstance(found, ast.arg):
            return _annotated(found)
        if isinstance(found, ast.alias):
            name = found.asname or found.name
            return None if "." in name else "class" if _CLASS_NAME.match(name) else "function"
        return kind_of(found, use, ctx, depth - 1) if isinstance(found, ast.expr) else None
    if isinstance(node, ast.Call):
        resolved = ctx.resolve(node, use)
        if resolved is not None and resolved.names[0].startswith("torch.jit."):
            return "scripted"
        if isinstance(node.func, ast.Attribute) and node.func.attr in (
            "eval",
            "train",
            "to",
            "cuda",
            "cpu",
            "half",
        ):
            return kind_of(node.func.value, use, ctx, depth - 1) or "module"
        if leaf(node.func) in _CONTAINERS:
            return "container"
        return "module" if _CLASS_NAME.match(leaf(node.func) or "") else None
    if isinstance(node, ast.Attribute):
        if node.attr == "forward":
            return "module"
        if node.attr.startswith("forward_"):
            return "function"
        resolved = ctx.resolve(node, use)
        if resolved is not None and resolved.certain and "()" not in resolved.names[0]:
            return "class" if _CLASS_NAME.match(node.attr) else "function"
        if node.attr.endswith(("model", "module", "net", "network", "backbone")):
            return "module"
        return _of_attribute(node.attr, use, ctx, depth) if depth else None
    return None


def _of_attribute(name: str, use: Use, ctx: Context, depth: int) -> str | None:
    """What an attribute of this name is in this file: a method that a class defines, or a module assigned to it."""
    assigned = assigned_attributes(ctx)
    methods = ctx.uses.once("methods", lambda: _methods(ctx))
    kinds = {kind_of(value, use, ctx, depth - 1) for value in assigned.get(name, ())}
    if name in methods:
        return None if kinds else "function"
    return "module" if kinds == {"module"} else None


def assigned_attributes(ctx: Context) -> dict[str, list[ast.expr]]:
    """What this file assigns to attributes, by their names."""
    return ctx.uses.once("attributes", lambda: _assigned_attributes(ctx))


def _assigned_attributes(ctx: Context) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ctx.uses.flow.parents:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append(node.value)
    return found


def _methods(ctx: Context) -> set[str]:
    scopes = ctx.uses.scopes.all
    return {
        s.node.name
        for s in scopes
        if s.parent is not None and s.parent.is_class and not isinstance(s.node, ast.Module)
    }


def made_by(node: ast.expr | None, use: Use, ctx: Context) -> ast.ClassDef | None:
    """The class of this file that a module is an instance of, where the code shows it."""
    for _ in range(4):
        if isinstance(node, ast.Name):
            found = binding_of(node, use.place.scope, ctx)
            if not isinstance(found, ast.expr):
                return None
            node = found
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value  # `.eval()`, `.to(…)`
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            made = binding_of(node.func, use.place.scope, ctx)
            return made if isinstance(made, ast.ClassDef) else None
    return None


def kind_declared(target: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> str | None:
    """What the declaration of a parameter or variable says it is: "function" or "module"; None where it says nothing."""
    if isinstance(target, ast.arg):
        return _annotated(target)
    statement = parents.get(target)
    annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
    return "module" if re.search(r"\bModule\b", annotation) else None


def _annotated(parameter: ast.arg) -> str | None:
    """What a parameter's annotation says it is, or its name where that is the usual one for a function."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
    if "Callable" in annotation or (not annotation and parameter.arg in _FUNCTION_NAMES):
        return "function"
    return "module" if "Module" in annotation or parameter.arg in ("model", "module", "net", "self") else None


def inputs_of(node: ast.expr, use: Use, ctx: Context, depth: int = 4) -> str | None:
    """ "tuple", "list" or "one" (argument) for the example inputs of a trace; None where the code does not show it."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return type(node).__name__.lower()
    if isinstance(node, (ast.Dict, ast.DictComp)):
        return "one"
    if isinstance(node, ast.Name) and depth:
        found = binding_of(node, use.place.scope, ctx)
        owner = use.place.scope.find(node.id)
        arguments = (
            owner.node.args
            if owner and isinstance(owner.node, (ast.FunctionDef, ast.AsyncFunctionDef))
            else None
        )
        if isinstance(found, ast.arg) and arguments is not None and found is arguments.vararg:
            return "tuple"
        if isinstance(found, ast.arg) and found.annotation is not None:
            text = ast.unparse(found.annotation).replace("typing.", "").replace("torch.", "")
            return "tuple" if re.match(r"[Tt]uple\b", text) else "one" if text == "Tensor" else None
        return inputs_of(found, use, ctx, depth - 1) if isinstance(found, ast.expr) else None
    if isinstance(node, ast.Call):
        name = leaf(node.func)
        resolved = ctx.resolve(node.func, use)
        if name in ("tuple", "list") and resolved is None:
            return name
        if is_tensor(node, use.place, ctx.uses) or (
            isinstance(node.func, ast.Attribute) and name in _TENSOR_METHODS
        ):
            return "one"
    return None


def shape_of(node: ast.expr, use: Use, ctx: Context) -> list[ast.expr] | None:
    """The sizes that a tensor is made with (``torch.randn(2, 3)``), followed through a variable and `.to(...)`."""
    for _ in range(4):
        if isinstance(node, ast.Name):
            found = binding_of(node, use.place.scope, ctx)
            if not isinstance(found, ast.expr):
                return None
            node = found
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _TENSOR_METHODS
        ):
            if node.func.attr in (
                "view",
                "reshape",
                "permute",
                "transpose",
                "unsqueeze",
                "squeeze",
                "expand",
                "repeat",
            ):
                return None
            node = node.func.value
        else:
            break
    resolved = ctx.resolve(node.func, use) if isinstance(node, ast.Call) else None
    if resolved is None or not resolved.names[0].startswith("torch."):
        return None
    assert isinstance(node, ast.Call)
    sizes = list_sizes(node)
    return None if not sizes or any(isinstance(size, ast.Starred) for size in sizes) else sizes
