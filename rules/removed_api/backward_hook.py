"""`Module.register_backward_hook`, whose hook sees the last operation of a module and not the module.

Why: the hook gets the gradients of the operation that made the output: for a `Linear`, those of its bias and weight as well.
Since torch 1.8 a call of the module warns where they are not those of its inputs and outputs.

    layer.register_backward_hook(self.save_gradient)
    →
    layer.register_full_backward_hook(self.save_gradient)

Modules that a test around the call says to be a `ReLU` are one operation: nothing warns there. Where nothing shows that it is a
module that gets the hook, this is only information.

What to do: use `register_full_backward_hook`. Its hook gets the gradients of the module's outputs, and of its inputs alone:
`None` for those that need none. It returns one gradient for each input, or nothing.

Fix safety: unsafe, since a full hook fails where the module, or what is called next, changes its output in place: a `ReLU` with
`inplace=True` behind a convolution. There is no fix if the hook reads other gradients than the first one of the inputs, or
returns several, or if that holds for another hook of the file: no module can have hooks of both kinds.

Source: torch 1.8.1 and 2.13 wheels: torch/nn/modules/module.py (`_maybe_warn_non_full_backward_hook`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.function_calls import find_function
from torchmigrate.semantics.tensors import is_tensor
from torchmigrate.semantics.version_guards import find_reach

from ._changes.missing_names import has_alternative, names_other_branch

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOL = ".register_backward_hook"
_FULL = "register_full_backward_hook"
_OTHER_LIBRARY = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(?:mindspore|jittor|oneflow|megengine)\b", re.MULTILINE
)
"""Imports of libraries whose modules have a method of this name."""
_NAMES_MODULES = re.compile(r"\b(?:named_)?(?:modules|children)\(|\b_modules\b|\bget_submodule\(")
"""What gives modules."""

rule = Rule(
    code="RM736",
    symbols=(_SYMBOL,),
    pairs={_SYMBOL: ()},
    message="modules with a hook of `register_backward_hook` have warned since torch {deprecated}: it misses gradients; use `"
    f"{_FULL}`",
    since=(1, 8),
    deprecated=(1, 8),
    kinds=frozenset({Kind.CALL}),
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = find_reach(use, ctx.uses)
    if use.call is None or reached.unheard or has_alternative(use, ctx, reached):
        return
    defined = ctx.project.find_spellings(((use.name,), (r"def register_backward_hook\(",)), beside="")
    if not defined and not names_other_branch(use, _FULL) and not _is_of_another_library(use, ctx):
        mild = _is_activation(use) or not _is_module(use, ctx)
        yield ctx.finding(use, severity=Severity.INFO if mild else None, fix=lambda: _create_fix(use, ctx))


def _is_of_another_library(use: Use, ctx: Context) -> bool:
    """Return whether the receiver is a tensor, or a library whose modules have the method is imported."""
    assert isinstance(use.node, ast.Attribute)
    return _OTHER_LIBRARY.search(ctx.source.text) is not None or is_tensor(
        use.node.value, use.place, ctx.uses
    )


def _is_module(use: Use, ctx: Context) -> bool:
    """Return whether something shows that the receiver is a module: how it is used or made, or what the hook takes."""
    assert use.call is not None
    assert isinstance(use.node, ast.Attribute)
    hook = _find_hook(use.call, ctx, use)
    if hook is not None and len([one for one in hook.args.args if one.arg != "self"]) == 3:
        return True
    receiver = ast.unparse(use.node.value)
    for place in use.place.enclosing_places():
        match place.statement:
            case ast.For(target=target, iter=made) if _NAMES_MODULES.search(ast.unparse(made)):
                if receiver in {ast.unparse(node) for node in ast.walk(target)}:
                    return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as around:
                if f"{receiver}.register_forward_" in ast.unparse(around):
                    return True
    return _is_made_as_module(use.node.value, use, ctx)


def _is_made_as_module(node: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression is an object of `torch.nn`, annotated or created here, or part of one, or ``self`` of a module."""
    scope = use.place.scope
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return _is_made_as_module(node.value, use, ctx)
    if not isinstance(node, ast.Name):
        return bool(_NAMES_MODULES.search(ast.unparse(node)))
    shown: list[ast.expr | None] = [ctx.uses.data_flow.find_definition(node, scope)]
    owner = scope.find_scope(node.id)
    bound = owner.bindings[node.id] if owner is not None else []
    shown += [binding.node.annotation for binding in bound if isinstance(binding.node, ast.arg)]
    if node.id == "self":
        around = (place.statement for place in use.place.enclosing_places())
        shown += [base for one in around if isinstance(one, ast.ClassDef) for base in one.bases]
    return any(one is not None and _says_module(one, use, ctx) for one in shown)


