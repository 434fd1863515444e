"""What a manager makes for its servers: judged and renewed by the time that it is given."""

import asyncio
import logging
import ssl
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from pykb.api.core.v1 import Secret
from pykb.client.errors import Forbidden
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import Client, ManagedCertificateOptions, ManagerOptions, VirtualClock
from pykb.runtime.fake import FakeApiServer, fake_client
from pykb.serving import _authority
from pykb.serving._authority import SETTLING, renewal
from pykb.serving.managed_certificates import PERIOD, ManagedCertificates
from pykb.serving.options import CertificateOptions
from pykb.serving.tls import ServingCertificate
from pykb.testing import eventually
from pykb.tools.x509 import Validity, make

START = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
NAMES = ("webhook-service.system.svc", "metrics-service.system.svc")


def review(*held, now=START, names=NAMES, life=90 * DAY, authority_life=3650 * DAY):
    """The answer of a review."""
    options = ManagedCertificateOptions(life=life, authority_life=authority_life)
    return _authority.review(list(held), names, options, now)


def authorities(material):
    """The authorities that clients trust."""
    return x509.load_pem_x509_certificates(material["ca.crt"].encode())


def leaf(material):
    """The certificate that is served."""
    return x509.load_pem_x509_certificate(material["tls.crt"].encode())


def signer(material):
    """The index of the authority that signed it."""
    (only,) = [index for index, each in enumerate(authorities(material)) if signed_by(leaf(material), each)]
    return only


def signed_by(certificate, authority):
    """Whether the authority signed it."""
    try:
        certificate.verify_directly_issued_by(authority)
    except InvalidSignature:
        return False
    return True


def test_from_nothing_both_are_made_and_then_nothing_is_due():
    """Until a third of the certificate's life is left."""
    made = review({})
    assert made.changed == ["made an authority", "made a certificate"]
    for later in (timedelta(), DAY, 59 * DAY):
        again = review(made.material, now=START + later)
        assert (again.material, again.changed) == (made.material, [])
    until = made.until
    assert timedelta(0) < 60 * DAY - (until - START) < timedelta(hours=1)
    assert review(made.material, now=until).changed == ["renewed the certificate"]


def test_a_renewed_certificate_has_the_same_authority_and_another_key():
    """So that clients accept it without being told."""
    before = review({}).material
    after = review(before, now=START + 61 * DAY).material
    assert (after["ca.crt"], after["ca.key"]) == (before["ca.crt"], before["ca.key"])
    assert after["tls.key"] != before["tls.key"]
    assert leaf(after).not_valid_after_utc == START + 151 * DAY


def test_a_new_authority_signs_after_clients_have_seen_it():
    """The previous one stays beside it, and its certificate stays in use."""
    before = review({}, now=START).material
    due = renewal(authorities(before)[0])
    before = review(before, now=due - DAY).material
    renewed = review(before, now=due)
    assert renewed.changed == ["renewed the authority"]
    after = renewed.material
    assert len(authorities(after)) == 2
    assert authorities(after)[1] == authorities(before)[0]
    assert after["tls.crt"] == before["tls.crt"]
    assert signer(after) == 1
    last = review(after, now=renewal(leaf(after))).material
    assert signer(last) == 0
    assert len(authorities(last)) == 2


def test_a_certificate_that_is_due_waits_for_its_new_authority():
    """For half a minute; and it is renewed before it expires in any case."""
    wanted = {"life": 30 * DAY, "authority_life": 90 * DAY}
    start = review({}, **wanted).material
    due = renewal(authorities(start)[0])
    aged = review(start, now=due - 20 * DAY, **wanted).material  # due at the same time as the authority
    after = review(aged, now=due - timedelta(hours=1), **wanted).material
    after = review(after, now=due, **wanted).material
    assert len(authorities(after)) == 2
    moment = max(renewal(leaf(after)), due + SETTLING)
    assert review(after, now=due + SETTLING / 2, **wanted).changed == []
    assert signer(review(after, now=moment, **wanted).material) == 0


def test_an_authority_that_was_replaced_twice_or_has_expired_is_dropped():
    """Nothing that it signed is in use any more."""
    wanted = {"life": 30 * DAY, "authority_life": 90 * DAY}
    material, now = review({}, **wanted).material, START
    seen = set()
    for _ in range(60):
        now += 5 * DAY
        material = review(material, now=now, **wanted).material
        seen |= {each.serial_number for each in authorities(material)}
        assert len(authorities(material)) <= 2
        assert all(each.not_valid_after_utc > now for each in authorities(material))
        assert leaf(material).not_valid_after_utc - now > 5 * DAY
        signer(material)
    assert len(seen) > 4


