"""Makes, judges and renews an authority and the certificate that it signed.

It has functions of their arguments: no clock, no I/O. It loads cryptography, so import it where something is due.

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

from pykb.serving.options import ManagedCertificateOptions
from pykb.tools.x509 import KeyPair, Validity, make, pem_of

_COMMON_NAME_LENGTH = 64
Material: TypeAlias = dict[str, str]
"""PEM by the keys of the Secret: ``ca.crt`` (the current authority first), ``ca.key``, ``tls.crt``, ``tls.key``."""

SETTLING = timedelta(seconds=30)
"""How long an authority is published before it signs, so that every API server has seen it."""


@dataclass(frozen=True, slots=True)
class Review:
    """The outcome of a review.

    Attributes:
        material: What to serve and to trust.
        changed: What was made or renewed, in words.
        since: When this begins to hold.
        until: When something is due again.
        expires: When the certificate expires.
    """

    material: Material
    changed: list[str]
    since: datetime
    until: datetime
    expires: datetime


@dataclass(slots=True)
class _State:
    authorities: list[x509.Certificate]
    key: ec.EllipticCurvePrivateKey
    leaf: KeyPair | None
    changes: list[str] = field(default_factory=list)

    @property
    def authority(self) -> KeyPair:
        return KeyPair(self.authorities[0], self.key)


def review(held: Sequence[Material], names: Sequence[str], options: ManagedCertificateOptions, now: datetime) -> Review:
    """Keep what can be used, and make what is missing, due or expired.

    Args:
        held: What there is, the best first. The first with a usable authority counts.
        names: The DNS names of the certificate to have.
        options: How long it and its authority are valid.
        now: The time.
    """
    usable = (_usable(each, names, now) for each in held)
    state = next((each for each in usable if each is not None), None)
    if state is None:
        made = _new_authority(names, options, now)
        state = _State([made.certificate], made.key, None, ["made an authority"])
    leaf = state.leaf
    if leaf is None or now >= _leaf_due(leaf.certificate, state.authorities[0], options):
        state.changes.append("made a certificate" if leaf is None else "renewed the certificate")
        end = min(now + options.life, state.authorities[0].not_valid_after_utc)
        leaf = make(_title(names[0]), Validity.of(end - now, now), signer=state.authority, names=names)
    if now >= renewal(state.authorities[0]):
        # The certificate is still that of the previous authority: nobody trusts the new one yet.
        made = _new_authority(names, options, now)
        state.authorities = [made.certificate, state.authorities[0]]
        state.key = made.key
        state.changes.append("renewed the authority")
    certificate, key = leaf.pem
    authority = state.authorities[0]
    return Review(
        material={
            "ca.crt": "".join(pem_of(each) for each in state.authorities),
            "ca.key": state.authority.pem[1],
            "tls.crt": certificate,
            "tls.key": key,
        },
        changed=state.changes,
        since=max(leaf.certificate.not_valid_before_utc, authority.not_valid_before_utc),
        until=min(renewal(authority), _leaf_due(leaf.certificate, authority, options)),
        expires=leaf.certificate.not_valid_after_utc,
    )


def renewal(certificate: x509.Certificate) -> datetime:
    """When to renew a certificate: with a third of its life left."""
    start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return end - (end - start) / 3


def _leaf_due(leaf: x509.Certificate, authority: x509.Certificate, options: ManagedCertificateOptions) -> datetime:
    """When to renew the leaf: in time, but signed only by an authority that clients have seen."""
    life = authority.not_valid_after_utc - authority.not_valid_before_utc
    made = authority.not_valid_before_utc + min(timedelta(hours=1), life / 11)  # see `Validity`
    settled = made + min(SETTLING, options.life / 6)
    return min(max(renewal(leaf), settled), leaf.not_valid_after_utc)


def _new_authority(names: Sequence[str], options: ManagedCertificateOptions, now: datetime) -> KeyPair:
    return make(_title(f"authority of {names[0]}"), Validity.of(options.authority_life, now), signs=True)


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
