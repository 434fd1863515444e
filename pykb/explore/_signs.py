"""What an operator says of an object that it leaves alone: in the status, in an event or in its log."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from pykb.explore._gate import path_in
from pykb.explore._history import Identity
from pykb.explore._outcome import Outcome
from pykb.explore._state import State, read
from pykb.explore._variants import leaves

_MOST_WARNINGS = 100
"""Warnings of one history that are kept."""

_REFUSES = re.compile(
    r"invalid|illegal|refus|reject|forbid|denied|deny|unsupported|incompatible|malformed|violat|misconfig|fail|error"
    r"|exceed|conflict|immutable|not.?(allowed|supported|permitted|accepted|valid|possible)|cannot|can.?not|must"
    r"|at.(most|least)|too.?(large|small|big|long|short|many|few|high|low)|out.?of.?range|unknown.\w"
    r"|paus|suspend|frozen|on.?hold|maintenance|unmanaged|skip|ignor",
    re.IGNORECASE,
)
"""How operators say that they do not do what the spec wants."""

_REFUSED = (
    r"(not.?(be.)?(allow|support|permit|possible|accept)|unsupport|disallow|refus|reject|forbid|prohibit|den(y|ied)"
    r"|illegal)"
)
_NEVER = rf"(can.?not|can't|(may|must).?not|(can|may|must).only|{_REFUSED})"
_CHANGE = (
    r"(chang|shr[iu]nk|resiz|reduc|(de|in)creas|downgrad|downsiz|lower|grow|scal(e|ing).?(down|in)|switch|renam|modif)"
)
_CANNOT_CHANGE = re.compile(
    rf"immutable|{_NEVER}\w*(\W+\w+){{0,2}}?\W*{_CHANGE}|{_CHANGE}.{{0,40}}{_REFUSED}", re.IGNORECASE
)
"""How they say that a field cannot be changed. Of a fresh object, it may have the value."""

_NAMES = re.compile(r"error|fail|refus|reject|invalid|problem|paus|suspend", re.IGNORECASE)
"""Fields of a status that have a text, or are true, only if something is wrong."""

_GOOD = re.compile(r"valid|accept|support|allow|admit", re.IGNORECASE)
"""Types of conditions that are false only if the spec is refused."""

_TIME = r"(window|maintenance|office.?hours)"
_PEOPLE = r"(approv|confirm|permission|review|sign.?off)"
_AWAIT = r"(wait|pending|need|requir|until|outside|missing|closed|hold|held|next)"
_WAITS_FOR_TIME = re.compile(rf"{_AWAIT}.{{0,40}}{_TIME}|{_TIME}.{{0,40}}{_AWAIT}", re.IGNORECASE)
_WAITS_FOR_PEOPLE = re.compile(rf"{_AWAIT}.{{0,40}}{_PEOPLE}|{_PEOPLE}.{{0,40}}{_AWAIT}", re.IGNORECASE)
"""How they say that they do later what the spec wants."""

_PAUSES = {"pause", "paused", "suspend", "suspended", "unmanaged", "freeze", "frozen", "hold", "maintenance"}


def is_paused(obj: Mapping[str, Any]) -> bool:
    """Whether a field of the spec says so, as that of a Deployment and of a CronJob does."""
    for path, value in leaves(obj.get("spec")):
        text = path[-1] if value is True else value
        if isinstance(text, str) and not _PAUSES.isdisjoint(_words(text)) and len(_words(text)) <= _FEW:
            return True
    return False


_FEW = 2
"""Words of a text that is a mode: ``OnHold``."""


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+", text)]


def is_refused(outcome: Outcome, own: Identity, step: int, usual: Outcome) -> bool:
    """Whether the operator says that it does not do what the spec of an object wants.

    Args:
        outcome: The run.
        own: The object.
        step: After this step, counted from 1.
        usual: A run in which it does what the spec wants. What it says there, too, does not count.
    """
    return any(_REFUSES.search(text) for text in _texts(outcome, own, step, usual))


def is_unchangeable(outcome: Outcome, own: Identity, step: int, usual: Outcome) -> bool:
    """Whether the operator says that a field cannot be changed, see :func:`is_refused`."""
    return any(_CANNOT_CHANGE.search(text) for text in _texts(outcome, own, step, usual))


def waits_for_people(outcome: Outcome, own: Identity, step: int, usual: Outcome) -> bool:
    """Whether the operator says that somebody must let it go on, see :func:`is_refused`."""
    return any(_WAITS_FOR_PEOPLE.search(text) for text in _texts(outcome, own, step, usual))


def waits_for_time(outcome: Outcome, own: Identity, step: int, usual: Outcome) -> bool:
    """Whether the operator says that it does the rest at its time, see :func:`is_refused`."""
    return any(_WAITS_FOR_TIME.search(text) for text in _texts(outcome, own, step, usual))


def _texts(outcome: Outcome, own: Identity, step: int, usual: Outcome) -> Iterator[str]:
    known = {*_of_status(usual.states[0], own), *_of_events(usual, own, 1), *_of_log(usual, 1)}
    every = (*_of_status(outcome.states[step - 1], own), *_of_events(outcome, own, step), *_of_log(outcome, step))
    yield from (text for text in every if text not in known)


def _of_status(state: State, own: Identity) -> Iterator[str]:
    """Texts of a status, and of annotations. Those of the spec are only repeated."""
    obj: Mapping[str, Any] = state.get(own) or {}
    given = {value for _, value in leaves(obj.get("spec"))}
    status = dict(obj.get("status") or {})
    for condition in status.pop("conditions", None) or ():
        yield from _of_condition(condition)
    for path, value in leaves({**status, "": (obj.get("metadata") or {}).get("annotations") or {}}):
        name = str(path[-1])
        if isinstance(value, str) and value and value not in given:
            yield f"{name if _NAMES.search(name) else ''} {value}"
        elif value is True:
            yield name


def _of_condition(condition: Mapping[str, Any]) -> Iterator[str]:
    kind, is_false = str(condition.get("type")), condition.get("status") == "False"
    is_told = not is_false if not _GOOD.search(kind) or _REFUSES.search(kind) else is_false
    parts = (kind if is_told else "", condition.get("reason") or "", condition.get("message") or "")
    prefix = "not accepted " if is_false and is_told else ""
    yield prefix + " ".join(map(str, parts))


def _of_events(outcome: Outcome, own: Identity, step: int) -> Iterator[str]:
    since, until = outcome.time_of(step)
    for change in outcome.changes:
        if change.identity.kind == "Event" and change.by is not None and change.after and since <= change.at < until:
            event = read(change.after)
            about = event.get("regarding") or event.get("involvedObject") or {}
            if about.get("name") == own.name:
                kind = "error" if event.get("type") != "Normal" else ""
                yield f"{kind} {event.get('reason')} {event.get('note') or event.get('message')}"


def _of_log(outcome: Outcome, step: int) -> Iterator[str]:
    yield from (text for number, text in outcome.warnings if number == step)


@contextlib.contextmanager
def heard(root: Path | None, outcome: Outcome) -> Iterator[None]:
    """Note the warnings that the user's code logs. No handler gets them."""
    usual = logging.Logger.callHandlers

    def call(logger: logging.Logger, record: logging.LogRecord) -> None:
        if logger.name == "kopf.objects":
            usual(logger, record)  # it can make events of them
        is_heard = record.levelno >= logging.WARNING and len(outcome.warnings) < _MOST_WARNINGS
        if is_heard and root is not None and path_in(str(root), record.pathname):
            with contextlib.suppress(Exception):  # its arguments may not fit
                outcome.warnings.append((len(outcome.began), record.getMessage()))

    with mock.patch.object(logging.Logger, "callHandlers", call):
        yield
