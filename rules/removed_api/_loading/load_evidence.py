"""What is known about the file that a call of `torch.load` reads, and the `weights_only` that follows from it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix, Safety
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from .content_names import NAMESPACES, names_state
from .content_walk import find_content
from .file_origins import Foreign, Saved, find_foreign, find_saved
from .loaded_content import LoadedContent
from .recorded_loads import RecordedLoads, find_recorded_loads
from .state_owners import takes_own_state

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


@dataclass(frozen=True)
class LoadEvidence:
    """What is known about the file that a call loads."""

    content: LoadedContent
    saved: tuple[ast.Call, Saved] | None
    foreign: Foreign | None
    named: bool
    recorded: RecordedLoads

    @property
    def object_at(self) -> ast.expr | None:
        """The code that shows that the file holds an object: its save, or a use of what is loaded."""
        if self.saved is not None and self.saved[1] is Saved.OBJECT:
            return self.saved[0]
        return self.content.object_use

    @property
    def holds_namespace(self) -> bool:
        """Whether the only object is by its name that of the parsed arguments: ``checkpoint["args"].lr``."""
        shown = self.content.object_use
        nodes = list(ast.walk(shown)) if shown is not None and not self.content.is_model else []
        return (self.content.has_namespace and shown is None) or any(
            string_value(node) in NAMESPACES or last_name(node) in NAMESPACES for node in nodes
        )

    @property
    def is_state(self) -> bool:
        """Whether the file certainly holds a state dict or tensors, or is only used so."""
        if self.saved is not None:
            return self.saved[1] is Saved.STATE
        return self.content.is_state or (self.named and self.object_at is None)

    @property
    def is_plain_checkpoint(self) -> bool:
        """Whether parts are state dicts, and nothing suggests that other parts are objects."""
        content = self.content
        return content.part_state is not None and not content.escapes and not content.is_tested

    def choose_value(self) -> tuple[bool, Safety, str]:
        """Return the argument to pass, with the safety of doing so and the reason. Raises NoFix."""
        if self.recorded.passes:
            number = self.recorded.number
            times = "once" if number == 1 else f"{number:,} times"
            return True, Safety.SAFE, f"recorded runs have loaded every file so, {times}"
        if self.saved is not None and not self.is_state:
            return False, Safety.SAFE, f"line {self.saved[0].lineno} has just saved the file"
        content = self.content
        if self.object_at is not None or (content.is_model_named and not self.is_state):
            if self.foreign is not None:
                raise NoFix(
                    f"`weights_only=False` would let the file, which {self.foreign.value}, run any code; allow its classes with `torch.serialization.safe_globals`"
                )
            return False, Safety.UNSAFE, "unsafe because the file can run any code"
        if content.has_namespace:
            return False, Safety.UNSAFE, "unsafe because the file can run any code"
        if self.is_state or self.foreign is not None or self.is_plain_checkpoint:
            return True, Safety.UNSAFE, "unsafe because it rejects a file with other objects"
        return False, Safety.UNSAFE, "unsafe because the file can run any code"


def collect_evidence(use: Use, call: ast.Call, ctx: Context) -> LoadEvidence:
    """Return what a call, its file and the uses of its result show; ``call`` is that of `functools.partial` where there is one."""
    path = find_argument(call, 0, "f") if use.call else None
    content = find_content(call, use.place.scope, ctx.uses) if use.call else LoadedContent(escapes=True)
    if content.state is not None and takes_own_state(content.state, ctx):
        content = replace(content, state=None, is_named=False, escapes=True)
    return LoadEvidence(
        content,
        find_saved(path, use, ctx),
        find_foreign(path, use, ctx),
        names_state(path),
        find_recorded_loads(call, ctx),
    )
