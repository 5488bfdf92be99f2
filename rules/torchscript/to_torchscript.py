"""`LightningModule.to_torchscript` and `e3nn.util.jit` script or trace a module.

Why: they call `torch.jit.script` or `torch.jit.trace`, deprecated since torch 2.10.

    m.to_torchscript("m.pt", method="trace", example_inputs=x)
    →
    torch.export.save(torch.export.export(m.eval(), (x,)), "m.pt2")

What to do: export the module by hand, and set its mode, device and gradients as `to_torchscript` does. For the limits on
sizes and control flow, see `torchmigrate explain TS102`. `to_torchscript` is reported in projects that import Lightning, as
other classes may have a method of this name.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/,
https://lightning.ai/docs/pytorch/stable/common/lightning_module.html, https://docs.e3nn.org/en/stable/api/util/jit.html;
torch 2.10 wheel: torch/jit/_script.py, torch/jit/_trace.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.project.text_search import create_import_pattern

from ._authoring.torchscript_makers import E3NN

_MESSAGE = (
    "`{name}` calls `torch.jit.script` or `torch.jit.trace`, deprecated since torch {{deprecated}}; use "
    "`torch.export.export`"
)

rule = Rule(
    code="TS115",
    symbols=(".to_torchscript", *E3NN),
    pairs=dict.fromkeys(E3NN, ()),
    message=_MESSAGE.format(name="to_torchscript"),
    deprecated=(2, 10),
    recipe='`torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")`',
    artifact=True,
)

_LIGHTNING = create_import_pattern("(?:pytorch_)?lightning")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in E3NN:
        if use.kind in (Kind.CALL, Kind.DECORATOR, Kind.REFERENCE):
            yield ctx.finding(use, _MESSAGE.format(name=use.symbol))
    elif ctx.project.find_spellings((("lightning",), (_LIGHTNING,)), beside=""):
        yield ctx.finding(use)
