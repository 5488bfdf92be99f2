"""Changes of the statements in a libcst block: removed, unwrapped, decided, inserted, replaced."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile

import libcst as cst

from torchmigrate.model.findings import FixChange, NoFix

from . import changes as kinds
from .comment_rescue import Line, attach_comments, find_lost_comments, put_on_lines
from .import_edits import move_names
from .merged_comments import StatementComments, collect_comments, iter_placeholders, strip_comments
from .region import Region
from .template_trees import build_statements

Lines = list[cst.EmptyLine]

_AROUND = (kinds.Insert, kinds.ReplaceStatement, kinds.Merge)


@dataclass(frozen=True)
class SuiteEditor:
    """The changes of statements in one region."""

    region: Region
    is_alone: bool
    """Whether the region holds all statements of its block, which must not become empty."""
    plans: Mapping[cst.CSTNode, Sequence[FixChange]]
    """The changes to make at each node."""
    done: Mapping[cst.CSTNode, cst.CSTNode]
    """The result for each node that the walk has left."""
    built: Callable[[ast.expr], cst.BaseExpression]
    """Returns the tree of a template's part."""
    left: dict[cst.If, Lines] = field(default_factory=dict)
    """The comments of each removed ``elif`` after which no arm follows."""

    def edit_block(
        self, original: cst.Module | cst.IndentedBlock, updated: cst.Module | cst.IndentedBlock
    ) -> cst.CSTNode:
        """Return a block with its statements changed; ``original`` and ``updated`` have corresponding statements."""
        is_edge = original is self.region.statement_block
        left = len(original.body) - (is_edge and bool(self.region.behind))
        may_be_empty = is_edge and not self.is_alone
        body: list[Line] = []
        carried: Lines = []
        was_removed = False
        for old, new in zip(_list_lines(original), _list_lines(updated), strict=True):
            is_changed = old in self.done
            old, new = self._strip_comments(old, new)
            made, footer = self._edit_statement(old, new) if is_changed else ([new], [])
            if not made and left == 1 and not may_be_empty:
                made = [create_pass(new)]
            kept = made or new.leading_lines
            gone = find_lost_comments(old, [*kept, *footer]) if is_changed else []
            if not made:
                carried += [*new.leading_lines, *put_on_lines(gone), *footer]
                was_removed = True
                left -= 1
                continue
            if gone:
                made[0] = attach_comments(made[0], gone)
            if was_removed:
                above = self.region.gap if is_edge and not body else 0
                leading = join_gaps(carried, made[0].leading_lines, above)
                made[0] = made[0].with_changes(leading_lines=leading)
            elif carried:
                made[0] = made[0].with_changes(leading_lines=[*carried, *made[0].leading_lines])
            body += made
            carried, was_removed = footer, False
        carried = join_gaps(carried, updated.footer) if was_removed else [*carried, *updated.footer]
        return updated.with_changes(body=body, footer=carried)

    def _edit_statement(self, old: Line, new: Line) -> tuple[list[Line], Lines]:
        """Return the statements that replace one, and the comments at the end of the block that they come from."""
        if isinstance(old, cst.SimpleStatementLine):
            return self._edit_line(old, cst.ensure_type(new, cst.SimpleStatementLine)), []
        for change in self.plans.get(old, ()):
            match change:
                case kinds.Remove():
                    return [], []
                case kinds.Unwrap(block=block):
                    first = self.region.find_statement(block[0])
                    suite = next(n for n in self.region.iter_ancestors(first) if isinstance(n, cst.BaseSuite))
                    return self._unwrap_suite(new, suite)
                case kinds.Decide(value=value):
                    assert isinstance(old, cst.If)
                    assert isinstance(new, cst.If)
                    arm = decide_arm(new, value, is_elif=False)
                    if isinstance(arm, cst.If):
                        return [arm], self._collect_arm_comments(old)
                    chosen = (
                        new.body if value else new.orelse.body if isinstance(new.orelse, cst.Else) else None
                    )
                    return self._unwrap_suite(new, chosen) if chosen is not None else ([], [])
        return self._insert_around(self.plans.get(old, ()), new), self._collect_arm_comments(old)

    def _collect_arm_comments(self, chain: cst.CSTNode | None) -> Lines:
        """Return the comments of removed arms at the end of an ``elif`` chain."""
        found: Lines = []
        while isinstance(chain, cst.If):
            found += self.left.get(chain, [])
            chain = chain.orelse
        return found

    def _unwrap_suite(self, whole: Line, suite: cst.BaseSuite) -> tuple[list[Line], Lines]:
        """Return the statements and the final comments of a suite that replaces its whole statement."""
        done = self.done.get(suite, suite)
        lines: list[Line]
        footer: Lines = []
        if isinstance(done, cst.IndentedBlock):
            lines, footer = _list_lines(done), [*done.footer]
        else:
            assert isinstance(done, cst.SimpleStatementSuite)
            lines = [cst.SimpleStatementLine(done.body, trailing_whitespace=done.trailing_whitespace)]
        if is_only_pass(lines):
            return [], footer
        header = put_on_lines(find_lost_comments(whole, [*whole.leading_lines, *lines, *footer]))
        own = [*dropwhile(lambda line: line.comment is None, lines[0].leading_lines)]
        leading = [*whole.leading_lines, *header, *own]
        lines[0] = lines[0].with_changes(leading_lines=leading)
        # Cloned, so that the block changes as a whole: all its lines are indented differently.
        return [line.deep_clone() for line in lines], footer

    def _edit_line(self, old: cst.SimpleStatementLine, new: cst.SimpleStatementLine) -> list[Line]:
        """Return the statements that replace a line of simple statements."""
        plans = [self.plans.get(small, ()) for small in old.body]
        around = [change for planned in plans for change in planned if isinstance(change, _AROUND)]
        kept = [
            small
            for small, was, planned in zip(new.body, old.body, plans, strict=True)
            if not any(self._is_removed(change, was) for change in planned)
        ]
        if len(old.body) > 1 and around:
            raise NoFix("the statement shares its line with other statements")
        if len(kept) < len(old.body) and kept:
            kept[-1] = kept[-1].with_changes(semicolon=new.body[-1].semicolon)
            new = new.with_changes(body=kept)
        for small, planned in zip(kept, plans, strict=False):
            for change in planned:
                if isinstance(change, (kinds.Rebind, kinds.MoveImport)):
                    return move_names(new, cst.ensure_type(small, cst.ImportFrom), change)
        return self._insert_around(around, new) if kept else []

    def edit_joined_suite(self, old: cst.SimpleStatementSuite, new: cst.SimpleStatementSuite) -> cst.CSTNode:
        """Return a block on the line of its header, with its statements changed."""
        line = cst.SimpleStatementLine(new.body)
        made = self._edit_line(cst.SimpleStatementLine(old.body), line)
        if made == [line]:
            return new
        if not made:
            return new.with_changes(body=[cst.Pass()])
        if len(made) > 1 or not isinstance(made[0], cst.SimpleStatementLine):
            raise NoFix("the statement shares its line with other statements")
        return new.with_changes(body=made[0].body)

    def _insert_around(self, changes: Sequence[FixChange], own: Line) -> list[Line]:
        """Return a statement, or what replaces it, with the statements inserted before and after it."""
        before, after, made = list[Line](), list[Line](), [own]
        for change in changes:
            match change:
                case kinds.Insert(after=True):
                    after += self._build_statements(change)
                case kinds.Insert():
                    before += self._build_statements(change)
                case kinds.ReplaceStatement() | kinds.Merge():
                    made = self._build_statements(change)
                    if isinstance(own, cst.SimpleStatementLine) and isinstance(
                        made[-1], cst.SimpleStatementLine
                    ):
                        made[-1] = made[-1].with_changes(trailing_whitespace=own.trailing_whitespace)
        if before or made != [own]:
            made = [*before, made[0].with_changes(leading_lines=[]), *made[1:]]
            leading = [*own.leading_lines, *made[0].leading_lines]
            made[0] = made[0].with_changes(leading_lines=leading)
        return [*made, *after]

    def _build_statements(self, change: kinds.Insert | kinds.ReplaceStatement | kinds.Merge) -> list[Line]:
        remarks = self._collect_comments(change) if isinstance(change, kinds.Merge) else {}
        made = build_statements(
            change.new, self.built, self.region.source.quote, self.region.indent_unit, remarks
        )
        # Cloned, so that parts which move inside a statement, or stand in two, are no anchors: it changes as a whole.
        return [statement.deep_clone() for statement in made]

    def _collect_comments(self, merge: kinds.Merge) -> dict[str, StatementComments]:
        """Return the comments of the statements that become one, by the placeholders of their list elements."""
        lines = [
            self.region.node_parents[self.region.find_statement(statement)] for statement in merge.statements
        ]
        return {
            mark: collect_comments(cst.ensure_type(line, cst.SimpleStatementLine), is_first=line is lines[0])
            for line, mark in zip(lines, iter_placeholders(merge), strict=True)
        }

    def _strip_comments(self, old: Line, new: Line) -> tuple[Line, Line]:
        """Return a line without the comments that move away together with its statement."""
        small = old.body[0] if isinstance(old, cst.SimpleStatementLine) else None
        for change in self.plans.get(small, ()) if small is not None else ():
            if isinstance(change, kinds.Merge):
                is_first = self.region.find_statement(change.statements[0]) is small
                return strip_comments(old, is_first=is_first), strip_comments(new, is_first=is_first)
        return old, new

    def _is_removed(self, change: FixChange, small: cst.BaseSmallStatement) -> bool:
        match change:
            case kinds.DropImports(statement=statement, aliases=gone):
                return len(gone) == len(statement.names)
            case kinds.Merge(statements=merged):
                return self.region.find_statement(merged[-1]) is not small
        return isinstance(change, kinds.Remove)

    def edit_arm(self, original: cst.If, updated: cst.If) -> cst.CSTNode | None:
        """Return an ``elif`` with its decision made; its comments go before the next arm, or after the chain."""
        for change in self.plans.get(original, ()):
            if isinstance(change, kinds.Decide):
                arm = decide_arm(updated, change.value, is_elif=True)
                gone = put_on_lines(find_lost_comments(updated, [arm] if arm else []))
                if arm is None:
                    self.left[original] = gone
                    return None
                return arm.with_changes(leading_lines=[*gone, *arm.leading_lines])
        return updated


