"""Files made to harm or to confuse: each costs a line, and nothing in it runs."""

from __future__ import annotations

import io
import os
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.artifacts import made
from torchmigrate.artifacts import conversion, pickle_reader, reader, torchscript_archives, zip_records
from torchmigrate.artifacts.artifact import Artifact, ArtifactKind, UnreadableArtifact


class Running:
    """Unpickled, it would leave a folder."""

    def __init__(self, function: Any, *args: Any) -> None:
        self._call = (function, args)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self._call


def read(tmp_path: Path, data: bytes, name: str = "a.pt") -> Artifact:
    (tmp_path / name).write_bytes(data)
    return reader.read_artifact(str(tmp_path / name))


def archive(data: bytes, **more: bytes) -> bytes:
    return made.zipped(
        {"a/data.pkl": data, "a/version": "3\n", **{f"a/{name}": part for name, part in more.items()}}
    )


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("function", [os.mkdir, eval, getattr])
def test_a_pickle_that_would_run_something_is_named_and_not_run(
    tmp_path: Path, function: Any, protocol: int
) -> None:
    mark = tmp_path / "ran"
    argument = f"__import__('os').mkdir({str(mark)!r})" if function is eval else str(mark)
    data = pickle.dumps({"weights": Running(function, argument)}, protocol)
    for packed in (data, archive(data), archive(pickle.dumps({}), **{"constants.pkl": data})):
        found = read(tmp_path, packed)
        assert found.error is not None
        assert "would run" in found.error
        assert function.__name__ in found.error
    assert not mark.exists()


def test_a_name_within_a_module_that_looks_harmless_is_found(tmp_path: Path) -> None:
    data = b"\x80\x04\x8c\x05torch\x8c\x17serialization.os.system\x93\x8c\x02ls\x85R."
    assert "serialization.os.system" in str(read(tmp_path, archive(data)).error)


@pytest.mark.parametrize(
    "function",
    ["torch.utils.collect_env.run", "torch._inductor.codecache.compile_file", "logging.config.fileConfig"],
)
def test_what_runs_something_on_a_detour_is_no_instance_of_a_module(tmp_path: Path, function: str) -> None:
    module, _, name = function.rpartition(".")
    data = f"c{module}\n{name}\n(Vtouch\ntR.".encode()
    found = read(tmp_path, archive(data))
    assert found.error == f"unpickling the file would run {function}: do not load it"
    assert (found.kind, found.notes) == (ArtifactKind.SAVED, ())


def test_safetensors_are_named(tmp_path: Path) -> None:
    head = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    found = read(tmp_path, len(head).to_bytes(8, "little") + head + b"\0" * 4)
    assert found.kind is ArtifactKind.OTHER
    assert "safetensors" in str(found.error)


def test_paths_and_namespaces_of_honest_checkpoints_are_no_alarm(tmp_path: Path) -> None:
    import argparse
    import pathlib

    data = pickle.dumps({"args": argparse.Namespace(lr=1), "file": pathlib.PurePosixPath("a")})
    found = read(tmp_path, archive(data))
    assert found.error is None
    assert "loading the file imports argparse.Namespace, pathlib.PurePosixPath" in found.notes


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"a/../../b": b""}, "outside its folder"),
        ({"/etc/passwd": b""}, "outside its folder"),
        ({"a\\..\\b": b""}, "outside its folder"),
        ({"C:b": b""}, "outside its folder"),
        ({"a/data.pkl": b"\x80\x02."}, "the pickle is malformed"),
        ({"a/data.pkl": b"\x80\x02}"}, "the pickle is malformed"),
        ({"a/data.pkl": b"\x80\x02h\x07."}, "the pickle is malformed"),
        ({"a/archive_format": b"pt2"}, "neither a program nor a compiled model"),
        ({"a/archive_format": b"pt2", "a/models/model.json": b"[" * 100_000}, "malformed"),
        ({"a/archive_format": b"pt2", "a/models/model.json": b'{"graph_module": 1}'}, "malformed"),
        ({"MAR-INF/MANIFEST.json": b"[]"}, "the manifest is malformed"),
        ({"a/something": b""}, "not a known model format"),
    ],
)
def test_records_that_are_wrong(tmp_path: Path, parts: dict[str, bytes], said: str) -> None:
    found = read(tmp_path, made.zipped(parts))
    assert found.kind in (ArtifactKind.UNREADABLE, ArtifactKind.OTHER)
    assert said in str(found.error)


def test_a_record_that_unpacks_to_far_more_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_records, "MOST_READ", 1 << 20)
    bomb = made.zipped({"a/data.pkl": b"\0" * (8 << 20), "a/version": "3"}, zipfile.ZIP_DEFLATED)
    assert "unpacks to 8,388,608 bytes" in str(read(tmp_path, bomb).error)


def test_sparse_tensors_are_no_alarm_and_modules_of_fx_hold_source(tmp_path: Path) -> None:
    import torch

    torch.save({"w": torch.eye(2).to_sparse()}, tmp_path / "sparse.pt")
    assert reader.read_artifact(str(tmp_path / "sparse.pt")).error is None
    torch.save(torch.fx.symbolic_trace(torch.nn.Linear(2, 2)), tmp_path / "traced.pt")
    found = reader.read_artifact(str(tmp_path / "traced.pt"))
    assert (found.kind, found.error) == (ArtifactKind.MODULE, None)
    assert any("runs the Python source" in note for note in found.notes)


