"""The parameters of a definition, and whether it only raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
ABSTRACT = {"NotImplementedError"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of one signature."""

    name: str
    keyword: bool
    positional: bool
    default: str
    """The default as source text; empty for a required parameter."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters that calls can pass."""

    parameters: tuple[Parameter, ...]
    takes_any_keyword: bool
    takes_any_position: bool


def signature(function: Function, *, bound: bool) -> Signature:
    """Return the signature of a definition; of a method (``bound``) without its first parameter."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    defaults = ["", *[""] * len(positional)][: len(positional) - len(args.defaults)]
    defaults += [ast.unparse(default) for default in args.defaults]
    found = [
        # Stubs of older releases say "positional only" by two underscores.
        Parameter(arg.arg, arg not in args.posonlyargs and not arg.arg.startswith("__"), True, default)
        for arg, default in zip(positional, defaults, strict=True)
    ]
    if bound and found:
        del found[0]
    for arg, kw_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(Parameter(arg.arg, True, False, ast.unparse(kw_default) if kw_default else ""))
    return Signature(tuple(found), args.kwarg is not None, args.vararg is not None)


def either(signatures: Sequence[Signature]) -> Signature:
    """Merge the signatures of overloads; a default is kept if all overloads with the parameter agree on it."""
    if len(signatures) == 1:
        return signatures[0]
    names = dict.fromkeys(parameter.name for one in signatures for parameter in one.parameters)
    merged = []
    for name in names:
        same = [p for one in signatures for p in one.parameters if p.name == name]
        default = same[0].default if len({p.default for p in same}) == 1 else "…"
        merged.append(Parameter(name, any(p.keyword for p in same), any(p.positional for p in same), default))
    return Signature(
        tuple(merged),
        any(one.takes_any_keyword for one in signatures),
        any(one.takes_any_position for one in signatures),
    )


def only_raises(function: Function) -> bool:
    """Return whether every call ends in an exception that does not mean "to be overridden"."""
    last = function.body[-1]
    if not isinstance(last, ast.Raise) or last.exc is None:
        return False
    raised = last.exc.func if isinstance(last.exc, ast.Call) else last.exc
    if isinstance(raised, ast.Name) and raised.id in ABSTRACT:
        return False
    return not any(isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) for node in _own(function))


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function's body, without the nodes of functions and classes in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))
