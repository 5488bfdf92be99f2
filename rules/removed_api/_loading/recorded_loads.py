"""What a recorded run shows about a call of `torch.load`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.record.record_facts import FileLoad
from torchmigrate.rewrite.changes import Symbol

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


@dataclass(frozen=True)
class RecordedLoads:
    """The loads of one call, in all recorded runs."""

    loads: tuple[FileLoad, ...]

    @property
    def number(self) -> int:
        """How often the call has loaded a file."""
        return sum(load.times for load in self.loads)

    @property
    def passes(self) -> bool:
        """Whether `weights_only=True` loads every file."""
        return bool(self.loads) and all(load.weights_only == "passes" for load in self.loads)

    @property
    def fails(self) -> bool:
        """Whether `weights_only=True` rejects a file."""
        return any(load.weights_only == "fails" for load in self.loads)

    @property
    def needed(self) -> tuple[str, ...]:
        """The globals with which all files load, if they are known and were tried."""
        known = all(load.weights_only == "passes" or (load.globals and load.allowed) for load in self.loads)
        names = {name for load in self.loads if load.weights_only == "fails" for name in load.globals}
        return tuple(sorted(names)) if known else ()


def find_recorded_loads(call: ast.Call, ctx: Context) -> RecordedLoads:
    """Return the recorded loads of a call, as far as a record decides about it."""
    found = ctx.recorded.find_own_facts(FileLoad, call)
    return RecordedLoads(tuple(load for load in found if load.package is None))


def write_global(name: str, use: Use, ctx: Context) -> Symbol:
    """Return how to write a class or function that a file needs. Raises NoFix where that is not certain."""
    module, _, leaf = name.rpartition(".")
    if module == "builtins":
        return Symbol(leaf)
    if module != "__main__":
        return ctx.write_symbol(name, use)
    defined = ctx.uses.scopes.by_node[ctx.source.syntax_tree].bindings.get(leaf, [])
    if len(defined) != 1:
        raise NoFix(
            f"the file needs `{leaf}` of the program that wrote it; move the class into a module that both import"
        )
    return Symbol(leaf)
