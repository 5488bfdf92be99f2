"""What could tell a module that is compiled in place from a scripted one, wherever it goes."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence

from torchmigrate.api import Context, Kind, NoFix
from torchmigrate.semantics.calls import arguments, value
from torchmigrate.semantics.dataflow import RETURNED, is_returned
from torchmigrate.semantics.model_files import SAVES
from torchmigrate.semantics.resolve import leaf

from .._authoring.authoring import AUTHORING, BASES, TRACES_ASKS, traced_at, traces
from .._script.bodies import IS_SCRIPTING
from .._script.fate import importers, parameter_of
from .asking import imported_from
from .chain import Chain
from .keeping import keepers, scope_of
from .values import assigned_attributes, binding_of, made_by

_CLASSES = (*BASES, "torch.jit.RecursiveScriptModule", "torch.jit._script.RecursiveScriptModule")
ASKS = (*AUTHORING, *SAVES, *TRACES_ASKS, *_CLASSES, *IS_SCRIPTING)
"""What a rule must put into its ``asks`` to call `check`."""

_ASKED = frozenset(Kind) - {Kind.IMPORT, Kind.ANNOTATION, Kind.BASE, Kind.STRING}
_SCRIPT_ONLY = (
    *("graph", "inlined_graph", "graph_for", "code", "code_with_constants", "schema", "original_name"),
    *("save", "save_to_buffer", "_save_for_lite_interpreter", "get_debug_state", "define", "_c"),
)
_TAKES_SCRIPTED = (
    "torch.jit.",
    "torch._C",
    "torch.onnx.",
    "torch.fx.",
    "torch.export.",
    "torch.utils.mobile",
)
_WANTS_MORE = re.compile(r"script|trac|jit|onnx|export|flop|macs|profil|summar|lower|serial", re.IGNORECASE)
"""Names of functions that may want TorchScript, or trace what they are given."""
_CONVERTS = re.compile(
    r"convert|quantiz|deploy|package|coreml|tensorrt|trt|tvm|relay|neuron|openvino|executorch|tflite",
    re.IGNORECASE,
)
"""What is in the names of functions, and of the packages that they are from, which convert what they are given."""
_BY_NAME = r"['\"](?:Recursive)?Script(?:Module)?['\"]"
"""The name of a class of TorchScript, as it is compared with that of another."""
_SAVES_MODULE = r"\b(?:\w*model|\w*module|\w*net)\.save\("
_REPLICAS = (
    ("ata",),
    r"(?<!\w)(?:DataParallel|data_parallel)\(",
    "makes replicas, which would call the module that they are made of",
)
"""`DataParallel`: its replicas have the attributes of the module, and so its compiled call."""
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def check(chain: Chain, model: ast.expr, target: ast.expr, known: Sequence[ast.expr]) -> None:
    """Raises NoFix where something asks for TorchScript, or refuses what is compiled.

    ``model`` is scripted and kept in ``target``; what the calls ``known`` do with it is known.
    """
    ctx, place = chain.ctx, chain.use.place
    around = list(place.ancestors())
    inside = next((n for n, statement in enumerate(around) if isinstance(statement, _Function)), len(around))
    for statement in around[:inside]:
        if isinstance(statement, ast.Try) and statement.handlers:
            raise NoFix(f"line {statement.handlers[0].lineno} catches what scripting it raises")
    tests = [statement.test for statement in around[:inside] if isinstance(statement, ast.If)]
    for test in tests:
        _chosen(test, ctx)
    is_plain_as_well = bool(tests) and ast.unparse(target) == ast.unparse(model)
    for keeper, places in keepers(target, chain):
        for node, parent in places.items():
            line = f"line {node.lineno}"
            call = chain.flow.parents[parent] if isinstance(parent, ast.keyword) else parent
            if isinstance(parent, ast.Attribute) and parent.attr in _SCRIPT_ONLY:
                raise NoFix(f"{line} reads `{ctx.text(parent)}`, which only a TorchScript module has")
            if isinstance(call, ast.Call) and call.func is not node and call not in known:
                _given(node, call, line, chain, is_plain_as_well=is_plain_as_well)
            if is_returned(node, chain.flow.parents):
                _returned(node, chain, is_plain_as_well=is_plain_as_well)
        if isinstance(keeper, ast.Attribute):
            _anywhere(chain)
            _elsewhere(rf"\.{keeper.attr}", keeper.attr, ctx)
        elif isinstance(keeper, ast.Name) and _is_global(keeper, chain):
            _anywhere(chain)
            check_global(chain)
    _files(chain, model, is_plain_as_well=is_plain_as_well)
    _spelled(*_REPLICAS, ctx, {os.path.abspath(ctx.source.path)})


def check_global(chain: Chain) -> None:
    """Raises NoFix where a file that imports this one asks a global variable, which keeps the result, for TorchScript."""
    parent = chain.flow.parents[chain.call]
    targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name) and _is_global(target, chain):
            _elsewhere(rf"\b{target.id}", target.id, chain.ctx, set(importers(chain.ctx)))


def _chosen(test: ast.expr, ctx: Context) -> None:
    """Raises NoFix where what is asked before scripting also says whether to compile: ``Mode.JIT`` beside ``Mode.COMPILE``."""
    here = {os.path.abspath(ctx.source.path)}
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            beside = rf"\b{name}\.\w*(?i:compile|inductor)"
            among = here if name.islower() else None
            _spelled((name,), beside, f"chooses by `{name}` whether something is compiled", ctx, among)


def _files(chain: Chain, model: ast.expr, *, is_plain_as_well: bool) -> None:
    """Raises NoFix for what this file, that of the module's class, or the whole project says."""
    ctx, here = chain.ctx, os.path.abspath(chain.ctx.source.path)
    origins = set[str]()
    made = assigned_attributes(ctx).get(model.attr, []) if isinstance(model, ast.Attribute) else [model]
    for each in made:
        definition = made_by(each, chain.use, ctx)
        origins |= {here} if definition is not None else imported_from(each, chain.use, ctx)
    for mention in ctx.project.uses(*_CLASSES, kinds=_ASKED):
        raise NoFix(f"{mention.path}:{mention.line} asks whether something is a TorchScript module")
    for mention in ctx.project.uses(*TRACES_ASKS, kinds=_ASKED):
        if os.path.abspath(mention.path) in {here, *origins}:
            raise NoFix(f"{mention.path}:{mention.line} traces, which refuses what is compiled")
    for mention in () if is_plain_as_well else ctx.project.uses(*IS_SCRIPTING, kinds=_ASKED):
        if os.path.abspath(mention.path) in origins:
            raise NoFix(
                f"{mention.path}:{mention.line} asks whether it is scripted, and would take the other branch"
            )
    _spelled(("Script",), _BY_NAME, "asks by its name whether something is a TorchScript module", ctx)
    _spelled(
        ("def compile",), r"def compile\(\s*self", "gives a method `compile` to what may be the module", ctx
    )


