"""Nothing is collected that no rule judges: for each field of the facts a change of it, and what is then said."""

from __future__ import annotations

import copy
import dataclasses
import json
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from tests.probe.conftest import FIXTURES
from torchmigrate.probe import machine_facts as facts_format
from torchmigrate.probe.machine_facts import MachineFacts, parse_facts
from torchmigrate.probe.verdict import MachineVerdict, judge_machine

IDENTIFIES = {
    "gpus.memory_mib": "which of two cards of one name it is: reports show it, and a fleet tells machines apart by it",
    "format": "how the others are to be read",
}
"""The fields that a reader needs and no rule judges."""

JUDGED: dict[str, tuple[str, Any, str]] = {
    "platform.system": ("20-h200", "Windows", "RT032"),
    "platform.machine": ("20-h200", "i686", "RT011"),
    "platform.glibc": ("20-h200", "2.17", "RT011"),
    "platform.macos": ("24-macos-15", "13.6", "RT011"),
    "platform.wsl": ("01-driver-too-old", True, "RT012"),
    "platform.jetson": ("08-orin-jetpack6", None, "RT028"),
    "platform.container": ("38-no-driver", True, "RT019"),
    "python.version": ("20-h200", "3.9.1", "RT010"),
    "python.bits": ("20-h200", 32, "RT011"),
    "python.pip": ("20-h200", False, "RT032"),
    "python.manager": ("20-h200", "poetry", "RT032"),
    "python.managed": ("20-h200", True, "RT032"),
    "python.free_threaded": ("20-h200", True, "RT010"),
    "python.failure": ("20-h200", "exit status 1", "RT001"),
    "torch.version": ("32-companions", "2.9.1+cu128", "RT008"),
    "torch.cuda": ("02-driver-of-12.2", "12.8", "RT012"),
    "torch.hip": ("41-mi300-2.9", "6.4", "RT027"),
    "torch.xpu": ("41-mi300-2.9", "20250101", "RT035"),
    "torch.compiled": ("20-h200", ["sm_75"], "RT021"),
    "torch.requires": ("67-cudnn-shadowed", ["nvidia-cudnn-cu13==9.1.1.17"], "RT036"),
    "torch.installer": ("20-h200", "conda", "RT032"),
    "torch.new_abi": ("81-flash-attn", False, "RT041"),
    "torch.imported.outcome": ("20-h200", "killed", "RT005"),
    "torch.imported.detail": ("44-import-raises", "ModuleNotFoundError: No module named 'sympy'", "RT003"),
    "torch.imported.guilty": ("116-numpy-crashes", None, "RT005"),
    "torch.imported.available": ("20-h200", False, "RT034"),
    "torch.imported.device_count": ("20-h200", 2, "RT034"),
    "torch.imported.nccl": ("66-older-cudnn", "2.29.7", "RT036"),
    "torch.imported.cudnn": ("66-older-cudnn", "92000", "RT036"),
    "torch.imported.mps": ("24-macos-15", False, "RT034"),
    "torch.imported.metal": ("24-macos-15", False, "RT031"),
    "torch.imported.torchcomms_on": ("20-h200", True, "RT029"),
    "torch.imported.warnings": ("20-h200", ["CUDA: something"], "RT042"),
    "packages": ("20-h200", {"torchtext": "0.18.0"}, "RT009"),
    "requires": ("20-h200", {"torchrec": "torch==2.4.0"}, "RT008"),
    "extensions.distribution": ("10-extension-cu12", "torchvision", "RT007"),
    "extensions.version": ("10-extension-cu12", "0", "RT007"),
    "extensions.cuda": ("10-extension-cu12", "13", "RT007"),
    "extensions.torch": ("81-flash-attn", "2.9", "RT041"),
    "extensions.new_abi": ("81-flash-attn", True, "RT041"),
    "extensions.linked": ("82-torch-scatter", True, "RT041"),
    "extensions.missing": ("81-flash-attn", [], "RT041"),
    "gpus.name": ("28-p100", "Tesla P40", "RT022"),
    "gpus.vendor": ("65-arc-cuda-wheel", "nvidia", "RT035"),
    "gpus.capability": ("20-h200", "6.0", "RT021"),
    "gpus.mig": ("61-sees-seven-of-eight", True, "RT034"),
    "driver.version": ("01-driver-too-old", "580.95.05", "RT012"),
    "driver.cuda": ("79-a100-driver-550", "13.2", "RT012"),
    "driver.init": ("20-h200", 999, "RT018"),
    "driver.init_failure": ("20-h200", "SIGSEGV", "RT018"),
    "driver.compat": ("80-compat-mismatch", False, "RT013"),
    "driver.mismatch": ("20-h200", True, "RT013"),
    "driver.bus_devices": ("38-no-driver", 0, "RT019"),
    "driver.sources.name": ("46-sources-disagree", "nvml", "RT014"),
    "driver.sources.version": ("20-h200", "1.2.3", "RT014"),
    "driver.sources.failure": ("45-smi-hangs", None, "RT015"),
    "devices.name": ("70-no-uvm", "nvidiactl", "RT038"),
    "devices.state": ("70-no-uvm", "denied", "RT038"),
    "shadowing": ("20-h200", ["stubs/libcuda.so"], "RT037"),
    "rocm": ("64-mi300-cuda-wheel", "7.1.0", "RT031"),
    "environment": ("20-h200", {"CUDA_VISIBLE_DEVICES": ""}, "RT020"),
}
"""Field → a situation, another value, and the code of the finding that comes, goes or says something else by it.

In a list it is the last item that is changed.
"""


def fields(kind: Any, where: str = "") -> Iterator[str]:
    """The paths of all fields that hold no others."""
    for name, hint in typing.get_type_hints(kind).items():
        inner = next((a for a in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(a)), None)
        path = f"{where}{name}"
        yield from fields(inner, f"{path}.") if inner else (path,)


def test_the_list_has_every_field() -> None:
    assert sorted(fields(MachineFacts)) == sorted({*JUDGED, *IDENTIFIES})


def verdict(data: Any, target: str) -> tuple[MachineVerdict, set[tuple[str, str, str | None]]]:
    found = judge_machine(parse_facts(data), target)
    return found, {(f.code, f.message, f.hint) for f in found.findings}


@pytest.mark.parametrize("path", JUDGED)
def test_a_field_is_judged(path: str) -> None:
    name, value, code = JUDGED[path]
    data = json.loads((FIXTURES / f"{name}.facts.json").read_text("utf-8"))
    target = json.loads((FIXTURES / f"{name}.expected.json").read_text("utf-8"))["target"]
    changed = copy.deepcopy(data)
    *folders, last = path.split(".")
    place = changed
    for folder in folders:
        place = place.setdefault(folder, {})
        place = place[-1] if isinstance(place, list) else place
    place[last] = value
    before, after = verdict(data, target)[1], verdict(changed, target)[1]
    assert code in {finding[0] for finding in before ^ after}


def test_what_only_identifies_is_shown() -> None:
    from torchmigrate.probe.verdict_text import render_plain

    shown = verdict(json.loads((FIXTURES / "20-h200.facts.json").read_text("utf-8")), "2.15")[0]
    assert "140 GiB" in render_plain(shown, ())
    assert facts_format.FACTS_FORMAT == 1
