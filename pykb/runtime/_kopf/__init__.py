"""kopf's handlers in a manager: the only package that imports kopf.

kopf calls the handlers, keeps their progress and retries them; what it watches comes through pykb's own list and
watch. Of kopf's internals it uses those in :data:`INTERNALS`; a contract test holds their shape for every supported
minor.
"""

from kopf import OperatorRegistry

from pykb.runtime._kopf.calling import call
from pykb.runtime._kopf.handlers import HandlerOperator, Part, operators
from pykb.runtime._kopf.internals import INTERNALS

__all__ = ["INTERNALS", "HandlerOperator", "OperatorRegistry", "Part", "call", "operators"]
