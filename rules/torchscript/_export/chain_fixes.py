"""The fixes and hints of a file's chains, for the rules that report their members.

All findings of one chain (the trace, the freeze, the save, the load of the saved file) carry the same fix. Where other
modules load the file, it is one part of a multi-file fix.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.model_files import (
    LITE_SAVES,
    SAVE_METHODS,
    SAVES,
    find_path_argument,
)

from .._authoring.recorded_proofs import is_covered, judge_by_proof
from .._authoring.torchscript_makers import IF_TRACING, LOADING
from .._script import script_patches
from . import multi_file_fix
from .chain_outcomes import get_outcomes
from .expression_kinds import find_class
from .file_links import is_saved
from .file_paths import SUFFIXES
from .in_place_observers import ASKS as TELLING_ASKS
from .load_bridge import create_bridge_fix
from .mobile_programs import describe_program
from .module_origins import explain_origin, is_of_result
from .multi_file_fix import add_file_changes, create_load_fix
from .open_loads import READS_BOTH, is_open, reads_both
from .outside_readers import describe_foreign_readers, find_named_readers
from .path_literals import find_used_name
from .result_chain import ASKS as CHAIN_ASKS

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .result_chain import ResultChain

ASKS = (*CHAIN_ASKS, *IF_TRACING, *TELLING_ASKS)
"""The symbols that a rule must add to its ``asks`` to call the functions below."""
_RECORD = "run `torchmigrate record -- COMMAND` with a command that calls the module, then fix again"
_ON_DEVICES = {"Java", "Kotlin", "Swift"}


def check_member(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield the finding of a rule whose every use is a member of a chain, if it can have a fix at all."""
    hints = [hint for find in _HINTS if (hint := find(use, ctx))]
    yield ctx.finding(use, fix=lambda: create_chain_fix(use, ctx), hint="; ".join(hints) or None)


def create_mobile_finding(use: Use, ctx: Context, hint: str | None) -> Finding:
    """Return the finding of what makes a model for phones, with a fix where it belongs to a chain."""
    is_member = id(use.node) in get_outcomes(ctx)
    return ctx.finding(use, fix=(lambda: create_chain_fix(use, ctx)) if is_member else None, hint=hint)


def create_chain_fix(use: Use, ctx: Context) -> Fix:
    """Return the fix of the chain that a use belongs to. Raise NoFix where there is none."""
    found = get_outcomes(ctx).get(id(use.node))
    if found is not None:
        if found.fix is None:
            assert found.reason is not None
            raise NoFix(found.reason)
        return add_file_changes(found.chain, _judge_by_proof(found.fix, found.chain))
    if use.kind is not Kind.CALL and not is_of_result(use):
        raise NoFix("the function is used as a value here, not called")
    if use.symbol in LOADING:
        return _create_load_fix(use, ctx)
    if reads_both(use):
        raise NoFix(READS_BOTH)
    raise NoFix(explain_origin(use, ctx))


def _judge_by_proof(fix: Fix, chain: ResultChain) -> Fix:
    return judge_by_proof(
        fix,
        chain.replacement,
        chain.call,
        chain.ctx,
        lambda calls: (
            not chain.saves and is_covered(chain.find_calls(), chain.ctx.recorded.find_callers(calls))
        ),
    )


def _create_load_fix(use: Use, ctx: Context) -> Fix:
    if not is_open(use, ctx):
        return create_load_fix(use, ctx)
    if not reads_both(use):
        return create_bridge_fix(use, ctx)
    try:
        return create_load_fix(use, ctx)  # the name that it loads by default
    except NoFix:
        raise NoFix(READS_BOTH) from None


