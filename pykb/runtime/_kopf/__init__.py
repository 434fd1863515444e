"""The engine: the only package that imports kopf.

From kopf come authentication with renewal on 401, retries of requests, the list and the watch with bookmarks,
resumption and detection of silent streams, and, when the user has any, kopf's own handlers. Of kopf's internals it
uses those in :data:`INTERNALS`; a contract test holds their shape for every supported minor.
"""

from kopf import OperatorRegistry

from pykb.runtime._kopf.calling import call
from pykb.runtime._kopf.engine import Engine
from pykb.runtime._kopf.handlers import HandlerOperator, Part, operators
from pykb.runtime._kopf.internals import INTERNALS

__all__ = ["INTERNALS", "Engine", "HandlerOperator", "OperatorRegistry", "Part", "call", "operators"]
