"""What the code asks of a module that it loads, as far as an exported program cannot answer it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.project.indexed_file import index_file
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.model_files import SAVES
from torchmigrate.semantics.module_methods import MODES, MOVES
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function, walk_nodes

from .._authoring.torchscript_makers import FREEZES, OPTIMIZES
from .._script.function_escapes import find_importers, find_parameter
from .expression_kinds import find_binding, get_assigned_attributes
from .kept_attributes import get_targets, is_attribute_of_self
from .printed_views import is_printed
from .result_chain import PARTS, TO_ONNX

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_ANSWERED = PARTS | {"forward", "named_children", "register_forward_hook", "apply", "share_memory"}
_ASKS = frozenset({"training"}) | _ANSWERED
_NEEDS_SCRIPT = ("torch.jit.", "torch._C.", "torch.onnx.", "torch.quantization.", "torch.ao.quantization.")
_MODULE_BASES = ("Module", "Model", "Network", "Net", "Policy", "Backbone", "Loss")
_OF_SESSIONS = frozenset(
    {"run", "get_inputs", "get_outputs", "get_providers", "set_providers", "get_modelmeta"}
)
_DEPTH = 3


class LoadedUses:
    """All places that the value of a load goes to, as far as they are in sight."""

    def __init__(self, use: Use, ctx: Context) -> None:
        self.use, self.ctx = use, ctx
        self.flow = ctx.uses.data_flow
        self.settling: list[ast.Call] = []
        """The calls that only TorchScript needs: `.eval()`, `freeze` and `optimize_for_inference`."""
        self.onnx_line: int | None = None
        """A line that exports the module to ONNX, for which it is the exported program itself that is needed."""
        self.module_line: int | None = None
        """A line that may use it in another way, for which the program's `.module()` is needed."""
        self._seen: set[object] = set()

    def follow_load(self, call: ast.Call) -> None:
        """Collect the settling calls of what a load returns. Raise NoFix where an exported program could not be used like it."""
        self.follow_value(call)
        if self.onnx_line and self.module_line:
            raise create_onnx_reason(self.onnx_line, self.module_line)

    def follow_value(self, value: ast.expr, depth: int = _DEPTH) -> None:
        """Collect the settling calls of a value. Raise NoFix where an exported program could not be used like it."""
        if value in self._seen or not depth:
            return
        self._seen.add(value)
        parent = self.flow.parents[value]
        around = self.flow.parents.get(parent)
        if not self._is_program_enough(value, parent, around):
            self.module_line = value.lineno
        match parent:
            case ast.Attribute() if isinstance(around, ast.Call) and around.func is parent:
                self._follow_method(parent, around, depth)
            case ast.Attribute(attr="code" | "graph") if is_printed(parent, self.flow.parents):
                return
            case ast.Attribute(attr=name, ctx=ast.Load()) if name not in _ASKS:
                raise NoFix(
                    f"line {parent.lineno} reads `.{name}` of the module, which an exported program lacks"
                )
            case ast.Call() if parent.func is not value:
                self._follow_argument(value, parent, depth)
            case ast.keyword() if isinstance(around, ast.Call):
                self._follow_argument(value, around, depth)
            case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():
                for target in get_targets(parent):
                    self._follow_target(target, depth)
                if isinstance(parent, ast.NamedExpr):
                    self.follow_value(parent, depth)
            case ast.IfExp() | ast.BoolOp() | ast.Await():
                self.follow_value(parent, depth)
            case ast.Return():
                self._follow_callers(parent, depth)

    def _is_program_enough(self, value: ast.expr, parent: ast.AST, around: ast.AST | None) -> bool:
        """Return whether a place needs no more of a module than its exported program: it keeps it, settles it or makes ONNX of it."""
        match parent:
            case ast.Attribute(attr="eval"):
                return True
            case (
                ast.Assign(targets=[ast.Name()])
                | ast.AnnAssign(target=ast.Name())
                | ast.Expr()
                | ast.Delete()
            ):
                return True
            case ast.Call() if parent.func is not value:
                return self.ctx.is_named(parent.func, self.use, TO_ONNX, *FREEZES, *OPTIMIZES)
            case ast.keyword() if isinstance(around, ast.Call):
                return self.ctx.is_named(around.func, self.use, TO_ONNX)
        return False

    def _follow_method(self, attribute: ast.Attribute, call: ast.Call, depth: int) -> None:
        name = attribute.attr
        if name == "eval":
            self.settling.append(call)
            self.follow_value(call, depth)
        elif name in MODES:
            raise NoFix(
                f"line {call.lineno} calls `.{name}()` on the module, which an exported program rejects"
            )
        elif name in MOVES:
            self.follow_value(call, depth)
        elif name not in _ANSWERED and not (name in _OF_SESSIONS and self._is_session(attribute.value)):
            raise NoFix(
                f"line {call.lineno} calls `.{name}()` on the module, and an exported program has only `forward`"
            )

    def _is_session(self, value: ast.expr) -> bool:
        """Return whether a variable or attribute may also keep a session of ONNX Runtime, which has methods of its own."""
        values = (
            get_assigned_attributes(self.ctx).get(value.attr, ()) if isinstance(value, ast.Attribute) else ()
        )
        if isinstance(value, ast.Name) and (owner := self.use.place.scope.find_scope(value.id)) is not None:
            values = [binding.value for binding in owner.bindings[value.id] if binding.value is not None]
        return any(isinstance(one, ast.Call) and last_name(one.func) == "InferenceSession" for one in values)

    def _follow_argument(self, value: ast.expr, call: ast.Call, depth: int) -> None:
        resolved = self.ctx.resolve_node(call.func, self.use)
        name = resolved.names[0] if resolved is not None else ""
        if name in (*FREEZES, *OPTIMIZES) and find_argument(call, 0, "mod") is value:
            self.settling.append(call)
            self.follow_value(call, depth)
        elif name == "typing.cast":
            self.follow_value(call, depth)
        elif name == TO_ONNX and find_argument(call, 0, "model") is value:
            self.onnx_line = call.lineno
        elif name in SAVES or name.startswith(_NEEDS_SCRIPT):
            text = self.ctx.get_text(call.func)
            raise NoFix(f"line {call.lineno} passes the module to `{text}`, which needs TorchScript")
        elif isinstance(helper := find_binding(call.func, self.use.place.scope, self.ctx), Function):
            parameter = find_parameter(helper, value, call)
            for node in walk_nodes(helper) if parameter is not None else ():
                if isinstance(node, ast.Name) and node.id == parameter and isinstance(node.ctx, ast.Load):
                    self.follow_value(node, depth - 1)

    def _follow_target(self, target: ast.expr | None, depth: int) -> None:
        if isinstance(target, ast.Name):
            for read in self._find_reads(target):
                self.follow_value(read, depth)
        elif is_attribute_of_self(target):
            assert isinstance(target, ast.Attribute)
            self._follow_attribute(target, depth)

    def _find_reads(self, target: ast.Name) -> list[ast.Name]:
        """Return the places where a variable may have the value that is assigned to ``target``."""
        scope = self.ctx.uses.scope_of(target)
        owner = scope.outer.get(target.id) or scope
        reaching = self.flow.find_reaching(target.id, owner)
        reads = [read for read, state in reaching.reads.items() if target in state]
        return reads + [read for read in reaching.captured if target in reaching.find_captured_bindings(read)]

    def _follow_attribute(self, target: ast.Attribute, depth: int) -> None:
        """Follow what an attribute keeps through all methods of its class."""
        definition = self._find_class(target)
        if definition is None or (self.use.place.scope, target.attr) in self._seen:
            return
        self._seen.add((self.use.place.scope, target.attr))
        if self.is_module(definition):
            raise NoFix(
                f"line {target.lineno} keeps the module in `{definition.name}`, whose `.eval()` and `.train()` reach it, and an "
                "exported program rejects both"
            )
        for node in ast.walk(definition):
            is_alike = isinstance(node, ast.Attribute) and node.attr == target.attr
            if isinstance(node, ast.Attribute) and is_alike and is_attribute_of_self(node):
                self.follow_value(node, depth)

    def is_module(self, definition: ast.ClassDef, depth: int = _DEPTH) -> bool:
        """Return whether a class is derived from `torch.nn.Module`, or seems to be."""
        for base in definition.bases:
            resolved = self.ctx.resolve_node(base, self.use)
            if resolved is not None and resolved.names[0].startswith(
                ("torch.nn.", "lightning.", "pytorch_lightning.")
            ):
                return True
            found = find_binding(base, self.ctx.uses.scopes.module, self.ctx)
            if isinstance(found, ast.ClassDef) and depth and self.is_module(found, depth - 1):
                return True
            has_forward = any(
                isinstance(node, Function) and node.name == "forward" for node in definition.body
            )
            if not isinstance(found, ast.ClassDef) and (
                has_forward or (last_name(base) or "").endswith(_MODULE_BASES)
            ):
                return True
        return False

    def _follow_callers(self, statement: ast.Return, depth: int) -> None:
        """Follow the results of the calls of a function that returns the module."""
        function: ast.AST | None = statement
        while function is not None and not isinstance(function, (Function, ast.Lambda)):
            function = self.flow.parents.get(function)
        if not isinstance(function, Function) or function in self._seen:
            return
        self._seen.add(function)
        for node in self.flow.parents:
            call = self.flow.parents[node]
            if not isinstance(call, ast.Call) or call.func is not node or last_name(node) != function.name:
                continue
            if isinstance(node, ast.Name) or is_attribute_of_self(node):
                self.follow_value(call, depth - 1)
        if not isinstance(self.flow.parents[function], ast.Module):
            return
        for path in find_importers(self.ctx):
            for line, name in _find_mode_calls(path, function.name, self.ctx):
                place = f"{self.ctx.project.get_display_path(path)}:{line}"
                raise NoFix(f"{place} calls `.{name}()` on the module, which an exported program rejects")

    def _find_class(self, node: ast.AST) -> ast.ClassDef | None:
        around = self.flow.parents.get(node)
        while around is not None and not isinstance(around, ast.ClassDef):
            around = self.flow.parents.get(around)
        return around


def create_onnx_reason(onnx_line: int, module_line: int) -> NoFix:
    """Return the reason for no fix where a loaded module is exported to ONNX on one line, and used on another."""
    return NoFix(
        f"line {onnx_line} exports the module to ONNX, for which an exported program is passed as it is, and line {module_line} "
        "uses its module; load the file once for each"
    )


def _find_mode_calls(path: str, function: str, ctx: Context) -> Iterator[tuple[int, str]]:
    """Yield the lines of another file that set the mode of what ``function`` returns, each with the method."""
    file = index_file(ctx.project, path)
    for call in file.calls.get(function, ()) if file is not None else ():
        assert file is not None
        parent = file.parents[call]
        if isinstance(parent, ast.Attribute) and parent.attr in MODES:
            yield parent.lineno, parent.attr
        target = parent.targets[0] if isinstance(parent, ast.Assign) else None
        subject = ast.unparse(target) if target is not None else None
        for node in walk_nodes(file.find_function(call) or file.tree) if subject is not None else ():
            is_later = isinstance(node, ast.Attribute) and node.attr in MODES and node.lineno >= call.lineno
            if isinstance(node, ast.Attribute) and is_later and ast.unparse(node.value) == subject:
                yield node.lineno, node.attr
