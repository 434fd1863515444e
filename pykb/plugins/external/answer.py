"""What external plugins answer. Like Go's JSON: names in any case, ``null`` for a missing value, no other leniency."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

API_VERSION = "v1alpha1"


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _as_go_reads_it(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {str(name).lower(): each for name, each in value.items() if each is not None}


class Flag(_Message):
    """An option that a plugin adds to a command. Like kubebuilder, takes an unknown type for a text."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    type: str = "string"
    default: str = ""
    usage: str = ""


class Metadata(_Message):
    """A plugin's part of the help of a command."""

    description: str = ""
    examples: str = ""


class Answer(_Message):
    """One answer. ``universe`` has the texts of files by path."""

    apiversion: Literal["v1alpha1", ""] = ""
    universe: dict[str, str] = {}
    error: bool = False
    errormsgs: list[str] = []
    flags: list[Flag] = []
    metadata: Metadata = Metadata()

    @field_validator("universe")
    @classmethod
    def _is_encodable(cls, texts: dict[str, str]) -> dict[str, str]:
        for path, text in texts.items():
            try:
                (path + text).encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"the text of {path!r} is not Unicode") from error
        return texts
