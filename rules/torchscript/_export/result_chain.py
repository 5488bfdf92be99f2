"""The uses, in one scope, of the module that a trace, a script or a load returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import find_argument, list_arguments
from torchmigrate.semantics.dataflow import RETURNED, ValueEscapes, returns_value
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES
from torchmigrate.semantics.name_resolution import last_name

from .._authoring.torchscript_makers import FREEZES, LOADING, OPTIMIZES, SCRIPTS, TRACE_MODULES, TRACES
from .._script.function_escapes import find_importers, is_program
from .foreign_callers import collect_calls
from .passed_inputs import find_passed_calls
from .printed_views import is_printed

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
KEYS = frozenset({"state_dict", "load_state_dict", "named_parameters", "named_buffers", "named_modules"})
_CORE_ML = (
    "; coremltools 8.0 and newer accept `torch.export.export(model, (inputs,)).run_decompositions({})`, with inputs and "
    "outputs named and typed as in the exported program: compare the outputs"
)
_TAKES_INSTEAD = dict.fromkeys(("coremltools.convert", "coremltools.converters.convert"), _CORE_ML)
"""Functions of other packages, and what they accept instead of a traced module. https://apple.github.io/coremltools/docs-guides/source/model-exporting.html"""
MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_"])
MODES = frozenset({"eval", "train"})
_PLAIN_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
"""Base classes of classes that are no modules."""


