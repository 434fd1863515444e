"""Runs kopf's handlers in a manager. Only this package imports kopf.

kopf calls the handlers, stores their progress and retries them. It watches through pykb's own list
and watch. :data:`INTERNALS` lists the internals of kopf that are used. A contract test checks them
for every supported minor version.
"""

from kopf import OperatorRegistry

from pykb.runtime._kopf.calling import call
from pykb.runtime._kopf.handlers import HandlerOperator, Part, handled, operators
from pykb.runtime._kopf.internals import INTERNALS

__all__ = ["INTERNALS", "HandlerOperator", "OperatorRegistry", "Part", "call", "handled", "operators"]
