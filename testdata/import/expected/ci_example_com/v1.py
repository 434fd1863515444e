# Made by `pykb import crd`; checksum: f9624ff635192769
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of ci.example.com/v1: Pipeline."""

from typing import Annotated, Literal

from pykb.api import CustomResource, Field, Format, GroupVersion, Struct, Wire

GROUP_VERSION = GroupVersion("ci.example.com", "v1")


class Env(Struct):
    name: str
    value: str | None = None


class Step(Struct):
    """One command."""

    run: str
    env: list[Env] | None = None


class Stage(Struct):
    steps: list[Step] | None = None


class Finally(Struct):
    """One command."""

    run: str
    env: list[Env] | None = None


class PolicyConfig(Struct):
    depth: int | None = None


class Policy(Struct):
    config: PolicyConfig | None = None


class SpecConfig(Struct):
    width: int | None = None


class PipelineSpec(Struct):
    ref: Annotated[str | None, Wire("$ref")] = None
    x_odd_name: Annotated[str | None, Wire("x-odd-name")] = None
    field_3scale: Annotated[bool | None, Wire("3scale")] = None
    class_: str | None = None
    from_: str | None = None
    copy_: bool | None = None
    json_: str | None = None
    model_config_: Annotated[str | None, Wire("model_config")] = None
    str_: str | None = None
    list_: list[str] | None = None
    pod_ips: Annotated[list[Annotated[str, Format("ipv4")]] | None, Wire("podIPs")] = None
    url: Annotated[str | None, Format("uri"), Wire("URL")] = None
    foo_bar: str | None = None
    foo_bar_2: Annotated[str | None, Wire("foo_bar")] = None
    matrix: list[list[int]] | None = None
    environments: dict[str, dict[str, Annotated[str, Field(max_length=1024)]]] | None = None
    priority: Literal[1, 5, 10] = 5
    stages: list[Stage] | None = None
    finally_: list[Finally] | None = None
    policies: dict[str, Policy] | None = None
    config: SpecConfig | None = None


class PipelineResult(Struct):
    key: str
    value: bytes | None = None


class Pipeline(CustomResource, group_version=GROUP_VERSION):
    spec: PipelineSpec | None = None
    results: list[PipelineResult] | None = None
