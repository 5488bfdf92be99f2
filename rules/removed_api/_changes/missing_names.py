"""Code that is prepared for a missing name, or that the target never reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from torchmigrate.api import Kind, Severity
from torchmigrate.semantics.name_resolution import getattr_name, innermost_object
from torchmigrate.semantics.scopes import BindingKind
from torchmigrate.semantics.version_guards import VersionReach, find_reach
from torchmigrate.tables import api_changes, api_ledger, early_names

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Binding, StatementPlace

MISSING_NAME = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "NameError"})
"""The exceptions that a missing name raises."""
ANY_EXCEPTION = frozenset({"Exception", "BaseException"})


def is_harmless(use: Use, ctx: Context, reached: VersionReach) -> bool:
    """Return whether a name that the target lacks causes no failure.

    If an import binds this very name, the import is what fails, however the name is read afterwards; so is an assignment of
    it to a variable.
    """
    brought = [*_find_imports(use, ctx)] or [*_find_assignments(use, ctx)]
    reaches = [(one, find_reach(one, ctx.uses)) for one in brought] or [(use, reached)]
    return all(has_alternative(one, ctx, at) or expects_absence(one, at) for one, at in reaches)


def find_failing_imports(use: Use, ctx: Context) -> Iterator[Use]:
    """Yield the imports that bind the symbol of a use and fail if it is gone, each for the first of its uses only."""
    for one in _find_imports(use, ctx):
        at = find_reach(one, ctx.uses)
        first = ctx.uses.compute_once((ctx.rule.code, one.node), lambda: use)
        if first is use and not has_alternative(one, ctx, at) and not expects_absence(one, at):
            yield one


def _find_imports(use: Use, ctx: Context) -> Iterator[Use]:
    """Yield the imports that bind the symbol of a use, or a module of it that the target lacks."""
    named = innermost_object(use.node)
    owner = use.place.scope.find_scope(named.id) if isinstance(named, ast.Name) else None
    if not isinstance(named, ast.Name) or owner is None:
        return
    places = _index_places(ctx)
    parents = ctx.uses.data_flow.parents
    for binding in owner.bindings[named.id]:
        place = places.get(parents[binding.node]) if binding.node in parents else None
        if binding.kind is not BindingKind.FROM or place is None or not isinstance(binding.node, ast.alias):
            continue
        target = binding.qualified_target(binding.name)
        if target == use.name or (use.name.startswith(f"{target}.") and _is_gone(target, ctx)):
            yield replace(use, kind=Kind.IMPORT, node=binding.node, parents=(place.statement,), place=place)


def _find_assignments(use: Use, ctx: Context) -> Iterator[Use]:
    """Yield the assignments of the symbol of a use to the variable that stands for it: ``log = torch.onnx.log``."""
    named = use.node
    owner = use.place.scope.find_scope(named.id) if isinstance(named, ast.Name) else None
    bound = owner.bindings[named.id] if owner is not None and isinstance(named, ast.Name) else []
    for binding in bound:
        statement = ctx.uses.data_flow.parents.get(binding.node)
        place = _index_places(ctx).get(statement) if statement is not None else None
        if binding.kind is not BindingKind.VALUE or binding.value is None or place is None:
            continue
        resolved = ctx.uses.names.resolve_expression(binding.value, place.scope)
        if resolved is not None and use.name in resolved.names:
            yield replace(use, node=binding.value, parents=(place.statement,), place=place)


def _index_places(ctx: Context) -> Mapping[ast.AST, StatementPlace]:
    """Return the place of each statement of the file."""
    places: Mapping[ast.AST, StatementPlace] = ctx.uses.compute_once(
        "places", lambda: {place.statement: place for place in ctx.uses.scopes.places}
    )
    return places


def _is_gone(name: str, ctx: Context) -> bool:
    entry, change = (
        api_ledger.find_entry(name),
        api_changes.index_by_symbol(api_changes.ApiChangeKind.REMOVED).get(name),
    )
    gone = (
        change is not None
        and not (change.raises or change.called)
        and change.find_severity(ctx.options.target) is Severity.ERROR
    )
    if entry is None:
        return gone or early_names.find_early_name(name) is not None
    return gone or ctx.options.target not in entry.present


def has_alternative(use: Use, ctx: Context, reached: VersionReach, *, is_always_there: bool = False) -> bool:
    """Return whether the target does not reach the use, or the code has an alternative to the name.

    A handler is no alternative to a name that every release has (``is_always_there``), and neither is code for the case
    that something other than torch lacks a name.
    """
    named = use.node
    if isinstance(named, ast.alias):
        resolved = ctx.uses.names.resolve_name(named.asname or named.name, use.place.scope)
    else:
        resolved = ctx.resolve_node(named, use)
    ambiguous = resolved is not None and len(resolved.names) > 1
    fallback = bool(reached.fallback & (MISSING_NAME | ANY_EXCEPTION)) and not (
        is_always_there or _is_retry(use, ctx)
    )
    target = ctx.options.target
    absent = [
        name for name in reached.absent if not name.startswith("._")
    ]  # `hasattr(self, "_cache")` is none of torch's
    lacks = any(name.startswith("torch.") or not is_always_there for name in absent)
    prefixes = (part for name in reached.present for part in accumulate(name.split("."), "{}.{}".format))
    lost = any(_is_gone(part, ctx) for part in prefixes)
    if ambiguous or fallback or lacks or lost or not reached.includes_version(target):
        return True
    brought = [find_reach(one, ctx.uses) for one in _find_imports(use, ctx)]
    return bool(brought) and not any(at.includes_version(target) for at in brought)


def _is_retry(use: Use, ctx: Context) -> bool:
    """Return whether the use is in a handler whose ``try`` uses the same name, and so failed for another reason."""
    tried = set(_walk_untested(find_tried(use)))
    return bool(tried) and any(one.name == use.name and one.node in tried for one in ctx.uses.all_uses)


def find_tried(use: Use) -> list[ast.stmt]:
    """Return the statements of the ``try`` in whose handler the use is; [] if it is in none."""
    for inner, outer in pairwise(use.place.enclosing_places()):
        node = outer.statement
        if isinstance(node, ast.Try) and any(inner.statement in handler.body for handler in node.handlers):
            return node.body
    return []


def is_for_other_failure(use: Use, ctx: Context) -> bool:
    """Return whether the ``try`` around a use has no alternative: its handlers call the same name again, or compute nothing."""
    for inner, outer in pairwise(use.place.enclosing_places()):
        node = outer.statement
        if isinstance(node, ast.Try) and inner.statement in node.body:
            below = {part for handler in node.handlers for part in ast.walk(handler)}
            retries = any(one.name == use.name and one.node in below for one in ctx.uses.all_uses)
            return retries or not any(_computes(part) for part in below)
    return False


def _computes(node: ast.AST) -> bool:
    """Return whether a node is a statement that keeps or returns what a call gives, or a constant that others can ask for."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)):
        return False
    is_constant = node.value is None or isinstance(node.value, ast.Constant)
    return is_constant or any(isinstance(part, ast.Call) for part in ast.walk(node))


