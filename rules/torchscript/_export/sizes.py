"""The sizes that a project's own code calls a traced module with."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf

from .values import binding_of, shape_of

if TYPE_CHECKING:
    from .chain import Chain


def dynamic_shapes(chain: Chain, inputs: ast.expr | None) -> Template | None:
    """The value of ``dynamic_shapes`` for the sizes that the calls of the result show to vary, or None.

    Raises NoFix where the export could not have them.
    """
    examples = _several(inputs, chain)
    calls = [call for call in chain.called_with() if call is not inputs]
    others = [call.args for call in calls if inputs is None or not _is_whole(call, inputs, chain)]
    checks = argument(chain.call, None, "check_inputs")
    if isinstance(checks, (ast.List, ast.Tuple)):
        others += [_several(element, chain) for element in checks.elts]
    entries = []
    for index, example in enumerate(examples):
        sizes = shape_of(example, chain.use, chain.ctx)
        varying = set()
        for arguments in others:
            if index >= len(arguments) or _is_like(arguments[index], example, chain):
                continue
            given = shape_of(arguments[index], chain.use, chain.ctx)
            if sizes is None or given is None or len(given) != len(sizes):
                raise NoFix(_unknown(arguments[index], chain))
            for d, (a, b) in enumerate(zip(sizes, given, strict=True)):
                if _differ(a, b, chain):
                    varying.add(d)
                elif not _are_equal(a, b, chain):
                    raise NoFix(_unknown(arguments[index], chain))
        if any(_number(sizes[d], chain) == 1 for d in varying if sizes is not None):
            raise NoFix(
                "other sizes are used here, and an example of size 1 would fix it; give it at least 2"
            )
        entries.append(sorted(varying))
    if not any(entries):
        return None
    if chain.ctx.options.minimum < (2, 6):
        raise NoFix("several sizes are used here, and `torch.export.Dim.DYNAMIC` needs torch 2.6")
    shapes = ", ".join(
        "{{" + ", ".join(f"{d}: {{dim}}.DYNAMIC" for d in dims) + "}}" if dims else "None" for dims in entries
    )
    code = f"({shapes},)" if len(entries) == 1 else f"({shapes})"
    return template(code, dim=chain.ctx.symbol("torch.export.Dim", chain.use))


def written(inputs: ast.expr | None, chain: Chain) -> str:
    """The sizes of the inputs as they are written out, ``1x3x8,?``; a question mark for each that is not."""
    return ",".join(_written(tensor, chain) for tensor in _several(inputs, chain))


def given(chain: Chain) -> str:
    """The same for all calls of the chain's result, separated by blanks; a star for a size that varies from call to call."""
    calls = (",".join(_given(tensor, chain) for tensor in call.args) for call in chain.called_with())
    return " ".join(calls)


def differs(example: str, sizes: str) -> bool:
    """Whether a call (of `given`) has or may have other sizes than the example (of `written`), as far as both show them."""
    if not example:
        return False
    pairs = (zip(example.split(","), call.split(","), strict=False) for call in sizes.split())
    return any("?" not in one + other and one != other for pair in pairs for one, other in pair)


def _written(tensor: ast.expr, chain: Chain) -> str:
    sizes = shape_of(tensor, chain.use, chain.ctx)
    numbers = [_number(size, chain) for size in sizes] if sizes is not None else _nested(tensor, chain)
    return "x".join(map(str, numbers)) if numbers and None not in numbers else "?"


def _given(tensor: ast.expr, chain: Chain) -> str:
    """The sizes of an input as `_written` has them, and stars for parameters and what loops count."""
    sizes = shape_of(tensor, chain.use, chain.ctx) or []
    shown = ["*" if _varies(size, chain) else _number(size, chain) for size in sizes]
    return "x".join(map(str, shown)) if "*" in shown and None not in shown else _written(tensor, chain)


def _varies(size: ast.expr, chain: Chain) -> bool:
    if not isinstance(size, ast.Name):
        return False
    return isinstance(binding_of(size, chain.scope, chain.ctx), ast.arg) or _is_counted(size, chain)


def _nested(tensor: ast.expr, chain: Chain) -> list[int | None]:
    """The sizes of ``torch.tensor([[1, 2]])``."""
    if isinstance(tensor, ast.Name):
        found = binding_of(tensor, chain.scope, chain.ctx)
        tensor = found if isinstance(found, ast.expr) else tensor
    if not isinstance(tensor, ast.Call) or not tensor.args or leaf(tensor.func) != "tensor":
        return []
    sizes: list[int | None] = []
    value: ast.expr | None = tensor.args[0]
    while isinstance(value, (ast.List, ast.Tuple)):
        starred = any(isinstance(element, ast.Starred) for element in value.elts)
        sizes.append(None if starred else len(value.elts))
        value = value.elts[0] if value.elts else None
    return sizes


