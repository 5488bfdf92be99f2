"""What the environment says, and what a shell completes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from torchmigrate.cli import commands
from torchmigrate.cli.commands import cli
from torchmigrate.settings.settings import setting_fields

SCRIPT = "import torch\nf = torch.jit.script(g)\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(SCRIPT)


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["torchmigrate", *arguments])
    with pytest.raises(SystemExit):
        commands.main()
    printed = capsys.readouterr()
    return printed.out, printed.err


def test_every_setting_is_a_variable() -> None:
    options = {option.name: option for option in cli.commands["check"].params}
    for one in setting_fields():
        assert options[one.name].envvar == f"TORCHMIGRATE_{one.name.upper()}"
    # What writes or asks is said each time.
    for name in ("write_baseline", "add_ignore", "diff_base", "show_settings", "with_probe", "output_file"):
        assert options[name].envvar is None
    assert all(
        option.envvar is None for option in cli.commands["fix"].params if option.name in ("apply", "verify")
    )


class TestVariables:
    def test_they_win_over_files_and_the_command_line_over_them(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("torchmigrate.toml").write_text(
            'target-version = "2.12"\nunsafe-fixes = true\nignore = ["CU"]\n'
        )
        monkeypatch.setenv("TORCHMIGRATE_TARGET_VERSION", "2.13")
        monkeypatch.setenv("TORCHMIGRATE_UNSAFE_FIXES", "0")
        monkeypatch.setenv("TORCHMIGRATE_IGNORE", "SC2,TS110 RM")
        monkeypatch.setenv("TORCHMIGRATE_FAIL_ON", "")
        said, _ = run(monkeypatch, capsys, "check", "--show-settings", "a.py")
        lines = {line.split(" = ")[0]: line.split(" = ")[1] for line in said.splitlines()[1:]}
        assert lines["target-version"] == '"2.13"  # environment'
        assert lines["unsafe-fixes"] == "false  # environment"
        assert lines["fail-on"] == '"warning"  # default'
        assert lines["ignore"] == '["CU", "SC2", "TS110", "RM"]  # environment, torchmigrate.toml:3'
        options = ("--target-version", "2.14", "--ignore", "TS113")
        said, _ = run(monkeypatch, capsys, "check", "--show-settings", "a.py", *options)
        assert 'ignore = ["CU", "TS113"]  # command line, torchmigrate.toml:3' in said
        assert 'target-version = "2.14"  # command line' in said

    def test_how_a_run_prints(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("TORCHMIGRATE_OUTPUT_FORMAT", "concise")
        monkeypatch.setenv("TORCHMIGRATE_QUIET", "1")
        said = run(monkeypatch, capsys, "check")
        assert said[0].startswith("a.py:2:5: TS101 warning: ")
        assert said[1] == ""
        assert said[0].count("\n") == 1

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("TARGET_VERSION", "next", "environment: `target-version` must be"),
            ("SELECT", "NO1", "no rule matches `NO1`"),
            ("OUTPUT_FORMAT", "xml", "'xml' is not one of"),
            ("PER_FILE_IGNORES", "TS", "environment: `per-file-ignores` must be GLOB:CODE,CODE, not 'TS'"),
        ],
    )
    def test_what_cannot_be_is_said(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        name: str,
        value: str,
        message: str,
    ) -> None:
        monkeypatch.setenv(f"TORCHMIGRATE_{name}", value)
        assert message in run(monkeypatch, capsys, "check")[1]

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("TARGET_VERSON", "TARGET_VERSION"),
            ("TARGET", "TARGET_VERSION"),
            ("UNSAFE", "UNSAFE_FIXES"),
            ("FIAL_ON", "FAIL_ON"),
        ],
    )
    def test_a_misspelt_one_is_named(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, meant: str
    ) -> None:
        monkeypatch.setenv(f"TORCHMIGRATE_{name}", "2.13")
        said = run(monkeypatch, capsys, "check")[1]
        assert f"TORCHMIGRATE_{name} sets nothing; did you mean TORCHMIGRATE_{meant}?" in said

    @pytest.mark.parametrize("name", ["OF_ANOTHER_PROGRAM", "RECORD", "RECORD_DEBUG", "WATCH", "ORIGINAL"])
    def test_one_for_something_else_is_not(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        monkeypatch.setenv(f"TORCHMIGRATE_{name}", "1")
        assert name not in run(monkeypatch, capsys, "check")[1]

    def test_a_hook_suggests_no_command(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("PRE_COMMIT", raising=False)
        assert "\nnext  " in run(monkeypatch, capsys, "check")[0]
        monkeypatch.setenv("PRE_COMMIT", "1")
        assert "\nnext  " not in run(monkeypatch, capsys, "check")[0]

    def test_a_suggested_command_repeats_few_paths(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        many = [f"{number}.py" for number in range(30)]
        for name in many:
            Path(name).write_text(SCRIPT)
        assert "torchmigrate plan 0.py 1.py  #" in run(monkeypatch, capsys, "check", *many[:2])[0]
        assert "torchmigrate plan  #" in run(monkeypatch, capsys, "check", *many)[0]


class TestCompletion:
    @pytest.mark.parametrize(
        ("words", "begun", "some"),
        [
            ([], "ch", ["check"]),
            (["check"], "--diff", ["--diff-base"]),
            (["check", "--select"], "TS10", ["TS101", "TS102"]),
            (["check", "--ignore"], "TS101,torchs", ["TS101,torchscript"]),
            (["fix", "--output-format"], "g", ["github", "gitlab"]),
            (["explain"], "TS10", ["TS101", "TS102"]),
        ],
    )
    def test_what_may_follow(self, words: list[str], begun: str, some: list[str]) -> None:
        completion = ShellComplete(cli, {}, "torchmigrate", "_TORCHMIGRATE_COMPLETE")
        assert {one.value for one in completion.get_completions(words, begun)} >= set(some)

    @pytest.mark.parametrize(
        "words",
        [
            ["check"],
            ["fix", "--config"],
            ["plan", "-o"],
            ["probe", "--facts"],
            ["artifacts", "convert", "in.pt", "--inputs"],
        ],
    )
    def test_files_may_follow(self, words: list[str]) -> None:
        completion = ShellComplete(cli, {}, "torchmigrate", "_TORCHMIGRATE_COMPLETE")
        assert [(one.type, one.value) for one in completion.get_completions(words, "a")] == [("file", "a")]

    @pytest.mark.parametrize(
        ("shell", "word"), [("zsh", "#compdef torchmigrate"), ("fish", "complete --no-files")]
    )
    def test_the_program_prints_what_a_shell_evaluates(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str, word: str
    ) -> None:
        monkeypatch.setenv("_TORCHMIGRATE_COMPLETE", f"{shell}_source")
        assert word in run(monkeypatch, capsys)[0]
