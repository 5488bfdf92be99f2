"""The fix that turns a chain into an export: ``trace(model, x)`` → ``torch.export.export(model, (x,))``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, NoFix, Safety
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import (
    AddArgument,
    DropArguments,
    Insert,
    Rename,
    Replace,
    Symbol,
    replace,
    template,
)
from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments
from torchmigrate.semantics.name_resolution import last_name

from .._authoring.torchscript_makers import SCRIPTS, TRACE_MODULES
from . import export_checks
from .compile_fixes import drop_mode_calls, unwrap_results
from .dynamic_sizes import ExampleSizes, size_inputs, size_keywords, size_sequence, spell
from .exclusive_branches import is_fallback
from .expression_kinds import find_binding, find_input_form, find_kind, find_shape
from .made_inputs import MadeInputs
from .mobile_programs import FIXED_SIZES, check_made_example, convert_mobile_saves
from .printed_views import rename_views
from .recorded_inputs import find_recorded_form
from .result_chain import ResultChain
from .saves_and_loads import convert_saves

if TYPE_CHECKING:
    from torchmigrate.semantics.scopes import StatementPlace

_TRACE_ONLY = frozenset(
    [
        *("check_trace", "check_inputs", "check_tolerance", "optimize", "strict"),
        *("_force_outplace", "_store_inputs", "_compilation_unit", "_module_class"),
    ]
)
"""Arguments of a trace that an export does not need."""
_NEW_KEYWORDS = {
    "func": "mod",
    "mod": "mod",
    "obj": "mod",
    "example_inputs": "args",
    "inputs": "args",
    "example_kwarg_inputs": "kwargs",
}


def create_export_fix(
    chain: ResultChain, model: ast.expr, inputs: ast.expr | MadeInputs | None, *, is_function: bool = False
) -> Fix:
    """Return the fix that exports ``model`` with example ``inputs``: those of a trace, a call of the module, or made ones.

    Where it ``is_function``, a module that has it as its `forward` is exported. Raise NoFix where the exported module could not be used as the traced or scripted one is.
    """
    if find_kind(model, chain.use, chain.ctx) == "scripted":
        raise NoFix("the argument is a scripted or traced module, and `torch.export` needs a plain one")
    made = find_binding(model, chain.scope, chain.ctx) if isinstance(model, ast.Name) else model
    if isinstance(made, ast.Call) and last_name(made.func) == "compile":
        raise NoFix(f"line {made.lineno} already compiles the module, and `torch.export` needs a plain one")
    export_checks.check_quantized(model, made, chain.use, chain.ctx)
    export_checks.check_parts(model, made, chain.use, chain.ctx)
    export_checks.check_value_dependence(model, chain.use, chain.ctx)
    if chain.use.symbol in SCRIPTS:
        export_checks.check_kept_state(model, chain.use, chain.ctx)
    if chain.saves and chain.moved_line:
        raise NoFix(
            f"line {chain.moved_line} moves or converts the result; do that to the model before the export"
        )
    if isinstance(inputs, MadeInputs):
        check_made_example(chain)
        sizes = ExampleSizes(inputs.shapes, inputs.code, fixed=f"; {inputs.origin}", named=inputs.named)
    else:
        sizes = _size_example(chain, model, inputs)
    if chain.mobile_saves:
        sizes.shapes, sizes.fixed = None, FIXED_SIZES
    if chain.use.symbol in SCRIPTS:
        given = _convert_script_arguments(chain, model, sizes)
    else:
        assert not isinstance(inputs, MadeInputs)
        given = _convert_trace_arguments(chain, inputs, sizes)
    uses = tuple(_adapt_uses(chain)) if chain.leader is chain.use else ()
    changes = (
        chain.ctx.rename_use(chain.use, "torch.export.export"),
        *given,
        *(_wrap_function(chain, model) if is_function else ()),
        *_convert_options(chain, model, sizes),
        *([replace(model, "{model}.eval()", model=model)] if chain.needs_eval else []),
        *uses,
    )
    chain.replacement = "export"
    mode = "; the model is exported in eval mode" if chain.needs_eval else ""
    function = "; a module has the function for its `forward`" if is_function else ""
    lost = export_checks.describe_lost_methods(model, chain.use, chain.ctx) if chain.saves else ""
    title = f"Use `torch.export`, and adapt what uses the result{sizes.fixed}{mode}{function}{lost}"
    return Fix(changes, Safety.UNSAFE, title)


def _adapt_uses(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes of all that is done with the result."""
    yield from unwrap_results(chain)
    yield from drop_mode_calls(chain)
    if chain.mobile_saves:
        yield from convert_mobile_saves(chain)
        return
    yield from _call_through_module(chain)
    yield from rename_views(chain.views)
    yield from convert_saves(chain)


