"""A traced or scripted module and all that its scope does with it, rewritten as one.

The findings of such a chain (the trace, the freeze, the save, the load of the saved file) carry the same fix.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torchmigrate import calls
from torchmigrate.findings import Edit, Fix, Span
from torchmigrate.flow import Escape
from torchmigrate.names import leaf
from torchmigrate.rule import Kind, Safety

from .authoring import LOADING
from .paths import is_same, renamed
from .sizes import dynamic_shapes
from .values import inputs_of, kind_of

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use, Uses

TRACES = ("torch.jit.trace", "torch.jit._trace.trace", "torch.jit._trace._trace_impl")
TRACE_MODULES = ("torch.jit.trace_module", "torch.jit._trace.trace_module")
SCRIPTS = ("torch.jit.script", "torch.jit._script.script", "torch.jit._script._script_impl")
FREEZES = (
    *("torch.jit.freeze", "torch.jit._freeze.freeze"),
    *("torch.jit.run_frozen_optimizations", "torch.jit._freeze.run_frozen_optimizations"),
    *("torch.jit.optimize_for_inference", "torch.jit._freeze.optimize_for_inference"),
)
SAVES = ("torch.jit.save", "torch.jit._serialization.save")
ASKS = (*TRACES, *TRACE_MODULES, *SCRIPTS, *FREEZES, *SAVES, *LOADING)
"""What a rule must put into its ``asks`` to call `fix_of`."""

_TRACE_ONLY = frozenset(
    """check_trace check_inputs check_tolerance optimize strict _force_outplace _store_inputs _compilation_unit
    _module_class""".split()
)
_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})
_MODULE_METHODS = frozenset(
    """forward parameters named_parameters buffers named_buffers modules named_modules children named_children
    zero_grad state_dict load_state_dict""".split()
)
_MOVES = frozenset("to cuda cpu half float double bfloat16 requires_grad_".split())
_MODES = frozenset({"eval", "train"})
_chains: WeakKeyDictionary[Uses, dict[int, Fix | str]] = WeakKeyDictionary()


class Withheld(Exception):
    """There is no fix; the message says why."""


def fix_of(use: Use, ctx: Context) -> Fix | str:
    """The fix of the chain that a use belongs to, or why there is none."""
    if ctx.uses not in _chains:
        _chains[ctx.uses] = dict(_fixes(ctx))
    found = _chains[ctx.uses].get(id(use.node))
    if found is not None:
        return found
    if use.kind is not Kind.CALL:
        return "it is not called here"
    if use.symbol in LOADING:
        return "nothing here exports the file; it must be exported again first"
    return "what it is given is not traced in this scope"


def _fixes(ctx: Context) -> Iterator[tuple[int, Fix | str]]:
    origins = (*TRACES, *TRACE_MODULES, *SCRIPTS)
    for use in ctx.uses.found:
        if use.symbol not in origins or use.kind is not Kind.CALL or use.decorated is not None:
            continue
        chain = Chain(use, ctx)
        try:
            result: Fix | str = chain.fix()
        except Withheld as reason:
            result = str(reason)
        except Escape as reason:
            result = f"its result {reason}"
        if not use.certain:
            result = "the name may stand for something else here"
        for node in chain.members:
            yield id(node), result


class Chain:
    """One call that traces or scripts, and what follows from it."""

    def __init__(self, use: Use, ctx: Context) -> None:
        assert use.call is not None
        self.use = use
        self.call = use.call
        self.ctx = ctx
        self.flow = ctx.uses.flow
        self.scope = use.place.scope
        self.members: list[ast.AST] = [use.node]
        self.wrappers: list[tuple[ast.expr, ast.Call]] = []
        self.modes: list[tuple[ast.expr, ast.Call]] = []
        self.modules: list[ast.expr] = []
        self.saves: list[tuple[ast.expr, ast.Call]] = []
        self.keys_matter = False
        self.moved = False
        self.edits: list[Edit] = []

    def fix(self) -> Fix:
        """The fix. Raises Withheld, or Escape."""
        self.follow(self.call)
        if self.use.symbol in SCRIPTS:
            return self._scripted()
        model = self._model()
        if kind_of(model, self.use, self.ctx) == "function":
            return self._compiled(model, "it traces a function, which `torch.export` does not take")
        return self._exported(model, self._inputs())

    def follow(self, value: ast.expr) -> None:
        """Sorts everything that is done with a value. Raises Withheld, or Escape."""
        for place in self.flow.places(value, self.scope):
            self._sort(place)

    def _sort(self, place: ast.expr) -> None:
        parent = self.flow.parents[place]
        around = self.flow.parents.get(parent)
        if isinstance(parent, ast.Expr):
            return
        if isinstance(parent, ast.Attribute):
            if isinstance(around, ast.Call) and around.func is parent:
                self._method(place, parent, around)
            elif parent.attr != "training" or not isinstance(parent.ctx, ast.Load):
                raise Withheld(f"`.{parent.attr}` of its result has no counterpart")
        elif isinstance(parent, ast.Call) and parent.func is place:
            self.modules.append(place)
        elif isinstance(parent, ast.Call):
            self._argument(place, parent)
        elif isinstance(parent, ast.keyword) and isinstance(around, ast.Call):
            self._argument(place, around)
        elif isinstance(parent, ast.Compare) and all(
            isinstance(other, ast.Constant) and other.value is None for other in parent.comparators
        ):
            return
        elif isinstance(parent, (ast.Return, ast.Yield)):
            raise Escape("is returned, and what the callers do with it is not known here")
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            raise Escape(f"is kept in `{self.ctx.text(target)}`, which other functions can use")
        else:
            raise Escape("goes where it cannot be followed")

    def _method(self, place: ast.expr, attribute: ast.Attribute, call: ast.Call) -> None:
        name = attribute.attr
        if name == "save":
            self.members.append(attribute)
            self.saves.append((place, call))
        elif name in _MODES:
            self.modes.append((place, call))
            self.follow(call)
        elif name in _MOVES:
            self.moved = True
            self.modules.append(place)
            self.follow(call)
        elif name in _MODULE_METHODS:
            self.keys_matter |= name in ("state_dict", "load_state_dict", "named_parameters", "named_modules")
            self.modules.append(place)
        else:
            raise Withheld(f"`.{name}()` of its result has no counterpart")

    def _argument(self, place: ast.expr, call: ast.Call) -> None:
        resolved = self.ctx.resolve(call.func, self.use)
        name = resolved.names[0] if resolved is not None and resolved.certain else None
        first = calls.argument(call, 0, "m", "mod")
        if name in SAVES and first is place:
            self.members.append(call.func)
            self.saves.append((place, call))
        elif name in FREEZES and first is place:
            if len(calls.arguments(call)) > 1:
                raise Withheld("the further arguments of the optimization have no counterpart")
            self.members.append(call.func)
            self.wrappers.append((place, call))
            self.follow(call)
        elif name is None and isinstance(call.func, ast.Name) and call.func.id == "print":
            return
        else:
            raise Escape(f"is passed to `{self.ctx.text(call.func)}`")

    def _model(self) -> ast.expr:
        model = calls.argument(self.call, 0, "func", "mod")
        if model is None or isinstance(model, ast.Starred):
            raise Withheld("its arguments are not written out")
        return model

    def _inputs(self) -> ast.expr | None:
        """The example inputs; None where they are given by keyword only."""
        inputs = calls.argument(self.call, 1, "example_inputs", "inputs")
        if self.use.symbol in TRACES:
            return inputs
        if isinstance(inputs, ast.Dict) and [getattr(k, "value", None) for k in inputs.keys] == ["forward"]:
            return inputs.values[0]
        if isinstance(inputs, ast.Call) and leaf(inputs.func) == "dict" and not inputs.args:
            if [keyword.arg for keyword in inputs.keywords] == ["forward"]:
                return inputs.keywords[0].value
        raise Withheld("an exported program has one entry, and this traces other methods than forward")

    def _scripted(self) -> Fix:
        model = calls.argument(self.call, 0, "obj")
        unknown = [k for k in self.call.keywords if k.arg not in (*_SCRIPT_ONLY, "obj")]
        if model is None or unknown or len(self.call.args) > 1:
            raise Withheld("its arguments are not written out")
        kind = kind_of(model, self.use, self.ctx)
        if kind in ("scripted", "container"):
            raise Withheld("what it is given is no plain module")
        if not self.saves:
            return self._compiled(model, "", eager=self.ctx.options.script_replacement == "eager")
        example = self._example()
        if example is None:
            raise Withheld("it is saved, and nothing before it shows example inputs for `torch.export.export`")
        return self._exported(model, example)

    def _example(self) -> ast.Call | None:
        """A call of the result whose arguments could already be made where the module is scripted."""
        for place in self.modules:
            call = self.flow.parents[place]
            if isinstance(call, ast.Call) and call.func is place and call.args and not call.keywords:
                names = [n for a in call.args for n in ast.walk(a) if isinstance(n, ast.Name)]
                if all(self._is_known_before(name) for name in names):
                    return call
        return None

    def _is_known_before(self, name: ast.Name) -> bool:
        owner = self.scope.find(name.id)
        if owner is None:
            return False
        return all(
            getattr(binding.node, "lineno", 0) < self.use.place.statement.lineno for binding in owner.bindings[name.id]
        )

    def _compiled(self, model: ast.expr, reason: str, eager: bool = False) -> Fix:
        if self.saves:
            raise Withheld(f"{reason or 'it is saved'}, and a compiled module cannot be saved")
        if self.keys_matter:
            raise Withheld("the state_dict of a compiled module has other keys; use `model.compile()` by hand")
        gone = [node for node in calls.arguments(self.call) if calls.value(node) is not model]
        self._wrappers_removed()
        if eager:
            span = calls.outer(self.ctx.source, model, calls.opening(self.ctx.source, self.call))
            self._delete(self.ctx.source.span(self.call).start, span.start)
            self._delete(span.end, self.ctx.source.span(self.call).end)
            return Fix(tuple(self.edits), Safety.UNSAFE, "Use the module as it is")
        self._rename(self.use, "torch.compile")
        for keyword in self.call.keywords:
            if keyword.value is model:
                self._rename_keyword(keyword, "model")
        self.edits += calls.without(self.ctx.source, self.call, gone)
        return Fix(tuple(self.edits), Safety.UNSAFE, "Use `torch.compile`")

    def _exported(self, model: ast.expr, inputs: ast.expr | None) -> Fix:
        if kind_of(model, self.use, self.ctx) == "scripted":
            raise Withheld("`torch.export` takes no module that is scripted or traced already")
        if self.saves and self.moved:
            raise Withheld("the result is moved after the trace; move the model before, so that the export has it")
        self._rename(self.use, "torch.export.export")
        self._export_arguments(model, inputs)
        self._wrappers_removed()
        self._modes_removed()
        self._called_through_module()
        for place, call in self.saves:
            self._saved(place, call)
        return Fix(tuple(self.edits), Safety.UNSAFE, "Use `torch.export`, and all that follows from it here")

    def _export_arguments(self, model: ast.expr, inputs: ast.expr | None) -> None:
        source = self.ctx.source
        given = calls.arguments(self.call)
        extra: list[str] = []
        if self.use.symbol in SCRIPTS:
            assert isinstance(inputs, ast.Call)
            shown = ", ".join(self.ctx.text(a) for a in inputs.args)
            extra.append(f"({shown},)" if len(inputs.args) == 1 else f"({shown})")
            gone = [node for node in given if calls.value(node) is not model]
        else:
            known = {"func", "mod", "example_inputs", "inputs", "example_kwarg_inputs"}
            unknown = [n for n in given if isinstance(n, ast.keyword) and n.arg not in known | _TRACE_ONLY]
            if unknown or len(self.call.args) > 2 or any(isinstance(n, ast.Starred) for n in given):
                raise Withheld("its arguments are not written out")
            gone = [n for n in given if isinstance(n, ast.keyword) and n.arg in _TRACE_ONLY]
        for keyword in (n for n in given if isinstance(n, ast.keyword) and n not in gone):
            new = {"func": "mod", "mod": "mod", "obj": "mod", "example_kwarg_inputs": "kwargs"}.get(keyword.arg or "")
            self._rename_keyword(keyword, new or "args")
        if isinstance(model, ast.Attribute) and model.attr == "forward":
            self._delete(source.span(model.value).end, source.span(model).end)
        if inputs is None:
            if not any(k.arg == "example_kwarg_inputs" for k in self.call.keywords):
                raise Withheld("it has no example inputs")
            extra.append("args=()")
        elif self.use.symbol not in SCRIPTS:
            self._input_edits(inputs)
        if (2, 8) > self.ctx.options.minimum:
            extra.append("strict=False")
        shapes = dynamic_shapes(self, inputs)
        if shapes is not None:
            extra.append(shapes)
        for edit in calls.without(source, self.call, gone):
            self._delete(edit.start, edit.end)
        last = [n for n in given if n not in gone][-1]
        at = calls.span_of(source, self.call, last).end
        if extra:
            self.edits.append(Edit(at, at, "".join(f", {text}" for text in extra)))

    def _input_edits(self, inputs: ast.expr) -> None:
        source = self.ctx.source
        kind = inputs_of(inputs, self.use, self.ctx)
        if self.use.symbol in TRACE_MODULES:
            whole = calls.argument(self.call, 1, "inputs")
            assert whole is not None
            self._delete(source.span(whole).start, source.span(inputs).start)
            self._delete(source.span(inputs).end, source.span(whole).end)
        span = source.span(inputs)
        if isinstance(inputs, ast.Tuple):
            return
        if isinstance(inputs, ast.List):
            self.edits.append(Edit(span.start, span.start + 1, "("))
            comma = "," if len(inputs.elts) == 1 else ""
            last = source.text[source.span(inputs.elts[-1]).end : span.end] if inputs.elts else b","
            self.edits.append(Edit(span.end - 1, span.end, ")" if b"," in last else comma + ")"))
        elif kind == "one":
            self._wrap(span, "(", ",)")
        elif kind == "list":
            self._wrap(span, "tuple(", ")")
        elif kind is None:
            if not isinstance(inputs, (ast.Name, ast.Attribute)):
                raise Withheld("it does not show whether the example is one tensor or several")
            text = self.ctx.text(inputs)
            self.edits.append(
                self.ctx.replace(span, f"tuple({text}) if isinstance({text}, (tuple, list)) else ({text},)")
            )

    def _called_through_module(self) -> None:
        """Lets the callable uses of the result go through `.module()`, made once."""
        source = self.ctx.source
        end = source.span(self.call).end
        if not self.saves:
            self.edits.append(Edit(end, end, ".module()"))
            return
        repeated = len(self.modules) > 1 or any(self.flow.is_repeated(p, self.call) for p in self.modules)
        if not repeated:
            for place in self.modules:
                self._insert(calls.outer(source, place).end, ".module()")
            return
        statement = self.use.place.statement
        name = self._new_name()
        end_of_line = self._line_end(statement)
        if not isinstance(statement, ast.Assign) or end_of_line is None:
            raise Withheld("its result is both called and saved; give the export a statement of its own")
        target = self.ctx.text(statement.targets[0])
        start = source.span(statement).start
        indent = source.text[source.offset(statement.lineno, 0) : start].decode()
        value = calls.outer(source, statement.value, source.span(statement.targets[0]).end)
        self.edits.append(Edit(start, value.start, f"{name} = "))
        self._insert(end_of_line, f"\n{indent}{target} = {name}.module()")
        for place, _ in self.saves:
            if place is self.call or any(place is wrapped for _, wrapped in self.wrappers):
                raise Withheld("its result is both called and saved; give the export a statement of its own")
            self.edits.append(self.ctx.replace(place, name))

    def _new_name(self) -> str:
        taken = {name for scope in self.ctx.uses.scopes.all for name in scope.bindings}
        return next(n for n in ("exported", "exported_program", "program", *map("exported_{}".format, range(99))) if n not in taken)

    def _line_end(self, statement: ast.stmt) -> int | None:
        """Where the line of a statement ends that shares its lines with nothing but a comment."""
        source = self.ctx.source
        span = source.span(statement)
        last = statement.end_lineno or statement.lineno
        end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
        rest = source.text[span.end : end].rstrip(b"\r\n")
        alone = not source.text[source.offset(statement.lineno, 0) : span.start].strip()
        return span.end + len(rest) if alone and (not rest.strip() or rest.lstrip().startswith(b"#")) else None

    def _saved(self, place: ast.expr, call: ast.Call) -> None:
        source = self.ctx.source
        is_method = isinstance(call.func, ast.Attribute) and call.func.value is place
        path = calls.argument(call, 0 if is_method else 1, "f")
        if path is None or any(isinstance(a, ast.Starred) for a in call.args):
            raise Withheld("the path that it is saved to is not written out")
        for keyword in call.keywords:
            if keyword.arg not in ("f", "m", "_extra_files"):
                raise Withheld(f"`{keyword.arg or '**'}` of save has no counterpart")
        spelling = self._spell("torch.export.save")
        if is_method:
            start = calls.outer(source, place)
            first = calls.arguments(call)[0]
            self._insert(start.start, f"{spelling}(")
            at = calls.span_of(source, call, first).start
            self._delete(start.end, at, ", ")
        else:
            self.edits.append(self.ctx.replace(call.func, spelling))
        self._extra_files(call, 1 if is_method else 2)
        for keyword in call.keywords:
            if keyword.arg == "m":
                self._rename_keyword(keyword, "ep")
        self._followed_by_loads(path)

    def _extra_files(self, call: ast.Call, position: int) -> None:
        files = calls.argument(call, position, "_extra_files")
        if isinstance(files, ast.Dict) and any(
            isinstance(value, ast.Constant) and isinstance(value.value, bytes) for value in files.values
        ):
            raise Withheld("`torch.export` takes extra files as str only")
        for keyword in call.keywords:
            if keyword.arg == "_extra_files":
                self._rename_keyword(keyword, "extra_files")
        if len(call.args) > position:
            self._insert(calls.span_of(self.ctx.source, call, call.args[position]).start, "extra_files=")

    def _followed_by_loads(self, path: ast.expr) -> None:
        """Renames the file, and lets what loads it follow. Raises Withheld where something else uses it."""
        loads = [use for use in self.ctx.uses.found if use.symbol in LOADING and use.call is not None]
        mine = [use for use in loads if use.call and is_same(calls.argument(use.call, 0, "f"), path, use, self)]
        paths = [path, *(p for use in mine if use.call and (p := calls.argument(use.call, 0, "f")) is not None)]
        others = [
            argument
            for use in self.ctx.uses.found
            if use.kind is Kind.CALL and use.call is not None and (use.symbol in SAVES or use.symbol.endswith(".save"))
            and use.call not in [call for _, call in self.saves]
            and (argument := calls.argument(use.call, 1 if use.symbol in SAVES else 0, "f")) is not None
            and is_same(argument, path, use, self)
        ]
        if others:
            raise Withheld("the same file is saved elsewhere as well")
        for use in mine:
            self._loaded(use)
        for _, call in self.saves:
            is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "save" and call.func.value in self._places
            same = calls.argument(call, 0 if is_method else 1, "f")
            if same is not None and same is not path and is_same(same, path, self.use, self):
                paths.append(same)
        self.edits += [edit for edit in renamed(paths, self.ctx, self.use) if edit not in self.edits]

    @property
    def _places(self) -> list[ast.expr]:
        return [place for place, _ in self.saves]

    def _loaded(self, use: Use) -> None:
        """`torch.jit.load(p)` → `torch.export.load(p2).module()`, and what is done with the result."""
        assert use.call is not None
        call, source = use.call, self.ctx.source
        if any(edit.start == source.span(use.node).start for edit in self.edits):
            return
        loaded = Chain(use, self.ctx)
        loaded.follow(call)
        if loaded.saves or loaded.wrappers:
            raise Withheld("the loaded file is saved or frozen again")
        files = calls.argument(call, 2, "_extra_files")
        if files is not None:
            raise Withheld("`torch.export.load` gives extra files as str, where `torch.jit.load` gives bytes")
        if any(keyword.arg not in ("f", "map_location") for keyword in call.keywords):
            raise Withheld("the arguments of the load are not written out")
        self.members += loaded.members
        device = calls.argument(call, 1, "map_location")
        gone = [node for node in calls.arguments(call) if calls.value(node) is device]
        move = ""
        if device is not None and not (isinstance(device, ast.Constant) and device.value is None):
            if isinstance(device, (ast.Lambda, ast.Dict)):
                raise Withheld("`map_location` is no device")
            move = f".to({self.ctx.text(device)})"
        self._rename(use, "torch.export.load")
        for edit in calls.without(source, call, gone):
            self._delete(edit.start, edit.end)
        self._insert(source.span(call).end, f".module(){move}")
        loaded._modes_removed()
        self.edits += loaded.edits

    def _wrappers_removed(self) -> None:
        """Takes `freeze(…)` and its like off what they are given."""
        for place, call in self.wrappers:
            inner = calls.outer(self.ctx.source, place, calls.opening(self.ctx.source, call))
            whole = self.ctx.source.span(call)
            self._delete(whole.start, inner.start)
            self._delete(inner.end, whole.end)

    def _modes_removed(self) -> None:
        """Takes `.eval()` and `.train()` away, which an exported module refuses."""
        for place, call in self.modes:
            statement = self.flow.parents[call]
            if isinstance(statement, ast.Expr) and isinstance(place, ast.Name):
                self.edits += self._removed(statement)
            else:
                self._delete(calls.outer(self.ctx.source, place).end, self.ctx.source.span(call).end)

    def _removed(self, statement: ast.stmt) -> tuple[Edit, ...]:
        from torchmigrate.blocks import Blocks

        place = next(p for p in self.ctx.uses.scopes.places if p.statement is statement)
        edits = Blocks(self.ctx.source).removed(place)
        if isinstance(edits, str):
            raise Withheld(edits)
        return edits

    def _spell(self, name: str) -> str:
        spelling = self.ctx.imports.spell(name, self.use)
        if spelling is None:
            raise Withheld(f"`{name}` cannot be named here without clobbering a name")
        self.edits += [edit for edit in spelling.edits if edit not in self.edits]
        return spelling.text

    def _rename(self, use: Use, name: str) -> None:
        self.edits.append(self.ctx.replace(use.node, self._spell(name)))

    def _rename_keyword(self, keyword: ast.keyword, name: str) -> None:
        start = self.ctx.source.span(keyword).start
        self.edits.append(Edit(start, start + len((keyword.arg or "").encode()), name))

    def _wrap(self, span: Span, before: str, after: str) -> None:
        self._insert(span.start, before)
        self._insert(span.end, after)

    def _insert(self, at: int, text: str) -> None:
        self.edits.append(Edit(at, at, text))

    def _delete(self, start: int, end: int, text: str = "") -> None:
        if b"#" in self.ctx.source.text[start:end]:
            raise Withheld("a comment stands in the part that would go")
        self.edits.append(Edit(start, end, text))
