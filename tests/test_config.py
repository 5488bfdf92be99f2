"""Settings: where they come from, which wins, and what is said of wrong ones."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from torchmigrate.cli.commands import cli
from torchmigrate.model import torch_versions
from torchmigrate.project.ignores import EXCLUDE
from torchmigrate.run.profiles import Profiles
from torchmigrate.settings import config
from torchmigrate.settings.config import ConfigError, Layer
from torchmigrate.settings.settings import Settings, default_to_toml, setting_fields, toml_key

SCHEMA = Path(config.__file__).parent / "settings.schema.json"


def settings(**values: Any) -> Settings:
    return config.merge_layers([Layer(values, "/")])


def selected(chosen: Settings, *codes: str, default_on: bool = True) -> list[str]:
    return [code for code in codes if chosen.is_selected(code, "torchscript", default_on)]


class TestSelection:
    """The most specific selector decides."""

    def test_without_selection_the_default_rules_run(self) -> None:
        assert Settings().is_selected("TS101", "torchscript", True)
        assert not Settings().is_selected("AD901", "advice", False)

    @pytest.mark.parametrize(
        ("selector", "selects"), [("AD", False), ("advice", False), ("AD923", True), ("ALL", True)]
    )
    def test_a_rule_that_serves_few_is_selected_by_its_whole_code(self, selector: str, selects: bool) -> None:
        assert Settings(select=(selector,)).is_selected("AD923", "advice", False, True) == selects

    def test_select_takes_the_place_of_the_default(self) -> None:
        assert selected(settings(select=("TS102",)), "TS101", "TS102", "SC201") == ["TS102"]

    @pytest.mark.parametrize("selector", ["TS101", "ts101", "TS1", "TS", "torchscript", "TorchScript", "ALL"])
    def test_codes_prefixes_families_and_all(self, selector: str) -> None:
        assert selected(settings(select=(selector,)), "TS101", default_on=False) == ["TS101"]

    def test_extend_select_adds_to_the_default(self) -> None:
        chosen = settings(extend_select=("AD901",))
        assert chosen.is_selected("AD901", "advice", False)
        assert not chosen.is_selected("AD902", "advice", False)
        assert chosen.is_selected("TS101", "torchscript", True)

    @pytest.mark.parametrize(
        ("select", "ignore", "expected"),
        [
            ((), ("TS1",), []),
            (("TS",), ("TS101",), ["TS102"]),
            (("TS101",), ("TS",), ["TS101"]),
            (("TS101",), ("torchscript",), ["TS101"]),
            (("torchscript",), ("ALL",), ["TS101", "TS102"]),
            (("TS",), ("torchscript",), ["TS101", "TS102"]),
            (("TS",), ("TS",), []),
            (("ALL",), ("TS101",), ["TS102"]),
            (("TS101", "TS"), ("TS1",), ["TS101"]),
        ],
    )
    def test_the_longer_prefix_wins_and_ignore_between_equals(
        self, select: tuple[str, ...], ignore: tuple[str, ...], expected: list[str]
    ) -> None:
        assert selected(settings(select=select, ignore=ignore), "TS101", "TS102") == expected

    def test_per_file_ignores_hold_where_their_pattern_matches(self) -> None:
        folder = str(Path.cwd())
        chosen = config.merge_layers(
            [Layer({"per_file_ignores": (("tests/*.py", ("TS",)), ("conf.py", ("ALL",)))}, folder)]
        )
        assert chosen.is_ignored_in("tests/a.py", "TS101", "torchscript")
        assert not chosen.is_ignored_in("tests/a.py", "SC201", "stream-capture")
        assert not chosen.is_ignored_in("src/tests/a.py", "TS101", "torchscript")
        assert chosen.is_ignored_in("docs/conf.py", "SC201", "stream-capture")

    def test_errors_and_warnings_are_listed_and_info_when_asked_for(self) -> None:
        assert Settings().is_listed("TS101", "warning")
        assert not Settings().is_listed("TS101", "info")
        assert settings(show=("info",)).is_listed("TS101", "info")
        assert settings(show=("info",)).is_listed("TS101", "error")
        assert settings(show=("ts101",)).is_listed("TS101", "info")
        assert settings(select=("TS101",)).is_listed("TS101", "info")
        assert not settings(select=("TS",)).is_listed("TS101", "info")
        assert settings(select=("AD",)).is_listed("AD901", "info")
        assert settings(extend_select=("advice",)).is_listed("AD901", "info")
        assert not settings(select=("ALL",)).is_listed("AD901", "info")


class TestLayers:
    """The command line over the nearest file over the defaults."""

    def test_the_stronger_layer_wins(self) -> None:
        merged = config.merge_layers(
            [Layer({"fail_on": "info"}, "/"), Layer({"fail_on": "error", "show": ("info",)}, "/")]
        )
        assert (merged.fail_on, merged.show) == ("info", ("info",))

    def test_ignored_and_extending_codes_add_up(self) -> None:
        merged = config.merge_layers([Layer({"ignore": ("TS1",)}, "/"), Layer({"ignore": ("SC",)}, "/")])
        assert merged.ignore == ("SC", "TS1")

    def test_selecting_starts_afresh(self) -> None:
        weaker = Layer({"select": ("SC",), "ignore": ("TS101",), "extend_select": ("AD",)}, "/")
        merged = config.merge_layers([Layer({"select": ("TS",)}, "/"), weaker])
        assert (merged.select, merged.ignore, merged.extend_select) == (("TS",), (), ())

    def test_the_stronger_layer_takes_back_what_the_weaker_one_says(self) -> None:
        merged = config.merge_layers(
            [Layer({"extend_select": ("TS101",)}, "/"), Layer({"ignore": ("TS101", "SC")}, "/")]
        )
        assert merged.ignore == ("SC",)
        assert selected(merged, "TS101") == ["TS101"]

    def test_patterns_start_at_the_folder_that_states_them(self) -> None:
        merged = config.merge_layers(
            [Layer({"extend_exclude": ("a/b", "name")}, "/x"), Layer({"extend_exclude": ("c/*",)}, "/y")]
        )
        assert merged.extend_exclude == ("/y/c/*", "/x/a/b", "name")
        assert merged.excluded == (*EXCLUDE, *merged.extend_exclude)

    def test_settings_travel_to_worker_processes(self) -> None:
        chosen = settings(select=("TS",), per_file_ignores=(("a", ("TS",)),), min_version=(2, 4))
        assert pickle.loads(pickle.dumps(chosen)) == chosen


class TestFiles:
    """Configuration files: found, extended, refused."""

    def test_the_nearest_file_with_settings_is_found(self, tmp_path: Path) -> None:
        inner = tmp_path / "a" / "b"
        inner.mkdir(parents=True)
        (tmp_path / "pyproject.toml").write_text("[tool.torchmigrate]\n")
        (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'torchmigrate-user'\n")
        assert config.find_file(str(inner)) == str(tmp_path / "pyproject.toml")
        (tmp_path / "a" / "torchmigrate.toml").write_text("")
        assert config.find_file(str(inner)) == str(tmp_path / "a" / "torchmigrate.toml")

    def test_the_search_ends_at_the_root_of_the_repository(self, tmp_path: Path) -> None:
        (tmp_path / "torchmigrate.toml").write_text("")
        (tmp_path / "repository" / ".git").mkdir(parents=True)
        assert config.find_file(str(tmp_path / "repository")) is None

    def test_every_setting_can_be_stated(self, tmp_path: Path) -> None:
        path = tmp_path / "torchmigrate.toml"
        path.write_text(
            """
            select = ["TS", "stream-capture"]
            ignore = ["TS101"]
            extend-select = ["AD901"]
            per-file-ignores = {"tests/*" = ["TS"], "*.pyi" = ["ALL"]}
            target-version = "2.13"
            min-version = "2.4.1"
            exclude = ["third_party"]
            extend-exclude = ["gen/*.py"]
            force-exclude = true
            fail-on = "error"
            unsafe-fixes = true
            output-format = "concise"
            show = ["info", "TS104"]
            device-agnostic = true
            script-replacement = "eager"
            keep-torchscript-support = false
            gpu-architectures = ["7.0", "12.0", "9.0a"]
            """
        )
        assert config.merge_layers(config.read_layers(str(path))) == Settings(
            select=("TS", "stream-capture"),
            ignore=("TS101",),
            extend_select=("AD901",),
            per_file_ignores=((f"{tmp_path}/tests/*", ("TS",)), ("*.pyi", ("ALL",))),
            target_version=(2, 13),
            min_version=(2, 4),
            exclude=("third_party",),
            extend_exclude=(f"{tmp_path}/gen/*.py",),
            force_exclude=True,
            fail_on="error",
            unsafe_fixes=True,
            output_format="concise",
            show=("info", "TS104"),
            device_agnostic=True,
            script_replacement="eager",
            keep_torchscript_support=False,
            gpu_architectures=("7.0", "12.0", "9.0a"),
        )

    def test_a_file_extends_another(self, tmp_path: Path) -> None:
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared" / "pyproject.toml").write_text(
            '[tool.torchmigrate]\nfail-on = "info"\nmin-version = "2.4"\nextend-exclude = ["a/b"]\n'
        )
        own = tmp_path / "torchmigrate.toml"
        own.write_text('extend = "shared/pyproject.toml"\nmin-version = "auto"\n')
        merged = config.merge_layers(config.read_layers(str(own)))
        assert (merged.fail_on, merged.min_version) == ("info", None)
        assert merged.extend_exclude == (f"{tmp_path}/shared/a/b",)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("baseline = '/dev/zero'", "`baseline` names a file outside of"),
            ("baseline = '../known.json'", "`baseline` names a file outside of"),
            ("baseline = '~/known.json'", "`baseline` names a file outside of"),
            ("baseline = 'link.json'", "`baseline` names a file outside of"),
            ("extend = '../torchmigrate.toml'", "`extend` names a file outside of"),
            ("extend = '/dev/stdin'", "`extend` names a file outside of"),
        ],
    )
    def test_found_settings_reach_nothing_outside_of_their_repository(
        self, tmp_path: Path, content: str, message: str
    ) -> None:
        repository = tmp_path / "repository"
        (repository / ".git").mkdir(parents=True)
        (repository / "link.json").symlink_to(tmp_path / "known.json")
        (tmp_path / "torchmigrate.toml").write_text("fail-on = 'info'\n")
        own = repository / "torchmigrate.toml"
        own.write_text(content)
        with pytest.raises(ConfigError, match=message):
            config.read_layers(str(own), found=True)
        if "torchmigrate.toml" in content:  # who names the file agrees to what it names
            assert config.merge_layers(config.read_layers(str(own))).fail_on == "info"

    def test_found_settings_may_reach_all_of_their_repository(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / "shared.toml").write_text("baseline = 'known.json'\n")
        (tmp_path / "package").mkdir()
        own = tmp_path / "package" / "torchmigrate.toml"
        own.write_text("extend = '../shared.toml'\n")
        merged = config.merge_layers(config.read_layers(str(own), found=True))
        assert merged.baseline == str(tmp_path / "known.json")

    def test_a_byte_order_mark_does_not_matter(self, tmp_path: Path) -> None:
        path = tmp_path / "torchmigrate.toml"
        path.write_bytes(b"\xef\xbb\xbffail-on = 'info'\r\n")
        assert config.merge_layers(config.read_layers(str(path))).fail_on == "info"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("selct = []", "unknown key `selct`; did you mean `select`?"),
            ("min_version = '2.1'", "unknown key `min_version`; did you mean `min-version`?"),
            ("extends = 'x'", "unknown key `extends`; did you mean `extend`?"),
            ("select = 'TS'", "`select` must be a list of rule codes, prefixes of codes or family names"),
            ("select = [1]", "`select` must be a list of rule codes, prefixes of codes or family names"),
            ("select = ['TS 1']", "`select` must be a list of rule codes, prefixes of codes or family names ('TS 1' is not one)"),
            ("exclude = true", "`exclude` must be a list of file patterns"),
            ("target-version = 2.12", '`target-version` must be "latest" or a version such as "2.12"'),
            ("target-version = 'auto'", "`target-version` must be \"latest\" or a version such as \"2.12\" ('auto' is not a version such as 2.12)"),
            ("target-version = '2.99'", "`target-version` must be \"latest\" or a version such as \"2.12\" (torch 2.99 is unknown; torchmigrate covers torch 2.0 to 2.15)"),
            ("target-version = '1.13'", "`target-version` must be \"latest\" or a version such as \"2.12\" (torch 1.13 is unknown; torchmigrate covers torch 2.0 to 2.15)"),
            ("min-version = '>=2'", "`min-version` must be \"auto\" or a version such as \"2.4\" ('>=2' is not a version such as 2.12)"),
            ("unsafe-fixes = 1", "`unsafe-fixes` must be true or false"),
            ("fail-on = 'never'", "`fail-on` must be one of error, warning, info ('never' is not one)"),
            ("fail-on = ['error']", "`fail-on` must be one of error, warning, info (['error'] is not one)"),
            ("per-file-ignores = ['a']", "`per-file-ignores` must be a table from file patterns to lists of rule codes"),
            ("per-file-ignores = {a = 'TS'}", "`per-file-ignores` must be a table from file patterns to lists of rule codes"),
            ("gpu-architectures = ['sm_70']", "`gpu-architectures` must be a list of compute capabilities such as \"7.0\" ('sm_70' is not one)"),
            ("gpu-architectures = [7.0]", "`gpu-architectures` must be a list of compute capabilities such as \"7.0\""),
            ("qqqq = 1", "unknown key `qqqq`"),
            ("extend = 3", "`extend` must be the path of a configuration file"),
            ("extend = 'torchmigrate.toml'", "`extend` leads back to this file"),
        ],
    )  # fmt: skip
    def test_a_wrong_setting_is_named_with_its_file(self, tmp_path: Path, content: str, message: str) -> None:
        path = tmp_path / "torchmigrate.toml"
        path.write_text(content)
        with pytest.raises(ConfigError) as raised:
            config.read_layers(str(path))
        assert str(raised.value) == f"{path}: {message}"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"\xff\xfe", "not UTF-8"),
            (b"select = [", "not valid TOML"),
            (b"select = " + b"[" * 100_000, "not valid TOML: it is nested too deeply"),
            (b"#" * (config.MAX_CONFIG_BYTES + 1), "larger than 4 MiB"),
            (b"a = 1\na = 2", "not valid TOML"),
            (b"\0", "not valid TOML"),
        ],
    )
    def test_a_hostile_file_gives_one_error(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "torchmigrate.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError) as raised:
            config.read_layers(str(path))
        assert str(raised.value).startswith(f"{path}: {message}")
        assert len(str(raised.value)) < 500

    @pytest.mark.parametrize("content", ["tool = 'torchmigrate'", "tool = ['torchmigrate']"])
    def test_a_pyproject_without_the_table_has_no_settings(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "pyproject.toml"
        path.write_text(content)
        assert config.find_file(str(tmp_path)) != str(path)
        with pytest.raises(ConfigError, match=r"there is no table \[tool.torchmigrate\]"):
            config.read_layers(str(path))

    def test_a_table_that_is_none_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool]\ntorchmigrate = 3\n")
        with pytest.raises(ConfigError, match=r"`tool\.torchmigrate` must be a table"):
            config.find_file(str(tmp_path))


class TestSchema:
    """The JSON schema is made from the settings."""

    def test_the_shipped_schema_is_current(self) -> None:
        assert SCHEMA.read_text() == config.render_schema(), (
            "python -m torchmigrate.settings.config prints the current one"
        )

    def test_it_is_a_schema_and_the_defaults_fit(self) -> None:
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        defaults = {toml_key(one.name): default_to_toml(one) for one in setting_fields()}
        jsonschema.validate(defaults, schema)
        assert config.merge_layers([Layer(config.parse_table(defaults, "defaults"), "/")]) == Settings()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"selct": []},
            {"select": "TS"},
            {"target-version": "auto"},
            {"fail-on": "never"},
            {"show": ["a b"]},
        ],
    )
    def test_it_refuses_what_the_program_refuses(self, wrong: dict[str, object]) -> None:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, json.loads(SCHEMA.read_text()))
        with pytest.raises(ConfigError):
            config.parse_table(wrong, "test")


def test_the_latest_target_is_the_newest_version() -> None:
    assert config.parse_table({"target-version": "latest"}, "test") == {
        "target_version": torch_versions.NEWEST
    }


def test_the_default_target_is_the_newest_version() -> None:
    assert Settings().target_version == torch_versions.NEWEST


def test_the_documentation_has_a_row_for_every_setting() -> None:
    rows = config.render_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [toml_key(one.name) for one in setting_fields()]
    assert all(row.count("|") == 5 for row in rows)


@pytest.mark.parametrize(
    ("name", "text", "length"),
    [
        ("pyproject.toml", "[tool.black]\nline-length = 100\n", 100),
        ("pyproject.toml", "[tool.black]\n\n[tool.other]\nline-length = 100\n", 88),
        ("pyproject.toml", '[project]\nname = "a"\n\n[tool.ruff] # all\nselect = []\nline-length=79\n', 79),
        ("pyproject.toml", '[tool.ruff]\nselect = ["E"]\n', None),
        ("ruff.toml", 'line-length = 120\n[lint]\nselect = ["E"]\n', 120),
        (".ruff.toml", "[lint.pycodestyle]\nline-length = 60\n", None),
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n", None),
    ],
)
def test_the_line_length_of_the_formatter_is_that_of_the_project(
    tmp_path: Path, name: str, text: str, length: int | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pkg").mkdir()
    (tmp_path / name).write_text(text)
    folder = str(tmp_path / "pkg")
    assert Profiles({}).get_profile(folder).line_length == length
    assert Profiles({}, isolated=True).get_profile(folder).line_length is None


def test_a_fix_keeps_to_the_line_length_of_the_formatter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import torch\n\nmodule.load_state_dict(torch.load(path, map_location=device))\n"
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.py").write_text(code)
    (tmp_path / "pyproject.toml").write_text("[tool.black]\nline-length = 70\n")
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["fix", "--unsafe", "--apply", "-q", "--no-cache", "a.py"], standalone_mode=False)
    assert (tmp_path / "a.py").read_text() == (
        "import torch\n\nmodule.load_state_dict(\n    torch.load(path, map_location=device, weights_only=True)\n)\n"
    )
