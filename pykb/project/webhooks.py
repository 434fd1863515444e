"""What PROJECT remembers of the webhooks of one API type."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The key ``webhooks`` of a resource.

    Attributes:
        defaulting: Whether there is a defaulting webhook.
        validation: Whether there is a validating one.
        conversion: Whether other versions are converted to this one and back: it is their hub.
        spoke: The versions that are converted, in the order of creation.
        defaulting_path: Where the first is served, if not at its default path.
        validation_path: The same of the second.
    """

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spoke: tuple[str, ...] = ()
    defaulting_path: str = ""
    validation_path: str = ""

    def merged(self, other: Webhooks) -> Webhooks:
        """What either has; the paths of ``other`` win."""
        return replace(
            self,
            defaulting=self.defaulting or other.defaulting,
            validation=self.validation or other.validation,
            conversion=self.conversion or other.conversion,
            spoke=(*self.spoke, *(version for version in other.spoke if version not in self.spoke)),
            defaulting_path=other.defaulting_path if other.defaulting else self.defaulting_path,
            validation_path=other.validation_path if other.validation else self.validation_path,
        )