def _wrap_function(chain: ResultChain, function: ast.expr) -> Iterator[FixChange]:
    """Yield the changes that export a module in the place of a function, whose tensors become constants as in a trace."""
    if _shares_its_line(chain.use.place):
        raise NoFix("`torch.export` accepts only modules; make the function the `forward` of one")
    module, made = (
        Symbol(_find_free_name(chain, "module")),
        chain.ctx.write_symbol("torch.nn.Module", chain.use),
    )
    code = "{module} = {made}()\n{module}.forward = " + spell(function, chain)
    yield Insert(chain.use.place.statement, template(code, module=module, made=made))
    yield replace(function, "{module}", module=module)


def _size_example(chain: ResultChain, model: ast.expr, inputs: ast.expr | None) -> ExampleSizes:
    """Return the sizes of the example inputs of a trace, or of a call of the scripted module."""
    named = find_argument(chain.call, None, "example_kwarg_inputs")
    if named is not None:
        if inputs is not None or not isinstance(named, ast.Dict):
            raise NoFix("the names and the sizes of the example inputs are not written out")
        return ExampleSizes(size_keywords(named, chain))
    if inputs is None:
        raise NoFix("the call has no example inputs")
    if chain.use.symbol in SCRIPTS or isinstance(inputs, (ast.Tuple, ast.List)):
        return size_inputs(inputs, model, chain)
    form = _find_input_form(chain, inputs)
    found = find_binding(inputs, chain.scope, chain.ctx)
    if form == "one" and isinstance(inputs, ast.Call) and find_shape(inputs, chain.use, chain.ctx) is None:
        return _name_example(chain, inputs, model)
    if form == "one" or isinstance(found, (ast.Tuple, ast.List)):
        sizes = size_inputs(inputs, model, chain)
        if sizes.code is None and form != "tuple":
            sizes.code = template(_TUPLES[form], inputs=inputs)
        return sizes
    if form != "either":
        sizes = size_sequence(template(spell(inputs, chain)), chain)
        sizes.code = template(_TUPLES[form], inputs=inputs) if form == "list" else None
        return sizes
    return _name_inputs(chain, inputs)


def _name_example(chain: ResultChain, example: ast.Call, model: ast.expr) -> ExampleSizes:
    """Return the sizes of an example whose number of dimensions only a run shows, as a new variable holds it."""
    sizes = size_inputs(example, model, chain)
    if _shares_its_line(chain.use.place):
        return sizes
    name = Symbol(_find_free_name(chain, "example", "example_input"))
    rows = ".repeat_interleave(2, 0)" if example in chain.doubled else ""
    made = template("{name} = " + spell(example, chain) + rows, name=name)
    sizes.changes.append(Insert(chain.use.place.statement, made))
    sizes.code = template("({name},)", name=name)
    dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)
    sizes.shapes = template("([{dim}.AUTO] * {name}.ndim,)", dim=dim, name=name)
    return sizes


def _name_inputs(chain: ResultChain, inputs: ast.expr) -> ExampleSizes:
    """Return the sizes of an example that may be one tensor or several, as a new variable holds it."""
    if _shares_its_line(chain.use.place):
        raise NoFix("it is unclear whether the example is one tensor or several; make it a tuple")
    name = Symbol(_find_free_name(chain, "inputs"))
    sizes = size_sequence(template("{name}", name=name), chain)
    if isinstance(inputs, ast.Call):  # which runs once
        code = (
            "{name} = "
            + spell(inputs, chain)
            + "\n{name} = "
            + _TUPLES["either"].replace("{inputs}", "{name}")
        )
    else:
        code = "{name} = " + _TUPLES["either"].replace("{inputs}", spell(inputs, chain))
    made = template(code, name=name)
    sizes.changes.append(Insert(chain.use.place.statement, made))
    sizes.code = template("{name}", name=name)
    return sizes


def _convert_script_arguments(
    chain: ResultChain, model: ast.expr, sizes: ExampleSizes
) -> Iterator[FixChange]:
    """Yield the changes that pass example inputs to the export of a scripted module."""
    call = chain.call
    yield DropArguments(
        call, tuple(node for node in list_arguments(call) if argument_value(node) is not model)
    )
    yield from _rename_keywords(keyword for keyword in call.keywords if keyword.value is model)
    assert sizes.code is not None
    yield AddArgument(call, sizes.code, "args" if call.keywords else None)
    if sizes.named is not None:
        yield AddArgument(call, sizes.named, "kwargs")


def _convert_trace_arguments(
    chain: ResultChain, inputs: ast.expr | None, sizes: ExampleSizes
) -> Iterator[FixChange]:
    """Yield the changes that make arguments of an export from those of a trace."""
    call = chain.call
    unknown = [k for k in call.keywords if k.arg not in _NEW_KEYWORDS and k.arg not in _TRACE_ONLY]
    if unknown or len(call.args) > 2 or any(isinstance(node, ast.Starred) for node in call.args):
        raise NoFix("the arguments of the call are not written out")
    gone = tuple(keyword for keyword in call.keywords if keyword.arg in _TRACE_ONLY)
    yield DropArguments(call, gone)
    yield from _rename_keywords(keyword for keyword in call.keywords if keyword not in gone)
    if inputs is None:
        yield AddArgument(call, template("()"), "args")
        return
    yield from sizes.changes
    traced = find_argument(call, 1, "inputs") if chain.use.symbol in TRACE_MODULES else inputs
    assert traced is not None
    if isinstance(inputs, ast.List):
        yield replace(traced, _tuple_code(inputs.elts), inputs=inputs.elts)
    elif sizes.code is not None:
        yield Replace(traced, sizes.code)
    elif traced is not inputs:
        yield replace(traced, "{inputs}", inputs=inputs)


