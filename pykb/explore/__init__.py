"""The explorer: looks for faults of an operator in thousands of histories, in memory and in virtual time.

Research has found the same faults in most operators: what happens when the process dies between two
writes, when a request fails, when caches lag, when the spec changes. The explorer tries them all on a
project's own ``register``, without a cluster, and tells the shortest history that shows each fault.
"""

from pykb.explore._actors import Actor
from pykb.explore._debugger import stopping_at
from pykb.explore._explorer import Explorer, Progress
from pykb.explore._export import name_of, test_of
from pykb.explore._files import MADE_BY, junit
from pykb.explore._history import Fault, FaultKind, History, Step, Verb
from pykb.explore._invariants import Check, ClusterView, Invariant, always, within
from pykb.explore._plans import CODES
from pykb.explore._project import Subject, subject_of
from pykb.explore._recorded import Recorded, recorded_in_cluster, recorded_in_file, with_record
from pykb.explore._recording import earlier_of
from pykb.explore._report import Finding, Report
from pykb.explore._standalone import subject_of_files

__all__ = [
    "CODES",
    "MADE_BY",
    "Actor",
    "Check",
    "ClusterView",
    "Explorer",
    "Fault",
    "FaultKind",
    "Finding",
    "History",
    "Invariant",
    "Progress",
    "Recorded",
    "Report",
    "Step",
    "Subject",
    "Verb",
    "always",
    "earlier_of",
    "junit",
    "name_of",
    "recorded_in_cluster",
    "recorded_in_file",
    "stopping_at",
    "subject_of",
    "subject_of_files",
    "test_of",
    "with_record",
    "within",
]
