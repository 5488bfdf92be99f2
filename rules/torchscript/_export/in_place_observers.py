"""Checks that nothing can observe whether a module is scripted or compiled in place, wherever it goes."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Sequence

from torchmigrate.api import Context, Kind, NoFix
from torchmigrate.project.indexed_file import index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.call_arguments import argument_value, list_arguments
from torchmigrate.semantics.dataflow import RETURNED, returns_value
from torchmigrate.semantics.model_files import SAVES
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function

from .._authoring.torchscript_makers import AUTHORING, BASES, TRACES_ASKS
from .._script.function_escapes import find_importers, find_parameter, is_program
from .._script.plain_bodies import IS_SCRIPTING
from .._script.traced_code import find_trace_of
from .export_checks import find_origin_files
from .expression_kinds import find_binding, find_class, get_assigned_attributes
from .kept_attributes import get_targets
from .module_keepers import find_keepers
from .result_chain import ResultChain

_CLASSES = (*BASES, "torch.jit.RecursiveScriptModule", "torch.jit._script.RecursiveScriptModule")
ASKS = (*AUTHORING, *SAVES, *TRACES_ASKS, *_CLASSES, *IS_SCRIPTING)
"""The symbols that a rule must add to its ``asks`` to call `check_observers`."""

_ASKED = frozenset(Kind) - {Kind.IMPORT, Kind.ANNOTATION, Kind.BASE, Kind.STRING}
_SCRIPT_ONLY = (
    *("graph", "inlined_graph", "graph_for", "code", "code_with_constants", "schema", "original_name"),
    *("save", "save_to_buffer", "_save_for_lite_interpreter", "get_debug_state", "define", "_c"),
)
_ONLY = "|".join(_SCRIPT_ONLY)
_TAKES_SCRIPTED = (
    "torch.jit.",
    "torch._C",
    "torch.onnx.",
    "torch.fx.",
    "torch.export.",
    "torch.utils.mobile",
)
_WANTS_MORE = re.compile(r"script|trac|jit|onnx|export|flop|macs|profil|summar|lower|serial", re.IGNORECASE)
"""Parts of the names of functions that may need TorchScript, or trace their argument."""
_CONVERTS = re.compile(
    r"convert|quantiz|deploy|package|coreml|tensorrt|trt|tvm|relay|neuron|openvino|executorch|tflite",
    re.IGNORECASE,
)
"""Parts of the names of functions, and of their packages, that convert their argument to another format."""
_REPLICAS = (
    ("ata",),
    r"(?<!\w)(?:DataParallel|data_parallel)\(",
    "replicates modules, and the replicas of a compiled module would call the original",
)
"""How `DataParallel` is spelled: its replicas share the attributes of the module, and so its compiled call."""
_BUILTINS = frozenset({"print", "len", "next", "iter", "isinstance", "type", "id", "repr", "str", "hasattr"})
_OTHERS = frozenset({"torch", "np", "numpy", "plt", "json", "wandb", "image", "img", "fig"})
"""Names of objects that have methods such as `save` and are not modules."""


def check_observers(chain: ResultChain, model: ast.expr, target: ast.expr, known: Sequence[ast.expr]) -> None:
    """Raise NoFix where something needs TorchScript, or rejects a compiled module.

    ``model`` is scripted and kept in ``target``; ``known`` are the calls whose use of it is accounted for.
    """
    ctx = chain.ctx
    around = list(chain.use.place.enclosing_statements())
    inside = next((n for n, statement in enumerate(around) if isinstance(statement, Function)), len(around))
    for statement in around[:inside]:
        if isinstance(statement, ast.Try) and statement.handlers:
            raise NoFix(f"line {statement.handlers[0].lineno} catches exceptions that scripting raises")
    tests = [statement.test for statement in around[:inside] if isinstance(statement, ast.If)]
    for test in tests:
        _check_choice(test, ctx)
    is_plain_as_well = bool(tests) and ast.unparse(target) == ast.unparse(model)
    for keeper, places in find_keepers(target, chain):
        for node, parent in places.items():
            call = chain.flow.parents[parent] if isinstance(parent, ast.keyword) else parent
            if isinstance(parent, ast.Attribute) and parent.attr in _SCRIPT_ONLY:
                raise NoFix(
                    f"line {node.lineno} reads `{ctx.get_text(parent)}`, which only a TorchScript module has"
                )
            if isinstance(call, ast.Call) and call.func is not node and call not in known:
                _check_argument(node, call, chain, is_plain_as_well=is_plain_as_well)
            if returns_value(node, chain.flow.parents):
                _check_project(chain, model)
                _check_callers(node, chain, is_plain_as_well=is_plain_as_well)
        if isinstance(keeper, ast.Attribute):
            _check_project(chain, model)
            _check_reads(rf"\.{keeper.attr}", keeper.attr, ctx)
        elif isinstance(keeper, ast.Name) and _is_global(keeper, chain):
            _check_project(chain, model)
            check_global(chain)
    _check_files(chain, model, is_plain_as_well=is_plain_as_well)
    _check_spelling(*_REPLICAS, ctx, {os.path.abspath(ctx.source.path)})


def check_global(chain: ResultChain) -> None:
    """Raise NoFix where an importer of this file needs TorchScript of a global variable that keeps the result."""
    for target in get_targets(chain.flow.parents[chain.call]):
        if isinstance(target, ast.Name) and _is_global(target, chain):
            _check_reads(rf"\b{target.id}", target.id, chain.ctx, find_importers(chain.ctx))


def _check_choice(test: ast.expr, ctx: Context) -> None:
    """Raise NoFix where the condition for scripting also decides about compiling: ``Mode.JIT`` beside ``Mode.COMPILE``."""
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            beside = rf"\b{name}\.\w*(?i:compile|inductor)"
            among = {os.path.abspath(ctx.source.path)} if name.islower() else None
            _check_spelling((name,), beside, f"uses `{name}` to choose whether to compile", ctx, among)


def _check_files(chain: ResultChain, model: ast.expr, *, is_plain_as_well: bool) -> None:
    """Raise NoFix where this file, that of the module's class, or any of the project needs TorchScript."""
    ctx, here = chain.ctx, os.path.abspath(chain.ctx.source.path)
    origins = set[str]()
    made = get_assigned_attributes(ctx).get(model.attr, []) if isinstance(model, ast.Attribute) else [model]
    for each in made:
        definition = find_class(each, chain.use, ctx)
        origins |= {here} if definition is not None else find_origin_files(each, chain.use, ctx)
    for mention in ctx.project.find_uses(*_CLASSES, kinds=_ASKED):
        raise NoFix(f"{mention.path}:{mention.line} checks whether something is a TorchScript module")
    for mention in ctx.project.find_uses(*TRACES_ASKS, kinds=_ASKED):
        if os.path.abspath(mention.path) in {here, *origins}:
            raise NoFix(f"{mention.path}:{mention.line} runs a trace, and compiled code cannot be traced")
    for mention in () if is_plain_as_well else ctx.project.find_uses(*IS_SCRIPTING, kinds=_ASKED):
        if os.path.abspath(mention.path) in origins:
            raise NoFix(f"{mention.path}:{mention.line} uses `{mention.symbol}`, which would then be False")
    _check_spelling(
        ("Script",),
        r"['\"](?:Recursive)?Script(?:Module)?['\"]",
        "compares names of classes to recognize TorchScript modules",
        ctx,
    )
    _check_spelling(
        ("def compile",),
        r"def compile\(\s*self",
        "defines a method `compile`, which the module may inherit",
        ctx,
    )


