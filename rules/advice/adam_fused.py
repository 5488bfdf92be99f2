r"""`Adam`, `AdamW` or `SGD` without `fused`, for a model on CUDA.

Why: `fused=True` runs the whole step in a few kernels. The default on CUDA is the `foreach` implementation, which runs kernels
for each operation of the formula, with intermediate results as large as the parameters.

    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    →
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

Reported are optimizers of models that the same function certainly moved before: to CUDA, or, from torch 2.4 on, to a choice between
CUDA and the CPU (`"cuda" if torch.cuda.is_available() else "cpu"`).

Needs: torch 2.0 for Adam and AdamW, 2.3 for SGD, 2.4 on CPUs; all parameters have to be floating-point numbers there when the
optimizer is created.

Brings: fewer kernel launches and less memory in each step. The more small parameters there are, the more of a step's time is saved.

When not: parameters are quantized or complex, SGD gets sparse gradients, or the step has to be differentiable. Files that quantize, compile
the step or leave the optimizer to DeepSpeed, Apex, Horovod or Accelerate are not reported, nor are tests.

Fix safety: unsafe. Results are equal up to rounding, which in half precision happens once per step instead of after each operation.
A checkpoint of the optimizer brings its own choice: after `load_state_dict` of a state that was saved without `fused`, the step
is not fused. Set it in `optimizer.param_groups` then.

Measure: this, and again without `fused`:

    python -m timeit -s "import torch; p = [torch.randn(256, 256, device='cuda', requires_grad=True) for _ in range(200)]" \
        -s "o = torch.optim.AdamW(p, fused=True); [setattr(x, 'grad', torch.randn_like(x)) for x in p]" \
        "o.step(); torch.cuda.synchronize()"

Source: torch 1.13, 2.0, 2.2, 2.3, 2.4 and 2.13 wheels: torch/optim/adam.py, torch/optim/adamw.py, torch/optim/sgd.py,
torch/optim/optimizer.py (`_fused_doc`, `_device_dtype_check_for_fused`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NeedsTorch, Rule, Safety, Use
from torchmigrate.model.torch_versions import Version
from torchmigrate.rewrite.changes import AddArgument, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.cuda_models import find_cuda_models, is_part_of
from ._analyses.optimizer_calls import is_decided

_SYMBOLS = {
    f"torch.optim.{path}{name}": since
    for name, since in (("Adam", (2, 0)), ("AdamW", (2, 0)), ("SGD", (2, 3)))
    for path in ("", f"{name.lower()}.")
}

rule = Rule(
    code="AD906",
    symbols=tuple(_SYMBOLS),
    pairs=dict.fromkeys(_SYMBOLS, ("cuda",)),
    message="the model is on CUDA; with `fused=True`, `{symbol}` runs its step in a few kernels",
    since=(2, 0),
    safety=Safety.UNSAFE,
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_OTHERWISE = re.compile(
    rb"\b(?:import|from)[ \t]+(?:deepspeed|apex|horovod|accelerate|bitsandbytes|colossalai|bagua)\b|load_in_[48]bit|gptq"
    rb"|(?i:quantiz)|\bstep\b[^\n]*torch\.compile|torch\.compile\([^\n]*\.step\b"
)
"""Libraries that compute the step themselves, parameters that are no floating-point numbers, and a compiled step."""
_ON_CPUS_SINCE = (2, 4)
_WITH_CHOICE = (
    "the model is on CUDA or the CPU; with `fused=True`, `{symbol}` runs its step in a few kernels on both"
)
_SPARSE = (("sparse",), (r"sparse\s*=\s*True",))
_COMPLEX = (("Parameter",), (r"Parameter\([^\n]*(?:cfloat|complex|cdouble)",))
_PASSED_ON = frozenset({"list", "tuple", "chain", "filter", "sorted"})
"""Functions that give the parameters that they get, or some of them."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or is_decided(call, use, ctx) or _OTHERWISE.search(ctx.source.text):
        return
    parameters = find_argument(call, 0, "params")
    if parameters is None:
        return
    models = find_cuda_models(use, ctx)
    if _is_of_models(parameters, models.names, use, ctx) and not _has_other_gradients(use, ctx):
        since = _ON_CPUS_SINCE if models.with_choice else _SYMBOLS[use.symbol]
        message = _WITH_CHOICE if models.with_choice else None
        yield from create_advice(use, ctx, message, since=since, fix=lambda: _create_fix(call, since, ctx))


def _create_fix(call: ast.Call, since: Version, ctx: Context) -> Fix:
    if since > ctx.options.minimum:
        raise NeedsTorch(since, ctx.options.minimum)
    change = AddArgument(call, template("True"), keyword="fused")
    return Fix((change,), Safety.UNSAFE, "Add `fused=True`")


def _has_other_gradients(use: Use, ctx: Context) -> bool:
    """Return whether the project has complex parameters, or, for SGD, sparse gradients, which Adam refuses anyway."""
    sought = (_COMPLEX, _SPARSE) if last_name(use.node) == "SGD" else (_COMPLEX,)
    return bool(ctx.project.find_spellings(*sought, beside=""))


def _is_of_models(given: ast.expr, models: frozenset[str], use: Use, ctx: Context) -> bool:
    """Return whether an expression certainly gives parameters of some models, and nothing else."""

    def is_all(parts: list[ast.expr]) -> bool:
        return bool(parts) and all(_is_of_models(part, models, use, ctx) for part in parts)

    match given:
        case ast.Call(func=ast.Attribute(value=model, attr="parameters" | "named_parameters")):
            return is_part_of(model, models)
        case ast.Call(func=function, args=[ast.Lambda() | ast.Constant(), *parts]) if (
            last_name(function) == "filter"
        ):
            return is_all(parts)
        case ast.Call(func=function, args=parts, keywords=[]) if last_name(function) in _PASSED_ON:
            return is_all(parts)
        case ast.ListComp(generators=[first]) | ast.GeneratorExp(generators=[first]):
            return _is_of_models(first.iter, models, use, ctx)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_all([left, right])
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return is_all([part.value if isinstance(part, ast.Starred) else part for part in parts])
        case ast.Dict(keys=keys, values=values):
            named = {ast.unparse(key): value for key, value in zip(keys, values, strict=True) if key}
            return "'params'" in named and _is_of_models(named["'params'"], models, use, ctx)
        case ast.Name():
            made = ctx.uses.data_flow.find_definition(given, use.place.scope)
            return made is not None and _is_of_models(made, models, use, ctx)
    return False
