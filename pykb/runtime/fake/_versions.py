"""Converts objects between the stored version of their kind and the others, with a project's own converters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersion
from pykb.runtime.fake._http import refuse
from pykb.runtime.fake._resources import Resource

Convert = Callable[[dict[str, Any], str], dict[str, Any]]
"""Converts an object to an API version. Raises a PykbError if it cannot."""


class Versions:
    """The versions of kinds. Without a converter, only ``apiVersion`` differs, as with the strategy ``None``."""

    def __init__(self) -> None:
        self.convert: Convert | None = None

    def read(self, resource: Resource, found: Mapping[str, Any]) -> dict[str, Any]:
        """An object in the version of a resource.

        Raises:
            ApiError: It cannot be converted.
        """
        return self._to(resource, found, resource.gvk.api_version)

    def write(self, resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
        """An object in the stored version of a resource.

        Raises:
            ApiError: It cannot be converted.
        """
        return self._to(resource, obj, resource.stored_version or resource.gvk.api_version)

    def _to(self, resource: Resource, obj: Mapping[str, Any], wanted: str) -> dict[str, Any]:
        if self.convert is None or not resource.converts or obj["apiVersion"] == wanted:
            return {**obj, "apiVersion": wanted}
        try:
            return self.convert(dict(obj), wanted)
        except PykbError as error:
            source = GroupVersion.parse(obj["apiVersion"])
            what = f"{source.group}/{source.version}, Kind={obj['kind']}"
            raise refuse(500, "", f"conversion webhook for {what} failed: {error}") from error
