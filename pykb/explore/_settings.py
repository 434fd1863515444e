"""``[tool.pykb.explore]`` of pyproject.toml: what the command and the tests share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pykb._regular_file import SETTINGS, read_settings
from pykb.diagnostics import EnvironmentProblem, Span
from pykb.diagnostics.codes.explore import SETTING
from pykb.diagnostics.suggest import did_you_mean
from pykb.project.settings import place_of, table_of
from pykb.reading import TomlError

TABLE = "tool.pykb.explore"
_MOST = 100
"""Entries of a list."""

_MOST_SECONDS = 7 * 24 * 3600
_MOST_HISTORIES = 10_000_000
_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_REASON = '{ field = "Deployment.spec.replicas", reason = "the HorizontalPodAutoscaler sets them" }'


@dataclass(frozen=True, slots=True)
class Ignored:
    """A difference that is accepted.

    Attributes:
        what: A field, a kind or a code.
        reason: Why. Empty if it was not asked for.
        place: Where that is written, if it is in the settings.
    """

    what: str
    reason: str = ""
    place: Span | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What the table says.

    Attributes:
        seconds: The limit of real time.
        histories: The limit of histories.
        seed: Selects the random values of the worlds.
        once: Kinds that have an effect when they are created.
        actors: Functions that stand for other controllers and people, as ``package.module:function``.
        invariants: Functions that say what must hold, in the same form.
        objects: Files with objects that are there before the first step.
        ignore: Differences that are accepted.
        places: Where each key is written.
    """

    seconds: float | None = None
    histories: int | None = None
    seed: int = 0
    once: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    ignore: tuple[Ignored, ...] = ()
    places: tuple[tuple[str, Span], ...] = ()

    def place(self, key: str) -> Span | None:
        """Where a key is written."""
        return dict(self.places).get(key)

    def over(self, *, seconds: float | None = None, histories: int | None = None, seed: int | None = None) -> Settings:
        """These settings with what somebody gives for one exploration, which wins."""
        return replace(
            self,
            seconds=self.seconds if seconds is None else seconds,
            histories=self.histories if histories is None else histories,
            seed=self.seed if seed is None else seed,
        )


def settings_of(root: Path) -> Settings:
    """Read the table. Without a file or a table, everything is as by default.

    Raises:
        EnvironmentProblem: The file cannot be read, or a key or a value is not one of these.
    """
    try:
        content = read_settings(root)
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise SETTING.problem(f"cannot read `{SETTINGS}`: {error.strerror}") from error
    if b"explore" not in content:
        return Settings()
    try:
        own = table_of(content, TABLE)
    except TomlError as error:
        raise SETTING.problem(str(error), span=Span(SETTINGS, error.line, error.column)) from error
    return _Reader(content.decode()).read(own)


class _Reader:
    """Checks the keys and values of the table."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, own: Mapping[str, object]) -> Settings:
        for key in own:
            if key not in _KEYS:
                helps = did_you_mean(key, _KEYS) or (f"known keys: {', '.join(sorted(_KEYS))}",)
                raise self._problem(key, f"`[{TABLE}]` has no key `{key}`", *helps)
        found: dict[str, Any] = {}
        for key, value in own.items():
            match key:
                case "seconds":
                    found[key] = self._number(key, value, _MOST_SECONDS, whole=False)
                case "histories":
                    found[key] = self._number(key, value, _MOST_HISTORIES)
                case "seed":
                    found[key] = self._number(key, value, 2**63, least=0)
                case "ignore":
                    entries = self._list(key, value, _REASON)
                    found[key] = tuple(self._ignored(number, each) for number, each in enumerate(entries, start=1))
                case _:
                    found[key] = self._texts(key, value)
        for key in ("actors", "invariants"):
            for name in found.get(key, ()):
                if not _FUNCTION.fullmatch(name):
                    message = f"`{key}` takes functions as `package.module:function`, found {_quoted(name)}"
                    raise self._problem(key, message, f'{key} = ["{_EXAMPLES[key]}"]')
        return Settings(**found, places=tuple((key, self._place(key)) for key in own))

    def _number(self, key: str, value: object, most: int, *, least: int = 1, whole: bool = True) -> float | int:
        is_number = type(value) is int or (not whole and type(value) is float and math.isfinite(value))
        if not is_number or not least <= value <= most:  # type: ignore[operator]
            what = "a whole number" if whole else "a number"
            message = f"`{key}` takes {what} from {least} to {most}, found {_quoted(value)}"
            raise self._problem(key, message, f"{key} = {max(least, 60)}")
        number: float | int = value  # type: ignore[assignment]
        return number

    def _list(self, key: str, value: object, example: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._problem(key, f"`{key}` takes a list, found {_quoted(value)}", f"{key} = [{example}]")
        if len(value) > _MOST:
            raise self._problem(key, f"`{key}` has {len(value)} entries: {_MOST} are the most")
        return value

    def _texts(self, key: str, value: object) -> tuple[str, ...]:
        example = f'"{_EXAMPLES[key]}"'
        entries = self._list(key, value, example)
        wrong = next((each for each in entries if not isinstance(each, str) or not each.strip()), None)
        if wrong is not None:
            message = f"`{key}` takes a list of strings, found {_quoted(wrong)}"
            raise self._problem(key, message, f"{key} = [{example}]")
        return tuple(dict.fromkeys(entries))

    def _ignored(self, number: int, entry: object) -> Ignored:
        which = f"entry {number} of `ignore`"
        remedy = f"ignore = [{_REASON}]"
        if not isinstance(entry, Mapping):
            message = f"{which} is {_quoted(entry)}: it takes a field or a code, and the reason"
            raise self._problem("ignore", message, remedy, near=entry)
        for key in entry:
            if key not in ("field", "code", "reason"):
                helps = did_you_mean(key, ("field", "code", "reason")) or ("known keys: code, field, reason",)
                raise self._problem("ignore", f"{which} has no key `{key}`", *helps, near=key)
        whats = [entry[key] for key in ("field", "code") if key in entry]
        what, reason = whats[0] if len(whats) == 1 else None, entry.get("reason")
        if not isinstance(what, str) or not what.strip():
            raise self._problem("ignore", f"{which} takes one `field` or one `code`, as a string", remedy, near=what)
        if not isinstance(reason, str) or not reason.strip():
            message = f"{which} ignores `{what}` without a reason"
            raise self._problem("ignore", message, 'write why it may differ: `reason = "..."`', near=what)
        return Ignored(what, reason, self._place("ignore", near=what))

    def _problem(self, key: str, message: str, *helps: str, near: object = None) -> EnvironmentProblem:
        return SETTING.problem(message, *helps, span=self._place(key, near=near))

    def _place(self, key: str, *, near: object = None) -> Span:
        """The place of a key, or of a text that stands after it."""
        place = place_of(self._text, TABLE, key)
        if isinstance(near, str) and near:
            lines = self._text.splitlines()
            for number, line in enumerate(lines[place.line - 1 :], start=place.line):
                if near in line:
                    column = line.index(near) + 1
                    return Span(SETTINGS, number, column, number, column + len(near))
        return place


_EXAMPLES = {
    "once": "Mail",
    "actors": "app.testing.actors:issues_certificates",
    "invariants": "app.testing.promises:runs_alone",
    "objects": "tests/fixtures/pull-secret.yaml",
}
_KEYS = (*_EXAMPLES, "ignore", "seconds", "histories", "seed")


def _quoted(value: object) -> str:
    text = json.dumps(value, default=str)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
