"""The changes that replace single operations by one batch, in the form in which their requests are kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchmigrate.api import NoFix
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Insert, Merge, Remove, Replace, ReplaceStatement, replace, template

from .issue_sites import IssueSite, RequestForm
from .operation_templates import OperationTemplates
from .trap_function import TrapFunction


@dataclass(frozen=True)
class BatchRewriting:
    """The changes for the sites of one function. Every method may raise NoFix."""

    sites: Sequence[IssueSite]
    function: TrapFunction
    operations: OperationTemplates
    bound: frozenset[str]
    """The names bound in the scope."""

    @property
    def _block(self) -> list[ast.stmt]:
        return self.function.blocks[self.sites[0].statement]

    def extend_list(self) -> Iterator[FixChange]:
        """Rewrite ``reqs.append(isend(…))``, ``reqs.append(irecv(…))`` → ``reqs.extend(batch_isend_irecv([…]))``."""
        holder = self.sites[-1].holder
        assert holder is not None
        yield self._merge_statements("{requests}.extend({batch})", requests=holder)

    def wrap_lists(self) -> Iterator[FixChange]:
        """Rewrite ``reqs = [isend(…), irecv(…)]`` → ``reqs = batch_isend_irecv([…])``."""
        for site in self.sites:
            assert site.assigned_value is not None
            assert site.holder is not None
            if site.assigned_value.lineno == site.assigned_value.end_lineno:
                new = self.operations.render_batch(site.calls, "{requests} = {batch}", requests=site.holder)
                yield ReplaceStatement(self._require_own_lines(site.statement), new)
                continue
            batch = self.operations.resolve_symbol("batch_isend_irecv")
            yield replace(site.assigned_value, "{batch}({listed})", batch=batch, listed=site.assigned_value)
            yield from self._replace_in_place(site)

    def collect_in_list(self) -> Iterator[FixChange]:
        """Rewrite operations under conditions: the list first holds the operations, and after the batch their requests."""
        last, target = self.find_last_in_block(), self.sites[0].holder_text
        for site in self.sites:
            yield from self._replace_in_place(site)
        batch = self.operations.resolve_symbol("batch_isend_irecv")
        exchange = f"if {target}:\n    {target} = {{batch}}({target})"
        yield Insert(self._require_own_lines(last), template(exchange, batch=batch), after=True)

    def find_last_in_block(self) -> ast.stmt:
        """Return the statement with the last operation, in the block where the list of requests is created."""
        target = self.sites[0].holder_text
        if not target.isidentifier():
            raise NoFix(
                "the operations depend on conditions, and their requests are used outside the function"
            )
        made = [
            statement
            for statement in self.function.blocks
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == target
        ]
        if len(made) != 1:
            raise NoFix(f"`{target}` is created in several places")
        block, last = self.function.blocks[made[0]], self.sites[-1].statement
        for outer in (last, *self.function.iter_enclosing(last)):
            if isinstance(outer, ast.stmt) and outer in block:
                return outer
        raise NoFix(f"`{target}` is not created in the block that fills it")

    def replace_named_requests(self) -> Iterator[FixChange]:
        """Rewrite operations whose requests have names of their own and are waited for in turn; a blocking call waits at once."""
        last = self.sites[-1]
        waits = sorted(
            (self._find_wait(site) for site in self.sites if site.form is RequestForm.NAME),
            key=lambda wait: wait.lineno,
        )
        blocking = [site for site in self.sites if site.form is RequestForm.NONE]
        if blocking and waits and blocking != [last]:
            raise NoFix("a blocking call precedes the last operation")
        if any(self.function.blocks[wait] is not self._block for wait in waits):
            raise NoFix("the requests are waited for outside the block that issues them")
        places = [self._block.index(wait) for wait in waits]
        # Work between two waits would come after both of them.
        if not blocking and places != list(range(places[0], places[0] + len(places))):
            raise NoFix("the code does other work between the waits, and a batch may return a single request")
        request, requests = self._choose_name("request"), self._choose_name("requests")
        if blocking or places[0] == self._block.index(last.statement) + 1:
            yield self._merge_statements(f"for {request} in {{batch}}:\n    {request}.wait()")
            yield from map(Remove, waits)
            return
        first, *others = waits
        yield self._merge_statements(f"{requests} = {{batch}}")
        loop = f"for {request} in {requests}:\n    {request}.wait()"
        yield ReplaceStatement(self._require_own_lines(first), template(loop))
        yield from map(Remove, others)

    def _merge_statements(self, code: str, **parts: ast.expr) -> Merge:
        """Return the change that merges the statements of all sites, which are in one block, into one statement."""
        statements = tuple(self._require_own_lines(site.statement) for site in self.sites)
        calls = [call for site in self.sites for call in site.calls]
        return Merge(statements, self.operations.render_batch(calls, code, **parts))

    def _replace_in_place(self, site: IssueSite) -> Iterator[FixChange]:
        yield from (Replace(call, self.operations.render_operation(call)) for call in site.calls)

    def _require_own_lines(self, statement: ast.stmt) -> ast.stmt:
        if not self.function.has_own_lines(statement):
            raise NoFix("several statements share a line")
        return statement

    def _find_wait(self, site: IssueSite) -> ast.stmt:
        """Return the one statement that waits for a named request, which nothing else may use."""
        found: list[ast.stmt] = []
        block = self.function.blocks[site.statement]
        for node in ast.walk(self.function.node):
            if not isinstance(node, ast.Name) or node.id != site.holder_text:
                continue
            statement = self.function.find_statement(node)
            is_beside = self.function.blocks.get(statement) is block
            if statement is site.statement or (isinstance(node.ctx, ast.Store) and not is_beside):
                continue
            if not is_beside and not self.function.is_inside(statement, block):
                continue
            waited = (
                isinstance(statement, ast.Expr) and ast.unparse(statement) == f"{site.holder_text}.wait()"
            )
            if not waited or statement.lineno < site.statement.lineno:
                raise NoFix(
                    f"`{site.holder_text}` is used for more than one wait, and a batch may return a single request"
                )
            found.append(statement)
        if len(found) != 1:
            raise NoFix(f"the block that issues `{site.holder_text}` does not wait for it exactly once")
        return found[0]

    def _choose_name(self, name: str) -> str:
        return name if name not in self.bound else f"p2p_{name}"
