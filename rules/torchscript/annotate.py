"""`torch.jit.annotate` gives TorchScript a type; everywhere else it returns its value.

Why: to Python, `torch.jit.annotate(T, value)` is just `value`. An annotated assignment gives the type to type checkers as
well as to TorchScript.

    sizes = torch.jit.annotate(List[int], [])
    →
    sizes: List[int] = []

    return torch.jit.annotate(Optional[Tensor], None)
    →
    return None

Fix safety: safe where the call becomes an annotated assignment, which TorchScript also reads, where the code already
states the type, or where neither the project nor its users (`keep-torchscript-support = false`) script or trace anything.
Unsafe for a plain value that users may script: TorchScript may infer another type from the value alone. There is no fix
to a plain value where it certainly would (a bare `[]` is a list of tensors to it, `x.tolist()` fails without a type), or
while the project itself scripts this code, unless the type is `Tensor`, TorchScript's default. Variables that no other
block binds, and attributes in `__init__`, get an annotation.

Source: torch 2.0.1 to 2.15.0 wheels: torch/jit/__init__.py (`annotate`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, NotYet, Rule, Safety, Use
from torchmigrate.rewrite.changes import Annotate, replace, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function

from ._authoring.inert_markers import ASKS, explain_need
from ._script.script_reach import note_reach

rule = Rule(
    code="TS154",
    symbols=("torch.jit.annotate",),
    message="`{symbol}` only returns its value outside TorchScript; use the value itself, and annotate the variable",
    since=(2, 0),
    safety=Safety.SAFE,
    asks=ASKS,
    recipe="replace the call with its value, and annotate the variable that gets it",
)
rule.note(note_reach)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _create_fix(use: Use, ctx: Context) -> Fix:
    call, statement = use.call, use.place.statement
    if call is None:
        raise NoFix("the function is used as a value here, not called")
    given, value = find_argument(call, 0, "the_type"), find_argument(call, 1, "the_value")
    if given is None or value is None or len(call.args) + len(call.keywords) != 2:
        raise NoFix("the type and the value are not written out in the call")
    plain = replace(call, "{value}", value=value)
    if isinstance(statement, ast.Assign) and statement.value is call and _can_be_annotated(use, value):
        annotated = Annotate(statement, template("{type}", type=given))
        return Fix((plain, annotated), Safety.SAFE, "Annotate the variable instead")
    need = explain_need(use, ctx, because="TorchScript may infer another type from the value alone; ")
    if need is None or _states_type(use, call, given):
        return Fix((plain,), Safety.SAFE, "Use the plain value")
    if last_name(given) != "Tensor" and (isinstance(need, NotYet) or _needs_type(value, given)):
        raise need
    return Fix((plain,), Safety.UNSAFE, "Use the plain value")


def _needs_type(value: ast.expr, given: ast.expr) -> bool:
    """Return whether a value alone certainly does not show its type, or the type is wider than that of the value."""
    if isinstance(given, ast.Subscript) and last_name(given.value) in ("Optional", "Union", "Future"):
        return True
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("tolist", "item")
    if isinstance(value, (ast.List, ast.ListComp)):
        return isinstance(value, ast.ListComp) or not value.elts
    return (isinstance(value, ast.Dict) and not value.keys) or (
        isinstance(value, ast.Constant) and value.value is None
    )


def _states_type(use: Use, call: ast.Call, given: ast.expr) -> bool:
    """Return whether the statement of the call already states the type, of its value and nothing else."""
    statement, scope = use.place.statement, use.place.scope.node
    stated: ast.expr | None = None
    if isinstance(statement, ast.Return) and isinstance(scope, Function):
        stated = scope.returns
    elif isinstance(statement, ast.AnnAssign):
        stated = statement.annotation
    return stated is not None and statement.value is call and ast.dump(stated) == ast.dump(given)  # type: ignore[attr-defined]


def _can_be_annotated(use: Use, value: ast.expr) -> bool:
    """Return whether the target of an assignment of ``value`` may get an annotation, for Python and for TorchScript.

    TorchScript accepts one for a variable that no other block binds, and does not read ``__init__``; it rejects
    ``.item()`` as the value of an ``int``.
    """
    assert isinstance(use.place.statement, ast.Assign)
    (target, *others), scope = use.place.statement.targets, use.place.scope
    if others or scope.is_class:
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "item":
        return False
    if isinstance(target, ast.Attribute):
        in_init = isinstance(scope.node, Function) and scope.node.name == "__init__"
        return in_init and isinstance(target.value, ast.Name)
    if not isinstance(target, ast.Name) or target.id in scope.outer:
        return False
    bindings = scope.bindings[target.id]
    if len(bindings) == 1:
        return True
    here = {node for statement in use.place.block for node in _get_targets(statement)}
    earlier = [binding.node for binding in bindings if binding.node.lineno < target.lineno]  # type: ignore[attr-defined]
    return use.place.block is scope.node.body and all(isinstance(n, ast.arg) or n in here for n in earlier)


def _get_targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.AnnAssign):
        return [statement.target]
    return statement.targets if isinstance(statement, ast.Assign) else []
