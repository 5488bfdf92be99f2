"""`torch.jit.script` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.compile` or `torch.export`" (a FutureWarning, shown by default,
from 2.14), and on Python 3.14 it "is not supported and may break".

On a function, use `torch.compile`; with `script-replacement = "eager"` the fix only removes the decorator.

    @torch.jit.script
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor
    →
    @torch.compile
    def f(x, k=2.0):
        # type: (Tensor, float) -> Tensor

Export a module with example inputs if it is saved or deployed, and compile it in place if it should only run faster:

    m = torch.jit.script(model)
    →
    exported = torch.export.export(model, (x,)); torch.export.save(exported, "m.pt2")
    model.compile()

Fix safety: unsafe.
- A model that calls a compiled function can no longer be given to `torch.jit.trace`, to `torch.fx.symbolic_trace`, or to
  `torch.onnx.export(..., dynamo=False)`: they raise RuntimeError. Where one of these may reach the function, through calls,
  attributes, or as what others hand on, the fix removes the decorator instead. There is then no fix for a function with loops or branches that depend on values, or that makes numbers
  of tensors (`int(x)`, `x.item()`, `torch.tensor([h, w])`), which a trace would freeze (with a TracerWarning), unless
  `script-replacement = "eager"` asks for it. A library whose users may trace should set that too.
- Compiled code rejects second derivatives, batched gradients and forward mode (`create_graph=True`, `gradgradcheck`,
  `is_grads_batched=True`, `jacobian(..., vectorize=True)`, `make_dual`): functions and modules that one of these may reach
  stay plain. A library whose users take such derivatives should set `script-replacement = "eager"`.
- The first call compiles, which takes seconds and needs a C++ compiler or Triton, and so does a call with new sizes. A small
  function can become slower.
- Results may differ in the last bits; random numbers (dropout, rand) differ for the same seed.
- Where the project replaces `torch.jit.script` by a function that returns its argument (`torch.jit.script = lambda f: f`),
  functions stay plain; with any other replacement there is no fix.
- A function whose sizes change from call to call (loops without a fixed number of iterations, masks, `nonzero`), or a small
  one whose comments argue about compiling, stays as it is, and the title of the fix says why. There is no fix where the
  project chooses `torch.compile` itself, or comments argue about compiling a larger function.
- TorchScript differs from Python: a size is a list, so that `x.shape + [1]` and `x.shape == [2, 3]` have other results, and
  list and dict arguments are copied. There is no fix where a visible body depends on that, except for sums, which become
  `list(x.shape) + [1]`, for `x %= y` of a tensor, which becomes `x.fmod_(y)`, and for operators as
  methods that only TorchScript has, `x.zeros_like()`, with the same result in both. What depends on values stays: TorchScript converts an int argument to
  the annotated float, and divides by 0.0.
- Only a ScriptFunction has `.graph`, `.code` and `.save`. There is no fix where a function is saved, compared, registered, or
  passed to what may check its type, here or in another file; nor for calls whose result nothing uses, and for tests of
  TorchScript: remove these together with it.
- Where a module is saved, the inputs of its export are those of a call in the same scope (of the module, an ONNX export, a
  trace), those that its class keeps (`example_input_array`, `get_dummy_inputs()`), zeros with the sizes of a call elsewhere
  in the project, or zeros that fit the first layer. Else the hint is the export to complete.
- A module that is kept, passed on or chosen by an option (`if args.jit: model = torch.jit.script(model)`) is compiled in
  place, `model.compile()`: its attributes, its pickles and the keys of its state_dict stay the same. All variables and
  attributes that keep it are followed. There is no fix where one of them is asked for what only a ScriptModule has, traced,
  replicated (`DataParallel`), converted (for example to Core ML) or put into a container, where something catches exceptions
  that scripting raises, and where users can save what a function returns (unless `keep-torchscript-support = false`).
- Where only the plain module or function would be left, there is no fix for a variable that is named after the script, for
  one that a test holds beside the original, and below an option, which would no longer do anything.
- Python newer than torch supports (3.14 before torch 2.10) fails at the decorator.
- Export fixes sizes and rejects control flow on values: see `torchmigrate explain TS102`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/,
https://docs.pytorch.org/docs/stable/generated/torch.compile.html; torch 2.10 wheel: torch/jit/_script.py,
torch/_dynamo/eval_frame.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.semantics.call_arguments import find_argument

from ._authoring import call_purpose
from ._authoring.torchscript_makers import SCRIPTS, TRACES_ASKS
from ._export import chain_fixes
from ._export.expression_kinds import find_kind
from ._script import function_escapes, function_fixes, plain_bodies, script_patches, traced_code
from ._script.dead_fallbacks import remove_dead_branch

rule = Rule(
    code="TS101",
    symbols=SCRIPTS,
    message="`{symbol}` has been deprecated since torch {deprecated}; use `torch.compile` for a function, "
    "`torch.export.export` for a module that is saved or deployed",
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=(*chain_fixes.ASKS, *TRACES_ASKS, *function_escapes.ASKS, *plain_bodies.ASKS),
    recipe="change what the reason names, then fix again; `torchmigrate explain TS101` lists the differences",
)

rule.note(chain_fixes.collect_notes)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind in (Kind.DECORATOR, Kind.CALL, Kind.REFERENCE):
        hint = chain_fixes.find_stub_hint(use, ctx)
        if hint is None and (place := traced_code.find_trace_of(use.decorated, ctx)):
            hint = f"{place} runs a trace, which rejects compiled functions"
        yield ctx.finding(use, fix=lambda: _create_fix(use, ctx), hint=hint)
    else:
        yield ctx.finding(use)


def _create_fix(use: Use, ctx: Context) -> Fix:
    place = script_patches.find_patch(ctx)
    if place is None and (use.decorated is None and use.call is None):
        place = script_patches.find_no_op(ctx)  # a reference may keep the original, to restore it
    if place is not None:
        raise NoFix(f"{place} replaces `torch.jit.script`, which would no longer affect this code")
    if dead := remove_dead_branch(use, ctx):
        return dead
    call_purpose.check_purpose(use, ctx)
    if use.decorated is not None:
        return function_fixes.fix_decorated(use, ctx)
    if use.call is None:
        return function_fixes.fix_referenced(use, ctx)
    given = find_argument(use.call, 0, "obj")
    kind = find_kind(given, use, ctx) if given is not None else None
    if given is not None and kind in ("function", "class"):
        return function_fixes.fix_called(use, use.call, given, kind, ctx)
    if kind is None and (line := traced_code.find_tracing_test(None, ctx)):
        raise NoFix(
            f"line {line} checks whether the code is being traced, and a trace rejects compiled functions"
        )
    if given is not None:
        plain_bodies.check_module(given, use, ctx)
    return chain_fixes.create_chain_fix(use, ctx)
