"""Messages for users, as values. This package prints nothing and does not depend on Kubernetes."""

from pykb.diagnostics.model import (
    NOTHING_WRITTEN,
    Code,
    Diagnostic,
    Diagnostics,
    Edit,
    EnvironmentProblem,
    InternalError,
    Label,
    PykbError,
    Severity,
    Span,
)

__all__ = [
    "NOTHING_WRITTEN",
    "Code",
    "Diagnostic",
    "Diagnostics",
    "Edit",
    "EnvironmentProblem",
    "InternalError",
    "Label",
    "PykbError",
    "Severity",
    "Span",
]
