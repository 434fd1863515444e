"""`pykb explore` in a sample project, as a user types it: in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

APP = Path(__file__).parents[3] / "testdata" / "app"
CONTROLLER = Path("app_operator/controllers/app_controller.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the sample App, whose reconciler forgets children of former names."""
    return forgetful(tmp_path / "app")


def forgetful(root: Path) -> Path:
    """Copy the sample App, and break its reconciler."""
    shutil.copytree(APP, root, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    text = (root / CONTROLLER).read_text(encoding="utf-8")
    line = "        await prune(self.client, Deployment, owner=app, keep=[app.spec.deployment.name])\n"
    assert line in text
    (root / CONTROLLER).write_text(text.replace(line, ""), encoding="utf-8")
    return root


def command(root: Path, *words: str, seed: str = "0") -> subprocess.Popen[str]:
    """Start `pykb explore` as the first process of its group. With another seed of hashes, it would start itself again."""
    argv = [sys.executable, "-P", "-m", "pykb", "explore", *words]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, cwd=root, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def explore(root: Path, *words: str, seed: str = "0") -> tuple[int, str, str]:
    """Run `pykb explore`; gives its exit code and what it printed."""
    program = command(root, *words, seed=seed)
    said, shown = program.communicate(timeout=100)
    return program.returncode, said, shown


WRITTEN = ("--html", "page.html", "--junit", "cases.xml", "--export", "tests")


@pytest.fixture(scope="module")
def exploration(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, str]:
    """What several tests begin with: the project, explored once. Then what that gave."""
    root = forgetful(tmp_path_factory.mktemp("explored") / "app")
    return root, *explore(root, "--only", "explore-history", "--format", "json", *WRITTEN)


@pytest.fixture
def explored(exploration: tuple[Path, int, str, str], tmp_path: Path) -> Path:
    """A copy of the project with the history of its finding."""
    return shutil.copytree(exploration[0], tmp_path / "app")


def test_what_is_ignored_must_be_there(project):
    """A kind that no history had is named."""
    ignored = ("--ignore", "Deploymnt.spec.replicas", "--ignore", "Foo.bar", "--ignore", "Deployment.spec.replicas")
    _, _, shown = explore(project, "--only", "explore-loop", *ignored)
    assert "that `Deploymnt.spec.replicas` may differ has no effect: no history had a Deploymnt" in shown
    assert "`Deployment.spec.replicas`?" in shown
    assert "that `Foo.bar` may differ has no effect: no history had a Foo" in shown
    assert shown.count("may differ has no effect") == 2


def test_findings_for_programs_are_one_document(exploration):
    """With the code and the place. What was tried is another one, and names the file that shows it again."""
    project, code, said, shown = exploration
    assert code == 1
    [finding] = json.loads(shown)
    assert finding["code"] == "explore-history"
    assert finding["span"]["path"] == str(CONTROLLER)
    tried = json.loads(said)
    assert tried["findings"] == [
        {"code": finding["code"], "message": finding["message"], "replay": ".pykb/explore/1-explore-history.json"}
    ]
    assert (project / tried["findings"][0]["replay"]).exists()
    assert list(tried["histories"]) == ["explore-history"]
    assert tried["finished"] == ["explore-history"]
    assert 0 < tried["lines"]["run"] <= tried["lines"]["total"]
    assert tried["lines"]["unreached"] == []  # other codes may reach them
    assert tried["runs"] > 0
    assert tried["unfinished"] == []


def debugged(folder, *commands, words, as_program=True):
    """Run a command under pdb, or with what it starts by itself, and give it commands."""
    program = [sys.executable, *(("-m", "pdb") if as_program else ()), "-m", "pykb"]
    return subprocess.run(
        [*program, *words],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"},
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


REPLAY = ["explore", "--replay", ".pykb/explore/1-explore-history.json"]


def test_a_debugger_stops_in_a_replay(explored):
    """At a breakpoint of pdb, which starts pykb as its program. pykb does not start itself again then. `q` ends it."""
    lines = (explored / CONTROLLER).read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if "self.apply(app, service_of(app))" in line)
    done = debugged(explored, f"b {CONTROLLER}:{number}", "c", "p app.metadata.name", "q", words=REPLAY)
    assert done.stdout.count("'app-sample'") == 1
    assert "creates Deployment" not in done.stdout
    assert "start the debugger with PYTHONHASHSEED=0" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_replay_stops_at_the_line_of_its_finding(explored):
    """Without a word about lines. `c` goes to the next time, and `q` ends it."""
    done = debugged(explored, "p app.metadata.name", "c", "p 6 * 7", "q", words=[*REPLAY, "--pdb"], as_program=False)
    assert "'app-sample'" in done.stdout
    assert "42" in done.stdout
    assert f"{CONTROLLER}(" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupt_shows_what_was_found(project, workers):
    """Nothing is lost, and no process is left."""
    program = command(project, "--workers", workers)
    for line in program.stderr or ():
        if "exploring" in line:
            break
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, shown = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "histories" in shown
    assert "Traceback" not in shown
    with pytest.raises(ProcessLookupError):
        os.killpg(program.pid, 0)


def test_any_number_of_workers_finds_the_same(project):
    """Byte for byte, in the same order, with the same files. Without a seed of hashes in the environment, too."""
    told = []
    for workers, seed in (("1", "random"), ("3", "0")):
        codes = "explore-history,explore-theft"
        code, said, shown = explore(project, "--only", codes, "--workers", workers, seed=seed)
        assert (code, said) == (1, "")
        files = {path.name: path.read_bytes() for path in (project / ".pykb" / "explore").iterdir()}
        told.append((shown[shown.index("error[") :], files))
    assert told[0] == told[1]

    # A finding has its line, and the history that is kept leads to the same end.
    assert "error[explore-history]: Deployment web is left over" in shown
    assert f"--> {CONTROLLER}" in shown
    assert 'Somebody changes App app-sample: `spec.deployment.name = "web-b"`' in shown
    [kept] = (project / ".pykb" / "explore").glob("*-explore-history.json")
    assert kept.stat().st_mode & 0o077 == 0
    code, said, _ = explore(project, "--replay", str(kept.relative_to(project)))
    assert code == 0
    assert "Deployment web-b is created" in said


@pytest.mark.parametrize("end", ["_exit(7)", "abort()"])
def test_a_worker_that_dies_is_told(project, end):
    """With the history that it was in. The operator dies in C, for any other number of replicas than the sample's."""
    text = (project / CONTROLLER).read_text(encoding="utf-8")
    line = "        try:\n            deployment = "
    assert line in text
    sample = yaml.safe_load((project / "config/samples/appcontroller_v1_app.yaml").read_text(encoding="utf-8"))
    wanted = sample["spec"]["deployment"]["replicas"]
    death = f"        if app.spec.deployment.replicas != {wanted}:\n            __import__('ctypes').CDLL(None).{end}\n"
    (project / CONTROLLER).write_text(text.replace(line, death + line), encoding="utf-8")
    code, _, shown = explore(project, "--only", "explore-history", "--workers", "2")
    assert code == 1
    how = "with exit code 7" if "7" in end else "by signal SIGABRT"
    assert f"a worker process ended {how} in the middle of a history" in shown
    assert re.search(r"App app-sample: `spec\.deployment\.replicas = \d+`", shown)
    assert "run with `--workers 1`" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Nothing"], "there is no sample of the kind `Nothing`"),
        (["--only", "explore-crsh"], "did you mean `explore-crash`?"),
        (["--ignore", "explore-crsh"], "error[usage]: `--ignore` does not know `explore-crsh`"),
        (["--replay", "PROJECT"], "`PROJECT` holds no history"),
        (["--replay", "nowhere.json"], "`nowhere.json` holds no history"),
        (["handlers.py", "App"], "`App` is one word too many"),
        (["App", "Site"], "`Site` is one word too many"),
        (["--crd", "crd.yaml"], "`--crd` goes with files of handlers"),
        (["handlers.py", "--from", "v1"], "`--from` goes with a project"),
        (["--only", "explore-upgrade"], "name the revision from which to upgrade: `--from v1.2.0`"),
        (["--from", "v1", "--from-cluster"], "`--from` and `--from-cluster` exclude each other"),
        (["--from-objects", "nowhere.yaml"], "`nowhere.yaml` cannot be read: No such file or directory"),
        (["--from-objects", "config/samples/kustomization.yaml"], "an object has no `apiVersion`"),
        (["--from", "nothing"], "the repository has no revision `nothing`"),
        (["nowhere.py", "--sample", "cr.yaml"], "there is no file `nowhere.py`"),
    ],
)
def test_a_mistake_is_told(pykb, monkeypatch, words, said):
    """What is wrong, and what to do."""
    monkeypatch.chdir(APP)
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # else, it would start itself again
    ended = pykb("explore", *words)
    assert ended.code in (1, 2)
    assert said in ended.err


