"""Makes, judges and renews an authority and the certificate that it signed.

It has functions of their arguments: no clock, no I/O. It loads cryptography, so run it in another process
(:mod:`~pykb.serving._elsewhere`).

The previous authority stays beside the new one. Clients that trust both accept every replica while the replicas change
over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pykb.serving._elsewhere import Json
from pykb.tools.x509 import KeyPair, Validity, make, pem_of

_COMMON_NAME_LENGTH = 64
Material: TypeAlias = dict[str, str]
"""PEM by the keys of the Secret: ``ca.crt`` (the current authority first), ``ca.key``, ``tls.crt``, ``tls.key``."""

SETTLING = timedelta(seconds=30)
"""How long an authority is published before it signs, so that every API server has seen it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The certificate to have.

    Attributes:
        names: Its DNS names.
        life: How long it is valid.
        authority_life: How long its authority is valid.
    """

    names: tuple[str, ...]
    life: timedelta
    authority_life: timedelta


@dataclass(slots=True)
class _State:
    authorities: list[x509.Certificate]
    key: ec.EllipticCurvePrivateKey
    leaf: KeyPair | None
    changes: list[str] = field(default_factory=list)

    @property
    def authority(self) -> KeyPair:
        return KeyPair(self.authorities[0], self.key)


def review_json(given: Json) -> Json:
    """:func:`review` from JSON to JSON.

    The answer has the ``material``, what was ``changed``, and the time for which it holds (``since``, ``until``).
    """
    wanted = Wanted(tuple(given["names"]), timedelta(seconds=given["life"]), timedelta(seconds=given["authority_life"]))
    now = datetime.fromisoformat(given["now"])
    state = review(given["held"], wanted, now)
    leaf = state.leaf
    assert leaf is not None  # noqa: S101 - a review makes what is missing
    certificate, key = leaf.pem
    material: Material = {
        "ca.crt": "".join(pem_of(each) for each in state.authorities),
        "ca.key": state.authority.pem[1],
        "tls.crt": certificate,
        "tls.key": key,
    }
    until = min(renewal(state.authorities[0]), _leaf_due(leaf.certificate, state.authorities[0], wanted))
    return {
        "material": material,
        "changed": state.changes,
        "since": max(leaf.certificate.not_valid_before_utc, state.authorities[0].not_valid_before_utc).isoformat(),
        "until": until.isoformat(),
        "expires": leaf.certificate.not_valid_after_utc.isoformat(),
    }


def self_signed_json(given: Json) -> Json:
    """A self-signed certificate for ``hosts`` and its key, in PEM, from JSON to JSON."""
    hosts, now = given["hosts"], datetime.fromisoformat(given["now"])
    pair = make(_title(hosts[0]), Validity.of(timedelta(seconds=given["life"]), now), names=hosts, signs=True)
    certificate, key = pair.pem
    return {"certificate": certificate, "key": key}


def review(held: Sequence[Material], wanted: Wanted, now: datetime) -> _State:
    """Keep what can be used, and make what is missing, due or expired.

    Args:
        held: What there is, the best first. The first with a usable authority counts.
        wanted: The certificate to have.
        now: The time.
    """
    usable = (_usable(each, wanted.names, now) for each in held)
    state = next((each for each in usable if each is not None), None)
    if state is None:
        made = _new_authority(wanted, now)
        state = _State([made.certificate], made.key, None, ["made an authority"])
    leaf = state.leaf
    if leaf is None or now >= _leaf_due(leaf.certificate, state.authorities[0], wanted):
        state.changes.append("made a certificate" if leaf is None else "renewed the certificate")
        end = min(now + wanted.life, state.authorities[0].not_valid_after_utc)
        validity = Validity.of(end - now, now)
        state.leaf = make(_title(wanted.names[0]), validity, signer=state.authority, names=wanted.names)
    if now >= renewal(state.authorities[0]):
        # The certificate is still that of the previous authority: nobody trusts the new one yet.
        made = _new_authority(wanted, now)
        state.authorities = [made.certificate, state.authorities[0]]
        state.key = made.key
        state.changes.append("renewed the authority")
    return state


def renewal(certificate: x509.Certificate) -> datetime:
    """When to renew a certificate: with a third of its life left."""
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return end - (end - start) / 3


def _leaf_due(leaf: x509.Certificate, authority: x509.Certificate, wanted: Wanted) -> datetime:
    """When to renew the leaf: in time, but signed only by an authority that clients have seen."""
    life = authority.not_valid_after_utc - authority.not_valid_before_utc
    made = authority.not_valid_before_utc + min(timedelta(hours=1), life / 11)  # see `Validity`
    settled = made + min(SETTLING, wanted.life / 6)
    return min(max(renewal(leaf), settled), leaf.not_valid_after_utc)


def _new_authority(wanted: Wanted, now: datetime) -> KeyPair:
    return make(_title(f"authority of {wanted.names[0]}"), Validity.of(wanted.authority_life, now), signs=True)


def _title(text: str) -> str:
    return text[:_COMMON_NAME_LENGTH]


def _usable(material: Material, names: Iterable[str], now: datetime) -> _State | None:
    """What can be used of it; nothing without an authority."""
    try:
        authorities = x509.load_pem_x509_certificates(material["ca.crt"].encode())
        pair = _pair(authorities[0], material["ca.key"])
    except (KeyError, ValueError, TypeError):
        return None
    if pair is None or not _is_valid(authorities[0], now):
        return None
    # An authority that has expired, or was replaced twice, signs nothing that is still served.
    trusted = [authorities[0], *(each for each in authorities[1:2] if _is_valid(each, now))]
    return _State(trusted, pair.key, _leaf(material, trusted, names, now))


def _leaf(
    material: Material, authorities: Sequence[x509.Certificate], names: Iterable[str], now: datetime
) -> KeyPair | None:
    try:
        certificate = x509.load_pem_x509_certificate(material["tls.crt"].encode())
        pair = _pair(certificate, material["tls.key"])
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (KeyError, ValueError, TypeError, x509.ExtensionNotFound):
        return None
    known = set(alternatives.get_values_for_type(x509.DNSName))
    is_signed = any(_signed_by(certificate, each) for each in authorities)
    return pair if is_signed and known.issuperset(names) and _is_valid(certificate, now) else None


def _pair(certificate: x509.Certificate, key: str) -> KeyPair | None:
    loaded = serialization.load_pem_private_key(key.encode(), password=None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey) or loaded.public_key() != certificate.public_key():
        return None
    return KeyPair(certificate, loaded)


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc
