"""Every recorded situation gives exactly its verdict and its command, on any machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.probe.conftest import FIXTURES
from tests.probe.schema import schema
from torchmigrate.model.vocabulary import Severity
from torchmigrate.probe import facts as facts_format
from torchmigrate.probe.verdict import Verdict, judge


def failed(verdict: Verdict) -> bool:
    return any(finding.severity is not Severity.INFO for finding in verdict.findings)


SITUATIONS = sorted(path.name.removesuffix(".facts.json") for path in FIXTURES.glob("*.facts.json"))


def load(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    facts = json.loads((FIXTURES / f"{name}.facts.json").read_text("utf-8"))
    expected = json.loads((FIXTURES / f"{name}.expected.json").read_text("utf-8"))
    return facts, expected


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_situation_gives_its_verdict(name: str) -> None:
    data, expected = load(name)
    verdict = judge(facts_format.from_json(data), expected["target"])
    found = [
        {"code": f.code, "severity": f.severity.value, "message": f.message, "hint": f.hint}
        for f in verdict.findings
    ]
    assert found == expected["findings"]
    assert (verdict.best.variant if verdict.best else None) == expected["best"]
    assert (verdict.install.pip if verdict.install else None) == expected["pip"]
    assert (verdict.install.uv if verdict.install else None) == expected["uv"]
    assert int(failed(verdict)) == expected["exit"]


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_recorded_file_follows_the_schema(name: str) -> None:
    data, _ = load(name)
    jsonschema.validate(data, schema())


def test_the_fifteen_public_situations_and_fifteen_more_are_recorded() -> None:
    public = {name.split("-")[0] for name in SITUATIONS if int(name.split("-")[0]) <= 15}
    assert public == {f"{number:02}" for number in range(1, 16)}
    assert len([name for name in SITUATIONS if int(name.split("-")[0]) >= 20]) >= 15


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_situation_can_be_judged_for_every_release(name: str) -> None:
    from torchmigrate.tables import matrix

    facts = facts_format.from_json(load(name)[0])
    for version in matrix.versions():
        verdict = judge(facts, version)
        assert verdict.findings, "a verdict always says something"
        if verdict.best is not None:
            assert verdict.best.torch == version
            assert all(
                row.fits == () or all(fit.runs for fit in row.fits)
                for row in verdict.rows
                if row.build is verdict.best
            )


def test_every_code_that_is_said_has_a_page_and_every_page_a_code() -> None:
    import re

    from torchmigrate.engine import registry

    source = Path(facts_format.__file__).parent
    said = {
        code
        for file in source.glob("*.py")
        for code in re.findall(r'\((?:\s*)"(RT\d{3})"', file.read_text("utf-8"))
    }
    pages = {code: rule for code, rule in registry.rules().items() if code.startswith("RT")}
    assert set(pages) == said
    for rule in pages.values():
        assert rule.family == "probe"
        assert "\nWhy: " in rule.doc
        assert "\nWhat to do: " in rule.doc
        assert "\nSource: " in rule.doc


def test_codes_in_the_fixtures_cover_every_code_but_those_of_smoke_and_fleets() -> None:
    from torchmigrate.engine import registry

    recorded = {finding["code"] for name in SITUATIONS for finding in load(name)[1]["findings"]}
    pages = {code for code in registry.rules() if code.startswith("RT")}
    assert pages - recorded == {"RT033", "RT039", "RT040"}


@pytest.mark.parametrize("outcome", ["ok", "raised", "hung", "killed"])
@pytest.mark.parametrize("cuda", [None, "13.0", "11.7", "99.9"])
@pytest.mark.parametrize(
    "version", ["unknown", "1.13.1+cu117", "2.16.0.dev20261101+cu134", "2.12.0a0+git1", "9", ""]
)
def test_a_torch_that_no_table_knows_gets_a_verdict(version: str, cuda: str | None, outcome: str) -> None:
    data, _ = load("30-v100-and-b200")
    data["torch"] = {"version": version, "compiled": ["sm_70", "sm_90a", "compute_90"]}
    data["torch"] |= {
        "cuda": cuda,
        "imported": {"outcome": outcome, "detail": "ImportError: libcudart.so.12"},
    }
    data["packages"] = {"torchvision": "0.1", "torchaudio": "?", "triton": "nightly", "nvidia-nccl-cu99": "1"}
    verdict = judge(facts_format.from_json(data), "2.12")
    assert all(finding.message for finding in verdict.findings)
    assert failed(verdict)
