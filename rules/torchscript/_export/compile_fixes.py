"""Fixes that compile what a chain scripts or traces, or leave it as it is.

A scripted module that leaves its scope is compiled in place: ``model = torch.jit.script(model)`` → ``model.compile()``. Its
type, its attributes, the keys of its state_dict and its pickles stay those of the plain module, so that only code which
needs TorchScript itself can observe the change.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Fix, NoFix, Safety
from torchmigrate.model.findings import FixChange
from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition, find_imported_name
from torchmigrate.record.record_facts import ScriptUse
from torchmigrate.rewrite.changes import (
    DropArguments,
    Insert,
    Remove,
    Rename,
    ReplaceStatement,
    Symbol,
    replace,
    template,
)
from torchmigrate.semantics.call_arguments import argument_value, list_arguments
from torchmigrate.semantics.module_methods import MODES, MOVES
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .._authoring import call_purpose, cpp_casts
from .._authoring.torchscript_makers import FREEZES, OPTIMIZES
from .._script import compile_choice
from .._script.equal_branches import merge_branches
from . import in_place_observers
from .expression_kinds import find_binding, find_class, find_declared_kind, find_kind, get_assigned_attributes
from .kept_attributes import get_targets, has_plain_bases, is_attribute_of_self
from .module_keepers import find_reads
from .printed_views import check_unseen
from .result_chain import KEYS, PARTS, ResultChain

_COMPILE_METHOD = (2, 1)
"""The first torch with `nn.Module.compile`."""
_OF_MODULES = PARTS | MODES | MOVES | {"forward"}
_MODULE_NAME = re.compile(r"(?:^|_)(?:model|module|net|network|layer|backbone)(?:_|$)")
_MODULE_OF_TORCH = re.compile(
    r"torch\.nn\.(?:modules\.(?:\w+\.)?)?(?!\w*(?:Parameter|Buffer|Options)$)[A-Z]\w*$"
)
"""Classes of `torch.nn`, all of which are modules except parameters, buffers and options."""


def create_compile_fix(chain: ResultChain, model: ast.expr) -> Fix:
    """Return the fix ``script(model)`` → ``torch.compile(model)``. Raise NoFix where the result would be used differently."""
    _check_uses(chain)
    call = chain.call
    gone = tuple(node for node in list_arguments(call) if argument_value(node) is not model)
    changes = [
        *unwrap_results(chain),
        chain.ctx.rename_use(chain.use, "torch.compile"),
        *(Rename(keyword, "model") for keyword in call.keywords if keyword.value is model),
        DropArguments(call, gone),
    ]
    chain.replacement = "compile"
    return Fix(tuple(changes), Safety.UNSAFE, "Use `torch.compile`")


def create_eager_fix(chain: ResultChain, model: ast.expr, title: str) -> Fix:
    """Return the fix ``script(model)`` → ``model``. Raise NoFix where the result would be used differently."""
    _check_uses(chain)
    call_purpose.check_plain_result(chain.call, model, chain.use.place, chain.ctx)
    statement = chain.flow.parents[chain.call]
    targets = [*map(ast.unparse, statement.targets)] if isinstance(statement, ast.Assign) else []
    is_same = targets == [ast.unparse(model)]
    if is_same:
        change: FixChange = chain.ctx.remove_statement(chain.use.place)
    else:
        merged = merge_branches(chain.call, model, chain.use, chain.ctx)
        change = merged or replace(chain.call, "{model}", model=model)
    return Fix((*unwrap_results(chain), change), Safety.UNSAFE, title, anytime=True)


def _check_uses(chain: ResultChain) -> None:
    check_unseen(chain.views)
    # Only a function comes here saved: a module that is saved is exported.
    if chain.saves:
        raise NoFix(
            f"line {chain.saves[0][1].lineno} saves the result, but `torch.export` does not accept functions, and compiled code cannot be saved"
        )
    if chain.keys_line:
        raise NoFix(
            f"line {chain.keys_line} uses the names of the module's parameters, which `torch.compile` changes; use `model.compile()`"
        )


def unwrap_results(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes that take `freeze(…)` and `optimize_for_inference(…)` off their arguments."""
    renamed = _find_renaming(chain)
    if renamed is not None:
        first, last = renamed
        yield replace(first, "{name}", name=Symbol(last))
        yield from (Remove(_get_statement(call, chain)) for _, call in chain.wrappers)
        return
    for place, call in chain.wrappers:
        statement = chain.flow.parents[call]
        targets = [*map(ast.unparse, statement.targets)] if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.Assign) and targets == [ast.unparse(place)]:
            yield Remove(_find_whole(statement, chain))
        else:
            yield replace(call, "{module}", module=place)


