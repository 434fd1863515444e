"""Credential plugins: real programs, run as kubectl would run them."""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from pykb.client.login import KubeconfigSource
from pykb.diagnostics import EnvironmentProblem

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def _plugin(tmp_path: Path, body: str) -> Path:
    script = tmp_path / "plugin.py"
    script.write_text(f"#!{sys.executable}\nimport json, os, sys, pathlib\n{body}\n", "utf-8")
    script.chmod(0o755)
    return script


def _answering(**status: object) -> str:
    return f"""
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
print(json.dumps({{"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {status!r}}}))
"""


def _source(
    tmp_path: Path, script: Path | str, *, cluster: dict | None = None, options=MappingProxyType({}), **entry: object
) -> KubeconfigSource:
    document = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://one.example", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"exec": {"apiVersion": V1, "command": str(script), **entry}}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document), "utf-8")
    return KubeconfigSource([path], **options)


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_gives_a_token(tmp_path, version):
    """Both versions of the protocol work."""
    found = await _source(tmp_path, _plugin(tmp_path, _answering(token="t0")), apiVersion=version).current()
    assert found.token == "t0"
    assert found.expiration is None


async def test_a_plugin_gives_a_client_certificate(tmp_path):
    """A plugin may hand out a certificate with its key instead of a token."""
    script = _plugin(tmp_path, _answering(clientCertificateData="CERT", clientKeyData="KEY"))
    found = await _source(tmp_path, script).current()
    assert (found.token, found.client_certificate, found.client_key) == (None, b"CERT", b"KEY")


async def test_the_plugin_sees_its_arguments_its_environment_and_the_cluster(tmp_path):
    """`args`, `env` and, when asked for, the cluster with the settings of its extension reach the program."""
    script = _plugin(
        tmp_path,
        """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
seen = json.dumps([sys.argv[1:], os.environ["REGION"], info["spec"]], sort_keys=True)
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": seen}}))
""",
    )
    found = await _source(
        tmp_path,
        "./plugin.py",
        args=["get-token", "--x"],
        env=[{"name": "REGION", "value": "north"}],
        provideClusterInfo=True,
        cluster={
            "insecure-skip-tls-verify": True,
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}],
        },
    ).current()
    assert script.exists()
    arguments, region, spec = json.loads(found.token or "")
    assert (arguments, region) == (["get-token", "--x"], "north")
    assert spec == {
        "interactive": False,
        "cluster": {"server": "https://one.example", "insecure-skip-tls-verify": True, "config": {"audience": "me"}},
    }


async def test_a_plugin_runs_again_when_its_credentials_expire_and_not_before(tmp_path):
    """The answer is kept until its `expirationTimestamp`; `refresh` asks again at once."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    moment = start
    runs = tmp_path / "runs"
    script = _plugin(
        tmp_path,
        f"""
runs = pathlib.Path({str(runs)!r}); runs.write_text((runs.read_text() if runs.exists() else "") + "x")
status = {{"token": runs.read_text(), "expirationTimestamp": "2026-01-01T01:00:00Z"}}
print(json.dumps({{"apiVersion": "{V1}", "kind": "ExecCredential", "status": status}}))
""",
    )
    credentials = _source(tmp_path, script, options={"now": lambda: moment})
    assert (await credentials.current()).token == "x"
    assert (await credentials.current()).token == "x"
    moment = start + timedelta(hours=1)
    assert (await credentials.current()).token == "xx"
    assert (await credentials.refresh()).token == "xxx"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(3)", "ended with exit code 3"),
        ("print('hello')", "printed no JSON"),
        ("print('{}')", "not an ExecCredential"),
        (f"print(json.dumps({{'apiVersion': '{V1BETA1}', 'kind': 'ExecCredential'}}))", f"answered in `{V1BETA1}`"),
        (f"print(json.dumps({{'apiVersion': '{V1}', 'kind': 'ExecCredential'}}))", "without a `status`"),
        (_answering(), "neither a `token` nor a client certificate"),
        (_answering(token="t", expirationTimestamp="soon"), "not an RFC 3339 time: `soon`"),
    ],
)
async def test_a_failing_plugin_is_named(tmp_path, body, words):
    """How it failed is said, and which user entry of which file runs it."""
    with pytest.raises(EnvironmentProblem) as caught:
        await _source(tmp_path, _plugin(tmp_path, body)).current()
    message = caught.value.diagnostic.message
    assert words in message
    assert f"user `u` of {tmp_path / 'config'}" in message


@pytest.mark.parametrize(
    ("entry", "words", "help_text"),
    [
        (
            {"command": "no-such-plugin", "installHint": "brew install it"},
            "cannot be run: No such file",
            "brew install it",
        ),
        ({"command": "no-such-plugin"}, "cannot be run", "install `no-such-plugin`, or put it on PATH"),
        ({"command": ""}, "has no `command`", ""),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1`, expected", f"write `apiVersion: {V1}`"),
        ({"interactiveMode": "Always"}, "standard input is not a terminal", "run it once yourself"),
    ],
)
async def test_a_plugin_that_cannot_run_says_what_to_do(tmp_path, entry, words, help_text):
    """A missing program shows its own hint; an old protocol and a missing terminal are told."""
    with pytest.raises(EnvironmentProblem) as caught:
        await _source(tmp_path, entry.pop("command", "true"), **entry).current()
    assert words in caught.value.diagnostic.message
    assert help_text in "".join(caught.value.diagnostic.help)


async def test_a_token_of_the_entry_is_stronger_than_its_plugin(tmp_path):
    """As in client-go, a static token means that the plugin is not run."""
    document = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://one.example"}}],
        "users": [{"name": "u", "user": {"token": "static", "exec": {"apiVersion": V1, "command": "no-such-plugin"}}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document), "utf-8")
    assert (await KubeconfigSource([path]).current()).token == "static"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "body",
    [
        "import subprocess; subprocess.run(['sleep', '100'])",
        "import subprocess; subprocess.Popen(['sleep', '100'])",
        "import time; time.sleep(100)",
    ],
    ids=["a program below it", "left behind", "itself"],
)
def test_a_plugin_that_hangs_is_ended_with_what_it_started(tmp_path, body, loop):
    """A script around a program too: whoever holds its output open must not hold up the login for ever."""
    import uvloop

    short = {"plugin_timeout": timedelta(seconds=1)}

    async def log_in():
        async with asyncio.timeout(60):
            await _source(tmp_path, _plugin(tmp_path, body), options=short).current()

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with (
        pytest.raises(EnvironmentProblem, match="did not end within 1 s") as caught,
        asyncio.Runner(loop_factory=factory) as runner,
    ):
        runner.run(log_in())
    assert "run it yourself" in caught.value.diagnostic.help[0]


async def test_a_plugin_that_is_no_program_is_told(tmp_path):
    """A file without its bit: what to type is said."""
    script = _plugin(tmp_path, _answering(token="t"))
    script.chmod(0o644)
    with pytest.raises(EnvironmentProblem, match="cannot be run: Permission denied") as caught:
        await _source(tmp_path, script).current()
    assert caught.value.diagnostic.help == (f"make it executable: `chmod +x {script}`",)
