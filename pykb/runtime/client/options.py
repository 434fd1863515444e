"""What a client does the same way in every request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from pykb.runtime.login.credentials import Impersonation

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Orphan", "Background", "Foreground"]

DEFAULT_FIELD_MANAGER = "pykb"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a client works.

    Attributes:
        namespace: Restricts the client to this namespace, and is used where none is given; cluster-scoped kinds are not
            touched by it.
        field_manager: Under which name its writes are recorded in ``managedFields``.
        field_validation: What happens to unknown and duplicate fields; the server's choice (``Warn``) when ``None``.
        dry_run: Whether writes are only tried: validated, defaulted, admitted, and not stored.
        impersonate: Whom to act as.
    """

    namespace: str = ""
    field_manager: str = DEFAULT_FIELD_MANAGER
    field_validation: FieldValidation | None = None
    dry_run: bool = False
    impersonate: Impersonation | None = None


class OptionChanges(TypedDict, total=False):
    """Some of :class:`ClientOptions`, for a client that differs in them."""

    namespace: str
    field_manager: str
    field_validation: FieldValidation | None
    dry_run: bool
    impersonate: Impersonation | None