HANDLERS = """\
import kopf

@kopf.on.create("memos")
async def remember(spec, patch, memo, **_):
    memo.text = spec["text"]
    patch.status["text"] = memo.text

@kopf.on.update("memos")
async def remind(memo, patch, **_):
    patch.status["text"] = memo.text
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: memos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Memo, plural: memos}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, required: [text], properties: {text: {type: string, minLength: 1, maxLength: 20}}}
          status: {type: object, properties: {text: {type: string}}}
    subresources: {status: {}}
---
"""
MEMO = """\
apiVersion: example.com/v1
kind: Memo
metadata: {name: milk}
spec: {text: buy}
"""


def test_handlers_need_no_project(tmp_path):
    """A file of handlers, a definition and a sample: findings, and histories to run again."""
    for name, content in {"handlers.py": HANDLERS, "crd.yaml": CRD, "cr.yaml": MEMO}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    words = ("handlers.py", "--crd", "crd.yaml", "--sample", "cr.yaml")
    code, said, shown = explore(tmp_path, *words, "--only", "explore-history", "--workers", "1")
    assert code == 1
    assert 'Memo milk: status.text is "buy" instead of "buy-b" after the change to `spec.text = "buy-b"`' in shown
    assert "--> handlers.py:3:1" in shown
    assert f"`pykb explore {' '.join(words)} --replay .pykb/explore/1-" in shown
    [kept] = [path for path in (tmp_path / ".pykb" / "explore").iterdir() if "history" in path.name]
    code, said, _ = explore(tmp_path, *words, "--replay", str(kept.relative_to(tmp_path)))
    assert code == 0
    assert "the operator patches the status of memos/milk (handlers.py:3): 200" in said


