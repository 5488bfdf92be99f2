"""What becomes of each chain of a file, as far as the file itself shows it."""

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
from .compiling import compiled, eager
from .exporting import exported
from .in_place import compiled_in_place
from .values import binding_of, kind_of

if TYPE_CHECKING:
    from torchmigrate.api import Context

_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a chain: a fix, or the reason why there is none."""

    chain: Chain
    fix: Fix | None
    reason: str | None
    lacks_inputs: bool = False
    """Whether example inputs are all that is missing."""


class _NoInputs(NoFix):
    """Nothing shows what the module is called with."""


def chains(ctx: Context) -> Mapping[int, Outcome]:
    """What becomes of each chain, by the `id` of each node that names a link of it."""
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
        chain.follow()
    except NoFix as none:
        leaves = none.reason
    purpose.check(chain.use, chain.ctx)
    if leaves is not None and (chain.use.symbol not in SCRIPTS or chain.saves):
        raise NoFix(leaves)
    if not _is_located(chain):
        raise NoFix("it, or what is done with its result, stands inside an f-string")
    if leaves is not None:
        fix = compiled_in_place(chain, _plain(chain), leaves)
    else:
        telling.check_global(chain)
        fix = _scripted(chain) if chain.use.symbol in SCRIPTS else _traced(chain)
    if not chain.use.certain:
        raise NoFix("the name may refer to something else here")
    return fix


def _is_located(chain: Chain) -> bool:
    done = [call for _, call in (*chain.wrappers, *chain.modes)]
    return all(is_located(node, chain.flow.parents) for node in (*chain.members, *done))


def _traced(chain: Chain) -> Fix:
    model = argument(chain.call, 0, "func", "mod")
    if model is None or isinstance(model, ast.Starred):
        raise NoFix("its arguments are not written out")
    kind = kind_of(model, chain.use, chain.ctx)
    if kind is None and isinstance(model, ast.Attribute):
        raise NoFix(
            f"it does not show whether `{chain.ctx.text(model)}` is a module or a method of something else"
        )
    asking.check(model, chain.use, chain.ctx)
    if kind == "function":
        because = "it traces a function, which `torch.export` does not take"
        if title := choice.refused("function", chain.ctx):
            return eager(chain, model, title, because)
        return compiled(chain, model, because)
    return exported(chain, model, _inputs(chain))


def _inputs(chain: Chain) -> ast.expr | None:
    """The example inputs of a trace; None where they are given by keyword only."""
    inputs = argument(chain.call, 1, "example_inputs", "inputs")
    if chain.use.symbol in TRACES:
        return inputs
    if isinstance(inputs, ast.Dict):
        given = {
            k.value: v for k, v in zip(inputs.keys, inputs.values, strict=True) if isinstance(k, ast.Constant)
        }
        if len(inputs.keys) == 1 and "forward" in given:
            return given["forward"]
    elif isinstance(inputs, ast.Call) and leaf(inputs.func) == "dict" and not inputs.args:
        by_name = {keyword.arg: keyword.value for keyword in inputs.keywords}
        if [*by_name] == ["forward"]:
            return by_name["forward"]
    raise NoFix("an exported program has one entry, and this traces other methods than forward")


def _plain(chain: Chain) -> ast.expr:
    """The module that is scripted. Raises NoFix where it is none, or more is given."""
    model = argument(chain.call, 0, "obj")
    unknown = [keyword for keyword in chain.call.keywords if keyword.arg not in (*_SCRIPT_ONLY, "obj")]
    if model is None or unknown or len(chain.call.args) > 1:
        raise NoFix("its arguments are not written out")
    if kind_of(model, chain.use, chain.ctx) in ("scripted", "container"):
        raise NoFix("what it is given is no plain module")
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
    if example is None:
        raise _NoInputs("it is saved, and nothing before it shows example inputs for `torch.export.export`")
    if not _is_evaluated(model, chain):
        raise NoFix(
            "it is saved, and what loads it can still switch its mode: call `.eval()` before it is exported"
        )
    return exported(chain, model, example)


def _check_original(model: ast.expr, chain: Chain) -> None:
    """Raises NoFix where the module that is scripted changes afterwards, or is used in another mode than its script.

    A scripted module shares the parameters of its original, and nothing else.
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
        raise NoFix(f"line {changed} changes `{text}`, which its script does not follow")
    called = _first_after(line, calls.get(text, ()))
    if called and chain.modes and not _is_evaluated(model, chain):
        raise NoFix(f"line {called} uses `{text}`, whose mode is not that of its script")


def _first_after(line: int, lines: Sequence[int]) -> int | None:
    at = bisect_right(lines, line)
    return lines[at] if at < len(lines) else None


def _changes_and_calls(
    root: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The lines below ``root``, in order, that change what an expression names, and those that call it; by its code."""
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
    bound = binding_of(model, chain.scope, chain.ctx) if isinstance(model, ast.Name) else None
    if isinstance(bound, ast.Call) and leaf(bound.func) == "eval":
        return True
    calls = [*ast.walk(model), *chain.flow.parents]
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "eval"
        and call.lineno <= chain.call.lineno
        and (call is model or ast.dump(call.func.value) == ast.dump(model))
        for call in calls
    )


def _is_known_before(call: ast.Call, chain: Chain) -> bool:
    """Whether the arguments of a call could already be made where the module is scripted."""
    if not call.args or call.keywords:
        return False
    names = [node for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name)]
    owners = [(name, chain.scope.find(name.id)) for name in names]
    line = chain.use.place.statement.lineno
    return all(
        owner is not None and all(getattr(b.node, "lineno", 0) < line for b in owner.bindings[name.id])
        for name, owner in owners
    )
