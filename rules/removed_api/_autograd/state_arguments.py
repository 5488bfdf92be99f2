"""The fix for functions with a state: what `__init__` keeps becomes arguments of `forward`."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, NoFix, Safety
from torchmigrate.model.findings import FixChange, MultiFileFix
from torchmigrate.project.indexed_file import index_file
from torchmigrate.rewrite.changes import AddParameters, Insert, Remove, Replace, replace, template
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, iterate_children

from .function_classes import FunctionClass, get_first_statement, is_docstring, list_users

if TYPE_CHECKING:
    from torchmigrate.api import Context

_METHODS = ("__init__", "forward", "backward")


def create_state_fix(owner: FunctionClass, ctx: Context) -> Fix:
    """Return the fix of a class and of all places that use it, or this file's part of it.

    Raises NoFix if a place does more than to call an object.
    """
    name = owner.definition.name
    users = list_users(owner, ctx)
    _check_methods(owner)
    begin, forward, backward = (owner.methods[one] for one in _METHODS)
    state, inputs = begin.args.args[1:], forward.args.args[1:]
    for path, nodes in users.items():
        file = index_file(ctx.project, path)
        if file is not None:
            shown = ctx.project.get_display_path(path)
            list(_change_calls(nodes, file.parents, begin, len(inputs), shown))  # raises NoFix
    changes: list[FixChange] = []
    if owner.is_own:
        changes += _move_state(begin, forward, ctx)
        changes += _return_none_for(len(state), len(inputs), backward) if state else ()
        changes += owner.make_static()
    own = {(one.lineno, one.col_offset) for one in users.get(os.path.abspath(ctx.source.path), ())}
    parents = ctx.uses.data_flow.parents
    nodes = [one for one in parents if last_name(one) == name and isinstance(one, ast.expr)]
    here = [one for one in nodes if (one.lineno, one.col_offset) in own]
    changes += _change_calls(here, parents, begin, len(inputs), ctx.source.path)
    paths = tuple(sorted({ctx.project.get_display_path(path) for path in (owner.path, *users)}))
    others = ", ".join(path for path in paths if path != ctx.source.path)
    reason = "unsafe because its state is evaluated after the other arguments"
    return Fix(
        (*changes,),
        Safety.UNSAFE,
        f"Use `{name}.apply`{f' here and in {others}' if others else ''}; {reason}",
        joint=MultiFileFix(f"{name} of {paths[0]}", paths) if others else None,
    )


def _check_methods(owner: FunctionClass) -> None:
    """Raise NoFix if a class does more than to keep values, or has other methods."""
    if len(owner.definition.bases) > 1 or owner.bases or owner.methods.keys() != {*_METHODS}:
        raise NoFix("the class has other methods than `__init__`, `forward` and `backward`, or lacks one")
    begin, forward, backward = (owner.methods[one] for one in _METHODS)
    if any(one.decorator_list or not _is_plain(one.args) for one in (begin, forward, backward)):
        raise NoFix("a method has decorators, or parameters that are not positional")
    taken = {one.arg for one in forward.args.args[1:]}
    if forward.args.defaults or any(one.arg in taken for one in begin.args.args[1:]):
        raise NoFix("`forward` has defaults, or a parameter that `__init__` has as well")
    if begin.args.args[0].arg != forward.args.args[0].arg:
        raise NoFix("`__init__` and `forward` name the object differently")
    for one in _list_kept(begin):
        if not isinstance(one, (ast.Assign, ast.AnnAssign, ast.Assert)) or one.lineno != one.end_lineno:
            raise NoFix(f"line {one.lineno} of `__init__` does more than to keep a value")
    for returned in _iter_returns(backward):
        if returned.value is None or (
            isinstance(returned.value, ast.Constant) and returned.value.value is None
        ):
            raise NoFix("`backward` returns nothing")


def _list_kept(begin: ast.FunctionDef) -> list[ast.stmt]:
    """Return what `__init__` does itself."""
    return [one for one in begin.body if not is_docstring(one) and not _calls_base(one)]


def _is_plain(parameters: ast.arguments) -> bool:
    """Return whether all parameters can be given by position, and are not collected."""
    more = (parameters.posonlyargs, parameters.kwonlyargs, parameters.vararg, parameters.kwarg)
    return not any(more) and len(parameters.args) > 0


def _move_state(begin: ast.FunctionDef, forward: ast.FunctionDef, ctx: Context) -> Iterator[FixChange]:
    """Yield the changes that let `forward` do what `__init__` does."""
    kept = _list_kept(begin)
    defaults = [None] * (len(begin.args.args) - len(begin.args.defaults)) + [*begin.args.defaults]
    parameters = [
        _write_parameter(one, default, ctx) for one, default in zip(begin.args.args, defaults, strict=True)
    ][1:]
    if parameters:
        yield AddParameters(forward, template(_escape(f"def _({', '.join(parameters)}): ...")))
    if kept:
        yield Insert(
            get_first_statement(forward), template(_escape("\n".join(ctx.get_text(one) for one in kept)))
        )
    yield Remove(begin)


def _write_parameter(parameter: ast.arg, default: ast.expr | None, ctx: Context) -> str:
    if default is None:
        return ctx.get_text(parameter)
    equal = "=" if parameter.annotation is None else " = "
    return ctx.get_text(parameter) + equal + ctx.get_text(default)


def _escape(code: str) -> str:
    return code.replace("{", "{{").replace("}", "}}")


def _calls_base(statement: ast.stmt) -> bool:
    """Return whether a statement only calls `__init__` of the base, which keeps nothing."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="__init__"))) | ast.Pass():
            return True
    return False


