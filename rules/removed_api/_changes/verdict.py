"""Whether a change concerns a use at the target, how badly, and what is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Severity
from torchmigrate.model.versions import Version, render
from torchmigrate.semantics.guards import Reach, reach
from torchmigrate.semantics.resolve import root
from torchmigrate.semantics.scopes import BindingKind
from torchmigrate.tables import api, changes

from .recipes import fitting

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Binding, Place
    from torchmigrate.tables.changes import Change

_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "NameError"})
_ANY = frozenset({"Exception", "BaseException"})
_SETTINGS = re.compile(
    r"torch\.(?:_dynamo|_inductor|_functorch|compiler|distributed|fx\.experimental)\._?config\."
)
"""Modules of settings (`torch.utils._config_module`), which check what they are given a value for."""
_NOT_CALLED = (Kind.ANNOTATION, Kind.BASE, Kind.ISINSTANCE, Kind.IMPORT)


def pairs(symbols: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The symbols that gate 1 finds by pairs of names; what calls give has no name of its own to stand beside."""
    return {symbol: () for symbol in symbols if "()" not in symbol}


def findings(use: Use, ctx: Context, change: Change) -> Iterator[Finding]:
    """What there is to say of the use of a name."""
    reached = reach(use, ctx.uses)
    severity = verdict(use, ctx, change, reached)
    if severity is None:
        return
    instead = change.instead.replace("{leaf}", leaf(use))
    owner = "Tensor." if change.kind is changes.Kind.METHOD else ""
    yield ctx.finding(
        use,
        f"`{owner}{{symbol}}` {change.state(ctx.options.target)}; {instead}",
        severity=severity,
        fix=(lambda: made(use, ctx, change, reached)) if change.recipes else None,
        hint=shim(use, ctx, change, reached),
        source=change.source,
    )
    fails = severity is Severity.ERROR and not change.raises
    for one in imports_at_first(use, ctx):
        yield ctx.finding(
            one,
            f"`{{symbol}}` {change.state(ctx.options.target)}{', and this import fails' if fails else ''}; {instead}",
            severity=severity if fails else Severity.INFO,
            source=change.source,
        )


def verdict(use: Use, ctx: Context, change: Change, reached: Reach) -> Severity | None:
    """How bad the use is at the target; None where it is fine."""
    severity = change.severity(ctx.options.target)
    if use.kind is Kind.GUARD or _is_own(use, change, ctx):
        return None
    if severity is Severity.ERROR and not change.raises:
        return None if is_replaced(use) or is_done_without(use, ctx, reached) else severity
    if is_guarded(use, ctx, reached):
        return None
    if severity is Severity.ERROR:
        if is_replaced(use):
            return None
        missed = bool(reached.caught & (_ANY | {"RuntimeError"}))
        mild = use.kind in _NOT_CALLED or use.is_itself_meant
        return None if missed else Severity.INFO if mild else severity
    if (use.kind is Kind.STRING or is_replaced(use)) and change.warns is not None:
        return None
    if severity is Severity.WARNING:
        if reached.unheard:
            return None
        if use.kind is Kind.IMPORT:
            return severity if _is_called(use, ctx) else Severity.INFO
        if change.instances and use.kind in _NOT_CALLED:
            return Severity.INFO
        if (use.is_itself_meant or _is_asked_for(use) or _is_exchanged(use)) and _warns_when_called(use):
            return Severity.INFO
    return severity


def is_replaced(use: Use) -> bool:
    """Whether the use gives the name another value, which is fine but for settings."""
    return use.kind is Kind.ASSIGNMENT and not _SETTINGS.match(use.symbol)


def is_done_without(use: Use, ctx: Context, reached: Reach) -> bool:
    """Whether the target never trips over a name that it lacks. Where an import brings that very name, it is the import
    that fails, however the name is read afterwards."""
    brought = [(one, reach(one, ctx.uses)) for one in _imports(use, ctx)] or [(use, reached)]
    return all(is_guarded(one, ctx, at) or is_missed(one, ctx, at) for one, at in brought)


def imports_at_first(use: Use, ctx: Context) -> Iterator[Use]:
    """The imports that bring the symbol of a use, each at the first of its uses: what fails where it is gone, and a line that
    changes with the uses."""
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


def _is_gone(module: str, ctx: Context) -> bool:
    entry, change = api.find(module), changes.by_symbol(changes.Kind.REMOVED).get(module)
    gone = change is not None and change.gone is not None and change.gone <= ctx.options.target
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
    fallback = bool(reached.fallback & (_MISSING | _ANY)) and not (
        is_always_there or _is_tried_again(use, ctx)
    )
    target = ctx.options.target
    lacks = any(name.startswith("torch.") or not is_always_there for name in reached.absent)
    if ambiguous or fallback or lacks or not reached.is_reached(target):
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


