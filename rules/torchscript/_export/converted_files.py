"""Exported programs that lie in the tree beside a TorchScript file which the code loads, as a conversion leaves them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import string_value

from .file_links import is_saved
from .path_literals import find_literal

if TYPE_CHECKING:
    import ast

    from torchmigrate.api import Context
    from torchmigrate.semantics.scopes import Scope


def find_converted_file(path: ast.expr | None, name: str | None, scope: Scope, ctx: Context) -> str | None:
    """Return the end of the path, as the code writes it, of the exported program that a load can read instead of a file.

    ``path`` leads to the file, and ``name`` is its name. The program has the same path but for the suffix ``.pt2``. None where
    there is none, and where the project saves the file itself.
    """
    literal = find_literal(path, scope, ctx) if path is not None else None
    parts = getattr(literal, "values", [literal])
    text = string_value(parts[-1]) if parts else None
    if name is None or not text or is_saved(name, ctx):
        return None
    end = os.path.splitext(os.path.normpath(text))[0].lstrip(f".{os.sep}") + ".pt2"
    found = (os.path.abspath(place) for place, _, _ in ctx.search_elsewhere({" .pt2 ": r"\A"}))
    return end if any(place.endswith(os.sep + end) for place in found) else None
