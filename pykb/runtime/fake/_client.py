"""`fake_client`: a client of an API server in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pykb.api.object import Object
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import AnyObject
from pykb.runtime.client.mapper import ResourceMapper
from pykb.runtime.fake._server import FakeApiServer

_REMEDY = "give the fake an object of it, its class in `kinds`, or its CRD in `crds`"


def fake_client(
    *objects: AnyObject,
    kinds: Iterable[type[Object]] = (),
    crds: Path | Iterable[Mapping[str, Any]] = (),
) -> Client:
    """Make a client of an API server in memory that has these objects.

    Args:
        *objects: The initial objects, with their status. Their namespaces and kinds are added, too.
        kinds: Further classes to serve, without an initial object.
        crds: CustomResourceDefinitions: manifests, or the directory of a project
            (``config/crd/bases``). With them, defaults are set and values are validated as in a
            cluster.
    """
    manifests = _read(crds) if isinstance(crds, Path) else crds
    server = FakeApiServer(kinds=kinds, crds=manifests)
    server.seed(*objects)
    return Client(server, mapper=ResourceMapper(server, remedy=_REMEDY))


def _read(directory: Path) -> list[Mapping[str, Any]]:
    from pykb.reading import yaml_text

    documents: list[Mapping[str, Any]] = []
    for path in sorted(directory.glob("*.yaml")):
        documents += [document for document in yaml_text.load_all(path.read_bytes()) if document]
    return documents
