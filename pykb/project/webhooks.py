"""The webhooks of one API type in PROJECT."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The key ``webhooks`` of a resource.

    Attributes:
        defaulting: Whether there is a defaulting webhook.
        validation: Whether there is a validating webhook.
        conversion: Whether this version is a hub, which other versions are converted to and from.
        spoke: The converted versions, in the order of creation.
        defaulting_path: The path of the defaulting webhook, if not the default.
        validation_path: The path of the validating webhook, if not the default.
    """

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spoke: tuple[str, ...] = ()
    defaulting_path: str = ""
    validation_path: str = ""

    def merged(self, other: Webhooks) -> Webhooks:
        """The webhooks of both. The paths of ``other`` win."""
        return replace(
            self,
            defaulting=self.defaulting or other.defaulting,
            validation=self.validation or other.validation,
            conversion=self.conversion or other.conversion,
            spoke=(*self.spoke, *(version for version in other.spoke if version not in self.spoke)),
            defaulting_path=other.defaulting_path if other.defaulting else self.defaulting_path,
            validation_path=other.validation_path if other.validation else self.validation_path,
        )
