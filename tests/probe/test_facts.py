"""The facts format: read, written, described, refused."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import jsonschema
import pytest

from tests.probe.conftest import FIXTURES
from tests.probe.schema import schema
from torchmigrate.probe.facts import FORMAT, Facts, FactsError, Platform, Python, from_json, to_json

SMALL: dict[str, Any] = {
    "format": FORMAT,
    "platform": {"system": "Linux", "machine": "x86_64"},
    "python": {"version": "3.12.3"},
}


@pytest.mark.parametrize("file", sorted(FIXTURES.glob("*.facts.json")), ids=lambda file: file.name)
def test_reading_and_writing_gives_the_same(file: Any) -> None:
    data = json.loads(file.read_text("utf-8"))
    assert to_json(from_json(data)) == data


def test_the_published_schema_is_the_formats() -> None:
    published = json.loads((resources.files("torchmigrate.probe") / "facts.schema.json").read_text("utf-8"))
    assert published == schema()
    jsonschema.Draft202012Validator.check_schema(published)


def test_the_smallest_facts() -> None:
    assert from_json(SMALL) == Facts(Platform("Linux", "x86_64"), Python("3.12.3"))
    jsonschema.validate(SMALL, schema())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format is 2; this version reads format 1"),
        ({"gpu": []}, "facts.gpu: unknown field"),
        ({"gpus": {}}, "facts.gpus: expected a list"),
        ({"gpus": [{"name": 3}]}, "facts.gpus[0].name: expected string, not 3"),
        ({"gpus": [{}]}, "facts.gpus[0]: missing 1 required positional argument: 'name'"),
        (
            {"gpus": [{"name": "x", "vendor": "matrox"}]},
            "facts.gpus[0].vendor: expected one of nvidia, amd, intel, apple",
        ),
        ({"platform": "Linux"}, "facts.platform: expected an object"),
        ({"packages": {"torchvision": 1}}, "facts.packages.torchvision: expected string, not 1"),
        ({"driver": {"init": True}}, "facts.driver.init: expected integer, not True"),
    ],
)
def test_what_does_not_follow_the_format_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FactsError) as caught:
        from_json({**SMALL, **change})
    assert str(caught.value) == message
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**SMALL, **change}, schema())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"gpus": [{"name": "x", "capability": "gfx942"}]},
            "facts.gpus[0].capability: expected a number such as 9.0, not 'gfx942'",
        ),
        (
            {"torch": {"version": "2.9", "cuda": "12.8", "compiled": ["sm_90", "ninety"]}},
            "facts.torch.compiled[1]: expected a name such as sm_90, not 'ninety'",
        ),
        ({"driver": {"cuda": "none"}}, "facts.driver.cuda: expected a version, not 'none'"),
        ({"driver": {"version": ""}}, "facts.driver.version: expected a version, not ''"),
    ],
)
def test_names_that_mean_nothing_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FactsError) as caught:
        from_json({**SMALL, **change})
    assert str(caught.value) == message


@pytest.mark.parametrize("data", [None, 3, "facts", []])
def test_no_object_is_refused(data: object) -> None:
    with pytest.raises(FactsError):
        from_json(data)
