"""`torchmigrate plan`: the order of work for an upgrade."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import click

from torchmigrate.cli import options, output
from torchmigrate.cli.session import Session
from torchmigrate.console.terminal import ProgressBar, line_width, wants_color, wants_links
from torchmigrate.plan.model import Plan
from torchmigrate.project.file_search import InputFile

FORMATS = ("text", "markdown", "html", "json")


@click.command(short_help="Show the steps of an upgrade, in order.")
@options.cache_folder
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the plan and errors.")
@options.color_option
@click.option("--no-cache", is_flag=True, help="Do not use or write the cache.")
@click.option("-o", "--output-file", metavar="FILE", type=options.PLACE, help="Write the plan to a file.")
@click.option(
    "--output-format",
    "style",
    type=options.FormatChoice(FORMATS),
    default="text",
    help="Output format of the plan.",
)
@click.option(
    "--link-base",
    metavar="URL",
    help="The address of the repository's files on the host of the code, for links; none: no links. "
    "[default: from git's remote]",
)
@options.add_settings_except("output_format", "show", "fail_on", "unsafe_fixes")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=options.PLACE)
def plan(
    paths: tuple[str, ...],
    style: str,
    color: str,
    output_file: str | None,
    link_base: str | None,
    **given: Any,
) -> int:
    """Show the steps of an upgrade of PATHS (default: the current folder), in order.

    The steps are: what can be done today, what breaks and needs a decision, requirements and images, what a higher lower
    bound allows, model files with the code that reads them, and what can wait. A table shows what each release on the way
    breaks. Exits with 0, or with 2 if a file could not be checked.
    """
    if "-" in paths:
        raise click.UsageError("a plan cannot be made for standard input")
    if link_base == "none":
        link_base = ""
    elif link_base is not None and not re.match(r"https?://[^\s<>]+\Z", link_base):
        raise click.UsageError(
            "--link-base is the address of a web page, such as https://github.com/o/r/blob/main"
        )
    run = Session(
        paths,
        stdin_filename=None,
        output_file=output_file,
        statistics=False,
        exit_zero=True,
        color=color,
        verbose=False,
        **given,
    )
    holding = {name: given[name] for name in ("config", "isolated")}
    made = _create_plan(
        run, paths, options.format_invocation((), holding), edits=style == "html", link_base=link_base
    )
    to_terminal = output_file is None
    colored = to_terminal and wants_color(color, sys.stdout)
    links = colored and wants_links(sys.stdout)
    with output.replace_file(output_file) if output_file else output.ChunkedOutput() as out:
        out.write(_render_plan(made, style, colored, links))
    return 2 if made.errors else 0


def _create_plan(
    run: Session, paths: tuple[str, ...], holding: str, *, edits: bool, link_base: str | None
) -> Plan:
    from torchmigrate.engine import registry
    from torchmigrate.plan import build
    from torchmigrate.plan.origin import find_origin
    from torchmigrate.project.code_owners import CodeOwners
    from torchmigrate.run import evaluation

    outlooks = [evaluation.Evaluation(result) for result in run.results]
    owners = [CodeOwners(tree.root) for tree in run.trees]
    with ProgressBar(sys.stderr, wanted=not run.quiet) as progress:
        for tree in run.trees:
            outlooks += evaluation.evaluate_tree(tree, edits=edits, cache=run.cache, progress=progress)
    run.cache.close()
    settings, minimum = run.report.settings, run.report.minimum
    minimums = {
        tree.profile_of(os.path.dirname(file.place)).minimum.version
        for tree in run.trees
        for file in tree.named
    }
    asked = build.PlanRequest(
        minimum,
        len(minimums) > 1,
        settings.target_version,
        registry.load_rules(),
        run.report.find_source,
        lambda path: next((found for one in owners if (found := one.find_owners(path))), ()),
        paths,
        holding,
        settings.min_version is not None,
        len(run.inputs),
        find_origin(run.trees[0].folder if run.trees else os.curdir, link_base),
        lambda: any(map(_imports_numpy, run.inputs)),
    )
    return build.build_plan(outlooks, asked)


_NUMPY = re.compile(rb"\b(?:import|from)\s+numpy\b")


def _imports_numpy(file: InputFile) -> bool:
    """Return whether a Python file or notebook imports numpy."""
    try:
        return file.path.endswith((".py", ".ipynb")) and _NUMPY.search(file.read_bytes()) is not None
    except OSError:
        return False


def _render_plan(made: Plan, style: str, color: bool, links: bool) -> str:
    if style == "html":
        from torchmigrate.plan.html import render_html as as_html

        return as_html(made)
    if style == "markdown":
        from torchmigrate.plan.markdown import render_markdown as as_markdown

        return as_markdown(made)
    if style == "json":
        from torchmigrate.plan.json import render_json as as_json

        return as_json(made)
    from torchmigrate.plan.text import render_text as as_text

    return as_text(made, width=line_width(), color=color, links=links)