def _walk_untested(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes below some statements that no test decides: a test of the version may guard the same name."""
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.If, ast.IfExp)):
            waiting += ast.iter_child_nodes(node)


def expects_absence(use: Use, reached: VersionReach) -> bool:
    """Return whether the code is prepared for a missing name."""
    owner = use.name
    while owner and owner not in reached.present:
        owner = owner.rpartition(".")[0]
    caught = bool(reached.caught & (MISSING_NAME | ANY_EXCEPTION)) or _has_default_value(use)
    return caught or bool(owner) or reached.typing_only or bool(find_other_bindings(use))


def has_default(use: Use) -> bool:
    """Return whether a name is read with a default: ``getattr(torch, "symeig", None)``."""
    return _reads_with_default(use.node)


def _has_default_value(use: Use) -> bool:
    """Return whether a name is read with a default, here or where the variable was bound that stands for it."""
    named = innermost_object(use.node)
    owner = use.place.scope.find_scope(named.id) if isinstance(named, ast.Name) else None
    bound = owner.bindings[named.id] if owner is not None and isinstance(named, ast.Name) else []
    return has_default(use) or any(_reads_with_default(binding.value) for binding in bound)


def _reads_with_default(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and getattr_name(node) is not None and len(node.args) == 3


def find_other_bindings(use: Use) -> list[Binding]:
    """Return the other bindings of the name of an import, in other branches."""
    if not isinstance(use.node, ast.alias):
        return []
    name = use.node.asname or use.node.name
    owner = use.place.scope.find_scope(name)
    bound = owner.bindings[name] if owner is not None else []
    # `GradScaler = None` in a handler is no other class to call.
    return [
        one
        for one in bound
        if one.node is not use.node and getattr(one.value, "value", one) not in (None, False)
    ]


def tests_parameter(use: Use, keyword: str) -> bool:
    """Return whether a test around a use asks for a parameter: ``"indexing" in inspect.signature(f).parameters``."""
    tests = [node.test for node in use.parents if isinstance(node, ast.IfExp)]
    for place in use.place.enclosing_places():
        tests += [s.test for s in (place.statement, *place.preceding_statements()) if isinstance(s, ast.If)]
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], (ast.In, ast.NotIn))
        and isinstance(node.left, ast.Constant)
        and node.left.value == keyword
        for test in tests
        for node in ast.walk(test)
    )


def names_other_branch(use: Use, attribute: str) -> bool:
    """Return whether another branch uses an attribute; whatever the test, a torch that has it takes that branch."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == attribute
        for branch in _find_other_branches(use)
        for statement in branch
        for node in ast.walk(statement)
    )


def has_other_call(use: Use, keyword: str) -> bool:
    """Return whether another branch makes the same call with the keyword, so that the code chooses by what torch accepts."""
    call = use.call
    return call is not None and any(
        isinstance(other, ast.Call) and _adds_keyword(other, call, keyword)
        for branch in _find_other_branches(use)
        for statement in branch
        for other in ast.walk(statement)
    )


def _find_other_branches(use: Use) -> Iterator[list[ast.stmt]]:
    """Yield the other branches of the conditions around the use, and those before it that return or raise."""
    for inner, outer in pairwise(use.place.enclosing_places()):
        node = outer.statement
        if isinstance(node, ast.If):
            yield node.orelse if inner.statement in node.body else node.body
    for statement in use.place.preceding_statements():
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], (ast.Return, ast.Raise)):
            yield statement.body


def _adds_keyword(other: ast.Call, call: ast.Call, keyword: str) -> bool:
    """Return whether another call is the same but for an additional keyword."""
    if not any(one.arg == keyword for one in other.keywords):
        return False
    rest = [one for one in other.keywords if one.arg != keyword]
    return ast.dump(ast.Call(other.func, other.args, rest)) == ast.dump(call)
