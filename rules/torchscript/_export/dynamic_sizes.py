"""The sizes of an export: the value of ``dynamic_shapes``, and examples of two rows.

Every size is `Dim.AUTO`: it varies where the model allows that, and stays where the model fixes it. A size of 1 in an example
always stays (torch 2.13 logs "0/1 specialized"), so that an example of a single row gets a second one where other numbers of
rows may come.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.model.findings import FixChange, NeedsTorch
from torchmigrate.rewrite.changes import Part, Template, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.tensors import is_tensor

from .example_rows import add_rows, has_rows, render_rows
from .expression_kinds import find_input_form, find_shape
from .input_sizes import find_first_size, find_number, find_positional, find_value, is_like
from .recorded_inputs import has_recorded_rows

if TYPE_CHECKING:
    from .result_chain import ResultChain

_AUTO = (2, 6)
"""The first torch with `torch.export.Dim.AUTO`."""
_SEVERAL = re.compile(r"dict|args|states|list|tuple|graph|hidden|h_?c", re.IGNORECASE)
"""Names of inputs that often hold several tensors."""


@dataclass(slots=True)
class ExampleSizes:
    """What an export says about the sizes of its example inputs, and how these change."""

    shapes: Template | None = None
    """The value of ``dynamic_shapes``; None where no input is a tensor."""
    code: Template | None = None
    """The code of all inputs, where it has to be another one than is written there."""
    named: Template | None = None
    """The code of the inputs that are passed by name, where the call does not show them."""
    changes: list[FixChange] = field(default_factory=list)
    """The changes that give the examples, where they stand, a second row."""
    fixed: str = ""
    """What stays fixed, as the end of a title."""


def size_sequence(inputs: Part, chain: ResultChain) -> ExampleSizes:
    """Return the sizes of inputs of which only a run shows how many there are."""
    _require_auto(chain)
    dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)
    shapes = template("tuple([{dim}.AUTO] * each.ndim for each in {inputs})", inputs=inputs, dim=dim)
    return ExampleSizes(shapes, fixed="; a size of 1 in the example stays fixed")


def size_inputs(inputs: ast.expr, model: ast.expr, chain: ResultChain) -> ExampleSizes:
    """Return the sizes of the positional inputs of a trace, or of a call that serves as the example.

    Raise NoFix where a call of the result contradicts the example.
    """
    values = find_positional(inputs, chain)
    pairs = list(_pair_calls(inputs, values, chain))
    varying = [example for example, given in pairs if not is_like(given, example, chain)]
    single = [value for value in values if _is_single(value, value in varying, chain)]
    if not (single and (chain.saves or varying) and has_rows(values, single, model, chain)):
        single = []
    if not varying and any(_has_unknown_rows(value, chain) for value in values if value not in single):
        single = []  # which may have a single row as well
    chain.doubled = single
    for example, given in pairs:
        has_rows_there = example in single or has_recorded_rows(values.index(example), chain)
        _check_sizes(example, given, chain, starts_at=1 if has_rows_there else 0)
    is_copied, is_held = isinstance(inputs, ast.Call) and inputs.args is values, _is_held(inputs, values)
    sizes = ExampleSizes()
    if is_copied:
        parts = [render_rows(value, chain) if value in single else value for value in values]
        sizes.code = template("({inputs},)" if len(parts) == 1 else "({inputs})", inputs=parts)
    elif single and is_held and len(single) == len(values):
        sizes.code = template("tuple(each.repeat_interleave(2, 0) for each in {inputs})", inputs=inputs)
    elif single and is_held:
        chain.doubled = single = []
    elif single:
        sizes.changes, sizes.code = add_rows(inputs, single, chain)
    references = [
        f"{spell(inputs, chain)}[{index}]" if is_held else spell(value, chain)
        for index, value in enumerate(values)
    ]
    sizes.shapes = _render_shapes(values, references, chain)
    sizes.fixed = _describe_fixed(values, single, chain)
    return sizes


def size_keywords(inputs: ast.Dict, chain: ResultChain) -> Template | None:
    """Return the sizes of inputs that are given by name only."""
    names = [key.value if isinstance(key, ast.Constant) else None for key in inputs.keys]
    if None in names:
        raise NoFix("the names of the example inputs are not written out")
    entries = [_render_entry(value, spell(value, chain), chain) for value in inputs.values]
    return _join(entries, _dict_form(names))


def spell(node: ast.expr, chain: ResultChain) -> str:
    """Return the code of an example as it is written, for a template: a node of the file would change with its changes."""
    return chain.ctx.get_text(node).replace("{", "{{").replace("}", "}}")


def _dict_form(names: Iterable[object]) -> str:
    texts = (f'"{name}"' if isinstance(name, str) else repr(name) for name in names)
    return "{{{{" + ", ".join(f"{text}: {{}}" for text in texts) + "}}}}"


def _is_held(inputs: ast.expr, values: Sequence[ast.expr]) -> bool:
    """Return whether the example is a variable that holds a tuple of the values."""
    return not isinstance(inputs, (ast.Tuple, ast.List, ast.Call)) and [*values] != [inputs]


def _require_auto(chain: ResultChain) -> None:
    if chain.ctx.options.minimum < _AUTO:
        raise NeedsTorch(_AUTO, chain.ctx.options.minimum)


def _pair_calls(
    inputs: ast.expr, values: Sequence[ast.expr], chain: ResultChain
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each example with each input that a call gives in its place. Raise NoFix where a call has others."""
    for call in chain.find_calls():
        if call is inputs or _has_whole(call, inputs, chain):
            continue
        if call.keywords:
            names = ", ".join(keyword.arg or "**" for keyword in call.keywords)
            raise NoFix(
                f"line {call.lineno} passes `{names}` by name, but the example has only positional inputs"
            )
        if any(isinstance(one, ast.Starred) for one in (*call.args, *values)):
            continue
        if len(call.args) != len(values):
            raise NoFix(
                f"line {call.lineno} calls the result with {len(call.args)} arguments, but the example has {len(values)}"
            )
        yield from zip(values, call.args, strict=True)
    checks = find_argument(chain.call, None, "check_inputs")
    for element in checks.elts if isinstance(checks, (ast.List, ast.Tuple)) else ():
        yield from zip(values, find_positional(element, chain), strict=False)


