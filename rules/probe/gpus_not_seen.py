"""torch sees no GPU, or another number of them than the machine has.

Why: `torch.cuda.is_available()` is what counts in the end: a driver that is new enough and a build with the right
code are not enough where a library, a device file or a setting is in the way. The number of devices is compared
with the machine's GPUs and with `CUDA_VISIBLE_DEVICES` and its like. This finding is given where no other one
says why.

What to do: Run the command in the hint: it raises, and the exception names the cause. Of a GPU in MIG mode
programs see instances, and none where none was made. A GPU that is missing from the list may have fallen off the
bus: the kernel's log says so.

Source: `torch.cuda.is_available` and `torch.cuda.device_count` in the judged interpreter, as
`torchmigrate/probe/snippets/imported.py` asks for them; https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from torchmigrate.api import Rule

rule = Rule(code="RT034")
