"""Bundled inputs are stored in TorchScript files, for the Lite Interpreter.

Why: the Lite Interpreter has been deprecated since torch 2.10, and `torch.utils.bundled_inputs` accepts scripted modules only.

    augment_model_with_bundled_inputs(scripted, [(x,)])
    scripted._save_for_lite_interpreter("model.ptl")
    →
    exported = torch.export.export(model.eval(), (x,))
    program = to_edge_transform_and_lower(exported).to_executorch()

What to do: use a `BundledProgram`, with which ExecuTorch stores inputs and their expected outputs beside the program.

Source: https://docs.pytorch.org/executorch/stable/bundled-io.html,
https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/utils/bundled_inputs.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="TS173",
    symbols=("torch.utils.bundled_inputs.*",),
    message="`{symbol}` adds inputs to a TorchScript file; use a `BundledProgram` of ExecuTorch",
    deprecated=(2, 10),
    artifact=True,
    recipe="bundle the inputs with a `BundledProgram` of ExecuTorch",
)
