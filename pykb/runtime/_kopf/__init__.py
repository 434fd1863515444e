"""Runs kopf's handlers in a manager. Only this package and the explorer import kopf.

kopf calls the handlers, stores their progress and retries them. It watches through pykb's own list
and watch. ``internals.py`` has what is used of kopf's internals.
"""

from kopf import OperatorRegistry

from pykb.runtime._kopf.calling import call
from pykb.runtime._kopf.handlers import HandlerOperator, Part, operators

__all__ = ["HandlerOperator", "OperatorRegistry", "Part", "call", "operators"]
