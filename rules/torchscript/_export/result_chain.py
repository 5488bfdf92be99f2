"""The uses, in one scope, of the module that a trace, a script or a load returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import find_argument, list_arguments
from torchmigrate.semantics.dataflow import RETURNED, ValueEscapes, returns_value
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES

from .._authoring.torchscript_makers import FREEZES, LOADING, OPTIMIZES, SCRIPTS, TRACE_MODULES, TRACES

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

ASKS = (*TRACES, *TRACE_MODULES, *SCRIPTS, *FREEZES, *OPTIMIZES, *SAVES, *SAVE_METHODS, *LOADING)
"""The symbols that a rule must add to its ``asks`` for chains to be found."""

PARTS = frozenset(
    [
        *("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"),
        *("children", "state_dict", "load_state_dict", "zero_grad"),
    ]
)
"""Methods of modules that read or set their parts."""
_KEYS = frozenset({"state_dict", "load_state_dict", "named_parameters", "named_buffers", "named_modules"})
_CORE_ML = (
    "; coremltools 8.0 and newer accept `torch.export.export(model, (inputs,)).run_decompositions({})`, with inputs and "
    "outputs named and typed as in the exported program: compare the outputs"
)
_TAKES_INSTEAD = dict.fromkeys(("coremltools.convert", "coremltools.converters.convert"), _CORE_ML)
"""Functions of other packages, and what they accept instead of a traced module. https://apple.github.io/coremltools/docs-guides/source/model-exporting.html"""
MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_"])
MODES = frozenset({"eval", "train"})


@dataclass(slots=True)
class SavedFile:
    """One file that a chain saves."""

    paths: list[ast.expr]
    """The expressions for its path in this module: of the saves first, then of the loads."""
    is_read: bool = False
    """Whether this module runs the model that it loads from the file."""


