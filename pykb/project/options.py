"""Options of `create api` that kubebuilder's keys do not have. A field here is all that such an option needs.

It is an option of the command, a key that PROJECT records for the kind, a value that templates see as
`resource.options`, and a word of the commands that `pykb update` repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from pykb.meta import names
from pykb.meta.names import to_camel


@dataclass(frozen=True, slots=True)
class Option:
    """What is known of an option. Its value is a text; an empty one means that it was not given.

    Attributes:
        flag: Its name on the command line.
        metavar: What the help shows for its value.
        help: Its help.
        holds: Whether a value is valid.
        expected: What a valid value is.
    """

    flag: str
    metavar: str
    help: str
    holds: Callable[[str], bool]
    expected: str

    @property
    def key(self) -> str:
        """Its key in PROJECT."""
        return to_camel(self.flag.removeprefix("--").replace("-", "_"))


def _option(*of_option: Any) -> Any:
    return field(default="", metadata={"option": Option(*of_option)})


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """The options of a kind."""

    from_version: str = _option(
        *("--from", "VERSION", "Copy the types and the sample of this version."),
        *(names.is_version, "an API version: `v1`, `v1beta1` or `v2alpha3`"),
    )
    short_name: str = _option(
        *("--short-name", "NAME", "A short name of the kind, for kubectl."),
        *(names.is_rfc_1035_label, "a DNS label: lower case letters, digits and hyphens, a letter first"),
    )

    @classmethod
    def all(cls) -> dict[str, Option]:
        """The options by the names of their fields."""
        return {each.name: each.metadata["option"] for each in fields(cls)}

    def given(self) -> Iterator[tuple[Option, str]]:
        """The options that are given, with their values."""
        for name, option in self.all().items():
            if value := getattr(self, name):
                yield option, value


NONE = ApiOptions()
"""Nothing is given."""
