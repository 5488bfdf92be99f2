"""Rewrites the single operations of a trap into one `batch_isend_irecv`, and proves that the result completes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Safety
from torchmigrate.model.findings import Edit
from torchmigrate.semantics.resolve import leaf
from torchmigrate.semantics.uses import Uses
from torchmigrate.text.read import read
from torchmigrate.text.source import Source, SourceError

from .._groups.groups import argument
from .._simulator.syntax import Syntax
from .._simulator.values import COLLECTIVES, SINGLE

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .._simulator.requests import Requests, Trap

_SEPARATE = 'give each direction a group of its own, or use a group with `backend="nccl-lazy"` (torch 2.14)'
_INDENT = "    "


class Withheld(Exception):
    """Why there is no fix, as a sentence."""


@dataclass(frozen=True)
class Site:
    """The statement that issues one operation or several, and what it does with the requests."""

    statement: ast.stmt
    calls: tuple[ast.Call, ...]
    form: str
    """``append``, ``list``, ``name`` (``into``: one that is then appended), or ``none`` for a blocking call."""
    target: str = ""
    """The list, or the variable, that gets the requests."""


def fix(use: Use, trap: Trap, ctx: Context) -> Fix | str:
    """The fix for a trap, or why there is none."""
    from .._simulator.requests import Requests

    try:
        edits = tuple(_Rewrite(use, trap, ctx).edits())
    except Withheld as reason:
        return str(reason)
    before = Requests.of(ctx.uses)
    if not _completes(ctx.source, edits, before, ctx):
        return f"one batch on this side alone would not meet single operations on the other before torch 2.15; {_SEPARATE}"
    return Fix(edits, Safety.UNSAFE, "Issue the operations as one `batch_isend_irecv`")


def _completes(source: Source, edits: tuple[Edit, ...], before: Requests, ctx: Context) -> bool:
    """Whether the rewritten file has one trap less, and its batches complete on either kind of communicator."""
    try:
        after = read(source.path, source.replaced(edits))
        uses = Uses(after, ctx.uses.watch)
    except (SourceError, ValueError):
        return False
    from .._simulator.requests import Requests

    found = Requests(uses)
    uses.scopes.release()
    return len(found.traps) < len(before.traps) and len(found.batches) > len(before.batches)


class _Rewrite:
    def __init__(self, use: Use, trap: Trap, ctx: Context) -> None:
        self.use = use
        self.ctx = ctx
        self.syntax = Syntax(ctx.uses)
        self.function = use.place.scope.node
        self.nodes = sorted(trap.nodes, key=lambda node: (node.lineno, node.col_offset))
        self.imports: tuple[Edit, ...] = ()
        self.parents: dict[ast.AST, ast.AST] = {
            child: parent for parent in ast.walk(self.function) for child in ast.iter_child_nodes(parent)
        }
        self.blocks: dict[ast.stmt, list[ast.stmt]] = {}
        for parent in ast.walk(self.function):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(parent, name, None)
                if isinstance(block, list):
                    self.blocks.update((statement, block) for statement in block)

    def edits(self) -> Iterator[Edit]:
        """All edits. Raises Withheld."""
        if any(node not in self.parents for node in self.nodes):
            raise Withheld(f"the operations are spread over several functions; {_SEPARATE}")
        groups = {ast.unparse(group) if (group := _group(node)) else "" for node in self.nodes}
        if len(groups) > 1:
            raise Withheld("the operations use different groups, and a batch has one")
        sites = self._sites()
        self._check_between(sites)
        forms = {site.form for site in sites}
        targets = {site.target for site in sites}
        one_block = len({id(self.blocks[site.statement]) for site in sites}) == 1
        if forms <= {"name", "none"} and one_block:
            edits = self._named(sites)
        elif forms == {"append"} and one_block and len(targets) == 1 and len(sites) > 1:
            self._check_list(next(iter(targets)), sites)
            edits = self._extended(sites)
        elif forms == {"list"} and len(sites) == 1 and not isinstance(_held(sites[0]), ast.ListComp):
            self._check_list(sites[0].target, sites)
            edits = self._wrapped(sites[0])
        elif forms <= {"append", "into", "list"} and len(targets) == 1:
            self._check_list(next(iter(targets)), sites)
            edits = self._collected(sites)
        else:
            raise Withheld("the requests are kept in ways that a single batch cannot replace")
        yield from edits
        yield from self.imports

    # What there is.

    def _sites(self) -> list[Site]:
        found: dict[ast.stmt, Site] = {}
        for node in self.nodes:
            statement = self._statement(node)
            if statement not in found:
                found[statement] = self._site(statement, node)
            if node not in found[statement].calls:
                raise Withheld("the requests are kept in ways that a single batch cannot replace")
        return list(found.values())

    def _site(self, statement: ast.stmt, node: ast.Call) -> Site:
        text = ast.unparse
        if isinstance(statement, ast.Expr):
            value = statement.value
            if value is node and self._name(node) in ("recv", "send"):
                return Site(statement, (node,), "none")
            function = value.func if isinstance(value, ast.Call) and value.args == [node] else None
            if isinstance(function, ast.Attribute) and function.attr == "append":
                return Site(statement, (node,), "append", text(function.value))
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List):
            return Site(statement, self._elements(statement.value), "append", text(statement.target))
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = text(statement.targets[0])
            if statement.value is node and isinstance(statement.targets[0], ast.Name):
                into = self._appended_to(statement, target)
                return Site(statement, (node,), "into" if into else "name", into or target)
            if isinstance(statement.value, ast.List):
                return Site(statement, self._elements(statement.value), "list", target)
            if isinstance(statement.value, ast.ListComp) and statement.value.elt is node:
                return Site(statement, (node,), "list", target)
        raise Withheld("the requests are kept in ways that a single batch cannot replace")

    def _appended_to(self, statement: ast.stmt, name: str) -> str | None:
        """The list that the next statement appends the request to, if nothing else is done with it."""
        block = self.blocks[statement]
        following = block[block.index(statement) + 1 : block.index(statement) + 2]
        loops = [
            n for n in ast.walk(self.function) if isinstance(n, ast.For) and ast.unparse(n.target) == name
        ]
        inside = {part for loop in loops for part in ast.walk(loop)}
        named = [n for n in ast.walk(self.function) if isinstance(n, ast.Name) and n.id == name]
        reads = [n for n in named if n not in inside]
        for after in following:
            text = ast.unparse(after)
            if len(reads) == 2 and text.endswith(f".append({name})") and isinstance(after, ast.Expr):
                return text.removesuffix(f".append({name})")
        return None

    def _elements(self, node: ast.List) -> tuple[ast.Call, ...]:
        calls = tuple(element for element in node.elts if isinstance(element, ast.Call))
        return calls if len(calls) == len(node.elts) and set(calls) <= set(self.nodes) else ()

    def _statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def _line_text(self, statement: ast.stmt) -> bytes:
        source = self.ctx.source
        end = source.line_starts[statement.end_lineno or 0 : (statement.end_lineno or 0) + 1]
        return source.text[source.offset(statement.lineno, 0) : end[0] if end else len(source.text)]

    # What must not change.

    def _check_between(self, sites: list[Site]) -> None:
        """Between the first operation and the last, nothing may touch what has been handed over."""
        issuing = {site.statement for site in sites}
        first, last = sites[0].statement.lineno, sites[-1].statement.end_lineno or 0
        for statement in self.blocks:
            if not first <= statement.lineno <= last or statement in issuing or hasattr(statement, "body"):
                continue
            calls = (part for part in ast.walk(statement) if isinstance(part, ast.Call))
            if any(self._name(call) in _ORDERED for call in calls):
                raise Withheld("the operations are not waited for together")
            issued = [
                site
                for site in sites
                if site.statement.lineno < statement.lineno and not self._exclude(site.statement, statement)
            ]
            self._check_untouched(statement, issued)

    def _check_untouched(self, statement: ast.stmt, issued: list[Site]) -> None:
        tensors = (argument(call, 0, "tensor") for site in issued for call in site.calls)
        if not self._only_makes(statement) and any(t is not None and _touches(statement, t) for t in tensors):
            raise Withheld("a statement between the operations uses what they transfer")

    def _check_loops(self, sites: list[Site], block: list[ast.stmt]) -> None:
        """In a loop that issues operations, nothing may touch those of an earlier round."""
        issuing = {site.statement for site in sites}
        for site in sites:
            for loop in self._outwards(site.statement):
                if loop in block and not isinstance(loop, (ast.For, ast.While, ast.If)):
                    raise Withheld("the operations stand in a block that may be left early")
                if isinstance(loop, (ast.For, ast.While)) and any(loop in self._within(top) for top in block):
                    made = {
                        n.id
                        for n in ast.walk(loop)
                        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                    }
                    for statement in self._within(loop):
                        if (
                            statement in issuing
                            or not isinstance(statement, ast.stmt)
                            or hasattr(statement, "body")
                        ):
                            continue
                        fresh = all(
                            _root(tensor) in made
                            for call in site.calls
                            if (tensor := argument(call, 0, "tensor")) is not None
                        )
                        if not fresh:
                            self._check_untouched(statement, [site])

    def _within(self, node: ast.AST) -> set[ast.AST]:
        return set(ast.walk(node))

    def _exclude(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether the two stand in different branches of one condition, so that only one of them runs."""
        for around in self._outwards(one):
            if isinstance(around, ast.If):
                branches = [
                    set().union(*map(self._within, branch)) for branch in (around.body, around.orelse)
                ]
                if any(one in mine and other in theirs for mine, theirs in (branches, branches[::-1])):
                    return True
        return False

    def _only_makes(self, statement: ast.stmt) -> bool:
        """``x = torch.empty_like(y)``: reads no contents."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        return isinstance(value, ast.Call) and (leaf(value.func) or "").startswith(("empty", "zeros", "ones"))

    def _check_list(self, target: str, sites: list[Site]) -> None:
        """The list of requests may only be emptied, filled by the operations, and waited for as a whole."""
        root: ast.AST = self.function if "." not in target else self.ctx.source.tree
        inside = {part for site in sites for part in ast.walk(site.statement)}
        parents = {child: parent for parent in ast.walk(root) for child in ast.iter_child_nodes(parent)}
        for node in ast.walk(root):
            if (
                not isinstance(node, (ast.Name, ast.Attribute))
                or node in inside
                or ast.unparse(node) != target
            ):
                continue
            parent = parents[node]
            if (
                isinstance(parent, (ast.For, ast.comprehension))
                and parent.iter is node
                and _waits(parent, parents)
            ):
                continue
            if isinstance(parent, (ast.Assign, ast.AnnAssign)) and _is_empty(parent.value):
                continue
            if isinstance(parent, ast.While) and parent.test is node:
                continue
            appends = isinstance(parent, ast.Attribute) and parent.attr == "append"
            if appends and any(site.form == "into" for site in sites):
                continue
            if isinstance(parent, ast.Attribute) and parent.attr in ("clear", "pop"):
                continue
            raise Withheld(
                f"`{target}` is used for more than waiting for all of it, and a batch may return one request for all"
            )

    # What replaces it.

    def _name(self, node: ast.Call) -> str | None:
        return self.syntax.name(node)

    def _operation(self, node: ast.Call) -> str:
        """The `P2POp` that stands for a single operation."""
        ctx = self.ctx
        if "#" in ctx.text(node):
            raise Withheld("comments, or other statements, stand inside the operations")
        sends = "send" in (self._name(node) or "")
        names = ("dst", "group_dst") if sends else ("src", "group_src")
        tensor, group, tag = argument(node, 0, "tensor"), _group(node), argument(node, 3, "tag")
        peer, in_group = argument(node, 1, names[0]), argument(node, 4, names[1])
        if tensor is None or (peer is None and in_group is None):
            raise Withheld("an operation takes its arguments from elsewhere")
        if in_group is not None and ctx.options.minimum < (2, 6):
            raise Withheld("a rank within the group can be given to `P2POp` since torch 2.6")
        own = ctx.text(node.func) if self._name(node) in ("isend", "irecv") else None
        parts = [own or self._spell("isend" if sends else "irecv"), ctx.text(tensor)]
        parts += [ctx.text(peer)] if peer is not None else []
        if group is not None:
            parts.append(ctx.text(group) if peer is not None else f"group={ctx.text(group)}")
        parts += [f"group_peer={ctx.text(in_group)}"] if in_group is not None else []
        parts += [f"tag={ctx.text(tag)}"] if tag is not None else []
        return f"{self._spell('P2POp')}({', '.join(parts)})"

    def _spell(self, name: str) -> str:
        spelling = self.ctx.imports.spell(f"torch.distributed.{name}", self.use)
        if spelling is None:
            raise Withheld(f"`{name}` cannot be named here without clobbering a name")
        self.imports = tuple(dict.fromkeys((*self.imports, *spelling.edits)))
        return spelling.text

    def _batch(self, sites: list[Site]) -> str:
        """A call with the operations of all sites, each with the comment that stood behind it."""
        indent = self._indent(sites[-1].statement)
        first, last = (self.ctx.source.offset(site.statement.lineno, 0) for site in (sites[0], sites[-1]))
        between = self.ctx.source.text[first:last].splitlines()
        if any(line.strip().startswith(b"#") for line in between) and any(
            self._comment(site.statement) for site in sites[:-1]
        ):
            raise Withheld("comments stand between the operations, and would change their order")
        lines = []
        for site in sites:
            comment = self._comment(site.statement) if site is not sites[-1] else ""
            for call in site.calls:
                own = f"  {comment}" if comment and call is site.calls[-1] else ""
                lines.append(f"{indent}{_INDENT}{self._operation(call)},{own}\n")
        return f"{self._spell('batch_isend_irecv')}([\n{''.join(lines)}{indent}])"

    def _comment(self, statement: ast.stmt) -> str:
        """The comment behind a statement. Raises Withheld where there is one inside of it, or more code behind."""
        span = self.ctx.source.span(statement)
        behind = self._line_text(statement)[span.end - self.ctx.source.offset(statement.lineno, 0) :].strip()
        if b"#" in self.ctx.source.text[span.start : span.end] or (behind and not behind.startswith(b"#")):
            raise Withheld("comments, or other statements, stand inside the operations")
        return behind.decode()

    def _indent(self, statement: ast.stmt) -> str:
        source = self.ctx.source
        start = source.offset(statement.lineno, 0)
        text = source.text[start : source.span(statement).start].decode()
        if text.strip():
            raise Withheld("several statements stand on one line")
        return text

    def _remove(self, statement: ast.stmt, *, with_comment: bool = False) -> Edit:
        """Takes a statement away together with its lines."""
        self._indent(statement)
        if self._comment(statement) and not with_comment:
            raise Withheld("a comment stands behind a wait")
        start = self.ctx.source.offset(statement.lineno, 0)
        return Edit(start, start + len(self._line_text(statement)), "")

    def _extended(self, sites: list[Site]) -> Iterator[Edit]:
        """``reqs.append(isend(…))``, ``reqs.append(irecv(…))`` → ``reqs.extend(batch_isend_irecv([…]))``."""
        *earlier, last = sites
        text = f"{last.target}.extend({self._batch(sites)})"
        yield from (self._remove(site.statement, with_comment=True) for site in earlier)
        yield self.ctx.replace(last.statement, text)

    def _wrapped(self, site: Site) -> Iterator[Edit]:
        """``reqs = [isend(…), irecv(…)]`` → ``reqs = batch_isend_irecv([…])``."""
        held = _held(site)
        if held is None or not site.calls:
            raise Withheld("the requests are kept in ways that a single batch cannot replace")
        span = self.ctx.source.span(held)
        yield Edit(span.start, span.start, f"{self._spell('batch_isend_irecv')}(")
        yield from (self.ctx.replace(call, self._operation(call)) for call in site.calls)
        yield Edit(span.end, span.end, ")")

    def _collected(self, sites: list[Site]) -> Iterator[Edit]:
        """Operations under conditions: the list holds them first, and their requests from then on."""
        target = sites[0].target
        if not target.isidentifier():
            raise Withheld("the operations depend on conditions, and their requests outlive the function")
        made = [
            statement
            for statement in self.blocks
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == target
        ]
        if len(made) != 1:
            raise Withheld(f"`{target}` is made in several places")
        block = self.blocks[made[0]]
        last: ast.AST = sites[-1].statement
        while last not in block:
            last = self.parents.get(last, self.function)
            if last is self.function:
                raise Withheld(f"`{target}` is not made where it is filled")
        assert isinstance(last, ast.stmt)
        self._check_loops(sites, block)
        for site in sites:
            if not site.calls:
                raise Withheld("the requests are kept in ways that a single batch cannot replace")
            yield from (self.ctx.replace(call, self._operation(call)) for call in site.calls)
        indent = self._indent(last)
        end = self.ctx.source.span(last).end
        line_end = end + len(self.ctx.source.text[end:].split(b"\n", 1)[0])
        text = f"\n{indent}if {target}:\n{indent}{_INDENT}{target} = {self._spell('batch_isend_irecv')}({target})"
        yield Edit(line_end, line_end, text)

    def _outwards(self, node: ast.AST) -> list[ast.AST]:
        found = []
        while node in self.parents:
            node = self.parents[node]
            found.append(node)
        return found

    def _named(self, sites: list[Site]) -> Iterator[Edit]:
        """Requests with names of their own, waited for one after the other; a blocking call waits where it stands."""
        waits = [wait for site in sites if site.form == "name" for wait in self._waits(site)]
        block = self.blocks[sites[0].statement]
        *earlier, last = sites
        blocking = [site for site in sites if site.form == "none"]
        if len(blocking) > 1 or (blocking and blocking[0] is not last):
            raise Withheld("a blocking call stands before the last operation")
        if any(self.blocks[wait] is not block for wait in waits):
            raise Withheld("the requests are not waited for where they are made")
        waits.sort(key=lambda wait: wait.lineno)
        places = [block.index(wait) for wait in waits]
        if not blocking and places != list(range(places[0], places[0] + len(places))):
            raise Withheld("work is done between the waits, and a batch may return one request for all")
        indent = self._indent(last.statement)
        yield from (self._remove(site.statement, with_comment=True) for site in earlier)
        batch = self._batch(sites)
        name = self._fresh("request")
        loop = f"\n{indent}{_INDENT}{name}.wait()"
        if blocking or places[0] == block.index(last.statement) + 1:
            yield self.ctx.replace(last.statement, f"for {name} in {batch}:{loop}")
            yield from map(self._remove, waits)
            return
        several = self._fresh("requests")
        yield self.ctx.replace(last.statement, f"{several} = {batch}")
        yield self.ctx.replace(waits[0], f"for {name} in {several}:{loop}")
        yield from map(self._remove, waits[1:])

    def _waits(self, site: Site) -> list[ast.stmt]:
        """The one statement that waits for a named request, which nothing else may use."""
        found: list[ast.stmt] = []
        block = self.blocks[site.statement]
        for node in ast.walk(self.function):
            if not isinstance(node, ast.Name) or node.id != site.target:
                continue
            statement = self._statement(node)
            if statement is site.statement or (
                isinstance(node.ctx, ast.Store) and self.blocks.get(statement) is not block
            ):
                continue
            if self.blocks.get(statement) is not block and not self._in(statement, block):
                continue
            waited = isinstance(statement, ast.Expr) and ast.unparse(statement) == f"{site.target}.wait()"
            if not waited or statement.lineno < site.statement.lineno:
                raise Withheld(
                    f"`{site.target}` is used for more than one wait, and a batch may return one request"
                )
            found.append(statement)
        if len(found) != 1:
            raise Withheld(f"`{site.target}` is not waited for once, where it is made")
        return found

    def _in(self, statement: ast.AST, block: list[ast.stmt]) -> bool:
        return any(node in block for node in self._outwards(statement) if isinstance(node, ast.stmt))

    def _fresh(self, name: str) -> str:
        bound = self.use.place.scope.bindings
        return name if name not in bound else f"p2p_{name}"


_ORDERED = frozenset({"wait", "batch_isend_irecv", *COLLECTIVES, *SINGLE})
"""What must keep its place among the operations."""


def _touches(statement: ast.stmt, tensor: ast.expr) -> bool:
    """Whether a statement reads the variable that a tensor comes from; ``x[0]`` is not ``x[1]``."""
    index = _index(tensor)
    parents = {child: parent for parent in ast.walk(statement) for child in ast.iter_child_nodes(parent)}
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id == _root(tensor):
            other = _index(parents.get(part))
            if index is None or other is None or index == other:
                return True
    return False


def _root(node: ast.AST) -> str:
    """The variable that an expression begins with; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _index(node: ast.AST | None) -> object:
    """The constant in ``x[0]``, or None."""
    constant = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node.slice.value if constant else None  # type: ignore[union-attr]


def _group(node: ast.Call) -> ast.expr | None:
    given = argument(node, 2, "group")
    return None if isinstance(given, ast.Constant) and given.value is None else given


def _held(site: Site) -> ast.expr | None:
    return site.statement.value if isinstance(site.statement, ast.Assign) else None


def _is_empty(value: ast.expr | None) -> bool:
    return (isinstance(value, ast.List) and not value.elts) or (
        isinstance(value, ast.Call) and leaf(value.func) == "list" and not value.args
    )


def _waits(loop: ast.For | ast.comprehension, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a loop over requests does nothing with each but wait for it."""
    if not isinstance(loop.target, ast.Name):
        return False
    body: ast.AST = loop if isinstance(loop, ast.For) else parents[loop]
    reads = [
        node
        for node in ast.walk(body)
        if isinstance(node, ast.Name) and node.id == loop.target.id and isinstance(node.ctx, ast.Load)
    ]
    waited = {
        node.value for node in ast.walk(body) if isinstance(node, ast.Attribute) and node.attr == "wait"
    }
    return waited.issuperset(reads)
