"""The manager's flags: kubebuilder's names, values and defaults, and pykb's own."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.client.options import ClientOptions
from pykb.client.ranges import LONGEST_GROUP, MOST
from pykb.meta.names import is_subdomain
from pykb.runtime._election import default_identity
from pykb.runtime._logging import LogFormat
from pykb.runtime.options import ManagerOptions
from pykb.runtime.sharding._board import member_lease, new_range_lease
from pykb.serving import BindAddress
from pykb.serving.options import CertificateOptions, ManagedCertificateOptions, TlsOptions


def parse(*argv, environ=None, **overrides):
    """Options from arguments."""
    return ManagerOptions.from_args(list(argv), environ=environ or {}, **overrides)


def test_without_flags_the_defaults_are_kubebuilders():
    """Metrics off and secure, probes on 8081, no election, webhooks on 9443."""
    options = parse()
    assert (options.metrics_bind_address, options.metrics_secure) == ("0", True)
    assert options.health_probe_bind_address == ":8081"
    assert options.pprof_bind_address == options.records_bind_address == "0"
    assert (options.leader_elect, options.webhook_port) == (False, 9443)
    assert options.namespaces == ()
    assert (options.log_level, options.log_format) == ("info", LogFormat.TEXT)


@pytest.mark.parametrize(
    ("argv", "attribute", "value"),
    [
        (["--metrics-bind-address=:8443"], "metrics_bind_address", ":8443"),
        (["--metrics-secure=false"], "metrics_secure", False),
        (["--metrics-secure"], "metrics_secure", True),
        (["--records-bind-address=127.0.0.1:8083"], "records_bind_address", "127.0.0.1:8083"),
        (["--pprof-bind-address=127.0.0.1:8082"], "pprof_bind_address", "127.0.0.1:8082"),
        (["--health-probe-bind-address", "127.0.0.1:0"], "health_probe_bind_address", "127.0.0.1:0"),
        (["--leader-elect"], "leader_elect", True),
        (["--leader-elect=true"], "leader_elect", True),
        (["--leader-elect=false"], "leader_elect", False),
        (["--leader-election-namespace", "ns"], "leader_election_namespace", "ns"),
        (["--webhook-port=9444"], "webhook_port", 9444),
        (["--kubeconfig", "/k"], "kubeconfig", Path("/k")),
        (["--kube-api-qps=20"], "kube_api_qps", 20.0),
        (["--kube-api-qps=-1"], "kube_api_qps", -1.0),
        (["--kube-api-burst=40"], "kube_api_burst", 40),
        (["--master", "https://x:6443"], "master", "https://x:6443"),
        (["--context", "c"], "context", "c"),
        (["--watch-namespace", "a"], "namespaces", ("a",)),
        (["--watch-namespaces", "a, b,a"], "namespaces", ("a", "b")),
        (["--log-level=debug"], "log_level", "debug"),
        (["--log-format=json"], "log_format", LogFormat.JSON),
        (["--zap-devel"], "log_level", "debug"),
        (["--zap-encoder=json"], "log_format", LogFormat.JSON),
        (["--zap-encoder=console"], "log_format", LogFormat.TEXT),
        (["--zap-log-level=error"], "log_level", "error"),
        (["--zap-log-level=2"], "log_level", "debug"),
        (["--zap-log-level=panic"], "log_level", "error"),
        (["--zap-devel", "--log-level=warning"], "log_level", "warning"),
        (["--zap-stacktrace-level=panic", "--zap-time-encoding=iso8601", "--enable-http2"], "log_level", "info"),
        (
            ["--tls-min-version=VersionTLS13", "--tls-cipher-suites=A, B"],
            "tls",
            TlsOptions("VersionTLS13", ("A", "B")),
        ),
        (
            ["--metrics-client-ca-file=/ca", "--metrics-client-allowed-names=a,b"],
            "metrics_certificate",
            CertificateOptions(client_ca=Path("/ca"), client_names=("a", "b")),
        ),
        (
            ["--webhook-client-ca-file=/ca", "--webhook-cert-path=/w"],
            "webhook_certificate",
            CertificateOptions(Path("/w"), client_ca=Path("/ca")),
        ),
        (
            ["--cert-secret", "s", "--cert-service", "a", "b", "--webhook-configuration", "c"],
            "managed_certificate",
            ManagedCertificateOptions("s", ("a", "b"), ("c",)),
        ),
        (
            ["--cert-life=30", "--cert-authority-life=90"],
            "managed_certificate",
            ManagedCertificateOptions(life=timedelta(days=30), authority_life=timedelta(days=90)),
        ),
        (["--metrics-cert-path=/m"], "metrics_certificate", CertificateOptions(Path("/m"), "tls.crt", "tls.key")),
        (
            ["--webhook-cert-path=/w", "--webhook-cert-name=a.crt", "--webhook-cert-key=a.key"],
            "webhook_certificate",
            CertificateOptions(Path("/w"), "a.crt", "a.key"),
        ),
    ],
)
def test_flags_are_understood(argv, attribute, value):
    """Each of kubebuilder's flags, with and without a value where Go allows both."""
    assert getattr(parse(*argv), attribute) == value


