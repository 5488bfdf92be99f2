"""`torch.jit.Attribute` is a pair that only TorchScript unpacks.

Why: in a plain `nn.Module`, `self.sizes = torch.jit.Attribute({}, Dict[str, int])` leaves the pair itself in
`self.sizes`. An annotation in the body of the class gives the type, also to TorchScript.

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

Fix safety: unsafe; code may read `.value` or `.type` of the pair. TorchScript reads the annotations of one class only, the
first that has any. A class with bases in the project therefore gets no annotation where the value shows the type; where
it does not (`None`, an empty list), a class with bases or subclasses there has no fix.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Declare, replace, template
from torchmigrate.semantics.call_arguments import find_argument

from ._authoring.torchscript_makers import BASES

rule = Rule(
    code="TS156",
    symbols=("torch.jit.Attribute", "torch.jit._script.Attribute"),
    message="`{symbol}` is a pair of value and type that only TorchScript unpacks; write an annotated attribute",
    safety=Safety.UNSAFE,
    recipe="declare the type in the class body, and assign the plain value",
)

_SHOWN = frozenset({"int", "bool", "str", "float"})
"""Types that TorchScript infers from a value."""
_MODULES = (*BASES, "torch.nn.Module", "torch.nn.modules.module.Module")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    call, statement = use.call, use.place.statement
    if call is None:
        raise NoFix("the class is used as a value here, not called")
    value, stated = find_argument(call, 0, "value"), find_argument(call, 1, "type")
    if value is None or stated is None:
        raise NoFix("the value and the type are not written out in the call")
    title = "Annotate the attribute"
    if isinstance(statement, ast.AnnAssign) and statement.annotation is call:
        return Fix((replace(call, "{type}", type=stated),), Safety.UNSAFE, title)
    target, owner = _get_target(statement, call), use.place.scope.parent
    if not isinstance(target, ast.Attribute):
        raise NoFix("only an attribute that is assigned in a statement of its own can be annotated")
    if owner is None or not isinstance(owner.node, ast.ClassDef) or not _is_name(target.value, "self"):
        raise NoFix("it is unclear which class the attribute belongs to")
    bound = {*use.place.scope.bindings, *owner.bindings}
    for node in ast.walk(stated):
        if isinstance(node, ast.Name) and node.id in bound:
            raise NoFix(f"`{node.id}` in the type may refer to something else in the class body")
    is_same = isinstance(statement, ast.Assign) and ast.unparse(value) == ast.unparse(target)
    changes: list[FixChange] = [
        ctx.remove_statement(use.place) if is_same else replace(call, "{value}", value=value)
    ]
    is_hiding = _hides_annotations(owner.node, value, stated, use, ctx)
    annotated = [statement.target for statement in owner.node.body if isinstance(statement, ast.AnnAssign)]
    if not is_hiding and not any(_is_name(other, target.attr) for other in annotated):
        changes.append(Declare(owner.node, template(f"{target.attr}: {{type}}", type=stated)))
    return Fix(tuple(changes), Safety.UNSAFE, title)


def _hides_annotations(
    definition: ast.ClassDef, value: ast.expr, stated: ast.expr, use: Use, ctx: Context
) -> bool:
    """Return whether an annotation would hide those of the bases and is not needed. Raise NoFix where it is needed but hidden."""
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
            f"TorchScript reads the annotations of one class only, and one in `{definition.name}` would hide those of its bases"
        )
    if place := _find_subclass(definition, ctx):
        raise NoFix(
            f"TorchScript reads the annotations of one class only, and those of the class at {place} would hide this one"
        )
    return False


def _find_subclass(definition: ast.ClassDef, ctx: Context) -> str | None:
    """Return the place of a class that derives from this one."""
    if line := ctx.uses.compute_once(_collect_subclasses, lambda: _collect_subclasses(ctx)).get(
        definition.name
    ):
        return f"line {line}"
    derived = (definition.name,), (rf"(?m)^[ \t]*class\s+\w+\s*\([^)]*\b{definition.name}\b",)
    for path, line in ctx.project.find_spellings(derived, beside=ctx.source.path):
        return f"{ctx.project.get_display_path(path)}:{line}"
    return None


def _collect_subclasses(ctx: Context) -> dict[str, int]:
    """Return the 1-based line of a subclass for the name of each base class."""
    classes = (node for node in ctx.uses.data_flow.parents if isinstance(node, ast.ClassDef))
    return {base.id: node.lineno for node in classes for base in node.bases if isinstance(base, ast.Name)}


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _get_target(statement: ast.stmt, value: ast.expr) -> ast.expr | None:
    """Return the only target of a statement that assigns ``value``."""
    match statement:
        case ast.AnnAssign(target=target) | ast.Assign(targets=[target]) if statement.value is value:
            return target
    return None