def _says_module(node: ast.expr, use: Use, ctx: Context) -> bool:
    resolved = ctx.resolve_node(node, use)
    named = resolved is not None and resolved.names[0].startswith(("torch.nn.", "torchvision.models."))
    return named or _NAMES_MODULES.search(ast.unparse(node)) is not None


def _is_activation(use: Use) -> bool:
    """Return whether a test around a use says that the module is a `ReLU`."""
    tests = (place.statement for place in use.place.enclosing_places() if isinstance(place.statement, ast.If))
    return any("ReLU" in ast.unparse(statement.test) for statement in tests)


def _create_fix(use: Use, ctx: Context) -> Fix:
    assert isinstance(use.node, ast.Attribute)
    if _is_activation(use):
        raise NoFix("a full hook fails for a `ReLU` with `inplace=True`")
    known = {one: _check_hook(one, ctx) for one in ctx.uses.all_uses if one.symbol == _SYMBOL and one.call}
    others = (
        "" if known[use] else ", and the hook gets and returns the gradients of the module's inputs alone"
    )
    return Fix(
        (replace(use.node, f"{{module}}.{_FULL}", module=use.node.value),),
        Safety.UNSAFE,
        f"Use `{_FULL}`; unsafe because it fails where the module's output is changed in place{others}",
    )


def _check_hook(use: Use, ctx: Context) -> bool:
    """Return whether a hook only looks at the gradients of outputs. Raises NoFix if it needs what a full hook lacks."""
    assert use.call is not None
    hook = _find_hook(use.call, ctx, use)
    if hook is None:
        return False
    names = [one.arg for one in (*hook.args.posonlyargs, *hook.args.args)]
    if len(names) < 3:
        return False
    returned = _find_returned(hook)
    if any(isinstance(value, ast.Tuple) and len(value.elts) > 1 for value in returned):
        raise NoFix(
            "a hook of the file returns several gradients, a full hook one for each input of the module"
        )
    reads = [
        node
        for node in ast.walk(hook)
        if isinstance(node, ast.Name) and node.id == names[-2] and isinstance(node.ctx, ast.Load)
    ]
    if any(_reads_others(read, ctx) for read in reads):
        raise NoFix("a hook of the file reads gradients of weights, which a full hook does not get")
    return not reads and not returned


def _find_hook(
    call: ast.Call, ctx: Context, use: Use
) -> ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function that a call registers: a lambda, one that has a name, or one that another function returns."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Lambda) or given is None:
        return given
    if not isinstance(given, ast.Call):
        return find_function(given, use.place.scope)
    maker = find_function(given.func, use.place.scope)
    inner = [node for node in maker.body if isinstance(node, ast.FunctionDef)] if maker is not None else []
    return inner[0] if len(inner) == 1 else None


def _find_returned(hook: ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """Return what a hook returns, but for None."""
    if isinstance(hook, ast.Lambda):
        return [hook.body]
    values = [node.value for node in ast.walk(hook) if isinstance(node, ast.Return)]
    return [
        one for one in values if one is not None and not (isinstance(one, ast.Constant) and one.value is None)
    ]


def _reads_others(read: ast.Name, ctx: Context) -> bool:
    """Return whether more than the first gradient of the inputs is read: by an index, or by unpacking all."""
    match ctx.uses.data_flow.parents.get(read):
        case ast.Subscript(value=value, slice=ast.Constant(value=0)) if value is read:
            return False
        case ast.Subscript(value=value) if value is read:
            return True
        case ast.Assign(targets=[ast.Tuple(elts=elements)]):
            return len(elements) > 1
    return False
