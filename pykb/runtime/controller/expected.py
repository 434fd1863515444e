"""Errors of reconciles that are no surprise."""

from pykb.api.unreadable import UnreadableObject
from pykb.runtime.controller.reconcile import NotAwaited, ReconcileTimeout
from pykb.runtime.errors import ApiError, ServerUnreachable
from pykb.runtime.objects.owner import NotControlled

SAYS_ENOUGH = (ApiError, ServerUnreachable, NotAwaited, NotControlled, ReconcileTimeout, UnreadableObject)
"""The message says enough. A traceback is for unexpected errors."""
