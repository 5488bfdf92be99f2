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

Fix safety: unsafe where code reads `.value` or `.type` of the pair.

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

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS156",
    symbols=("torch.jit.Attribute", "torch.jit._script.Attribute"),
    message="`{symbol}` is a pair of value and type that only TorchScript unpacks; write an annotated attribute",
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _fix(use))


def _fix(use: Use) -> Fix:
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
    changes: list[Change] = [replace(call, "{value}", value=value)]
    if not any(isinstance(s, ast.AnnAssign) and _is_name(s.target, target.attr) for s in owner.node.body):
        changes.append(Declare(owner.node, template(f"{target.attr}: {{type}}", type=stated)))
    return Fix(tuple(changes), Safety.UNSAFE, title)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _target(statement: ast.stmt, value: ast.expr) -> ast.expr | None:
    """What a statement assigns ``value`` to, and nothing else."""
    if isinstance(statement, ast.AnnAssign) and statement.value is value:
        return statement.target
    if isinstance(statement, ast.Assign) and statement.value is value and len(statement.targets) == 1:
        return statement.targets[0]
    return None
