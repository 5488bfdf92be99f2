"""`torch.load` without `weights_only`.

Why: the default is `False` up to torch 2.5, with a warning since 2.4, and `True` from torch 2.6, which rejects files that
contain anything but tensors, plain containers and allowed classes. With `pickle_module` it is still `False`.

    model.load_state_dict(torch.load(path))
    →
    model.load_state_dict(torch.load(path, weights_only=True))

The uses of what is loaded decide, in the whole module. An object, such as `torch.load(path).eval()` or
`checkpoint["args"].lr`, is an error from torch 2.6 on. A state dict or a tensor is info, because the new default loads it;
so is a call that runs only after a TypeError, on a torch without the argument. Everything else is a warning.

What to do: pass the argument. Use `True` if the file contains a state dict; `False`, which lets the file run any code, only
for your own files; or allow the classes with `torch.serialization.safe_globals`.

Nothing is reported if the project's files require torch 2.6 or newer (`--min-version` does not count: it does not tell what
the code was written for), if classes are allowed with `add_safe_globals` in the same file or one that it imports, or if the
package sets `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` or replaces `torch.load`.

Fix safety: safe with `weights_only=False` for an object that the same function has just saved: nothing else can be in the
file. Otherwise unsafe: `weights_only=True` is added where the uses show tensors and plain values, and for files that are
downloaded or that the user chooses; it rejects a file with other objects in it. `weights_only=False` is added elsewhere; it
keeps the behavior of the code, and its risk. Parsed arguments from a download or a file of the user are allowed as
`argparse.Namespace`; any other object from there has no fix. If a recorded run of yours (`torchmigrate record`) has loaded
files at this line, it decides: `weights_only=True` is safe if it loads all of them, and else the classes and functions that
they need are allowed, where it was tried that they suffice. The argument came with torch 1.13: if the project supports an
older one, every fix is unsafe, and a state dict, which loads without the argument, has none.

Source: torch 1.12, 1.13, 2.4, 2.5 and 2.6 wheels: torch/serialization.py.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.project.import_closure import find_direct_imports
from torchmigrate.rewrite.changes import AddArgument, Part, ReplaceStatement, template
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach

from ._changes.change_fixes import find_declared, fit_needed
from ._changes.dictionary_arguments import find_unpacked
from ._changes.missing_names import find_tried, has_alternative, has_other_call, tests_parameter
from ._changes.partial_calls import find_partial
from ._loading.load_evidence import LoadEvidence, collect_evidence
from ._loading.recorded_loads import write_global

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.project.mentions import Mention
    from torchmigrate.semantics.version_guards import VersionReach

_SYMBOLS = ("torch.load", "torch.serialization.load")
_ALLOWING = "torch.serialization.add_safe_globals"
_VARIABLE = "$TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_ALLOWED = "load-weights-only: allowed"
"""The name of the fact that a file allows other classes for every load."""

rule = Rule(
    code="RM721",
    symbols=_SYMBOLS,
    asks=(_ALLOWING, _VARIABLE, *_SYMBOLS),
    pairs=dict.fromkeys(_SYMBOLS, ()),
    calls=dict.fromkeys(_SYMBOLS, Calls(without=frozenset(["weights_only"]))),
    message="from torch 2.6 on, `{symbol}` without `weights_only=` rejects files that hold more than tensors and plain containers; pass the argument",
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
    deprecated=(2, 4),
    safety=Safety.SAFE,
)

_ADDED = (1, 13)
_WARNS = (2, 4)
_ALLOWS = (2, 5)
_FLIPPED = (2, 6)


@rule.note
def note_allowance(use: Use, ctx: Context) -> Iterator[str]:
    """Note that a file allows classes for every load, turns `weights_only` off, or replaces the function."""
    if use.symbol != _VARIABLE:
        if use.kind is (Kind.CALL if use.symbol == _ALLOWING else Kind.ASSIGNMENT):
            yield _ALLOWED
        return
    parent = use.parents[-1] if use.parents else None
    stored = isinstance(getattr(parent, "ctx", None), ast.Store)
    if (
        stored
        or isinstance(use.node, ast.keyword)
        or last_name(getattr(parent, "func", use.node)) in ("setdefault", "setenv", "putenv")
    ):
        yield _ALLOWED


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call, target = use.call or _find_deferred(use, ctx), ctx.options.target
    if call is None or target < _WARNS or _decides_loading(call, use, ctx):
        return
    reached = find_reach(use, ctx.uses)
    if find_declared(ctx, reached) >= _FLIPPED or _is_prepared(use, ctx, reached):
        return
    evidence = collect_evidence(use, call, ctx)
    shown = evidence.object_at if target >= _FLIPPED and not reached.caught else None
    yield ctx.finding(
        use,
        None if shown is None else _describe_object(shown, ctx),
        severity=_judge_severity(use, ctx, reached, evidence),
        fix=lambda: _create_fix(use, call, ctx, reached, evidence),
        hint=None
        if shown is None
        else "pass `weights_only=False` only if you trust the file; otherwise load it under `with torch.serialization.safe_globals([...]):` with the classes that the error names",
    )


def _is_prepared(use: Use, ctx: Context, reached: VersionReach) -> bool:
    """Return whether the code around a call, or the package, deals with the new default."""
    return (
        tests_parameter(use, "weights_only")
        or has_other_call(use, "weights_only")
        or has_alternative(use, ctx, reached, is_always_there=True)
        or _is_below_allowance(use)
        or _is_allowed(ctx)
    )


def _find_deferred(use: Use, ctx: Context) -> ast.Call | None:
    """Return the call that takes the function and adds no arguments of its own: `functools.partial`, or ``map`` over one list."""
    call = use.parents[-1] if use.parents else None
    if isinstance(call, ast.Call) and call.args[:1] == [use.node] and _is_map(call):
        return call
    return find_partial(use, ctx)


def _is_map(call: ast.Call) -> bool:
    return last_name(call.func) == "map" and len(call.args) == 2 and not call.keywords


def _decides_loading(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a call decides how to load: with `weights_only`, a pickle module, or unknown arguments."""
    arguments = call.args if use.call else call.args[1:]
    keywords = {keyword.arg: keyword.value for keyword in (*call.keywords, *find_unpacked(call, use, ctx))}
    module = keywords.get("pickle_module") or (arguments[2] if len(arguments) > 2 else None)
    chosen = module is not None and not (isinstance(module, ast.Constant) and module.value is None)
    return (
        "weights_only" in keywords
        or chosen
        or any(isinstance(a, ast.Starred) for a in call.args)
        or any(_is_set_later(keyword.value, use) for keyword in call.keywords if keyword.arg is None)
    )


