"""Copies types and sample of another version for a new one."""

from __future__ import annotations

import contextlib
import re

from pykb.diagnostics.codes.project import VERSION_SOURCE
from pykb.plugins.rendering import types_file
from pykb.plugins.request import ApiRequest
from pykb.project.resource import Resource, sample_name
from pykb.python_source.source import CodeStyle, Source
from pykb.scaffold.plan import PlanBuilder

_OF_ONE_VERSION = re.compile(r"# *\+kubebuilder:(storageversion|unservedversion|deprecatedversion\b.*)")
"""Markers about the storage or serving of a version, which a new version does not get."""


def types(request: ApiRequest, plan: PlanBuilder, source: Resource, style: CodeStyle) -> str | None:
    """The source's module of types, with the group and version of the new API.

    Returns ``None`` when it cannot be copied. The plan has the finding.
    """
    path = types_file(source)
    text = plan.text(path)
    old, new = f"{source.path}.groupversion", f"{request.resource.path}.groupversion"
    if text is not None and f"from {old} import" in text:
        kept = "".join(line for line in text.splitlines(keepends=True) if not _OF_ONE_VERSION.fullmatch(line.strip()))
        with contextlib.suppress(SyntaxError):  # the generator reports it
            return Source.parse(kept).with_module(old, new, style).text
    what = "is not there" if text is None else f"has no line `from {old} import GROUP_VERSION`"
    plan.diagnostics.add(
        VERSION_SOURCE.at(
            None,
            f"`{path}` {what}: the types of `{source}` cannot be copied",
            notes=("nothing was written",),
            help=("omit `--from`, and write the types of the new version yourself",),
        )
    )
    return None


def sample(request: ApiRequest, plan: PlanBuilder, source: Resource) -> str | None:
    """The source's sample in the new version; ``None`` when the source has none."""
    text = plan.text(f"config/samples/{sample_name(source)}")
    if text is None:
        return None
    version = re.compile(rf"^apiVersion: {re.escape(source.api_version)}$", re.MULTILINE)
    return version.sub(f"apiVersion: {request.resource.api_version}", text)
