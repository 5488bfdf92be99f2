"""The edits that turn a chain into `torch.compile`, or into nothing but the module itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Safety
from torchmigrate.model.findings import Edit, Span
from torchmigrate.rewrite import calls
from torchmigrate.rewrite.blocks import Blocks

from .chain import Chain, Withheld

if TYPE_CHECKING:
    from torchmigrate.api import Use


class Rewriting:
    """Collects the edits of one chain. Raises `Withheld` where something would be lost."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.ctx = chain.ctx
        self.source = chain.ctx.source
        self.edits: list[Edit] = []

    def compiled(self, model: ast.expr, because: str = "it is saved") -> Fix:
        """``script(model)`` → ``torch.compile(model)``."""
        self._check_compiled(because)
        gone = [node for node in calls.arguments(self.chain.call) if calls.value(node) is not model]
        self.wrappers_removed()
        self.rename(self.chain.use, "torch.compile")
        for keyword in self.chain.call.keywords:
            if keyword.value is model:
                self.rename_keyword(keyword, "model")
        for edit in calls.without(self.source, self.chain.call, gone):
            self.delete(edit.start, edit.end)
        return Fix(tuple(self.edits), Safety.UNSAFE, "Use `torch.compile`")

    def eager(self, model: ast.expr) -> Fix:
        """``script(model)`` → ``model``."""
        self._check_compiled("it is saved")
        self.wrappers_removed()
        self.taken_off(self.chain.call, model)
        return Fix(tuple(self.edits), Safety.UNSAFE, "Use the module as it is")

    def _check_compiled(self, because: str) -> None:
        if self.chain.saves:
            raise Withheld(f"{because}, and a compiled module cannot be saved")
        if self.chain.keys_matter:
            raise Withheld(
                "the state_dict of a compiled module has other keys; use `model.compile()` by hand"
            )

    def wrappers_removed(self) -> None:
        """Takes `freeze(…)` and its like off what they are given."""
        for place, call in self.chain.wrappers:
            statement = self.chain.flow.parents[call]
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if isinstance(place, ast.Name) and isinstance(target, ast.Name) and target.id == place.id:
                assert isinstance(statement, ast.stmt)
                self.remove(statement)
            else:
                self.taken_off(call, place)

    def modes_removed(self) -> None:
        """Takes `.eval()` and `.train()` away, which an exported module refuses."""
        for place, call in self.chain.modes:
            statement = self.chain.flow.parents[call]
            if isinstance(statement, ast.Expr) and isinstance(place, ast.Name):
                self.remove(statement)
            else:
                self.delete(calls.outer(self.source, place).end, self.source.span(call).end)

    def taken_off(self, call: ast.Call, inner: ast.expr) -> None:
        """Leaves of a call one of its arguments."""
        for edit in self.ctx.reduced(call, inner, calls.opening(self.source, call)):
            self.delete(edit.start, edit.end, edit.text)

    def remove(self, statement: ast.stmt) -> None:
        """Removes a statement."""
        place = next(p for p in self.ctx.uses.scopes.places if p.statement is statement)
        edits = Blocks(self.source).removed(place)
        if isinstance(edits, str):
            raise Withheld(edits)
        self.edits += edits

    def spell(self, name: str) -> str:
        """How a qualified name is written here."""
        spelling = self.ctx.imports.spell(name, self.chain.use)
        if spelling is None:
            raise Withheld(f"`{name}` cannot be named here without clobbering a name")
        self.edits += [edit for edit in spelling.edits if edit not in self.edits]
        return spelling.text

    def rename(self, use: Use, name: str) -> None:
        """Puts another function in the place of the one that ``use`` names."""
        self.edits.append(self.ctx.replace(use.node, self.spell(name)))

    def rename_keyword(self, keyword: ast.keyword, name: str) -> None:
        """Gives a keyword argument another name."""
        start = self.source.span(keyword).start
        self.edits.append(Edit(start, start + len((keyword.arg or "").encode()), name))

    def wrap(self, span: Span, before: str, after: str) -> None:
        """Puts text around a span."""
        self.insert(span.start, before)
        self.insert(span.end, after)

    def insert(self, at: int, text: str) -> None:
        """Puts text at an offset."""
        self.edits.append(Edit(at, at, text))

    def delete(self, start: int, end: int, text: str = "") -> None:
        """Puts ``text`` in the place of what lies between two offsets, if no comment does."""
        if b"#" in self.source.text[start:end]:
            raise Withheld("a comment stands in the part that would go")
        self.edits.append(Edit(start, end, text))
