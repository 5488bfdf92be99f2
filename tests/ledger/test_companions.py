"""The packages that are released along with torch: which release belongs to which torch, and what was read in them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from packaging.version import Version

from tools.api import companions, model_weights, reading
from tools.api.companions import Upload
from tools.api.source import Source
from torchmigrate.cli import ledger_text
from torchmigrate.model.torch_versions import render_version
from torchmigrate.tables import api_changes, api_ledger, companion_releases, torch_builds
from torchmigrate.tables.model_weights import load_addresses, load_arguments
from torchmigrate.tables.release_sets import RELEASES


def upload(version: str, date: str) -> Upload:
    time = datetime.datetime.fromisoformat(f"{date}T12:00:00+00:00")
    return Upload(Version(version), f"https://example.org/{version}-cp312-cp312-manylinux_x86_64.whl", time)


TORCH = [upload("2.2.0", "2024-01-30"), upload("2.3.0", "2024-04-24"), upload("2.4.0", "2024-07-24")]


def test_a_release_belongs_to_the_torch_that_was_new() -> None:
    wheels = [
        upload("0.17.0", "2024-01-29"),
        upload("0.17.2", "2024-03-27"),
        upload("0.18.0", "2024-04-24"),
        upload("0.18.1", "2024-06-05"),
    ]
    joined = companions.join("torchvision", wheels, TORCH)
    assert {minor: str(source.version) for minor, source in joined.items()} == {
        (2, 2): "0.17.2",
        (2, 3): "0.18.1",
        (2, 4): "0.18.1",
    }


def test_a_package_that_ended_belongs_to_no_later_torch() -> None:
    joined = companions.join(
        "torchtext", [upload("0.17.0", "2024-01-30"), upload("0.18.0", "2024-04-24")], TORCH
    )
    assert list(joined) == [(2, 2), (2, 3)]


def test_the_releases_are_those_that_require_that_torch() -> None:
    for package in ("torchvision", "torchaudio"):
        for release in RELEASES:
            wheel = torch_builds.find_companion_release(package, render_version(release))
            assert wheel is not None
            assert companion_releases.find_release(package, release) == ".".join(wheel.split(".")[:2])


def test_releases_are_written_with_both_versions() -> None:
    assert companion_releases.render_release("torchvision.io", (2, 9)) == "torchvision 0.24 (torch 2.9)"
    assert companion_releases.render_release("torchaudio.info", (2, 9)) == "torchaudio 2.9"
    assert companion_releases.render_release("torchtext.data", (2, 9)) == "torch 2.9"
    assert companion_releases.render_release("torch.load", (2, 9)) == "torch 2.9"
    assert companion_releases.render_range("torch.load", (2, 0), (2, 9)) == "torch 2.0 to 2.9"
    assert companion_releases.render_range("torchaudio.io", (2, 0), (2, 8)) == "torchaudio 2.0 to 2.8"
    assert (
        companion_releases.render_range("torchvision.x", (2, 0), (2, 1))
        == "torchvision 0.15 to 0.16 (torch 2.0 to 2.1)"
    )
    assert (
        companion_releases.render_range("torchdata.x", (2, 1), (2, 3)) == "torchdata 0.7 (torch 2.1 to 2.3)"
    )
    assert companion_releases.find_torch("torchvision", (0, 13)) == (1, 12)
    assert companion_releases.find_torch("torchvision", (0, 99)) is None


def test_the_ledger_has_their_names() -> None:
    lost = {
        name
        for level in api_ledger.LEVELS
        for name in api_ledger.find_lost_names(level)
        if companion_releases.find_package(name)
    }
    assert len(lost) > 1000
    assert {"torchaudio.list_audio_backends", "torchvision.transforms.functional_tensor"} <= lost
    entry = api_ledger.find_entry("torchaudio.info")
    assert entry is not None
    assert str(entry.present) == "2.0 to 2.8"
    history = ledger_text.NameHistory("torchaudio.info", entry, api_changes.find_changes("torchaudio.info"))
    assert "torchaudio 2.0 to 2.8" in ledger_text.render_text([history])


def test_a_change_of_a_companion_was_read_in_its_wheels() -> None:
    """Before torch 2.0, a name must be absent from the ledger; after, `tests/test_changes` compares the releases."""
    for kind in (api_changes.ApiChangeKind.REMOVED,):
        for change in api_changes.load_changes(kind):
            for symbol in change.symbols:
                if not companion_releases.find_package(symbol) or change.gone is None or change.gone > (2, 0):
                    continue
                entry = api_ledger.find_any_entry(symbol.removesuffix(".*"))
                assert entry is None or not any(release >= change.gone for release in entry.present), symbol


def test_modules_that_only_meta_has_are_not_read(tmp_path: Path) -> None:
    files = {
        "torchvision/io/__init__.py": "try:\n    from pytorch.vision import read_video\nexcept ImportError:\n    pass\n",
        "torchvision/io/video.py": "import os\nfrom pytorch.vision.video import read_video\n",
    }
    assert reading.read_files("a wheel", files.items()).keys() == {"torchvision.io"}


BUILDERS = """
from .weights import A_Weights, Q_Weights

@handle_legacy_interface(weights=("pretrained", A_Weights.V1), weights_backbone=("pretrained_backbone", None))
def a(*, weights=None): ...

@handle_legacy_interface(
    weights=("pretrained", lambda kwargs: Q_Weights.V8 if kwargs.get("quantize", False) else A_Weights.V1)
)
def b(*, weights=None): ...

@handle_legacy_interface(weights=("pretrained", lambda kwargs: find(kwargs["name"])["V1"]))
def c(*, weights=None): ...
"""


def test_the_weights_of_a_model_are_those_of_its_decorator(tmp_path: Path) -> None:
    for folder, files in {
        "new": {"__init__": "from .nets import *\n", "nets": BUILDERS, "weights": "class A_Weights: ...\n"},
        "old": {
            "__init__": "",
            "nets": 'from .weights import A_Weights\nmodel_urls = _ModelURLs({"a": A_Weights.V1.url})\n',
        },
    }.items():
        for name, text in files.items():
            path = tmp_path / folder / "torchvision" / "models" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    new, old = (Source(Version("0.1"), str(tmp_path / folder), "torchvision") for folder in ("new", "old"))
    model_weights.write(new, old, tmp_path / "weights.json")
    assert json.loads((tmp_path / "weights.json").read_text()) == {
        "builders": [
            {
                "names": ["torchvision.models.a", "torchvision.models.nets.a"],
                "arguments": [
                    {"old": "pretrained", "new": "weights", "weights": "V1"},
                    {"old": "pretrained_backbone", "new": "weights_backbone"},
                ],
            },
            {
                "names": ["torchvision.models.b", "torchvision.models.nets.b"],
                "arguments": [{"old": "pretrained", "new": "weights", "weights": "V1", "quantized": "V8"}],
            },
            {
                "names": ["torchvision.models.c", "torchvision.models.nets.c"],
                "arguments": [{"old": "pretrained", "new": "weights", "weights": "V1"}],
            },
        ],
        "urls": [
            {
                "name": "torchvision.models.nets.model_urls",
                "weights": {"a": "torchvision.models.A_Weights.V1"},
            }
        ],
    }


def test_every_model_and_its_weights_are_there() -> None:
    names = [name for name in load_arguments() if name.count(".") == 2]
    assert len(names) > 70
    for name in (
        *load_arguments(),
        *(one.rpartition(".")[0] for of in load_addresses().values() for one in of.values()),
    ):
        entry = api_ledger.find_any_entry(name)
        assert entry is not None, name
        assert RELEASES[-1] in entry.present
