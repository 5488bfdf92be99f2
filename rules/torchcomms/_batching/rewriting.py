"""The changes that replace single operations by one batch, in the form in which their requests are kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchmigrate.api import NoFix
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Insert, Merge, Remove, Replace, ReplaceStatement, replace, template

from .function import Function
from .operations import Operations
from .sites import Form, Site


@dataclass(frozen=True)
class Rewriting:
    """The changes for the sites of one function. Every method may raise NoFix."""

    sites: Sequence[Site]
    function: Function
    operations: Operations
    bound: frozenset[str]
    """The names bound in the scope."""

    @property
    def _block(self) -> list[ast.stmt]:
        return self.function.blocks[self.sites[0].statement]

    def extended(self) -> Iterator[Change]:
        """``reqs.append(isend(…))``, ``reqs.append(irecv(…))`` → ``reqs.extend(batch_isend_irecv([…]))``."""
        holder = self.sites[-1].holder
        assert holder is not None
        yield self._merged("{requests}.extend({batch})", requests=holder)

    def wrapped(self) -> Iterator[Change]:
        """``reqs = [isend(…), irecv(…)]`` → ``reqs = batch_isend_irecv([…])``."""
        for site in self.sites:
            assert site.value is not None
            assert site.holder is not None
            if site.value.lineno == site.value.end_lineno:
                new = self.operations.batch(site.calls, "{requests} = {batch}", requests=site.holder)
                yield ReplaceStatement(self._alone(site.statement), new)
                continue
            batch = self.operations.symbol("batch_isend_irecv")
            yield replace(site.value, "{batch}({listed})", batch=batch, listed=site.value)
            yield from self._in_place(site)

    def collected(self) -> Iterator[Change]:
        """Operations under conditions: the list first holds them, and after the batch their requests."""
        last, target = self.last_in_block(), self.sites[0].target
        for site in self.sites:
            yield from self._in_place(site)
        batch = self.operations.symbol("batch_isend_irecv")
        exchange = f"if {target}:\n    {target} = {{batch}}({target})"
        yield Insert(self._alone(last), template(exchange, batch=batch), after=True)

    def last_in_block(self) -> ast.stmt:
        """Return the statement with the last operation, in the block where the list of requests is created."""
        target = self.sites[0].target
        if not target.isidentifier():
            raise NoFix("the operations depend on conditions, and their requests outlive the function")
        made = [
            statement
            for statement in self.function.blocks
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == target
        ]
        if len(made) != 1:
            raise NoFix(f"`{target}` is created in several places")
        block, last = self.function.blocks[made[0]], self.sites[-1].statement
        for outer in (last, *self.function.outwards(last)):
            if isinstance(outer, ast.stmt) and outer in block:
                return outer
        raise NoFix(f"`{target}` is not created in the block that fills it")

    def named(self) -> Iterator[Change]:
        """Requests with their own names, waited for one after the other; a blocking call waits at once."""
        last = self.sites[-1]
        waits = sorted(
            (self._wait(site) for site in self.sites if site.form is Form.NAME), key=lambda wait: wait.lineno
        )
        blocking = [site for site in self.sites if site.form is Form.NONE]
        if blocking and waits and blocking != [last]:
            raise NoFix("a blocking call precedes the last operation")
        if any(self.function.blocks[wait] is not self._block for wait in waits):
            raise NoFix("the requests are not waited for in the block that issues them")
        places = [self._block.index(wait) for wait in waits]
        # Work between two waits would come after both of them.
        if not blocking and places != list(range(places[0], places[0] + len(places))):
            raise NoFix("work is done between the waits, and a batch may return one request for all")
        request, requests = self._fresh("request"), self._fresh("requests")
        if blocking or places[0] == self._block.index(last.statement) + 1:
            yield self._merged(f"for {request} in {{batch}}:\n    {request}.wait()")
            yield from map(Remove, waits)
            return
        first, *others = waits
        yield self._merged(f"{requests} = {{batch}}")
        loop = f"for {request} in {requests}:\n    {request}.wait()"
        yield ReplaceStatement(self._alone(first), template(loop))
        yield from map(Remove, others)

    def _merged(self, code: str, **parts: ast.expr) -> Merge:
        """Return one statement for all sites, which are in one block."""
        statements = tuple(self._alone(site.statement) for site in self.sites)
        calls = [call for site in self.sites for call in site.calls]
        return Merge(statements, self.operations.batch(calls, code, **parts))

    def _in_place(self, site: Site) -> Iterator[Change]:
        yield from (Replace(call, self.operations.operation(call)) for call in site.calls)

    def _alone(self, statement: ast.stmt) -> ast.stmt:
        if not self.function.has_own_lines(statement):
            raise NoFix("several statements share a line")
        return statement

    def _wait(self, site: Site) -> ast.stmt:
        """Return the one statement that waits for a named request, which nothing else may use."""
        found: list[ast.stmt] = []
        block = self.function.blocks[site.statement]
        for node in ast.walk(self.function.node):
            if not isinstance(node, ast.Name) or node.id != site.target:
                continue
            statement = self.function.statement_of(node)
            is_beside = self.function.blocks.get(statement) is block
            if statement is site.statement or (isinstance(node.ctx, ast.Store) and not is_beside):
                continue
            if not is_beside and not self.function.is_in(statement, block):
                continue
            waited = isinstance(statement, ast.Expr) and ast.unparse(statement) == f"{site.target}.wait()"
            if not waited or statement.lineno < site.statement.lineno:
                raise NoFix(
                    f"`{site.target}` is used for more than one wait, and a batch may return one request"
                )
            found.append(statement)
        if len(found) != 1:
            raise NoFix(f"`{site.target}` is not waited for exactly once in the block that issues it")
        return found[0]

    def _fresh(self, name: str) -> str:
        return name if name not in self.bound else f"p2p_{name}"
