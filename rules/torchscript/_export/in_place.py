"""A scripted module that goes out of sight: compiled in place, it stays the module that it was.

``model = torch.jit.script(model)`` → ``model.compile()``. Its type, its attributes, the keys of its state_dict and how it is
pickled are those of the plain module, so that only what asks for TorchScript itself can tell; see `telling`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Fix, NoFix, Safety
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Insert, Remove, ReplaceStatement, replace, template
from torchmigrate.semantics.calls import arguments

from .._authoring import bindings, purpose
from .._authoring.authoring import FREEZES, OPTIMIZES
from .._script import choice
from . import telling
from .chain import MODES, MOVES, Chain
from .keeping import parents
from .values import kind_declared, kind_of

_COMPILE_METHOD = (2, 1)
"""The torch that brought `Module.compile`."""
_OF_MODULES = frozenset(
    [
        *("parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules"),
        *("children", "state_dict", "load_state_dict", "zero_grad", *MODES, *MOVES),
    ]
)

_MODULE_NAME = re.compile(r"(?:^|_)(?:model|module|net|network|layer|backbone)(?:_|$)")


def compiled_in_place(chain: Chain, model: ast.expr, leaves: str) -> Fix:
    """The fix of a scripted module whose result leaves its scope; ``leaves`` says how.

    Raises NoFix: that where it is not one variable or attribute that keeps a module and nothing else does, or
    else what may tell the difference.
    """
    ctx, target = chain.ctx, _target(chain)
    if target is None or chain.scope.is_class or not _is_module(model, chain):
        raise NoFix(leaves)
    if ast.unparse(target) != ast.unparse(model) and not isinstance(model, ast.Call):
        raise NoFix(leaves)
    choice.check(chain.use, ctx)
    bindings.check(ctx)
    frozen = _frozen(chain, target)
    telling.check(chain, model, target, [chain.call, *(statement.value for statement in frozen)])
    chain.members += [statement.value.func for statement in frozen if isinstance(statement.value, ast.Call)]
    uncompiled = choice.uncompiled("module", ctx)
    if uncompiled:
        purpose.check_left(chain.call, model, chain.use.place, ctx)
    elif ctx.options.minimum < _COMPILE_METHOD:
        raise NoFix("`Module.compile` needs torch 2.1")
    changes = [
        *(Remove(statement) for statement in frozen),
        *_changes(chain, model, target, stays_eager=bool(uncompiled)),
    ]
    title = uncompiled or "Compile the module in place"
    return Fix(tuple(changes), Safety.UNSAFE, title, anytime=bool(uncompiled))


def _changes(chain: Chain, model: ast.expr, target: ast.expr, *, stays_eager: bool) -> Iterator[Change]:
    statement = chain.use.place.statement
    assert isinstance(statement, (ast.Assign, ast.AnnAssign))
    compiles = template("{module}.compile()", module=target)
    if statement.value is _whole(chain) and ast.unparse(target) == ast.unparse(model):
        yield Remove(statement) if stays_eager else ReplaceStatement(statement, compiles)
        return
    yield replace(chain.call, "{model}", model=model)
    if not stays_eager:
        yield Insert(statement, compiles, after=True)


def _whole(chain: Chain) -> ast.expr:
    """The call of `script`, or the `typing.cast` of its result."""
    parent = chain.flow.parents[chain.call]
    if isinstance(parent, ast.Call) and chain.ctx.is_named(parent.func, chain.use, "typing.cast"):
        return parent
    return chain.call


def _target(chain: Chain) -> ast.expr | None:
    """The one variable or attribute that gets the module, as it is or moved or in another mode."""
    statement = chain.use.place.statement
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    value: ast.AST = _whole(chain)
    while value is not statement.value:
        attribute = chain.flow.parents[value]
        value = chain.flow.parents[attribute]
        is_moved = isinstance(attribute, ast.Attribute) and attribute.attr in MODES | MOVES
        if not is_moved or not isinstance(value, ast.Call) or value.func is not attribute:
            return None
    owner: ast.expr = target
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return target if isinstance(owner, ast.Name) else None


def _is_module(model: ast.expr, chain: Chain) -> bool:
    """Whether a module is scripted: by what it is made of, how it is annotated, or what the file asks of it."""
    kind = kind_of(model, chain.use, chain.ctx)
    if kind is not None:
        return kind == "module"
    if isinstance(model, ast.Name) and (owner := chain.scope.find(model.id)) is not None:
        declared = {kind_declared(binding.node, chain.flow.parents) for binding in owner.bindings[model.id]}
        if "module" in declared:
            return "function" not in declared
    if isinstance(model, ast.Name) and _MODULE_NAME.search(model.id):
        return True
    around = parents(model, chain).values()
    return any(isinstance(node, ast.Attribute) and node.attr in _OF_MODULES for node in around)


def _frozen(chain: Chain, target: ast.expr) -> list[ast.Assign]:
    """The statements right behind that freeze what was scripted, into the same variable."""
    place, found = chain.use.place, []
    for statement in place.block[place.block.index(place.statement) + 1 :]:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
            break
        names = [ast.unparse(node) for node in (*statement.targets, *arguments(value))]
        is_frozen = chain.ctx.is_named(value.func, chain.use, *FREEZES, *OPTIMIZES)
        if not is_frozen or names != [ast.unparse(target)] * 2:
            break
        found.append(statement)
    return found
