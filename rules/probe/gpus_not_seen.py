"""torch sees no GPU, or fewer than the machine has.

Why: In the end only `torch.cuda.is_available()` counts: a driver that is new enough and a build with the right
kernels do not help if a library, a device file or a setting is wrong. The number of devices is compared with
the machine's GPUs and with `CUDA_VISIBLE_DEVICES` and its equivalents. This finding appears only where no other
finding explains the cause.

What to do: Run the command in the hint: it raises an exception that names the cause. Of a GPU in MIG mode,
programs see only its instances, so create one. A GPU that is missing from the list may have failed: look into
the kernel's log.

Source: `torch.cuda.is_available` and `torch.cuda.device_count` in the judged interpreter, as
`torchmigrate/probe/snippets/imported.py` asks for them;
https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT034")
