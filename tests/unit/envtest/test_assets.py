"""Which binaries are used, and what is said when there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.assets import find_assets, get_assets
from pykb.envtest.cache import KUBERNETES, Cache, SourceUnusable, VersionUnknown, parse_version
from pykb.envtest.reporter import Reporter


class Unreachable:
    """A source that is not there."""

    title = "official envtest archive"

    def __init__(self, reason: str = "cannot be reached: no route to host") -> None:
        self.reason = reason

    def resolve(self, version: str) -> str:
        """Any version."""
        return version

    def versions(self) -> list[str]:
        """Not there."""
        raise SourceUnusable(self.reason)

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Not there."""
        raise SourceUnusable(self.reason)


def put(folder: Path, *programs: str) -> Path:
    """Write programs that can be run."""
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        (folder / program).write_text("")
        (folder / program).chmod(0o755)
    return folder


def test_named_assets_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS counts before the cache, whatever the version."""
    named = put(tmp_path / "named", "etcd", "kube-apiserver")
    cache = Cache(tmp_path)
    put(cache.place("1.36.1"), "etcd", "kube-apiserver")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
    assets = get_assets("1.36.1", cache=cache, sources=())
    assert assets.folder == named
    assert assets.kubectl is None
    assert assets.kube_controller_manager is None


def test_nothing_is_added_to_named_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is the user's: a controller manager is not put there."""
    named = put(tmp_path / "named", "etcd", "kube-apiserver")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(named))
    assert get_assets(controller_manager=True, cache=Cache(tmp_path), sources=()).kube_controller_manager is None


def test_incomplete_named_assets_are_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pykb does not fall back to a version that nobody chose."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(put(tmp_path / "named", "etcd")))
    with pytest.raises(EnvironmentProblem, match="has no `kube-apiserver`") as caught:
        find_assets()
    assert caught.value.diagnostic.help == ("unset KUBEBUILDER_ASSETS, then pykb downloads the programs",)


@pytest.mark.parametrize("has_go", [False, True])
def test_every_source_that_failed_is_named_with_its_reason(
    has_go: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer sees what was tried, and what to do. Who has Go need not install it."""
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if has_go else None)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(EnvironmentProblem) as caught:
        get_assets("1.36.1", cache=Cache(tmp_path), sources=(Unreachable(),))
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == "found no etcd, kube-apiserver for Kubernetes 1.36.1"
    assert diagnostic.notes == ("official envtest archive: cannot be reached: no route to host",)
    assert diagnostic.help[0].startswith("check the network")
    assert "`pykb envtest sideload 1.36.1 <kubernetes.tar.gz`" in diagnostic.help[1]
    assert "KUBEBUILDER_ASSETS" in diagnostic.help[2]
    assert any("install Go" in text for text in diagnostic.help) is not has_go


@pytest.mark.parametrize(
    "reason",
    [
        "cannot be reached: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: unable to get local issuer",
        "`go mod` failed: tls: failed to verify certificate: x509: certificate signed by unknown authority",
    ],
)
def test_a_system_without_certificates_is_told_to_get_them(
    reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slim container has none. Go would not help there."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(EnvironmentProblem) as caught:
        get_assets("1.36.1", cache=Cache(tmp_path), sources=(Unreachable(reason),))
    assert "apt install ca-certificates" in caught.value.diagnostic.help[0]
    assert "SSL_CERT_FILE" in caught.value.diagnostic.help[1]


def test_a_version_that_does_not_exist_is_answered_by_those_that_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To install Go would not help."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)

    class Modules(Unreachable):
        def resolve(self, version: str) -> str:
            raise VersionUnknown("no such version", ("1.9.9", "1.36.1", "1.36.10", "1.35.4"))

    with pytest.raises(EnvironmentProblem) as caught:
        get_assets("99.1", cache=Cache(tmp_path), sources=(Unreachable(), Modules()))
    diagnostic = caught.value.diagnostic
    assert diagnostic.message == "there is no Kubernetes 99.1"
    assert diagnostic.notes[-1] == "the newest are 1.36.10, 1.35.4, 1.9.9"
    assert diagnostic.help == (f"pykb envtest use {KUBERNETES}",)


@pytest.mark.parametrize(
    ("text", "expected"), [("1.36.1", "1.36.1"), ("v1.36.1", "1.36.1"), ("1.36", "1.36"), ("v1.4", "1.4")]
)
def test_versions_may_have_a_v(text: str, expected: str) -> None:
    """Both spellings are in use."""
    assert parse_version(text) == expected


@pytest.mark.parametrize(
    "text", ["newest", "1", "1.x", "1.36.1-rc.0", "", "../1.36.1", "1.36.1\n", "~1", ">1.36", "<", "1.36.x.1"]
)
def test_other_texts_are_no_versions(text: str) -> None:
    """A version becomes part of a path and of a module's name, so it is checked."""
    with pytest.raises(EnvironmentProblem, match="is not a Kubernetes version"):
        parse_version(text)
