"""Kubeconfigs: merging, contexts, key material, token files, and what is said when they do not fit."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from pykb.client.login import Impersonation, KubeconfigSource
from pykb.client.login._config import read_kubeconfig, resolve_context
from pykb.diagnostics import EnvironmentProblem


def _config(
    *, cluster: dict | None = None, user: dict | None = None, context: dict | None = None, name: str = "c"
) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": f"{name}-cluster", "cluster": {"server": "https://one.example:6443", **(cluster or {})}}],
        "users": [{"name": f"{name}-user", "user": user or {}}],
        "contexts": [
            {"name": name, "context": {"cluster": f"{name}-cluster", "user": f"{name}-user", **(context or {})}}
        ],
    }


def _write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document), "utf-8")
    return path


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_a_plain_entry_becomes_credentials(tmp_path):
    """Server, CA, client certificate and namespace come from the entries that the current context pairs."""
    document = _config(
        cluster={
            "certificate-authority-data": _b64(b"CA"),
            "tls-server-name": "kube",
            "proxy-url": "http://proxy:3128",
        },
        user={"client-certificate-data": _b64(b"CERT"), "client-key-data": _b64(b"KEY")},
        context={"namespace": "team"},
    )
    found = await KubeconfigSource([_write(tmp_path / "config", document)]).current()
    assert (found.server, found.ca_data, found.client_certificate, found.client_key, found.namespace) == (
        "https://one.example:6443",
        b"CA",
        b"CERT",
        b"KEY",
        "team",
    )
    assert (found.tls_server_name, found.proxy_url) == ("kube", "http://proxy:3128")
    assert "context `c`" in found.origin


async def test_relative_files_start_at_the_kubeconfig_that_names_them(tmp_path):
    """Of two merged files in different directories each one's paths are its own."""
    _write(tmp_path / "a" / "ca.pem", "A")
    _write(tmp_path / "b" / "cert.pem", "B")
    first = {**_config(cluster={"certificate-authority": "ca.pem"}), "users": []}
    second = _config(user={"client-certificate": "cert.pem", "client-key": "cert.pem"})
    source = KubeconfigSource([_write(tmp_path / "a" / "config", first), _write(tmp_path / "b" / "config", second)])
    found = await source.current()
    assert (found.ca_data, found.client_certificate) == (b"A", b"B")


def test_the_first_file_wins_entry_by_entry(tmp_path):
    """The current context and an entry of a name come whole from the first file that has them."""
    one = _write(tmp_path / "one", {**_config(name="x"), "current-context": ""})
    other = _config(name="x", cluster={"server": "https://two.example", "insecure-skip-tls-verify": True})
    two = _write(tmp_path / "two", other)
    merged = read_kubeconfig([tmp_path / "absent", one, two], missing_ok=True)
    assert merged.current_context == "x"
    assert merged.files == (one, two)
    assert resolve_context(merged).cluster.values == {"server": "https://one.example:6443"}


async def test_insecure_drops_the_authority(tmp_path):
    """`insecure-skip-tls-verify` stands against a CA, which is then not used."""
    document = _config(cluster={"insecure-skip-tls-verify": True, "certificate-authority-data": _b64(b"CA")})
    found = await KubeconfigSource([_write(tmp_path / "config", document)]).current()
    assert (found.insecure, found.ca_data) == (True, None)


async def test_impersonation_is_read(tmp_path):
    """`as`, its groups and its extra values are carried to the credentials."""
    user = {"as": "ann", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"scope": ["a", "b"]}}
    found = await KubeconfigSource([_write(tmp_path / "config", _config(user=user))]).current()
    assert found.impersonate == Impersonation("ann", uid="7", groups=("dev",), extra=(("scope", ("a", "b")),))


async def test_server_and_context_can_be_chosen(tmp_path):
    """`--master` replaces the server, `--context` the current context."""
    document = _config(name="a")
    other = _config(name="b", cluster={"server": "https://b.example"})
    for section in ("clusters", "users", "contexts"):
        document[section] += other[section]
    path = _write(tmp_path / "config", document)
    assert (await KubeconfigSource([path], context="b").current()).server == "https://b.example"
    assert (await KubeconfigSource([path], server="http://127.0.0.1:8001/").current()).server == "http://127.0.0.1:8001"


