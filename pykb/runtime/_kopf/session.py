"""A session for kopf's vault."""

from __future__ import annotations

import aiohttp
import kopf

from pykb.runtime.login import Credentials


def kopf_session(credentials: Credentials, session: aiohttp.ClientSession) -> kopf.AiohttpSession:
    return kopf.AiohttpSession(
        server=credentials.server,
        aiohttp_session=session,
        expiration=credentials.expiration,
        default_namespace=credentials.namespace or None,
    )
