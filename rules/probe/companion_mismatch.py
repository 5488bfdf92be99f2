"""torchvision, torchaudio or triton was made for another torch.

Why: torchvision and torchaudio are compiled against one torch, and each release pins it. torch pins triton in
turn. An installation with `--no-deps`, or of torch alone from another index, brings them apart.

What to do: Install the release that goes with the installed torch: the hint is the command.

Source: the requirements in the wheels' metadata on the package index,
`torchmigrate/tables/data/companions.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT008")