@dataclass(slots=True)
class SavedFile:
    """One file that a chain saves."""

    paths: list[ast.expr]
    """The expressions for its path in this module: of the saves first, then of the loads."""
    is_read: bool = False
    """Whether this module runs the model that it loads from the file."""
    is_open: bool = False
    """Whether a load that reads both formats may read the file, which then needs a name that ends in `.pt2`."""


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
        self.views: list[ast.Attribute] = []
        """The expressions that print its code or graph."""
        self.passed: list[ast.Call] = []
        """The calls of the result in functions of the file that it is passed to, with the inputs of their callers."""
        self.saves: list[tuple[ast.expr, ast.Call]] = []
        self.doubled: list[ast.expr] = []  # example inputs that get a second row
        self.files: list[SavedFile] = []
        """The files that the saves write; empty until the changes of the saves are made."""
        self.kept: list[str] = []
        """The attributes (``Class.name``), functions and variables by which others may reach the result of a load."""
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
        calls = [parent for place, parent in parents if isinstance(parent, ast.Call) and parent.func is place]
        return calls + self.passed

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
            elif is_printed(parent, self.flow.parents):
                self.members.append(parent)
                self.modules.append(place)
                self.views.append(parent)
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
        elif isinstance(parent, ast.Return):
            self._follow_callers(parent)
        elif returns_value(place, self.flow.parents):
            raise NoFix(f"the result {RETURNED}")
        elif not _is_none_test(parent):
            raise NoFix(f"line {place.lineno} uses the result in a way that cannot be analyzed")

    def _follow_attribute(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """Follow a module that a method keeps in ``self.name`` through all methods of its class."""
        target, *others = get_targets(statement)
        assert isinstance(target, ast.expr)
        out = NoFix(
            f"line {target.lineno} stores the result in `{self.ctx.get_text(target)}`, which other functions can use"
        )
        owner = self.scope.parent.node if self.scope.parent is not None else None
        if self.use.symbol in SCRIPTS or others or not is_attribute_of_self(target):
            raise out  # a script is compiled in place, wherever it is kept
        if not isinstance(owner, ast.ClassDef):
            raise out
        assert isinstance(target, ast.Attribute)
        if not has_plain_bases(owner):
            raise NoFix(
                f"line {target.lineno} stores the result in `{owner.name}`, whose `.eval()` and `.train()` would reach it if "
                "that is a module, and an exported program rejects both"
            )
        name = f"{owner.name}.{target.attr}"
        if name in self.kept:  # by the statement above: `self.m = freeze(self.m)`
            return
        self.kept.append(name)
        inside, is_read = set(ast.walk(owner)), False
        for node in self.flow.parents:
            if not isinstance(node, ast.Attribute) or node.attr != target.attr or node is target:
                continue
            if node not in inside and self._is_of_other_class(node, owner):
                continue
            if node not in inside or not is_attribute_of_self(node):
                raise out
            if isinstance(node.ctx, ast.Load):
                self._sort_place(node)
                is_read = True
            elif not (self._wraps_itself(node) or _is_none_value(self.flow.parents[node])):
                raise out
        if not is_read:
            raise out

    def _is_of_other_class(self, node: ast.Attribute, owner: ast.ClassDef) -> bool:
        """Return whether an attribute of ``self`` belongs to a class that is not derived from ``owner``."""
        around = self.flow.parents.get(node)
        while around is not None and not isinstance(around, ast.ClassDef):
            around = self.flow.parents.get(around)
        return isinstance(around, ast.ClassDef) and is_attribute_of_self(node) and has_plain_bases(around)

    def _wraps_itself(self, target: ast.expr) -> bool:
        """Return whether a statement freezes what an attribute keeps: ``self.m = freeze(self.m)``."""
        statement = self.flow.parents[target]
        call = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(call, ast.Call) or not self.ctx.is_named(call.func, self.use, *FREEZES, *OPTIMIZES):
            return False
        return [*map(ast.unparse, list_arguments(call))] == [ast.unparse(target)]

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
            if name in KEYS:
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
        elif name == "typing.cast":
            self.follow_value(call)
        elif passed := find_passed_calls(place, call, self.use, self.ctx):
            self.passed += passed
            self.modules.append(place)
        elif name is not None or not isinstance(call.func, ast.Name) or call.func.id != "print":
            instead = _TAKES_INSTEAD.get(name or "", "")
            raise NoFix(f"line {call.lineno} passes the result to `{text}`{instead}")

    def _follow_callers(self, statement: ast.Return) -> None:
        """Follow a module through the calls of the function that returns it."""
        function = self.find_scope(statement).node
        out = NoFix(f"the result {RETURNED}")
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            raise out
        if not isinstance(self.flow.parents[function], ast.Module) or function.name in self.kept:
            raise out
        importers = find_importers(self.ctx)
        if (
            self.use.symbol in SCRIPTS
            and self.ctx.options.keep_torchscript_support
            and not is_program(self.ctx)
        ):
            raise out  # users may save what the function returns
        self.kept.append(function.name)
        nodes = self.flow.parents
        names = [node for node in nodes if isinstance(node, ast.Name) and node.id == function.name]
        for name in names:
            call = self.flow.parents[name]
            if not isinstance(call, ast.Call) or call.func is not name:
                raise out
            self.follow_value(call)
        foreign = [] if self.use.symbol in LOADING else collect_calls(function.name, importers, self.ctx)
        for place, call in foreign:
            if call.args or call.keywords:
                raise NoFix(f"{place} calls the result, maybe with other sizes than the example's")
        if not names and not foreign:
            raise out


def get_targets(statement: ast.AST) -> list[ast.expr | None]:
    """Return the targets of an assignment; ``[None]`` for a node that assigns nothing."""
    return [*statement.targets] if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]


def has_plain_bases(definition: ast.ClassDef) -> bool:
    """Return whether a class derives from nothing that may be a module."""
    return all(last_name(base) in _PLAIN_BASES for base in definition.bases)


def is_method_save(place: ast.expr, call: ast.Call) -> bool:
    """Return whether a save is the method of the module, and not the function."""
    return isinstance(call.func, ast.Attribute) and call.func.value is place


def is_attribute_of_self(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_none_value(statement: ast.AST) -> bool:
    """Return whether a statement assigns None."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else statement
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _is_none_test(node: ast.AST) -> bool:
    """Return whether a node is ``m is None``, or another comparison with None."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and other.value is None for other in node.comparators
    )
