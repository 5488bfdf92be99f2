"""The content of a file that `torch.load` reads, as the uses of the result show it."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(slots=True)
class LoadedContent:
    """What the uses of a loaded value show."""

    state: ast.AST | None = None
    """The first use that shows that it is a state dict, or tensors."""
    part_state: ast.AST | None = None
    """The first use that shows such a part of it."""
    object_use: ast.expr | None = None
    """The first use that only an object can have, neither a tensor nor a plain container or value."""
    is_model: bool = False
    """Whether that use is of the whole, such as ``torch.load(path).eval()``."""
    is_tested: bool = False
    """Whether the code asks what it is."""
    escapes: bool = False
    """Whether it goes where it is not followed."""
    is_named: bool = False
    """Whether a name says that it is a state dict, or tensors."""
    is_model_named: bool = False
    """Whether a name says that it is an object."""
    has_namespace: bool = False
    """Whether a function takes a part that by its key is parsed arguments: ``Net(checkpoint["args"])``."""
    has_sections: bool = False
    """Whether it is read with keys that no state dict has, such as ``checkpoint["epoch"]``."""

    @property
    def is_state(self) -> bool:
        """Whether everything that happens to it happens to state dicts and tensors."""
        return self.object_use is None and (
            self.state is not None or (self.is_named and not self.has_sections)
        )
