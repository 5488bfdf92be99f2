"""Everything a rule may ask about the code around a use, and say about it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.model.findings import Change, Edit, Finding, Fix, NoFix, Span
from torchmigrate.model.options import Options
from torchmigrate.model.rule import Rule
from torchmigrate.model.versions import render, severity
from torchmigrate.model.vocabulary import Safety, Severity
from torchmigrate.rewrite.calls import outer, stands_alone
from torchmigrate.rewrite.changes import Rebind, Replace, Symbol, replace
from torchmigrate.rewrite.naming import Naming
from torchmigrate.text.directives import without_directives

if TYPE_CHECKING:
    from torchmigrate.project.project import Project
    from torchmigrate.rewrite.blocks import Blocks
    from torchmigrate.rewrite.concrete import Concrete
    from torchmigrate.semantics.resolve import Resolved
    from torchmigrate.semantics.uses import Use, Uses
    from torchmigrate.text.source import Source

MakeFix = Callable[[], "Fix | str"]
"""Makes a fix, or says in a sentence why there is none. Called only if the versions allow a fix at all."""


_ATOMS = (
    *(ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.JoinedStr),
    *(ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp),
)
_HOLDERS = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.Call, ast.keyword)


@dataclass
class Context:
    """One file, as the rules see it."""

    source: Source
    uses: Uses
    _project: Project
    options: Options
    rule: Rule
    asked_project: bool = False
    """Whether the rule has asked about the project, whatever about."""
    grounded_on_project: bool = False
    """Whether it has asked since a use was given to it: what it says of that one may hold for this project only."""

    @property
    def project(self) -> Project:
        """The facts about all files. They are complete at the latest when the file is looked at again."""
        self.asked_project = self.grounded_on_project = True
        return self._project

    @cached_property
    def naming(self) -> Naming:
        """How names are written in this file."""
        return Naming(self.source, self.uses)

    def symbol(self, name: str, use: Use) -> Symbol:
        """How the qualified ``name`` is written where ``use`` is. Raises NoFix where that would clobber a name."""
        return self.naming.symbol(name, use)

    def renamed(self, use: Use, name: str) -> Replace:
        """Another symbol in the place of the one that ``use`` names. Raises NoFix as `symbol` does."""
        assert isinstance(use.node, ast.expr)
        return replace(use.node, "{symbol}", symbol=self.symbol(name, use))

    def rebound(self, use: Use, name: str) -> Rebind | None:
        """Another symbol under the name that a ``from`` import gives to the one of ``use``; see `Naming.rebind`."""
        return self.naming.rebind(use, name)

    @property
    def imports(self) -> _Imports:
        return _Imports(self)

    @cached_property
    def blocks(self) -> Blocks:
        """Removes statements of this file, and unwraps blocks."""
        from torchmigrate.rewrite.blocks import Blocks

        return Blocks(self.source)

    def resolve(self, node: ast.AST, use: Use) -> Resolved | None:
        """What an expression near ``use`` is, or None."""
        return self.uses.names.resolve(node, use.place.scope)

    def is_named(self, node: ast.AST, use: Use, *names: str) -> bool:
        """Whether an expression near ``use`` certainly is one of the qualified names."""
        resolved = self.resolve(node, use)
        return resolved is not None and resolved.certain and resolved.names[0] in names

    def text(self, node: ast.AST | Span) -> str:
        """The source text of a node."""
        return self.source.segment(node)

    def embedded(self, node: ast.expr, parent: ast.AST, place: ast.AST | None = None) -> str:
        """The text of an expression that is to stand below ``parent``, in parentheses where it may need them.

        ``place`` is the node that it takes the place of; that may be what is called.
        """
        text = self.text(node)
        if isinstance(node, _ATOMS) and not (isinstance(node, ast.Tuple) and not text.startswith("(")):
            return text if stands_alone(text) else f"({text})"
        called = isinstance(parent, ast.Call) and parent.func is place
        safe = isinstance(parent, _HOLDERS) and not called and "\n" not in text and "\r" not in text
        return text if safe else f"({text})"

    def reduced(self, whole: ast.expr, part: ast.expr, start: int = 0) -> list[Edit]:
        """The edits that leave of an expression only a part, in parentheses where it may need them.

        Its own ones, none of which opens before the offset ``start``, stay.
        """
        span, around = outer(self.source, part, start), self.source.span(whole)
        needed = self.embedded(part, self.uses.flow.parents[whole], whole) != self.text(part)
        opens, closes = ("(", ")") if needed and span == self.source.span(part) else ("", "")
        return [Edit(around.start, span.start, opens), Edit(span.end, around.end, closes)]

    def concrete(self, node: ast.stmt) -> Concrete:
        """The libcst tree of the statement ``node``, for rewrites that must keep its formatting."""
        from torchmigrate.rewrite.concrete import Concrete

        return Concrete.of(self.source, node)

    def replace(self, node: ast.AST | Span, text: str) -> Edit:
        """The edit that puts ``text`` in the place of a node."""
        span = node if isinstance(node, Span) else self.source.span(node)
        return Edit(span.start, span.end, text)

    def finding(
        self,
        use: Use,
        message: str | None = None,
        *,
        fix: MakeFix | None = None,
        hint: str | None = None,
        severity: Severity | None = None,
        span: Span | None = None,
    ) -> Finding:
        """A finding of the current rule at a use (or at ``span``).

        ``message`` defaults to the rule's; in both, ``{symbol}`` becomes the qualified name.
        """
        span = span or self.source.span(use.node)
        made = self._fix(use, fix) if fix is not None else None
        return Finding(
            code=self.rule.code,
            message=(message or self.rule.message).replace("{symbol}", use.name),
            severity=severity or self.severity,
            path=self.source.path,
            span=span,
            location=self.source.location(span),
            fix=made if isinstance(made, Fix) else None,
            withheld=made if isinstance(made, str) else None,
            hint=hint,
            source_lines=self.source.lines(span),
        )

    @property
    def severity(self) -> Severity:
        """What the rule's versions mean at the target."""
        rule = self.rule
        return severity(self.options.target, since=rule.since, deprecated=rule.deprecated, breaks=rule.breaks)

    def _fix(self, use: Use, make: MakeFix) -> Fix | str | None:
        if not use.certain:
            return "the name may stand for something else here"
        since = self.rule.since
        if since is not None and since > self.options.minimum:
            return (
                f"the replacement needs torch {render(since)}, and the project supports "
                f"{render(self.options.minimum)}; raise its lower bound, or pass --min-version"
            )
        try:
            made = make()
        except NoFix as none:
            return none.reason
        if isinstance(made, Fix) and made.safety is Safety.MANUAL:
            raise ValueError(f"{self.rule.code}: a fix is safe or unsafe")
        if isinstance(made, Fix) and (comment := self._lost(made)):
            return f"the comment `{comment}` stands in the part that would go"
        if isinstance(made, Fix) and self.grounded_on_project:
            return self._project.judged(made)
        return made

    def _lost(self, fix: Fix) -> str | None:
        """A comment that the fix would remove: only its author can tell what it was about."""
        gone = [
            comment
            for edit in fix.changes
            if isinstance(edit, Edit) and b"#" in self.source.text[edit.start : edit.end]
            for comment in self.blocks.comments(Span(edit.start, edit.end))
            if without_directives(comment)
        ]
        kept = [
            line.strip()
            for edit in fix.changes
            if gone and isinstance(edit, Edit)
            for line in edit.text.splitlines()
        ]
        for comment in gone:
            own = next((line for line in kept if line.endswith(comment)), None)
            if own is None:
                return comment
            kept.remove(own)
        return None


class _Spelling:
    def __init__(self, symbol: Symbol) -> None:
        self.text = symbol.text
        self.edits = symbol.changes


class _Imports:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx

    def spell(self, name: str, use: Use) -> _Spelling | None:
        try:
            return _Spelling(self.ctx.symbol(name, use))
        except NoFix:
            return None

    def rebind(self, use: Use, name: str) -> tuple[Change, ...] | None:
        made = self.ctx.rebound(use, name)
        return None if made is None else (made,)
