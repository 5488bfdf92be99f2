"""JSON written piece by piece, so that a long list takes no more memory than a short one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO

from torchmigrate.console.terminal import COMMAND

_INDENT = "  "


def dump_json(value: object, out: IO[str], margin: str = "\n") -> None:
    """Write what ``json.dump(value, out, indent=2)`` writes, with iterators accepted as lists."""
    inner = margin + _INDENT
    if isinstance(value, Mapping) and value:
        for number, (key, item) in enumerate(value.items()):
            out.write(f"{'{' if number == 0 else ','}{inner}{_render_scalar(key)}: ")
            dump_json(item, out, inner)
        out.write(f"{margin}}}")
    elif isinstance(value, (list, Iterator)):
        opened = False
        for item in value:
            out.write(f"{',' if opened else '['}{inner}")
            dump_json(item, out, inner)
            opened = True
        out.write(f"{margin}]" if opened else "[]")
    else:
        out.write(_render_scalar(value))


def _render_scalar(value: object) -> str:
    """Return JSON without anything that a CI runner takes for a command; see `torchmigrate.console.terminal.escape_controls`."""
    return COMMAND.sub(r"#\\u0023", json.dumps(value))