def _find_whole(statement: ast.stmt, chain: ResultChain) -> ast.stmt:
    """Return the statement to remove with one that is all that an ``if`` without calls is for: that ``if``."""
    parent = chain.flow.parents[statement]
    if not isinstance(parent, ast.If) or parent.body != [statement] or parent.orelse:
        return statement
    return statement if any(isinstance(node, ast.Call) for node in ast.walk(parent.test)) else parent


def _find_renaming(chain: ResultChain) -> tuple[ast.Name, str] | None:
    """Return the variable of the result, and the one that it only passes through others to: ``b = freeze(a)``, ``c = freeze(b)``.

    None unless each of them is bound once, and read only by the statement that binds the next one.
    """
    first = get_targets(chain.flow.parents[chain.call])[0]
    bound = first
    for place, call in chain.wrappers:
        target = get_targets(chain.flow.parents[call])[0]
        is_next = isinstance(bound, ast.Name) and isinstance(place, ast.Name) and place.id == bound.id
        if not is_next or not isinstance(target, ast.Name) or len(chain.scope.bindings[target.id]) != 1:
            return None
        assert isinstance(bound, ast.Name)
        if len(chain.scope.bindings[bound.id]) != 1 or len(find_reads(bound, chain)) != 2:
            return None
        bound = target
    if chain.saves or bound is first or not (isinstance(first, ast.Name) and isinstance(bound, ast.Name)):
        return None
    return first, bound.id


def _get_statement(call: ast.Call, chain: ResultChain) -> ast.stmt:
    statement = chain.flow.parents[call]
    assert isinstance(statement, ast.stmt)
    return statement


