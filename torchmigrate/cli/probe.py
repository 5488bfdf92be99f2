"""The command `torchmigrate probe`.

Exit status: 0 everything fits, 1 something does not, 2 wrong usage, or facts that cannot be read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from torchmigrate.cli.options import PLACE, color_option
from torchmigrate.cli.probe_call import ProbeCommand
from torchmigrate.probe import collector
from torchmigrate.probe.machine_facts import facts_to_json

FORMATS = ("text", "full", "concise", "json", "github", "sarif")


@click.command(short_help="Check whether this machine can run torch, now and after the upgrade.")
@click.option(
    "--python",
    metavar="PATH",
    type=PLACE,
    help="The interpreter to check; default: the active environment's. With --gpu: a version, such as 3.11.",
)
@click.option(
    "--gpu",
    "gpus",
    metavar="GPU",
    multiple=True,
    help="Check a described machine instead: a name (V100), a compute capability (7.0) or an architecture (gfx942).",
)
@click.option("--driver", metavar="VERSION", help="With --gpu: the version of the NVIDIA driver.")
@click.option("--target-version", metavar="VERSION", help="The torch to install; default: the newest known.")
@click.option("--smoke", is_flag=True, help="Also run torch, stage by stage.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON, without a verdict.")
@click.option("--facts", metavar="FILE", type=PLACE, help="Check recorded facts instead of this machine.")
@click.option(
    "--project",
    metavar="PATH",
    type=click.Path(exists=True),
    help="Check what the files in PATH would install.",
)
@click.option(
    "--after-fix",
    is_flag=True,
    help="With --project: check the files as `fix --unsafe --relax` would leave them.",
)
@click.option("--merge", is_flag=True, help="Check the machines in FILES together.")
@click.option("--ray", is_flag=True, help="Check every node of a running Ray cluster.")
@click.option("--ray-address", default="auto", show_default=True, help="The address of the Ray cluster.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=collector.IMPORT_LIMIT,
    show_default=True,
    help="Time limit for importing torch, in seconds.",
)
@click.option(
    "--output-format",
    "style",
    type=click.Choice(FORMATS),
    default="text",
    help="Output format of the verdict.",
)
@color_option
@click.option("-o", "--output-file", metavar="FILE", type=PLACE, help="Write the output to a file.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.argument("files", nargs=-1, metavar="[FILES]...", type=click.Path(path_type=Path))
def probe(**given: Any) -> int:
    """Check whether this machine can run the installed torch, and the one to upgrade to."""
    call = ProbeCommand(given)
    if call.merge or call.ray:
        return call.judge_many()
    facts = call.get_facts()
    if call.as_json:
        return call.print_facts(facts_to_json(facts))
    return call.judge_project(facts) if call.project else call.judge_one(facts)
