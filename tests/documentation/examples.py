"""One example of each change that a fix can say, as its author writes it, with what it does.

In an example, `statements` are those of the text, `statement` is the first of them, and `call` the first call.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from tests.rewrite.support import changed, every
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite import changes
from torchmigrate.text.source_text import SourceText


class Example(NamedTuple):
    """A text, and a change of it."""

    before: str
    code: str

    def change(self, source: SourceText) -> FixChange:
        """The change of the text as ``source``."""
        statements = source.syntax_tree.body
        known: dict[str, Any] = {**vars(changes), "statements": statements, "statement": statements[0]}
        known["call"] = next(iter(every(source, ast.Call)), None)
        made = eval(self.code, known)
        assert isinstance(made, FixChange)
        return made

    @property
    def after(self) -> str:
        """What the change makes of the text, proved to have changed nothing else."""
        return changed(self.before, self.change)


EXAMPLES = {
    "Replace": Example("old(m, x)  # why\n", 'replace(call, "{m}.new({x})", m=call.args[0], x=call.args[1])'),
    "Rename": Example("f(x, size=2)\n", 'Rename(call.keywords[0], "length")'),
    "DropArguments": Example("f(x, y, z=1)\n", "DropArguments(call, (call.args[1], call.keywords[0]))"),
    "AddArgument": Example("f(x)\n", 'AddArgument(call, template("True"), keyword="dynamo")'),
    "NameArgument": Example("f(x, y)\n", 'NameArgument(call.args[1], "group")'),
    "DropOperands": Example("a and b and c\n", "DropOperands(statement.value, (statement.value.values[1],))"),
    "DropItems": Example("with a, b:\n    f()\n", "DropItems(statement, (statement.items[0],))"),
    "Annotate": Example("n = 1\n", 'Annotate(statement, template("int"))'),
    "RemoveDecorator": Example(
        "@old\ndef f(): ...\n", "RemoveDecorator(statement, statement.decorator_list[0])"
    ),
    "AddDecorator": Example("def f(): ...\n", 'AddDecorator(statement, template("d"))'),
    "AddParameters": Example("def f(x): ...\n", 'AddParameters(statement, template("def _(y=1): ..."))'),
    "Remove": Example("old()\nf()\n", "Remove(statement)"),
    "Unwrap": Example("with old():\n    f()\n", "Unwrap(statement, statement.body)"),
    "Decide": Example("if old():\n    f()\nelse:\n    g()\n", "Decide(statement, False)"),
    "Insert": Example("f()\n", 'Insert(statement, template("g()"), after=True)'),
    "ReplaceStatement": Example(
        "old(x)\n", 'ReplaceStatement(statement, template("y = {x}\\nf(y)", x=call.args[0]))'
    ),
    "Merge": Example(
        "f(x)\nf(y)\n",
        'Merge((statements[0], statements[1]), template("f_all([\\n    {a},\\n    {b},\\n])", '
        'a=template("{x}", x=statements[0].value.args[0]), b=template("{y}", y=statements[1].value.args[0])))',
    ),
    "Declare": Example("class C:\n    x = 1\n", 'Declare(statement, template("y: int"))'),
    "RenameFile": Example('save("m.pt")\n', 'RenameFile(call.args[0], ".pt2")'),
    "Reword": Example('f("op(str name)")\n', 'Reword(call.args[0], "str name", "Group group")'),
    "AddImport": Example("import torch\n", 'AddImport("typing", "Final")'),
    "ExtendImport": Example("from a import b\n", 'ExtendImport(statement, "c")'),
    "DropImports": Example("from a import b, c\n", "DropImports(statement, (statement.names[0],))"),
    "Rebind": Example("from a import b, c\n", 'Rebind(statement, statement.names[0], "typing", "b")'),
    "MoveImport": Example("from a import b, c\n", 'MoveImport(statement, "d")'),
}
"""By the name of the class."""
