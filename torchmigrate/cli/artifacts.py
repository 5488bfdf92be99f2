"""The command `torchmigrate artifacts`, which lists model files and converts TorchScript archives.

Exit status: 0; 1 if an archive was not converted, or differs; 2 for wrong usage and files that cannot be read.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from torchmigrate.artifacts import listing, reader
from torchmigrate.cli import output
from torchmigrate.cli.options import PLACE, Failure, color_option
from torchmigrate.console.terminal import ProgressBar, wants_color


@click.group(short_help="List model files, and convert TorchScript archives.")
def artifacts() -> None:
    """List model files, and convert TorchScript archives to exported programs."""


@artifacts.command("list")
@click.option(
    "--output-format", "style", type=click.Choice(["text", "json"]), default="text", help="Output format."
)
@click.option("-o", "--output-file", metavar="FILE", type=PLACE, help="Write the output to a file.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=PLACE)
def list_files(style: str, output_file: str | None, paths: tuple[str, ...]) -> int:
    """List the model files in PATHS (default: the current folder) without unpickling or running anything in them."""
    found = [reader.read_artifact(path) for path in reader.find_model_files(paths or (".",))]
    if not found:
        output.print_lines(f"torchmigrate: no model files in {', '.join(paths) or 'this folder'}")
    _write_text(listing.render_json(found) if style == "json" else listing.render_text(found), output_file)
    return 2 if any(one.error for one in found) else 0


@artifacts.command("convert")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="PATH",
    type=PLACE,
    required=True,
    help="The .pt2 file to write, or the folder for several.",
)
@click.option(
    "--inputs",
    multiple=True,
    metavar="[METHOD=]FILE|SPEC",
    type=PLACE,
    help="Inputs to run the model with: a file written by torch.save, a folder of such files, or types such as float32[2,3],int64[2].",
)
@click.option(
    "--method", "methods", multiple=True, metavar="NAME", help="Convert this method; default: forward."
)
@click.option(
    "--dynamic",
    multiple=True,
    metavar="[INPUT.]DIM:NAME",
    help="A size that has to stay dynamic, such as 0:batch.",
)
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative tolerance; default: torch.testing's.")
@click.option("--atol", type=click.FloatRange(min=0), help="Absolute tolerance; default: torch.testing's.")
@click.option("--aoti", is_flag=True, help="Also compile with AOTInductor, and compare again.")
@click.option(
    "--repack",
    is_flag=True,
    help="Also write TorchServe archives (.mar) again, with the exported program in them.",
)
@click.option(
    "--python",
    metavar="PATH",
    type=PLACE,
    help="The interpreter with torch; default: the active environment's, or the one that runs torchmigrate.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Time limit for each archive, in seconds.",
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0.5),
    metavar="GIB",
    help="Memory limit for each archive; default: 4, or six times the archive's size if that is more.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="The number of archives to convert at a time.",
)
@click.option("--report", metavar="FILE", type=PLACE, help="Also write a report, as .md or .json.")
@click.option("--ray", is_flag=True, help="Convert on the nodes of a running Ray cluster.")
@click.option("--ray-address", default="auto", show_default=True, help="The address of the Ray cluster.")
@color_option
@click.argument("source", metavar="IN", type=PLACE)
def convert_archives(source: str, target: str, **given: Any) -> int:
    """Convert the TorchScript archive IN, or those in a folder, and compare old and new outputs on the same inputs."""
    from torchmigrate.artifacts import conversion_jobs, conversion_report

    if not os.path.exists(source):
        raise Failure(f"{source} does not exist")
    if given["report"] and Path(given["report"]).suffix not in (".md", ".json"):
        raise click.UsageError("--report FILE must end with .md or .json")
    if not os.path.isdir(source) and os.path.isdir(target):
        target = os.path.join(target, f"{Path(source).stem}.pt2")
    wanted, folder = _parse_options(given)
    work = conversion_jobs.create_jobs(source, target, wanted, folder)
    if not work:
        raise Failure(f"no model files in {source}")
    with ProgressBar(sys.stderr, wanted=True) as progress:
        if given["ray"]:
            from torchmigrate.artifacts import ray_conversion
            from torchmigrate.probe.ray_cluster import RayError

            try:
                outcomes = ray_conversion.run_on_cluster(work, given["ray_address"], progress)
            except RayError as error:
                raise Failure(str(error)) from None
        else:
            outcomes = conversion_jobs.run_jobs(work, os.environ, given["jobs"], progress)
    if given["report"]:
        is_json = Path(given["report"]).suffix == ".json"
        _write_text(
            conversion_report.render_report_json(outcomes)
            if is_json
            else conversion_report.render_markdown(outcomes),
            given["report"],
        )
    color = wants_color(given["color"], sys.stdout)
    output.print_text(
        conversion_report.render_table_text(outcomes, color=color, width=shutil.get_terminal_size().columns)
    )
    if any(one.error for one in outcomes):
        return 2
    alone = not os.path.isdir(source)
    return 0 if all(one.is_good or (one.skipped and not alone) for one in outcomes) else 1


def _parse_options(given: dict[str, Any]) -> tuple[Any, str | None]:
    """Return the conversion that the options request, and the folder of input files, if one is given."""
    from torchmigrate.artifacts import input_specs
    from torchmigrate.artifacts.conversion import ConversionOptions

    files: dict[str, str] = {}
    specs: dict[str, list[input_specs.InputTree]] = {}
    folder = None
    try:
        for text in given["inputs"]:
            method, value = _split_method(text)
            if os.path.isdir(value) and not method:
                folder = value
            elif os.path.isfile(value):
                files[method] = value
            else:
                specs[method] = input_specs.parse_inputs(value)
        dynamic = tuple(input_specs.parse_open_size(text) for text in given["dynamic"])
    except input_specs.SpecError as error:
        raise Failure(f"{error}") from None
    python = _choose_interpreter(given["python"])
    if python is None or not shutil.which(python):
        raise Failure(
            f"{python or 'a Python interpreter'} was not found; choose one that has torch with --python"
        )
    memory = given["memory"]
    methods = given["methods"] or tuple(name for name in (*files, *specs) if name) or ("forward",)
    return (
        ConversionOptions(
            python,
            methods,
            files,
            specs,
            dynamic,
            given["rtol"],
            given["atol"],
            given["timeout"],
            int(memory * (1 << 30)) if memory else None,
            given["aoti"],
            given["repack"],
        ),
        folder,
    )


def _choose_interpreter(named: str | None) -> str | None:
    """Return the user's interpreter as `collector.find_python` finds it; the running one instead of one on ``PATH`` if it has torch."""
    from torchmigrate.probe import collector

    python = collector.find_python(named, os.environ, Path.cwd())
    is_by_chance = not named and python == collector.find_on_path(os.environ)
    return sys.executable if is_by_chance and find_spec("torch") is not None else python


def _split_method(text: str) -> tuple[str, str]:
    """Split ``encode=float32[2,3]`` into its two parts; a file name may contain a ``=`` too."""
    method, equals, value = text.partition("=")
    return (method, value) if equals and method.isidentifier() and not os.path.exists(text) else ("", text)


def _write_text(text: str, output_file: str | None) -> None:
    if output_file:
        with output.replace_file(output_file) as file:
            file.write(text)
    else:
        output.print_text(text)