def collect_notes(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Yield the notes for other modules about a use that makes, saves, loads or replaces TorchScript."""
    yield from multi_file_fix.note_file_uses(use, ctx)
    yield from script_patches.note_patch(use, ctx)


def find_consumers_hint(use: Use, ctx: Context) -> str | None:
    """Return the hint where code in other languages reads the file that ``use`` saves; None where none does."""
    if use.kind is not Kind.CALL or use.call is None:
        return None
    if use.symbol not in (*SAVES, *SAVE_METHODS, *LITE_SAVES):
        return None
    name = find_used_name(use, ctx)
    found = find_named_readers(name, ctx)
    if not found:
        return None
    places = ", ".join(f"{language} at {place}" for language, place in found.items())
    successor = "ExecuTorch" if found.keys() <= _ON_DEVICES else "AOTInductor or ExecuTorch"
    return f"`{name}` is read by {places}; use {successor} there"


def find_stub_hint(use: Use, ctx: Context) -> str | None:
    """Return the hint to complete an export, where a module is saved and no call shows example inputs; else None."""
    found = get_outcomes(ctx).get(id(use.node))
    if found is None or not found.lacks_inputs:
        return None
    readers = describe_foreign_readers(None, ctx)
    hint = f"{_render_stub(found.chain)}; or {_RECORD}"
    return f"{hint}; use AOTInductor or ExecuTorch for {readers}" if readers else hint


def find_convert_hint(use: Use, ctx: Context) -> str | None:
    """Return the hint to convert a file that the code names and nothing in the project saves; else None."""
    path = find_path_argument(use)
    if use.symbol not in LOADING or use.kind is not Kind.CALL or path is None or is_open(use, ctx):
        return None
    if id(use.node) in get_outcomes(ctx):
        return None
    name = find_used_name(use, ctx)
    if is_saved(name, ctx):
        return None
    # The name of a constant, `config.MODEL`, is none of a file.
    shown = name if name is not None and name.endswith(SUFFIXES) else "FILE.pt"
    text = path.value if isinstance(path, ast.Constant) else shown
    stem = os.path.splitext(str(text))[0]
    return (
        f"convert the file by `torchmigrate artifacts convert {shlex.quote(str(text))} -o {shlex.quote(f'{stem}.pt2')}`, then "
        "fix again"
    )


_HINTS = (find_stub_hint, find_consumers_hint, find_convert_hint)


def _render_stub(chain: ResultChain) -> str:
    """Return the export of a scripted module, and its save, with the parameters of ``forward`` as example inputs."""
    ctx = chain.ctx
    model = find_argument(chain.call, 0, "obj")
    text = ctx.get_text(model) if model is not None else "model"
    forward = _find_forward(chain, model)
    needed, takes = ["…"], ""
    if forward is not None:
        parameters = [*forward.args.posonlyargs, *forward.args.args][1:]
        needed = [p.arg for p in parameters[: len(parameters) - len(forward.args.defaults)]]
        takes = f" (`forward({re.sub(r'^self(, /)?(, |$)', '', ast.unparse(forward.args))})`)"
    inputs = f"({needed[0]},)" if len(needed) == 1 else f"({', '.join(needed)})"
    export = f"torch.export.export({text}, {inputs})"
    if chain.mobile_saves:
        return f'export the module with example inputs{takes}: `{describe_program(export)}.save("….pte")`'
    if not chain.saves:
        return f"export the module with example inputs{takes}: `{export}.module()`"
    path = chain.find_path(*chain.saves[0])
    target = ctx.get_text(path) if path is not None else "path"
    saved = f"torch.export.save({export}, {target})"
    return f"export the module with example inputs{takes}: `{saved}`, and name the file `….pt2`"


def _find_forward(chain: ResultChain, model: ast.expr | None) -> ast.FunctionDef | None:
    """Return the ``forward`` of the module's class, where this file defines it."""
    definition: ast.AST | None = find_class(model, chain.use, chain.ctx)
    if isinstance(model, ast.Name) and model.id == "self" and chain.scope.parent is not None:
        definition = chain.scope.parent.node
    if not isinstance(definition, ast.ClassDef):
        return None
    methods = (node for node in definition.body if isinstance(node, ast.FunctionDef))
    return next((method for method in methods if method.name == "forward"), None)