@pytest.mark.parametrize(
    "argv",
    [
        ["--leader-elect=maybe"],
        ["--metrics-bind-address=8443"],
        ["--health-probe-bind-address=:x"],
        ["--tls-min-version=VersionTLS11"],
        ["--cert-life=0"],
        ["--cert-life=1.5"],
        ["--cert-life=90d"],
        ["--cert-life=1217"],
        ["--cert-life=999999999999"],
        ["--cert-authority-life=36501"],
        ["--kube-api-qps=nan"],
        ["--kube-api-qps=fast"],
        ["--kube-api-burst=0"],
        ["--kube-api-burst=1.5"],
        ["--nonsense"],
        ["--lead"],
    ],
)
def test_wrong_flags_end_the_program_with_2(argv, capsys):
    """A message and the exit code of usage errors; no abbreviations."""
    with pytest.raises(SystemExit) as ended:
        parse(*argv)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_a_removed_flag_names_what_replaces_it(capsys):
    """Several processes of one program are several replicas now."""
    with pytest.raises(SystemExit) as ended:
        parse("--shards=4", "--processes=2")
    assert ended.value.code == 2
    assert "run several replicas with --shards instead" in capsys.readouterr().err


def test_the_environment_names_namespaces_and_a_flag_is_stronger():
    """`WATCH_NAMESPACE` is what the namespaced Deployment sets."""
    environ = {"WATCH_NAMESPACE": "a,b"}
    assert parse(environ=environ).namespaces == ("a", "b")
    assert parse("--watch-namespace=c", environ=environ).namespaces == ("c",)


def test_the_program_may_set_its_own_defaults():
    """A generated project sets the lease's name; flags are stronger than the program."""
    options = parse("--metrics-bind-address=:1", leader_election_id="x.example.com", metrics_bind_address=":2")
    assert options.leader_election_id == "x.example.com"
    assert options.metrics_bind_address == ":1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leader_election_id": "example.com/vm"}, "is the name of a Lease: lower case .*; found `example.com/vm`"),
        ({"leader_election_id": "Virtual"}, "is the name of a Lease"),
        ({"leader_election_id": ""}, "is the name of a Lease"),
        ({"leader_election_id": "a..b"}, "is the name of a Lease"),
        ({"leader_election_id": "x" * 254}, "at most 253 characters"),
        ({"leader_election_id": "x" * 210, "shards": 4}, "has 210 characters, and with `shards` at most 209"),
        ({"leader_election_namespace": "My_Team"}, "`leader_election_namespace` is the name of a namespace"),
    ],
)
def test_a_lease_that_the_api_server_would_refuse_is_refused_at_the_start(options, message, capsys):
    """Else all replicas would wait for it. From the command line, the program ends with a message."""
    with pytest.raises(ValueError, match=message):
        ManagerOptions(**options)
    with pytest.raises(SystemExit) as ended:
        ManagerOptions.from_args([], environ={}, **options)
    assert ended.value.code == 2
    assert "`leader_election_" in capsys.readouterr().err


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_is_none_is_refused_with_the_remedy(port, capsys):
    """controller-runtime switches its webhook server off by -1."""
    with pytest.raises(ValueError, match="ENABLE_WEBHOOKS=false"):
        ManagerOptions(webhook_port=port)
    with pytest.raises(SystemExit):
        ManagerOptions.from_args(["--webhook-port", str(port)])
    assert "ENABLE_WEBHOOKS=false" in capsys.readouterr().err


