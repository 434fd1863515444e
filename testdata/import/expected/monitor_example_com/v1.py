# Made by `pykb import crd`; checksum: 6f0d2c1bff470609
# ruff: noqa: RUF100, D101, D205, D301, D403, D405, D410, D411, D412, D415, D416, RUF001, RUF002, RUF003
"""Types of monitor.example.com/v1: Alert."""

from typing import Annotated

from pykb.api import (
    CustomResource,
    ExternalDocs,
    Field,
    GroupVersion,
    ServerDefault,
    Struct,
)

GROUP_VERSION = GroupVersion("monitor.example.com", "v1")


class AlertSpec(Struct):
    expression: Annotated[str | None, Field(title="The condition", examples=["up == 0"])] = None
    r"""A pattern such as ^\d+$.

    ```
    up == 0
      and on() vector(1)
    ---
    # TODO stays in code
    ```
    """

    severity: Annotated[
        str | None,
        Field(description="How bad it is.\n---\nThe line above ends what a docstring would give."),
    ] = None
    summary: Annotated[str | None, Field(description="TODO: a text that a docstring would lose")] = None
    trailing: Annotated[str | None, Field(description="ends in a blank ")] = None

    backslash: str | None = None
    """ends in a \\"""

    marker: str | None = None
    """+optional is no marker here"""

    unicode: Annotated[str | None, Field(description="Grüße, 日本, 😀, and a\ttab")] = None

    long: str | None = None
    """A single line that goes on and on, as those of older generators do, which join all lines of a comment with blanks in between, and which is therefore far longer than any line of code should be allowed to be."""

    link: Annotated[str | None, ExternalDocs("https://example.com/alerts", description="More about alerts.")] = None
    levels: (
        list[Annotated[str, Field(max_length=20), Field(description="A level is a threshold with a name.")]] | None
    ) = None
    code: str = "say \"no\" and 'never'"
    script: Annotated[str | None, ServerDefault("line 1\nline 2\n")] = None


class Alert(CustomResource, group_version=GROUP_VERSION):
    """An Alert has a text with \"\"\"three quotes\"\"\" and a \\backslash.

    It ends in a quote: "so\"
    """

    spec: AlertSpec | None = None
