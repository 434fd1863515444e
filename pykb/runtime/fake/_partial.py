"""Answers requests for metadata only.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-metadata-only
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson

from pykb.runtime.client.connection import Call

_VERSION = "meta.k8s.io/v1"
_KIND = "PartialObjectMetadata"


def wants_metadata(call: Call) -> bool:
    """Whether the request asks for metadata only."""
    return call.method == "GET" and f"as={_KIND}" in call.accept


def metadata_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce an object, or a list of objects, to its metadata."""
    if "items" not in answer:
        return {"kind": _KIND, "apiVersion": _VERSION, "metadata": answer["metadata"]}
    items = [metadata_of(item) for item in answer["items"]]
    return {"kind": f"{_KIND}List", "apiVersion": _VERSION, "metadata": answer["metadata"], "items": items}


async def metadata_lines(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Reduce the objects in the lines of a watch to their metadata. Errors are unchanged."""
    async for line in lines:
        event = orjson.loads(line)
        if event["type"] != "ERROR":
            event["object"] = metadata_of(event["object"])
        yield orjson.dumps(event)