def _rename_keywords(keywords: Iterable[ast.keyword]) -> Iterator[FixChange]:
    for keyword in keywords:
        name = _NEW_KEYWORDS[keyword.arg or ""]
        if name != keyword.arg:
            yield Rename(keyword, name)


def _convert_options(chain: ResultChain, model: ast.expr, sizes: ExampleSizes) -> Iterator[FixChange]:
    """Yield the changes of the module, where its forward is traced, and of the arguments beside the inputs."""
    if isinstance(model, ast.Attribute) and model.attr == "forward":
        yield replace(model, "{module}", module=model.value)
    options = chain.ctx.options
    # The default from 2.8 on; where the project's own bound is older, a call without the argument may mean the other one.
    if (chain.peers or chain.alternatives) and is_fallback(chain.use.place):
        yield AddArgument(chain.call, template("True"), "strict")
    elif min(options.minimum, options.declared) < (2, 8):
        yield AddArgument(chain.call, template("False"), "strict")
    if sizes.shapes is not None:
        yield AddArgument(chain.call, sizes.shapes, "dynamic_shapes")


def _tuple_code(inputs: list[ast.expr]) -> str:
    return "({inputs},)" if len(inputs) == 1 else "({inputs})"


_TUPLES = {
    "tuple": "{inputs}",
    "list": "tuple({inputs})",
    "one": "({inputs},)",
    "either": "tuple({inputs}) if isinstance({inputs}, (tuple, list)) else ({inputs},)",
}


def _find_input_form(chain: ResultChain, inputs: ast.expr) -> str:
    """Return "tuple", "list" or "one" for the example inputs, or "either" where only a run can show that."""
    shown = (
        find_input_form(inputs, chain.use, chain.ctx)
        or _find_form_in_calls(chain, inputs)
        or find_recorded_form(chain)
    )
    if shown is None and not isinstance(inputs, (ast.Name, ast.Attribute, ast.Call)):
        raise NoFix(f"it is unclear whether the example on line {inputs.lineno} is one tensor or several")
    return shown or "either"


def _find_form_in_calls(chain: ResultChain, inputs: ast.expr) -> str | None:
    """Return "one" or "list" where the result is called with the example itself."""
    for call in chain.find_calls():
        given = call.args[0] if len(call.args) == 1 else None
        if given is not None and ast.dump(given) == ast.dump(inputs):
            return "one"
        if isinstance(given, ast.Starred) and ast.dump(given.value) == ast.dump(inputs):
            return "list"
    return None


def _call_through_module(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes that use the result through `.module()`, which is called once."""
    if not chain.saves:
        yield replace(chain.call, "{program}.module()", program=chain.call)
    elif len(chain.modules) > 1 or any(chain.flow.is_repeated(place, chain.call) for place in chain.modules):
        yield from _name_program(chain)
    else:
        for place in chain.modules:
            yield replace(place, "{program}.module()", program=place)


def _name_program(chain: ResultChain) -> Iterator[FixChange]:
    """Yield the changes that bind the exported program to a new variable, so that the old one can hold its module."""
    statement = chain.use.place.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    is_inline = any(not isinstance(place, ast.Name) for place, _ in chain.saves) or bool(chain.peers)
    if not isinstance(target, ast.Name) or is_inline or _shares_its_line(chain.use.place):
        raise NoFix("the result is both called and saved; assign it to a variable on a line of its own")
    program = Symbol(_find_free_name(chain, "exported", "exported_program"))
    yield replace(target, "{program}", program=program)
    made = template("{module} = {program}.module()", module=Symbol(target.id), program=program)
    yield Insert(statement, made, after=True)
    for place, _ in chain.saves:
        yield replace(place, "{program}", program=program)


def _find_free_name(chain: ResultChain, *names: str) -> str:
    """Return the first name that the file does not use: one of the names, or the first one with a number."""
    taken = {name for scope in chain.ctx.uses.scopes.all for name in scope.bindings}
    candidates = (*names, *(f"{names[0]}_{number}" for number in range(2, 1000)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _shares_its_line(place: StatementPlace) -> bool:
    statement, parent = place.statement, place.parent
    others = [other for other in place.block if other is not statement]
    beside = any(o.lineno == statement.end_lineno or o.end_lineno == statement.lineno for o in others)
    return beside or (parent is not None and parent.statement.lineno == statement.lineno)
