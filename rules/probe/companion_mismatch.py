"""torchvision, torchaudio, triton or another package was made for another torch.

Why: torchvision and torchaudio are compiled against one torch, and each release pins it. torch pins triton in
turn, and a package may refuse a torch in its metadata (`Requires-Dist: torch==2.4.0`). An installation with
`--no-deps`, or of torch alone from another index, brings them apart.

What to do: Install the release that goes with the installed torch: the hint is the command.

Source: the requirements in the wheels' metadata on the package index,
`torchmigrate/tables/data/companions.json`.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT008")
