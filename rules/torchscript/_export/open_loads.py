"""Loads whose file is not fixed in the code, and what only TorchScript needs beside each of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Replace
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.model_files import find_path_argument, is_fixed_path
from torchmigrate.semantics.module_methods import MODES, MOVES
from torchmigrate.semantics.name_resolution import last_name

from .._authoring import call_purpose
from .._authoring.torchscript_makers import FREEZES, OPTIMIZES
from .expression_kinds import find_binding
from .file_links import SAVED
from .file_paths import is_temporary
from .loaded_uses import LoadedUses
from .suffix_conditions import widen_conditions

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

READS_BOTH = "this is only for TorchScript files; remove it when none is left"


@dataclass(slots=True)
class OpenLoad:
    """A load whose file is not fixed in the code."""

    use: Use
    call: ast.Call
    path: ast.expr
    named: ast.expr
    """The expression that names the file: the path, or the one that the loaded content was read from."""
    device: ast.expr | None
    whole: ast.expr
    """The call with the methods and functions applied to it: ``torch.jit.load(path).eval()``."""
    steps: list[ast.Call] = field(default_factory=list)
    """The calls in ``whole`` around the load, from inside to outside."""
    settling: list[ast.Expr | ast.Assign] = field(default_factory=list)
    """The statements below, in the same block, that only a TorchScript module needs."""
    evals: list[ast.Call] = field(default_factory=list)
    """The calls of `.eval()` below, in the same block, where the load itself can call it."""
    widenings: list[Replace] = field(default_factory=list)
    """The changes that let `.pt2` through the conditions around the load."""
    settlers: list[str] = field(default_factory=list)
    """The methods and functions that only a TorchScript module needs."""
    is_program: bool = False
    """Whether an exported program is used as it is, and not its module: `torch.onnx.export` accepts only that."""


def is_open(use: Use, ctx: Context) -> bool:
    """Return whether the caller, the user or another file chooses what a load reads."""
    path = find_path_argument(use)
    return path is not None and not is_fixed_path(path, use, ctx.uses)


def reads_both(use: Use) -> bool:
    """Return whether the code around a load takes files whose names end in `.pt2` another way."""
    tests = [node.test for node in use.parents if isinstance(node, ast.IfExp)]
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        around = (place.statement, *place.preceding_statements())
        tests += [statement.test for statement in around if isinstance(statement, ast.If)]
    return any(".pt2" in ast.unparse(test) for test in tests)


_CONTENT = re.compile(r"(?:\b|_)(?:bytes|buf|buffer|stream|blob)$", re.IGNORECASE)
"""The names of variables that hold a file in memory, which has no name that ends in `.pt2`."""


def analyze_load(use: Use, ctx: Context) -> OpenLoad | str:
    """Return what a load consists of, or why it cannot read exported programs as well."""

    def analyze() -> OpenLoad | str:
        try:
            return _find_load(use, ctx)
        except NoFix as none:
            return none.reason

    return ctx.uses.compute_once((analyze_load, use.node), analyze)


def _find_load(use: Use, ctx: Context) -> OpenLoad:
    if reads_both(use):
        raise NoFix(READS_BOTH)
    call, path = use.call, find_path_argument(use)
    if call is None or path is None:
        raise NoFix("the arguments of the load are not written out")
    if find_argument(call, 2, "_extra_files") is not None:
        raise NoFix("`torch.export.load` returns extra files as str, not as bytes")
    keywords = {keyword.arg for keyword in call.keywords}
    if not keywords <= {"f", "map_location"} or any(isinstance(one, ast.Starred) for one in call.args):
        raise NoFix("the arguments of the load are not written out")
    if call_purpose.is_test_file(ctx):
        raise NoFix("a test loads the file; change it together with what it tests")
    if is_made_for_itself(path, use, ctx):
        raise NoFix("the file does not outlive the program; change the load together with the save")
    named = _find_named(path, use, ctx)
    device = find_argument(call, 1, "map_location")
    value = find_binding(device, use.place.scope, ctx) or device
    if isinstance(value, (ast.Lambda, ast.Dict, ast.FunctionDef)):
        raise NoFix("`map_location` is not a device")
    if isinstance(value, ast.Constant) and value.value is None:
        device = None
    load = OpenLoad(use, call, path, named, device, call, widenings=widen_conditions(named, use, ctx))
    _extend(load, ctx)
    uses = LoadedUses(use, ctx)
    uses.follow_load(call)
    load.is_program = uses.onnx_line is not None
    load.settlers = [last_name(one.func) or "" for one in uses.settling]
    below = [one for one in uses.settling if one not in load.steps]
    if {last_name(one.func) for one in below} <= {"eval"}:
        _check_evals(below, load, ctx)
        load.evals = below
    else:
        load.settling = _find_settling(below, load, ctx)
    return load


def _check_evals(calls: Sequence[ast.Call], load: OpenLoad, ctx: Context) -> None:
    """Raise NoFix unless all calls always run after the load, and before the module is called."""
    place = load.use.place
    below = place.block[place.block.index(place.statement) + 1 :]
    is_bound = isinstance(place.statement, ast.Assign) and place.statement.value is load.whole
    targets = [*map(ast.unparse, place.statement.targets)] if isinstance(place.statement, ast.Assign) else []
    for call in calls:
        statement: ast.AST = call
        while not isinstance(statement, ast.stmt):
            statement = ctx.uses.data_flow.parents[statement]
        is_simple = isinstance(statement, (ast.Expr, ast.Assign, ast.Return)) and statement in below
        if not is_bound or not is_simple or _is_called(targets, below, statement):
            raise _create_reason(call, ctx)


def _create_reason(call: ast.Call, ctx: Context) -> NoFix:
    return NoFix(
        f"line {call.lineno} calls `{ctx.get_text(call.func)}`, which an exported program rejects; call it right after the load"
    )


def _find_named(path: ast.expr, use: Use, ctx: Context) -> ast.expr:
    """Return the expression that names the file: the path, or that of the call which opens or reads it above the load.

    Raise NoFix where the load gets the content of a file of which no name is in sight.
    """
    items = _find_context_managers(path, use, ctx) if isinstance(path, ast.Name) else []
    made = items[0].context_expr if items else find_binding(path, use.place.scope, ctx)
    if not items and not _CONTENT.search(ast.unparse(path)):
        return path
    source: ast.expr | None = None
    match made:
        case ast.Call(func=ast.Attribute(attr="open", value=opened)) if last_name(opened) not in _OPENERS:
            source = opened if last_name(opened) not in _UNPACKERS else None
        case ast.Call(args=[named, *others]) if items or not (others or made.keywords):
            source = named
    is_sole = source is not None and len(items) < 2 and _keeps_its_value(source, use)
    if source is not None and is_sole and is_pure(source) and not is_fixed_path(source, use, ctx.uses):
        return source
    if items:
        raise NoFix(f"line {items[0].context_expr.lineno} opens the file; pass its path to the load instead")
    raise NoFix(f"`{ast.unparse(path)}` may be the content of the file; pass its path to the load instead")


_OPENERS = frozenset({"io", "codecs", "fs", "fsspec", "smart_open"})
"""Modules and objects whose `open` takes the path as its argument."""
_UNPACKERS = frozenset({"gzip", "bz2", "lzma", "zipfile", "tarfile"})
"""Modules whose `open` gives other content than the file of that name has."""


def _keeps_its_value(node: ast.expr, use: Use) -> bool:
    """Return whether each variable in an expression is bound once."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    owners = ((use.place.scope.find_scope(name), name) for name in names)
    return all(owner is not None and len(owner.bindings[name]) == 1 for owner, name in owners)


