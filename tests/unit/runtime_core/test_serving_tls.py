"""Who may connect to a server, and how: versions, cipher suites, certificates of clients; by real handshakes."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pykb.api import Converter, CustomResource, GroupVersion, carry_over
from pykb.client.clock import VirtualClock
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import Manager, ManagerOptions
from pykb.runtime.fake import fake_client
from pykb.runtime.manager._servers import Checks, health_routes
from pykb.runtime.webhook import allowed
from pykb.serving import BindAddress, HttpServer, passing
from pykb.serving.options import CertificateOptions, TlsOptions
from pykb.serving.tls import POLL, ServingCertificate, client_checks
from pykb.testing import eventually
from pykb.testing import running as managed

from .conftest import turn  # noqa: TID252 - shared by this folder only


class Authority:
    """Signs certificates of clients; with identifiers of keys, as a cluster's own does, or without."""

    def __init__(self, folder, *, identifiers=True):
        self.folder = folder
        self.identifiers = identifiers
        folder.mkdir()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clients")])
        self.pem = self._signed(self.name, self.key.public_key(), ca=True)

    def _signed(self, name, key, *, ca=False):
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self.name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
        if ca:
            builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        if self.identifiers:
            of_ours = self.key.public_key()
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(of_ours)
            builder = builder.add_extension(identifier, critical=False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def client(self, name, trust):
        """What a client with a certificate of this name connects with."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        pair = self.folder / f"{name}.pem"
        form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        pair.write_bytes(self._signed(subject, key.public_key()) + key.private_bytes(serialization.Encoding.PEM, *form))
        context = ssl.create_default_context(cadata=trust.decode())
        context.load_cert_chain(pair)
        return context


@pytest.fixture
def authorities(tmp_path):
    """Two of one name, as an authority and its successor."""
    return Authority(tmp_path / "right"), Authority(tmp_path / "wrong")


@pytest.fixture
def ca_file(authorities, tmp_path):
    """The first one's certificate."""
    file = tmp_path / "client-ca.crt"
    file.write_bytes(authorities[0].pem)
    return file


async def serve(running, certificate, names=()):
    """Serve a probe; gives a function that asks with a client's context and tells what came: a status or a refusal."""
    app = passing(client_checks(names), health_routes(Checks("/healthz")))
    server = HttpServer("webhook", BindAddress("127.0.0.1", 0), app, tls=lambda: certificate.context)
    running(server.run())
    await server.listening()

    async def ask(context):
        # A session for each: connections that are kept would hide what a new one meets.
        async with aiohttp.ClientSession() as session:
            try:
                async with session.get(f"https://127.0.0.1:{server.port}/healthz", ssl=context) as answer:
                    return answer.status
            except (aiohttp.ClientError, OSError):
                return "refused"

    return ask


def plain(certificate):
    """A client without a certificate."""
    return ssl.create_default_context(cadata=certificate.authority.decode())


async def test_only_clients_of_the_authority_connect(running, authorities, ca_file):
    """Without a certificate, or with another authority's, there is no connection."""
    right, wrong = authorities
    certificate = ServingCertificate(CertificateOptions(client_ca=ca_file))
    ask = await serve(running, certificate)
    assert await ask(plain(certificate)) == "refused"
    assert await ask(wrong.client("apiserver", certificate.authority)) == "refused"
    assert await ask(right.client("apiserver", certificate.authority)) == 200


async def test_certificates_need_no_identifiers_of_keys(running, tmp_path):
    """Go does not ask for them; Python's newer defaults do."""
    simple = Authority(tmp_path / "simple", identifiers=False)
    file = tmp_path / "simple.crt"
    file.write_bytes(simple.pem)
    certificate = ServingCertificate(CertificateOptions(client_ca=file))
    ask = await serve(running, certificate)
    assert not certificate.context.verify_flags & ssl.VERIFY_X509_STRICT
    assert await ask(simple.client("apiserver", certificate.authority)) == 200


async def test_a_client_has_an_expected_name(running, authorities, ca_file):
    """An authority signs for many."""
    certificate = ServingCertificate(CertificateOptions(client_ca=ca_file, client_names=("apiserver", "other")))
    ask = await serve(running, certificate, ("apiserver", "other"))
    assert await ask(authorities[0].client("apiserver", certificate.authority)) == 200
    assert await ask(authorities[0].client("kubelet", certificate.authority)) == 403


def test_names_are_read_under_uvloop_too(authorities, ca_file):
    """A program runs there."""
    certificate = ServingCertificate(CertificateOptions(client_ca=ca_file, client_names=("apiserver",)))

    async def main():
        tasks = []
        ask = await serve(lambda work: tasks.append(asyncio.ensure_future(work)), certificate, ("apiserver",))
        found = [await ask(authorities[0].client(name, certificate.authority)) for name in ("apiserver", "kubelet")]
        found.append(await ask(plain(certificate)))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) == [200, 403, "refused"]


