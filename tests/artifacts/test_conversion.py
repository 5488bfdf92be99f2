"""Archives become exported programs: those that do the same are put in place, and nothing else is."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from tests.artifacts import made
from torchmigrate.artifacts import conversion, conversion_advice, conversion_jobs, input_specs
from torchmigrate.artifacts.conversion import ConversionOutcome, MethodOutcome
from torchmigrate.artifacts.input_specs import OpenSize, SpecError
from torchmigrate.artifacts.snippets import convert as worker
from torchmigrate.cli.artifacts import artifacts
from torchmigrate.probe.ray_cluster import zip_packages

PAGE = Path(__file__).parents[2] / "docs" / "artifacts.md"


def test_the_session_of_the_page_prints_what_the_page_says(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    import torch

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    source = tmp_path / "models"
    source.mkdir()
    shutil.copy(models / "traced.pt", source / "classifier.pt")
    shutil.copy(models / "state.pt", source / "weights.pt")
    (source / "detector.onnx").write_bytes(made.POINTER)
    text = PAGE.read_text("utf-8")
    (block,) = re.findall(r"^```shell-session\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    printed = ""
    for command in re.findall(r"^\$ torchmigrate artifacts (.*)$", block, re.MULTILINE):
        words = shlex.split(command)
        interpreter = ["--python", sys.executable] if words[0] == "convert" else []
        run = CliRunner().invoke(artifacts, [*words, *interpreter], standalone_mode=False)
        assert run.return_value == 0, run.output
        printed += f"$ torchmigrate artifacts {command}\n{run.stdout}"
    printed = re.sub(
        r"\b\d+\.\d KiB", "3.9 KiB", printed
    )  # the source of torch is at another place elsewhere
    printed = re.sub(r"(?<=  )\d+\.\d$", "1.2", printed, flags=re.MULTILINE)
    if accept:
        PAGE.write_text(text.replace(block, printed), "utf-8")
    else:
        assert printed == block
    assert os.listdir("exported") == ["classifier.pt2"]
    old = cast("Any", torch.jit).load("models/classifier.pt")
    new = torch.export.load("exported/classifier.pt2").module()
    x = torch.randn(7, 4)
    assert torch.equal(old(x), new(x))
    assert "| models/classifier.pt | forward | equal | 0 |" in Path("report.md").read_text("utf-8")


def test_files_that_are_no_archives_start_nothing_and_do_not_end_a_batch(
    models: Path, tmp_path: Path
) -> None:
    source, report = tmp_path / "models", tmp_path / "report.json"
    source.mkdir()
    shutil.copy(models / "state.pt", source)
    (source / "broken.pt").write_bytes((models / "traced.pt").read_bytes()[:700])
    (source / "evil.pt").write_bytes(
        made.zipped({"a/constants.pkl": b"cos\nmkdir\n(Vran\ntR.", "a/data.pkl": b"}."})
    )
    command = ["convert", str(source), "-o", str(tmp_path / "out"), "--python", sys.executable]
    run = CliRunner().invoke(artifacts, [*command, "--report", str(report)], standalone_mode=False)
    assert run.return_value == 2, run.output
    assert "1 skipped, 2 failed" in run.stdout
    files = {Path(entry["path"]).name: entry for entry in json.loads(report.read_text())["files"]}
    assert files["evil.pt"]["error"] == "the pickles in the file would run os.mkdir"
    assert "export that with torch.export.export" in files["state.pt"]["skipped"]
    assert not (tmp_path / "out").exists()


def test_a_process_that_ends_badly_is_explained(models: Path, tmp_path: Path) -> None:
    archive, target = str(models / "traced.pt"), tmp_path / "out.pt2"
    said = {}
    for name, program in (("dies", "kill -9 $$"), ("hangs", "sleep 60"), ("none", "exit 3")):
        python = tmp_path / name
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(0o755)
        wanted = conversion.ConversionOptions(str(python), seconds=0.5)
        (row,) = conversion.convert_archive(archive, str(target), wanted, os.environ).rows
        said[name] = row.reason
    assert said["dies"].startswith("the process was killed by SIGKILL while starting Python, with 4.0 GiB")
    assert said["hangs"] == "conversion took longer than 0.5 s while starting Python"
    assert said["none"] == "the process failed while starting Python: exit status 3"
    assert not target.exists()


def test_an_archive_is_not_replaced_by_what_is_made_of_it(models: Path, tmp_path: Path) -> None:
    shutil.copy(models / "traced.pt", tmp_path)
    place = str(tmp_path / "traced.pt")
    found = conversion.convert_archive(place, place, conversion.ConversionOptions("python"), os.environ)
    assert "choose another file" in str(found.error)


def asked(
    models: Path, tmp_path: Path, name: str, method: str = "forward", spec: str = "float32[2,4]", **more: Any
) -> dict[str, Any]:
    """What the worker answers, in this process, which has torch already."""
    import torch
    import torch.utils._pytree

    worker.torch, worker.State.answer = torch, str(tmp_path / "answer.json")
    question = {
        "work": "convert",
        "archive": str(models / name),
        "folder": str(tmp_path),
        "inputs": {"": {"spec": input_specs.parse_inputs(spec), "origin": "--inputs"}},
        "dynamic": [],
        "rtol": None,
        "atol": None,
        **more,
    }
    return worker.convert_and_report(question, method)


@pytest.mark.parametrize(
    ("method", "spec", "outputs"),
    [("forward", "float32[1,4]", 2), ("encode", "float32[2,4]", 4)],
)
def test_every_method_is_converted_and_arguments_may_be_left_out(
    models: Path, tmp_path: Path, method: str, spec: str, outputs: int
) -> None:
    said = asked(models, tmp_path, "scripted.pt", method, spec=spec, dynamic=[[0, 0, "batch"]])
    assert (said["outcome"], said["outputs"], said["open"]) == (
        "equal",
        outputs,
        ["batch (dimension 0 of input 0)"],
    )
    assert (tmp_path / said["file"]).exists()


def test_a_loop_that_ends_by_values_is_refused_with_its_place_and_what_to_do(
    models: Path, tmp_path: Path
) -> None:
    said = asked(models, tmp_path, "until.pt")
    assert (said["outcome"], said["step"], said["operator"]) == ("refused", "convert", "prim::Loop")
    reason, todo = conversion_advice.explain_refusal(
        said["step"], said["reason"], said["operator"], said["place"]
    )
    assert reason.startswith("the archive has a loop whose condition depends on values at programs.py:")
    assert "torch.while_loop" in todo


def test_losses_are_told_and_the_rest_is_kept(models: Path, tmp_path: Path) -> None:
    import torch

    spec, extra = "float32[1,4],2.5", ["labels.txt", "mean.bin"]
    said = asked(models, tmp_path, "detecting.pt", spec=spec, extra=extra)
    assert said["outcome"] == "equal"
    assert "dimension 0 of input 0" in said["open"][0]
    assert said["notes"] == ["extra files kept: labels.txt"]
    assert said["losses"] == [
        "the extra file mean.bin is not text, which is all that torch.export.save takes: keep it in a file",
        "output['found'] is a plain tuple instead of Boxes(boxes, scores): read its fields by position",
        "the program takes only scale=2.5: convert again for other values",
        "the program does not take flip=False: pass it in --inputs",
    ]
    read = {"labels.txt": ""}
    program = torch.export.load(tmp_path / said["file"], extra_files=read).module()
    assert read["labels.txt"] == "cat\ndog"
    result = program(torch.ones(5, 4), 2.5)
    assert isinstance(result, dict)
    assert type(result["found"]) is tuple


def test_a_size_that_only_the_program_fixes_is_a_loss(models: Path, tmp_path: Path) -> None:
    said = asked(models, tmp_path, "narrow.pt", spec="float32[5,4]")
    assert said["outcome"] == "equal"
    assert said["losses"] == ["dimension 0 of input 0 is fixed to 5, while the archive also takes 6"]


@pytest.mark.parametrize(
    ("name", "reason", "todo"),
    [
        ("naming.pt", "output[1] is a string, which no exported program can return", "return an index"),
        ("judging.pt", "branch that depends on the values of a tensor at programs.py:", "torch.where"),
        ("selecting.pt", "branch that depends on how many values were selected at programs.py:", "masked"),
    ],
)
def test_refusals_give_the_true_reason(
    models: Path, tmp_path: Path, name: str, reason: str, todo: str
) -> None:
    said = asked(models, tmp_path, name)
    outcome = conversion._parse_outcome("forward", said)
    assert (said["outcome"], outcome.outcome) == ("refused", "refused")
    assert reason in outcome.reason
    assert todo in outcome.advice


@pytest.mark.parametrize(
    ("archive", "files", "folder", "found"),
    [
        ("m.pt", ["m.inputs.pt"], False, "m.inputs.pt"),
        ("m.ptl", ["m.inputs.pt", "m.ptl.inputs.pt"], False, "m.ptl.inputs.pt"),
        ("m.ptl", ["in/m.pt"], True, "in/m.pt"),
        ("m.ptl", ["in/m.pt", "in/m.ptl.pt"], True, "in/m.ptl.pt"),
        ("m.pt", ["in/m.pt", "m.inputs.pt"], True, "in/m.pt"),
        ("m.pt", ["n.inputs.pt"], False, None),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_the_inputs_of_an_archive_are_found(
    tmp_path: Path, archive: str, files: list[str], folder: bool, found: str | None, alone: bool
) -> None:
    (tmp_path / "in").mkdir()
    for name in (archive, *files):
        (tmp_path / name).write_bytes(b"")
    inputs = str(tmp_path / "in") if folder else None
    source = tmp_path / archive if alone else tmp_path
    jobs = conversion_jobs.create_jobs(
        str(source), str(tmp_path / "out"), conversion.ConversionOptions("python"), inputs
    )
    (job,) = (one for one in jobs if one.path == str(tmp_path / archive))
    assert job.wanted.files.get("") == (found and str(tmp_path / found))


def test_inputs_of_the_command_line_go_before_a_file_beside_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "m.pt"
    for name in ("m.pt", "m.inputs.pt"):
        (tmp_path / name).write_bytes(b"")
    wanted = conversion.ConversionOptions("python", specs={"": [{"value": 1}]})
    (job,) = conversion_jobs.create_jobs(str(archive), "out.pt2", wanted)
    assert not job.wanted.files


def test_the_model_in_a_torchserve_archive_is_converted_and_put_back(models: Path, tmp_path: Path) -> None:
    manifest = {
        "model": {"serializedFile": "net.pt", "handler": "image_classifier"},
        "archiverVersion": "0.9",
    }
    records: dict[str, bytes | str] = {
        "MAR-INF/MANIFEST.json": json.dumps(manifest),
        "net.pt": (models / "traced.pt").read_bytes(),
        "index_to_name.json": "{}",
    }
    (tmp_path / "net.mar").write_bytes(made.zipped(records))
    records["net.pt"] = (models / "state.pt").read_bytes()
    (tmp_path / "weights.mar").write_bytes(made.zipped(records))
    command = ["convert", str(tmp_path), "-o", str(tmp_path / "out"), "--python", sys.executable, "--repack"]
    run = CliRunner().invoke(artifacts, command, standalone_mode=False)
    assert "1 converted, 1 skipped" in run.stdout
    assert "in which image_classifier has to load net.pt2 with torch.export.load" in run.stdout
    assert "net.pt in the TorchServe archive: the file has weights but no code" in run.stdout
    with zipfile.ZipFile(tmp_path / "out" / "net.mar") as archive:
        assert sorted(archive.namelist()) == ["MAR-INF/MANIFEST.json", "index_to_name.json", "net.pt2"]
        assert json.loads(archive.read("MAR-INF/MANIFEST.json"))["model"]["serializedFile"] == "net.pt2"
        assert archive.read("net.pt2") == (tmp_path / "out" / "net.pt2").read_bytes()


def test_state_that_the_program_loses_shows_in_the_second_run(models: Path, tmp_path: Path) -> None:
    said = asked(models, tmp_path, "counting.pt")
    assert said["outcome"] == "differs"
    assert said["difference"] == pytest.approx(1.0, abs=1e-5)


def test_a_branch_on_values_is_compared_on_both_sides(models: Path, tmp_path: Path) -> None:
    assert asked(models, tmp_path, "sided.pt")["outcome"] == "equal"


def test_a_size_that_the_code_fixes_cannot_be_left_open(models: Path, tmp_path: Path) -> None:
    said = asked(models, tmp_path, "traced.pt", dynamic=[[None, 1, "width"]])
    assert (said["outcome"], said["step"]) == ("refused", "open")
    assert "dimension 1 of input 0 cannot be dynamic as width" in said["reason"]


def test_an_inputs_file_is_loaded_without_running_it(models: Path, tmp_path: Path) -> None:
    import torch

    file = tmp_path / "inputs.pt"
    torch.save({"encode": (torch.ones(3, 4),), "forward": {"x": torch.ones(3, 4)}}, file)
    given: dict[str, Any] = {"inputs": {"": {"file": str(file)}}}
    assert asked(models, tmp_path, "scripted.pt", **given)["inputs"] == ["float32[3, 4]"]
    file.write_bytes((models / "module.pt").read_bytes())
    refused = asked(models, tmp_path, "scripted.pt", **given)
    assert refused["reason"] == "the inputs file holds more than tensors, numbers and text, or is damaged"


def test_outputs_are_judged_to_the_last_bit_then_within_tolerances() -> None:
    import torch

    worker.torch = torch
    base = torch.tensor([1.0, float("nan")])
    question: dict[str, Any] = {"rtol": None, "atol": None}
    judge = worker.compare_outputs
    assert judge([base], [base.clone()], question)["outcome"] == "equal"
    assert judge([base], [base + 1e-6], question)["outcome"] == "close"
    assert judge([base], [base + 1e-3], question)["outcome"] == "differs"
    assert judge([base], [base + 1e-3], {"rtol": 0.0, "atol": 0.01})["outcome"] == "close"
    assert judge([base], [base.double()], question)["reason"] == "output is float64[2] instead of float32[2]"
    assert judge([{"a": base}], [{"b": base}], question)["reason"] == "output has different keys"
    assert judge([(base, 1)], [[base, 2]], question)["reason"] == "output[1] is 2 instead of 1"


def test_the_interpreter_that_runs_this_goes_before_one_by_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchmigrate.cli import artifacts as command

    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("")
    python.chmod(0o700)
    monkeypatch.setenv("PATH", str(python.parent))
    monkeypatch.chdir(tmp_path)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(command, "find_spec", {"torch": "there is one"}.get)
    assert command._choose_interpreter(None) == sys.executable
    assert command._choose_interpreter("python3") == str(python)
    monkeypatch.setattr(command, "find_spec", {}.get)
    assert command._choose_interpreter(None) == str(python)
    monkeypatch.setenv("VIRTUAL_ENV", "/venv")
    monkeypatch.setattr(command, "find_spec", {"torch": "there is one"}.get)
    assert command._choose_interpreter(None) != sys.executable


def test_what_a_command_line_says_of_inputs() -> None:
    assert input_specs.parse_inputs("float32[2,3], int64[], 3,-1.5,true,none") == [
        {"tensor": ["float32", [2, 3]]},
        {"tensor": ["int64", []]},
        {"value": 3},
        {"value": -1.5},
        {"value": True},
        {"value": None},
    ]
    assert input_specs.parse_open_size("1.0:batch") == OpenSize(1, 0, "batch")
    for wrong in ("float32[2", "tensor", "float32[99999,99999]"):
        with pytest.raises(SpecError):
            input_specs.parse_inputs(wrong)
    with pytest.raises(SpecError, match="0:batch"):
        input_specs.parse_open_size("batch")


def test_what_travels_to_a_cluster_needs_the_standard_library_only(tmp_path: Path) -> None:
    import subprocess

    archive = tmp_path / "torchmigrate.zip"
    archive.write_bytes(zip_packages("artifacts", "probe"))
    program = "import sys; sys.path.insert(0, sys.argv[1]); from torchmigrate.artifacts import ray_conversion"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", program, str(archive)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (
            ConversionOutcome("a.pt", (MethodOutcome("forward", "equal"), MethodOutcome("f", "close"))),
            "converted",
        ),
        (
            ConversionOutcome("a.pt", (MethodOutcome("forward", "equal"), MethodOutcome("f", "refused"))),
            "refused",
        ),
        (
            ConversionOutcome("a.pt", (MethodOutcome("forward", "refused"), MethodOutcome("f", "differs"))),
            "differing",
        ),
        (ConversionOutcome("a.pt", skipped="it is something else"), "skipped"),
        (ConversionOutcome("a.pt", skipped="it is something else", error="it is gone"), "failed"),
    ],
)
def test_the_worst_method_gives_an_archive_its_word(outcome: ConversionOutcome, word: str) -> None:
    assert outcome.result_word == word
    assert outcome.is_good is (word == "converted")
