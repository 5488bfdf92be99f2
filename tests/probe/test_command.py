"""The command: what it prints, in which format, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.probe.conftest import FIXTURES

FORMATS = ("text", "full", "concise", "json", "github", "sarif")


def run(*arguments: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchmigrate", "probe", *arguments]
    environment = {**os.environ, **environ}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def facts(name: str) -> str:
    return str(FIXTURES / f"{name}.facts.json")


@pytest.mark.parametrize("style", FORMATS)
@pytest.mark.parametrize(("name", "status"), [("20-h200", 0), ("28-p100", 1)])
def test_recorded_facts_are_judged_in_every_format(style: str, name: str, status: int) -> None:
    done = run("--facts", facts(name), "--target-version", "2.15", "--output-format", style)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    code = "RT032" if status == 0 else "RT022"
    assert code in done.stdout
    assert "torch 2.15" in done.stdout
    assert "0 files" not in done.stdout


def test_sarif_and_json_hold_a_finding_without_a_file() -> None:
    sarif = json.loads(run("--facts", facts("28-p100"), "--output-format", "sarif").stdout)
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["RT022"]
    assert "RT022" in run("--facts", facts("28-p100"), "--output-format", "json").stdout


def test_plain_text_has_no_escapes_and_names_both_installers() -> None:
    done = run("--facts", facts("20-h200"), "--target-version", "2.15")
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines() == [
        "torch 2.11.0+cu130, Python 3.12.3, Linux x86_64, glibc 2.35, driver 580.159.04",
        "GPU 0: NVIDIA H200 (9.0), 140 GiB",
        "torch 2.15 (cu132) supports GPU 0 (sm_90); default build",
        "torch 2.15 (cpu, documented but not verified) does not support GPU 0 (no CUDA)",
        "torch 2.15 (cu130, possibly never published) supports GPU 0 (sm_90)",
        "torch 2.15 (cu134, possibly never published) supports GPU 0 (sm_90)",
        "torch 2.15 (xpu, possibly never published) does not support GPU 0 (no CUDA)",
        "RT032 info: torch 2.15 (cu132) supports NVIDIA H200 (9.0) (sm_90)",
        "  pip install torch==2.15.0",
        "uv: uv pip install torch==2.15.0",
    ]


def test_a_terminal_gets_a_panel_for_each_gpu() -> None:
    done = run("--facts", facts("30-v100-and-b200"), "--color", "always", COLUMNS="100")
    assert "\x1b[" in done.stdout
    assert "0: Tesla V100-SXM2-16GB" in done.stdout
    assert "1: NVIDIA B200" in done.stdout
    assert "│ 7.0 " in done.stdout


def test_json_prints_facts_that_can_be_judged_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    done = run("--json", "--python", sys.executable, "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(file.read_text())["format"] == 1
    here, there = run("--python", sys.executable), run("--facts", str(file))
    assert here.stdout == there.stdout
    assert here.returncode == there.returncode


def test_a_broken_torch_ends_with_a_verdict(fake_torch: Callable[..., str], environ: dict[str, str]) -> None:
    python = fake_torch("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    done = run("--python", python, PYTHONPATH=environ["PYTHONPATH"])
    assert done.returncode == 1
    assert "RT005 error: importing torch 2.12.1+cu130 crashes the interpreter (SIGSEGV)" in done.stdout


def test_smoke_names_the_stage_that_fails(fake_torch: Callable[..., str], environ: dict[str, str]) -> None:
    python = fake_torch("raise ImportError('bad')")
    done = run("--python", python, "--smoke", PYTHONPATH=environ["PYTHONPATH"])
    assert done.returncode == 1
    assert "smoke import: failed: ImportError: bad" in done.stdout
    assert "RT040 error: smoke stage import fails (ImportError: bad)" in done.stdout


def test_a_fleet() -> None:
    done = run("--merge", facts("20-h200"), facts("28-p100"), "--target-version", "2.13")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "machines\tGPUs\tdriver\ttorch\tbreaks\tbuild of 2.13"
    assert "RT033 info: torch 2.13 (cu126) supports all machines" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--facts", "nowhere.json"], "nowhere.json: No such file or directory"),
        (
            ["--target-version", "2.99"],
            "torch 2.99 is unknown to the probe, whose tables cover torch 2.0 to 2.15",
        ),
        (["--target-version", "new"], "'new' is not a version such as 2.12"),
        (["--merge"], "--merge requires FILES"),
        (["facts.json"], "FILES require --merge"),
        (["--facts", "a", "--merge", "b"], "--facts and --merge cannot be used together"),
        (["--facts", "a", "--smoke"], "--smoke runs torch on this machine and cannot be used with --facts"),
        (["--facts", "a", "--python", "b"], "--python is for this machine and cannot be used with --facts"),
        (["--timeout", "0"], "--timeout"),
        (["--python", "/nonexistent"], "--python /nonexistent: there is no such program"),
        (["--python", "no-such-python"], "--python no-such-python: there is no such program"),
        (["--merge", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_wrong_usage_is_said_and_has_status_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_target_and_what_to_ignore_come_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "torchmigrate.toml").write_text(
        'target-version = "2.13"\nignore = ["RT023"]\nselect = ["TS"]\n'
    )
    done = run("--facts", facts("29-v100-2.13"), cwd=tmp_path)
    assert "torch 2.13 (cu126, documented but not verified) supports" in done.stdout
    assert "RT023" not in done.stdout
    assert done.returncode == 0


def test_an_environment_without_its_interpreter_is_a_finding_that_names_it(tmp_path: Path) -> None:
    done = run(VIRTUAL_ENV=str(tmp_path / "gone"))
    assert done.returncode == 1
    python = tmp_path / "gone" / "bin" / "python"
    assert f"RT001 error: the Python interpreter {python} could not be queried: No such file" in done.stdout


def test_the_hint_of_a_hanging_import_is_the_same_call(
    fake_torch: Callable[..., str], environ: dict[str, str]
) -> None:
    python = fake_torch("import time; time.sleep(60)")
    call = ["--python", python, "--target-version", "2.13"]
    done = run(*call, "--timeout", "0.5", PYTHONPATH=environ["PYTHONPATH"])
    assert f"  torchmigrate probe {' '.join(call)} --timeout 600\n" in done.stdout


def test_equal_gpus_are_one_line() -> None:
    done = run("--facts", facts("61-sees-seven-of-eight"), "--target-version", "2.11")
    assert "GPU 0-7: NVIDIA H200 (9.0), 140 GiB\n" in done.stdout
    assert "torch 2.11 (cu130) supports GPU 0-7 (sm_90); default build\n" in done.stdout
    colored = run("--facts", facts("61-sees-seven-of-eight"), "--color", "always", COLUMNS="100").stdout
    assert "0-7: NVIDIA H200" in colored


def test_a_fleet_with_a_file_that_is_none(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[" * 100_000)
    done = run("--merge", str(bad), facts("20-h200"), "--target-version", "2.15")
    assert done.returncode == 1
    assert f"RT039 error: {bad}: nested too deeply" in done.stdout
    assert "RT033 info: torch 2.15 (cu132) supports all machines" in done.stdout


def test_exit_zero() -> None:
    assert run("--facts", facts("28-p100"), "--exit-zero").returncode == 0


def test_check_with_probe_appends_the_verdict(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("x = 1\n")
    (tmp_path / "requirements.txt").write_text("torch==2.15.0\n")
    command = [
        sys.executable,
        "-m",
        "torchmigrate",
        "check",
        "--with-probe",
        "--output-format",
        "concise",
        "--show=info,warning,error",
        ".",
    ]
    environment: dict[str, Any] = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert "RT" in done.stdout, done.stderr
    assert "requirements.txt:1:1: RT" in done.stdout
    assert done.returncode in (0, 1)
