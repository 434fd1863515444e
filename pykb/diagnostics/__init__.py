"""What pykb tells people; knows nothing of Kubernetes and prints nothing."""

from pykb.diagnostics._problem import EnvironmentProblem, InternalError, PykbError
from pykb.diagnostics._sink import Diagnostics
from pykb.diagnostics.model import Code, Diagnostic, Label, Severity, Span

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
