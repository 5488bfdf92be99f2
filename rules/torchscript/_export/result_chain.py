"""The uses, in one scope, of the module that a trace, a script or a load returns."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.call_arguments import find_argument, list_arguments
from torchmigrate.semantics.dataflow import RETURNED, ValueEscapes, returns_value
from torchmigrate.semantics.model_files import LITE_METHODS, LITE_SAVES, SAVE_METHODS, SAVES
from torchmigrate.semantics.module_methods import MODES, MOVES

from .._authoring.torchscript_makers import (
    FREEZES,
    LOADING,
    MOBILE_OPTIMIZERS,
    OPTIMIZES,
    SCRIPTS,
    TRACE_MODULES,
    TRACES,
)
from .._script.function_escapes import find_importers, is_program
from .exclusive_branches import are_exclusive
from .foreign_callers import collect_calls
from .kept_attributes import find_attribute_reads, get_targets
from .passed_inputs import find_passed_calls
from .printed_views import is_printed

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

ASKS = (
    *(*TRACES, *TRACE_MODULES, *SCRIPTS, *FREEZES, *OPTIMIZES),
    *(*SAVES, *SAVE_METHODS, *LITE_SAVES, *LOADING, *MOBILE_OPTIMIZERS),
)
"""The symbols that a rule must add to its ``asks`` for chains to be found."""

FIXED_MODE = "an export fixes the mode of the module: call `.eval()` first"

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
TO_ONNX = "torch.onnx.export"
_BRANCHING = (*TRACES, *SCRIPTS)
_LITE_SAVE = LITE_METHODS[0].removeprefix(".")


@dataclass(slots=True)
class SavedFile:
    """One file that a chain saves."""

    paths: list[ast.expr]
    """The expressions for its path in this module: of the saves first, then of the loads."""
    is_read: bool = False
    """Whether this module runs the model that it loads from the file."""
    suffix: str = ".pt2"
    """The suffix that the file gets."""
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
        self.programs: list[ast.expr] = []
        """The places where what is loaded is exported to ONNX, for which an exported program is passed as it is."""
        self.views: list[ast.Attribute] = []
        """The expressions that print its code or graph."""
        self.passed: list[ast.Call] = []
        """The calls of the result in functions of the file that it is passed to, with the inputs of their callers."""
        self.saves: list[tuple[ast.expr, ast.Call]] = []
        self.lowered: list[tuple[ast.expr, ast.expr]] = []
        """The places that become programs for phones, each with the node that this replaces: itself, or the call of
        `optimize_for_mobile(…)`."""
        self.mobile_saves: list[tuple[ast.expr, ast.Call]] = []
        """The saves for phones."""
        self.doubled: list[ast.expr] = []  # example inputs that get a second row
        self.files: list[SavedFile] = []
        """The files that the saves write; empty until the changes of the saves are made."""
        self.alternatives: list[Use] = []
        """The saves of the same file in other branches of an ``if``, which change together with this chain."""
        self.kept: list[str] = []
        """The attributes (``Class.name``), functions and variables by which others may reach the result of a load."""
        self.replacement = ""
        """What the fix makes of the plain module or function, as a recorded proof names it: "export", "compile", or neither."""
        self.peers: list[Use] = []
        """The scripts and traces in other branches of an ``if`` whose results go to the same places."""
        self.places: set[ast.expr] = set()
        """The expressions with the result that were sorted."""
        self.needs_eval = False
        """Whether the module, which may be in training mode, is put into eval mode for the export."""
        self.returned_by = set[ast.AST]()
        """The functions that return the result, and whose callers are followed."""
        self.keys_line: int | None = None
        """A line that uses the names of its parameters."""
        self.moved_line: int | None = None
        """A line that moves the result to a device or type."""

    def follow_value(self, value: ast.expr) -> None:
        """Sort everything that is done with ``value``. Raise NoFix also where that leaves the scope."""
        scope = self.ctx.uses.scope_of(value)
        if self.use.symbol in LOADING and isinstance(scope.node, ast.Module):
            targets = get_targets(self.flow.parents[value])
            self.kept += [target.id for target in targets if isinstance(target, ast.Name)]
        try:
            for place in self.flow.find_value_places(value, scope, self._is_alike):
                if place not in self.places:
                    self.places.add(place)
                    self._sort_place(place)
        except ValueEscapes as way:
            raise NoFix(f"the result {way}") from None

    def _is_alike(self, value: ast.expr) -> bool:
        """Return whether a value that goes to the same places changes together with this chain."""
        if value is self.call or any(value is call for _, call in self.wrappers):
            return True
        if self.use.symbol not in _BRANCHING:
            return False
        found = (use for use in self.ctx.uses.all_uses if use.call is value and use.symbol in _BRANCHING)
        peer = next(found, None)
        if peer is None or not are_exclusive(peer.place, self.use.place):
            return False
        if peer not in self.peers:
            self.peers.append(peer)
        return True

    @property
    def leader(self) -> Use:
        """The script or trace whose fix also changes what is done with the results of its peers: a trace if there is one."""
        return min((self.use, *self.peers), key=lambda use: (use.symbol in SCRIPTS, use.node.lineno))

    def find_calls(self) -> list[ast.Call]:
        """Return the calls of the result itself."""
        parents = ((place, self.flow.parents[place]) for place in self.modules)
        calls = [parent for place, parent in parents if isinstance(parent, ast.Call) and parent.func is place]
        return calls + self.passed

    @property
    def all_saves(self) -> list[tuple[ast.expr, ast.Call]]:
        """All saves, for Python and for phones."""
        return [*self.saves, *self.mobile_saves]

    def find_path(self, place: ast.expr, call: ast.Call) -> ast.expr | None:
        """Return the path argument of a save of this chain."""
        return find_argument(call, 0 if is_method_save(place, call) else 1, "f")

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
        for place in find_attribute_reads(statement, self.kept, self.use, self.ctx):
            self._sort_place(place)

    def _sort_method(self, place: ast.expr, attribute: ast.Attribute, call: ast.Call) -> None:
        name = attribute.attr
        if name == "save":
            self.members.append(attribute)
            self.saves.append((place, call))
        elif name == _LITE_SAVE:
            self.members.append(attribute)
            self.lowered.append((place, place))
            self.mobile_saves.append((place, call))
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
        elif name in MOBILE_OPTIMIZERS and is_first:
            self.members.append(call.func)
            self.lowered.append((place, call))
            self._follow_optimized(call)
        elif name == "typing.cast":
            self.follow_value(call)
        elif name == TO_ONNX and self.use.symbol in LOADING and find_argument(call, 0, "model") is place:
            self.programs.append(place)
        elif passed := find_passed_calls(place, call, self.use, self.ctx):
            self.passed += passed
            self.modules.append(place)
        elif name is not None or not isinstance(call.func, ast.Name) or call.func.id != "print":
            instead = _TAKES_INSTEAD.get(name or "", "")
            raise NoFix(f"line {call.lineno} passes the result to `{text}`{instead}")

    def _follow_optimized(self, optimized: ast.Call) -> None:
        """Record the saves of what `optimize_for_mobile` returns. Raise NoFix where more is done with it."""
        if len(list_arguments(optimized)) > 1:
            raise NoFix(
                f"line {optimized.lineno} passes options to `optimize_for_mobile`; with ExecuTorch, a partitioner chooses the backend"
            )
        for place in self.flow.find_value_places(optimized, self.ctx.uses.scope_of(optimized)):
            method = self.flow.parents[place]
            call = self.flow.parents.get(method)
            if isinstance(method, (ast.Expr, ast.Delete)):
                continue
            is_save = isinstance(method, ast.Attribute) and method.attr in ("save", _LITE_SAVE)
            if not is_save or not isinstance(call, ast.Call):
                raise NoFix(f"line {place.lineno} uses the optimized module for more than to save it")
            self.members.append(method)
            self.mobile_saves.append((place, call))

    def _follow_callers(self, statement: ast.Return) -> None:
        """Follow a module through the calls of the function that returns it."""
        function = self.ctx.uses.scope_of(statement).node
        out = NoFix(f"the result {RETURNED}")
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            raise out
        if not isinstance(self.flow.parents[function], ast.Module) or function in self.returned_by:
            raise out
        importers = find_importers(self.ctx)
        is_load = self.use.symbol in LOADING
        is_kept = self.ctx.options.keep_torchscript_support and not is_program(self.ctx)
        if self.use.symbol in SCRIPTS and is_kept:
            raise out  # users may save what the function returns
        self.returned_by.add(function)
        nodes = self.flow.parents
        names = [node for node in nodes if isinstance(node, ast.Name) and node.id == function.name]
        for name in names:
            call = self.flow.parents[name]
            if not isinstance(call, ast.Call) or call.func is not name:
                raise out
            self.follow_value(call)
        foreign = collect_calls(function.name, importers, self.ctx)
        for place, call in foreign:
            if not is_load and (call.args or call.keywords):
                raise NoFix(f"{place} calls the result, maybe with other sizes than the example's")
        if not names and not foreign:
            raise out


def is_method_save(place: ast.expr, call: ast.Call) -> bool:
    """Return whether a save is the method of the module, and not the function."""
    return isinstance(call.func, ast.Attribute) and call.func.value is place


def _is_none_test(node: ast.AST) -> bool:
    """Return whether a node is ``m is None``, or another comparison with None."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and other.value is None for other in node.comparators
    )
