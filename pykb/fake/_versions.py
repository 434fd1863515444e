"""Converts objects between the stored version of their kind and the others, with a project's own converters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from pykb.client.structure import prune
from pykb.diagnostics import PykbError
from pykb.fake._http import refuse
from pykb.fake._resources import Resource
from pykb.fake._schema import fill_defaults
from pykb.meta.gvk import GroupVersion

Convert = Callable[[dict[str, Any], str], dict[str, Any]]
"""Converts an object to an API version. Raises a PykbError if it cannot."""


class Versions:
    """The versions of kinds. Without a converter, only ``apiVersion`` differs, as with the strategy ``None``."""

    def __init__(self) -> None:
        self.convert: Convert | None = None

    def read(self, resource: Resource, values: Mapping[str, Any]) -> dict[str, Any]:
        """An object in the version of a resource.

        Raises:
            ApiError: It cannot be converted.
        """
        return self._to(resource, values)

    def write(self, resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
        """An object in the stored version of a resource. Each read would fill in the defaults of that version.

        Raises:
            ApiError: It cannot be converted.
        """
        stored = resource.stored or resource
        made = self._to(stored, obj)
        if obj["apiVersion"] != made["apiVersion"]:
            fill_defaults(made, stored.schema or {})
        return made

    def filled(self, resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
        """An object with the defaults of a resource."""
        made = copy.deepcopy(dict(obj))
        fill_defaults(made, resource.schema or {})
        return made

    def _to(self, resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
        wanted = resource.gvk.api_version
        if obj["apiVersion"] == wanted or resource.schema is None:
            return {**obj, "apiVersion": wanted}
        if self.convert is None or not resource.converts:
            made = {**copy.deepcopy(dict(obj)), "apiVersion": wanted}
        else:
            try:
                made = self.convert(dict(obj), wanted)
            except PykbError as error:
                source = GroupVersion.parse(obj["apiVersion"])
                what = f"{source.group}/{source.version}, Kind={obj['kind']}"
                raise refuse(500, "", f"conversion webhook for {what} failed: {error}") from error
        prune(made, resource.structure)
        return made
