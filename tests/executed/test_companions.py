"""Fixes of torchvision's and torchaudio's names, executed where these packages are installed."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import fix_text
from torchmigrate.tables import api_changes
from torchmigrate.tables.api_changes import ApiChangeKind
from torchmigrate.tables.model_weights import load_addresses, load_arguments

torch = pytest.importorskip("torch")


class Loaded(Exception):
    """Raised instead of loading weights; has those that were asked for."""


@pytest.fixture
def vision(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Provide torchvision, whose models raise `Loaded` instead of being built."""
    torchvision = pytest.importorskip("torchvision")

    enumeration = torchvision.models._api.WeightsEnum
    verify = enumeration.verify.__func__

    def load(cls: Any, weights: Any) -> None:
        raise Loaded(verify(cls, weights))

    monkeypatch.setattr(enumeration, "verify", classmethod(load))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield torchvision


def find_loaded(build: Callable[[], object]) -> object:
    try:
        build()
    except Loaded as loaded:
        return loaded.args[0]
    return None


@pytest.mark.parametrize("name", sorted(name for name in load_arguments() if name.count(".") == 2))
def test_a_model_gets_the_same_weights(name: str, vision: Any) -> None:
    (argument,) = load_arguments()[name]
    build = getattr(vision.models, name.rpartition(".")[2])
    code = f"import torchvision\n\nmodel = torchvision.models.{build.__name__}(pretrained=True)\n"
    if argument.weights is None:
        with pytest.raises(ValueError, match="No weights"):
            build(pretrained=True)
        return
    fixed = fix_text(code)
    assert "weights=" in fixed
    before, after = (find_loaded(lambda text=text: exec(text)) for text in (code, fixed))  # type: ignore[misc]
    assert before is after is not None


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, of in load_addresses().items() for code in of.values()]
)
def test_a_model_has_its_address(name: str, code: str, vision: Any) -> None:
    assert eval(code, {"torchvision": vision}).url.startswith("https://")


def test_functions_of_a_module_that_became_private_are_the_same(vision: Any) -> None:
    from torchvision.transforms import _functional_tensor, functional

    torch.manual_seed(0)
    image = torch.rand(3, 6, 6)
    values: dict[str, Any] = {
        "top": 1,
        "left": 1,
        "height": 2,
        "width": 3,
        "i": 1,
        "j": 1,
        "h": 2,
        "w": 2,
        "v": image[:, :2, :2],
        "brightness_factor": 1.5,
        "contrast_factor": 1.5,
        "hue_factor": 0.2,
        "saturation_factor": 0.5,
        "gamma": 2.0,
        "bits": 3,
        "threshold": 0.5,
        "sharpness_factor": 2.0,
        "dtype": torch.float64,
        "mean": [0.5, 0.5, 0.5],
        "std": [0.2, 0.2, 0.2],
    }
    (change,) = (
        one
        for one in api_changes.load_changes(ApiChangeKind.REMOVED)
        if "torchvision.transforms.functional_tensor.hflip" in one.symbols
    )
    for symbol in change.symbols:
        name = symbol.rpartition(".")[2]
        old, new = getattr(_functional_tensor, name), getattr(functional, name)
        given = image if name not in ("posterize", "equalize") else (image * 255).to(torch.uint8)
        required = list(inspect.signature(old).parameters.values())[1:]
        arguments = [values[one.name] for one in required if one.default is one.empty]
        before, after = old(given, *arguments), new(given, *arguments)
        assert torch.equal(torch.as_tensor(before), torch.as_tensor(after)), name


def test_renamed_parameters_are_taken(vision: Any) -> None:
    image = torch.rand(3, 6, 6)
    code = (
        "import torchvision.transforms.functional as F\nfrom torchvision.transforms import RandomAffine\n"
        "from torchvision.utils import make_grid\n\n"
        "F.rotate(image, 30, resample=2)\nF.affine(image, 3, (1, 2), 1.0, 0.0, resample=False, fillcolor=None)\n"
        "RandomAffine(10, resample=0, fillcolor=0)\nmake_grid(image, normalize=True, range=(0, 1))\n"
    )
    fixed = fix_text(code)
    assert not {"resample", "fillcolor", " range"} & set(fixed.replace("=", " ").split())
    exec(fixed, {"image": image})


def test_information_on_a_file_is_the_same(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "a.wav"
    soundfile.write(path, torch.zeros(1600, 2).numpy(), 16000)
    code = (
        "import torchaudio\n\nread = torchaudio.info(path, backend='sox')\n"
        "result = read.sample_rate, read.num_frames, read.num_channels\n"
    )
    names: dict[str, Any] = {"path": str(path)}
    exec(fix_text(code, "--unsafe").replace("import torchaudio\n", ""), names)
    assert names["result"] == (16000, 1600, 2)
