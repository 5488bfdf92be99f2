"""What a file is: read from its bytes, for every kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.artifacts import made
from torchmigrate.artifacts import listing, reader
from torchmigrate.artifacts.artifact import ArtifactKind
from torchmigrate.cli.artifacts import artifacts

TWO = ["forward(x: Tensor, factor: float=2.) -> Tensor", "encode(x: Tensor) -> Dict[str, Tensor]"]


@pytest.mark.parametrize(
    ("name", "kind", "producer", "methods", "tensors"),
    [
        ("scripted.pt", ArtifactKind.TORCHSCRIPT, "torch.jit", TWO, 3),
        ("lite.ptl", ArtifactKind.LITE, "torch.jit", TWO, 3),
        ("traced.pt", ArtifactKind.TORCHSCRIPT, "torch.jit.trace", ["forward(input: Tensor) -> Tensor"], 2),
        ("state.pt", ArtifactKind.STATE, "torch.save", [], 3),
        ("old.pth", ArtifactKind.STATE, "torch.save", [], 3),
        ("checkpoint.pt", ArtifactKind.SAVED, "torch.save", [], 3),
        ("module.pt", ArtifactKind.MODULE, "torch.save", [], 3),
        ("oldmodule.pt", ArtifactKind.MODULE, "torch.save", [], 3),
    ],
)
def test_what_torch_writes(
    models: Path, name: str, kind: ArtifactKind, producer: str, methods: list[str], tensors: int
) -> None:
    found = reader.read_artifact(str(models / name))
    assert (found.kind, found.producer, found.error) == (kind, producer, None)
    assert [str(method) for method in found.methods] == methods
    assert (found.tensors, found.elements) == (tensors, 15 + (tensors == 3))
    assert found.dtypes == ("float32",)


def test_an_exported_program_names_its_torch_its_opset_and_its_open_size(models: Path) -> None:
    import torch

    found = reader.read_artifact(str(models / "exported.pt2"))
    assert (found.kind, found.torch) == (ArtifactKind.EXPORTED, torch.__version__)
    assert found.opset is not None
    assert found.opset.startswith("aten ")
    (method,) = found.methods
    assert method.arguments[0].startswith("input: float32[s")
    assert (found.tensors, found.elements) == (2, 15)


def test_what_else_the_archives_hold_is_said(models: Path) -> None:
    assert "forward was traced with float32[2, 4]" in reader.read_artifact(str(models / "traced.pt")).notes
    assert "extra files: config.json" in reader.read_artifact(str(models / "scripted.pt")).notes
    assert "keys: model, epoch" in reader.read_artifact(str(models / "checkpoint.pt")).notes
    assert any(
        "tests.artifacts.programs.Two" in note
        for note in reader.read_artifact(str(models / "module.pt")).notes
    )


def test_an_archive_whose_code_writes_files_is_no_archive_to_run(models: Path) -> None:
    found = reader.read_artifact(str(models / "writing.pt"))
    assert found.error == "the code in the file would write a file: it calls torch.save"


def test_formats_of_others(tmp_path: Path, models: Path) -> None:
    manifest = {"model": {"modelName": "two", "serializedFile": "model.pt"}, "archiverVersion": "0.9.0"}
    inner = (models / "scripted.pt").read_bytes()
    files = {
        "a.onnx": made.onnx(),
        "b.pte": made.executorch(),
        "c.ptl": made.lite(),
        "d.mar": made.zipped({"MAR-INF/MANIFEST.json": json.dumps(manifest), "model.pt": inner}),
        "e.pt": made.POINTER,
        "f.pt2": made.zipped(
            {
                "f/archive_format": "pt2",
                "f/data/aotinductor/model/a.wrapper.so": b"",
                "f/data/aotinductor/model/a_metadata.json": '{"AOTI_DEVICE_KEY": "cpu"}',
            }
        ),
        "g.ts": b"const a: number = 1;",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = [reader.read_artifact(path) for path in reader.find_model_files([str(tmp_path)])]
    assert listing.render_text(found).replace(f"{tmp_path}/", "").splitlines() == [
        "a.onnx: ONNX model, torch 2.9.0, IR version 8, opset ai.onnx 18, 192 bytes, 12 elements in 1 tensor of float32",
        "  main_graph(x: float32[batch, 4]) -> y: float32[batch, 3]",
        "  1 nodes of 1 operators",
        f"b.pte: ExecuTorch program, by executorch, layout ET12, schema 0, {len(files['b.pte'])} bytes",
        "  forward(float32[2, 3], bool) -> float32[2, 3]",
        "  delegated to XnnpackBackend",
        "  1 operators outside delegates",
        "c.ptl: TorchScript archive for the Lite interpreter, by torch.jit, FlatBuffers, bytecode 9, "
        f"{len(files['c.ptl'])} bytes",
        "  forward(x: Tensor) -> Tensor",
        "  1 operators",
        "d.mar: TorchServe model archive, by torch-model-archiver 0.9.0, format 3, "
        f"{listing.format_size(len(files['d.mar']))}, 16 elements in 3 tensors of float32",
        *(f"  {method}" for method in TWO),
        "  modelName two",
        "  model.pt: TorchScript archive",
        "e.pt: Git LFS pointer, 67 bytes",
        "  `git lfs pull` fetches the file itself, 4,096 bytes",
        f"f.pt2: AOTInductor package, by torch._inductor, {len(files['f.pt2'])} bytes",
        "  compiled: model, for cpu, with 1 libraries that run when it is loaded",
    ]


def test_what_is_too_large_to_look_into_is_said_and_no_error(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_INNER", 100)
    inner = (models / "scripted.pt").read_bytes()
    manifest = json.dumps({"model": {"serializedFile": "model.pt"}})
    (tmp_path / "a.mar").write_bytes(made.zipped({"MAR-INF/MANIFEST.json": manifest, "model.pt": inner}))
    found = reader.read_artifact(str(tmp_path / "a.mar"))
    assert (found.kind, found.error) == (ArtifactKind.MAR, None)
    assert found.notes == (f"model.pt: not checked, because it has {len(inner):,} bytes",)


def test_the_command_prints_json_and_exits_with_2_for_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(made.onnx())
    run = CliRunner().invoke(
        artifacts, ["list", str(tmp_path), "--output-format", "json"], standalone_mode=False
    )
    (entry,) = json.loads(run.stdout)["files"]
    assert (run.return_value, entry["kind"], entry["opset"]) == (0, "onnx", "ai.onnx 18")
    (tmp_path / "b.pt").write_bytes(b"")
    run = CliRunner().invoke(artifacts, ["list", str(tmp_path)], standalone_mode=False)
    assert run.return_value == 2
    assert f"{tmp_path}/b.pt: unreadable: the file is empty" in run.stdout


def test_a_folder_without_models_is_no_error(tmp_path: Path) -> None:
    run = CliRunner().invoke(
        artifacts, ["list", str(tmp_path), "--output-format", "json"], standalone_mode=False
    )
    assert (run.return_value, json.loads(run.stdout)["files"]) == (0, [])
    assert f"no model files in {tmp_path}" in run.stderr


def test_a_folder_lists_files_with_a_shared_suffix_only_if_they_begin_like_models(tmp_path: Path) -> None:
    heads = {
        "zip.bin": b"PK\3\4",
        "pickle.bin": b"\x80\2}",
        "other.bin": b"PK\5\6",
        "short.bin": b"",
        "m.pt": b"",
    }
    for name, data in heads.items():
        (tmp_path / name).write_bytes(data)
    found = [os.path.basename(path) for path in reader.find_model_files([str(tmp_path)])]
    assert found == ["m.pt", "pickle.bin", "zip.bin"]
