"""Asks an external plugin a question. The mistakes of a plugin become findings that name it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics
from pykb.diagnostics.codes.project import PLUGIN_ERROR, PLUGIN_FAULT, PLUGIN_NOTE
from pykb.plugins import PluginKey
from pykb.tools.process import LimitError, Limits, describe_exit, quote, run_bounded

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


LIMITS = Limits(seconds=60, size=64 * 1024**2)
QUICK = Limits(seconds=10, size=1024**2)
"""For questions about options and help."""


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a plugin."""

    command: str
    args: Sequence[str]
    universe: Mapping[str, str] = field(default_factory=dict)
    chain: Sequence[str] = ()
    config: Mapping[str, Any] | None = None
    limits: Limits | None = None

    def encode(self) -> bytes:
        """The request in JSON. Like kubebuilder, leaves out an empty chain and a PROJECT that does not exist."""
        request: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "args": list(self.args),
            "command": self.command,
            "universe": dict(self.universe),
        }
        if self.chain:
            request["pluginChain"] = list(self.chain)
        if self.config is not None:
            request["config"] = dict(self.config)
        return json.dumps(request, default=str).encode()


def ask(key: PluginKey, program: Path, question: Question, root: Path, diagnostics: Diagnostics) -> Answer | None:
    """Run a plugin in the folder of the project. ``None`` when it failed or refused, which is reported."""
    try:
        output = run_bounded([program], cwd=root, stdin=question.encode(), limits=question.limits or LIMITS)
    except LimitError as error:
        diagnostics.add(fault(key, str(error)))
        return None
    except OSError as error:
        diagnostics.add(fault(key, f"cannot be started: {error.strerror}"))
        return None
    said = quote(output.stderr.decode("utf-8", "replace"), source="it wrote")
    if output.code != 0:
        diagnostics.add(fault(key, f"ended with {describe_exit(output.code)}", notes=said))
        return None
    answer = _read(key, output.stdout, diagnostics)
    if said and answer is not None:
        diagnostics.report(PLUGIN_NOTE, None, f"the plugin `{key}` wrote to stderr", notes=said)
    return answer


def fault(key: PluginKey, problem: str, *, notes: tuple[str, ...] = ()) -> Diagnostic:
    """A finding about a mistake of a plugin."""
    message = f"the plugin `{key}` {problem}"
    return PLUGIN_FAULT.at(None, message, "report it to the authors of the plugin", notes=(*notes, NOTHING_WRITTEN))


def _read(key: PluginKey, text: bytes, diagnostics: Diagnostics) -> Answer | None:
    try:
        answer = Answer.model_validate_json(text)
    except ValidationError as error:
        diagnostics.extend(fault(key, f"gave a wrong answer: {mistake}") for mistake in _mistakes(error))
        return None
    if not answer.error:
        return answer
    for message in answer.errormsgs or ["it gives no reason"]:
        diagnostics.report(
            PLUGIN_ERROR, None, f"the plugin `{key}` reports an error: {message.strip()}", notes=NOTHING_WRITTEN
        )
    return None


def _mistakes(error: ValidationError) -> list[str]:
    """The mistakes in an answer, with their places."""
    return [
        f"`{'.'.join(map(str, each['loc']))}`: {each['msg']}" if each["loc"] else each["msg"]
        for each in error.errors(include_url=False, include_input=False)
    ]