_PURE = (ast.Name, ast.Attribute, ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.operator)
_PURE_CALLS = frozenset({"str", "Path", "join", "abspath", "expanduser", "realpath", "fspath", "joinpath"})


def is_pure(path: ast.AST) -> bool:
    """Return whether an expression can be evaluated twice."""
    if isinstance(path, ast.Call):
        parts = [path.func, *path.args, *(keyword.value for keyword in path.keywords)]
        return last_name(path.func) in _PURE_CALLS and all(map(is_pure, parts))
    if isinstance(path, ast.Subscript):
        return is_pure(path.value) and is_pure(path.slice)
    if isinstance(path, ast.expr_context):
        return True
    return isinstance(path, _PURE) and all(map(is_pure, ast.iter_child_nodes(path)))


def is_made_for_itself(path: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a file does not outlive the program, or the block of the ``with`` statement that makes it or its folder."""
    if is_temporary(path, use, ctx):
        return True
    names = [node for node in ast.walk(path) if isinstance(node, ast.Name)]
    managers = [item for name in names for item in _find_context_managers(name, use, ctx)]
    return any(re.search(r"(?i)te?mp", ast.unparse(item.context_expr)) for item in managers)


def _find_context_managers(name: ast.Name, use: Use, ctx: Context) -> list[ast.withitem]:
    """Return the items of ``with`` statements that bind a variable."""
    owner = use.place.scope.find_scope(name.id)
    bindings = owner.bindings[name.id] if owner is not None else ()
    parents = [ctx.uses.data_flow.parents.get(binding.node) for binding in bindings]
    return [parent for parent in parents if isinstance(parent, ast.withitem)]


def _extend(load: OpenLoad, ctx: Context) -> None:
    """Find the calls around a load that are applied to what it returns."""
    parents = ctx.uses.data_flow.parents
    while True:
        parent = parents[load.whole]
        around = parents.get(parent)
        if isinstance(parent, ast.Attribute) and isinstance(around, ast.Call) and around.func is parent:
            if parent.attr not in MODES | MOVES:
                return
            load.steps.append(around)
        elif isinstance(parent, ast.Call) and _is_settling_function(parent, load, ctx):
            load.steps.append(parent)
        else:
            return
        load.whole = load.steps[-1]


def _is_settling_function(call: ast.Call, load: OpenLoad, ctx: Context) -> bool:
    is_first = bool(call.args) and call.args[0] is load.whole
    return is_first and ctx.is_named(call.func, load.use, *FREEZES, *OPTIMIZES)


def check_saves(ctx: Context) -> None:
    """Raise NoFix where the project saves TorchScript to a file whose name ends in `.pt2`."""
    for mention in ctx.project.find_uses(SAVED):
        if str(dict(mention.constants).get("name")).endswith(".pt2"):
            raise NoFix(f"{mention.path}:{mention.line} saves TorchScript under a name that ends in `.pt2`")


def _find_settling(calls: Sequence[ast.Call], load: OpenLoad, ctx: Context) -> list[ast.Expr | ast.Assign]:
    """Return the statements of calls that settle a loaded TorchScript module, which always run right after the load.

    Raise NoFix where a call stands elsewhere.
    """
    place, found = load.use.place, list[ast.Expr | ast.Assign]()
    below = place.block[place.block.index(place.statement) + 1 :]
    is_bound = isinstance(place.statement, ast.Assign) and place.statement.value is load.whole
    targets = [*map(ast.unparse, place.statement.targets)] if isinstance(place.statement, ast.Assign) else []
    for call in calls:
        statement: ast.AST = call
        while statement in calls or isinstance(statement, ast.Attribute):
            statement = ctx.uses.data_flow.parents[statement]
        is_alike = isinstance(statement, (ast.Expr, ast.Assign)) and statement in below and is_bound
        if not is_alike or not _settles(statement, targets, calls) or _is_called(targets, below, statement):
            raise _create_reason(call, ctx)
        assert isinstance(statement, (ast.Expr, ast.Assign))
        found += [statement] if statement not in found else []
    return found


def _settles(statement: ast.AST, targets: Sequence[str], calls: Sequence[ast.Call]) -> bool:
    """Return whether a statement only settles the variable that it binds again."""
    assert isinstance(statement, (ast.Expr, ast.Assign))
    value = statement.value
    while isinstance(value, ast.Call) and value in calls:
        is_mode = isinstance(value.func, ast.Attribute) and value.func.attr in MODES
        value = value.func.value if is_mode and isinstance(value.func, ast.Attribute) else value.args[0]
    bound = [*map(ast.unparse, statement.targets)] if isinstance(statement, ast.Assign) else targets
    return len(targets) == 1 and [ast.unparse(value)] == targets == bound


def _is_called(targets: Sequence[str], below: Sequence[ast.stmt], last: ast.AST) -> bool:
    """Return whether statements above ``last`` call the module."""
    functions = {*targets, *(f"{target}.forward" for target in targets)}
    for statement in below:
        if statement is last:
            break
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in functions:
                return True
    return False
