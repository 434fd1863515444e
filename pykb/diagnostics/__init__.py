"""What pykb tells people; knows nothing of Kubernetes and prints nothing."""

from pykb.diagnostics.model import Code, Diagnostic, Label, Severity, Span
from pykb.diagnostics.problem import EnvironmentProblem, InternalError, PykbError
from pykb.diagnostics.sink import Diagnostics

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