def drop_mode_calls(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes that remove `.eval()` and `.train()`, which an exported module rejects."""
    for place, call in chain.modes:
        statement = chain.flow.parents[call]
        is_alone = isinstance(statement, ast.Expr)
        if isinstance(statement, ast.Assign):  # `model = model.eval()`
            is_alone = [*map(ast.unparse, statement.targets)] == [ast.unparse(place)]
        if is_alone and isinstance(place, (ast.Name, ast.Attribute)):
            assert isinstance(statement, ast.stmt)
            yield Remove(statement)
        else:
            yield replace(call, "{module}", module=place)


def create_in_place_fix(chain: ResultChain, model: ast.expr, leaves: str) -> Fix:
    """Return the fix of a scripted module whose result leaves its scope, for the reason ``leaves``.

    Raise NoFix with that reason where the result is not kept by one variable or attribute alone, and with another one
    where something may observe the difference.
    """
    check_unseen(chain.views)
    ctx, target = chain.ctx, _find_target(chain)
    frozen = _find_freezing_calls(chain, target) if target is not None else {}
    chain.members += [call.func for call in frozen.values()]
    if target is None or chain.scope.is_class or not _is_module(model, chain):
        raise NoFix(leaves)
    is_same = ast.unparse(target) == ast.unparse(model)
    # Compiled in place, the original would be compiled as well.
    is_beside = not (is_same or isinstance(model, ast.Call) or _is_made_for_it(model, chain))
    if is_beside and not _is_kept_by_plain_class(target, chain):
        raise NoFix(leaves)
    compile_choice.check_author_choice(chain.use, ctx)
    cpp_casts.check_casts(ctx)
    in_place_observers.check_observers(chain, model, target, [chain.call, *frozen.values()])
    uncompiled = compile_choice.explain_uncompiled("module", find_class(model, chain.use, ctx), ctx)
    if uncompiled:
        call_purpose.check_plain_result(chain.call, model, chain.use.place, ctx)
    elif ctx.options.minimum < _COMPILE_METHOD:
        raise NoFix("`Module.compile` needs torch 2.1")
    changes: list[FixChange] = [Remove(statement) for statement in frozen]
    statement, compiles = chain.use.place.statement, template("{module}.compile()", module=target)
    assert isinstance(statement, (ast.Assign, ast.AnnAssign))
    if statement.value is _find_whole_call(chain) and is_same:
        changes.append(Remove(statement) if uncompiled else ReplaceStatement(statement, compiles))
    elif is_beside and not uncompiled:
        changes.append(ctx.rename_use(chain.use, "torch.compile"))
    else:
        merged = merge_branches(chain.call, model, chain.use, ctx) if uncompiled else None
        changes.append(merged or replace(chain.call, "{model}", model=model))
        changes += [] if uncompiled else [Insert(statement, compiles, after=True)]
    title = uncompiled or ("Use `torch.compile`" if is_beside else "Compile the module in place")
    return Fix(tuple(changes), Safety.UNSAFE, title, anytime=bool(uncompiled))


def _is_made_for_it(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether a local variable keeps a new module that only the script reads: ``net = Net()``, ``self.net = script(net)``."""
    made = find_binding(model, chain.scope, chain.ctx)
    if not isinstance(made, ast.Call) or not isinstance(chain.scope.node, Function):
        return False
    return find_kind(made, chain.use, chain.ctx) == "module" and len(find_reads(model, chain)) == 2


def _is_kept_by_plain_class(target: ast.expr, chain: ResultChain) -> bool:
    """Return whether an attribute of a class that is no module keeps the result, and nobody uses the names of its parameters."""
    owner = chain.scope.parent.node if chain.scope.parent is not None else None
    if not isinstance(owner, ast.ClassDef) or not is_attribute_of_self(target) or not has_plain_bases(owner):
        return False
    parents = find_reads(target, chain).values()
    is_option = len(chain.call.args) + len(chain.call.keywords) > 1
    return not is_option and not any(isinstance(one, ast.Attribute) and one.attr in KEYS for one in parents)


def _find_whole_call(chain: ResultChain) -> ast.expr:
    """Return the call of `script`, or the `typing.cast` of its result."""
    parent = chain.flow.parents[chain.call]
    if isinstance(parent, ast.Call) and chain.ctx.is_named(parent.func, chain.use, "typing.cast"):
        return parent
    return chain.call


def _find_target(chain: ResultChain) -> ast.expr | None:
    """Return the one variable or attribute that gets the module, unchanged, moved or in another mode."""
    statement = chain.use.place.statement
    targets = get_targets(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else []
    if len(targets) != 1 or targets[0] is None:
        return None
    assert isinstance(statement, (ast.Assign, ast.AnnAssign))
    value: ast.AST = _find_whole_call(chain)
    while value is not statement.value:
        attribute = chain.flow.parents[value]
        value = chain.flow.parents[attribute]
        is_moved = isinstance(attribute, ast.Attribute) and attribute.attr in MODES | MOVES
        if not is_moved or not isinstance(value, ast.Call) or value.func is not attribute:
            return None
    owner: ast.expr = targets[0]
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return targets[0] if isinstance(owner, ast.Name) else None


def _is_module(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether a module is scripted, by how it is made, annotated or named, or by what the file asks of it."""
    kind = find_kind(model, chain.use, chain.ctx)
    if kind is not None:
        return kind == "module"
    if isinstance(model, ast.Name) and (owner := chain.scope.find_scope(model.id)) is not None:
        declared = {
            find_declared_kind(binding.node, chain.flow.parents) for binding in owner.bindings[model.id]
        }
        if "module" in declared:
            return "function" not in declared
    if isinstance(model, ast.Name) and _MODULE_NAME.search(model.id):
        return True
    runs = chain.ctx.recorded.find_own_facts(ScriptUse, chain.call)
    if runs and all(one.training is not None for one in runs):
        return True
    if _is_made_by_project(model, chain):
        return True
    around = find_reads(model, chain).values()
    return any(isinstance(node, ast.Attribute) and node.attr in _OF_MODULES for node in around)


def _is_made_by_project(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether functions of the project, which return nothing but modules, make what a variable or attribute keeps."""
    made = [find_binding(model, chain.scope, chain.ctx)]
    if isinstance(model, ast.Attribute):
        made = [*get_assigned_attributes(chain.ctx).get(model.attr, ())]
    file = index_file(chain.ctx.project, os.path.abspath(chain.ctx.source.path))
    calls = [one for one in made if isinstance(one, ast.Call) and one is not chain.call]
    if file is None or not calls or len(calls) < len(made) - (chain.call in made):
        return False
    return all(
        _returns_module(find_definition(one.func, file, chain.ctx.project), chain.ctx) for one in calls
    )


def _returns_module(found: tuple[ast.AST, IndexedFile] | None, ctx: Context) -> bool:
    """Return whether all that a function returns are instances of modules of `torch.nn`, made where it returns them."""
    if found is None or not isinstance(found[0], ast.FunctionDef):
        return False
    function, file = found
    returns = [node.value for node in walk_nodes(function) if isinstance(node, ast.Return)]
    return bool(returns) and all(
        isinstance(one, ast.Call)
        and _MODULE_OF_TORCH.match(find_imported_name(one.func, file, ctx.project) or "") is not None
        for one in returns
    )


def _find_freezing_calls(chain: ResultChain, target: ast.expr) -> dict[ast.stmt, ast.Call]:
    """Return the statements right after the script that freeze it into the same variable, each with its call."""
    place, found = chain.use.place, dict[ast.stmt, ast.Call]()
    for statement in place.block[place.block.index(place.statement) + 1 :]:
        call = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            break
        names = [ast.unparse(node) for node in (*statement.targets, *list_arguments(call))]
        is_frozen = chain.ctx.is_named(call.func, chain.use, *FREEZES, *OPTIMIZES)
        if not is_frozen or names != [ast.unparse(target)] * 2:
            break
        found[statement] = call
    return found
