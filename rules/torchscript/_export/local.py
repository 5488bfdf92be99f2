"""The outcome of each chain of a file, as far as the file itself shows it."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.dataflow import is_located
from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf

from .._authoring import purpose
from .._authoring.authoring import SCRIPTS, TRACE_MODULES, TRACES
from .._script import choice
from . import asking, telling
from .chain import MODES, Chain
from .compiling import compiled, compiled_in_place, eager
from .exporting import exported
from .values import binding_of, kind_of

if TYPE_CHECKING:
    from torchmigrate.api import Context

_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fix of a chain, or the reason why there is none."""

    chain: Chain
    fix: Fix | None
    reason: str | None
    lacks_inputs: bool = False
    """Whether only example inputs are missing."""


class _NoInputs(NoFix):
    """The reason that no call shows example inputs."""


def chains(ctx: Context) -> Mapping[int, Outcome]:
    """Return the outcome of each chain, by the `id` of each of its members."""
    return ctx.uses.once(chains, lambda: dict(_chains(ctx)))


def _chains(ctx: Context) -> Iterator[tuple[int, Outcome]]:
    for use in ctx.uses.found:
        is_origin = use.symbol in (*TRACES, *TRACE_MODULES, *SCRIPTS)
        if not is_origin or use.kind is not Kind.CALL or use.decorated is not None:
            continue
        chain = Chain(use, ctx)
        try:
            outcome = Outcome(chain, _followed(chain), None)
        except NoFix as none:
            outcome = Outcome(chain, None, none.reason, isinstance(none, _NoInputs))
        for node in chain.members:
            yield id(node), outcome


def _followed(chain: Chain) -> Fix:
    leaves: str | None = None
    try:
        chain.follow(chain.call)
    except NoFix as none:
        leaves = none.reason
    purpose.check(chain.use, chain.ctx)
    if leaves is not None and (chain.use.symbol not in SCRIPTS or chain.saves):
        raise NoFix(leaves)
    calls = [call for _, call in (*chain.wrappers, *chain.modes)]
    if not all(is_located(node, chain.flow.parents) for node in (*chain.members, *calls)):
        raise NoFix("it or a use of its result is inside an f-string, which cannot be rewritten")
    # A scripted module that leaves its scope may still be compiled in place; a trace has no such replacement.
    if leaves is not None:
        fix = compiled_in_place(chain, _plain(chain), leaves)
    else:
        telling.check_global(chain)
        fix = _scripted(chain) if chain.use.symbol in SCRIPTS else _traced(chain)
    if not chain.use.certain:
        raise NoFix("the name may refer to something else here")
    return fix


def _traced(chain: Chain) -> Fix:
    model = argument(chain.call, 0, "func", "mod")
    if model is None or isinstance(model, ast.Starred):
        raise NoFix("its arguments are not spelled out")
    kind = kind_of(model, chain.use, chain.ctx)
    if kind is None and isinstance(model, ast.Attribute):
        text = chain.ctx.text(model)
        raise NoFix(f"it is unclear whether `{text}` is a module or a method of another object")
    asking.check(model, chain.use, chain.ctx)
    if kind == "function":
        title = choice.refused("function", chain.ctx)
        return eager(chain, model, title) if title else compiled(chain, model)
    return exported(chain, model, _inputs(chain))


def _inputs(chain: Chain) -> ast.expr | None:
    """Return the example inputs of a trace; None where they are given by keyword only."""
    inputs = argument(chain.call, 1, "example_inputs", "inputs")
    if chain.use.symbol in TRACES:
        return inputs
    match inputs:
        case ast.Dict(keys=[ast.Constant(value="forward")], values=[given]):
            return given
        case ast.Call(args=[], keywords=[ast.keyword(arg="forward", value=given)]) if (
            leaf(inputs.func) == "dict"
        ):
            return given
    raise NoFix("it traces other methods than `forward`, and an exported program has a single entry point")