def _is_set_later(options: ast.expr, use: Use) -> bool:
    """Return whether the function sets `weights_only` in a dictionary that a call unpacks."""
    nodes = ast.walk(use.place.scope.node)
    return isinstance(options, ast.Name) and any(
        isinstance(node, (ast.Subscript, ast.Call))
        and ast.unparse(node).startswith((f"{options.id}[", f"{options.id}."))
        and "weights_only" in ast.unparse(node)
        for node in nodes
    )


def _is_below_allowance(use: Use) -> bool:
    """Return whether a call is below ``with torch.serialization.safe_globals(…):``."""
    return any(
        last_name(getattr(item.context_expr, "func", item.context_expr)) == "safe_globals"
        for statement in use.place.enclosing_statements()
        if isinstance(statement, (ast.With, ast.AsyncWith))
        for item in statement.items
    )


def _is_allowed(ctx: Context) -> bool:
    """Return whether the file, a package around it, or a file that it imports, allows classes for every load."""
    path = os.path.abspath(ctx.source.path)
    allowing = ctx.project.derive_from_uses(_ALLOWED, _collect_paths)
    if not allowing or path in allowing:
        return path in allowing
    around = {one for one in allowing if os.path.basename(one) in ("__init__.py", "conftest.py")}
    if any(path.startswith(os.path.join(os.path.dirname(one), "")) for one in around):
        return True
    imported = ctx.uses.compute_once(
        rule.code, lambda: find_direct_imports(ctx.project, path, ctx.source.text)
    )
    return not allowing.isdisjoint(imported)


def _collect_paths(mentions: Iterable[Mention]) -> frozenset[str]:
    return frozenset(os.path.abspath(mention.path) for mention in mentions)


