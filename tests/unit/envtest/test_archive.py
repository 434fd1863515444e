"""Official archives are verified before anything of them is used."""

from __future__ import annotations

import hashlib
import io
import resource
import tarfile
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest._archive import Archive, unpack
from pykb.envtest.assets import default_sources
from pykb.envtest.cache import SourceUnusable, platform_name
from pykb.envtest.components import start_problem
from pykb.envtest.reporter import Silent

PROGRAMS = ("etcd", "kube-apiserver", "kubectl")


def tarball(files: dict[str, bytes]) -> bytes:
    """A .tar.gz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


WHOLE = tarball({f"controller-tools/envtest/{name}": name.encode() for name in PROGRAMS})


class Publisher:
    """A server of an index and archives."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        files = self.files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = files.get(self.path)
                self.send_response(200 if content is not None else 404)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def publish(self, version: str, content: bytes, *, digest: str | None = None) -> None:
        """Add an archive to the index."""
        name = f"envtest-v{version}-{platform_name()}.tar.gz"
        self.files[f"/{name}"] = content
        index = yaml.safe_load(self.files.get("/index.yaml", b"releases: {}"))
        entry = {"hash": digest or hashlib.sha512(content).hexdigest(), "selfLink": f"{self.address}/{name}"}
        index["releases"][f"v{version}"] = {name: entry}
        self.files["/index.yaml"] = yaml.safe_dump(index).encode()

    @property
    def source(self) -> Archive:
        """The source that reads it."""
        return Archive(index=f"{self.address}/index.yaml", timeout=timedelta(seconds=60))


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """A server for one test."""
    publisher = Publisher()
    thread = threading.Thread(target=publisher.server.serve_forever)
    thread.start()
    yield publisher
    publisher.server.shutdown()
    publisher.server.server_close()
    thread.join()


def get(source: Archive, folder: Path, programs: tuple[str, ...] = PROGRAMS, version: str = "1.36.1") -> None:
    """Get a version."""
    source.get(version, programs, folder, Silent())


def test_an_archive_is_unpacked_flat_and_executable(publisher: Publisher, tmp_path: Path) -> None:
    """Whatever folders it has inside, and whatever modes."""
    publisher.publish("1.36.1", WHOLE)
    get(publisher.source, tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: name for name in PROGRAMS}
    assert all(path.stat().st_mode & 0o777 == 0o755 for path in tmp_path.iterdir())


