"""What a kind deploys: the options of the plugin `deploy-image`. PROJECT keeps them under the plugin's key."""

from __future__ import annotations

from dataclasses import dataclass

DEPLOY_IMAGE = "deploy-image.pykb.dev/v1"
"""The plugin whose settings these are."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The container that a kind's controller deploys.

    Attributes:
        image: Its image.
        command: Its command; empty for that of the image.
        port: The port that it listens on, if any.
        user: Its user id, if not that of the image.
    """

    image: str
    command: tuple[str, ...] = ()
    port: int | None = None
    user: int | None = None

    @property
    def options(self) -> dict[str, str]:
        """The options as in PROJECT, where kubebuilder writes all of them as text."""
        found = {
            "containerCommand": ",".join(self.command),
            "containerPort": str(self.port or ""),
            "image": self.image,
            "runAsUser": str(self.user or ""),
        }
        return {key: value for key, value in found.items() if value}


def command_of(text: str) -> tuple[str, ...]:
    """The words of a command that are separated by commas."""
    return tuple(word for word in text.split(",") if word)
