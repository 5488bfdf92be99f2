"""A feature of the target version needs more than this machine has, or the verdict is unclear.

Why: Some features of newer torch need a newer system: `torch.cond` inside a CUDA graph needs CUDA 12.4, Metal 4
shaders need macOS 26, expandable segments need ROCm 7.0.2, and 2:4 sparsity with FP8 on gfx950 needs ROCm 7.12.
For some GPUs the tables do not tell which build runs, and for some project files it is unclear which build they
install.

What to do: Nothing, unless you need the feature.

Source: PyTorch 2.12 release blog (https://pytorch.org/blog/)
"""

from torchmigrate.api import Rule

rule = Rule(code="RT031")