def _judge_severity(use: Use, ctx: Context, reached: VersionReach, evidence: LoadEvidence) -> Severity | None:
    """Return the severity of a call; None for that of the rule."""
    flips = ctx.options.target >= _FLIPPED
    if flips and evidence.recorded.loads and not _is_for_older(use, reached):
        if evidence.recorded.passes:
            return Severity.INFO
        if evidence.recorded.fails and not reached.caught:
            return Severity.ERROR
    content = evidence.content
    loads_state = flips and content.state is not None and content.object_use is None and not content.escapes
    if (
        _is_for_older(use, reached)
        or (loads_state and evidence.object_at is None)
        or (reached.unheard and not flips)
    ):
        return Severity.INFO
    if _is_open_ended(use, ctx):
        return Severity.INFO
    return Severity.ERROR if flips and evidence.object_at is not None and not reached.caught else None


def _is_open_ended(use: Use, ctx: Context) -> bool:
    """Return whether a call unpacks arguments that the file does not show."""
    call = use.call
    unpacked = sum(keyword.arg is None for keyword in call.keywords) if call else 0
    return call is not None and unpacked > 0 and not list(find_unpacked(call, use, ctx))


def _is_for_older(use: Use, reached: VersionReach) -> bool:
    """Return whether a call runs only on a torch without the argument."""
    tried = (below for statement in find_tried(use) for below in ast.walk(statement))
    is_retry = any(isinstance(below, ast.keyword) and below.arg == "weights_only" for below in tried)
    return "TypeError" in reached.fallback or is_retry


def _describe_object(shown: ast.expr, ctx: Context) -> str:
    code = " ".join(ctx.get_text(shown).split())
    code = code if len(code) <= 60 else f"{code[:57]}..."
    return f"from torch 2.6 on, `{{symbol}}` without `weights_only=` rejects this file, which holds an object: see `{code}` on line {shown.lineno}"


def _create_fix(use: Use, call: ast.Call, ctx: Context, reached: VersionReach, evidence: LoadEvidence) -> Fix:
    if _is_map(use.call or call):
        raise NoFix("`map` passes only the file; replace it with a comprehension")
    if _is_open_ended(use, ctx):
        raise NoFix("the unpacked arguments may already contain `weights_only`")
    if _is_for_older(use, reached):
        raise NoFix("this code runs on a torch version without the argument")
    if evidence.recorded.needed:
        return _allow_globals(use, evidence.recorded.needed, "a file that no run has loaded", ctx, reached)
    if evidence.foreign is not None and evidence.holds_namespace:
        return _allow_globals(use, ("argparse.Namespace",), "the file", ctx, reached)
    value, safety, reason = evidence.choose_value()
    change = AddArgument(call, template(str(value)), keyword="weights_only")
    fix = Fix((change,), safety, f"Add `weights_only={value}`; {reason}")
    fails = ctx.options.target >= _FLIPPED and not evidence.content.is_state
    return fit_needed(fix, _ADDED, _FLIPPED if fails else None, ctx, reached)


def _allow_globals(use: Use, names: Sequence[str], file: str, ctx: Context, reached: VersionReach) -> Fix:
    """Create the fix that loads a file with certain classes and functions, but no other objects. Raises NoFix."""
    statement = use.place.statement
    parts: dict[str, Part]
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        loaded = "{target} = {value}"
        parts = {"target": statement.targets[0], "value": statement.value}
    elif isinstance(statement, ast.Return) and statement.value is not None:
        loaded = "return {value}"
        parts = {"value": statement.value}
    else:
        raise NoFix("the call is part of a longer statement; load the file in a statement of its own first")
    allowed = {f"allowed_{number}": write_global(name, use, ctx) for number, name in enumerate(names)}
    parts["allowing"] = ctx.write_symbol("torch.serialization.safe_globals", use)
    parts |= allowed
    listed = ", ".join(f"{{{name}}}" for name in allowed)
    new = template(f"with {{allowing}}([{listed}]):\n    {loaded}", **parts)
    shown = ", ".join(f"`{name}`" for name in names)
    title = f"Allow {shown}; unsafe because {file} may hold other objects"
    fix = Fix((ReplaceStatement(statement, new),), Safety.UNSAFE, title)
    return fit_needed(fix, _ALLOWS, _FLIPPED if ctx.options.target >= _FLIPPED else None, ctx, reached)
