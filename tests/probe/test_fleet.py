"""Many machines: identical facts make a group, and one build may serve them all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.counted_work import measure_doubling
from tests.probe.conftest import FIXTURES
from torchmigrate.probe import fleet
from torchmigrate.probe.machine_facts import FactsError, MachineFacts, parse_facts


def machine(name: str) -> MachineFacts:
    return parse_facts(json.loads((FIXTURES / f"{name}.facts.json").read_text("utf-8")))


H200, V100, A100_OLD_DRIVER = machine("20-h200"), machine("29-v100-2.13"), machine("02-driver-of-12.2")


def common(target: str, *machines: MachineFacts) -> str | None:
    build = fleet.find_common_build(
        fleet.group_machines([(str(i), m) for i, m in enumerate(machines)], target)
    )
    return build.variant if build else None


@pytest.mark.parametrize(
    ("machines", "target", "variant"),
    [
        ([H200, H200], "2.15", "cu132"),
        ([H200, V100], "2.13", "cu126"),
        ([H200, V100], "2.15", None),
        ([H200, A100_OLD_DRIVER], "2.12", "cu126"),
        ([H200, A100_OLD_DRIVER], "2.10", "cu128"),
        ([H200, machine("30-v100-and-b200")], "2.12", None),
        ([H200, machine("50-gh200-cpu-wheel")], "2.15", "cu132"),
        ([H200, machine("22-cpu-machine")], "2.15", "cu132"),
        ([H200, machine("24-macos-15")], "2.15", None),
        ([machine("23-macos-13")], "2.15", None),
    ],
)
def test_the_variant_that_serves_all(machines: list[MachineFacts], target: str, variant: str | None) -> None:
    assert common(target, *machines) == variant
    assert common(target, *reversed(machines)) == variant


def test_machines_with_identical_facts_make_a_group_the_largest_first() -> None:
    machines = [("a", V100), ("b", H200), ("c", H200), ("d", replace(H200, gpus=H200.gpus * 2))]
    groups = fleet.group_machines(machines, "2.13")
    assert [g.machines for g in groups] == [("b", "c"), ("a",), ("d",)]


def test_the_table_says_what_breaks_where() -> None:
    groups = fleet.group_machines(
        [("login", machine("22-cpu-machine")), ("n1", V100), ("n2", V100), ("n3", H200)], "2.15"
    )
    assert fleet.build_rows(groups) == [
        ("2: n1, n2", "Tesla V100-SXM2-16GB (7.0)", "580.65.06", "2.10.0+cu128", "RT022", "none"),
        ("1: login", "no GPU", "-", "2.13.0+cpu", "-", "cpu"),
        ("1: n3", "NVIDIA H200 (9.0)", "580.159.04", "2.11.0+cu130", "-", "cu132"),
    ]
    found = fleet.merge_findings(groups)
    assert found[0].message.startswith(
        "2 machines (n1, n2): no build of torch 2.15 has kernels for Tesla V100"
    )
    assert (found[-1].code, found[-1].severity.value) == ("RT033", "warning")


def test_the_command_for_all_machines() -> None:
    groups = fleet.group_machines([("n1", V100), ("n2", H200)], "2.13")
    assert fleet.merge_findings(groups)[-1].hint == (
        "pip install torch==2.13.0+cu126 --index-url https://download.pytorch.org/whl/cu126"
    )


def test_a_file_holds_one_machine_or_several(tmp_path: Path) -> None:
    data: Any = json.loads((FIXTURES / "20-h200.facts.json").read_text("utf-8"))
    one, several = tmp_path / "n7.json", tmp_path / "rack.json"
    one.write_text(json.dumps(data))
    several.write_text(json.dumps([data, data]))
    assert fleet.read_machines(one) == [("n7", H200)]
    assert fleet.read_machines(several) == [("rack[0]", H200), ("rack[1]", H200)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("3", "holds a JSON object"),
        ("{}", "format is None"),
        ("[{}]", "format is None"),
        ("[" * 100_000, "nested too deeply"),
        (
            '{"format": 1, "platform": ' + '{"a": ' * 5000 + "1" + "}" * 5000 + "}",
            "nested too deeply|unknown field",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "n7.json"
    file.write_text(text)
    with pytest.raises(FactsError, match=message) as caught:
        fleet.read_machines(file)
    assert str(file) in str(caught.value)


def test_one_bad_file_is_one_line_and_the_others_are_judged(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    machines, unread = fleet.read_all_machines([bad, FIXTURES / "20-h200.facts.json", tmp_path / "none.json"])
    assert [name for name, _ in machines] == ["20-h200"]
    assert [finding.code for finding in unread] == ["RT039", "RT039"]
    assert all("\n" not in finding.message for finding in unread)
    assert f"{bad}: not valid JSON" in unread[0].message


def test_machines_whose_memory_is_nearly_the_same_make_one_group() -> None:
    def with_memory(*sizes: int) -> MachineFacts:
        return replace(H200, gpus=tuple(replace(H200.gpus[0], memory_mib=size) for size in sizes))

    machines = [with_memory(143771), with_memory(143770), with_memory(141312), with_memory(81559)]
    groups = fleet.group_machines([(str(i), m) for i, m in enumerate(machines)], "2.15")
    assert [g.machines for g in groups] == [("0", "1", "2"), ("3",)]
    mixed = fleet.group_machines([("a", with_memory(81559, 81920)), ("b", with_memory(81920, 81559))], "2.15")
    assert len(mixed) == 1


def test_twice_as_many_machines_take_twice_the_work() -> None:
    """All different, as judging is what takes the time."""
    data = json.loads((FIXTURES / "76-extensions-of-other-torches.facts.json").read_text("utf-8"))

    def create_machine(number: int) -> MachineFacts:
        return parse_facts({**data, "platform": {**data["platform"], "glibc": f"2.{number}"}})

    machines = [(str(number), create_machine(number)) for number in range(200)]

    def judge(number: int) -> None:
        groups = fleet.group_machines(machines[:number], "2.15")
        assert len(groups) == number
        assert fleet.merge_findings(groups)

    assert measure_doubling(judge, 100) < 2.2