def _has_whole(call: ast.Call, inputs: ast.expr, chain: ResultChain) -> bool:
    """Return whether a call has all the inputs at once: ``traced(*inputs)``."""
    given = call.args[0] if len(call.args) == 1 else None
    return isinstance(given, ast.Starred) and is_like(given.value, inputs, chain)


def _is_single(value: ast.expr, is_varying: bool, chain: ResultChain) -> bool:
    """Return whether an example has a single row, or may have one where others come."""
    first, shape = find_first_size(value, chain), find_shape(value, chain.use, chain.ctx)
    is_unknown = first is None and shape is None
    if shape is not None and len(shape) == 1:
        return False  # a row itself, and not a batch of rows
    return first == 1 or (is_varying and is_unknown and _may_be_tensor(value, chain))


def _has_unknown_rows(value: ast.expr, chain: ResultChain) -> bool:
    """Return whether an example may be a tensor of which the code does not show the first size."""
    is_unknown = find_first_size(value, chain) is None and find_shape(value, chain.use, chain.ctx) is None
    return is_unknown and isinstance(value, ast.Name) and _may_be_tensor(value, chain)


def _may_be_tensor(value: ast.expr, chain: ResultChain) -> bool:
    """Return whether an input is a tensor, as far as the code shows it, or its name does not tell otherwise."""
    if _is_tensor(value, chain):
        return True
    return isinstance(value, (ast.Name, ast.Attribute)) and not _SEVERAL.search(last_name(value) or "")


def _is_tensor(value: ast.expr, chain: ResultChain) -> bool:
    is_one = find_input_form(value, chain.use, chain.ctx) == "one" and not isinstance(value, ast.Dict)
    return is_one or is_tensor(value, chain.use.place, chain.ctx.uses)


def _check_sizes(example: ast.expr, given: ast.expr, chain: ResultChain, starts_at: int) -> None:
    """Raise NoFix where an input of a call cannot have the place of the example."""
    place = f"line {given.lineno} calls the result with `{chain.ctx.get_text(given)}`"
    number = find_number(example, chain)
    if number is not None and number != find_number(given, chain):
        raise NoFix(f"{place}, but an export fixes that number at {number}")
    if is_like(given, example, chain):
        return
    sizes = find_shape(example, chain.use, chain.ctx)
    others = find_shape(given, chain.use, chain.ctx)
    if sizes is None:
        if starts_at == 0 and find_first_size(example, chain) in (None, 1):
            raise NoFix(f"{place}, whose sizes may differ from the example's; use an example of two rows")
        return
    if others is not None and len(others) != len(sizes):
        raise NoFix(f"{place}, which has another number of dimensions than the example")
    for dimension in range(starts_at, len(sizes)):
        other = find_number(others[dimension], chain) if others is not None else None
        if find_number(sizes[dimension], chain) == 1 and other != 1:
            raise NoFix(
                f"{place}, but the example has size 1 there, which an export fixes; use a size of at least 2"
            )


