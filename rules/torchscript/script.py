"""`torch.jit.script` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.compile` or `torch.export`" (a FutureWarning, shown by default,
from 2.14), and on Python 3.14 it "is not supported and may break".

On a function, `torch.compile` takes its place; with `script-replacement = "eager"` the decorator goes.

    @torch.jit.script
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor
    →
    @torch.compile
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor

A module is exported with example inputs if it is saved or deployed, and compiled in place if it is only to run faster:

    m = torch.jit.script(model)
    →
    exported = torch.export.export(model, (x,)); torch.export.save(exported, "m.pt2")
    model.compile()

Fix safety: unsafe.
- A model that calls a compiled function can no longer be given to `torch.jit.trace`, to `torch.fx.symbolic_trace`, or to
  `torch.onnx.export(..., dynamo=False)`: they raise RuntimeError. Where the project does one of these, the fix removes
  the decorator instead. A function with loops or branches that depend on values, or that makes numbers of tensors (`int(x)`,
  `x.item()`, `torch.tensor([h, w])`), all of which a trace would freeze (with a TracerWarning), then has no fix unless `script-replacement = "eager"` asks for it. A library whose users may trace
  should set that too.
- Compiled code refuses second derivatives, gradients of a batch at once and forward mode (`create_graph=True`, `gradgradcheck`,
  `is_grads_batched=True`, `jacobian(..., vectorize=True)`, `make_dual`): where a file of the project spells one, functions and
  modules stay plain. A library whose users take them should set `script-replacement = "eager"`.
- The first call compiles (seconds; a C++ compiler or Triton is needed), and again for new sizes; a small function can be
  slower than without.
- Results may differ in the last bits; random numbers (dropout, rand) differ for the same seed.
- Where the project replaces `torch.jit.script` by what leaves functions as they are (`torch.jit.script = lambda f: f`), they
  stay plain; where by anything else, there is no fix.
- A function whose sizes change from call to call (loops without a fixed number of rounds, masks, `nonzero`), or a small one
  whose comments argue about compiling, stays as it is, and the fix says why. Where the project chooses `torch.compile`
  itself, or argues about a larger function, there is no fix.
- TorchScript is not quite Python: to it a size is a list, `x.shape + [1]` and `x.shape == [2, 3]` have other results, and
  it works on copies of list and dict arguments. Where a body in sight does such things there is no fix, but for sums, which
  get a `list(x.shape) + [1]` that both read alike. What depends on values stays: TorchScript converts an int argument to the annotated float, and divides by 0.0.
- `.graph`, `.code` and `.save` exist only on a ScriptFunction; where one is saved, compared, registered, or handed to what
  may see what it is, here or in another file, there is no fix. The same holds for calls whose result nothing uses, and
  for tests of TorchScript, which go with it.
- A module that is kept, passed on or chosen by an option (`if args.jit: model = torch.jit.script(model)`) is compiled in
  place, `model.compile()`: it stays the module that it was, with its attributes, its pickles and the keys of its
  state_dict. It is followed to the variables and attributes that keep it. There is no fix where one of them is asked for what
  only a ScriptModule has, traced, replicated (`DataParallel`), converted (to Core ML, for instance) or put into a container,
  where something catches what scripting raises, and where users can save what a function returns (unless `keep-torchscript-support =
  false`).
- Where the module or function itself would be all that is left, there is no fix for a variable that is named after the
  script, for one that a test holds beside the original, and below an option, which would choose nothing.
- Python newer than torch supports (3.14 before torch 2.10) fails at the decorator.
- Export fixes sizes and refuses control flow on values: see `torchmigrate explain TS102`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/,
https://docs.pytorch.org/docs/stable/generated/torch.compile.html; torch 2.10 wheel: torch/jit/_script.py,
torch/_dynamo/eval_frame.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety
from torchmigrate.semantics.calls import argument

from ._authoring import purpose
from ._authoring.authoring import SCRIPTS, TRACES_ASKS, is_traced, traces
from ._export import fixes
from ._export.values import kind_of
from ._script import bodies, fate, functions, replaced
from ._script.fallbacks import dead_arm

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS101",
    symbols=SCRIPTS,
    message=(
        "`{symbol}` is deprecated since torch {deprecated}; use `torch.compile` for a function, "
        "`torch.export.export` for a module that is saved or deployed"
    ),
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=(*fixes.ASKS, *TRACES_ASKS, *fate.ASKS, *bodies.ASKS),
)

_TRACED = "the project traces (`torch.jit.trace`, `symbolic_trace` or the ONNX exporter): a trace refuses compiled functions"

rule.note(fixes.note)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind in (Kind.DECORATOR, Kind.CALL, Kind.REFERENCE):
        hint = fixes.stub_of(use, ctx) or (_TRACED if traces(ctx) else None)
        yield ctx.finding(use, fix=lambda: _fix(use, ctx), hint=hint)
    else:
        yield ctx.finding(use)


def _fix(use: Use, ctx: Context) -> Fix:
    place = replaced.by_something(ctx)
    if place is None and (use.decorated is None and use.call is None):
        place = replaced.by_nothing(ctx)  # which may keep the old one here, to put it back
    if place is not None:
        raise NoFix(f"{place} replaces `torch.jit.script`, which would no longer reach this code")
    if dead := dead_arm(use, ctx):
        return dead
    purpose.check(use, ctx)
    if use.decorated is not None:
        return functions.decorated(use, ctx)
    if use.call is None:
        return functions.referenced(use, ctx)
    given = argument(use.call, 0, "obj")
    kind = kind_of(given, use, ctx) if given is not None else None
    if given is not None and kind in ("function", "class"):
        return functions.called(use, use.call, given, kind, ctx)
    if kind is None and is_traced(ctx):
        raise NoFix("this file asks whether it is traced, and a trace refuses compiled functions")
    if given is not None:
        bodies.check_module(given, use, ctx)
    return fixes.fix_of(use, ctx)
