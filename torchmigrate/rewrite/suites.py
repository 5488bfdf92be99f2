"""The statements of a libcst suite: removed, unwrapped, decided, inserted, replaced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile

import libcst as cst

from torchmigrate.model.findings import Change, NoFix

from . import changes as say
from .comments import Line, beside, lost, on_lines
from .import_statements import rebound
from .merging import Remarks, marks_of, remarks_of, without_remarks
from .region import Region
from .templates import statements

Lines = list[cst.EmptyLine]

_AROUND = (say.Insert, say.ReplaceStatement, say.Merge)


@dataclass(frozen=True)
class Suites:
    """Changes of statements in one region."""

    region: Region
    is_alone: bool
    """Whether the statements of the region are all of their block, which must not become empty."""
    plans: Mapping[cst.CSTNode, Sequence[Change]]
    """What changes at which node."""
    done: Mapping[cst.CSTNode, cst.CSTNode]
    """What the nodes that were left became."""
    built: Callable[[ast.expr], cst.BaseExpression]
    """Gives the parts of templates."""
    left: dict[cst.If, Lines] = field(default_factory=dict)
    """The comments of each ``elif`` that went without an arm behind it."""

    def block(
        self, original: cst.Module | cst.IndentedBlock, updated: cst.Module | cst.IndentedBlock
    ) -> cst.CSTNode:
        """A block whose statements come and go; ``original`` and ``updated`` have the same ones."""
        is_edge = original is self.region.block
        left = len(original.body) - (is_edge and bool(self.region.behind))
        may_be_empty = is_edge and not self.is_alone
        body: list[Line] = []
        carried: Lines = []
        was_removed = False
        for old, new in zip(_lines(original), _lines(updated), strict=True):
            is_changed = old in self.done
            old, new = self._without_remarks(old, new)
            made, footer = self._statements(old, new) if is_changed else ([new], [])
            if not made and left == 1 and not may_be_empty:
                made = [passing(new)]
            kept = made or new.leading_lines
            gone = lost(old, [*kept, *footer]) if is_changed else []
            if not made:
                carried += [*new.leading_lines, *on_lines(gone), *footer]
                was_removed = True
                left -= 1
                continue
            if gone:
                made[0] = beside(made[0], gone)
            if was_removed:
                above = self.region.gap if is_edge and not body else 0
                leading = without_gap(carried, made[0].leading_lines, above)
                made[0] = made[0].with_changes(leading_lines=leading)
            elif carried:
                made[0] = made[0].with_changes(leading_lines=[*carried, *made[0].leading_lines])
            body += made
            carried, was_removed = footer, False
        carried = without_gap(carried, updated.footer) if was_removed else [*carried, *updated.footer]
        return updated.with_changes(body=body, footer=carried)

    def _statements(self, old: Line, new: Line) -> tuple[list[Line], Lines]:
        """What a statement becomes: any number of statements, and comments that end a block which it was."""
        if isinstance(old, cst.SimpleStatementLine):
            return self._line(old, cst.ensure_type(new, cst.SimpleStatementLine)), []
        for change in self.plans.get(old, ()):
            match change:
                case say.Remove():
                    return [], []
                case say.Unwrap(block=block):
                    first = self.region.statement(block[0])
                    suite = next(n for n in self.region.outwards(first) if isinstance(n, cst.BaseSuite))
                    return self._unwrapped(new, suite)
                case say.Decide(value=value):
                    assert isinstance(old, cst.If)
                    assert isinstance(new, cst.If)
                    arm = decided_arm(new, value, is_elif=False)
                    if isinstance(arm, cst.If):
                        return [arm], self._of_arms(old)
                    chosen = (
                        new.body if value else new.orelse.body if isinstance(new.orelse, cst.Else) else None
                    )
                    return self._unwrapped(new, chosen) if chosen is not None else ([], [])
        return self._around(self.plans.get(old, ()), new), self._of_arms(old)

    def _of_arms(self, chain: cst.CSTNode | None) -> Lines:
        """The comments that stood beside the ends of a chain of ``elif`` that went."""
        found: Lines = []
        while isinstance(chain, cst.If):
            found += self.left.get(chain, [])
            chain = chain.orelse
        return found

    def _unwrapped(self, whole: Line, suite: cst.BaseSuite) -> tuple[list[Line], Lines]:
        done = self.done.get(suite, suite)
        assert isinstance(done, cst.BaseSuite)
        lines, footer = lines_of(done)
        if is_pass(lines):
            return [], footer
        header = on_lines(lost(whole, [*whole.leading_lines, *lines, *footer]))
        own = [*dropwhile(lambda line: line.comment is None, lines[0].leading_lines)]
        leading = [*whole.leading_lines, *header, *own]
        lines[0] = lines[0].with_changes(leading_lines=leading)
        # A block that moves changes as a whole.
        return [line.deep_clone() for line in lines], footer

    def _line(self, old: cst.SimpleStatementLine, new: cst.SimpleStatementLine) -> list[Line]:
        """What a line of simple statements becomes."""
        plans = [self.plans.get(small, ()) for small in old.body]
        around = [change for planned in plans for change in planned if isinstance(change, _AROUND)]
        kept = [
            small
            for small, was, planned in zip(new.body, old.body, plans, strict=True)
            if not any(self._removes(change, was) for change in planned)
        ]
        if len(old.body) > 1 and around:
            raise NoFix("the statement shares its line with others")
        if len(kept) < len(old.body) and kept:
            kept[-1] = kept[-1].with_changes(semicolon=new.body[-1].semicolon)
            new = new.with_changes(body=kept)
        for small, planned in zip(kept, plans, strict=False):
            for change in planned:
                if isinstance(change, (say.Rebind, say.MoveImport)):
                    return rebound(new, cst.ensure_type(small, cst.ImportFrom), change)
        return self._around(around, new) if kept else []

    def joined(self, old: cst.SimpleStatementSuite, new: cst.SimpleStatementSuite) -> cst.CSTNode:
        """A suite on the line of its header."""
        line = cst.SimpleStatementLine(new.body)
        made = self._line(cst.SimpleStatementLine(old.body), line)
        if made == [line]:
            return new
        if not made:
            return new.with_changes(body=[cst.Pass()])
        if len(made) > 1 or not isinstance(made[0], cst.SimpleStatementLine):
            raise NoFix("the statement shares its line with others")
        return new.with_changes(body=made[0].body)

    def _around(self, changes: Sequence[Change], own: Line) -> list[Line]:
        """A statement with what is inserted around it, or with what takes its place."""
        before, after, made = list[Line](), list[Line](), [own]
        for change in changes:
            match change:
                case say.Insert(after=True):
                    after += self._made(change)
                case say.Insert():
                    before += self._made(change)
                case say.ReplaceStatement() | say.Merge():
                    # What moves between parts of a statement is no anchor: the statement changes as a whole.
                    made = [statement.deep_clone() for statement in self._made(change)]
                    if isinstance(own, cst.SimpleStatementLine) and isinstance(
                        made[-1], cst.SimpleStatementLine
                    ):
                        made[-1] = made[-1].with_changes(trailing_whitespace=own.trailing_whitespace)
        if before or made != [own]:
            made[0] = made[0].with_changes(leading_lines=[])
            first = before[0] if before else made[0]
            first = first.with_changes(leading_lines=[*own.leading_lines, *first.leading_lines])
            if before:
                before[0] = first
            else:
                made[0] = first
        return [*before, *made, *after]

    def _made(self, change: say.Insert | say.ReplaceStatement | say.Merge) -> list[Line]:
        remarks = self._remarks(change) if isinstance(change, say.Merge) else {}
        return statements(change.new, self.built, self.region.unit, remarks)

    def _remarks(self, merge: say.Merge) -> dict[str, Remarks]:
        """What is said about the statements that become one, by the marks of what they become."""
        lines = [self.region.parents[self.region.statement(statement)] for statement in merge.statements]
        return {
            mark: remarks_of(cst.ensure_type(line, cst.SimpleStatementLine), is_first=line is lines[0])
            for line, mark in zip(lines, marks_of(merge), strict=True)
        }

    def _without_remarks(self, old: Line, new: Line) -> tuple[Line, Line]:
        """A line, without the comments that go elsewhere because its statement does."""
        small = old.body[0] if isinstance(old, cst.SimpleStatementLine) else None
        for change in self.plans.get(small, ()) if small is not None else ():
            if isinstance(change, say.Merge):
                is_first = self.region.statement(change.statements[0]) is small
                return without_remarks(old, is_first=is_first), without_remarks(new, is_first=is_first)
        return old, new

    def _removes(self, change: Change, small: cst.BaseSmallStatement) -> bool:
        match change:
            case say.DropImports(statement=statement, aliases=gone):
                return len(gone) == len(statement.names)
            case say.Merge(statements=merged):
                return self.region.statement(merged[-1]) is not small
        return isinstance(change, say.Remove)

    def arm(self, original: cst.If, updated: cst.If) -> cst.CSTNode | None:
        """An ``elif``, decided or not; its comments stay before the arm behind it, or behind the chain."""
        for change in self.plans.get(original, ()):
            if isinstance(change, say.Decide):
                arm = decided_arm(updated, change.value, is_elif=True)
                gone = on_lines(lost(updated, [arm] if arm else []))
                if arm is None:
                    self.left[original] = gone
                    return None
                return arm.with_changes(leading_lines=[*gone, *arm.leading_lines])
        return updated


def passing(line: cst.SimpleStatementLine | cst.BaseCompoundStatement) -> cst.SimpleStatementLine:
    """``pass`` in the place of a statement."""
    trailing = cst.TrailingWhitespace()
    if isinstance(line, cst.SimpleStatementLine):
        trailing = line.trailing_whitespace
    return cst.SimpleStatementLine(
        [cst.Pass()], leading_lines=line.leading_lines, trailing_whitespace=trailing
    )


def without_gap(before: Sequence[cst.EmptyLine], after: Sequence[cst.EmptyLine], above: int = 0) -> Lines:
    """The blank lines and comments around a removed statement; of the two gaps that meet, the longer one stays.

    ``above``: how many blank lines stand before ``before``.
    """
    own = _blanks(before[::-1])
    own += above if own == len(before) else 0
    return [*before, *after[min(own, _blanks(after)) :]]


def _blanks(lines: Sequence[cst.EmptyLine]) -> int:
    return len([*takewhile(lambda line: line.comment is None, lines)])


def lines_of(suite: cst.BaseSuite) -> tuple[list[Line], Lines]:
    """The statements of a suite, each on lines of its own, and the comments that end it."""
    if isinstance(suite, cst.IndentedBlock):
        return _lines(suite), [*suite.footer]
    assert isinstance(suite, cst.SimpleStatementSuite)
    line = cst.SimpleStatementLine(suite.body, trailing_whitespace=suite.trailing_whitespace)
    return [line], []


def _lines(block: cst.Module | cst.IndentedBlock) -> list[Line]:
    return [line for line in block.body if isinstance(line, Line)]


def is_pass(lines: Sequence[Line]) -> bool:
    """Whether statements do nothing but ``pass``."""
    return all(
        isinstance(line, cst.SimpleStatementLine) and all(isinstance(small, cst.Pass) for small in line.body)
        for line in lines
    )


def decided_arm(updated: cst.If, value: bool, *, is_elif: bool) -> cst.If | cst.Else | None:
    """What an ``if`` or ``elif`` becomes that still is one, or an ``else``, or nothing, once its test is known.

    None for an ``if`` means that its statements stand for themselves (see `torchmigrate.rewrite.tree`).
    """
    orelse = updated.orelse
    if value:
        return cst.Else(updated.body, leading_lines=updated.leading_lines) if is_elif else None
    if isinstance(orelse, cst.If) or (is_elif and orelse is not None):
        return orelse.with_changes(leading_lines=[*updated.leading_lines, *orelse.leading_lines])
    return None
