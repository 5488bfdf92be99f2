"""A traced or scripted module and all that its scope does with it, rewritten as one.

The findings of such a chain (the trace, the freeze, the save, the load of the saved file) carry the same fix.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite import calls
from torchmigrate.semantics.dataflow import Escape, is_located
from torchmigrate.semantics.resolve import leaf

from .._authoring.authoring import LOADING
from .chain import ASKS, SCRIPTS, TRACE_MODULES, TRACES, Chain, Withheld
from .rewriting import Rewriting
from .saving import saved
from .sizes import dynamic_shapes
from .values import inputs_of, kind_of

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

__all__ = ["ASKS", "SCRIPTS", "fix_of"]

_TRACE_ONLY = frozenset(
    [
        "check_trace",
        "check_inputs",
        "check_tolerance",
        "optimize",
        "strict",
        "_force_outplace",
        "_store_inputs",
        "_compilation_unit",
        "_module_class",
    ]
)
_SCRIPT_ONLY = frozenset({"optimize", "_frames_up", "_rcb", "example_inputs"})
_NEW_KEYWORDS = {"func": "mod", "mod": "mod", "obj": "mod", "example_kwarg_inputs": "kwargs"}
_KNOWN = frozenset({*_NEW_KEYWORDS, *_TRACE_ONLY, "example_inputs", "inputs"})


def fix_of(use: Use, ctx: Context) -> Fix | str:
    """The fix of the chain that a use belongs to, or why there is none."""
    found = ctx.uses.once(_fixes, lambda: dict(_fixes(ctx))).get(id(use.node))
    if found is not None:
        return found
    if use.kind is not Kind.CALL:
        return "it is not called here"
    if use.symbol in LOADING:
        return "nothing here exports the file; it must be exported again first"
    return "what it is given is not certainly traced in this scope"


def _fixes(ctx: Context) -> Iterator[tuple[int, Fix | str]]:
    for use in ctx.uses.found:
        is_origin = use.symbol in (*TRACES, *TRACE_MODULES, *SCRIPTS)
        if not is_origin or use.kind is not Kind.CALL or use.decorated is not None:
            continue
        chain = Chain(use, ctx)
        result: Fix | str
        try:
            chain.follow()
            result = (
                _fix(chain)
                if _is_located(chain)
                else "it, or what is done with its result, stands inside an f-string"
            )
            if not use.certain:
                result = "the name may stand for something else here"
        except Withheld as reason:
            result = str(reason)
        except Escape as reason:
            result = f"its result {reason}"
        for node in chain.members:
            yield id(node), result


def _is_located(chain: Chain) -> bool:
    done = [call for _, call in (*chain.wrappers, *chain.modes)]
    return all(is_located(node, chain.flow.parents) for node in (*chain.members, *done))


def _fix(chain: Chain) -> Fix:
    if chain.use.symbol in SCRIPTS:
        return _scripted(chain)
    model = calls.argument(chain.call, 0, "func", "mod")
    if model is None or isinstance(model, ast.Starred):
        raise Withheld("its arguments are not written out")
    if kind_of(model, chain.use, chain.ctx) == "function":
        return Rewriting(chain).compiled(model, "it traces a function, which `torch.export` does not take")
    return Export(chain).fix(model, _inputs(chain))


def _scripted(chain: Chain) -> Fix:
    model = calls.argument(chain.call, 0, "obj")
    unknown = [keyword for keyword in chain.call.keywords if keyword.arg not in (*_SCRIPT_ONLY, "obj")]
    if model is None or unknown or len(chain.call.args) > 1:
        raise Withheld("its arguments are not written out")
    if kind_of(model, chain.use, chain.ctx) in ("scripted", "container"):
        raise Withheld("what it is given is no plain module")
    if not chain.saves:
        eager = chain.ctx.options.script_replacement == "eager"
        return Rewriting(chain).eager(model) if eager else Rewriting(chain).compiled(model)
    example = next((call for call in chain.called_with() if _is_known_before(call, chain)), None)
    if example is None:
        raise Withheld("it is saved, and nothing before it shows example inputs for `torch.export.export`")
    return Export(chain).fix(model, example)


def _is_known_before(call: ast.Call, chain: Chain) -> bool:
    """Whether the arguments of a call could already be made where the module is scripted."""
    if not call.args or call.keywords:
        return False
    names = [node for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name)]
    owners = [(name, chain.scope.find(name.id)) for name in names]
    line = chain.use.place.statement.lineno
    return all(
        owner is not None and all(getattr(b.node, "lineno", 0) < line for b in owner.bindings[name.id])
        for name, owner in owners
    )


def _inputs(chain: Chain) -> ast.expr | None:
    """The example inputs of a trace; None where they are given by keyword only."""
    inputs = calls.argument(chain.call, 1, "example_inputs", "inputs")
    if chain.use.symbol in TRACES:
        return inputs
    if isinstance(inputs, ast.Dict):
        given = {
            k.value: v for k, v in zip(inputs.keys, inputs.values, strict=True) if isinstance(k, ast.Constant)
        }
        if len(inputs.keys) == 1 and "forward" in given:
            return given["forward"]
    elif isinstance(inputs, ast.Call) and leaf(inputs.func) == "dict" and not inputs.args:
        by_name = {keyword.arg: keyword.value for keyword in inputs.keywords}
        if [*by_name] == ["forward"]:
            return by_name["forward"]
    raise Withheld("an exported program has one entry, and this traces other methods than forward")


class Export(Rewriting):
    """A chain that becomes an export."""

    def fix(self, model: ast.expr, inputs: ast.expr | None) -> Fix:
        """``trace(model, x)`` → ``torch.export.export(model, (x,))``, and all that follows."""
        chain = self.chain
        if kind_of(model, chain.use, self.ctx) == "scripted":
            raise Withheld("`torch.export` takes no module that is scripted or traced already")
        if chain.saves and chain.moved:
            raise Withheld(
                "the result is moved after the trace; move the model before, so that the export has it"
            )
        self.rename(chain.use, "torch.export.export")
        self._arguments(model, inputs)
        self.wrappers_removed()
        self.modes_removed()
        self._called_through_module()
        for place, call in chain.saves:
            saved(self, place, call)
        return Fix(tuple(self.edits), Safety.UNSAFE, "Use `torch.export`, and all that follows from it here")

    def _arguments(self, model: ast.expr, inputs: ast.expr | None) -> None:
        call = self.chain.call
        given = calls.arguments(call)
        extra: list[str] = []
        if self.chain.use.symbol in SCRIPTS:
            assert isinstance(inputs, ast.Call)
            shown = ", ".join(self.ctx.text(argument) for argument in inputs.args)
            extra.append(f"({shown},)" if len(inputs.args) == 1 else f"({shown})")
            gone = [node for node in given if calls.value(node) is not model]
        else:
            unknown = [node for node in given if isinstance(node, ast.keyword) and node.arg not in _KNOWN]
            if unknown or len(call.args) > 2 or any(isinstance(node, ast.Starred) for node in given):
                raise Withheld("its arguments are not written out")
            gone = [node for node in given if isinstance(node, ast.keyword) and node.arg in _TRACE_ONLY]
            if inputs is not None:
                self._example(inputs)
            elif any(keyword.arg == "example_kwarg_inputs" for keyword in call.keywords):
                extra.append("args=()")
            else:
                raise Withheld("it has no example inputs")
        for keyword in (node for node in given if isinstance(node, ast.keyword) and node not in gone):
            self.rename_keyword(keyword, _NEW_KEYWORDS.get(keyword.arg or "", "args"))
        if isinstance(model, ast.Attribute) and model.attr == "forward":
            self.delete(self.source.span(model.value).end, self.source.span(model).end)
        if self.ctx.options.minimum < (2, 8):
            extra.append("strict=False")  # the default from 2.8 on
        if shapes := dynamic_shapes(self, inputs):
            extra.append(shapes)
        for edit in calls.without(self.source, call, gone):
            self.delete(edit.start, edit.end)
        last = [node for node in given if node not in gone][-1]
        if extra:
            self.insert(calls.span_of(self.source, call, last).end, "".join(f", {text}" for text in extra))

    def _example(self, inputs: ast.expr) -> None:
        """Makes a tuple of the example inputs."""
        if self.chain.use.symbol in TRACE_MODULES:
            whole = calls.argument(self.chain.call, 1, "inputs")
            assert whole is not None
            self.delete(self.source.span(whole).start, self.source.span(inputs).start)
            self.delete(self.source.span(inputs).end, self.source.span(whole).end)
        span = self.source.span(inputs)
        kind = inputs_of(inputs, self.chain.use, self.ctx) or self._shown_by_calls(inputs)
        if isinstance(inputs, ast.Tuple):
            return
        if isinstance(inputs, ast.List):
            last = self.source.text[self.source.span(inputs.elts[-1]).end : span.end] if inputs.elts else b","
            self.edits.append(Edit(span.start, span.start + 1, "("))
            self.edits.append(
                Edit(span.end - 1, span.end, ",)" if len(inputs.elts) == 1 and b"," not in last else ")")
            )
        elif kind == "one":
            self.wrap(span, "(", ",)")
        elif kind == "list":
            self.wrap(span, "tuple(", ")")
        elif kind is None:
            if not isinstance(inputs, (ast.Name, ast.Attribute)):
                raise Withheld("it does not show whether the example is one tensor or several")
            text = self.ctx.text(inputs)
            either = f"tuple({text}) if isinstance({text}, (tuple, list)) else ({text},)"
            self.edits.append(self.ctx.replace(span, either))

    def _shown_by_calls(self, inputs: ast.expr) -> str | None:
        """ "one" or "list", where the result is called with the example itself."""
        for call in self.chain.called_with():
            given = call.args[0] if len(call.args) == 1 else None
            if given is not None and ast.dump(given) == ast.dump(inputs):
                return "one"
            if isinstance(given, ast.Starred) and ast.dump(given.value) == ast.dump(inputs):
                return "list"
        return None

    def _called_through_module(self) -> None:
        """Lets the uses of the result as a module go through `.module()`, made once."""
        chain = self.chain
        if not chain.saves:
            self.insert(self.source.span(chain.call).end, ".module()")
        elif len(chain.modules) > 1 or any(
            chain.flow.is_repeated(place, chain.call) for place in chain.modules
        ):
            self._named()
        else:
            for place in chain.modules:
                self.insert(calls.outer(self.source, place).end, ".module()")

    def _named(self) -> None:
        """Gives the program a name of its own, so that the variable can be its module."""
        statement = self.chain.use.place.statement
        end_of_line = self._line_end(statement)
        inline = [place for place, _ in self.chain.saves if not isinstance(place, ast.Name)]
        if not isinstance(statement, ast.Assign) or end_of_line is None or inline:
            raise Withheld("its result is both called and saved; give the export a statement of its own")
        taken = {name for scope in self.ctx.uses.scopes.all for name in scope.bindings}
        candidates = ("exported", "exported_program", *(f"exported_{number}" for number in range(2, 1000)))
        name = next(candidate for candidate in candidates if candidate not in taken)
        start = self.source.span(statement).start
        target = self.source.span(statement.targets[0])
        value = calls.outer(self.source, statement.value, target.end)
        indent = self.source.text[self.source.offset(statement.lineno, 0) : start].decode()
        self.delete(start, value.start, f"{name} = ")
        self.insert(end_of_line, f"\n{indent}{self.ctx.text(target)} = {name}.module()")
        for place, _ in self.chain.saves:
            self.edits.append(self.ctx.replace(place, name))

    def _line_end(self, statement: ast.stmt) -> int | None:
        """Where the line of a statement ends that shares its lines with nothing but a comment."""
        span = self.source.span(statement)
        last = statement.end_lineno or statement.lineno
        starts = self.source.line_starts
        end = starts[last] if last < len(starts) else len(self.source.text)
        rest = self.source.text[span.end : end].rstrip(b"\r\n")
        alone = not self.source.text[self.source.offset(statement.lineno, 0) : span.start].strip()
        return (
            span.end + len(rest) if alone and (not rest.strip() or rest.lstrip().startswith(b"#")) else None
        )
