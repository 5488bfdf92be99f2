"""`torch.jit.Attribute` is a pair that only TorchScript unpacks.

Why: in a plain `nn.Module`, `self.sizes = torch.jit.Attribute({}, Dict[str, int])` leaves the pair itself in
`self.sizes`. An annotation in the body of the class says the same, to TorchScript as well.

    class Count(nn.Module):
        def __init__(self):
            super().__init__()
            self.sizes = torch.jit.Attribute({}, Dict[str, int])
    →
    class Count(nn.Module):
        sizes: Dict[str, int]

        def __init__(self):
            super().__init__()
            self.sizes = {}

Fix safety: unsafe where code reads `.value` or `.type` of the pair. TorchScript reads the annotations of one class only, the
first that has any: a class with bases of the project gets none where the value shows the type, and where it does not
(`None`, an empty list), a class that has bases or subclasses there has no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Declare, replace, template
from torchmigrate.semantics.calls import argument

from ._authoring.authoring import BASES

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS156",
    symbols=("torch.jit.Attribute", "torch.jit._script.Attribute"),
    message="`{symbol}` is a pair of value and type that only TorchScript unpacks; write an annotated attribute",
    safety=Safety.UNSAFE,
)


_SHOWN = frozenset({"int", "bool", "str", "float"})
"""Types that a value shows as well as an annotation does."""
_MODULES = (*BASES, "torch.nn.Module", "torch.nn.modules.module.Module")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix:
    call, statement = use.call, use.place.statement
    if call is None:
        raise NoFix("it is used as a value, and not called")
    value, stated = argument(call, 0, "value"), argument(call, 1, "type")
    if value is None or stated is None:
        raise NoFix("the call does not show its value and its type")
    title = "Annotate the attribute"
    if isinstance(statement, ast.AnnAssign) and statement.annotation is call:
        return Fix((replace(call, "{type}", type=stated),), Safety.UNSAFE, title)
    target, owner = _target(statement, call), use.place.scope.parent
    if not isinstance(target, ast.Attribute):
        raise NoFix("only an attribute that is assigned in a statement of its own can be annotated")
    if owner is None or not isinstance(owner.node, ast.ClassDef) or not _is_name(target.value, "self"):
        raise NoFix("the class that the attribute belongs to is not in sight")
    names = {node.id for node in ast.walk(stated) if isinstance(node, ast.Name)}
    if not names.isdisjoint({*use.place.scope.bindings, *owner.bindings}):
        raise NoFix("the type is made of names that the body of the class does not see")
    is_same = isinstance(statement, ast.Assign) and ast.unparse(value) == ast.unparse(target)
    changes: list[Change] = [ctx.removed(use.place) if is_same else replace(call, "{value}", value=value)]
    is_hiding = _hides(owner.node, value, stated, use, ctx)
    if not is_hiding and not _is_annotated(owner.node, target.attr):
        changes.append(Declare(owner.node, template(f"{target.attr}: {{type}}", type=stated)))
    return Fix(tuple(changes), Safety.UNSAFE, title)


def _is_annotated(definition: ast.ClassDef, name: str) -> bool:
    return any(isinstance(s, ast.AnnAssign) and _is_name(s.target, name) for s in definition.body)


def _hides(definition: ast.ClassDef, value: ast.expr, stated: ast.expr, use: Use, ctx: Context) -> bool:
    """Whether an annotation would hide those of the bases, and is not needed. Raises NoFix where one is, and is not seen."""
    is_shown = isinstance(stated, ast.Name) and stated.id in _SHOWN
    if is_shown and isinstance(value, ast.Constant):
        is_shown = type(value.value).__name__ == ast.unparse(stated)
    is_first = any(isinstance(statement, ast.AnnAssign) for statement in definition.body) or all(
        ctx.is_named(base, use, *_MODULES) for base in definition.bases
    )
    if is_shown:
        return not is_first
    if not is_first:
        raise NoFix(
            f"TorchScript reads the annotations of one class only: one in `{definition.name}` would hide those of its bases"
        )
    if place := _subclass(definition, ctx):
        raise NoFix(
            f"TorchScript reads the annotations of one class only: those of the class in {place} would hide this one"
        )
    return False


def _subclass(definition: ast.ClassDef, ctx: Context) -> str | None:
    """Where a class derives from this one."""
    below = ctx.uses.once(_below, lambda: _below(ctx))
    if (line := below.get(definition.name)) is not None:
        return f"line {line}"
    derived = (definition.name,), (rf"(?m)^[ \t]*class\s+\w+\s*\([^)]*\b{definition.name}\b",)
    for path, line in ctx.project.spelling(derived, beside=ctx.source.path):
        return f"{ctx.project.shown(path)}:{line}"
    return None


def _below(ctx: Context) -> dict[str, int]:
    """The line of a class that derives from another, by the name of that one."""
    classes = (node for node in ctx.uses.flow.parents if isinstance(node, ast.ClassDef))
    return {base.id: node.lineno for node in classes for base in node.bases if isinstance(base, ast.Name)}


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _target(statement: ast.stmt, value: ast.expr) -> ast.expr | None:
    """What a statement assigns ``value`` to, and nothing else."""
    if isinstance(statement, ast.AnnAssign) and statement.value is value:
        return statement.target
    if isinstance(statement, ast.Assign) and statement.value is value and len(statement.targets) == 1:
        return statement.targets[0]
    return None
