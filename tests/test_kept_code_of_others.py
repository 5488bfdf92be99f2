"""Advice is for a project's own code: files that name another owner of the copyright than the project's license does get none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from torchmigrate.cli.commands import cli

LICENSE = "MIT License\n\nCopyright (c) 2024 Example Labs, Inc.\n"
APACHE = 'Apache License\n\n"Licensor" shall mean the copyright owner or entity that grants the License.\n'
NORM = "import torch\n\n\ndef norm(x):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)\n"


@pytest.mark.parametrize(
    ("license_text", "notice", "is_own"),
    [
        (LICENSE, "", True),
        (LICENSE, "# Copyright 2025 The Example Labs team. All rights reserved.\n", True),
        (LICENSE, "# Copyright 2025 The Other Team and Another Company, Inc.\n", False),
        (LICENSE, "# Copyright (c) Another Company\n# Copyright (c) 2024 Example Labs\n", True),
        (LICENSE, "# The copyright of the pictures is theirs.\n", True),
        (APACHE, "# Copyright 2025 The Other Team\n", True),
        (
            "Copyright (c) Meta Platforms, Inc.\n",
            "# Copyright (c) Facebook, Inc. and its affiliates.\n",
            True,
        ),
    ],
)
def test_files_of_other_owners_get_no_advice(
    tmp_path: Path, license_text: str, notice: str, is_own: bool
) -> None:
    (tmp_path / "LICENSE").write_text(license_text)
    (tmp_path / "norm.py").write_text(notice + NORM)
    command = ["check", "--select", "AD904", "--output-format", "json", "--no-cache", str(tmp_path)]
    found = json.loads(CliRunner().invoke(cli, command).stdout)["findings"]
    assert [finding["code"] for finding in found] == ["AD904"] * is_own
