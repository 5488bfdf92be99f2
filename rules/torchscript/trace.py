"""`torch.jit.trace` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.compile` or `torch.export`".

    traced = torch.jit.trace(model, x)
    y = traced(x)
    traced.save("m.pt")
    →
    traced = torch.export.export(model, (x,), dynamic_shapes=([torch.export.Dim.AUTO] * x.ndim,))
    y = traced.module()(x)
    torch.export.save(traced, "m.pt2")

Fix safety: unsafe.
- The fix frees all sizes (`Dim.AUTO`), and the model fixes some again: the channels of a convolution, the length of a
  sequence in a recurrent layer. Other sizes there raise "Guard failed". A size of 1 in an example always stays, so that an
  example of one row gets a second one where the program is saved, or called with other numbers of rows. There is no fix
  where a call passes another number of inputs, or passes them by name. `Dim.DYNAMIC` instead raises where a size is fixed.
- Before torch 2.6, which has no `Dim.AUTO`, the number of rows of a single input varies: `{0: torch.export.Dim("batch")}`.
- Export rejects what a trace silently freezes: `if` on a tensor's value, `.item()`, slices of data-dependent length. Run the
  export once: the error names the line. Use `torch.cond`, `torch.where`, `strict=True`, or `torch.compile` without export.
  There is no fix where the class of the module, in the same file, does such a thing, or where the module is quantized with
  packed weights (`convert`, `quantize_dynamic`).
- Export accepts only an `nn.Module`: a function that is saved becomes the `forward` of one, and the tensors that it uses become
  constants, as in a trace. One that is only called gets `torch.compile`.
- An ExportedProgram has no `.eval()`, `.to()`, `.save()`, `.graph_for()`; its `.module()` raises on `.eval()` and `.train()`.
  Put the model in the right mode before the export.
- Calls must pass positional and keyword arguments as the example does. Outputs keep their Python types: a named tuple stays
  one, where a trace returns a plain tuple.
- Where the result is saved, all loads of the file change together with it: see `torchmigrate explain TS112`.
- Existing `.pt` files, and C++ or Java code that reads them, do not change: see `torchmigrate explain TS111`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/export.html;
torch 2.10 wheel: torch/jit/_trace.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Safety, Use

from ._authoring.torchscript_makers import TRACES
from ._export.chain_fixes import ASKS, collect_notes, create_chain_fix

rule = Rule(
    code="TS102",
    symbols=TRACES,
    message="`{symbol}` has been deprecated since torch {deprecated}; use `torch.export.export(module, (inputs,))`, with "
    "`dynamic_shapes` for the sizes that vary, and call its `.module()`",
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
)
rule.note(collect_notes)

_HINT = (
    "run the export once: its errors name the line; `torchmigrate explain TS102` lists what to do about each"
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: create_chain_fix(use, ctx), hint=_HINT)
