"""Turns the name of a group into the group, everywhere that one parameter of a custom operator leads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.model.findings import Edit, Span
from torchmigrate.rewrite.calls import argument
from torchmigrate.semantics.dataflow import is_located

from .._names.collectives import GROUP_SIZE, RESOLVE, TAKERS, group_argument
from .._names.group_names import name_of_group
from .._names.handing_over import is_stable, without_variable
from .._operators.functions import (
    FUNCTION,
    Function,
    inside,
    is_context,
    named,
    parameters,
    spells,
    with_default,
)
from .._operators.operators import Operator, is_name, operators_of

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.semantics.scopes import Scope


class Withheld(Exception):
    """The name cannot become a group everywhere; the message says why."""


class Conversion:
    """The edits of one file that turn names into groups, and follow both to other operators of the file.

    ``annotation`` is how `ProcessGroup` is spelled in the file.
    """

    def __init__(self, ctx: Context, annotation: str) -> None:
        self._ctx = ctx
        self._annotation = annotation
        self._operators = operators_of(ctx)
        self._parents = ctx.uses.flow.parents
        self._scopes = {scope.node: scope for scope in ctx.uses.scopes.all}
        self._calls = {call: o for o in self._operators.values() for call, _ in o.calls}
        self._waiting: list[tuple[Operator, int]] = []
        self._edits: dict[Edit, None] = {}
        self._variables: dict[ast.expr, list[ast.Name]] = {}
        """The values of variables that callers hand over, and where they do."""
        self.converted: list[tuple[Operator, int]] = []
        """The parameters that become groups together."""

    def run(self, operator: Operator, index: int) -> tuple[Edit, ...]:
        """Everything that changes when a parameter of an operator becomes a group. Raises Withheld."""
        self._follow(operator, index)
        while self._waiting:
            self._parameter(*self._waiting.pop())
        for value, reads in self._variables.items():
            self._edits.update(dict.fromkeys(without_variable(value, reads, self._ctx)))
        return tuple(sorted(self._edits))

    def evidence(self, operator: Operator, index: int) -> ast.Call | None:
        """The first call, in a function of the operator, that takes the parameter for the name of a group."""
        if not operator.takes_string(index):
            return None
        for function in operator.functions:
            own = parameters(function)
            for read in named(function, own[index].arg) if index < len(own) else ():
                if isinstance(read.ctx, ast.Load) and self._means_group(read):
                    return self._call_with(read)
        return None

    def _means_group(self, read: ast.expr) -> bool:
        call = self._call_with(read)
        callee = self._callee(call) if call is not None else ""
        if callee in RESOLVE or callee in GROUP_SIZE:
            return True
        return call is not None and callee in TAKERS and group_argument(call, callee) is read

    def _follow(self, operator: Operator, index: int) -> None:
        if index >= len(operator.parameters):
            raise Withheld(f"what `{operator.name}` takes cannot be told")
        if (operator, index) not in self.converted:
            self.converted.append((operator, index))
            self._waiting.append((operator, index))

    def _edit(self, node: ast.AST | Span, text: str) -> None:
        if self._ctx.text(node) != text:
            self._edits[self._ctx.replace(node, text)] = None

    def _parameter(self, operator: Operator, index: int) -> None:
        name = operator.parameters[index]
        if operator.unfollowed:
            lines = ", ".join(str(node.lineno) for node in operator.unfollowed)  # type: ignore[attr-defined]
            raise Withheld(
                f"`{operator.name}` is also used in line {lines}, in a way that cannot be followed"
            )
        new = self._new_name(operator, index, name)
        if operator.schema is not None:
            self._schema(operator.schema, name, new)
        for function in operator.functions:
            self._in_function(function, index, name, new)
        for setup in operator.setups:
            self._in_setup(operator, setup, index, name, new)
        for call, _ in operator.calls:
            self._in_call(operator, call, index, name, new)

    def _schema(self, schema: ast.Constant, name: str, new: str) -> None:
        """``str group_name`` → ``Any group``: of the types that a schema can spell, `Any` takes an object."""
        text = self._ctx.text(schema)
        old = f"str {name}"
        if text.count(old) != 1 or text[text.index(old) + len(old)].isidentifier():
            raise Withheld(f"the schema in line {schema.lineno} does not say `{old}` once")
        start = self._ctx.source.span(schema).start + len(text[: text.index(old)].encode())
        self._edit(Span(start, start + len(old.encode())), f"Any {new}")

    def _in_function(self, function: Function, index: int, name: str, new: str) -> None:
        own = parameters(function)
        if function.args.vararg or function.args.kwarg or index >= len(own):
            raise Withheld(f"the function in line {function.lineno} does not list its parameters")
        parameter = own[index]
        if parameter in with_default(function):
            raise Withheld(f"`{parameter.arg}` has a default in line {parameter.lineno}")
        if parameter.annotation is not None and not is_name(parameter):
            raise Withheld(f"`{parameter.arg}` is not annotated as a string in line {parameter.lineno}")
        looked_up = [*self._looked_up(function, index), parameter.arg]
        text = new if parameter.arg == name else looked_up[0]
        self._edit(parameter, f"{text}: {self._annotation}" if parameter.annotation is not None else text)
        for operator in self._operators.values():
            if function in operator.functions:
                self._follow(operator, index)
        for read in self._reads(function, parameter.arg):
            self._convert(read, text)

    def _reads(self, function: Function, name: str, stores: int = 0) -> Iterator[ast.Name]:
        """The reads of a variable in a function; Withheld if it is bound oftener than said, or hidden by another."""
        found = named(function, name)
        bound = [node for node in found if not isinstance(node.ctx, ast.Load)]
        hidden = [
            inner
            for node in inside(function)
            if isinstance(node, FUNCTION)
            for inner in parameters(node)
            if inner.arg == name
        ]
        if len(bound) != stores or hidden:
            raise Withheld(f"`{name}` has more than one meaning in the function in line {function.lineno}")
        yield from (node for node in found if isinstance(node.ctx, ast.Load))

    def _convert(self, read: ast.expr, text: str) -> None:
        """Puts the group, written as ``text``, where a name is read."""
        if not is_located(read, self._parents):
            raise Withheld(f"`{self._ctx.text(read)}` stands in a string in line {read.lineno}")
        call = self._call_with(read)
        if call is not None and self._callee(call) in RESOLVE:
            self._resolved(call, text)
            return
        if call is not None and call in self._calls:
            self._follow(self._calls[call], self._index_in(call, read))
        elif not self._means_group(read):
            raise Withheld(f"`{self._ctx.text(read)}` is used as a name in line {read.lineno}")
        self._edit(read, text)

    def _resolved(self, call: ast.Call, text: str) -> None:
        """Takes a look-up away, and the whole assignment of its result where the parameter has that name now."""
        parent = self._parents[call]
        target = _sole_target(parent)
        if not (isinstance(target, ast.Name) and target.id == text):
            self._edit(call, text)
            return
        place = next(place for place in self._ctx.uses.scopes.places if place.statement is parent)
        removed = self._ctx.blocks.removed(place)
        if isinstance(removed, str):
            raise Withheld(removed)
        self._edits.update(dict.fromkeys(removed))

    def _in_setup(self, operator: Operator, setup: Function, index: int, name: str, new: str) -> None:
        own = [parameter.arg for parameter in parameters(setup)]
        if len(own) != 3 or isinstance(setup, ast.Lambda):
            raise Withheld(f"the function in line {setup.lineno} is not of the form `(ctx, inputs, output)`")
        for read in self._reads(setup, own[1]):
            parent = self._parents[read]
            if isinstance(parent, ast.Assign) and parent.value is read and len(parent.targets) == 1:
                self._unpacked(operator, setup, parent.targets[0], index, name, new)
            elif isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
                if parent.slice.value == index:
                    self._keep(operator, setup, parent, self._ctx.text(parent), name, new)
            else:
                raise Withheld(f"`{own[1]}` cannot be followed in line {read.lineno}")

    def _unpacked(
        self, operator: Operator, setup: Function, target: ast.expr, index: int, name: str, new: str
    ) -> None:
        """``_, _, group_name = inputs``."""
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if index >= len(elements) or any(isinstance(element, ast.Starred) for element in elements):
            raise Withheld(f"`{self._ctx.text(target)}` cannot be followed in line {target.lineno}")
        variable = elements[index]
        if isinstance(variable, ast.Attribute) and is_context(variable.value, setup):
            self._kept(operator, variable, name, new)
        elif not isinstance(variable, ast.Name):
            raise Withheld(f"`{self._ctx.text(variable)}` cannot be followed in line {target.lineno}")
        elif variable.id != "_":
            text = new if variable.id == name and not spells(setup, new) else variable.id
            reads = list(self._reads(setup, variable.id, stores=1))
            self._edit(variable, text)
            for read in reads:
                self._keep(operator, setup, read, text, name, new)

    def _keep(
        self, operator: Operator, setup: Function, read: ast.expr, text: str, name: str, new: str
    ) -> None:
        """``ctx.group_name = group_name``."""
        parent = self._parents[read]
        target = _sole_target(parent)
        if isinstance(target, ast.Attribute) and is_context(target.value, setup):
            self._edit(read, text)
            self._kept(operator, target, name, new)
        else:
            self._convert(read, text)

    def _kept(self, operator: Operator, target: ast.Attribute, name: str, new: str) -> None:
        """Renames an attribute of the context that the group is kept in, and follows what reads it."""
        functions = [*operator.setups, *operator.backwards]
        attributes = [
            node
            for function in functions
            for node in inside(function)
            if isinstance(node, ast.Attribute) and is_context(node.value, function)
        ]
        taken = any(node.attr == new for node in attributes)
        kept = new if target.attr == name and not taken else target.attr
        for node in attributes:
            if node.attr == target.attr:
                written = f"{self._ctx.text(node.value)}.{kept}"
                if isinstance(node.ctx, ast.Load):
                    self._convert(node, written)
                elif node is target:
                    self._edit(node, written)
                else:
                    raise Withheld(f"`{self._ctx.text(node)}` is given another value in line {node.lineno}")

    def _in_call(self, operator: Operator, call: ast.Call, index: int, name: str, new: str) -> None:
        given = argument(call, index, name)
        if given is None:
            raise Withheld(f"the call in line {call.lineno} does not list its arguments")
        for keyword in call.keywords:
            if keyword.arg == name:
                start = self._ctx.source.span(keyword).start
                self._edit(Span(start, start + len(name.encode())), new)
        self._claim(given)

    def _index_in(self, call: ast.Call, given: ast.expr) -> int:
        """The parameter that an argument of an operator's call is for."""
        names = self._calls[call].parameters
        for index, name in enumerate(names):
            if argument(call, index, name) is given:
                return index
        raise Withheld(f"the call in line {call.lineno} does not list its arguments")

    def _claim(self, node: ast.expr) -> None:
        """Puts the group where a caller hands over a name."""
        scope = self._scope_of(node)
        if self._is_parameter(node) or self._is_kept(node):
            return
        if not is_located(node, self._parents):
            raise Withheld(f"the call in line {node.lineno} stands in a string")
        name = name_of_group(node, scope, self._ctx)
        if name is None and isinstance(node, ast.Name):
            value = self._ctx.uses.flow.definition(node, scope)
            owner = scope.find(node.id)
            found = (
                name_of_group(value, owner, self._ctx) if value is not None and owner is not None else None
            )
            if found is not None and is_stable(found, node, self._ctx):
                name = found
                self._variables.setdefault(found.node, []).append(node)
        if name is None:
            text = self._ctx.text(node)
            raise Withheld(
                f"line {node.lineno} hands over `{text}`, and the group that it names is not in sight"
            )
        if name.doubt is not None:
            raise Withheld(f"in line {node.lineno}, {name.doubt}")
        self._edit(node, name.text(self._ctx, self._parents[node]))

    def _is_parameter(self, node: ast.expr) -> bool:
        """Whether a value is a parameter of an operator itself, which becomes a group then."""
        function = self._around(node)
        while isinstance(node, ast.Name) and function is not None:
            names = [parameter.arg for parameter in parameters(function)]
            if node.id in names:
                owners = [o for o in self._operators.values() if function in o.functions]
                for operator in owners:
                    self._follow(operator, names.index(node.id))
                return bool(owners)
            function = self._around(function)
        return False

    def _is_kept(self, node: ast.expr) -> bool:
        """Whether a value is ``ctx.x`` in the backward function of an operator, kept from one of its parameters."""
        function = self._around(node)
        if not isinstance(node, ast.Attribute) or function is None or not is_context(node.value, function):
            return False
        for operator in self._operators.values():
            for setup in operator.setups if function in (*operator.backwards, *operator.setups) else ():
                index = self._kept_from(setup, node.attr)
                if index is not None:
                    self._follow(operator, index)
                    return True
        return False

    def _kept_from(self, setup: Function, attribute: str) -> int | None:
        """The input that a setup function keeps in an attribute."""
        position: dict[str, int] = {}
        for node in inside(setup):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target, value = node.targets[0], node.value
            if isinstance(target, (ast.Tuple, ast.List)):
                for index, element in enumerate(target.elts):
                    if isinstance(element, ast.Name):
                        position[element.id] = index
                    elif isinstance(element, ast.Attribute) and element.attr == attribute:
                        return index
            elif isinstance(target, ast.Attribute) and target.attr == attribute:
                if isinstance(value, ast.Name):
                    return position.get(value.id)
                if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
                    return value.slice.value if isinstance(value.slice.value, int) else None
        return None

    def _new_name(self, operator: Operator, index: int, name: str) -> str:
        """What the parameter is called: as the result of the look-up is, else its name without ``_name``."""
        wanted = [target for f in operator.functions for target in self._looked_up(f, index)]
        for new in dict.fromkeys((*wanted[:1], name.removesuffix("_name"), "process_group", "pg")):
            if new == name or all(
                not spells(f, new) or list(self._looked_up(f, index)) == [new] for f in operator.functions
            ):
                return new
        return name

    def _looked_up(self, function: Function, index: int) -> Iterator[str]:
        """The variables of a function that are given the group which its parameter names, if bound only once."""
        own = parameters(function)
        for read in named(function, own[index].arg) if index < len(own) else ():
            call = self._call_with(read)
            statement = self._parents[call] if call is not None else None
            target = _sole_target(statement)
            if call is None or not isinstance(target, ast.Name) or self._callee(call) not in RESOLVE:
                continue
            if self._is_bound_once(function, target.id):
                yield target.id

    def _is_bound_once(self, function: Function, name: str) -> bool:
        bound = [node for node in named(function, name) if not isinstance(node.ctx, ast.Load)]
        outside = any(isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names for n in inside(function))
        inner = [
            p.arg for n in (function, *inside(function)) if isinstance(n, FUNCTION) for p in parameters(n)
        ]
        return len(bound) == 1 and not outside and name not in inner

    def _call_with(self, read: ast.expr) -> ast.Call | None:
        """The call that a value is an argument of."""
        parent = self._parents[read]
        call = self._parents[parent] if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) and call.func is not read else None

    def _callee(self, call: ast.Call) -> str:
        resolved = self._ctx.uses.names.resolve(call.func, self._scope_of(call))
        return resolved.names[0] if resolved is not None and resolved.certain else ""

    def _around(self, node: ast.AST) -> Function | None:
        """The innermost function around a node."""
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, FUNCTION):
            parent = self._parents.get(parent)
        return parent

    def _scope_of(self, node: ast.AST) -> Scope:
        while node not in self._scopes:
            node = self._parents[node]
        return self._scopes[node]


def _sole_target(statement: ast.AST | None) -> ast.expr | None:
    """What an assignment gives its value to, if that is one thing."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    return statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