async def test_a_token_file_is_read_again_each_minute(tmp_path):
    """A rotated token is used within a minute, and a file that is being replaced does not lose the last one."""
    now = 100.0
    token = _write(tmp_path / "token", "first\n")
    path = _write(tmp_path / "config", _config(user={"tokenFile": "token", "token": "stale"}))
    source = KubeconfigSource([path], monotonic=lambda: now)
    assert (await source.current()).token == "first"
    _write(token, "second\n")
    assert (await source.current()).token == "first"
    now += 60
    assert (await source.current()).token == "second"
    token.unlink()
    now += 60
    assert (await source.current()).token == "second"


async def test_refresh_reads_the_kubeconfig_again(tmp_path):
    """After a 401, a kubeconfig that was written anew counts."""
    path = _write(tmp_path / "config", _config(user={"token": "old"}))
    source = KubeconfigSource([path])
    assert (await source.current()).token == "old"
    _write(path, _config(user={"token": "new"}))
    assert (await source.current()).token == "old"
    assert (await source.refresh()).token == "new"
    assert (await source.current()).token == "new"


def test_credentials_show_no_secret(tmp_path):
    """Printing credentials gives away neither tokens nor keys nor passwords."""
    from pykb.client.login import Credentials

    shown = repr(
        Credentials(
            "https://x",
            token="s3cret",
            password="s3cret",
            client_key=b"s3cret",
            proxy_url="http://u:s3cret@p",
            username="u",
        )
    )
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("- a\n", "holds a list, expected a mapping"),
        ("a: [", "is not YAML"),
        ("a: " + "[" * 900, "cannot be read"),
        ({"current-context": "x"}, "there is no context `x`"),
        ({"contexts": [{"name": "x", "context": {}}]}, "has no `current-context`"),
        ({"clusters": ["x"]}, "`clusters` of kubeconfig"),
        ({**_config(), "clusters": []}, "there is no cluster `c-cluster` in kubeconfig"),
        ({**_config(), "users": [{"name": "c-usr", "user": {}}]}, "there is no user `c-user`"),
        (_config(cluster={"server": ""}), "has no `server`"),
        (_config(cluster={"certificate-authority-data": "!"}), "`certificate-authority-data` of cluster"),
        (_config(cluster={"certificate-authority": "absent.pem"}), "absent.pem`, which cannot be read: No such file"),
        (_config(cluster={"proxy-url": "socks5://p:1080"}), "is a `socks5` proxy, expected an `http`"),
        (_config(user={"tokenFile": "absent"}), "`tokenFile` of user"),
        (_config(user={"auth-provider": {"name": "oidc"}}), "uses `auth-provider: oidc`"),
    ],
)
async def test_what_does_not_fit_is_said(tmp_path, document, words):
    """Each mistake names the file and the entry; no traceback, no bare KeyError."""
    path = _write(tmp_path / "config", document)
    with pytest.raises(EnvironmentProblem) as caught:
        await KubeconfigSource([path]).current()
    message = caught.value.diagnostic.message
    assert words in message
    assert "config" in message


async def test_a_near_miss_is_suggested(tmp_path):
    """A context that is nearly spelt right gets a did-you-mean."""
    path = _write(tmp_path / "config", _config(name="kind-dev"))
    with pytest.raises(EnvironmentProblem) as caught:
        await KubeconfigSource([path], context="kind-dve").current()
    assert caught.value.diagnostic.help == ("did you mean `kind-dev`?",)


async def test_an_explicit_file_must_be_there(tmp_path):
    """`--kubeconfig` of a file that is not there is an error that says what to type."""
    with pytest.raises(EnvironmentProblem) as caught:
        await KubeconfigSource([tmp_path / "nothing"]).current()
    assert "No such file" in caught.value.diagnostic.message
    assert "pykb cluster up" in caught.value.diagnostic.help[0]


def test_expiry_is_compared_in_utc():
    """An expiration with an offset is the same moment."""
    from pykb.client.login import Credentials

    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    there = Credentials("x", expiration=moment.astimezone(datetime.fromisoformat("2026-01-01T00:00:00+05:00").tzinfo))
    assert there.expires_before(moment)
    assert not there.expires_before(moment - timedelta(seconds=1))
