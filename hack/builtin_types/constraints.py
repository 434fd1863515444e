"""What OpenAPI leaves out of the built-in types, though controller-gen writes it into a CRD that embeds them.

Found by comparing with controller-gen's output (tests/differential). It reads these from markers in the Go sources.
"""

from __future__ import annotations

from dataclasses import dataclass

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_CORE = "io.k8s.api.core.v1."


@dataclass(frozen=True)
class Constraint:
    """Arguments for pydantic's Field, and a type in place of ``str``."""

    field: str = ""
    type: str = ""


CONSTRAINTS: dict[tuple[str, str], Constraint] = {
    (_META + "Condition", "lastTransitionTime"): Constraint(),
    (_META + "Condition", "message"): Constraint("max_length=32768"),
    (_META + "Condition", "observedGeneration"): Constraint("ge=0"),
    (_META + "Condition", "reason"): Constraint(
        'min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"'
    ),
    (_META + "Condition", "status"): Constraint(type='Literal["True", "False", "Unknown"]'),
    (_META + "Condition", "type"): Constraint(
        "max_length=316, pattern="
        r'r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?'
        r'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"'
    ),
}

# Values that must not be seen in logs and tracebacks.
HIDDEN = {(_CORE + "Secret", "data"), (_CORE + "Secret", "stringData")}
