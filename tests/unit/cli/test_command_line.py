"""The command line as a whole: what is loaded, how it is spelt, how it ends."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pykb as package
from pykb.cli.commands import SECTIONS, Command, commands, overview, tree
from pykb.cli.parsing import load

HEAVY = ("kopf", "cookiecutter", "jinja2", "pydantic", "ruamel", "aiohttp", "rich", "yaml")


def loaded_by(*words: str, among: tuple[str, ...] = (*HEAVY, "typer", "click")) -> set[str]:
    """The packages that a command line imports."""
    code = (
        "import sys\n"
        "from pykb.__main__ import main\n"
        f"sys.argv = ['pykb', *{list(words)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', *sorted(m for m in {among!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


@pytest.mark.parametrize("words", [["version"], ["--version"], ["--help"], ["-h"], ["help"], []])
def test_version_and_help_load_nothing(words: list[str]) -> None:
    """Not even typer."""
    assert loaded_by(*words) == set()


def test_help_of_a_command_loads_no_engine() -> None:
    """`pykb <command> --help` starts without kopf, cookiecutter, pydantic, jinja2 or ruamel."""
    helps = [[*command.words.split(), "--help"] for command in commands() if command.words != "dev"]
    code = (
        "import sys\n"
        "from pykb.cli import app\n"
        f"for words in {helps!r}:\n"
        "    app.run(words)\n"
        "    print('LOADED', words, {'kopf', 'cookiecutter', 'pydantic', 'jinja2', 'ruamel'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [line for line in done.stdout.splitlines() if line.startswith("LOADED")]
    assert len(loaded) == len(helps)
    assert [line for line in loaded if not line.endswith(" set()")] == []


def test_explain_loads_no_scaffolding() -> None:
    """Only the module of the command that is named is imported."""
    assert loaded_by("explain", "usage", among=(*HEAVY, "typer", "click", "asyncio")) == {"typer", "click"}


@pytest.mark.parametrize("command", commands(), ids=lambda c: c.words)
def test_every_command_of_the_table_can_be_loaded(command: Command) -> None:
    """Its module has its function, and its help has a sentence and, where it takes options, examples."""
    loaded = load(command, command.words.split()[-1])
    assert loaded.help
    assert "Examples:" in loaded.help or len(loaded.params) <= 2


def test_the_overview_lists_every_command_once() -> None:
    """The table is the help."""
    text = overview()
    assert [len(re.findall(rf"\n  {c.words}  +{re.escape(c.summary)}\n", text)) for c in commands()] == [1] * len(
        commands()
    )
    assert all(title in text for title in SECTIONS)


def test_names_of_groups_are_no_commands() -> None:
    """A first word either is a command or has sub-commands."""
    assert all(isinstance(entry, Command) or entry for entry in tree().values())


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["creat"], 2, "a command with a similar name exists: `pykb create`"),
        (["create", "apis"], 2, "a command with a similar name exists: `pykb create api`"),
        (["create"], 2, "Usage: pykb create COMMAND"),
        (["nothing-like-it"], 2, "`pykb --help` lists the commands"),
        (["init", "--domian", "x"], 2, "an option with a similar name exists: `--domain`"),
        (["create", "api", "--group", "--version", "v1"], 2, "the next word is the option `--version`"),
        (["create", "api", "--kind"], 2, "`--kind` has no value"),
        (["init", "extra"], 2, "unexpected extra argument"),
        (["create", "api", "--style", "other"], 2, "`reconciler`, `handlers`"),
        (["explain", "--format", "xml"], 2, "`--format`"),
    ],
)
def test_mistakes_of_spelling_are_one_message_each(pykb, words: list[str], code: int, text: str) -> None:
    """Exit code 2, the text on stderr, no usage dump, nothing on stdout."""
    ended = pykb(*words)
    assert ended.code == code
    assert text in ended.err
    assert ended.out == ""
    assert ended.err.count("error[") <= 1
    assert len(ended.err.splitlines()) <= 10


def test_all_forgotten_values_are_reported_at_once(pykb) -> None:
    """Not one a run."""
    ended = pykb("create", "api", "--group", "--version", "--kind", "--force")
    assert ended.err.count("error[missing-value]") == 3


def test_version_says_what_it_runs_on(pykb) -> None:
    """Plain, verbose, and for machines."""
    assert pykb("version", "--verbose").out.splitlines()[0] == f"pykb {package.__version__}"
    assert json.loads(pykb("version", "--format", "json").out)["pykb"] == package.__version__


def test_lists_are_documents_where_json_is_asked_for(pykb) -> None:
    """One document on stdout, and an empty array of findings on stderr."""
    codes = pykb("explain", "--format", "json")
    assert json.loads(codes.err) == []
    listed = {entry["code"]: entry for entry in json.loads(codes.out)}
    one = json.loads(pykb("explain", "anchor-missing", "--format", "json").out)
    assert one["explanation"]
    assert listed["anchor-missing"] == {key: one[key] for key in ("code", "severity", "title")}
    assert {"name", "summary"} == set(json.loads(pykb("explain", "markers", "--format=json").out)[0])
    assert isinstance(json.loads(pykb("envtest", "list", "--format", "json").out), list)


def test_a_plan_is_a_document_where_json_is_asked_for(pykb, tmp_path, monkeypatch) -> None:
    """Each file with what would be done to it; nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = pykb("init", "--domain", "example.com", "--project-name", "shop", "--dry-run", "--format", "json")
    plan = json.loads(done.out)
    assert {"action": "create", "path": "PROJECT"} in plan["changes"]
    assert plan["kept"] == []
    assert json.loads(done.err) == []
    assert not list(tmp_path.iterdir())