def _otherwise(use: Use) -> list[Binding]:
    """What else may bind the name of an import, in another branch."""
    if not isinstance(use.node, ast.alias):
        return []
    name = use.node.asname or use.node.name
    owner = use.place.scope.find(name)
    bound = owner.bindings[name] if owner is not None else []
    return [binding for binding in bound if binding.node is not use.node and not _is_placeholder(binding)]


def _is_placeholder(binding: Binding) -> bool:
    return isinstance(binding.value, ast.Constant) and binding.value.value in (None, False)


def _is_called(use: Use, ctx: Context) -> bool:
    """Whether the name that an import brings, as one of several branches does, is called where it is bound."""
    if not _otherwise(use):
        return False
    assert isinstance(use.node, ast.alias)
    name, parents = use.node.asname or use.node.name, ctx.uses.flow.parents
    owner = use.place.scope.find(name)
    return owner is not None and any(
        isinstance(node, ast.Name) and node.id == name and isinstance(parents.get(node), ast.Call)
        for node in ast.walk(owner.node)
    )


def _is_own(use: Use, change: Change, ctx: Context) -> bool:
    """Whether an attribute of who knows what is one that the file itself defines."""
    if not use.symbol.startswith(".") or change.kind is changes.Kind.METHOD:
        return False

    def defines(node: ast.AST) -> bool:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return node.name == use.name
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        return stored and use.name in (getattr(node, "attr", None), getattr(node, "id", None))

    return any(map(defines, ctx.uses.flow.parents))


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


def _is_asked_for(use: Use) -> bool:
    """Whether a test asks whether the name stands for anything: ``if GradScaler:``, ``not autocast``."""
    parent = use.parents[-1]
    return getattr(parent, "test", None) is use.node or isinstance(parent, ast.UnaryOp)


def _is_exchanged(use: Use) -> bool:
    """Whether the function is read to put another one in its place (``F.upsample = wrapped(F.upsample)``), or to be asked
    for its name."""
    parent, statement = use.parents[-1], use.place.statement
    if isinstance(parent, ast.Attribute) and parent.attr.startswith("__"):
        return True
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(ast.dump(target) == ast.dump(_stored(use.node)) for target in targets)


def _stored(node: ast.AST) -> ast.AST:
    """A name or an attribute as the target of an assignment."""
    if isinstance(node, ast.Attribute):
        return ast.Attribute(node.value, node.attr, ast.Store())
    return ast.Name(node.id, ast.Store()) if isinstance(node, ast.Name) else node


def _warns_when_called(use: Use) -> bool:
    entry = api.find(use.symbol)
    return entry is not None and entry.kind in ("function", "method", "class")


def is_missed(use: Use, ctx: Context, reached: Reach) -> bool:
    """Whether the code is prepared for the name to be missing."""
    owner = use.name
    while owner and owner not in reached.present:
        owner = owner.rpartition(".")[0]
    caught = bool(reached.caught & (_MISSING | _ANY))
    return caught or bool(owner) or reached.typing_only or bool(_otherwise(use))


def made(use: Use, ctx: Context, change: Change, reached: Reach) -> Fix:
    """The fix of the first recipe that fits. Raises NoFix."""
    is_gone = change.gone is not None and change.gone <= ctx.options.target and not change.raises
    is_value = all(recipe.write and recipe.takes is None for recipe in change.recipes)
    meant = use.is_itself_meant or _is_exchanged(use)
    if meant and not (is_gone or is_value or change.names_the_same):
        raise NoFix("the function itself is meant here, and what takes its place is another one")
    fix = fitting(use, ctx, change)
    require(change.needs, ctx, reached)
    return fix


def require(needs: Version, ctx: Context, reached: Reach) -> None:
    """Raises NoFix where the oldest torch that gets to a use lacks the replacement."""
    if needs > (minimum := oldest(ctx, reached)):
        raise NoFix(
            f"the replacement needs torch {render(needs)}, and the project supports {render(minimum)}; raise its lower "
            "bound, or pass --min-version"
        )


def oldest(ctx: Context, reached: Reach) -> Version:
    """The oldest torch that gets to a use."""
    return max(ctx.options.minimum, reached.low or ctx.options.minimum)


def shim(use: Use, ctx: Context, change: Change, reached: Reach) -> str | None:
    """How to support older versions as well, where the replacement is too new for them."""
    new = next((recipe.to for recipe in change.recipes if recipe.to), "").replace("{leaf}", leaf(use))
    if not new or change.needs <= oldest(ctx, reached):
        return None
    branch = f'`if torch.__version__ >= "{render(change.needs)}":`'
    return f"until then, use `{new}` under {branch} and `{use.name}` in its `else` branch"


def leaf(use: Use) -> str:
    """The last part of the name that is used."""
    return (
        use.name.rpartition(".")[2].lstrip("_") if use.name.startswith("$") else use.name.rpartition(".")[2]
    )
