"""The command `torchmigrate artifacts`: the model files of a project, and what becomes of TorchScript archives.

Exit status: 0; 1 if an archive was not converted, or differs; 2 for wrong usage and files that cannot be read.
"""

from __future__ import annotations

import click

from torchmigrate.artifacts import listing, reading
from torchmigrate.artifacts.model import Artifact
from torchmigrate.cli import output
from torchmigrate.cli.options import Failure


@click.group()
def artifacts() -> None:
    """Tell what model files are, and convert TorchScript archives to exported programs."""


@artifacts.command("list")
@click.option(
    "--output-format", "style", type=click.Choice(["text", "json"]), default="text", help="How to print."
)
@click.option("-o", "--output-file", metavar="FILE", help="Write to a file.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
def list_files(style: str, output_file: str | None, paths: tuple[str, ...]) -> int:
    """Say what the model files in PATHS (default: here) are. Nothing in them is unpickled or run."""
    found = [reading.read(path) for path in reading.find(paths or (".",))]
    if not found:
        raise Failure(f"no model file is in {', '.join(paths) or 'this folder'}")
    _print(listing.as_json(found) if style == "json" else listing.as_text(found), output_file)
    return 2 if any(_is_wrong(one) for one in found) else 0


def _is_wrong(artifact: Artifact) -> bool:
    return artifact.error is not None


def _print(text: str, output_file: str | None) -> None:
    if output_file:
        with output.replaced(output_file) as file:
            file.write(text)
    else:
        output.print_text(text)