def _given(place: ast.expr, call: ast.Call, line: str, chain: Chain, *, is_plain_as_well: bool) -> None:
    """Raises NoFix where a function that is given the module may want a scripted one.

    One that the plain module reaches as well takes both.
    """
    ctx, name = chain.ctx, leaf(call.func) or ""
    resolved = ctx.resolve(call.func, chain.use)
    qualified = resolved.names[0] if resolved is not None else ""
    hands = f"{line} hands it to `{ctx.text(call.func)}`"
    helper = binding_of(call.func, chain.scope, ctx) if isinstance(call.func, ast.Name) else None
    is_in_sight = isinstance(helper, (*_Function, ast.ClassDef))
    converts = (
        not is_in_sight and not qualified.startswith("torch.") and _CONVERTS.search(f"{name} {qualified}")
    )
    if qualified.startswith(_TAKES_SCRIPTED) or _WANTS_MORE.search(name) or converts:
        raise NoFix(f"{hands}, which may ask for TorchScript or trace it")
    if qualified.startswith("torch.") or (isinstance(call.func, ast.Name) and name in _BUILTINS):
        return
    if isinstance(helper, (*_Function, ast.ClassDef)):
        for node in ast.walk(helper):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in _SCRIPT_ONLY
                and leaf(node.value) not in _OTHERS
            ):
                raise NoFix(f"{hands}, which reads `{ctx.text(node)}`")
    if not is_plain_as_well and not (
        isinstance(helper, _Function) and _only_calls(helper, place, call, chain)
    ):
        raise NoFix(f"{hands}, which may want a TorchScript module")
    paths = {path for path, _, _ in ctx.project.links(os.path.abspath(ctx.source.path)).places(qualified)}
    for mention in ctx.project.uses(*AUTHORING, *SAVES, *TRACES_ASKS, kinds=_ASKED) if paths else ():
        if os.path.abspath(mention.path) in paths:
            raise NoFix(f"{hands}, and {mention.path}:{mention.line} names `{mention.symbol}`")
    _spelled(
        ("save",), _SAVES_MODULE, f"saves a module, and line {call.lineno} hands it to `{name}`", ctx, paths
    )
    _spelled(*_REPLICAS, ctx, paths)


