"""What is done, in one scope, with the module that a trace, a script or a load gives."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.calls import argument, arguments
from torchmigrate.semantics.dataflow import RETURNED, Escape, is_returned
from torchmigrate.semantics.model_files import SAVE_METHODS, SAVES

from .._authoring.authoring import (
    FREEZES,
    LOADING,
    OPTIMIZES,
    SCRIPTS,
    TRACE_MODULES,
    TRACES,
)

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

ASKS = (*TRACES, *TRACE_MODULES, *SCRIPTS, *FREEZES, *OPTIMIZES, *SAVES, *SAVE_METHODS, *LOADING)
"""What a rule must put into its ``asks`` for chains to be found."""

_MODULE_METHODS = frozenset(
    [
        "forward",
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "zero_grad",
        "state_dict",
        "load_state_dict",
    ]
)
_KEYS = frozenset({"state_dict", "load_state_dict", "named_parameters", "named_buffers", "named_modules"})
_CORE_ML = (
    "; coremltools 8.0 and newer take `torch.export.export(model, (inputs,)).run_decompositions({})` for it, with inputs and "
    "outputs named and typed as in the program: compare what both give"
)
_TAKES_INSTEAD = {
    "coremltools.convert": _CORE_ML,
    "coremltools.converters.convert": _CORE_ML,
}
"""What functions take in the place of a traced module. https://apple.github.io/coremltools/docs-guides/source/model-exporting.html"""
MOVES = frozenset(["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "requires_grad_"])
MODES = frozenset({"eval", "train"})


@dataclass(slots=True)
class File:
    """One file that a chain saves."""

    paths: list[ast.expr]
    """What it is saved to, and what it is loaded from in the same module."""
    is_read: bool = False
    """Whether the module runs what it loads from there."""


class Chain:
    """A call that gives a ScriptModule, and all that its scope does with the result.

    Places are expressions that have the module for their value; a call beside one is what is done with it there.
    """

    def __init__(self, use: Use, ctx: Context) -> None:
        assert use.call is not None
        self.use = use
        self.call = use.call
        self.ctx = ctx
        self.flow = ctx.uses.flow
        self.scope = use.place.scope
        self.members: list[ast.AST] = [use.node]
        """What names torch.jit in the chain."""
        self.wrappers: list[tuple[ast.expr, ast.Call]] = []
        """`freeze(…)` and its like."""
        self.modes: list[tuple[ast.expr, ast.Call]] = []
        """`.eval()` and `.train()`."""
        self.modules: list[ast.expr] = []
        """Where it serves as a module: called, moved, asked for its parameters."""
        self.saves: list[tuple[ast.expr, ast.Call]] = []
        self.files: list[File] = []
        """The files that the saves make, once `saving` has told them apart."""
        self.kept: list[str] = []
        """How others may reach the result of a load: attributes (``Class.name``), functions that return it, globals."""
        self.keys_matter = False
        """Whether the names of its parameters are used."""
        self.moved = False

    def follow(self) -> None:
        """Sorts everything that is done with the result. Raises NoFix, also where that leaves the scope."""
        self._follow(self.call)

    def called_with(self) -> list[ast.Call]:
        """The calls of the result."""
        parents = ((place, self.flow.parents[place]) for place in self.modules)
        return [parent for place, parent in parents if isinstance(parent, ast.Call) and parent.func is place]

    def path_of(self, place: ast.expr, call: ast.Call) -> ast.expr | None:
        """The path that a save of this chain writes to."""
        return argument(call, 0 if is_method(place, call) else 1, "f")

    def _follow(self, value: ast.expr) -> None:
        if self.use.symbol in LOADING and isinstance(self._scope_of(value).node, ast.Module):
            parent = self.flow.parents[value]
            targets = parent.targets if isinstance(parent, ast.Assign) else [getattr(parent, "target", None)]
            self.kept += [target.id for target in targets if isinstance(target, ast.Name)]
        try:
            for place in self.flow.places(value, self._scope_of(value)):
                self._sort(place)
        except Escape as way:
            raise NoFix(f"its result {way}") from None

    def _scope_of(self, node: ast.AST) -> Scope:
        while not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
            node = self.flow.parents[node]
        return next(scope for scope in self.ctx.uses.scopes.all if scope.node is node)

    def _sort(self, place: ast.expr) -> None:
        parent = self.flow.parents[place]
        around = self.flow.parents.get(parent)
        if isinstance(parent, (ast.Expr, ast.Delete)):
            return
        if isinstance(parent, ast.Attribute):
            if isinstance(around, ast.Call) and around.func is parent:
                self._method(place, parent, around)
            elif parent.attr != "training" or not isinstance(parent.ctx, ast.Load):
                raise NoFix(f"`.{parent.attr}` of its result has no counterpart")
        elif isinstance(parent, ast.Call) and parent.func is place:
            self.modules.append(place)
        elif isinstance(parent, ast.Call):
            self._argument(place, parent)
        elif isinstance(parent, ast.keyword) and isinstance(around, ast.Call):
            self._argument(place, around)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is place:
            self._attribute(parent)
        elif isinstance(parent, ast.Return) and self.use.symbol in LOADING:
            self._returned(parent)
        elif not _is_none_test(parent):
            way = RETURNED if is_returned(place, self.flow.parents) else "goes where it cannot be followed"
            raise NoFix(f"its result {way}")

    def _attribute(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """Follows a loaded module that a method keeps in ``self.name``, through all methods of its class."""
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        out = NoFix(f"its result is kept in `{self.ctx.text(target)}`, which other functions can use")
        owner = self.scope.parent.node if self.scope.parent is not None else None
        if not (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
            and isinstance(owner, ast.ClassDef)
            and self.use.symbol in LOADING
            and (isinstance(statement, ast.AnnAssign) or len(statement.targets) == 1)
        ):
            raise out
        inside = set(ast.walk(owner))
        for node in self.flow.parents:
            if not isinstance(node, ast.Attribute) or node.attr != target.attr or node is target:
                continue
            is_own = node in inside and isinstance(node.value, ast.Name) and node.value.id == "self"
            if not is_own or not isinstance(node.ctx, ast.Load):
                raise out
            self._sort(node)
        self.kept.append(f"{owner.name}.{target.attr}")

    def _method(self, place: ast.expr, attribute: ast.Attribute, call: ast.Call) -> None:
        name = attribute.attr
        if name == "save":
            self.members.append(attribute)
            self.saves.append((place, call))
        elif name in MODES:
            self.modes.append((place, call))
            self._follow(call)
        elif name in MOVES:
            self.moved = True
            self.modules.append(place)
            self._follow(call)
        elif name in _MODULE_METHODS:
            self.keys_matter |= name in _KEYS
            self.modules.append(place)
        else:
            raise NoFix(f"`.{name}()` of its result has no counterpart")

    def _argument(self, place: ast.expr, call: ast.Call) -> None:
        resolved = self.ctx.resolve(call.func, self.use)
        name = resolved.names[0] if resolved is not None and resolved.certain else None
        is_first = argument(call, 0, "m", "mod") is place
        if name in SAVES and is_first:
            self.members.append(call.func)
            self.saves.append((place, call))
        elif name in (*FREEZES, *OPTIMIZES) and is_first:
            if len(arguments(call)) > 1:
                raise NoFix("the further arguments of the optimization have no counterpart")
            self.members.append(call.func)
            self.wrappers.append((place, call))
            self._follow(call)
        elif not (name is None and isinstance(call.func, ast.Name) and call.func.id == "print"):
            raise NoFix(
                f"its result is passed to `{self.ctx.text(call.func)}`{_TAKES_INSTEAD.get(name or '', '')}"
            )

    def _returned(self, statement: ast.Return) -> None:
        """Follows a loaded module through the calls of the function that returns it."""
        function = self._scope_of(statement).node
        out = NoFix(f"its result {RETURNED}")
        if not isinstance(function, ast.FunctionDef) or function.decorator_list:
            raise out
        if not isinstance(self.flow.parents[function], ast.Module) or function.name in self.kept:
            raise out
        self.kept.append(function.name)
        names = [
            node for node in self.flow.parents if isinstance(node, ast.Name) and node.id == function.name
        ]
        calls = [self.flow.parents[node] for node in names]
        for name, call in zip(names, calls, strict=True):
            if not isinstance(call, ast.Call) or call.func is not name:
                raise out
            self._follow(call)
        if not calls:
            raise out


def is_method(place: ast.expr, call: ast.Call) -> bool:
    """Whether a save is the module's method, and not the function."""
    return isinstance(call.func, ast.Attribute) and call.func.value is place


def _is_none_test(node: ast.AST) -> bool:
    """``m is None``, and the like."""
    return isinstance(node, ast.Compare) and all(
        isinstance(other, ast.Constant) and other.value is None for other in node.comparators
    )
