"""The kinds of the benchmark, written as in a project."""

from __future__ import annotations

from pykb.api import CustomResource, Field, GroupVersion, Struct

GROUP_VERSION = GroupVersion("bench.example.com", "v1")


class EnvVar(Struct):
    name: str
    value: str | None = None


class WidgetSpec(Struct):
    replicas: int
    image: str
    env: list[EnvVar] | None = None
    limits: dict[str, str] | None = None


class WidgetStatus(Struct):
    observed_generation: int | None = None
    phase: str | None = None


class Widget(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Gadget(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)


class Gizmo(CustomResource, group_version=GROUP_VERSION):
    spec: WidgetSpec
    status: WidgetStatus = Field(default_factory=WidgetStatus)
