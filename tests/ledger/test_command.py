"""`torchmigrate ledger`: the history of names, and what differs between two releases."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from torchmigrate.cli.commands import cli
from torchmigrate.cli.ledger import complete_name, ledger
from torchmigrate.cli.ledger_text import suggest_names


def run(*arguments: str) -> str:
    """What the command prints."""
    done = CliRunner().invoke(ledger, arguments, standalone_mode=False, catch_exceptions=False)
    assert not done.return_value
    if done.exception:
        raise done.exception
    return done.output


def refused(*arguments: str) -> str:
    """The message that the command ends with."""
    with pytest.raises(click.ClickException) as raised:
        ledger.main(list(arguments), standalone_mode=False)
    assert raised.value.exit_code == 2
    return raised.value.message


def test_the_history_of_a_name() -> None:
    assert run("torch.distributed.all_gather_into_tensor") == (
        "torch.distributed.all_gather_into_tensor: function, documented\n"
        "  2.0 to 2.12, 2.15  present\n"
        "  2.13 to 2.14       deprecated; calling it, FutureWarning: `torch.distributed.all_gather_into_tensor` is"
        " deprecated. Please use `torch.distributed.all_gather_single` instead.\n"
    )


def test_several_names_and_json() -> None:
    found: list[dict[str, Any]] = json.loads(run("torch.qr", "torch.load", "--output-format", "json"))
    qr, load = found
    assert (qr["name"], qr["kind"], qr["level"]) == ("torch.qr", "function", "documented")
    assert qr["raises"] == ["2.14", "2.15"]
    assert len(qr["present"]) == 16
    weights_only = next(one for one in load["parameters"] if one["name"] == "weights_only")
    assert weights_only["defaults"][0] == {"releases": ["2.0", "2.1", "2.2", "2.3"], "default": "False"}


def test_a_name_that_nothing_happened_to() -> None:
    assert run("torch.abs") == "torch.abs: function, documented\n  2.0 to 2.15  present\n"


def test_what_is_written_by_hand_follows() -> None:
    assert run("torch._six.nan") == "torch._six.nan:\n  = was removed in torch 2.0; use `torch.nan`\n"
    assert "  = has raised an error since torch 2.14; use `torch.linalg.qr(x)`" in run("torch.Tensor.qr")
    assert "  = `verbose` was removed in torch 2.7; " in run("torch.optim.lr_scheduler.StepLR")
    (grid,) = json.loads(run("torch.meshgrid", "--output-format", "json"))
    assert [one["text"].partition(",")[0] for one in grid["written"]] == ["without `indexing`"]


def test_a_name_that_is_not_qualified_is_completed_and_a_private_one_explained() -> None:
    assert "did you mean `torch.qr`" in refused("qr")
    assert refused("torch._tensor_str._str").endswith("private names that never changed are not in it")


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("torch.cholesk", "torch.cholesky"),
        ("torch.nn.GradScaler", "torch.amp.GradScaler"),
        ("torch.distribute.all_gather", "torch.distributed.all_gather"),
        ("torch.cuda.ampp.autocast", "torch.amp.autocast"),
    ],
)
def test_near_misses_are_suggested(name: str, suggested: str) -> None:
    assert suggested in suggest_names(name)
    assert f"`{suggested}`" in refused(name)


def test_what_went_with_its_module_has_the_history_of_the_module() -> None:
    assert run("torch.utils.bottleneck.__main__.run_prof") == (
        "torch.utils.bottleneck: module, exported\n  2.0 to 2.9    present\n  2.10 to 2.15  absent\n"
    )


def test_a_name_that_was_lost_before_2_0_has_its_last_release() -> None:
    assert run("torch.backends.cudnn.lib") == (
        "torch.backends.cudnn.lib:\n  = was removed in torch 1.5; 1.4 was the last to have it\n"
    )
    (found,) = json.loads(run("torch.testing.floating_types", "--output-format", "json"))
    assert found["written"] == [
        {
            "text": "was removed in torch 1.10; 1.9 was the last to have it",
            "source": "wheels of torch 1.0 to 1.13",
        }
    ]


def test_what_is_nowhere_near_is_said_to_be_unknown() -> None:
    assert refused("numpy.zeros_alike") == "the ledger has no name numpy.zeros_alike"


def test_the_difference_as_json_and_csv() -> None:
    rows: list[dict[str, Any]] = json.loads(run("--from", "2.13", "--to", "2.14", "--output-format", "json"))
    assert {"owner": "torch", "name": "qr", "change": "raises", "detail": None} in rows
    table = list(csv.DictReader(io.StringIO(run("--from", "2.13", "--to", "2.14", "--output-format", "csv"))))
    assert [{**row, "detail": row["detail"] or None} for row in table] == rows


def test_the_difference_as_markdown() -> None:
    text = run("--from", "2.13", "--to", "2.14", "torch.nn", "torch.cholesky")
    assert text.startswith("# From torch 2.13 to 2.14\n\n## `torch`\n\n- Now raises an error: `cholesky`\n")
    assert "`qr`" not in text


def test_what_is_taken_back_is_in_no_difference_around_it() -> None:
    def changes(old: str, new: str) -> list[str]:
        rows = json.loads(run("--from", old, "--to", new, "--output-format", "json", "torch.distributed"))
        return [
            row["change"]
            for row in rows
            if (row["owner"], row["name"]) == ("torch.distributed", "all_gather_into_tensor")
        ]

    assert changes("2.12", "2.13") == ["deprecated"]
    assert changes("2.13", "2.14") == []
    assert changes("2.14", "2.15") == ["restored"]
    assert changes("2.12", "2.15") == []


def test_private_names_are_listed_if_asked_for() -> None:
    def names(*arguments: str) -> set[str]:
        rows = json.loads(run("--from", "2.13", "--output-format", "json", *arguments))
        return {f"{row['owner']}.{row['name']}" for row in rows}

    assert not any("._" in name for name in names())
    assert names() < names("--private")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "pass a name"),
        (("--to", "2.4"), "--to requires --from"),
        (("qr",), "qr is not a qualified name such as torch.qr"),
        (("torch.qr", "--private"), "--private requires --from"),
        (("torch.qr", "--output-format", "csv"), "--output-format csv requires --from"),
        (("--from", "2.4", "--output-format", "text"), "--output-format text requires names"),
        (("--from", "2.4", "--to", "2.4"), "--from 2.4 is not older than --to 2.4"),
        (("--from", "1.13"), "torch 1.13 is unknown"),
        (("--from", "old"), "'old' is not a version"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


def test_names_are_completed() -> None:
    assert complete_name(click.Context(ledger), ledger.params[-1], "torch.cholesky_") == [
        "torch.cholesky_inverse",
        "torch.cholesky_solve",
    ]
    completion = ShellComplete(cli, {}, "torchmigrate", "_TORCHMIGRATE_COMPLETE")
    assert [one.value for one in completion.get_completions(["ledger"], "torch.nn.utils.weight_n")] == [
        "torch.nn.utils.weight_norm"
    ]
    assert "torch.nn" in complete_name(click.Context(ledger), ledger.params[-1], "torch.n")
    packages = ["torch", "torchaudio", "torchdata", "torchtext", "torchvision"]
    assert complete_name(click.Context(ledger), ledger.params[-1], "tor") == packages


def test_a_file_is_written(tmp_path: Any) -> None:
    path = tmp_path / "difference.md"
    assert not run("--from", "2.14", "-o", str(path))
    assert path.read_text().startswith("# From torch 2.14 to 2.15\n")
