"""A compiled extension needs the CUDA runtime of another major version.

Why: An extension is bound to the CUDA runtime that it was built with: `libcudart.so.12` is not
`libcudart.so.13`, and torch provides only its own. Importing the extension fails with `libcudart.so.12: cannot
open shared object file`.

What to do: Bring both to one CUDA major version: install torch for the extension's CUDA, where such a build was
published and runs here (the hint), or reinstall the extension in a build for torch's CUDA.

Source: the libraries' own lists of needed libraries (DT_NEEDED);
https://github.com/vllm-project/vllm/issues/31018.
"""

from torchmigrate.api import Rule

rule = Rule(code="RT007")
