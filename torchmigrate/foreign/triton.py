"""Model configurations for Triton Inference Server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.foreign.lines import without_comments
from torchmigrate.foreign.use import ForeignUse
from torchmigrate.model.findings import Span

_FIELD = r"(?:^|[\s{{,;\"']){name}\s*:\s*(?P<value>[\"'](?P<text>[^\"']*)[\"'])"
_DEFAULT = "model.pt"
"""The file that the backend loads by default.

Source: https://github.com/triton-inference-server/pytorch_backend, README.md.
"""


def read(view: str) -> Iterator[ForeignUse]:
    """Find the platform or backend that runs TorchScript, unless the model file is of another kind."""
    text = without_comments("triton", view)
    named = _field(text, "default_model_filename")
    file = named["text"] if named else _DEFAULT
    if file.endswith((".py", ".pt2")):
        return
    for name, value in (("platform", "pytorch_libtorch"), ("backend", "pytorch")):
        found = _field(text, name)
        if found is not None and found["text"]:
            if found["text"] == value:
                span = Span(text.index(name, found.start()), found.end("value"))
                yield ForeignUse(f'{name}: "{value}"', span, file, calls=True)
            return


def _field(text: str, name: str) -> re.Match[str] | None:
    return re.search(_FIELD.format(name=name), text, re.MULTILINE)