def test_explain_knows_every_code(pykb) -> None:
    """The list and the text; an unknown code gets the nearest."""
    assert "anchor-missing" in pykb("explain").out
    assert pykb("explain", "anchor-missing").out.startswith("error[anchor-missing]: ")
    assert "`pykb explain anchor-missing`" in pykb("explain", "anchor-missin").err


@pytest.mark.parametrize("style", ["concise", "json", "github"])
def test_findings_come_in_the_form_that_was_asked_for(pykb, style: str) -> None:
    """Wherever `--format` stands, also for mistakes that the parser finds."""
    for words in ([f"--format={style}", "nope"], ["init", "--nope", "--format", style]):
        err = pykb(*words).err
        if style == "json":
            assert json.loads(err)[0]["severity"] == "error"
        else:
            assert err.startswith("::error" if style == "github" else "error[")
            assert err.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_scripts_are_printed(pykb, shell: str) -> None:
    """For every shell that typer knows."""
    ended = pykb("completion", shell)
    assert ended.code == 0
    assert "_PYKB_COMPLETE" in ended.out


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pykb cre", ["create"]),
        ("pykb create ", ["api", "webhook"]),
        ("pykb init --dom", ["--domain"]),
        ("pykb create api --style ", ["reconciler", "handlers"]),
        ("pykb explain anchor-", ["anchor-missing"]),
        ("pykb explain +kubebuilder:validation:MinL", ["+kubebuilder:validation:MinLength"]),
        ("pykb create api --group ", []),
    ],
)
def test_words_are_completed(spawn, line: str, expected: list[str]) -> None:
    """Commands, options, values."""
    words = line.split(" ")
    env = {**os.environ, "_PYKB_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = spawn([], env=env)
    assert done.stdout.split() == expected
    assert done.stderr == ""


def test_a_bug_is_called_a_bug(pykb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 70, versions and arguments, no traceback without `--verbose`."""
    monkeypatch.setattr("pykb.cli.explain._page_or_code", _broken)  # no input is known that breaks a command
    ended = pykb("explain", "usage")
    assert ended.code == 70
    assert "this is a bug in pykb: `ZeroDivisionError: division by zero`" in ended.err
    assert f"pykb {package.__version__}, Python" in ended.err
    assert "command: pykb explain usage" in ended.err
    assert "Traceback" not in ended.err
    assert "Traceback" in pykb("explain", "usage", "--verbose").err


def _broken(_: str) -> None:
    1 / 0  # noqa: B018


def test_what_the_system_refuses_is_no_bug(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is no folder: the system's own words, exit code 1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "PROJECT").write_text("x")
    monkeypatch.setattr("pykb.project.read_bytes", _refused)
    ended = pykb("create", "api", "--resource", "--controller")
    assert ended.code == 1
    assert ended.err.startswith("error[system-error]: `")


def _refused(self: Path, **_: object) -> str:
    raise PermissionError(13, "Permission denied", str(self))


def test_a_plain_install_says_which_extra_is_missing() -> None:
    """Without typer: exit code 2 and what to install, no traceback; `version` works all the same."""
    code = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in {'typer', 'click'}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "from pykb.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "init"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'pip install "pykubebuilder[cli]"' in done.stderr
    assert "Traceback" not in done.stderr
    done = subprocess.run([sys.executable, "-c", code, "version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pykb {package.__version__}\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`pykb explain | head -1`."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -u -m pykb explain | (sleep 0.3; exit 0); echo $?"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(("stream", "words"), [("stdout", ["explain"]), ("stderr", ["nope"])])
def test_a_reader_that_is_gone_ends_the_command_as_a_signal_would(stream: str, words: list[str]) -> None:
    """Exit code 141 (128 + SIGPIPE), not one that means findings; and no traceback on the other stream."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: gone}
        done = subprocess.run([sys.executable, "-m", "pykb", *words], check=False, **streams)
    assert done.returncode == 141
    assert not done.stdout
    assert not done.stderr


def test_ctrl_c_while_the_command_line_is_loaded_is_no_traceback() -> None:
    """The first import after an installation takes a while: Python compiles."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from pykb.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, "dev"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")


def test_ctrl_c_ends_with_130_and_one_line(project: Path) -> None:
    """Interrupted at a question: no traceback."""
    code = (
        "import os, signal, sys\n"
        "import pykb.cli.console as c\n"
        "def ask(*a, **k): os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)\n"
        "c.confirm = ask\n"
        "from pykb.cli.app import main\n"
        "main(['create', 'api', '--group', 'infra', '--version', 'v1', '--kind', 'Machine'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=project)
    assert done.returncode == 130
    assert done.stderr == "\ninterrupted\n"


def test_no_colour_where_none_is_wanted(spawn) -> None:
    """Stderr of a pipe has no escapes; FORCE_COLOR asks for them; NO_COLOR wins."""
    plain = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}} | {"TERM": "xterm"}
    assert "\x1b" not in spawn(["nope"], env=plain).stderr
    assert "\x1b[1;31m" in spawn(["nope"], env=plain | {"FORCE_COLOR": "1"}).stderr
    assert "\x1b" not in spawn(["nope"], env=plain | {"FORCE_COLOR": "1", "NO_COLOR": "1"}).stderr


def test_names_outside_ascii_reach_an_ascii_terminal(spawn, tmp_path: Path) -> None:
    """Escaped, not a crash."""
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = spawn(["init", "--domain", "größe.com"], env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "gr\\xf6\\xdfe.com" in done.stderr


def test_closed_streams_do_no_harm(tmp_path: Path) -> None:
    """Started with stdin, stdout or stderr closed, the command still ends by itself."""
    for redirect in ("<&-", ">&-", "2>&-"):
        script = f"{sys.executable} -m pykb explain usage {redirect}"
        started = time.monotonic()
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode in {0, 1, 2}, (redirect, done.stderr)
        assert time.monotonic() - started < 30


def test_sigint_is_the_default_again_in_children() -> None:
    """Importing the command line installs no signal handlers."""
    code = "import signal, pykb.cli.app, pykb.cli.errors; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_explain_knows_markers(pykb) -> None:
    """By name, with or without a value; all of them; the nearest to one that is none."""
    assert pykb("explain", "+kubebuilder:validation:MinLength=3").out.startswith("+kubebuilder:validation:MinLength\n")
    assert "\n+kubebuilder:validation:MinLength " in pykb("explain", "markers").out
    assert (
        "`pykb explain +kubebuilder:validation:MinLength`" in pykb("explain", "+kubebuilder:validation:Minlength").err
    )


@pytest.mark.parametrize("words", [("create", "api"), ("generate",), ("deploy",), ("create",)])
def test_help_of_a_command_is_where_gos_tools_have_it(words: tuple[str, ...], pykb) -> None:
    """`pykb help create api` shows what `pykb create api --help` shows."""
    asked = pykb("help", *words)
    assert asked.code == 0
    assert asked.out == pykb(*words, "--help").out
    assert "Usage: pykb" in asked.out


def test_options_that_concern_go_are_accepted_with_a_note(
    pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scripts for kubebuilder go on working, and no option that is misspelt is swallowed."""
    monkeypatch.chdir(tmp_path)
    go = ("--repo", "example.com/op", "--project-version=3", "--fetch-deps=false", "--skip-go-version-check")
    ended = pykb("init", "--domain", "example.com", "--project-name", "op", *go, "--dry-run")
    assert ended.code == 0, ended.err
    for name in ("--repo", "--project-version", "--fetch-deps", "--skip-go-version-check"):
        assert f"note: `{name}` has no effect here: " in ended.err
    kind = ("--group", "infra", "--version", "v1", "--kind", "Machine", "--resource", "--controller", "--no-make")
    assert pykb("init", "--domain", "example.com", "--project-name", "op").code == 0
    ended = pykb("create", "api", *kind, "--ssa", "--external-api-module=example.com/x@v1", "--dry-run")
    assert ended.code == 0, ended.err
    assert "note: `--ssa` has no effect here: `pykb.runtime.partial` applies" in ended.err
    assert "note: `--external-api-module` has no effect here: add the distribution" in ended.err
    assert pykb("generate", "--repo", "x").code == 2


def test_a_wrong_image_is_found_before_a_cluster_is_asked(
    pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong on the command line comes first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "/dev/null")
    assert pykb("init", "--domain", "example.com", "--project-name", "op").code == 0
    ended = pykb("deploy", "--image", "oops!")
    assert ended.code == 1
    assert "error[image-name]: `oops!` is not the name of an image" in ended.err


@pytest.mark.parametrize("gates", ["Sharded", "Sharded=yes", "=true", "a b=true"])
def test_a_feature_gate_has_a_name_and_a_value(pykb, gates: str) -> None:
    """It is refused before anything is downloaded or started."""
    ended = pykb("cluster", "up", "--name", "gates", "--feature-gates", gates)
    assert ended.code == 2
    assert f"`{gates}` is not a feature gate, expected e.g. `ShardedListAndWatch=true`" in ended.err


def test_run_says_what_conversion_needs(spawn, tmp_path: Path) -> None:
    """The API server calls the Service of the deployed manager, not this machine."""
    root = tmp_path / "fleet"
    shutil.copytree(
        Path(__file__).parents[3] / "testdata/multigroup",
        root,
        ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"),
    )
    done = spawn(["run", "--", "--kubeconfig=x", "--help"], cwd=root)
    assert done.returncode == 0, done.stderr
    assert "note: the API server converts Frigate.ship.example.com" in done.stderr
    assert "`pykb dev` converts on this machine" in done.stderr
