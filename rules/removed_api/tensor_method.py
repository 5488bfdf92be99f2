"""A method of tensors that was removed, only raises, or warns, like the function of the same name.

Why: `x.qr()` is `torch.qr(x)`, and is removed together with it.

    def whitened(x: torch.Tensor):
        q, r = x.qr()
    →
    def whitened(x: torch.Tensor):
        q, r = torch.linalg.qr(x)

Methods whose names other objects have as well are only reported of expressions that certainly are tensors: parameters
annotated as such, results of functions and methods that return tensors, gradients, and variables that hold nothing else.
`lu_solve` is also reported of the result of any method, `cholesky` and `triangular_solve` of whatever no other library of matrices
may have made, and `refine_names` and `align_to` if they are given
the names of dimensions.

What to do: use the replacement that the finding names.

Fix safety: as for the function; unsafe where results may differ, such as in the signs of eigenvectors, or where no
code shows that the owner of `cholesky` or `triangular_solve` is a tensor.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Kind, Rule, Safety
from torchmigrate.semantics.tensors import is_tensor
from torchmigrate.tables import api_changes

from ._changes.change_findings import check_change
from ._changes.use_intent import is_defined_in_project

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.api_changes import ApiChange

_CHANGES = api_changes.index_by_symbol(api_changes.ApiChangeKind.METHOD)

_TRANSFORMS = frozenset({".fft", ".ifft", ".rfft", ".irfft"})
"""Methods that take a number of dimensions first, where the functions of other libraries take an array."""
_NAMING = frozenset({".refine_names", ".align_to"})
"""Methods that take the names of dimensions, where those of other libraries take objects."""
_OF_MATRICES = frozenset({".cholesky", ".triangular_solve"})
"""Methods that beside tensors only other matrices have; functions of these names take the matrix first."""
_OTHER_MATRICES = (b"gpytorch", b"linear_operator", b"sympy", b"sage.", b"jax", b"cupy", b"tensorflow")
_OF_IMAGES = frozenset({"size", "image", "images", "resample", "interpolation"})
"""Arguments of other methods named `resize`, which are in most files that have to do with images."""

rule = Rule(
    code="RM705",
    symbols=tuple(_CHANGES),
    pairs=dict.fromkeys(_CHANGES, ()),
    calls={".resize": Calls(without=_OF_IMAGES)},
    kinds=frozenset({Kind.CALL}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    change = _CHANGES[use.symbol]
    if use.call is None or not _is_of_tensor(use, ctx, change):
        return
    if use.symbol in _OF_MATRICES and not is_tensor(use.node.value, use.place, ctx.uses):  # type: ignore[union-attr]
        change = _doubt_owner(change)
    yield from check_change(use, ctx, change)


def _doubt_owner(change: ApiChange) -> ApiChange:
    """Return a change whose recipes are unsafe, because no code shows that the method is one of a tensor."""
    doubt = "no code shows that this is a tensor"
    recipes = (
        replace(one, unsafe=f"{one.unsafe}, and {doubt}" if one.unsafe else doubt) for one in change.recipes
    )
    return replace(change, recipes=tuple(recipes))


def _is_of_tensor(use: Use, ctx: Context, change: ApiChange) -> bool:
    """Return whether a method is one of a tensor: it is called on one, or nothing else has it or takes such arguments."""
    assert use.call is not None
    if change.common and b"tensordict" in ctx.source.text.lower():
        return False  # `torch.stack` gives a TensorDict for some, which has the names of dimensions as well
    if is_tensor(use.node.value, use.place, ctx.uses):  # type: ignore[union-attr]
        return True
    if use.symbol == ".lu_solve":
        return isinstance(use.node.value, ast.Call) and isinstance(use.node.value.func, ast.Attribute)  # type: ignore[union-attr]
    if use.symbol in _OF_MATRICES:
        others = any(name in ctx.source.text for name in _OTHER_MATRICES)
        takes_same = not others and _takes_arguments_of_tensor(use.call, change)
        return takes_same and not is_defined_in_project(use, ctx)
    if use.symbol in _NAMING:
        return all(_is_dimension_name(argument) for argument in use.call.args)
    if use.symbol in _TRANSFORMS:
        return bool(use.call.args) and isinstance(use.call.args[0], ast.Constant)
    return not change.common and not is_defined_in_project(use, ctx)


def _is_dimension_name(argument: ast.expr) -> bool:
    """Return whether an argument is the name of a dimension, or stands for several."""
    return isinstance(argument, ast.Constant) and (argument.value is ... or isinstance(argument.value, str))


def _takes_arguments_of_tensor(call: ast.Call, change: ApiChange) -> bool:
    """Return whether a call has the arguments of the method, where a function of the same name has the matrix as well."""
    taken = sum(not isinstance(argument, ast.Constant) for argument in call.args)
    return taken == int(".triangular_solve" in change.symbols)