def test_an_upgrade_is_explored(project):
    """The finding names the revision, and so does the command that shows it again. The rest is told."""

    def git(*words):
        somebody = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *somebody, *words], cwd=project, check=True, capture_output=True)

    text = (project / CONTROLLER).read_text(encoding="utf-8")
    old = text.replace("name=app.spec.deployment.name, namespace", 'name=f"{app.spec.deployment.name}-old", namespace')
    assert old != text
    (project / CONTROLLER).write_text(old, encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    (project / CONTROLLER).write_text(text, encoding="utf-8")
    words = ("--from", "HEAD", "--only", "explore-upgrade", "--workers", "1")
    code, _, shown = explore(project, *words)
    assert code == 1
    assert "Deployment web-old is left over after the upgrade from HEAD" in shown
    assert "The operator of HEAD brings everything to rest" in shown
    assert "`pykb explore --from HEAD --replay .pykb/explore/1-explore-upgrade.json`" in shown


def test_a_manager_that_cannot_be_imported_is_a_finding(project):
    """Not a traceback."""
    (project / "app_operator" / "__main__.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    code, _, shown = explore(project)
    assert code == 1
    assert "nothing_of_this_name" in shown
    assert "Traceback" not in shown


def test_codes_kinds_histories_and_files_are_completed(tmp_path):
    """Also the last of several codes. A name that means something to the shell is left out."""
    root = tmp_path / "app"
    (root / ".pykb/explore").mkdir(parents=True)
    shutil.copy(APP / "PROJECT", root)
    for name in ("1-explore-crash.json", "2-explore-leak.json", "$(date).json", "notes.txt"):
        (root / ".pykb/explore" / name).touch()

    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        argv = [sys.executable, "-P", "-m", "pykb"]
        environment = {**os.environ, "_PYKB_COMPLETE": "complete_bash", **words}
        return subprocess.run(
            argv, cwd=root, env=environment, capture_output=True, text=True, check=False
        ).stdout.split()

    assert completed("pykb explore ") == ["App"]
    assert completed("pykb explore --only explore-l") == ["explore-leader", "explore-leak", "explore-loop"]
    assert completed("pykb explore --only explore-crash,explore-d") == ["explore-crash,explore-drift"]
    assert "explore-unused-grant" not in completed("pykb explore --only ")
    folder = ".pykb/explore"
    assert completed("pykb explore --replay ") == [f"{folder}/1-explore-crash.json", f"{folder}/2-explore-leak.json"]
    assert completed(f"pykb explore --replay {folder}/2") == [f"{folder}/2-explore-leak.json"]
    (root / "config").mkdir()
    for name in ("crd.yaml", "cr.yml", "notes.txt", "$(date).yaml"):
        (root / "config" / name).touch()
    assert completed("pykb explore handlers.py --crd c") == ["config/"]
    assert completed("pykb explore handlers.py --sample config/") == ["config/cr.yml", "config/crd.yaml"]


def test_reports_and_tests_are_written(explored):
    """A later report replaces an earlier one, but a later test does not: people change it."""
    page, cases = explored / "page.html", explored / "cases.xml"
    [test] = (explored / "tests").glob("test_explore_*.py")
    assert "<h1>1 finding</h1>" in page.read_text(encoding="utf-8")
    assert 'failures="1"' in cases.read_text(encoding="utf-8")
    for path in (page, cases, test):
        path.write_text(f"{path.read_text(encoding='utf-8')}<!-- mine -->", encoding="utf-8")
    code, _, shown = explore(explored, "--only", "explore-history", *WRITTEN)
    assert code == 1
    assert "written: page.html" in shown
    assert "<h1>1 finding</h1>" in page.read_text(encoding="utf-8")
    assert 'failures="1"' in cases.read_text(encoding="utf-8")
    assert "mine" not in page.read_text(encoding="utf-8") + cases.read_text(encoding="utf-8")
    assert f"`tests/{test.name}` is there already, and stays as it is" in shown
    assert test.read_text(encoding="utf-8").endswith("mine -->")
    test.unlink()
    assert f"written: tests/{test.name}" in explore(explored, "--only", "explore-history", "--export", "tests")[2]


@pytest.mark.parametrize(
    ("option", "path", "said"),
    [
        ("--html", "PROJECT", "did not write it"),
        ("--html", "no/page.html", "there is no folder `no`"),
        ("--export", "absent", "there is no folder `absent` for tests"),
    ],
)
def test_what_is_written_has_a_place(pykb, project, monkeypatch, option, path, said):
    """Before anything runs, a file that pykb did not write is named, and stays."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # else, it would start itself again
    before = (project / "PROJECT").read_text(encoding="utf-8")
    ended = pykb("explore", option, path)
    assert (ended.code, said in ended.err) == (2, True)
    assert (project / "PROJECT").read_text(encoding="utf-8") == before


def test_an_exported_test_fails_until_the_operator_is_mended(explored):
    """It is a test of the project like any other."""
    [path] = (explored / "tests").glob("test_explore_*.py")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    failed = subprocess.run(argv, cwd=explored, capture_output=True, text=True, check=False)
    assert failed.returncode == 1, failed.stdout
    assert "AssertionError" in failed.stdout
    shutil.copy(APP / CONTROLLER, explored / CONTROLLER)
    subprocess.run(argv, cwd=explored, check=True)
