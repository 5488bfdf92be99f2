"""What is said of checkpoints and `weights_only` is what torch does, and nothing in them runs."""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import pathlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.artifacts import made
from torchmigrate.artifacts import reader, weights_only
from torchmigrate.cli.artifacts import artifacts

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
MODULES = {
    "argparse": argparse, "collections": collections, "datetime": datetime, "functools": functools,
    "numpy": numpy, "pathlib": pathlib, "torch": torch,
}  # fmt: skip


def make_schedule() -> Any:
    """The state of a scheduler and of its optimizer."""
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.ones(2))])
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1, total_steps=5)
    return {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}


ACCEPTED: dict[str, Callable[[], Any]] = {
    "values": lambda: {"a": 1, "b": 1.5, "c": "x", "d": None, "e": [1, 2**70], "f": (1, 1j), "g": {1, 2}},
    "bytes": lambda: [b"abc", bytearray(b"abc")],
    "counter": lambda: collections.Counter("aab"),
    "state": lambda: torch.nn.Linear(2, 2).state_dict(),
    "schedule": make_schedule,
    "types": lambda: [torch.float32, torch.Size([1]), torch.device("cpu"), torch.strided, torch.uint3],
    "tensors": lambda: [torch.eye(2).to_sparse(), torch.zeros(2).to(torch.float8_e8m0fnu)],
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2)]),
    "buffer": lambda: [torch.nn.Buffer(torch.ones(2)), torch.nn.Parameter(torch.ones(2))],
}

ALLOWABLE: dict[str, Callable[[], Any]] = {
    "namespace": lambda: {"args": argparse.Namespace(lr=1, out=pathlib.PurePosixPath("/x"))},
    "scalar": lambda: [numpy.float64(1.5), numpy.bool_(True)],
    "array": lambda: [numpy.arange(3), numpy.array(["ab"]), numpy.array([None], dtype=object)],
    "random": lambda: {"torch": torch.get_rng_state(), "numpy": numpy.random.get_state()},
    "builtins": lambda: [slice(1), range(3), frozenset([1]), int, functools.partial(max, 1)],
    "date": lambda: datetime.datetime(2024, 1, 1),
    "empty": lambda: collections.defaultdict(list),
    "module": lambda: torch.nn.Linear(2, 2),
}

REJECTED: dict[str, Callable[[], Any]] = {
    "defaults": lambda: collections.defaultdict(list, {"a": [1]}),
    "deque": lambda: collections.deque([1]),
}

NEW_FORM = ("module", "nested", "tensors")
"""What the old form holds in another way: the source of modules; or not at all: new types."""


def load_or_reject(path: Path, needs: tuple[str, ...] = ()) -> bool:
    """Load a file with some names allowed."""
    try:
        with torch.serialization.safe_globals([eval(name, dict(MODULES)) for name in needs]):
            torch.load(path, weights_only=True)
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "old"),
    [
        (name, old)
        for name in (*ACCEPTED, *ALLOWABLE, *REJECTED)
        for old in (False, True)
        if not old or name not in NEW_FORM
    ],
)
def test_the_verdict_is_that_of_torch(tmp_path: Path, name: str, old: bool) -> None:
    path = tmp_path / "file.pt"
    value = {**ACCEPTED, **ALLOWABLE, **REJECTED}[name]()
    torch.save(value, path, _use_new_zipfile_serialization=not old)
    found = reader.read_artifact(str(path))
    assert found.error is None
    assert found.weights_only is load_or_reject(path) is (name in ACCEPTED)
    assert load_or_reject(path, found.needs) is (name not in REJECTED)
    assert any("whatever is allowed" in note for note in found.notes) is (name in REJECTED)


def test_other_protocols_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    torch.save({"a": 1}, path, pickle_protocol=4)
    found = reader.read_artifact(str(path))
    assert found.weights_only is load_or_reject(path) is False
    assert "protocol" in found.notes[-1]


def test_what_is_allowed_is_what_torch_allows() -> None:
    from torch import _weights_only_unpickler as unpickler

    allowed = set(unpickler._get_allowed_globals())
    known = {*weights_only._ALLOWED, *weights_only._ALLOWED_SINCE, *weights_only._ALLOWED_UNTIL}
    assert allowed - known == set()
    assert known - allowed == {"torch.bcomplex32"}  # which torch 2.14 has
    assert set(unpickler._blocklisted_modules) == weights_only._BLOCKED_MODULES


def test_a_name_that_numpy_has_moved_is_allowed_under_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file.pt"
    torch.save([numpy.float32(1)], path)
    with zipfile.ZipFile(path) as saved:
        records = {name: saved.read(name) for name in saved.namelist()}
    path.write_bytes(
        made.zipped({name: data.replace(b"numpy._core.", b"numpy.core.") for name, data in records.items()})
    )
    found = reader.read_artifact(str(path))
    assert found.needs[0] == '(numpy._core.multiarray.scalar, "numpy.core.multiarray.scalar")'
    assert load_or_reject(path, found.needs)


def test_the_list_says_it(tmp_path: Path) -> None:
    torch.save({"args": argparse.Namespace(lr=1)}, tmp_path / "a.pt")
    run = CliRunner().invoke(artifacts, ["list", str(tmp_path)], standalone_mode=False)
    assert "unless it is loaded with torch.serialization.safe_globals([argparse.Namespace])" in run.stdout
