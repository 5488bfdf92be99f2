"""An optimizer of one's own that misses what the class it derives from needs.

Why: since torch 2.0, `Optimizer.__init__` sets up hooks that `step` and `state_dict` run, so that a subclass that does not call
it fails there. `Adam` and its like read `state["step"]` when a state is loaded or copied; a subclass that counts the steps in
the parameter group instead fails with a KeyError.

    class Lookahead(Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer
            self.param_groups = optimizer.param_groups
    →
    class Lookahead(Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer
            super().__init__(optimizer.param_groups, {})
            self.param_groups = optimizer.param_groups

What to do: call `super().__init__(params, defaults)`; keep the number of steps in `self.state[p]["step"]`.

Fix safety: unsafe; `Optimizer.__init__` also checks the parameter groups, and begins with an empty state.

Source: torch 2.0 and 2.15 wheels: torch/optim/optimizer.py, torch/optim/adam.py (`__setstate__`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.rewrite.changes import Insert, template
from torchmigrate.semantics.name_resolution import last_name, string_value

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_OPTIMIZERS = ("torch.optim.Optimizer", "torch.optim.optimizer.Optimizer")
_COUNTING = tuple(
    f"torch.optim.{name}"
    for name in (
        "ASGD",
        "Adadelta",
        "Adagrad",
        "Adam",
        "AdamW",
        "Adamax",
        "NAdam",
        "RAdam",
        "RMSprop",
        "Rprop",
    )
)
"""The optimizers whose `__setstate__` reads ``state["step"]``."""
_OWN = frozenset({"zero_grad", "state_dict", "load_state_dict"})
"""The methods that need what `Optimizer.__init__` sets up, or lead to a `step` that does."""

rule = Rule(
    code="RM708",
    symbols=(*_OPTIMIZERS, *_COUNTING),
    pairs=dict.fromkeys((*_OPTIMIZERS, *_COUNTING), ("param_groups",)),
    kinds=frozenset({Kind.BASE}),
    breaks=(2, 0),
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    owner = use.place.statement
    if not isinstance(owner, ast.ClassDef) or len(owner.bases) != 1:
        return
    methods = {part.name: part for part in owner.body if isinstance(part, ast.FunctionDef)}
    if use.symbol in _COUNTING:
        if "step" in methods and "__setstate__" not in methods and _counts_in_group(owner):
            yield ctx.finding(
                use,
                f'`{{symbol}}` reads `state["step"]` when a state is loaded or copied, and `{owner.name}` keeps `step` in the parameter group',
                hint='keep it in the state as well: `state["step"] = torch.tensor(0.0)`',
            )
        return
    begin = methods.get("__init__")
    is_whole = methods.keys() >= _OWN and not _calls_base(owner)
    if begin is not None and not is_whole and not _calls_init(begin):
        yield ctx.finding(
            use,
            f"`{owner.name}.__init__` does not call that of `{{symbol}}`, which sets up what `step` and `state_dict` need since torch 2.0",
            fix=lambda: _create_fix(begin, methods),
            hint="call `super().__init__(params, defaults)`",
            span=ctx.source.span_of(begin.args.args[0]) if begin.args.args else None,
        )


def _calls_init(function: ast.FunctionDef) -> bool:
    """Return whether a method may call an `__init__`, that of the base among others, or restore a whole state."""
    return any(
        last_name(node) in ("__init__", "__setstate__", "__dict__", "_patch_step_function")
        for node in ast.walk(function)
        if node is not function
    )


def _calls_base(owner: ast.ClassDef) -> bool:
    """Return whether a class that defines what `Optimizer` does still calls it: ``super().load_state_dict(state)``."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _OWN
        and last_name(getattr(node.value, "func", node.value)) in ("super", "Optimizer")
        for node in ast.walk(owner)
    )


def _counts_in_group(owner: ast.ClassDef) -> bool:
    """Return whether a class counts its steps in the parameter group, and keeps a state without them."""
    counted, kept = False, False
    for node in ast.walk(owner):
        match node:
            case ast.Subscript(value=held, slice=key):
                name = last_name(held) or last_name(getattr(held, "value", held)) or ""
            case ast.Call(func=ast.Attribute(value=held, attr="setdefault"), args=[key, *_]):
                name = last_name(held) or ""
            case ast.Dict(keys=keys) if any(key is not None and string_value(key) == "step" for key in keys):
                return False
            case _:
                continue
        is_step = string_value(key) == "step"
        if is_step and "state" in name:
            return False
        counted |= is_step and "group" in name
        kept |= "state" in name and isinstance(getattr(node, "ctx", ast.Store()), ast.Store)
    return counted and kept


def _create_fix(begin: ast.FunctionDef, methods: dict[str, ast.FunctionDef]) -> Fix:
    if "add_param_group" in methods:
        raise NoFix("`Optimizer.__init__` calls `add_param_group`, which the class defines itself")
    for statement in begin.body:
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=this), attr=name)], value=value):
                if name == "param_groups" and this == begin.args.args[0].arg:
                    change = Insert(statement, template("super().__init__({groups}, {{}})", groups=value))
                    reason = "it also checks the parameter groups, and begins with an empty state"
                    return Fix((change,), Safety.UNSAFE, f"Call `super().__init__`; unsafe because {reason}")
                if name in ("state", "defaults"):
                    break
    raise NoFix("`__init__` does not set `self.param_groups` before the rest of the state")