def _several(inputs: ast.expr | None, chain: Chain) -> list[ast.expr]:
    """The positional inputs that an example stands for."""
    if isinstance(inputs, ast.Call) and _is_shown(inputs, chain):
        return inputs.args  # a call of the scripted module, taken for the example
    if isinstance(inputs, ast.Name):
        found = binding_of(inputs, chain.scope, chain.ctx)
        inputs = found if isinstance(found, (ast.Tuple, ast.List)) else inputs
    if isinstance(inputs, (ast.Tuple, ast.List)):
        return inputs.elts
    return [inputs] if inputs is not None else []


def _is_whole(call: ast.Call, inputs: ast.expr, chain: Chain) -> bool:
    """Whether a call is given the example inputs themselves: ``traced(*inputs)``."""
    given = call.args[0] if len(call.args) == 1 else None
    return isinstance(given, ast.Starred) and _is_like(given.value, inputs, chain)


def _unknown(given: ast.expr, chain: Chain) -> str:
    return (
        f"line {given.lineno} calls it with `{chain.ctx.text(given)}`, which may have other sizes than the example: "
        "say in `dynamic_shapes` what varies"
    )


def _is_like(given: ast.expr, example: ast.expr, chain: Chain) -> bool:
    """Whether an input is the example, or made of it by what keeps its sizes."""
    if isinstance(given, ast.Constant):
        return True
    if ast.dump(given) == ast.dump(example) and not isinstance(given, ast.Call):
        return all(
            _bound(one, chain) == _bound(other, chain)
            for one, other in zip(_names(given), _names(example), strict=True)
        )
    if isinstance(given, ast.Starred):
        return _is_like(given.value, example, chain)
    if isinstance(given, (ast.Tuple, ast.List)):
        return len(given.elts) == 1 and _is_like(given.elts[0], example, chain)
    if isinstance(given, ast.IfExp):
        return all(_is_like(part, example, chain) for part in (given.body, given.orelse))
    if isinstance(given, ast.Name):
        found = binding_of(given, chain.scope, chain.ctx)
        return (
            isinstance(found, ast.expr)
            and not isinstance(found, ast.Name)
            and _is_like(found, example, chain)
        )
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        name, owner = given.func.attr, given.func.value
        if name in _KEEPS:
            return _is_like(owner, example, chain)
        return name.endswith("_like") and bool(given.args) and _is_like(given.args[0], example, chain)
    if isinstance(given, ast.BinOp):
        sides = [given.left, given.right]
        others = [side for side in sides if not isinstance(side, ast.Constant)]
        return len(others) == 1 and _is_like(others[0], example, chain)
    return False


_KEEPS = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "int",
        "long",
        "bfloat16",
        "clone",
        "detach",
        "contiguous",
        "requires_grad_",
        "normal_",
        "uniform_",
        "zero_",
        "fill_",
    ]
)
"""Methods that give a tensor of the same sizes."""


def _names(node: ast.expr) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)]


def _bound(name: ast.Name, chain: Chain) -> object:
    """What says whether two reads of a variable see the same value."""
    owner = chain.scope.find(name.id)
    if owner is None:
        return name.id
    return chain.flow.reaching(name.id, owner).reads.get(name, name.id)


def _are_equal(one: ast.expr, other: ast.expr, chain: Chain) -> bool:
    """Whether two sizes are the same for certain: one number, or what has one value."""
    if (number := _number(one, chain)) is not None:
        return number == _number(other, chain)
    if ast.dump(one) != ast.dump(other) or any(isinstance(part, ast.Call) for part in ast.walk(one)):
        return False
    return all(_bound(a, chain) == _bound(b, chain) for a, b in zip(_names(one), _names(other), strict=True))


def _is_shown(call: ast.Call, chain: Chain) -> bool:
    return any(call.func is place for place in chain.modules)


def _number(size: ast.expr, chain: Chain) -> int | None:
    if isinstance(size, ast.Name):
        found = binding_of(size, chain.scope, chain.ctx)
        size = found if isinstance(found, ast.expr) else size
    return size.value if isinstance(size, ast.Constant) and isinstance(size.value, int) else None


def _differ(example: ast.expr, other: ast.expr, chain: Chain) -> bool:
    """Whether two sizes differ for certain: two numbers, or a number and what a loop counts."""
    one, two = _number(example, chain), _number(other, chain)
    if one is not None and two is not None:
        return one != two
    return one is not None and isinstance(other, ast.Name) and _is_counted(other, chain)


def _is_counted(name: ast.Name, chain: Chain) -> bool:
    owner = chain.scope.find(name.id)
    targets = [b.node for b in owner.bindings[name.id]] if owner else []
    return len(targets) == 1 and isinstance(chain.flow.parents.get(targets[0]), (ast.For, ast.AsyncFor))
