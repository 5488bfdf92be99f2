"""Whether C++ code receives ScriptModules from Python, which then have to stay ScriptModules."""

from __future__ import annotations

from torchmigrate.api import Context, NoFix

_ATTRIBUTE = r"\battr\(\s*\"_c\"\s*\)"
_CAST = r"\bcast\s*<\s*(?:const\s+)?torch::jit::(?:script::)?(?:Module|Function|StrongFunctionPtr)\b"
_CASTS = {" .c .cc .cpp .cxx .h .hh .hpp .cu .cuh ": f"{_ATTRIBUTE}|{_CAST}"}
"""How C++ code takes a ScriptModule, or a ScriptFunction, out of a Python object."""
_SOUGHT: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (('"_c"',), (_ATTRIBUTE,)),
    (("torch::jit",), (_CAST,)),
)


def check_casts(ctx: Context) -> None:
    """Raise NoFix where C++ code receives ScriptModules or ScriptFunctions."""
    looked_into = [
        (ctx.project.get_display_path(path), line)
        for path, line in ctx.project.find_spellings(*_SOUGHT, beside="")
    ]
    for path, line in (
        *looked_into,
        *((path, line) for path, line, _ in ctx.project.search_unread_files(_CASTS)),
    ):
        raise NoFix(f"{path}:{line} takes a TorchScript module from Python")
