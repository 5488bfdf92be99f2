"""What one proof does: export a module, or compile a function, and compare its results with those of TorchScript."""

from __future__ import annotations

import copy
import sys
import warnings
from typing import Any

from .proof_errors import describe_error
from .signatures import order_names

MOST_PARAMETERS = 1 << 30
"""The most bytes of parameters of a module that is exported."""


class Undecided(Exception):
    """Raised where a proof cannot be tried."""


class Kept:
    """What a proof needs: the plain module or function, what TorchScript made of it, and inputs."""

    def __init__(self, made: Any, result: Any, maker: str) -> None:
        self.made, self.plain, self.result, self.maker = made, made.wraps, result, maker
        self.inputs: list[Any] = []
        self.left_out = ""
        """What a proof would not cover, because it was not kept."""


def list_tensors(value: Any) -> list[Any]:
    """Return the tensors in arguments or results."""
    torch = sys.modules["torch"]
    from torch.utils._pytree import tree_leaves  # type: ignore[attr-defined,unused-ignore]

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def copy_inputs(value: Any) -> Any:
    """Return arguments with copies of their tensors."""
    from torch.utils._pytree import tree_map  # type: ignore[attr-defined,unused-ignore]

    tensor = sys.modules["torch"].Tensor
    return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, tensor) else leaf, value)


def compare_results(kept: Kept) -> int:
    """Return for how many inputs the module or function gives what TorchScript gives. Raise where it does not, or Undecided."""
    torch = sys.modules["torch"]
    if isinstance(kept.plain, torch.nn.Module):
        if sum(one.numel() * one.element_size() for one in kept.plain.parameters()) > MOST_PARAMETERS:
            raise Undecided("the module is too large for a proof")
        new = _export(kept)
    else:
        new = torch.compile(kept.plain, backend="eager")
    for args, kwargs in kept.inputs:
        old = copy_module(kept.result) if isinstance(kept.plain, torch.nn.Module) else kept.result
        try:
            expected = _call(old, args, kwargs)
        except Exception as error:
            raise Undecided("TorchScript itself fails: %s" % describe_error(error)) from None
        found = _call(new, args, kwargs)
        torch.testing.assert_close(found, expected, equal_nan=True)
    if kept.left_out:
        raise Undecided(kept.left_out)
    return len(kept.inputs)


def ignores_mode(kept: Kept) -> bool:
    """Return whether the module gives the same results in training and in eval mode, and changes nothing in itself."""
    torch, plain = sys.modules["torch"], kept.plain
    if not isinstance(plain, torch.nn.Module):
        return False
    asking = (torch.nn.modules.dropout._DropoutNd, torch.nn.modules.batchnorm._NormBase)
    if any(isinstance(one, asking) for one in plain.modules()):
        return False  # whatever becomes of these inputs
    try:
        for args, kwargs in kept.inputs:
            modules = [copy_module(plain).train(mode) for mode in (True, False)]
            torch.testing.assert_close(
                *(_call(one, args, kwargs) for one in modules), rtol=0, atol=0, equal_nan=True
            )
            for one in modules:
                torch.testing.assert_close(
                    one.state_dict(), plain.state_dict(), rtol=0, atol=0, equal_nan=True
                )
    except Exception:
        return False
    return True


def _call(function: Any, args: Any, kwargs: Any) -> Any:
    """Call a function with copies of inputs, and with the random numbers that it would get any other time."""
    torch = sys.modules["torch"]
    torch.manual_seed(0)
    with torch.no_grad():
        return function(*copy_inputs(args), **copy_inputs(kwargs))


def _export(kept: Kept) -> Any:
    """Export a copy of the module as the fixes do: with all sizes free, and no example of a batch of a single row."""
    torch = sys.modules["torch"]
    from torch.utils._pytree import tree_map  # type: ignore[attr-defined,unused-ignore]

    dim = getattr(torch.export.Dim, "AUTO", None)
    if dim is None:
        raise Undecided("this torch has no `torch.export.Dim.AUTO`")
    args, kwargs = max(kept.inputs, key=lambda one: sum(leaf.numel() for leaf in list_tensors(one)))
    if list_tensors((args, kwargs)) == []:
        raise Undecided("no input is a tensor")
    varies = _vary_first_sizes(kept.inputs)

    def double(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            if type(leaf) not in (bool, int):
                raise Undecided("an input is of the type %s" % type(leaf).__name__)
            return leaf
        return leaf.repeat_interleave(2, 0) if leaf.shape[:1] == (1,) and not varies else leaf

    def free(leaf: Any) -> Any:
        return [dim] * leaf.ndim if isinstance(leaf, torch.Tensor) else None

    def export(rows: Any, named: Any) -> Any:
        shapes = (*tree_map(free, rows), *tree_map(free, named).values())
        plain = copy_module(kept.plain)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program = torch.export.export(plain, rows, named or None, dynamic_shapes=shapes, strict=False)
        lost = [str(one.message) for one in caught if "assigned during export" in str(one.message)]
        if lost and kept.maker == "script":
            raise ValueError(lost[0])  # a script keeps what it assigns for the next call
        return program.module()

    given = args, order_names(kwargs, kept.plain)
    try:
        return export(*tree_map(double, given))
    except Undecided:
        raise
    except Exception:
        if varies or all(leaf.shape[:1] != (1,) for leaf in list_tensors(given)):
            raise
        export(*given)
        raise Undecided("it exports, but only with the single rows of the recorded inputs") from None


def _vary_first_sizes(inputs: Any) -> bool:
    """Return whether the first size of a tensor varies: then one that is always 1 is not the number of rows."""
    firsts = [[leaf.shape[:1] for leaf in list_tensors(one)] for one in inputs]
    return any(len(set(of_tensor)) > 1 for of_tensor in zip(*firsts))


def copy_module(module: Any) -> Any:
    """Return a copy of a module. Raise Undecided where it keeps what cannot be copied, such as a result of its own."""
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise Undecided("the module cannot be copied: %s" % type(error).__name__) from None
