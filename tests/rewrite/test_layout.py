"""Lines that became too long."""

from __future__ import annotations

from torchmigrate.rewrite.changes import AddArgument, template
from torchmigrate.text.source import Source

from .support import call, changed


def test_a_call_that_is_a_statement_is_broken_within_its_block() -> None:
    def longer(source: Source) -> AddArgument:
        return AddArgument(call(source, "function"), template("'" + 60 * "x" + "'"), "added")

    before = "class C:\n    def f(self):\n        function(argument_one)\n"
    lines = ["function(", "    argument_one,", f"    added='{60 * 'x'}',", ")"]
    after = "".join(f"        {line}\n" for line in lines)
    assert changed(before, longer) == f"class C:\n    def f(self):\n{after}"
