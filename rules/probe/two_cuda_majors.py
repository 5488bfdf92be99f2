"""Libraries for two CUDA versions overwrite each other's files.

Why: `nvidia-nccl-cu12` and `nvidia-nccl-cu13` are two packages with the same file,
`nvidia/nccl/lib/libnccl.so.2`. After an upgrade of torch from CUDA 12 to 13 both are installed, and the one
installed last wins: importing torch may then fail with `undefined symbol: ncclCommResume`.

What to do: Uninstall the packages for the other CUDA, and reinstall torch's own, because uninstalling removed
the shared files: the hint is the command.

Source: https://github.com/pytorch/pytorch/issues/186591; the file lists of the nvidia-nccl-cu12 and -cu13
wheels.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT006")
