"""The fixes of a file's chains, for the rules that report their links.

All findings of one chain (the trace, the freeze, the save, the load of the saved file) carry the same fix.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, NotYet
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.dataflow import is_located
from torchmigrate.semantics.resolve import leaf

from .._authoring import purpose
from .._authoring.authoring import IF_TRACING, LOADING, SCRIPTS, TRACE_MODULES, TRACES
from . import asking
from .chain import ASKS as CHAIN_ASKS
from .chain import Chain
from .compiling import compiled, eager
from .exporting import exported
from .values import kind_of

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

ASKS = (*CHAIN_ASKS, *IF_TRACING)
"""What a rule must put into its ``asks`` to call the functions below."""

_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})


def checked(use: Use, ctx: Context) -> Iterator[Finding]:
    """The check of a rule whose every use is a link of a chain, if it has a fix at all."""
    yield ctx.finding(use, fix=lambda: fix_of(use, ctx))


def fix_of(use: Use, ctx: Context) -> Fix:
    """The fix of the chain that a use belongs to. Raises NoFix where there is none."""
    found = ctx.uses.once(_fixes, lambda: dict(_fixes(ctx))).get(id(use.node))
    if isinstance(found, Fix):
        return found
    if found is not None:
        raise NoFix(found.reason)
    if use.kind is not Kind.CALL:
        raise NoFix("it is not called here")
    if use.symbol in LOADING:
        raise NotYet("something here exports the file: it must be exported again first")
    raise NoFix("what it is given is not certainly traced in this scope")


def _fixes(ctx: Context) -> Iterator[tuple[int, Fix | NoFix]]:
    """For each node that names a link of a chain, the fix of the chain, or why there is none."""
    for use in ctx.uses.found:
        is_origin = use.symbol in (*TRACES, *TRACE_MODULES, *SCRIPTS)
        if not is_origin or use.kind is not Kind.CALL or use.decorated is not None:
            continue
        chain = Chain(use, ctx)
        result: Fix | NoFix
        try:
            result = _followed(chain)
        except NoFix as none:
            result = none
        for node in chain.members:
            yield id(node), result


def _followed(chain: Chain) -> Fix:
    try:
        chain.follow()
    except NoFix:
        purpose.check(chain.use, chain.ctx)
        raise
    purpose.check(chain.use, chain.ctx)
    if not _is_located(chain):
        raise NoFix("it, or what is done with its result, stands inside an f-string")
    fix = _scripted(chain) if chain.use.symbol in SCRIPTS else _traced(chain)
    if not chain.use.certain:
        raise NoFix("the name may stand for something else here")
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
        return compiled(chain, model, "it traces a function, which `torch.export` does not take")
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


def _scripted(chain: Chain) -> Fix:
    model = argument(chain.call, 0, "obj")
    unknown = [keyword for keyword in chain.call.keywords if keyword.arg not in (*_SCRIPT_ONLY, "obj")]
    if model is None or unknown or len(chain.call.args) > 1:
        raise NoFix("its arguments are not written out")
    if kind_of(model, chain.use, chain.ctx) in ("scripted", "container"):
        raise NoFix("what it is given is no plain module")
    if not chain.saves:
        stays_eager = chain.ctx.options.script_replacement == "eager"
        return eager(chain, model) if stays_eager else compiled(chain, model)
    example = next((call for call in chain.called_with() if _is_known_before(call, chain)), None)
    if example is None:
        raise NoFix("it is saved, and nothing before it shows example inputs for `torch.export.export`")
    return exported(chain, model, example)


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
