"""The versions of torch that reach a use, by the conditions around it."""

from __future__ import annotations

import pytest

from tests.support import check_text

BEFORE_2_14 = [
    'torch.__version__ < "2.14"',
    "torch.__version__ < (2, 14)",
    'not torch.__version__ >= "2.14"',
    '"2.14" > torch.__version__',
    'version.parse(torch.__version__) < version.parse("2.14.0")',
    'version.parse(torch.__version__.split("+")[0]) < version.parse("2.14.0")',
    'Version(importlib.metadata.version("torch")) < Version("2.14")',
    "tuple(int(x) for x in torch.__version__.split('.')[:2]) < (2, 14)",
    'torch.__version__ <= "2.13"',
    '"2.0" <= torch.__version__ < "2.14"',
    "not _TORCH_GREATER_EQUAL_2_14",
    "not is_torch_at_least_2_14()",
    'not is_torch_version(">=", "2.14")',
    'is_torch_version("<", "2.14")',
    "not pytorch_after(2, 14)",
    'not compare_version("torch", operator.ge, "2.14.0")',
    'not RequirementCache("torch>=2.14")',
    "TORCH_VERSION < (2, 14)",
    "flag and TORCH_MAJOR < 2",
]
OTHERS = [
    'torch.__version__ >= "2.14"',
    "torch.cuda.is_available()",
    "_TORCH_GREATER_EQUAL_2_4",
    'is_torch_version(">=", "2.14")',
    'flag or torch.__version__ < "2.14"',
    'other.__version__ < "2.14"',
]
IN_BODY = "import torch\nif {test}:\n    torch.qr(x)\n"
IN_ELSE = "import torch\nif not ({test}):\n    pass\nelse:\n    torch.qr(x)\n"
EARLY = "import torch\ndef f(x):\n    if not ({test}):\n        return x\n    return torch.qr(x)\n"
EXPRESSION = "import torch\ny = torch.qr(x) if {test} else x\n"
CONSTANT = "import torch\nOLD = {test}\ndef f(x):\n    if OLD:\n        return torch.qr(x)\n"


def found(text: str) -> bool:
    """Whether the use is reported."""
    return "RM701" in [finding.code for finding in check_text(text)]


@pytest.mark.parametrize("test", BEFORE_2_14)
def test_an_arm_that_the_target_does_not_reach_is_silent(test: str) -> None:
    assert not any(found(form.format(test=test)) for form in (IN_BODY, IN_ELSE, EARLY, EXPRESSION, CONSTANT))


@pytest.mark.parametrize("test", OTHERS)
def test_any_other_is_not(test: str) -> None:
    assert all(found(form.format(test=test)) for form in (IN_BODY, IN_ELSE, EARLY, EXPRESSION, CONSTANT))
