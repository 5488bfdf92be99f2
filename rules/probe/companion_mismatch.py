"""torchvision, torchaudio, triton or another package was built for another torch, or numpy is too new for torch.

Why: torchvision and torchaudio are compiled against one torch, and each release pins it. torch in turn pins
triton, and a package may refuse a torch in its metadata (`Requires-Dist: torch==2.4.0`). Installing with
`--no-deps`, or installing torch alone from another index, separates them. torch before 2.3 (on Windows, before 2.4)
was compiled for NumPy 1, and `Tensor.numpy()` fails with NumPy 2.

What to do: Install the release for the installed torch: the hint is the command.

Source: the requirements in the wheels' metadata on the package index,
`torchmigrate/tables/data/companions.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT008")
