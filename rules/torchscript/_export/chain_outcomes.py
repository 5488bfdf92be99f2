"""The outcome of each chain of a file, as far as the file itself shows it."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix
from torchmigrate.project.indexed_file import find_root_name
from torchmigrate.record.record_facts import ScriptUse
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.dataflow import has_exact_position
from torchmigrate.semantics.module_methods import MODES
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .._authoring import call_purpose
from .._authoring.torchscript_makers import SCRIPTS, TRACE_MODULES, TRACES
from .._script import compile_choice
from . import export_checks, in_place_observers
from .compile_fixes import create_compile_fix, create_eager_fix, create_in_place_fix
from .example_inputs import find_example
from .export_fix import create_export_fix
from .expression_kinds import find_binding, find_class, find_kind
from .joined_outcomes import ChainOutcome, check_peers, join_outcomes
from .module_modes import depends_on_mode, is_free_for_eval
from .outside_readers import find_attribute_readers
from .recorded_inputs import ignores_mode
from .result_chain import FIXED_MODE, ResultChain

if TYPE_CHECKING:
    from torchmigrate.api import Context

_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})


class _NoInputs(NoFix):
    """The reason that no call shows example inputs."""


def get_outcomes(ctx: Context) -> Mapping[int, ChainOutcome]:
    """Return the outcome of each chain, by the `id` of each of its members."""
    return ctx.uses.compute_once(get_outcomes, lambda: join_outcomes(dict(_collect_outcomes(ctx))))


def _collect_outcomes(ctx: Context) -> Iterator[tuple[int, ChainOutcome]]:
    for use in ctx.uses.all_uses:
        is_origin = use.symbol in (*TRACES, *TRACE_MODULES, *SCRIPTS)
        if not is_origin or use.kind is not Kind.CALL or use.decorated is not None:
            continue
        chain = ResultChain(use, ctx)
        try:
            outcome = ChainOutcome(chain, _create_fix(chain), None)
        except NoFix as none:
            outcome = ChainOutcome(chain, None, none.reason, isinstance(none, _NoInputs))
        for node in chain.members:
            yield id(node), outcome


def _create_fix(chain: ResultChain) -> Fix:
    leaves: str | None = None
    try:
        chain.follow_value(chain.call)
    except NoFix as none:
        leaves = none.reason
    call_purpose.check_purpose(chain.use, chain.ctx)
    if leaves is None and chain.peers:
        check_peers(chain)
    if leaves is not None and (chain.use.symbol not in SCRIPTS or chain.all_saves):
        raise NoFix(leaves)
    calls = [call for _, call in (*chain.wrappers, *chain.lowered, *chain.modes)]
    if not all(has_exact_position(node, chain.flow.parents) for node in (*chain.members, *calls)):
        raise NoFix("the call, or a use of its result, is inside an f-string, which cannot be rewritten")
    # A scripted module that leaves its scope may still be compiled in place; a trace has no such replacement.
    if leaves is not None:
        fix = create_in_place_fix(chain, _find_plain_module(chain), leaves)
    else:
        in_place_observers.check_global(chain)
        _check_attributes(chain)
        fix = _create_script_fix(chain) if chain.use.symbol in SCRIPTS else _create_trace_fix(chain)
    if not chain.use.certain:
        raise NoFix("the name may refer to something else")
    return fix


def _check_attributes(chain: ResultChain) -> None:
    """Raise NoFix where another file may read an attribute that keeps the result."""
    for kept in chain.kept:
        owner, _, attribute = kept.rpartition(".")
        if not owner:
            continue
        for path, line in find_attribute_readers(owner, attribute, chain.ctx.source.path, chain.ctx):
            raise NoFix(f"{path}:{line} may use `.{attribute}` of `{owner}`, which keeps the result")


def _create_trace_fix(chain: ResultChain) -> Fix:
    model = find_argument(chain.call, 0, "func", "mod")
    if model is None or isinstance(model, ast.Starred):
        raise NoFix("the arguments of the call are not written out")
    kind = find_kind(model, chain.use, chain.ctx)
    if kind is None and isinstance(model, ast.Attribute):
        text = chain.ctx.get_text(model)
        raise NoFix(f"it is unclear whether `{text}` is a module or a method of another object")
    export_checks.check_tracing_queries(model, chain.use, chain.ctx)
    if kind == "function":
        if chain.saves and isinstance(model, (ast.Name, ast.Attribute)):
            return create_export_fix(chain, model, _find_inputs(chain), is_function=True)
        function = find_binding(model, chain.scope, chain.ctx)
        title = compile_choice.explain_rejection("function", function, chain.ctx)
        return create_eager_fix(chain, model, title) if title else create_compile_fix(chain, model)
    if chain.mobile_saves:
        _check_mode(model, chain, f"line {chain.mobile_saves[0][1].lineno} saves the result for phones,")
    return create_export_fix(chain, model, _find_inputs(chain))


def _find_inputs(chain: ResultChain) -> ast.expr | None:
    """Return the example inputs of a trace; None where they are given by keyword only."""
    inputs = find_argument(chain.call, 1, "example_inputs", "inputs")
    if chain.use.symbol in TRACES:
        return inputs
    match inputs:
        case ast.Dict(keys=[ast.Constant(value="forward")], values=[given]):
            return given
        case ast.Call(args=[], keywords=[ast.keyword(arg="forward", value=given)]) if (
            last_name(inputs.func) == "dict"
        ):
            return given
    raise NoFix(
        "the call traces methods other than `forward`, but an exported program has a single entry point"
    )


def _find_plain_module(chain: ResultChain) -> ast.expr:
    """Return the module that is scripted. Raise NoFix where it is not plain, or there are other arguments."""
    model = find_argument(chain.call, 0, "obj")
    unknown = [keyword for keyword in chain.call.keywords if keyword.arg not in (*_SCRIPT_ONLY, "obj")]
    if model is None or unknown or len(chain.call.args) > 1:
        raise NoFix("the arguments of the call are not written out")
    if find_kind(model, chain.use, chain.ctx) in ("scripted", "container"):
        raise NoFix("the argument is a container or a scripted module, not a plain module")
    return model


def _create_script_fix(chain: ResultChain) -> Fix:
    model = _find_plain_module(chain)
    if not chain.all_saves and not chain.views:
        _check_original(model, chain)
        definition = find_class(model, chain.use, chain.ctx)
        if title := compile_choice.explain_uncompiled("module", definition, chain.ctx):
            return create_eager_fix(chain, model, title)
        compile_choice.check_author_choice(chain.use, chain.ctx)
        return create_compile_fix(chain, model)
    example = find_example(model, chain)
    needed = (
        f"line {chain.all_saves[0][1].lineno} saves the result,"
        if chain.all_saves
        else f"line {chain.views[0].lineno} prints `.{chain.views[0].attr}` of the result,"
    )
    if example is None:
        raise _NoInputs(f"{needed} but nothing shows example inputs for `torch.export.export`")
    _check_mode(model, chain, needed)
    return create_export_fix(chain, model, example)


def _check_mode(model: ast.expr, chain: ResultChain, needed: str) -> None:
    """Have the module put into eval mode, for what is ``needed``, where an export may fix the mode for training.

    Raise NoFix where the code goes on with the module.
    """
    if _is_in_eval_mode(model, chain) or _has_run_in_eval_mode(chain) or ignores_mode(chain):
        return
    if not depends_on_mode(model, chain.use, chain.ctx):
        return
    chain.needs_eval = True
    if not is_free_for_eval(model, chain):
        raise NoFix(f"{needed} and {FIXED_MODE}")


def _check_original(model: ast.expr, chain: ResultChain) -> None:
    """Raise NoFix where the module changes after it is scripted, or is used in another mode than the scripted one.

    A scripted module shares only the parameters with its original.
    """
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return
    text = ast.unparse(model)
    owner = chain.scope.find_scope(model.id) if isinstance(model, ast.Name) else None
    root = owner.node if owner is not None else chain.scope.node
    key = (_collect_lines, root)
    changes, calls = chain.ctx.uses.compute_once(key, lambda: _collect_lines(root, chain.flow.parents))
    line = chain.use.place.statement.lineno
    if changed := _find_line_after(line, changes.get(text, ())):
        raise NoFix(f"line {changed} changes `{text}`, but the scripted module does not change with it")
    called = _find_line_after(line, calls.get(text, ()))
    if called and chain.modes and not _is_in_eval_mode(model, chain):
        raise NoFix(f"line {called} calls `{text}`, whose mode differs from that of the scripted module")


def _find_line_after(line: int, lines: Sequence[int]) -> int | None:
    at = bisect_right(lines, line)
    return lines[at] if at < len(lines) else None


def _collect_lines(
    root: ast.AST, parents: Mapping[ast.AST, ast.AST]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Return, by its code, the lines below ``root`` that change a variable or attribute, and those that call it."""
    changes: dict[str, list[int]] = {}
    calls: dict[str, list[int]] = {}
    for node in walk_nodes(root):
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


