"""What a client does the same way in every request."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from pykb.runtime.login.credentials import Impersonation

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Orphan", "Background", "Foreground"]

FIELD_MANAGER_LENGTH = 128
"""Characters that the API server takes (``metav1/validation``)."""


def main_module() -> str | None:
    """The module or package that Python runs by ``-m``; ``None`` where it runs a file."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return None if spec is None else str(spec.name).removesuffix(".__main__")


def program_name() -> str:
    """The name of this program: the module or package of ``python -m``, else that of its file.

    client-go records the writes of a program under the name of its file, too. Two programs must not share a name: by
    server-side apply each would take away the fields that the other has set.
    """
    name = main_module() or Path(sys.argv[0]).stem
    return name[:FIELD_MANAGER_LENGTH] if name[:1].isalnum() else "python"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a client works.

    Attributes:
        namespace: Restricts the client to this namespace, and is used where none is given; cluster-scoped kinds are not
            touched by it.
        field_manager: Under which name its writes are recorded in ``managedFields``. Defaults to the name of the
            program (:func:`program_name`); in a manager to its ``leader_election_id``, if it has one.
        field_validation: What happens to unknown and duplicate fields; the server's choice (``Warn``) when ``None``.
        dry_run: Whether writes are only tried: validated, defaulted, admitted, and not stored.
        impersonate: Whom to act as.
    """

    namespace: str = ""
    field_manager: str = field(default_factory=program_name)
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