class ResultChain:
    """A call that returns a ScriptModule, and all that its scope does with the result.

    Places are expressions that have the module for their value, each with the call that uses it there.
    """

    def __init__(self, use: Use, ctx: Context) -> None:
        assert use.call is not None
        self.use = use
        self.call = use.call
        self.ctx = ctx
        self.flow = ctx.uses.data_flow
        self.scope = use.place.scope
        self.members: list[ast.AST] = [use.node]
        """The nodes in the chain that name a symbol of torch.jit."""
        self.wrappers: list[tuple[ast.expr, ast.Call]] = []
        """The calls of `freeze(…)` and `optimize_for_inference(…)`."""
        self.modes: list[tuple[ast.expr, ast.Call]] = []
        """The calls of `.eval()` and `.train()`."""
        self.modules: list[ast.expr] = []
        """The places where the result is used as a module: called, moved, asked for its parameters."""
        self.saves: list[tuple[ast.expr, ast.Call]] = []
        self.files: list[SavedFile] = []
        """The files that the saves write; empty until the changes of the saves are made."""
        self.kept: list[str] = []
        """The names under which other modules may reach the result of a load: attributes (``Class.name``), functions that
        return it, global variables."""
        self.keys_line: int | None = None
        """A line that uses the names of its parameters."""
        self.moved_line: int | None = None
        """A line that moves the result to a device or type."""

    def follow_value(self, value: ast.expr) -> None:
        """Sort everything that is done with ``value``. Raise NoFix also where that leaves the scope."""
        scope = self.find_scope(value)
        if self.use.symbol in LOADING and isinstance(scope.node, ast.Module):
            targets = get_targets(self.flow.parents[value])
            self.kept += [target.id for target in targets if isinstance(target, ast.Name)]
        try:
            for place in self.flow.find_value_places(value, scope):
                self._sort_place(place)
        except ValueEscapes as way:
            raise NoFix(f"the result {way}") from None

    def find_calls(self) -> list[ast.Call]:
        """Return the calls of the result itself."""
        parents = ((place, self.flow.parents[place]) for place in self.modules)
        return [parent for place, parent in parents if isinstance(parent, ast.Call) and parent.func is place]

    def find_path(self, place: ast.expr, call: ast.Call) -> ast.expr | None:
        """Return the path argument of a save of this chain."""
        return find_argument(call, 0 if is_method_save(place, call) else 1, "f")

    def find_scope(self, node: ast.AST) -> Scope:
        """Return the innermost scope around a node."""
        scopes = self.ctx.uses.compute_once(
            "scopes", lambda: {scope.node: scope for scope in self.ctx.uses.scopes.all}
        )
        while node not in scopes:
            node = self.flow.parents[node]
        return scopes[node]

    def _sort_place(self, place: ast.expr) -> None:
        """Record the use of the module at a place. Raise NoFix where an exported program has no replacement for it."""
        parent = self.flow.parents[place]
        around = self.flow.parents.get(parent)
        if isinstance(parent, (ast.Expr, ast.Delete)):
            return
        if isinstance(parent, ast.Attribute):
            if isinstance(around, ast.Call) and around.func is parent:
                self._sort_method(place, parent, around)
            elif parent.attr != "training" or not isinstance(parent.ctx, ast.Load):
                raise NoFix(
                    f"line {parent.lineno} uses `.{parent.attr}` of the result, which has no replacement"
                )
        elif isinstance(parent, ast.Call) and parent.func is place:
            self.modules.append(place)
        elif isinstance(parent, ast.Call):
            self._sort_argument(place, parent)
        elif isinstance(parent, ast.keyword) and isinstance(around, ast.Call):
            self._sort_argument(place, around)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is place:
            self._follow_attribute(parent)
        elif isinstance(parent, ast.Return) and self.use.symbol in LOADING:
            self._follow_callers(parent)
        elif returns_value(place, self.flow.parents):
            raise NoFix(f"the result {RETURNED}")
        elif not _is_none_test(parent):
            raise NoFix(f"line {place.lineno} uses the result in a way that cannot be analyzed")

    def _follow_attribute(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """Follow a loaded module that a method keeps in ``self.name`` through all methods of its class."""
        target, *others = get_targets(statement)
        assert isinstance(target, ast.expr)
        out = NoFix(
            f"line {target.lineno} stores the result in `{self.ctx.get_text(target)}`, which other functions can use"
        )
        owner = self.scope.parent.node if self.scope.parent is not None else None
        is_own = _is_attribute_of_self(target) and isinstance(owner, ast.ClassDef) and not others
        if not is_own or self.use.symbol not in LOADING:
            raise out
        assert isinstance(target, ast.Attribute)
        assert isinstance(owner, ast.ClassDef)
        inside = set(ast.walk(owner))
        for node in self.flow.parents:
            if isinstance(node, ast.Attribute) and node.attr == target.attr and node is not target:
                if (
                    node not in inside
                    or not _is_attribute_of_self(node)
                    or not isinstance(node.ctx, ast.Load)
                ):
                    raise out
                self._sort_place(node)
        self.kept.append(f"{owner.name}.{target.attr}")

    def _sort_method(self, place: ast.expr, attribute: ast.Attribute, call: ast.Call) -> None:
        name = attribute.attr
        if name == "save":
            self.members.append(attribute)
            self.saves.append((place, call))
        elif name in MODES:
            self.modes.append((place, call))
            self.follow_value(call)
        elif name in MOVES:
            self.moved_line = call.lineno
            self.modules.append(place)
            self.follow_value(call)
        elif name in PARTS or name in ("forward", "named_children"):
            if name in _KEYS:
                self.keys_line = call.lineno
            self.modules.append(place)
        else:
            raise NoFix(f"line {call.lineno} calls `.{name}()` on the result, which has no replacement")

    def _sort_argument(self, place: ast.expr, call: ast.Call) -> None:
        resolved = self.ctx.resolve_node(call.func, self.use)
        name = resolved.names[0] if resolved is not None and resolved.certain else None
        is_first = find_argument(call, 0, "m", "mod") is place
        text = self.ctx.get_text(call.func)
        if name in SAVES and is_first:
            self.members.append(call.func)
            self.saves.append((place, call))
        elif name in (*FREEZES, *OPTIMIZES) and is_first:
            if len(list_arguments(call)) > 1:
                raise NoFix(f"line {call.lineno} passes options to `{text}` that have no replacement")
            self.members.append(call.func)
            self.wrappers.append((place, call))
            self.follow_value(call)
        elif name is not None or not isinstance(call.func, ast.Name) or call.func.id != "print":
            instead = _TAKES_INSTEAD.get(name or "", "")
            raise NoFix(f"line {call.lineno} passes the result to `{text}`{instead}")

    def _follow_callers(self, statement: ast.Return) -> None:
        """Follow a loaded module through the calls of the function that returns it."""
        function = self.find_scope(statement).node
        out = NoFix(f"the result {RETURNED}")
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            raise out
        if not isinstance(self.flow.parents[function], ast.Module) or function.name in self.kept:
            raise out
        self.kept.append(function.name)
        nodes = self.flow.parents
        names = [node for node in nodes if isinstance(node, ast.Name) and node.id == function.name]
        for name in names:
            call = self.flow.parents[name]
            if not isinstance(call, ast.Call) or call.func is not name:
                raise out
            self.follow_value(call)
        if not names:
            raise out


def get_targets(statement: ast.AST) -> list[ast.expr | None]:
    """Return the targets of an assignment; ``[None]`` for a node that assigns nothing."""
    return [*statement.targets] if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]


def is_method_save(place: ast.expr, call: ast.Call) -> bool:
    """Return whether a save is the method of the module, and not the function."""
    return isinstance(call.func, ast.Attribute) and call.func.value is place


def _is_attribute_of_self(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_none_test(node: ast.AST) -> bool:
    """Return whether a node is ``m is None``, or another comparison with None."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and other.value is None for other in node.comparators
    )