def _is_in_eval_mode(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether ``model``, or a module that it is a part of, is put into eval mode before the chain begins."""
    bound = find_binding(model, chain.scope, chain.ctx)
    owners = [model, *([bound] if isinstance(bound, ast.Attribute) else ())]
    while isinstance(owners[-1], ast.Attribute):
        owners.append(owners[-1].value)
    if isinstance(bound, ast.Call) and last_name(bound.func) == "eval":
        return True
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "eval"
        and call.lineno <= chain.call.lineno
        and (call is model or any(_is_same_module(call.func.value, one, chain) for one in owners))
        for call in chain.flow.parents
    )


def _has_run_in_eval_mode(chain: ResultChain) -> bool:
    """Return whether a recorded run of the project has scripted here, and always a module in eval mode."""
    runs = chain.ctx.recorded.find_own_facts(ScriptUse, chain.call)
    return {run.training for run in runs if run.maker == "script"} == {False}


def _is_same_module(other: ast.expr, model: ast.expr, chain: ResultChain) -> bool:
    """Return whether two expressions are the same code, about the same variable."""
    if ast.dump(other) != ast.dump(model):
        return False
    name = find_root_name(model)
    return not name or chain.ctx.uses.scope_of(other).find_scope(name) is chain.scope.find_scope(name)
