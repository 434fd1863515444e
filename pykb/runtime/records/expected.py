"""Errors of reconciles that are no surprise."""

from pykb.api.unreadable import UnreadableObject
from pykb.client.errors import ApiError, ServerUnreachable
from pykb.client.objects.owner import NotControlled
from pykb.runtime.requests.reconcile import NotAwaited, ReconcileTimeout

SAYS_ENOUGH = (ApiError, ServerUnreachable, NotAwaited, NotControlled, ReconcileTimeout, UnreadableObject)
"""The message says enough. A traceback is for unexpected errors."""
