"""What a finding without a fix says of the reason."""

from __future__ import annotations

import re

import pytest

from tests.support import check_text
from torchmigrate.engine.registry import load_rules
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import render_version

FLAGS = ("--unsafe", "--min-version", "2.12")
RETURNED = "the result is returned, and the callers of this function are not analyzed"
EITHER = """
    if flag:
        scripted = torch.jit.script(model)
    else:
        scripted = torch.jit.trace(model, x)
    {use}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return torch.jit.trace(model, x)", RETURNED),
        ("return model, torch.jit.trace(model, x)", RETURNED),
        ("return torch.jit.trace(model, x) if flag else model", RETURNED),
        (EITHER.format(use="torch.jit.save(scripted, path)\n    return scripted"), RETURNED),
        (EITHER.format(use="return scripted, 1"), RETURNED),
        (
            EITHER.format(use="scripted(x)"),
            "line 5 gives the variable another value in another branch; use a variable for each",
        ),
    ],
)
def test_where_a_result_goes(body: str, reason: str) -> None:
    text = f"import torch\ndef f(model, x, flag, path):\n    {body}\n"
    assert [f.withheld for f in check_text(text, *FLAGS) if f.code == "TS102"] == [reason]


def test_a_fork_waits_for_what_is_scripted() -> None:
    text = "import torch\n\ndef run(f):\n    torch.jit.wait(torch.jit.fork(f))\n\ndef make(m):\n    return torch.jit.script(m)\n"
    first, *_ = check_text(text, *FLAGS)
    assert first.code == "TS131"
    assert first.withheld is not None
    assert first.withheld.startswith(
        "TorchScript runs forked calls concurrently; waits for `torch.jit.script`"
    )


@pytest.mark.parametrize("rule", load_rules().values(), ids=lambda rule: rule.code)
def test_a_message_names_versions_that_the_rule_has(rule: Rule) -> None:
    named = set(re.findall(r"{(\w+)}", rule.message)) - {"symbol"}
    assert all(getattr(rule, name) for name in named)
    versions = {render_version(version) for version in (rule.deprecated, rule.breaks) if version is not None}
    repeated = versions.intersection(re.findall(r"since torch (\d+\.\d+)", rule.message))
    assert rule.family != "torchscript" or not repeated, "say {deprecated} or {breaks}"


def test_the_versions_of_a_rule_stand_in_its_messages() -> None:
    (found,) = (f for f in check_text("import torch\n@torch.jit.interface\nclass C: ...\n", *FLAGS))
    assert found.message.startswith(
        "`torch.jit.interface` has been deprecated since torch 2.11 and means nothing"
    )
