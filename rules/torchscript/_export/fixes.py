"""The fixes and hints of a file's chains, for the rules that report their members.

All findings of one chain (the trace, the freeze, the save, the load of the saved file) carry the same fix. Where other
modules load the file, it is one part of a multi-file fix.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.model_files import LITE_SAVES, SAVE_METHODS, SAVES, find_file_name

from .._authoring.authoring import IF_TRACING, LOADING
from .._script import replaced
from . import moving
from .chain import ASKS as CHAIN_ASKS
from .local import chains
from .moving import UNTRACED, followed, moved
from .readers import foreign_readers, named_readers
from .telling import ASKS as TELLING_ASKS
from .values import made_by

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .chain import Chain

ASKS = (*CHAIN_ASKS, *IF_TRACING, *TELLING_ASKS)
"""The symbols that a rule must add to its ``asks`` to call the functions below."""
_ON_DEVICES = {"Java", "Kotlin", "Swift"}


def checked(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield the finding of a rule whose every use is a member of a chain, if it can have a fix at all."""
    hints = [hint for hint in (stub_of(use, ctx), consumers(use, ctx)) if hint]
    yield ctx.finding(use, fix=lambda: fix_of(use, ctx), hint="; ".join(hints) or None)


def fix_of(use: Use, ctx: Context) -> Fix:
    """Return the fix of the chain that a use belongs to. Raise NoFix where there is none."""
    found = chains(ctx).get(id(use.node))
    if found is not None:
        if found.fix is None:
            assert found.reason is not None
            raise NoFix(found.reason)
        return moved(found.chain, found.fix)
    if use.kind is not Kind.CALL:
        raise NoFix("it is used as a value, and not called")
    if use.symbol in LOADING:
        return followed(use, ctx)
    raise NoFix(UNTRACED)


def note(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Yield the notes for other modules about a use that makes, saves, loads or replaces TorchScript."""
    yield from moving.note(use, ctx)
    yield from replaced.note(use, ctx)


def consumers(use: Use, ctx: Context) -> str | None:
    """Return the hint where code in other languages reads the file that ``use`` saves; None where none does."""
    if use.kind is not Kind.CALL or use.call is None:
        return None
    if use.symbol not in (*SAVES, *SAVE_METHODS, *LITE_SAVES):
        return None
    name = find_file_name(use, ctx.uses)
    found = named_readers(name, ctx)
    if not found:
        return None
    places = ", ".join(f"{language} at {place}" for language, place in found.items())
    successor = "ExecuTorch" if found.keys() <= _ON_DEVICES else "AOTInductor or ExecuTorch"
    return f"`{name}` is read by {places}; use {successor} there"


def stub_of(use: Use, ctx: Context) -> str | None:
    """Return the hint to complete an export, where a module is saved and no call shows example inputs; else None."""
    found = chains(ctx).get(id(use.node))
    if found is None or not found.lacks_inputs:
        return None
    readers = foreign_readers(None, ctx)
    return _stub(found.chain) + (f"; use AOTInductor or ExecuTorch for {readers}" if readers else "")


def _stub(chain: Chain) -> str:
    """Return the export and the save of a scripted module, with the parameters of ``forward`` as example inputs."""
    ctx = chain.ctx
    model = argument(chain.call, 0, "obj")
    text = ctx.text(model) if model is not None else "model"
    path = chain.path_of(*chain.saves[0])
    target = ctx.text(path) if path is not None else "path"
    forward = _forward(chain, model)
    needed, takes = ["…"], ""
    if forward is not None:
        parameters = [*forward.args.posonlyargs, *forward.args.args][1:]
        needed = [p.arg for p in parameters[: len(parameters) - len(forward.args.defaults)]]
        takes = f" (`forward({re.sub(r'^self(, /)?(, |$)', '', ast.unparse(forward.args))})`)"
    inputs = f"({needed[0]},)" if len(needed) == 1 else f"({', '.join(needed)})"
    return (
        f"export it with example inputs{takes}: "
        f"`torch.export.save(torch.export.export({text}, {inputs}), {target})`, and name the file `….pt2`"
    )


def _forward(chain: Chain, model: ast.expr | None) -> ast.FunctionDef | None:
    """Return the ``forward`` of the module's class, where this file defines it."""
    definition: ast.AST | None = made_by(model, chain.use, chain.ctx)
    if isinstance(model, ast.Name) and model.id == "self" and chain.scope.parent is not None:
        definition = chain.scope.parent.node
    if not isinstance(definition, ast.ClassDef):
        return None
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == "forward"), None)
