"""A field of every shape that both languages know."""

from datetime import datetime, timedelta
from typing import Annotated, Any, NewType

from pykb.api import (
    CustomResource,
    Field,
    GroupVersion,
    Int32,
    Int64,
    IntOrString,
    MicroTime,
    PreserveUnknown,
    Quantity,
    Struct,
    Wire,
)
from pykb.api.meta.v1 import ObjectMeta

# Mode says how it runs.
# A second line of the text.
# +kubebuilder:validation:Enum=Fast;Slow
Mode = NewType("Mode", str)

# PortNumber is a port.
# +kubebuilder:validation:Minimum=1
# +kubebuilder:validation:Maximum=65535
PortNumber = Annotated[Int32, "port"]

# Names is a list with rules of its own.
# +kubebuilder:validation:MaxItems=8
Names = NewType("Names", list[str])


class Inner(Struct):
    """Inner is a nested struct."""

    name: str
    """Name of the inner thing."""

    count: Int32 | None = None


class Common(Struct):
    """Common is embedded into others."""

    owner: str
    """Owner comes from the embedded struct."""
    notes: str | None = None
    """Notes too."""


class Template(Struct):
    """Template has metadata of its own."""

    metadata: ObjectMeta | None = None

    # Spec of what is made.
    spec: Inner


class WidgetSpec(Common):
    """WidgetSpec has one field of each shape."""

    text: str
    """Text is a string."""
    optional_text: str | None = Field(None, description="OptionalText is one that may be missing.")
    flag: bool | None = None
    whole: int
    small: Int32 | None = None
    large: Int64 | None = None
    data: bytes | None = None
    texts: list[str] | None = None
    matrix: list[list[Int32]] | None = None
    map: dict[str, str] | None = None
    map_of_lists: dict[str, list[str]] | None = None
    map_of_structs: dict[str, Inner] | None = None
    # Struct is nested.
    struct: Inner
    optional_struct: Inner | None = None
    structs: list[Inner] | None = None
    mode: Mode | None = None
    described: Mode | None = None
    """Described is a mode with a text of its own."""
    modes: list[Mode] | None = None
    port: PortNumber | None = None
    ports: list[PortNumber] | None = None
    names: Names | None = None
    time: datetime | None = None
    micro_time: MicroTime | None = None
    duration: timedelta | None = None
    memory: Quantity | None = None
    # Limits by name.
    limits: dict[str, Quantity] | None = None
    either: IntOrString | None = None
    anything: Any = None
    raw: Annotated[dict[str, Any] | None, PreserveUnknown()] = None
    host_ip: Annotated[str | None, Wire("hostIP")] = None
    pod_ips: Annotated[list[str] | None, Wire("podIPs")] = None
    template: Template | None = None


class WidgetStatus(Struct):
    """WidgetStatus is observed."""

    phase: str | None = None
    """Phase in a word."""
    ready: Int32 | None = None


# +kubebuilder:object:root=true
# +kubebuilder:subresource:status
class Widget(CustomResource, group_version=GroupVersion("fields.example.com", "v1")):
    """Widget is the schema for the widgets API.

    It has a second paragraph,
      - with an indented line.

    TODO: this line is dropped.
    Text with 'quotes': and "colons", long enough to be folded by the writer of YAML at eighty columns.
    ---
    Nothing below the dashes is kept.
    """

    spec: WidgetSpec | None = None
    status: WidgetStatus | None = None