def _check_argument(place: ast.expr, call: ast.Call, chain: ResultChain, *, is_plain_as_well: bool) -> None:
    """Raise NoFix where a function gets the module and may need a scripted one.

    A function that also gets the plain module accepts both.
    """
    ctx, name = chain.ctx, last_name(call.func) or ""
    resolved = ctx.resolve_node(call.func, chain.use)
    qualified = resolved.names[0] if resolved is not None else ""
    passes = f"line {place.lineno} passes the module to `{ctx.get_text(call.func)}`"
    helper = find_binding(call.func, chain.scope, ctx)
    if isinstance(helper, ast.alias) and _is_only_called(place, call, chain):
        return
    is_in_sight = isinstance(helper, (Function, ast.ClassDef))
    is_foreign = not is_in_sight and not qualified.startswith("torch.")
    converts = is_foreign and _CONVERTS.search(f"{name} {qualified}")
    if qualified.startswith(_TAKES_SCRIPTED) or _WANTS_MORE.search(name) or converts:
        raise NoFix(f"{passes}, which may need TorchScript or trace it")
    if qualified.startswith("torch.") or (isinstance(call.func, ast.Name) and name in _BUILTINS):
        return
    for node in ast.walk(helper) if helper is not None and is_in_sight else ():
        if (
            isinstance(node, ast.Attribute)
            and node.attr in _SCRIPT_ONLY
            and last_name(node.value) not in _OTHERS
        ):
            raise NoFix(f"{passes}, which reads `{ctx.get_text(node)}` on line {node.lineno}")
    if not is_plain_as_well and not _only_calls(helper, place, call, chain):
        raise NoFix(f"{passes}, which may need a TorchScript module")
    paths = {
        path
        for path, _, _ in ctx.project.create_links(os.path.abspath(ctx.source.path)).iter_splits(qualified)
    }
    for mention in ctx.project.find_uses(*AUTHORING, *SAVES, *TRACES_ASKS, kinds=_ASKED) if paths else ():
        if os.path.abspath(mention.path) in paths:
            raise NoFix(f"{passes}, and {mention.path}:{mention.line} uses `{mention.symbol}`")
    saves = f"saves a module, and line {call.lineno} passes this one to `{name}`"
    _check_spelling(("save",), r"\b(?:\w*model|\w*module|\w*net)\.save\(", saves, ctx, paths)
    _check_spelling(*_REPLICAS, ctx, paths)


