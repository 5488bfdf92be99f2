"""Whether the code around a use is prepared for the name to be missing, or never gets there on the target."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, Severity
from torchmigrate.semantics.guards import Reach, reach
from torchmigrate.semantics.resolve import root
from torchmigrate.semantics.scopes import BindingKind
from torchmigrate.tables import api, changes

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Binding, Place

MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "NameError"})
"""What a missing name raises."""
ANY = frozenset({"Exception", "BaseException"})


def is_done_without(use: Use, ctx: Context, reached: Reach) -> bool:
    """Whether the target never trips over a name that it lacks. Where an import brings that very name, it is the import
    that fails, however the name is read afterwards."""
    brought = [(one, reach(one, ctx.uses)) for one in _imports(use, ctx)] or [(use, reached)]
    return all(is_guarded(one, ctx, at) or is_missed(one, ctx, at) for one, at in brought)


def imports_at_first(use: Use, ctx: Context) -> Iterator[Use]:
    """The imports that bring the symbol of a use, each at the first of its uses: the line that fails where it is gone."""
    for one in _imports(use, ctx):
        at = reach(one, ctx.uses)
        told = ctx.uses.once((ctx.rule.code, one.node), lambda: use)
        if told is use and not is_guarded(one, ctx, at) and not is_missed(one, ctx, at):
            yield one


def _imports(use: Use, ctx: Context) -> Iterator[Use]:
    """The imports that bring the symbol of a use, or a module of it that is not there at the target."""
    named = root(use.node)
    owner = use.place.scope.find(named.id) if isinstance(named, ast.Name) else None
    if not isinstance(named, ast.Name) or owner is None:
        return
    places: Mapping[ast.AST, Place] = ctx.uses.once(
        "places", lambda: {place.statement: place for place in ctx.uses.scopes.places}
    )
    parents = ctx.uses.flow.parents
    for binding in owner.bindings[named.id]:
        place = places.get(parents[binding.node]) if binding.node in parents else None
        if binding.kind is not BindingKind.FROM or place is None or not isinstance(binding.node, ast.alias):
            continue
        target = binding.target(binding.name)
        if target == use.name or (use.name.startswith(f"{target}.") and _is_gone(target, ctx)):
            yield replace(use, kind=Kind.IMPORT, node=binding.node, parents=(place.statement,), place=place)


def _joined(owner: str, name: str) -> str:
    return f"{owner}.{name}"


def _is_gone(name: str, ctx: Context) -> bool:
    entry, change = api.find(name), changes.by_symbol(changes.Kind.REMOVED).get(name)
    gone = change is not None and not change.raises and change.severity(ctx.options.target) is Severity.ERROR
    return gone or (entry is not None and ctx.options.target not in entry.present)


def is_guarded(use: Use, ctx: Context, reached: Reach, *, is_always_there: bool = False) -> bool:
    """Whether the target does not get to the use, or the code knows of another name for what it does.

    A handler is no fallback from a name that no release lacks (``is_always_there``), nor is what something else than torch has
    not got.
    """
    named = use.node
    if isinstance(named, ast.alias):
        resolved = ctx.uses.names.resolve_name(named.asname or named.name, use.place.scope)
    else:
        resolved = ctx.resolve(named, use)
    ambiguous = resolved is not None and len(resolved.names) > 1
    fallback = bool(reached.fallback & (MISSING | ANY)) and not (is_always_there or _is_tried_again(use, ctx))
    target = ctx.options.target
    lacks = any(name.startswith("torch.") or not is_always_there for name in reached.absent)
    lost = any(
        _is_gone(part, ctx) for name in reached.present for part in accumulate(name.split("."), _joined)
    )
    if ambiguous or fallback or lacks or lost or not reached.is_reached(target):
        return True
    brought = [reach(one, ctx.uses) for one in _imports(use, ctx)]
    return bool(brought) and not any(at.is_reached(target) for at in brought)


def _is_tried_again(use: Use, ctx: Context) -> bool:
    """Whether the use stands in the handler of what has failed although it uses the same name: not because that is missing."""
    tried = set(_walked(tried_before(use)))
    return bool(tried) and any(one.name == use.name and one.node in tried for one in ctx.uses.found)


def tried_before(use: Use) -> list[ast.stmt]:
    """What is tried where the use stands in the handler of it; empty where it stands in none."""
    for inner, outer in pairwise(use.place.outwards()):
        node = outer.statement
        if isinstance(node, ast.Try) and any(inner.statement in handler.body for handler in node.handlers):
            return node.body
    return []


def _walked(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What is done whatever a test says: one may ask for the version, with the same name where it is an old one."""
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.If, ast.IfExp)):
            waiting += ast.iter_child_nodes(node)


def is_missed(use: Use, ctx: Context, reached: Reach) -> bool:
    """Whether the code is prepared for the name to be missing."""
    owner = use.name
    while owner and owner not in reached.present:
        owner = owner.rpartition(".")[0]
    caught = bool(reached.caught & (MISSING | ANY))
    return caught or bool(owner) or reached.typing_only or bool(otherwise(use))


def otherwise(use: Use) -> list[Binding]:
    """What else may bind the name of an import, in another branch."""
    if not isinstance(use.node, ast.alias):
        return []
    name = use.node.asname or use.node.name
    owner = use.place.scope.find(name)
    bound = owner.bindings[name] if owner is not None else []
    return [binding for binding in bound if binding.node is not use.node and not _is_placeholder(binding)]


def _is_placeholder(binding: Binding) -> bool:
    return isinstance(binding.value, ast.Constant) and binding.value.value in (None, False)


def asks_for(use: Use, keyword: str) -> bool:
    """Whether the code around asks a signature for a parameter: ``"indexing" in inspect.signature(f).parameters``."""
    tests = [node.test for node in use.parents if isinstance(node, ast.IfExp)]
    for place in use.place.outwards():
        tests += [s.test for s in (place.statement, *place.before()) if isinstance(s, ast.If)]
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and isinstance(node.left, ast.Constant)
        and node.left.value == keyword
        for test in tests
        for node in ast.walk(test)
    )


def gives_it_elsewhere(use: Use, keyword: str) -> bool:
    """Whether another branch makes the same call with the keyword: one that asks, in whatever way, for what torch takes."""
    call = use.call
    return call is not None and any(
        isinstance(other, ast.Call) and _adds(other, call, keyword)
        for branch in _branches(use)
        for statement in branch
        for other in ast.walk(statement)
    )


def _branches(use: Use) -> Iterator[list[ast.stmt]]:
    """The other branches of the conditions that the use stands in, and those before it that leave."""
    for inner, outer in pairwise(use.place.outwards()):
        node = outer.statement
        if isinstance(node, ast.If):
            yield node.orelse if inner.statement in node.body else node.body
    for statement in use.place.before():
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], (ast.Return, ast.Raise)):
            yield statement.body


def _adds(other: ast.Call, call: ast.Call, keyword: str) -> bool:
    """Whether another call is the same one but for a keyword that it gives as well."""
    if not any(one.arg == keyword for one in other.keywords):
        return False
    rest = [one for one in other.keywords if one.arg != keyword]
    return ast.dump(ast.Call(other.func, other.args, rest)) == ast.dump(call)
