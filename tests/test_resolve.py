"""`--resolve`: what a resolver on the machine is asked, and what becomes of its answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from torchmigrate.cli.commands import cli
from torchmigrate.documents import resolver_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the resolvers are scripts of a shell")

CONFLICT = "error: No solution found\n  cause: Because x==1 depends on torch<2.6 and you require x==1, we can conclude that"
OFFLINE = "error: Failed to fetch: https://pypi.org/simple/torch/\n  cause: dns error"


def run_cli(*arguments: str) -> Result:
    """A run of the command line."""
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def fake_resolver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a `uv` that answers about the new torch as its files say, and keeps the questions."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "uv"
    script.write_text(
        f'#!/bin/sh\nfor last; do :; done\n/bin/cat "$last" >> {folder}/asked\necho "$@" >> {folder}/options\n'
        f'if ! /bin/grep -q "^torch==2.15.0" "$last" && [ ! -e {folder}/always ]; then exit 0; fi\n'
        f'for option; do case "$option" in --output-file=*) out="${{option#*=}}";; esac; done\n'
        f'[ -e {folder}/solved ] && /bin/cat {folder}/solved > "$out"\n'
        f"/bin/cat {folder}/stderr >&2\nexit $(/bin/cat {folder}/status)\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    resolver_process.ask_once.cache_clear()
    return folder


def found(
    folder: Path, fake_resolver: Path, status: int, stderr: str, text: str, *more: str
) -> tuple[str | None, str | None]:
    """The title of the fix of a list of requirements, and the reason for none."""
    (fake_resolver / "status").write_text(str(status))
    (fake_resolver / "stderr").write_text(stderr)
    (folder / "requirements.txt").write_text(text)
    options = ("--select", "CU504", "--unsafe", "--resolve", "--output-format", "json")
    done = run_cli("check", *options, *more, str(folder))
    [finding] = json.loads(done.stdout)["findings"]
    return (finding["fix"] or {}).get("title"), finding["withheld"]


@pytest.mark.parametrize(
    ("status", "stderr", "text", "title", "reason"),
    [
        (0, "", "torch==2.6.0\nx==1\n", "(uv can resolve the requirements for Python 3.11)", None),
        (1, CONFLICT, "torch==2.6.0\nx==1\n", None, "for Python 3.11: Because x==1 depends on torch<2.6"),
        (1, CONFLICT, "torch==2.6.0\nnumpy\n", None, "uv cannot resolve the requirements"),
        (
            1,
            OFFLINE,
            "torch==2.6.0\nx==1\n",
            None,
            "--relax moves it, and leaves that to check; uv could not check this: it cannot reach pypi.org",
        ),
        (
            1,
            OFFLINE,
            "torch==2.6.0\nnumpy\n",
            "(uv could not check this: it cannot reach pypi.org)",
            None,
        ),
        (0, "", "torch==2.6.0\nflash-attn==2.6.3\n", None, "blocked by `flash-attn==2.6.3`"),
    ],
)
def test_its_answer_decides_what_the_tables_do_not(
    tmp_path: Path,
    fake_resolver: Path,
    status: int,
    stderr: str,
    text: str,
    title: str | None,
    reason: str | None,
) -> None:
    made, withheld = found(tmp_path, fake_resolver, status, stderr, text)
    assert ((made is None), (withheld is None)) == ((title is None), (reason is None))
    assert (title or "") in (made or "")
    assert (reason or "") in (withheld or "")


def test_it_is_asked_for_all_that_is_installed_together(tmp_path: Path, fake_resolver: Path) -> None:
    (tmp_path / "requirements-more.txt").write_text("x[a,b]>=1,<3 ; python_version > '3.8'\n")
    found(
        tmp_path,
        fake_resolver,
        0,
        "",
        "--extra-index-url https://example.org/simple\n-r requirements-more.txt\ntorch==2.6.0\n",
    )
    assert set((fake_resolver / "asked").read_text().splitlines()) == {
        "--extra-index-url https://example.org/simple",
        "torch==2.6.0",
        "torch==2.15.0",
        "x[a,b]>=1,<3 ; python_version > '3.8'",
        "x[a,b]>=1 ; python_version > '3.8'",
    }
    options = (fake_resolver / "options").read_text()
    assert "--no-build" in options
    assert "--no-python-downloads" in options


SOLVED = "torch==2.15.0\nx==3.1\ny==1.0\n"


def test_what_it_changes_has_to_be_relaxed(tmp_path: Path, fake_resolver: Path) -> None:
    (fake_resolver / "solved").write_text(SOLVED)
    listed = "torch==2.6.0\nx==1\ny==1.0\n"
    title, withheld = found(tmp_path, fake_resolver, 0, "", listed)
    assert title is None
    assert withheld == (
        "blocked by `x==1`: it does not fit together with torch 2.15.0 and the rest; --relax changes `x==1` → `x==3.1`"
    )
    title, withheld = found(tmp_path, fake_resolver, 0, "", listed, "--relax")
    assert withheld is None
    assert title == (
        "Use torch 2.15.0 (cu132); relax x==1 → x==3.1 (uv can resolve the requirements for Python 3.11)"
    )


def test_bounds_stay_where_they_hold(tmp_path: Path, fake_resolver: Path) -> None:
    (fake_resolver / "solved").write_text("torch==2.15.0\nx==1.5\ny==3.0\n")
    title, _ = found(tmp_path, fake_resolver, 0, "", "torch==2.6.0\nx<2\ny>=1,<2.5\n", "--relax")
    assert title is not None
    assert "relax y>=1,<2.5 → y>=1,<3.1 " in title


def test_a_bound_that_a_resolver_exceeds_without_need_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^torch==2.6", "torch==2.13.0\\nx==3\\n")
    kept = "  if /bin/grep -q '^x<2' \"$last\"; then printf 'torch==2.13.0\\nx==1\\n' > \"$out\"; fi\n"
    append_to_resolver(tmp_path / "bin", kept)
    done = run_fix(tmp_path, "torch==2.6.0\nx<2\n")
    assert "+torch==2.13.0\n x<2\n" in done.output


def test_a_package_named_after_a_timeout_is_no_unreachable_index(tmp_path: Path, fake_resolver: Path) -> None:
    unusable = (
        "cause: Because timeout-x==1 has no usable wheels and you require timeout-x==1, we can conclude that"
    )
    _, withheld = found(tmp_path, fake_resolver, 1, unusable, "torch==2.6.0\ntimeout-x==1\n")
    assert "could not check" not in (withheld or "")


def test_pins_that_contradict_each_other_already_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^x==1", "torch==2.13.0\\nx==3\\n")
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\n")
    assert "Because x==1 depends on torch<2.6" in done.output
    assert "it could not before the move either" in done.output


@pytest.mark.parametrize(
    ("newest", "blocked", "pinned"),
    [("", True, "x==1"), ("3", False, "x==3")],
)
def test_what_contradicted_others_before_still_has_to_fit_the_new_torch(
    newest: str, blocked: bool, pinned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", f"torch==2.13.0\\nx=={newest or 1}\\n")
    # With torch, a release of x is refused; of several releases, only the old one.
    refused = "^x[>=]=1" if not newest else "^x==1"
    script = (
        "if /bin/grep -q '^torch' \"$last\" && "
        f"{{ ! /bin/grep -q '^torch==2.13' \"$last\" || /bin/grep -q '{refused}' \"$last\"; }} && "
        f"/bin/grep -q '^x' \"$last\"; then echo '{CONFLICT}' >&2; exit 1; fi\n"
    )
    append_to_resolver(tmp_path / "bin", script)
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\ny==1\n")
    assert ("blocked: by `x==1`: uv cannot resolve" in done.output) == blocked
    assert (f"+torch==2.13.0\n+{pinned}\n" in done.output) == (not blocked)
    assert "it could not before the move either" in done.output


def test_a_conflict_from_before_the_move_does_not_count(tmp_path: Path, fake_resolver: Path) -> None:
    (fake_resolver / "always").touch()
    title, withheld = found(tmp_path, fake_resolver, 1, CONFLICT, "torch==2.6.0\nx==1\n")
    assert withheld is None
    assert title is not None
    assert title.endswith("; it could not before the move either)")


def test_the_index_is_never_asked_for_the_project_itself(tmp_path: Path, fake_resolver: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "Own_Thing"\ndependencies = ["torch==2.6.0"]\n'
        '[project.optional-dependencies]\nall = ["own-thing[a]", "near"]\na = ["x==1"]\n'
        "[tool.uv.sources]\nnear = { workspace = true }\n"
    )
    for name, text in (("status", "0"), ("stderr", "")):
        (fake_resolver / name).write_text(text)
    run_cli("check", "--select", "CU504", "--unsafe", "--resolve", str(tmp_path))
    asked = (fake_resolver / "asked").read_text()
    assert "x>=1" in asked
    assert "own" not in asked
    assert "near" not in asked


@pytest.mark.parametrize("version", ["3.0rc1", "99.0.0"])
def test_candidates_and_placeholders_are_not_proposed(
    version: str, tmp_path: Path, fake_resolver: Path
) -> None:
    (fake_resolver / "solved").write_text(f"torch==2.15.0\nx=={version}\n")
    title, _ = found(tmp_path, fake_resolver, 0, "", "torch==2.6.0\nx==1\n")
    assert title == "Use torch 2.15.0 (cu132) (uv can resolve the requirements for Python 3.11)"


def test_pip_drops_the_pins_that_it_finds_in_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "pip").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        'if ! /bin/grep -q "^torch==2.15.0" "$last"; then echo "Would install torch-2.6.0 x-y-1 z-4"; exit 0; fi\n'
        'if /bin/grep -q "^x-y==1$" "$last"; then\n'
        "  echo 'The conflict is caused by:\n    The user requested x-y==1\n    torch 2.15.0 depends on x-y>=2\n' >&2\n"
        "  exit 1\nfi\n"
        'echo "Would install torch-2.15.0 x-y-3.1 z-4"\n'
    )
    (folder / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    resolver_process.ask_once.cache_clear()
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\nx-y==1\nz==4\n")
    done = run_cli("fix", "--select", "CU504", "--unsafe", "--resolve", "--relax", str(tmp_path))
    assert "+x-y==3.1\n" in done.output
    assert "-z==4" not in done.output


def write_resolver(folder: Path, monkeypatch: pytest.MonkeyPatch, refuses: str, solved: str) -> None:
    """Make a `uv` that finds releases unless its arguments or its question match ``refuses``."""
    folder.mkdir()
    (folder / "uv").write_text(
        "#!/bin/sh\nfor last; do :; done\n"
        f"if (echo \"$@\"; /bin/cat \"$last\") | /bin/grep -qE '{refuses}'; then echo '{CONFLICT}' >&2; exit 1; fi\n"
        'for option; do case "$option" in --output-file=*) out="${option#*=}";; esac; done\n'
        f"if /bin/grep -q '^torch==2.13.0' \"$last\"; then printf '{solved}' > \"$out\"; fi\n"
    )
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    resolver_process.ask_once.cache_clear()


def run_fix(folder: Path, text: str) -> Result:
    """The diff of a list of requirements for torch 2.13, with everything allowed."""
    (folder / "requirements.txt").write_text(text)
    flags = ("--select", "CU504", "--unsafe", "--resolve", "--relax", "--target-version", "2.13")
    return run_cli("fix", *flags, str(folder))


def test_of_packages_whose_newest_releases_contradict_older_ones_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = "torch==2.13.0\\ntensordict==0.14.3\\ntorchrl==0.14.1\\n"
    write_resolver(tmp_path / "bin", monkeypatch, "^tensordict>=0.1[0-9]", solved)
    done = run_fix(tmp_path, "torch==2.7.1\ntensordict==0.8.3\ntorchrl==0.8.1\n")
    assert "+tensordict==0.14.3\n+torchrl==0.14.1\n" in done.output


def append_to_resolver(folder: Path, script: str) -> None:
    """Let the resolver that `write_resolver` has made go on with more lines of shell."""
    with (folder / "uv").open("a") as file:
        file.write(script)


def test_a_pin_that_a_resolver_gives_up_without_need_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "torch==2.13.0\\nx==3\\ny==1\\n")
    kept = (
        "  if /bin/grep -q '^x==1' \"$last\"; then printf 'torch==2.13.0\\nx==1\\ny==1\\n' > \"$out\"; fi\n"
    )
    append_to_resolver(tmp_path / "bin", kept)
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\ny==1\n")
    assert "+torch==2.13.0\n x==1\n y==1\n" in done.output


def test_of_the_pins_only_those_in_the_conflict_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "torch==2.13.0\\nx==3\\ny==2\\n")
    kept = (
        "if /bin/grep -q '^torch==2.13.0' \"$last\"; then\n"
        f"  if /bin/grep -q '^x==1' \"$last\"; then echo '{CONFLICT}' >&2; exit 1; fi\n"
        "  if /bin/grep -q '^y==1' \"$last\"; then printf 'torch==2.13.0\\nx==3\\ny==1\\n' > \"$out\"; fi\nfi\n"
    )
    append_to_resolver(tmp_path / "bin", kept)
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\ny==1\n")
    assert "+torch==2.13.0\n+x==3\n y==1\n" in done.output


@pytest.mark.parametrize(
    "which",
    [
        "antlr>=4.9,<=4.9.3 has",
        "all versions of antlr have",
        'antlr{sys_platform == "linux" or os_name == "posix"}>=4.9 has',
    ],
)
def test_what_a_pin_requires_and_pip_always_builds_gives_no_pin_up(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "torch==2.13.0\\nx==1\\n")
    unusable = f"Because {which} no usable wheels and x==1 depends on antlr==4.9.* and you require x==1"
    without = (
        "if /bin/grep -q '^antlr' \"$last\" || { /bin/grep -q '^x==1' \"$last\" && "
        '! echo "$@" | /bin/grep -q -- --override=; }; then\n'
        f"  echo 'cause: {unusable}, we can conclude that' >&2; exit 1\nfi\n"
    )
    append_to_resolver(tmp_path / "bin", without)
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\n")
    assert "+torch==2.13.0\n x==1\n" in done.output


def test_a_resolver_is_asked_about_the_nearest_torch_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^torch==2.1[0-3]", "")
    assert "would be possible" not in run_fix(tmp_path, "torch==2.6.0\nx==1\n").output
    write_resolver(tmp_path / "other", monkeypatch, "^torch==2.13", "")
    assert "torch 2.12 would be possible" in run_fix(tmp_path, "torch==2.6.0\nx==1\n").output


def test_an_older_release_that_does_not_fit_the_new_torch_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = "torch==2.13.0\\nxformers==0.0.28\\n"
    write_resolver(tmp_path / "bin", monkeypatch, "^xformers>=0.0.3", solved)
    done = run_fix(tmp_path, "torch==2.3.1\nxformers==0.0.27\n")
    assert "+xformers" not in done.output


def test_a_newer_python_is_asked_about_where_none_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "version=3.10 ", "torch==2.13.0\\nx==1\\n")
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\n")
    assert "+torch==2.13.0\n x==1\n" in done.output
    assert "no releases fit together for Python 3.10, but they do for 3.11" in done.output


def test_without_a_resolver_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    resolver_process.ask_once.cache_clear()
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    done = run_cli("check", "--select", "CU504", "--resolve", str(tmp_path))
    assert "neither uv nor pip is on PATH" in done.output
    assert "no resolver can check this" in done.output
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\nunheard-of==1.0\n")
    flags = ["--select", "CU504", "--resolve", "--unsafe", "--relax"]
    done = run_cli("fix", *flags, str(tmp_path))
    assert "unheard-of: it is not known which torch it requires; no resolver can check this" in done.output
    assert "--resolve asks the index" not in done.output


def test_no_file_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "torchmigrate.toml").write_text("resolve = true\n")
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    done = run_cli("check", str(tmp_path))
    assert done.exit_code == 2
    assert "use --resolve" in done.output


def test_the_pins_of_a_conda_list_are_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "")
    script = (
        f'echo "$@" >> {tmp_path}/options\n'
        'case "$*" in *python-version=3.10*--no-deps*) '
        "printf 'x==2.1\\ny==1.0\\nz==3.5\\n' > \"$out\";;\n"
        "*--no-deps*) printf 'x==1.0\\ny==1.0\\nz==3.5\\n' > \"$out\";; esac\n"
    )
    append_to_resolver(tmp_path / "bin", script)
    (tmp_path / "environment.yml").write_text(
        "dependencies:\n  - python=3.8\n  - x=1.0\n  - y=1.0\n  - z=3.0\n  - pip\n  - pip:\n    - torch==2.3.1\n"
    )
    flags = ("--select", "CU504", "--unsafe", "--resolve", "--relax", "--target-version", "2.13")
    done = run_cli("fix", *flags, str(tmp_path))
    # z 3.0 has no wheel for any Python, which says nothing about conda's builds.
    assert "+  - x=2.1\n   - y=1.0\n   - z=3.0\n" in done.output
    asked = [line for line in (tmp_path / "options").read_text().splitlines() if "--no-deps" in line]
    assert len([line for line in asked if "version=3.10" in line]) == 1


def test_a_pin_without_a_wheel_before_the_move_has_to_have_one_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "torch==2.13.0\\nx==3\\ny==1\\n")
    # Before the move, y requires some x; the pinned one has wheels for older Pythons only.
    script = (
        "if /bin/grep -q '^torch==2.6' \"$last\"; then printf 'x==2\\ny==1\\n' > \"$out\"; fi\n"
        "if ! /bin/grep -q '^torch' \"$last\"; then printf 'x==3\\n' > \"$out\"; fi\n"
        'case "$*" in *--no-deps*) printf \'x==1\\n\' > "$out"; exit 0;; esac\n'
        "if /bin/grep -q '^x==1' \"$last\"; then\n"
        "  echo 'cause: Because x==1 has no usable wheels and you require x==1. hint: Wheels are required for `x` because' >&2\n"
        "  exit 1\nfi\n"
    )
    append_to_resolver(tmp_path / "bin", script)
    done = run_fix(tmp_path, "torch==2.6.0\nx==1\ny==1\n")
    assert "+torch==2.13.0\n+x==3\n y==1\n" in done.output


@pytest.mark.parametrize(("python", "moves"), [("3.11", False), ("3.9", True)])
def test_what_is_built_from_source_today_stays_where_the_python_stays(
    python: str, moves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_resolver(tmp_path / "bin", monkeypatch, "^never", "torch==2.13.0\\nx==3\\n")
    script = (
        'case "$*" in *--no-deps*) printf \'x==1\\n\' > "$out"; exit 0;; esac\n'
        "if /bin/grep -q '^x==1' \"$last\"; then\n"
        "  echo 'cause: Because x==1 has no usable wheels and you require x==1. hint: Wheels are required for `x` because' >&2\n"
        "  exit 1\nfi\n"
    )
    append_to_resolver(tmp_path / "bin", script)
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "own"\nrequires-python = "=={python}.*"\ndependencies = ["torch==2.6.0", "x==1"]\n'
    )
    flags = ("--select", "CU504", "--unsafe", "--resolve", "--relax", "--target-version", "2.13")
    done = run_cli("fix", *flags, str(tmp_path))
    assert "torch==2.13.0" in done.output
    assert ("x==3" in done.output) == moves


def test_all_pins_without_wheels_are_found_with_one_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # uv names the first of several pins that have no wheel.
    names = [f"x{number}" for number in range(20)]
    solved = "".join(f"{name}==2\\n" for name in names)
    write_resolver(tmp_path / "bin", monkeypatch, "^never", f"torch==2.13.0\\n{solved}")
    script = (
        f'echo "$@" >> {tmp_path}/options\n'
        f'case "$*" in *--no-deps*) printf \'{solved}\' > "$out";; esac\n'
        f'for name in {" ".join(names)}; do if /bin/grep -q "^$name==1" "$last"; then\n'
        '  echo "cause: Because $name==1 has no usable wheels. hint: Wheels are required for \\`$name\\` because" >&2\n'
        "  exit 1\nfi; done\n"
    )
    append_to_resolver(tmp_path / "bin", script)
    done = run_fix(tmp_path, "torch==2.6.0\n" + "".join(f"{name}==1\n" for name in names))
    assert "+torch==2.13.0\n" in done.output
    calls = (tmp_path / "options").read_text().splitlines()
    assert len([line for line in calls if "--no-deps" not in line]) < len(names)