def test_kubectl_is_taken_along(publisher: Publisher, tmp_path: Path) -> None:
    """One download is enough, whoever wants what; nothing else of the archive is kept."""
    publisher.publish("1.36.1", tarball(dict.fromkeys((*PROGRAMS, "other"), b"")))
    get(publisher.source, tmp_path, ("etcd", "kube-apiserver"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(PROGRAMS)


def test_another_checksum_stops_everything(publisher: Publisher, tmp_path: Path) -> None:
    """Nothing of it is kept, and no other source covers it up."""
    publisher.publish("1.36.1", WHOLE, digest="0" * 128)
    with pytest.raises(EnvironmentProblem, match=r"has the SHA-512 .* expected `0000"):
        get(publisher.source, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_index_cannot_vouch_for_another_archive_than_the_official_one(publisher: Publisher, tmp_path: Path) -> None:
    """The hashes of those that were there when this pykb was made are known."""
    publisher.publish("1.36.2", WHOLE)
    with pytest.raises(EnvironmentProblem, match="has the SHA-512"):
        get(publisher.source, tmp_path, version="1.36.2")
    assert list(tmp_path.iterdir()) == []


def test_whose_hash_only_the_index_knows_is_said(publisher: Publisher, tmp_path: Path) -> None:
    """A release that is newer than this pykb."""
    notes: list[str] = []

    class Noting(Silent):
        def note(self, text: str) -> None:
            notes.append(text)

    publisher.publish("1.99.0", WHOLE)
    publisher.source.get("1.99.0", PROGRAMS, tmp_path, Noting())
    assert notes == [
        f"pykb has no hash of envtest-v1.99.0-{platform_name()}.tar.gz: it is checked against the index only"
    ]


def test_a_mirror_is_named_by_the_environment(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the index; it says where the archives are."""
    monkeypatch.setenv("PYKB_ENVTEST_INDEX", f"{publisher.address}/index.yaml")
    publisher.publish("1.99.3", WHOLE)
    assert default_sources()[0].resolve("1.99") == "1.99.3"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "/etc/passwd", "ftp://127.0.0.1/x"])
def test_only_the_web_is_asked(publisher: Publisher, tmp_path: Path, address: str) -> None:
    """Neither the index nor what it names is a file of this machine."""
    with pytest.raises(SourceUnusable, match="is not a web address"):
        Archive(index=address).resolve("1.36")
    publisher.publish("1.99.0", WHOLE)
    publisher.files["/index.yaml"] = publisher.files["/index.yaml"].replace(
        f"{publisher.address}/envtest".encode(), f"{address}#".encode()
    )
    with pytest.raises(SourceUnusable, match="is not a web address"):
        get(publisher.source, tmp_path, version="1.99.0")


def test_an_archive_has_a_size(publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole, and each program in it, which may be small until it is unpacked."""
    monkeypatch.setattr("pykb.envtest._archive.ARCHIVE_LIMIT", 1 << 20)
    for content in (b"x" * (2 << 20), tarball({"etcd": bytes(2 << 20)})):
        publisher.publish("1.99.0", content)
        with pytest.raises(SourceUnusable, match="has more than 1 MiB"):
            get(publisher.source, tmp_path, version="1.99.0")
    assert list(tmp_path.iterdir()) == []


def test_a_minor_is_resolved_by_the_index(publisher: Publisher) -> None:
    """By number, not by text; release candidates do not count."""
    for version in ("1.36.2", "1.36.10", "1.36.11-rc.0", "1.35.20"):
        publisher.publish(version, b"")
    assert publisher.source.resolve("1.36") == "1.36.10"
    with pytest.raises(SourceUnusable, match=r"no release of 1\.20"):
        publisher.source.resolve("1.20")


def test_an_exact_version_needs_no_index(tmp_path: Path) -> None:
    """So that other sources can serve it without the network."""
    assert Archive(index="http://127.0.0.1:1/").resolve("1.36.1") == "1.36.1"


def test_a_version_without_an_archive_is_left_to_other_sources(publisher: Publisher, tmp_path: Path) -> None:
    """The name of the missing archive is said."""
    publisher.publish("1.36.1", WHOLE)
    with pytest.raises(SourceUnusable, match=r"has no envtest-v1\.36\.2"):
        get(publisher.source, tmp_path, version="1.36.2")


def test_an_unreachable_index_is_left_to_other_sources(tmp_path: Path) -> None:
    """No connection is no reason to give up."""
    with pytest.raises(SourceUnusable, match="cannot be reached"):
        get(Archive(index="http://127.0.0.1:1/"), tmp_path)


def test_a_broken_index_is_left_to_other_sources(publisher: Publisher, tmp_path: Path) -> None:
    """A proxy's login page is no index."""
    publisher.files["/index.yaml"] = b"<html>please log in</html>"
    with pytest.raises(SourceUnusable, match="cannot be read"):
        get(publisher.source, tmp_path)


def test_the_controller_manager_is_never_looked_for(tmp_path: Path) -> None:
    """The archives do not have it: no download to find that out."""
    with pytest.raises(SourceUnusable, match="has no kube-controller-manager"):
        get(Archive(index="http://127.0.0.1:1/"), tmp_path, ("kube-controller-manager",))


def test_a_disk_that_is_full_is_named_with_the_folder(tmp_path: Path) -> None:
    """It is no fault of the archive."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    archive = io.BytesIO(tarball({"envtest/etcd": b"x" * 10_000}))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(SourceUnusable, match=f"cannot write to `{tmp_path}`: "):
            unpack(archive, ("etcd",), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_control_plane_that_finds_the_disk_full_says_so(tmp_path: Path) -> None:
    """Its log ends with the calls of the program instead."""
    log = "etcdserver: no space left on device\n" + "main.main()\n" * 50
    assert start_problem("it ended", log, tmp_path).notes[0] == f"the disk with `{tmp_path}` is full"
    assert len(start_problem("it ended", "main.main()", tmp_path).notes) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (tarball({"envtest/etcd": b""}), "has no kube-apiserver, kubectl"),
        (b"no archive at all", "cannot be read"),
        (WHOLE[: len(WHOLE) // 2], "cannot be read"),
    ],
    ids=["incomplete", "no archive", "cut off"],
)
def test_a_useless_archive_is_left_to_other_sources(
    publisher: Publisher, tmp_path: Path, content: bytes, reason: str
) -> None:
    """Even with a right checksum."""
    publisher.publish("1.36.1", content)
    with pytest.raises(SourceUnusable, match=reason):
        get(publisher.source, tmp_path)


def test_an_archive_cannot_write_elsewhere(publisher: Publisher, tmp_path: Path) -> None:
    """Its names are only compared, never used as paths."""
    inside = tmp_path / "inside"
    inside.mkdir()
    publisher.publish("1.36.1", tarball({"../evil": b"", "/etc/evil": b"", **{f"../{name}": b"" for name in PROGRAMS}}))
    get(publisher.source, inside)
    assert sorted(path.name for path in inside.iterdir()) == sorted(PROGRAMS)
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
