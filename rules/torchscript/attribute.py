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

from torchmigrate.api import Finding, Fix, Rule, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.rewrite.calls import argument

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
    yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix | str:
    call, statement = use.call, use.place.statement
    if call is None:
        return "it is used as a value, and not called"
    value, stated = argument(call, 0, "value"), argument(call, 1, "type")
    if value is None or stated is None:
        return "the call does not show its value and its type"
    if ctx.blocks.comments(call):
        return "a comment inside the call would be lost"
    title, safety = "Annotate the attribute", Safety.UNSAFE
    kept, annotation = ctx.embedded(value, statement), ctx.embedded(stated, statement)
    if isinstance(statement, ast.AnnAssign) and statement.annotation is call:
        return Fix((ctx.replace(call, annotation),), safety, title)
    target, owner = _target(statement, call), use.place.scope.parent
    if not isinstance(target, ast.Attribute):
        return "only an attribute that is assigned in a statement of its own can be annotated"
    if owner is None or not isinstance(owner.node, ast.ClassDef) or ctx.text(target.value) != "self":
        return "the class that the attribute belongs to is not in sight"
    names = {node.id for node in ast.walk(stated) if isinstance(node, ast.Name)}
    if not names.isdisjoint({*use.place.scope.bindings, *owner.bindings}):
        return "the type is made of names that the body of the class does not see"
    edits = [ctx.replace(call, kept)]
    if not any(isinstance(s, ast.AnnAssign) and ctx.text(s.target) == target.attr for s in owner.node.body):
        edits += _annotation(f"{target.attr}: {annotation}", owner.node, ctx)
    return Fix(tuple(edits), safety, title)


def _target(statement: ast.stmt, value: ast.expr) -> ast.expr | None:
    """What a statement assigns ``value`` to, and nothing else."""
    if isinstance(statement, ast.AnnAssign) and statement.value is value:
        return statement.target
    if isinstance(statement, ast.Assign) and statement.value is value and len(statement.targets) == 1:
        return statement.targets[0]
    return None


def _annotation(text: str, owner: ast.ClassDef, ctx: Context) -> list[Edit]:
    """The edits that add a statement to the beginning of a class, behind its docstring, and a blank line once."""
    has_docstring = ast.get_docstring(owner, clean=False) is not None
    first = owner.body[1 if has_docstring and len(owner.body) > 1 else 0]
    starts, source = ctx.source.line_starts, ctx.source.text
    indent = source[starts[first.lineno - 1] :][: first.col_offset].decode()
    line = min(node.lineno for node in (first, *getattr(first, "decorator_list", ())))
    while source[starts[line - 2] : starts[line - 1]].lstrip().startswith(b"#"):
        line -= 1
    at = starts[line - 1]
    before = len(source[:at].rstrip(b"\r\n")) if source[starts[line - 2] : at].strip() else starts[line - 2]
    added = Edit(before, before, f"\n{indent}{text}")
    return [added] if isinstance(first, ast.AnnAssign) else [added, Edit(at, at, "\n")]
