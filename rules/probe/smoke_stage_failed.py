"""A stage of the smoke run failed.

Why: `--smoke` runs torch: import, device, allocation, a kernel, matrix products, `linalg.eigh`, a CUDA graph,
`torch.cond` in a graph, a process group, nccl2, `torch.compile`. Each stage has a time limit. The first failure
ends the run, because after a device error all later results would reflect that error.

What to do: The message names the cause if it is a known one, and the hint is that of the finding about the
cause.

Source: the stage's own exception; the stages are in `torchmigrate/probe/snippets/smoke.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT040")
