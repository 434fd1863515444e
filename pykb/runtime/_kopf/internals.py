"""The internals of kopf that pykb uses. Other modules import them from here, and a contract test checks them."""

from kopf._cogs.aiokits.aioenums import SyncFlagWaiter
from kopf._cogs.aiokits.aiotasks import Scheduler
from kopf._cogs.clients import watching
from kopf._cogs.clients.errors import APIForbiddenError
from kopf._cogs.structs import references
from kopf._cogs.structs.credentials import Vault
from kopf._cogs.structs.diffs import diff, reduce
from kopf._core.actions import execution, invocation
from kopf._core.engines import posting
from kopf._core.engines.admission import AmbiguousResourceError, UnknownResourceError, WebhookError, build_webhooks
from kopf._core.engines.posting import K8sEvent
from kopf._core.intents import causes, registries
from kopf._core.intents.handlers import ChangingHandler
from kopf._core.reactor import subhandling
from kopf._core.reactor.inventory import ResourceMemories

continuous_watch = watching.continuous_watch
"""kopf's original, whatever replaces it in its module later."""

invoke = invocation.invoke
"""The same of what calls all handlers."""

match, prematch = registries.match, registries.prematch
"""The same of what asks the filters of a handler: of the present change, and of any change of an object."""

__all__ = [
    "APIForbiddenError",
    "AmbiguousResourceError",
    "ChangingHandler",
    "K8sEvent",
    "ResourceMemories",
    "Scheduler",
    "SyncFlagWaiter",
    "UnknownResourceError",
    "Vault",
    "WebhookError",
    "build_webhooks",
    "causes",
    "continuous_watch",
    "diff",
    "execution",
    "invocation",
    "invoke",
    "match",
    "posting",
    "prematch",
    "reduce",
    "references",
    "registries",
    "subhandling",
    "watching",
]