def test_weights_that_unpack_to_far_more_or_are_not_all_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    file = io.BytesIO()
    torch.save({"w": torch.arange(6.0)}, file)
    with zipfile.ZipFile(file) as whole:
        parts = {f"a/{name.partition('/')[2]}": whole.read(name) for name in whole.namelist()}
    assert read(tmp_path, made.zipped(parts)).error is None
    assert (
        read(tmp_path, made.zipped({**parts, "a/data/0": b"\0" * 8})).error
        == "its weights 'data/0' have 8 bytes of 24"
    )
    del parts["a/data/0"]
    assert read(tmp_path, made.zipped(parts)).error == "its weights 'data/0' are missing"
    monkeypatch.setattr(zip_records, "MOST_READ", 1 << 20)
    bomb = made.zipped({**parts, "a/data/0": b"\0" * (8 << 20)}, zipfile.ZIP_DEFLATED)
    assert "unpacks to 8,388,608 bytes" in str(read(tmp_path, bomb).error)


def test_a_record_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a/data.pkl", pickle.dumps({}))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a/data.pkl", pickle.dumps({"b": 1}))
    assert "twice" in str(read(tmp_path, out.getvalue()).error)


def test_a_record_that_is_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("a/data/0")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    out = io.BytesIO(archive(pickle.dumps({})))
    with zipfile.ZipFile(out, "a") as file:
        file.writestr(link, "/etc/passwd")
    assert "is a symbolic link" in str(read(tmp_path, out.getvalue()).error)


def test_an_archive_that_takes_a_password_is_refused_as_that(tmp_path: Path) -> None:
    data = bytearray(archive(pickle.dumps({})))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = -1
        while (at := data.find(mark, at + 1)) >= 0:
            data[at + flags] |= 1
    assert str(read(tmp_path, bytes(data)).error).endswith("is encrypted")


def test_containers_within_containers_are_taken_apart_without_recursion(tmp_path: Path) -> None:
    deep = b"\x80\x02" + b"(" * 30_000 + b"t" * 30_000 + b"."
    assert read(tmp_path, archive(deep)).error is None
    shared = b"\x80\x02]" + b"".join(b"q%c](h%ch%ce" % (n, n, n) for n in range(100)) + b"."
    assert read(tmp_path, archive(shared)).error is None


def test_files_that_are_cut_off_or_changed_never_end_a_run(tmp_path: Path) -> None:
    whole = {
        "a.pt": archive(pickle.dumps({"a": [1, 2.5, "x"]}, 2)),
        "b.onnx": made.onnx(),
        "c.pte": made.executorch(),
        "d.ptl": made.lite(),
    }
    chance = random.Random(3)
    for name, data in whole.items():
        for _ in range(25):
            changed = bytearray(data[: chance.randrange(1, len(data) + 1)])
            for _ in range(chance.randrange(4)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            found = read(tmp_path, bytes(changed), name)
            assert found.kind is not ArtifactKind.UNREADABLE or found.error


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt")
    (tmp_path / "page.pt").write_bytes(b"\n<!DOCTYPE html><html></html>")
    found = {
        os.path.basename(path): reader.read_artifact(path).error
        for path in reader.find_model_files([str(tmp_path)])
    }
    assert found["pipe.pt"] == "not a regular file"
    assert "a web page" in str(found["page.pt"])
    assert reader.read_artifact(str(tmp_path / "gone.pt")).error == "No such file or directory"


def test_a_pickle_of_every_protocol_is_read_as_it_would_be_built() -> None:
    value = {"a": (1, -2, 1 << 80), "b": [None, True, 2.5, b"\0", "é"], 3: {"c": ()}}
    for protocol in range(6):
        read = pickle_reader.read_pickle(io.BytesIO(pickle.dumps(value, protocol)))
        a, b, c = (part for _, part in read.value.pairs)
        assert (a, b[0], b[1:3], b[4]) == (value["a"], None, [True, 2.5], "é")
        assert dict(c.pairs)["c"] == ()
    with pytest.raises(UnreadableArtifact):
        pickle_reader.read_pickle(io.BytesIO(b"\x80\x02\x82\x01."))


def test_an_instance_of_an_old_pickle_names_its_class_and_takes_what_is_above_the_mark(
    tmp_path: Path,
) -> None:
    found = pickle_reader.read_pickle(io.BytesIO(b"(S'kept'\n(I1\nI2\niargparse\nNamespace\nt."))
    kept, instance = found.value
    assert kept == "kept"
    assert (str(instance.what), instance.args) == ("argparse.Namespace", (1, 2))
    assert [str(name) for name in found.names] == ["argparse.Namespace"]
    assert "would run os.system" in str(read(tmp_path, archive(b"(S'ls'\nios\nsystem\n.")).error)
    found = pickle_reader.read_pickle(io.BytesIO(b"(S'kept'\n(cargparse\nNamespace\nI1\not."))
    kept, instance = found.value
    assert (kept, str(instance.what), instance.args) == ("kept", "argparse.Namespace", (1,))


@pytest.mark.parametrize("most", [torchscript_archives.MOST_CHECKED, 0])
def test_weights_that_are_not_what_was_written_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(torchscript_archives, "MOST_CHECKED", most)
    whole = archive(pickle.dumps({}), **{"constants.pkl": pickle.dumps(()), "data/0": b"weights"})
    assert conversion.find_obstacle(read(tmp_path, whole)) is None
    found = read(tmp_path, whole.replace(b"weights", b"weighty"))
    assert (found.kind is ArtifactKind.UNREADABLE) is bool(most)
    refused = conversion.find_obstacle(found)
    assert refused is not None
    assert "'data/0' is damaged" in str(refused.error)


def test_weights_that_unpack_to_far_more_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_records, "MOST_READ", 1 << 20)
    parts: dict[str, bytes | str] = {"a/constants.pkl": pickle.dumps(()), "a/data/0": b"\0" * (8 << 20)}
    bomb = made.zipped(parts, zipfile.ZIP_DEFLATED)
    assert "unpacks to 8,388,608 bytes" in str(read(tmp_path, bomb).error)
