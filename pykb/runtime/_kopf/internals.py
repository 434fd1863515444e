"""What is used of kopf beyond its public names, in one place; the other modules take it from here."""

from kopf._cogs.clients import auth, watching
from kopf._cogs.clients.errors import APIError
from kopf._cogs.structs import references
from kopf._cogs.structs.credentials import LoginError, Vault
from kopf._cogs.structs.diffs import diff
from kopf._core.engines.admission import AmbiguousResourceError, UnknownResourceError, WebhookError
from kopf._core.intents import causes

continuous_watch = watching.continuous_watch
"""kopf's own, whatever stands in its module later."""

INTERNALS = {
    "continuous_watch": continuous_watch,
    "Bookmark.LISTED": watching.Bookmark.LISTED,
    "WatchingError": watching.WatchingError,
    "vault_var": auth.vault_var,
    "Vault": Vault,
    "LoginError": LoginError,
    "APIError": APIError,
    "AmbiguousResourceError": AmbiguousResourceError,
    "UnknownResourceError": UnknownResourceError,
    "WebhookError": WebhookError,
    "Resource": references.Resource,
    "diff": diff,
    "ChangingCause": causes.ChangingCause,
}

__all__ = [
    "INTERNALS",
    "APIError",
    "AmbiguousResourceError",
    "LoginError",
    "UnknownResourceError",
    "Vault",
    "WebhookError",
    "auth",
    "causes",
    "continuous_watch",
    "diff",
    "references",
    "watching",
]