def create_pass(line: cst.SimpleStatementLine | cst.BaseCompoundStatement) -> cst.SimpleStatementLine:
    """Return ``pass`` with the comments of the line that it replaces."""
    trailing = cst.TrailingWhitespace()
    if isinstance(line, cst.SimpleStatementLine):
        trailing = line.trailing_whitespace
    return cst.SimpleStatementLine(
        [cst.Pass()], leading_lines=line.leading_lines, trailing_whitespace=trailing
    )


def join_gaps(before: Sequence[cst.EmptyLine], after: Sequence[cst.EmptyLine], above: int = 0) -> Lines:
    """Join the blank lines and comments around a removed statement; of the two gaps that meet, the longer one stays.

    ``above`` is the number of blank lines before ``before``.
    """
    own = _count_blank_lines(before[::-1])
    own += above if own == len(before) else 0
    return [*before, *after[min(own, _count_blank_lines(after)) :]]


def _count_blank_lines(lines: Sequence[cst.EmptyLine]) -> int:
    return len([*takewhile(lambda line: line.comment is None, lines)])


def _list_lines(block: cst.Module | cst.IndentedBlock) -> list[Line]:
    return [line for line in block.body if isinstance(line, Line)]


def is_only_pass(lines: Sequence[Line]) -> bool:
    """Return whether all statements are ``pass``."""
    return all(
        isinstance(line, cst.SimpleStatementLine) and all(isinstance(small, cst.Pass) for small in line.body)
        for line in lines
    )


def decide_arm(updated: cst.If, value: bool, *, is_elif: bool) -> cst.If | cst.Else | None:
    """Return the arm that is left of an ``if`` or ``elif`` whose test is known to be ``value``, or None.

    None for an ``if`` means that the statements of its chosen block replace it.
    """
    orelse = updated.orelse
    if value:
        return cst.Else(updated.body, leading_lines=updated.leading_lines) if is_elif else None
    if isinstance(orelse, cst.If) or (is_elif and orelse is not None):
        return orelse.with_changes(leading_lines=[*updated.leading_lines, *orelse.leading_lines])
    return None
