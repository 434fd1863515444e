"""Kubectl and kustomize are found, called, and missed with a remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.tools.kubectl import Kubectl, build_kustomization

# Only what the shell itself can do: PATH is empty for these tests.
ECHO = '#!/bin/sh\necho "${0##*/} $*"\nwhile read -r line; do echo "$line"; done\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An otherwise empty PATH to put programs on."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put(folder: Path, name: str) -> None:
    """Install a program that prints how it was called, and its input."""
    (folder / name).write_text(ECHO)
    (folder / name).chmod(0o755)


@pytest.mark.usefixtures("programs")
def test_a_missing_kubectl_has_a_remedy() -> None:
    """The message says what to type to get one."""
    with pytest.raises(EnvironmentProblem) as caught:
        Kubectl.find()
    assert caught.value.diagnostic.help[0].startswith("pykb envtest use")


def test_kubectl_names_the_cluster(programs: Path) -> None:
    """The kubeconfig is an argument, so that no variable of the user can send it elsewhere."""
    put(programs, "kubectl")
    answer = Kubectl.find(kubeconfig=Path("/k"))("get", "pods")
    assert answer == "kubectl --kubeconfig /k get pods\n"


def test_kubectl_applies_on_the_server_side(programs: Path) -> None:
    """Client-side apply fails for large definitions: annotations too long."""
    put(programs, "kubectl")
    head, body = Kubectl.find().apply("kind: X\n").splitlines()
    assert head == "kubectl apply --server-side --force-conflicts --field-manager=pykb --filename=-"
    assert body == "kind: X"


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        (("kubectl",), "kubectl kustomize config"),
        (("kustomize",), "kustomize build config"),
        (("kubectl", "kustomize"), "kustomize build config"),
    ],
)
def test_kustomizations_are_rendered_by_what_is_there(
    programs: Path, installed: tuple[str, ...], expected: str
) -> None:
    """`kustomize` where it is installed, else `kubectl kustomize`."""
    for name in installed:
        put(programs, name)
    assert build_kustomization(Path("config")).strip() == expected


@pytest.mark.usefixtures("programs")
def test_neither_program_is_one_clear_message() -> None:
    """Both names are said, and how to get one."""
    with pytest.raises(EnvironmentProblem, match="neither `kustomize` nor `kubectl`"):
        build_kustomization(Path("config"))


def put_failing(folder: Path) -> None:
    """Install a kustomize that fails."""
    (folder / "kustomize").write_text("#!/bin/sh\necho no such file >&2\nexit 1\n")
    (folder / "kustomize").chmod(0o755)


@pytest.mark.parametrize(
    ("missing", "helps"),
    [
        ("config/crd/bases/shop.example.com_orders.yaml", True),
        ("config/rbac/role.yaml", True),
        ("config/webhook/manifests.yaml", True),
        ("config/manager/manager.yaml", False),
    ],
)
def test_a_file_that_is_missing_is_named(programs: Path, tmp_path: Path, missing: str, *, helps: bool) -> None:
    """The error of kustomize is a sentence of some hundred characters. If `pykb generate` writes it, the message says so."""
    put_failing(programs)
    file = tmp_path / missing
    part = tmp_path.joinpath(*Path(missing).parts[:2])
    texts = {
        tmp_path / "config/default": "resources:\n- ../other\n- https://example.com/a.yaml\n- ../" + part.name,
        tmp_path / "config/other": "resources: [../default, there.yaml]",
        part: f"resources:\n- {file.relative_to(part)}\n",
    }
    for folder, text in texts.items():
        folder.mkdir(parents=True)
        (folder / "kustomization.yaml").write_text(text)
    (tmp_path / "config/other/there.yaml").touch()
    with pytest.raises(EnvironmentProblem) as caught:
        build_kustomization(tmp_path / "config/default")
    found = caught.value.diagnostic
    assert (found.code.slug, found.message) == (
        "kustomization",
        f"config/default needs `{missing}`, which does not exist",
    )
    assert ("pykb generate" in " ".join(found.help)) is helps


@pytest.mark.parametrize("text", ["", "resources: 5\n", "resources: [a.yaml]\n", "{{", "[]"])
def test_other_failures_are_quoted(programs: Path, tmp_path: Path, text: str) -> None:
    """Also if the kustomization has mistakes of its own."""
    put_failing(programs)
    (tmp_path / "a.yaml").touch()
    (tmp_path / "kustomization.yaml").write_text(text)
    with pytest.raises(EnvironmentProblem) as caught:
        build_kustomization(tmp_path)
    assert caught.value.diagnostic.code.slug == "command-failed"
    assert "no such file" in caught.value.diagnostic.notes[0]


def put_pipe(place: Path) -> None:
    """A pipe that nobody writes to: who opens it waits."""
    os.mkfifo(place)


def put_large(place: Path) -> None:
    """A file that is large, and takes no room on the disk."""
    with place.open("wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize(
    ("put_file", "said"),
    [
        (lambda place: place.symlink_to("/dev/zero"), "it is a device, expected a file"),
        (put_pipe, "it is a pipe, expected a file"),
        (put_large, "it is larger than 16 MiB"),
    ],
)
@pytest.mark.parametrize(
    "name", ["config/default/kustomization.yaml", "config/rbac/role.yaml", "elsewhere/Kustomization"]
)
def test_kustomize_gets_only_files(
    programs: Path, tmp_path: Path, put_file: Callable[[Path], None], said: str, name: str
) -> None:
    """It reads a repository itself, so a device there would fill the memory, and a pipe would let it hang."""
    put(programs, "kustomize")
    for folder, names in {
        "config/default": "../rbac",
        "config/rbac": "../../elsewhere",
        "elsewhere": "../config/default",
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "kustomization.yml").write_text(f"components: [{names}]\n")
    put_file(tmp_path / name)
    with pytest.raises(EnvironmentProblem) as caught:
        build_kustomization(tmp_path / "config/default")
    found = caught.value.diagnostic
    assert (found.message, found.help) == (f"kustomize cannot read `{name}`: {said}", (f"rm {name}",))


def test_what_is_outside_of_the_project_is_not_searched(programs: Path, tmp_path: Path) -> None:
    """Patches have paths such as `/`, and a kustomization may name any folder of the machine."""
    put(programs, "kustomize")
    put_pipe(tmp_path / "pipe")
    folder = tmp_path / "project/config/default"
    folder.mkdir(parents=True)
    text = f"resources: [../../.., {tmp_path}]\npatches: [{{patch: x, target: {{name: /}}, path: ../../..}}]\n"
    (folder / "kustomization.yaml").write_text(text)
    assert build_kustomization(folder).startswith("kustomize build ")
