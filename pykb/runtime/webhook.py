"""Responses for raw handlers of webhooks: ``manager.webhook_server.register("/path", handler)``.

Most programs only need ``Defaulter``, ``Validator`` and ``WebhookBuilder`` from :mod:`pykb.runtime`.
"""

from pykb.webhook import *  # noqa: F403 - the same names
from pykb.webhook import __all__ as __all__  # noqa: PLC0414 - exported
