"""Choices of a device by asking for one kind after the other, and the expression that picks any accelerator instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name, string_value

_ANY_ACCELERATOR = 'torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'

DEVICE_QUERIES = {
    "torch.cuda.is_available": "cuda",
    "torch.xpu.is_available": "xpu",
    "torch.mps.is_available": "mps",
    "torch.backends.mps.is_available": "mps",
}
"""The functions that ask for a device, with its kind."""

Parents = Mapping[ast.AST, ast.AST]


class DeviceChoice(NamedTuple):
    """An expression or statement that picks one of several devices."""

    instead: str
    """The code that picks any accelerator: a device, or its name."""
    kinds: list[str]
    """The kinds of devices that the program asks for today."""


class _ChoiceStep(NamedTuple):
    """One step of a choice: the value if the test is true, and the code that decides if it is not."""

    test: ast.expr
    target: str
    value: ast.expr
    rest: ast.AST | None


def find_tests(use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Yield the expressions that have the answer of a call that asks for a device: itself, or the reads of its variable."""
    if use.call is not None:
        try:
            yield from list(ctx.uses.data_flow.find_value_places(use.call, use.place.scope))
        except ValueEscapes:
            return


def find_choice(test: ast.expr, use: Use, ctx: Context) -> DeviceChoice | None:
    """Find the choice that begins with a test: ``"cuda" if torch.cuda.is_available() else "cpu"``, or a chain of these."""
    parents = ctx.uses.data_flow.parents
    first = _parse_step(_find_decided(test, parents), parents)
    if first is None or _is_later_step(first.test, parents):
        return None
    kinds, values, rest = [DEVICE_QUERIES[use.symbol]], [first.value], first.rest
    while (after := _parse_step(rest, parents)) is not None:
        asked = ctx.resolve_node(_last_operand(after.test), use)
        kind = DEVICE_QUERIES.get(asked.names[0].removesuffix("()")) if asked is not None else None
        if kind is None or after.target != first.target:
            return None
        kinds.append(kind)
        values.append(after.value)
        rest = after.rest
    otherwise = (
        rest
        if isinstance(rest, ast.expr)
        else _find_chosen_value([] if rest is None else [rest], first.target)
    )
    if otherwise is None or [*map(_device_name, values), _device_name(otherwise)] != [*kinds, "cpu"]:
        return None
    return _create_choice(first.value, kinds, parents)


def _create_choice(value: ast.expr, kinds: list[str], parents: Parents) -> DeviceChoice | None:
    chosen = parents.get(value)
    around = parents.get(chosen) if isinstance(chosen, ast.IfExp) else None
    if isinstance(value, ast.Call):
        return DeviceChoice(_ANY_ACCELERATOR, kinds)
    if isinstance(around, ast.Call) and last_name(around.func) == "device":
        return DeviceChoice(_ANY_ACCELERATOR, kinds) if len(around.args) + len(around.keywords) == 1 else None
    return DeviceChoice(f"({_ANY_ACCELERATOR}).type", kinds)


def _last_operand(test: ast.expr) -> ast.expr:
    """Return the last operand of ``hasattr(torch.backends, "mps") and torch.backends.mps.is_available()``; other tests as they are."""
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        return test
    *before, last = test.values
    guarded = all(
        isinstance(one, ast.Call) and last_name(one.func) in ("hasattr", "is_built") for one in before
    )
    return last if guarded else test


def _find_decided(test: ast.expr, parents: Parents) -> ast.AST | None:
    """Return the ``if`` or conditional expression that a test decides, alone or as the last operand of an ``and``."""
    around = parents.get(test)
    if isinstance(around, ast.BoolOp) and _last_operand(around) is test:
        test, around = around, parents.get(around)
    return around if isinstance(around, (ast.If, ast.IfExp)) and around.test is test else None


def _parse_step(node: ast.AST | None, parents: Parents) -> _ChoiceStep | None:
    if isinstance(node, ast.IfExp):
        return _ChoiceStep(node.test, "", node.body, node.orelse)
    if not isinstance(node, ast.If) or len(node.orelse) > 1:
        return None
    first = node.body[0]
    assigned = ast.unparse(first.targets[0]) if isinstance(first, ast.Assign) else ""
    for target in ("return", assigned):
        value = _find_chosen_value(node.body, target)
        if value is not None:
            block = getattr(parents.get(node), "body", [])
            after = block[block.index(node) + 1 :] if node in block and target == "return" else []
            return _ChoiceStep(node.test, target, value, next(iter(node.orelse or after), None))
    return None


def _is_later_step(test: ast.expr, parents: Parents) -> bool:
    """Return whether the choice that a test decides is the rest of another choice, which is reported as a whole."""
    chosen = parents.get(test)
    around = parents.get(chosen) if chosen is not None else None
    if isinstance(chosen, ast.IfExp):
        return isinstance(around, ast.IfExp) and around.orelse is chosen
    beside = getattr(around, "body", [])
    before = beside[beside.index(chosen) - 1] if chosen in beside[1:] else around
    branch = _parse_step(before, parents)
    return branch is not None and branch.rest is chosen


def _find_chosen_value(body: Sequence[ast.AST], target: str) -> ast.expr | None:
    """Return the value that the only statement of a body assigns to ``target``, or returns if that is ``"return"``."""
    only = body[0] if len(body) == 1 else None
    if isinstance(only, ast.Return):
        return only.value if target == "return" else None
    if isinstance(only, ast.Assign) and len(only.targets) == 1 and ast.unparse(only.targets[0]) == target:
        return only.value
    return None


def _device_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    return string_value(node)