def _plain(chain: Chain) -> ast.expr:
    """Return the module that is scripted. Raise NoFix where it is not plain, or there are other arguments."""
    model = argument(chain.call, 0, "obj")
    unknown = [keyword for keyword in chain.call.keywords if keyword.arg not in (*_SCRIPT_ONLY, "obj")]
    if model is None or unknown or len(chain.call.args) > 1:
        raise NoFix("its arguments are not spelled out")
    if kind_of(model, chain.use, chain.ctx) in ("scripted", "container"):
        raise NoFix("it is given a container or a scripted module, and not a plain module")
    return model


def _scripted(chain: Chain) -> Fix:
    model = _plain(chain)
    if not chain.saves:
        _check_original(model, chain)
        if title := choice.uncompiled("module", chain.ctx):
            return eager(chain, model, title)
        choice.check(chain.use, chain.ctx)
        return compiled(chain, model)
    example = next((call for call in chain.called_with() if _is_known_before(call, chain)), None)
    saved = f"it is saved in line {chain.saves[0][1].lineno}, and"
    if example is None:
        raise _NoInputs(f"{saved} no call before shows example inputs for `torch.export.export`")
    if not _is_evaluated(model, chain):
        raise NoFix(f"{saved} an export fixes its mode: call `.eval()` before")
    return exported(chain, model, example)


def _check_original(model: ast.expr, chain: Chain) -> None:
    """Raise NoFix where the module changes after it is scripted, or is used in another mode than the scripted one.

    A scripted module shares only the parameters with its original.
    """
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return
    text = ast.unparse(model)
    owner = chain.scope.find(model.id) if isinstance(model, ast.Name) else None
    root = owner.node if owner is not None else chain.scope.node
    key = (_changes_and_calls, root)
    changes, calls = chain.ctx.uses.once(key, lambda: _changes_and_calls(root, chain.flow.parents))
    line = chain.use.place.statement.lineno
    if changed := _first_after(line, changes.get(text, ())):
        raise NoFix(f"line {changed} changes `{text}`, and the scripted module does not change with it")
    called = _first_after(line, calls.get(text, ()))
    if called and chain.modes and not _is_evaluated(model, chain):
        raise NoFix(f"line {called} calls `{text}`, whose mode differs from that of the scripted module")


def _first_after(line: int, lines: Sequence[int]) -> int | None:
    at = bisect_right(lines, line)
    return lines[at] if at < len(lines) else None


def _changes_and_calls(
    root: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return, by its code, the lines below ``root`` that change a variable or attribute, and those that call it."""
    changes: dict[str, list[int]] = {}
    calls: dict[str, list[int]] = {}
    for node in walk(root):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        parent = parents[node]
        if isinstance(parent, ast.Call) and parent.func is node:
            calls.setdefault(ast.unparse(node), []).append(node.lineno)
        elif isinstance(parent, ast.Attribute) and (
            parent.attr in MODES or isinstance(parent.ctx, ast.Store) or parent.attr.startswith("register_")
        ):
            changes.setdefault(ast.unparse(node), []).append(node.lineno)
    for lines in (*changes.values(), *calls.values()):
        lines.sort()
    return changes, calls


def _is_evaluated(model: ast.expr, chain: Chain) -> bool:
    """Whether ``model`` is put into eval mode before the chain begins."""
    bound = binding_of(model, chain.scope, chain.ctx)
    if isinstance(bound, ast.Call) and leaf(bound.func) == "eval":
        return True
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "eval"
        and call.lineno <= chain.call.lineno
        and (call is model or ast.dump(call.func.value) == ast.dump(model))
        for call in chain.flow.parents
    )


def _is_known_before(call: ast.Call, chain: Chain) -> bool:
    """Whether the arguments of a call exist already where the module is scripted."""
    if not call.args or call.keywords:
        return False
    names = [node for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name)]
    owners = [(name, chain.scope.find(name.id)) for name in names]
    line = chain.use.place.statement.lineno
    return all(
        owner is not None and all(getattr(b.node, "lineno", 0) < line for b in owner.bindings[name.id])
        for name, owner in owners
    )
