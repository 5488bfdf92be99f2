"""Whether C++ code receives ScriptModules from Python, which then have to stay ScriptModules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchmigrate.api import NoFix

if TYPE_CHECKING:
    from torchmigrate.api import Context

_ATTRIBUTE = r"\battr\(\s*\"_c\"\s*\)"
_CAST = r"\bcast\s*<\s*(?:const\s+)?torch::jit::(?:script::)?(?:Module|Function|StrongFunctionPtr)\b"
_CASTS = {" .c .cc .cpp .cxx .h .hh .hpp .cu .cuh ": f"{_ATTRIBUTE}|{_CAST}"}
"""How C++ code takes a ScriptModule, or a ScriptFunction, out of a Python object."""
_SOUGHT: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (('"_c"',), (_ATTRIBUTE,)),
    (("torch::jit",), (_CAST,)),
)


def check(ctx: Context) -> None:
    """Raise NoFix where C++ code receives ScriptModules or ScriptFunctions."""
    looked_into = [
        (ctx.project.shown(path), line) for path, line in ctx.project.spelling(*_SOUGHT, beside="")
    ]
    for path, line in (*looked_into, *((path, line) for path, line, _ in ctx.project.elsewhere(_CASTS))):
        raise NoFix(f"{path}:{line} takes a TorchScript module from Python")
