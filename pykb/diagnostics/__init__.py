"""What pykb tells people; knows nothing of Kubernetes and prints nothing."""

from pykb.diagnostics.model import (
    Code,
    Diagnostic,
    Diagnostics,
    EnvironmentProblem,
    InternalError,
    Label,
    PykbError,
    Severity,
    Span,
)

__all__ = [
    "Code",
    "Diagnostic",
    "Diagnostics",
    "EnvironmentProblem",
    "InternalError",
    "Label",
    "PykbError",
    "Severity",
    "Span",
]
