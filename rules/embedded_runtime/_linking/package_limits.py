"""What a C++ program asks of a TorchScript module that an AOTInductor package cannot do, and what to do instead."""

from __future__ import annotations

from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

_LIMITS = (
    (
        ("backward", "grad"),
        "packages give no gradients",
        "compute what needs them inside of the exported program: trace the function that calls `torch.autograd.grad` with "
        "`torch.fx.experimental.proxy_tensor.make_fx`, and export what it returns",
    ),
    (
        ("get_method", "find_method", "run_method", "get_methods"),
        "packages have no methods",
        "export each method as a model of its own, write them with `torch._inductor.package.package_aoti(path, {name: files})`, "
        "and give the name to the loader",
    ),
    (
        ("attr", "setattr", "hasattr", "named_attributes"),
        "packages have no attributes",
        'write constants as texts with `inductor_configs={"aot_inductor.metadata": {…}}`, which `get_metadata` returns; '
        "return tensors from `forward`",
    ),
)
"""The methods of a module, why a package lacks them, and what to do."""

_NO_EXTRA_FILES = (
    "packages have no extra files, which this call asks for",
    'write them as texts with `inductor_configs={"aot_inductor.metadata": {…}}`, which `get_metadata` returns',
)
_WITH_EXTRA_FILES = 3
"""The number of arguments of a load that asks for extra files, too."""

HOLDS_VALUES = (
    "this file seems to hold values and no model, since nothing here calls `forward`",
    "write the values with `torch.save` as a dict of tensors, and read them with `torch::pickle_load`",
)


def describe_limits(use: ForeignUse, ctx: ForeignContext) -> tuple[str, str]:
    """Return what stands in the way of a package, and what to do about it; both empty if nothing in the file does.

    ``use`` is a load, or another use of the module in a file.
    """
    called = dict(ctx.methods)
    if "attr" in called and b"pybind11" in ctx.source.text:  # whose objects have `attr`, too
        called.pop("attr", None)
    if "attr" in called and not called.keys() & {"forward", "run_method", "get_method", "operator"}:
        return HOLDS_VALUES
    reasons: dict[str, str] = {}
    for names, lack, advice in _LIMITS:
        for name in names:
            if name in called:
                line = ctx.source.line_of(called[name].start)
                reasons.setdefault(advice, f"{lack}, but line {line} calls `{name}`")
    if use.arguments >= _WITH_EXTRA_FILES and use.name.endswith("::load"):
        lack, advice = _NO_EXTRA_FILES
        reasons[advice] = lack
    return "; ".join(reasons.values()), "; ".join(reasons)