def test_the_leases_of_the_longest_group_have_valid_names():
    """One character more, and the name of a member's Lease is too long."""
    assert ManagerOptions(leader_election_id="x" * 253).leader_election_id
    assert ManagerOptions(leader_election_id="x" * LONGEST_GROUP, shards=4).shards == 4
    identity = default_identity()
    assert is_subdomain(member_lease("x" * LONGEST_GROUP, identity))
    assert not is_subdomain(member_lease("x" * (LONGEST_GROUP + 1), identity))
    lease = new_range_lease("x" * LONGEST_GROUP, "default", MOST - 1)
    assert is_subdomain(lease.metadata.name or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", None),
        ("", None),
        (":8081", BindAddress(None, 8081)),
        ("127.0.0.1:8081", BindAddress("127.0.0.1", 8081)),
        ("[::1]:8081", BindAddress("::1", 8081)),
        (":0", BindAddress(None, 0)),
    ],
)
def test_addresses_are_those_of_go(text, expected):
    """An empty host is every interface; `0` is nowhere."""
    assert BindAddress.parse(text) == expected


@pytest.mark.parametrize("text", ["8081", "host:", "host:port", ":70000", ":-1"])
def test_other_addresses_are_refused(text):
    """The message says what is expected."""
    with pytest.raises(ValueError, match="expected `:8081`"):
        BindAddress.parse(text)


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["-m", "sealvm"], "python -m sealvm"),
        (["-m", "sealvm.other"], "python -m sealvm.other"),
        (["run.py"], "run.py"),
    ],
)
def test_help_says_how_the_program_is_called(tmp_path: Path, words: list[str], program: str):
    """A package run by `-m` is called by its name, not `__main__.py`; in the examples, too."""
    text = "from pykb.runtime import ManagerOptions\nManagerOptions.from_args()\n"
    (tmp_path / "sealvm").mkdir()
    for path in ("sealvm/__main__.py", "sealvm/other.py", "run.py"):
        (tmp_path / path).write_text(text)
    done = subprocess.run([sys.executable, *words, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: {program} [flag ...]\n")
    assert f"  {program} --log-level debug\n" in done.stdout


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["-m", "sealvm"], "sealvm"),
        (["-m", "sealvm.other"], "sealvm.other"),
        (["run.py"], "run"),
        (["-c", ""], "python"),
    ],
)
def test_writes_are_recorded_under_the_name_of_the_program(tmp_path: Path, words: list[str], name: str):
    """So that two programs that apply the same object keep their fields apart."""
    text = "from pykb.runtime import ClientOptions\nprint(ClientOptions().field_manager)\n"
    (tmp_path / "sealvm").mkdir()
    for path in ("sealvm/__main__.py", "sealvm/other.py", "run.py"):
        (tmp_path / path).write_text(text)
    words = [word or text for word in words]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == name


def test_a_manager_writes_under_the_id_of_its_election():
    """It is the project's; a name that was chosen counts more. The API server takes at most 128 characters."""
    assert ManagerOptions(leader_election_id="fleet.example.com").client_options().field_manager == "fleet.example.com"
    assert len(ManagerOptions(leader_election_id="x" * 200).client_options().field_manager) == 128
    chosen = ManagerOptions(leader_election_id="fleet.example.com", client=ClientOptions(field_manager="mine"))
    assert chosen.client_options().field_manager == "mine"
    assert ManagerOptions().client_options() == ClientOptions()