def _render_shapes(
    values: Sequence[ast.expr], references: Sequence[str], chain: ResultChain
) -> Template | None:
    if any(isinstance(value, ast.Starred) for value in values):
        return size_sequence(template("({inputs})", inputs=values), chain).shapes
    if chain.ctx.options.minimum < _AUTO:
        return _render_batch(values, chain)
    entries = [_render_entry(*pair, chain) for pair in zip(values, references, strict=True)]
    return _join(entries, "({},)" if len(entries) == 1 else f"({', '.join(['{}'] * len(entries))})")


def _render_batch(values: Sequence[ast.expr], chain: ResultChain) -> Template:
    """Return the sizes for a torch without `Dim.AUTO`: the number of rows of the only input varies."""
    if len(values) != 1 or not _is_tensor(values[0], chain) or find_first_size(values[0], chain) == 1:
        _require_auto(chain)
    return template('({{0: {dim}("batch")}},)', dim=chain.ctx.write_symbol("torch.export.Dim", chain.use))


def _join(entries: Sequence[Template | None], form: str) -> Template | None:
    """Return the entries in a container; None where all of them are None."""
    if not any(entries):
        return None
    code, parts = form.format(*(f"{{e{index}}}" for index in range(len(entries)))), dict[str, Part]()
    for index, entry in enumerate(entries):
        parts[f"e{index}"] = entry or template("None")
    return Template(code, parts)


def _render_entry(value: ast.expr, reference: str, chain: ResultChain) -> Template | None:
    """Return the sizes of one input, which ``reference`` spells; None for what is no tensor."""
    dim = chain.ctx.write_symbol("torch.export.Dim", chain.use)
    found = find_value(value, chain)
    match found:
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            return None
        case ast.Dict(keys=keys, values=inner) if all(isinstance(key, ast.Constant) for key in keys):
            names = [key.value for key in keys if isinstance(key, ast.Constant)]
            entries = [
                _render_entry(one, f"{reference}[{name!r}]", chain)
                for name, one in zip(names, inner, strict=True)
            ]
            return _join(entries, _dict_form(names))
        case ast.Tuple(elts=inner) | ast.List(elts=inner) if not any(
            isinstance(one, ast.Starred) for one in inner
        ):
            entries = [_render_entry(one, f"{reference}[{index}]", chain) for index, one in enumerate(inner)]
            commas = ", ".join(["{}"] * len(inner)) + ("," if len(inner) == 1 else "")
            return _join(entries, f"({commas})" if isinstance(found, ast.Tuple) else f"[{commas}]")
    if (shape := find_shape(value, chain.use, chain.ctx)) is not None:
        return template(f"[{{dim}}.AUTO] * {len(shape)}", dim=dim)
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        code = f"[{{dim}}.AUTO] * {reference}.ndim"
        if _may_be_tensor(value, chain):
            return template(code, dim=dim)
        tree_map = chain.ctx.write_symbol("torch.utils._pytree.tree_map", chain.use)
        code = f"{{tree_map}}(lambda each: [{{dim}}.AUTO] * each.ndim, {reference})"
        return template(code, dim=dim, tree_map=tree_map)
    if _is_tensor(value, chain):
        return template("{{0: {dim}.AUTO}}", dim=dim)
    raise NoFix(
        f"it is unclear which sizes `{chain.ctx.get_text(value)}` has; assign the example to a variable first"
    )


def _describe_fixed(values: Sequence[ast.expr], doubled: Sequence[ast.expr], chain: ResultChain) -> str:
    """Return the sizes of 1 that stay fixed, as the end of a title."""
    places = []
    for number, value in enumerate(values):
        shape = find_shape(value, chain.use, chain.ctx)
        ones = [
            str(dimension)
            for dimension, size in enumerate(shape or ())
            if find_number(size, chain) == 1 and not (dimension == 0 and value in doubled)
        ]
        if ones:
            of = f" of input {number + 1}" if len(values) > 1 else ""
            places.append(f"dimension {' and '.join(ones)}{of}")
        elif shape is None and isinstance(value, ast.Call) and len(values) > 1:
            return f"; the sizes of input {number + 1} behind its first stay fixed"
        elif shape is None and value not in doubled and find_first_size(value, chain) != 2:
            return "; a size of 1 in the example stays fixed"
    return f"; {', '.join(places)} stays 1, as in the example" if places else ""
