"""What the engine asks of rules beyond findings."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.context import Context, Options
from torchmigrate.engine import Engine
from torchmigrate.findings import Finding
from torchmigrate.project import Project
from torchmigrate.rule import Rule
from torchmigrate.uses import Use


def test_what_a_rule_notes_in_one_file_is_known_in_all() -> None:
    rule = Rule(code="XX101", symbols=("torch.jit.load",), asks=("torch.jit.save",))

    @rule.note
    def note(use: Use, ctx: Context) -> Iterator[str]:
        if use.call is not None and len(use.call.args) > 2:
            yield "saves with many arguments"

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        if ctx.project.uses("saves with many arguments"):
            yield ctx.finding(use, "saved elsewhere")

    engine = Engine([rule], Options((2, 15), (2, 0)), selects=lambda code, path: path == "b.py")
    project = Project()
    a = b"import torch\ntorch.jit.save(m, f, extra)\n"
    b = b"import torch\ntorch.jit.load(f)\n"
    assert not engine.scan("b.py", b, project).result.findings
    project.mention(engine.scan("a.py", a, project).mentions)
    assert [m.line for m in project.uses("saves with many arguments")] == [2]
    (finding,) = engine.scan("b.py", b, project).result.findings
    assert finding.message == "saved elsewhere"