BROKEN = {
    "another certificate": lambda own, other: own | {"tls.crt": other["tls.crt"]},
    "another key": lambda own, other: own | {"tls.key": other["tls.key"]},
    "a pair of another authority": lambda own, other: own | {key: other[key] for key in ("tls.crt", "tls.key")},
    "no certificate": lambda own, _: {key: own[key] for key in ("ca.crt", "ca.key")},
    "no text": lambda own, _: own | {"tls.crt": "hunter2"},
    "cut off": lambda own, _: own | {"tls.key": own["tls.key"][:60]},
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_certificate_that_cannot_be_used_is_made_again(case):
    """By the same authority."""
    own, other = review({}).material, review({}).material
    found = review(BROKEN[case](own, other))
    assert found.changed == ["made a certificate"]
    assert found.material["ca.crt"] == own["ca.crt"]


LOST = {
    "nothing": lambda _own, _other: {},
    "no key": lambda own, _: own | {"ca.key": ""},
    "another key": lambda own, other: own | {"ca.key": other["ca.key"]},
    "no text": lambda own, _: own | {"ca.crt": "hunter2"},
    "locked": lambda own, _: own | {"ca.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"},
}


@pytest.mark.parametrize("case", LOST)
def test_what_a_replica_serves_replaces_an_authority_that_is_lost(case):
    """Otherwise the others would serve what nobody trusts. Without such a replica, another is made."""
    own, other = review({}).material, review({}).material
    broken = LOST[case](own, other)
    assert review(broken, own).material == own
    assert review(broken).changed == ["made an authority", "made a certificate"]


@pytest.mark.parametrize("jump", [-400 * DAY, 100 * DAY, 5000 * DAY])
def test_after_a_jump_of_the_clock_what_is_not_valid_is_made_again(jump):
    """In both directions."""
    found = review(review({}).material, now=START + jump).material
    for certificate in (leaf(found), authorities(found)[0]):
        assert certificate.not_valid_before_utc <= START + jump < certificate.not_valid_after_utc


def test_a_name_that_is_new_makes_another_certificate_and_one_too_many_does_not():
    """Replicas of two versions share the Secret during a rollout. They must not take turns."""
    one = review({}, names=NAMES[:1]).material
    both = review(one)
    assert both.changed == ["made a certificate"]
    assert review(both.material, names=NAMES[:1]).changed == []


def test_a_certificate_does_not_outlive_its_authority():
    """Clients would refuse it anyway."""
    now = START.replace(microsecond=0)
    authority = make("authority", Validity.of(60 * DAY, now), signs=True)
    certificate, key = authority.pem
    found = review({"ca.crt": certificate, "ca.key": key}, now=now).material
    assert leaf(found).not_valid_after_utc == now + 60 * DAY


def test_strict_clients_accept_both_authorities_certificates():
    """Key usage and key identifiers are there, as Python 3.13 demands."""
    now = datetime.now(UTC)
    material = review({}, now=now).material
    client = ssl.create_default_context(cadata=material["ca.crt"])
    server = ServingCertificate(CertificateOptions(), managed=_pair(material)).context
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = client.wrap_bio(to_client, to_server, server_hostname=NAMES[1])
    there = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (here, there):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert here.version() == "TLSv1.3"


def _pair(material):
    from pykb.serving._shared_secret import Held

    return Held(material, START, START).pair


async def test_a_certificate_is_loaded_once():
    """With another bundle of authorities, it is still the same."""
    material = review({}, now=datetime.now(UTC)).material
    serving = ServingCertificate(CertificateOptions(), managed=_pair(material))
    before = serving.context
    await serving.take(_pair({**material, "ca.crt": material["ca.crt"] * 2}))
    assert serving.context is before
    assert serving.authority == material["ca.crt"].encode() * 2


class Replica:
    """One of several managers with a certificate of their own making, over one API server in memory."""

    def __init__(self, client, clock, now, **options):
        chosen = {"secret": "serving-certificate", "services": ("webhook-service",), "namespace": "default"} | options
        self.managed = ManagedCertificates(
            client,
            ManagedCertificateOptions(**chosen),
            namespace=self.nowhere,
            converted=self.none,
            clock=clock,
            now=now,
        )
        self.served = []

    @staticmethod
    async def nowhere():
        """A namespace that is unknown."""
        return ""

    @staticmethod
    async def none():
        """No CRDs."""
        return ()

    async def take(self, pair):
        """Another certificate."""
        self.served.append(pair)


async def test_replicas_serve_one_certificate_and_renew_it_together(running):
    """Whoever is first writes; the others take what is there."""
    clock, now = VirtualClock(), [START]
    client = fake_client()
    replicas = [Replica(client, clock, lambda _: now[0]) for _ in range(3)]
    for each in replicas:
        running(each.managed.run())
        await each.managed.follow(each.take)
    first = replicas[0].served[0]
    assert all(each.served == [first] for each in replicas)
    now[0] += 61 * DAY

    def renewed():
        clock.advance(PERIOD)
        assert [len(each.served) for each in replicas] == [2, 2, 2]

    await eventually(renewed)
    second = replicas[0].served[1]
    assert second.certificate != first.certificate
    assert all(each.served == [first, second] for each in replicas)


class DatedServer(FakeApiServer):
    """It says its time, as the real one does."""

    time = START
    writes = 0

    async def request(self, call):
        """Answer a request."""
        answer = await super().request(call)
        if call.on_date is not None:
            call.on_date(format_datetime(self.time, usegmt=True))
        self.writes += call.method == "PATCH" and "/secrets/" in call.path
        return answer


@pytest.mark.parametrize("skew", [2 * HOUR, 5 * DAY, 400 * DAY], ids=["hours", "days", "years"])
async def test_replicas_whose_clocks_differ_do_not_take_turns(skew, running):
    """The time is that of the API server, which verifies the certificate. One write for each thing that is due."""
    clock, server = VirtualClock(), DatedServer()
    skews = (-skew, timedelta(), skew)
    replicas = [Replica(Client(server), clock, lambda there, by=by: there or START + by) for by in skews]

    def looked(more_than):
        clock.advance(PERIOD)
        assert len(server.calls) > more_than

    for each in replicas:
        running(each.managed.run())
        await each.managed.follow(each.take)
    assert server.writes <= 1 + len(replicas)  # each of them may find no Secret, and make an empty one
    before = server.writes
    due = [START + 61 * DAY, renewal(authorities(await shared(server))[0]) + HOUR]
    for moment in due:
        server.time = moment
        for _ in range(5):
            await eventually(partial(looked, more_than=len(server.calls) + 12))
            server.time += PERIOD
            material = await shared(server)
            for certificate in (leaf(material), authorities(material)[signer(material)]):
                assert certificate.not_valid_before_utc <= server.time < certificate.not_valid_after_utc
    assert len({each.served[-1] for each in replicas}) == 1
    # The certificate; then the authority, with another certificate of the old one.
    assert server.writes - before == 2


async def shared(server):
    """What is in the Secret."""
    secret = await Client(server).get(Secret, "serving-certificate", namespace="default")
    return {key: value.decode() for key, value in secret.data.items()}


async def test_a_refusal_is_logged_once_and_nothing_is_served_before(running, caplog):
    """With what permits it."""
    caplog.set_level(logging.INFO)

    class Refusing:
        options = ManagerOptions().client
        refused = 0

        def __init__(self):
            self.connection = self

        async def request(self, call):
            self.refused += 1
            raise Forbidden(403, "Forbidden", "secrets is forbidden")

    client, clock = Refusing(), VirtualClock()
    replica = Replica(client, clock, lambda _: START)
    running(replica.managed.run())
    follow = asyncio.ensure_future(replica.managed.follow(replica.take))

    def refused():
        clock.advance(PERIOD)
        assert client.refused > 3

    await eventually(refused)
    assert not follow.done()
    follow.cancel()
    (said,) = [record for record in caplog.records if record.message == "certificates not ensured"]
    assert "config/certificates" in said.help


@pytest.mark.parametrize("options", [{"services": ()}, {"namespace": ""}])
async def test_without_a_service_or_a_namespace_the_manager_says_so(options):
    """It cannot guess them."""
    with pytest.raises(EnvironmentProblem, match="serving-certificate"):
        await Replica(fake_client(), VirtualClock(), lambda _: START, **options).managed.run()


def test_an_authority_must_outlive_its_certificates():
    """A previous authority must be trusted while one of its certificates is in use."""
    with pytest.raises(ValueError, match="three times"):
        ManagedCertificateOptions("a", life=40 * DAY, authority_life=100 * DAY)


@pytest.mark.parametrize("options", [{"life": 0 * DAY}, {"life": -DAY}, {"authority_life": 36501 * DAY}])
def test_a_life_that_no_certificate_has_is_refused(options):
    """At the start, and not when the certificate is made."""
    with pytest.raises(ValueError, match="life` must be"):
        ManagedCertificateOptions(**options)