def _return_none_for(more: int, inputs: int, backward: ast.FunctionDef) -> Iterator[Replace]:
    """Yield the changes that return None for ``more`` arguments, behind the gradients of the inputs."""
    nothing = ", None" * more
    for statement in _iter_returns(backward):
        match statement.value:
            case None:
                continue
            case ast.Tuple(elts=elements) if elements:
                yield replace(statement.value, "{gradients}" + nothing, gradients=elements)
            case value:
                gradients = ("" if inputs == 1 else "*") + "{gradients}" + nothing
                is_single = isinstance(value, (ast.Name, ast.Attribute, ast.Call)) and inputs == 1
                yield replace(value, gradients if is_single else f"({gradients})", gradients=value)


def _iter_returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the statements by which a function returns, without those of functions in it."""
    for child in iterate_children(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield from _iter_returns(child)


def _change_calls(
    nodes: Iterable[ast.expr],
    parents: Mapping[ast.AST, ast.AST],
    begin: ast.FunctionDef,
    inputs: int,
    path: str,
) -> Iterator[Replace]:
    """Yield the changes of the calls that make an object of a class, whose names in a file are ``nodes``, and call it at once.

    Raises NoFix, with the ``path`` of the file as it is shown, for any other use.
    """
    names = [one.arg for one in begin.args.args[1:]]
    for node in nodes:
        made = parents.get(node)
        called = parents.get(made) if made is not None else None
        match made, called:
            case ast.Call(func=ast.Name(id="super")), _:
                continue
            case ast.Call(func=function), ast.Call(func=target) if function is node and target is made:
                state = _order_state(made, names, path)
            case _:
                raise NoFix(f"{path}:{node.lineno} uses the class in another way")
        is_starred = any(isinstance(one, ast.Starred) for one in called.args)
        if called.keywords or len(called.args) != inputs or is_starred:
            raise NoFix(f"the arguments on {path}:{node.lineno} are not those of `forward`")
        yield replace(
            called, "{function}.apply({arguments})", function=node, arguments=[*called.args, *state]
        )


def _order_state(made: ast.Call, names: list[str], path: str) -> list[ast.expr]:
    """Return the arguments of `__init__` in the order of its parameters. Raises NoFix if one is left out before another."""
    given = dict(zip(names, made.args, strict=False)) | {
        one.arg: one.value for one in made.keywords if one.arg
    }
    is_starred = any(isinstance(one, ast.Starred) for one in made.args) or None in [
        k.arg for k in made.keywords
    ]
    if is_starred or given.keys() != {*names[: len(given)]} or len(made.args) > len(names):
        raise NoFix(f"{path}:{made.lineno} leaves out a parameter of `__init__` before another one")
    return [given[name] for name in names[: len(given)]]