def _is_only_called(place: ast.expr, call: ast.Call, chain: ResultChain) -> bool:
    """Return whether a function of another file of the project does nothing with its argument ``place`` but call it."""
    file = index_file(chain.ctx.project, os.path.abspath(chain.ctx.source.path))
    found = find_definition(call.func, file, chain.ctx.project) if file is not None else None
    helper, where = found or (None, file)
    if where is None or not isinstance(helper, ast.FunctionDef) or helper.decorator_list:
        return False
    name = find_parameter(helper, place, call)
    reads = [node for node in ast.walk(helper) if isinstance(node, ast.Name) and node.id == name]
    calls = [parent for node in reads if isinstance(parent := where.parents[node], ast.Call)]
    return bool(reads) and len(calls) == len(reads) and all(one.func in reads for one in calls)


def _only_calls(helper: ast.AST | None, place: ast.expr, call: ast.Call, chain: ResultChain) -> bool:
    """Return whether a function of this file passes its argument ``place`` to nothing but torch's own functions."""
    name = find_parameter(helper, place, call) if isinstance(helper, Function) else None
    if helper is None or name is None:
        return False
    for inner in ast.walk(helper):
        given = (
            [argument_value(node) for node in list_arguments(inner)] if isinstance(inner, ast.Call) else []
        )
        if isinstance(inner, ast.Call) and any(isinstance(n, ast.Name) and n.id == name for n in given):
            resolved = chain.ctx.resolve_node(inner.func, chain.use)
            if resolved is None or not resolved.names[0].startswith("torch."):
                return False
    return True


def _check_callers(place: ast.expr, chain: ResultChain, *, is_plain_as_well: bool) -> None:
    """Raise NoFix where callers of the enclosing function may need TorchScript of the module that it returns."""
    ctx = chain.ctx
    function = chain.ctx.uses.scope_of(place).node
    keeps = ctx.options.keep_torchscript_support and not is_program(ctx)
    if keeps or not is_plain_as_well or not isinstance(function, Function) or function.decorator_list:
        raise NoFix(f"the result {RETURNED}")
    name = function.name
    reads = rf"(\w+)[^\n=]*=[^\n=]*\b{name}\([\s\S]*\b\1\.(?:{_ONLY})\b"
    _check_spelling((name,), reads, f"reads a TorchScript-only attribute of the result of `{name}`", ctx)
    passes = rf"torch\.(?:jit|onnx)\.\w+\([^\n]*\b{name}\("
    _check_spelling((name,), passes, f"passes the result of `{name}` to `torch.jit` or `torch.onnx`", ctx)


def _is_global(target: ast.Name, chain: ResultChain) -> bool:
    owner = chain.scope.outer.get(target.id) or chain.scope
    return owner.parent is None


def _check_project(chain: ResultChain, model: ast.expr) -> None:
    """Raise NoFix where the project may trace or replicate a module that other files can reach."""
    if place := find_trace_of(find_class(model, chain.use, chain.ctx), chain.ctx):
        raise NoFix(f"{place} runs a trace, and compiled code cannot be traced")
    _check_spelling(*_REPLICAS, chain.ctx)


def _check_reads(read: str, name: str, ctx: Context, among: Collection[str] | None = None) -> None:
    """Raise NoFix where a file reads TorchScript-only attributes of the module in a variable or attribute.

    ``read`` is the regular expression of the variable or attribute ``name``.
    """
    directly = rf"{read}\.(?:{_ONLY})\b"
    by_variable = rf"\b(\w+)[ \t]*=[ \t]*[\w.]*{read}[ \t]*\n[\s\S]*\b\1\.(?:{_ONLY})\b"
    reads = f"reads a TorchScript-only attribute of `{name}`"
    _check_spelling((name,), f"{directly}|{by_variable}", reads, ctx, among)
    passes = rf"\b(?:jit|onnx)\.(?!script\b|freeze\b|optimize_)\w+\([^\n]*{read}\b"
    _check_spelling((name,), passes, f"passes `{name}` to `torch.jit` or `torch.onnx`", ctx, among)


def _check_spelling(
    words: tuple[str, ...], expression: str, does: str, ctx: Context, among: Collection[str] | None = None
) -> None:
    """Raise NoFix where a file of the project, or of those ``among`` it, has the words and matches the expression."""
    places = None if among is None else [path for path in among if path in ctx.project]
    if places == []:
        return
    for path, line in ctx.project.find_spellings((words, (expression,)), beside="", among=places):
        raise NoFix(f"{ctx.project.get_display_path(path)}:{line} {does}")
