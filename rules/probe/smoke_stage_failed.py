"""A stage of the smoke run failed.

Why: `--smoke` runs torch: import, device, allocation, a kernel, matrix products, `linalg.eigh`, a CUDA graph,
`torch.cond` in a graph, a process group, nccl2, `torch.compile`. Each stage has a time limit. The first
failure ends the run, since after an error of the device every later answer would be about that error.

What to do: The message names the cause where it is a known one, and the hint is then that of the finding
about the cause.

Source: the stage's own exception; the stages are in `torchmigrate/probe/snippets/smoke.py`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT040")