async def test_a_renewed_authority_is_taken_up_and_the_old_one_forgotten(running, authorities, ca_file, caplog):
    """With both in the file both may connect; a broken file changes nothing."""
    old, new = authorities
    clock = VirtualClock()
    certificate = ServingCertificate(CertificateOptions(client_ca=ca_file), clock=clock)
    running(certificate.run())
    ask = await serve(running, certificate)
    clients = [each.client("apiserver", certificate.authority) for each in (old, new)]

    async def after(content):
        fresh = ca_file.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.replace(ca_file)
        await turn()
        clock.advance(POLL)
        await turn()
        return [await ask(client) for client in clients]

    assert [await ask(client) for client in clients] == [200, "refused"]
    assert await after(old.pem + new.pem) == [200, 200]
    assert await after(new.pem) == ["refused", 200]
    assert await after(b"broken") == ["refused", 200]
    assert caplog.records[-1].error.startswith(f"`{ca_file}` holds no certificate in PEM: ")
    assert await after(old.pem) == [200, "refused"]
    assert await ask(plain(certificate)) == "refused"


@pytest.mark.parametrize(
    "content", [None, b"", b"broken", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"]
)
def test_a_file_that_is_no_authority_is_told_at_the_start(tmp_path, content):
    """With the flag and what it needs."""
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(EnvironmentProblem) as raised:
        ServingCertificate(CertificateOptions(client_ca=file), server="metrics")
    diagnostic = raised.value.diagnostic
    assert diagnostic.code.slug == "client-ca"
    assert f"the client CA file of the metrics server, `{file}`, cannot be used" in diagnostic.message
    assert "`--metrics-client-ca-file` needs certificates in PEM" in diagnostic.help[0]


def test_names_without_an_authority_are_told_at_the_start():
    """They would protect nothing."""
    with pytest.raises(EnvironmentProblem) as raised:
        ServingCertificate(CertificateOptions(client_names=("apiserver",)))
    assert "`--webhook-client-ca-file`" in raised.value.diagnostic.help[0]


async def test_certificates_of_clients_and_plain_http_exclude_each_other(ca_file):
    """Somebody who demands certificates must not get an open port."""
    files = CertificateOptions(client_ca=ca_file)
    options = ManagerOptions(metrics_bind_address="127.0.0.1:0", metrics_secure=False, metrics_certificate=files)
    with pytest.raises(EnvironmentProblem, match="client certificates over plain HTTP"):
        await Manager(options, client=fake_client()).start()


async def test_a_managers_servers_demand_what_their_options_say(authorities, ca_file):
    """Webhooks, metrics, pprof that other machines reach, and records."""
    files = CertificateOptions(client_ca=ca_file, client_names=("apiserver",))
    options = ManagerOptions(
        metrics_bind_address="127.0.0.1:0",
        pprof_bind_address="0.0.0.0:0",
        records_bind_address="127.0.0.1:0",
        metrics_certificate=files,
        webhook_certificate=files,
        webhook_port=0,
        webhook_bind_host="127.0.0.1",
        tls=TlsOptions("VersionTLS13"),
    )
    manager = Manager(options, client=fake_client())

    async def judge(_request):
        return allowed()

    manager.webhook_server.register("/judge", judge)
    async with managed(manager), aiohttp.ClientSession() as session:
        servers = manager.servers
        await eventually(lambda: None not in (servers.metrics, servers.pprof, servers.records))
        for server in (servers.metrics, servers.pprof, servers.records):
            await server.listening()
        trust = manager.webhook_server.certificate.authority
        for path, port, status in (
            ("/judge", manager.webhook_server.port, 405),
            ("/metrics", servers.metrics.port, 401),
            ("/debug/pprof/", servers.pprof.port, 401),
            ("/records", servers.records.port, 401),
        ):
            url = f"https://127.0.0.1:{port}{path}"
            for name, expected in (("apiserver", status), ("kubelet", 403)):
                context = authorities[0].client(name, trust)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                async with session.get(url, ssl=context) as answer:
                    assert answer.status == expected
            with pytest.raises((aiohttp.ClientError, OSError)):
                await session.get(url, ssl=False)


class Old(CustomResource, group_version=GroupVersion("example.com", "v1"), kind="Job"):
    """A spoke."""


class New(CustomResource, group_version=GroupVersion("example.com", "v2"), kind="Job"):
    """The hub."""


class OldConverter(Converter[Old, New]):
    """Converts nothing."""

    def to_hub(self, spoke):
        """Carry over."""
        return carry_over(spoke, New)

    def from_hub(self, hub):
        """Carry over."""
        return carry_over(hub, Old)


async def test_conversions_that_the_api_server_cannot_ask_for_are_told(ca_file, caplog):
    """It has a certificate to show for admission, but not for conversion."""
    options = ManagerOptions(
        webhook_certificate=CertificateOptions(client_ca=ca_file), webhook_port=0, webhook_bind_host="127.0.0.1"
    )
    manager = Manager(options, client=fake_client())
    manager.webhook_server.conversions.add(OldConverter())
    async with managed(manager):
        pass
    (record,) = [each for each in caplog.records if "conversions will be refused" in each.getMessage()]
    assert "--webhook-client-ca-file" in record.help


@pytest.mark.parametrize(
    ("options", "maximum", "suites", "expected"),
    [
        (TlsOptions(), "TLSv1_2", None, 200),
        (TlsOptions(), "TLSv1_3", None, 200),
        (TlsOptions("VersionTLS13"), "TLSv1_2", None, "refused"),
        (TlsOptions("VersionTLS13"), "TLSv1_3", None, 200),
        (TlsOptions("VersionTLS13", ("TLS_AES_128_GCM_SHA256",)), "TLSv1_3", None, 200),
        (
            TlsOptions(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")),
            "TLSv1_2",
            "ECDHE-ECDSA-AES256-GCM-SHA384",
            200,
        ),
        (
            TlsOptions(cipher_suites=("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",)),
            "TLSv1_2",
            "ECDHE-ECDSA-AES128-GCM-SHA256",
            "refused",
        ),
    ],
)
async def test_versions_and_suites_are_those_of_the_options(running, options, maximum, suites, expected):
    """A client of the other kind is refused by the handshake."""
    certificate = ServingCertificate(CertificateOptions(), tls=options)
    ask = await serve(running, certificate)
    context = plain(certificate)
    context.maximum_version = ssl.TLSVersion[maximum]
    if suites:
        context.set_ciphers(suites)
    assert await ask(context) == expected


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (TlsOptions("VersionTLS11"), "`VersionTLS11` is not a TLS version", "`--tls-min-version` takes VersionTLS12"),
        (
            TlsOptions(cipher_suites=("TLS_RSA_WITH_RC4_128_SHA",)),
            "`TLS_RSA_WITH_RC4_128_SHA` is not a supported cipher suite",
            "`--tls-cipher-suites` takes TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, ",
        ),
        (
            TlsOptions(cipher_suites=("ALL:@SECLEVEL=0",)),
            "is not a supported cipher suite",
            "`--tls-cipher-suites` takes",
        ),
        (
            TlsOptions(cipher_suites=("TLS_AES_128_GCM_SHA256",)),
            "these cipher suites are all of TLS 1.3, and none is left for TLS 1.2",
            "`--tls-cipher-suites` takes",
        ),
    ],
)
def test_a_wrong_version_or_suite_is_told_at_the_start(options, message, remedy):
    """With the flag and its values."""
    with pytest.raises(EnvironmentProblem) as raised:
        ServingCertificate(CertificateOptions(), tls=options)
    diagnostic = raised.value.diagnostic
    assert diagnostic.code.slug == "tls-option"
    assert message in diagnostic.message
    assert diagnostic.help[0].startswith(remedy)
