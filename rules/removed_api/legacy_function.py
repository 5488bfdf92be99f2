"""An instance of a class that derives from `torch.autograd.Function`, and is called.

Why: early versions of torch called such objects, which kept their state in `self`. No torch from 2.0 on does so: a call raises a
RuntimeError, "Legacy autograd function with non-static forward method is deprecated". The class itself has to be used.

    class Reverse(Function):
        def __init__(self, scale):
            self.scale = scale

        def forward(self, x):
            return x.view_as(x)

        def backward(self, grad):
            return -self.scale * grad

    y = Reverse(0.1)(x)
    →
    class Reverse(Function):
        @staticmethod
        def forward(self, x, scale):
            self.scale = scale
            return x.view_as(x)

        @staticmethod
        def backward(self, grad):
            return -self.scale * grad, None

    y = Reverse.apply(x, 0.1)

A class that keeps a state and has no `backward` becomes a module: it derives from `nn.Module`, and its `forward` runs without
gradients.

Reported are objects that are called at once, through a variable, or as an attribute of `self`, in the file of the class and
wherever it is imported. Classes with a `__call__` of their own are left alone. An object that is only made for its `apply` works,
but warns, and is replaced by its class.

What to do: call `Reverse.apply`. What `__init__` keeps becomes further arguments of `forward`, and `backward` returns `None` for
each of them.

Fix safety: safe for classes without state, for the code has not run with any supported torch. Unsafe where `forward` takes the
state, which is evaluated after the other arguments, and where a class becomes a module, which the modules that keep it list among
their parts.

Source: torch 2.0 and 2.13 wheels: torch/autograd/function.py (`Function.__call__`).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.version_guards import find_reach

from ._autograd.forward_only import create_module_fix, find_object_calls, keeps_state_for_forward
from ._autograd.function_classes import FunctionClass, find_function_class
from ._autograd.instance_calls import InstanceCalls, find_instance_calls
from ._autograd.state_arguments import create_state_fix

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_FUNCTIONS = ("torch.autograd.Function", "torch.autograd.function.Function")
_PASS_STATE = (
    "pass what `__init__` keeps to `forward`, through `apply`, and return None for it from `backward`"
)
_EXPECTED = frozenset({"RuntimeError", "Exception", "BaseException", ""})

rule = Rule(
    code="RM710",
    symbols=(*_FUNCTIONS, *(f"{name}.<class>" for name in _FUNCTIONS)),
    kinds=frozenset({Kind.CALL, Kind.BASE}),
    breaks=(2, 0),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _FUNCTIONS:
        yield from _check_definition(use, ctx)
    elif use.call is not None:
        yield from _check_object(use, use.call, ctx)


def _check_object(use: Use, made: ast.Call, ctx: Context) -> Iterator[Finding]:
    """Yield a finding for an object that is called, unless its class has one: it can be a module."""
    calls = find_instance_calls(made, use, ctx)
    if calls.is_only_applied:
        yield from _check_needless(use, made, ctx)
    if not calls.found or find_reach(use, ctx.uses).caught & _EXPECTED:
        return
    owner = find_function_class(use, ctx)
    if (
        owner is None
        or owner.is_callable
        or (keeps_state_for_forward(owner) and find_object_calls(owner, ctx))
    ):
        return
    name = ctx.get_text(use.node)
    yield ctx.finding(
        use,
        f"calling an object of `{name}`, a `torch.autograd.Function`, raises a RuntimeError; call `{name}.apply`",
        fix=lambda: _create_fix(use, made, calls, owner, ctx),
        hint=_PASS_STATE if owner.has_state else "",
    )


def _check_needless(use: Use, made: ast.Call, ctx: Context) -> Iterator[Finding]:
    """Yield a finding for an object that is only made to be applied."""
    owner, name = find_function_class(use, ctx), ctx.get_text(use.node)
    if made.args or made.keywords or owner is None or owner.has_state or owner.is_callable:
        return
    assert isinstance(use.node, ast.expr)
    change = replace(made, "{function}", function=use.node)
    yield ctx.finding(
        use,
        f"creating an object of `{name}`, a `torch.autograd.Function`, is deprecated; use `{name}.apply` itself",
        severity=Severity.INFO,  # Python hides the warning
        fix=lambda: Fix((change,), Safety.SAFE, f"Use the class `{name}`"),
    )


def _check_definition(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield a finding for a class whose objects are called, if it can be a module, or if only other files call them."""
    definition = use.place.statement
    if use.kind is not Kind.BASE or not isinstance(definition, ast.ClassDef) or len(definition.bases) > 1:
        return
    owner = FunctionClass(definition, (), os.path.abspath(ctx.source.path), is_own=True)
    places = find_object_calls(owner, ctx) if owner.has_state and not owner.is_callable else []
    is_module = keeps_state_for_forward(owner)
    if not places or not (is_module or all(place.path != ctx.source.path for place in places)):
        return
    advice = "without a `backward`, it can be a module" if is_module else f"call `{definition.name}.apply`"
    yield ctx.finding(
        use,
        f"an object of `{definition.name}` is called on {places[0].path}:{places[0].line}, which raises a RuntimeError for a "
        f"`torch.autograd.Function`; {advice}",
        fix=lambda: create_module_fix(use, owner, ctx) if is_module else create_state_fix(owner, ctx),
        hint=None if is_module else _PASS_STATE,
    )


def _create_fix(use: Use, made: ast.Call, calls: InstanceCalls, owner: FunctionClass, ctx: Context) -> Fix:
    assert isinstance(use.node, ast.expr)
    if owner.has_state or made.args or made.keywords:
        return create_state_fix(owner, ctx)
    if calls.other is not None:
        raise NoFix(f"the object is used in another way on line {calls.other.lineno}")
    if any(call.keywords for call in calls.found):
        raise NoFix("`apply` takes no keyword arguments")
    name = ctx.get_text(use.node)
    static = owner.make_static() if owner.is_used_here_only(ctx) else ()
    change = replace(made, "{function}.apply", function=use.node)
    return Fix((change, *static), Safety.SAFE, f"Use `{name}.apply`")