def _only_calls(
    helper: ast.FunctionDef | ast.AsyncFunctionDef, place: ast.expr, call: ast.Call, chain: Chain
) -> bool:
    """Whether a function of this file hands what it is given in ``place`` to nothing but torch's own functions."""
    name = parameter_of(helper, place, call)
    if name is None:
        return False
    for inner in ast.walk(helper):
        given = [value(node) for node in arguments(inner)] if isinstance(inner, ast.Call) else []
        if isinstance(inner, ast.Call) and any(isinstance(n, ast.Name) and n.id == name for n in given):
            resolved = chain.ctx.resolve(inner.func, chain.use)
            if resolved is None or not resolved.names[0].startswith("torch."):
                return False
    return True


_BUILTINS = frozenset({"print", "len", "next", "iter", "isinstance", "type", "id", "repr", "str", "hasattr"})
_OTHERS = frozenset({"torch", "np", "numpy", "plt", "json", "wandb", "image", "img", "fig"})
"""What has a method `save` and the like, and is no module."""


def _returned(place: ast.expr, chain: Chain, *, is_plain_as_well: bool) -> None:
    """Raises NoFix where those that call the function around may go on to save what it returns."""
    _anywhere(chain)
    function, keeps = scope_of(place, chain).node, chain.ctx.options.keep_torchscript_support
    if keeps or not is_plain_as_well or not isinstance(function, _Function) or function.decorator_list:
        raise NoFix(f"its result {RETURNED}")
    gets = rf"(\w+)[^\n=]*=[^\n=]*\b{function.name}\([\s\S]*\b\1\.(?:{'|'.join(_SCRIPT_ONLY)})\b"
    _spelled(
        (function.name,),
        gets,
        f"reads what only a TorchScript module has from what `{function.name}` returns",
        chain.ctx,
    )
    hands = rf"torch\.(?:jit|onnx)\.\w+\([^\n]*\b{function.name}\("
    _spelled((function.name,), hands, f"hands what `{function.name}` returns to TorchScript", chain.ctx)


def _is_global(target: ast.Name, chain: Chain) -> bool:
    owner = chain.scope.outer.get(target.id) or chain.scope
    return owner.parent is None


def _anywhere(chain: Chain) -> None:
    """Raises NoFix for what the project may do with what others can reach, or that becomes a part of something."""
    if traces(chain.ctx):
        raise NoFix(f"{traced_at(chain.ctx)} traces, which refuses what is compiled")
    _spelled(*_REPLICAS, chain.ctx)


def _elsewhere(read: str, name: str, ctx: Context, among: set[str] | None = None) -> None:
    """Raises NoFix where a file of the project reads from a variable or attribute what only TorchScript gives."""
    reads = rf"{read}\.(?:{'|'.join(_SCRIPT_ONLY)})\b"
    again = rf"\b(\w+)[ \t]*=[ \t]*[\w.]*{read}[ \t]*\n[\s\S]*\b\1\.(?:{'|'.join(_SCRIPT_ONLY)})\b"
    _spelled(
        (name,), f"{reads}|{again}", f"reads what only a TorchScript module has from `{name}`", ctx, among
    )
    hands = rf"\b(?:jit|onnx)\.(?!script\b|freeze\b|optimize_)\w+\([^\n]*{read}\b"
    _spelled((name,), hands, f"hands `{name}` to TorchScript", ctx, among)


def _spelled(
    words: tuple[str, ...], expression: str, does: str, ctx: Context, among: set[str] | None = None
) -> None:
    """Raises NoFix where a file of the project, or one of those ``among`` them, spells what matches."""
    places = None if among is None else [path for path in among if path in ctx.project]
    if places == []:
        return
    for path, line in ctx.project.spelling((words, (expression,)), beside="", among=places):
        raise NoFix(f"{ctx.project.shown(path)}:{line} {does}")
