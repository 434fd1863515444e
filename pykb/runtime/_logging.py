"""Structured logs, as text for people or JSON for machines. Every line names the object being reconciled.

Code logs a constant message with its variables in ``extra``; the identity of the reconcile comes from a context
variable, so a user's own ``logging.getLogger(...)`` lines carry it too. Only a program's entry point
configures logging.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from math import isfinite
from typing import IO, Any

from pykb.api.safe_text import LIMIT, LONGEST_TRACE, SECRET_WORDS, safe_text, safe_trace
from pykb.client.guard import is_end
from pykb.client.task import current_call
from pykb.meta.gvk import NamespacedName
from pykb.runtime.records.context import current_reconcile, reconciles

LOG_LEVELS = ("debug", "info", "warning", "error")
INHERIT = "inherit"

_BITS = 1024
"""A larger number is written as a text, and cut."""


class LogFormat(StrEnum):
    """How lines look. With ``reconciles``, a manager logs short lines of text, and one line for each reconcile."""

    TEXT = "text"
    JSON = "json"
    RECONCILES = "reconciles"


_process_fields: dict[str, str] = {}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

# kopf adds these to the lines of its handlers. Only the object is of interest.
_KOPF = {"settings", "k8s_skip", "k8s_ref"}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The variables of a record: the reconcile it belongs to, then its ``extra``."""
    fields: dict[str, Any] = dict(_process_fields)
    context = current_reconcile.get()
    if context is not None:
        fields["controller"] = context.controller
        fields |= _named(context.request)
        fields["reconcileID"] = context.reconcile_id
        fields |= {str(key): _harmless(str(key), value) for key, value in context.fields.items()}
    fields |= current_call.get() or {}
    handled = getattr(record, "k8s_ref", None)
    if isinstance(handled, dict):
        fields |= {key: handled[key] for key in ("kind", "namespace", "name") if handled.get(key)}
    for key, value in vars(record).items():
        if key not in _STANDARD and key not in _KOPF and not key.startswith("_"):
            fields[key] = _harmless(key, value)
    return fields


def _named(request: object) -> dict[str, str]:
    if not isinstance(request, NamespacedName):
        return {"request": safe_text(request)}
    named = {"namespace": request.namespace} if request.namespace else {}
    return {**named, "name": request.name}


def _harmless(key: str, value: object) -> object:
    return "***" if any(word in key.lower() for word in SECRET_WORDS) else value


class TextFormatter(logging.Formatter):
    """``2026-11-21T12:00:00.123Z INFO  app  message  key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it. All but the first line are indented: nothing can look like a record."""
        head = f"{_time(record)} {record.levelname:<7} {safe_text(record.name)}  {message_of(record)}"
        return self.lines(head, fields_of(record), record)

    def lines(self, head: str, fields: Mapping[str, Any], record: logging.LogRecord) -> str:
        """The text of a record with these fields."""
        shown = "".join(_field(key, value) for key, value in fields.items())
        return (head + shown + "".join(f"\n{text}" for text in _traces(self, record))).replace("\n", "\n  ")


class ShortFormatter(TextFormatter):
    """``12:00:00 message  key=value``, in local time, for a person who looks on.

    A line about one reconcile is printed as it is.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it."""
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        if record.name == reconciles.name:
            return f"{time} {message_of(record, LONGEST_TRACE)}"
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        head = f"{time} {level}{message_of(record)}"
        fields = {key: value for key, value in fields_of(record).items() if key != "reconcileID"}
        return self.lines(head, fields, record)


class JsonFormatter(logging.Formatter):
    """One JSON object per line, with zap's names: ``ts``, ``level``, ``logger``, ``msg``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; a traceback is the field ``stacktrace``."""
        line: dict[str, Any] = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": safe_text(record.name),
            "msg": message_of(record),
        }
        line |= {safe_text(key): _json_value(value) for key, value in fields_of(record).items() if key not in line}
        traces = _traces(self, record)
        if traces:
            line["stacktrace"] = "\n".join(traces)
        return json.dumps(line, default=safe_text, ensure_ascii=False)


_FORMATTERS = {LogFormat.TEXT: TextFormatter, LogFormat.JSON: JsonFormatter, LogFormat.RECONCILES: ShortFormatter}


def configure_logging(
    *,
    level: int | str = logging.INFO,
    style: LogFormat = LogFormat.TEXT,
    stream: IO[str] | None = None,
    fields: Mapping[str, str] | None = None,
) -> None:
    """Send all logs of the process to one stream (standard error) in one format. Replaces earlier handlers.

    ::

        configure_logging(level="DEBUG", style=LogFormat.JSON, fields={"cluster": "eu-1"})

    Each line gets the ``fields``.
    """
    _process_fields.clear()
    _process_fields.update(fields or {})
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_FORMATTERS[style]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    _set_root(level)


def set_log_level(level: str, name: str = "") -> None:
    """Change what is logged while the program runs.

    ::

        set_log_level("debug", "pykb.runtime.controller")

    Args:
        level: ``debug``, ``info``, ``warning`` or ``error``; for one logger also ``inherit``, to drop its own level.
        name: The logger. When empty, all loggers without a level of their own.

    Raises:
        ValueError: The level or the logger does not exist. The message lists those that do.
    """
    allowed = (*LOG_LEVELS, INHERIT) if name else LOG_LEVELS
    if level not in allowed:
        raise ValueError(f"`{level}` is not a log level; expected {', '.join(allowed)}")
    if name and name not in logging.root.manager.loggerDict:
        top = sorted({known.partition(".")[0] for known in logging.root.manager.loggerDict})
        raise ValueError(f"there is no logger `{name}`; there are {', '.join(top)}, and those below them")
    if name:
        logging.getLogger(name).setLevel(logging.NOTSET if level == INHERIT else level.upper())
    else:
        _set_root(level.upper())


def log_levels() -> dict[str, str]:
    """The levels by logger name: the default under an empty name, then loggers with a level of their own."""
    known = ((name, one) for name, one in logging.root.manager.loggerDict.items() if isinstance(one, logging.Logger))
    own = {name: logging.getLevelName(one.level).lower() for name, one in sorted(known) if one.level != logging.NOTSET}
    return {"": logging.getLevelName(logging.getLogger().level).lower()} | own


def _set_root(level: int | str) -> None:
    root = logging.getLogger()
    root.setLevel(level)
    # kopf logs its own steps at INFO; pykb logs those itself. kopf's warnings and errors stay, as
    # do handlers' lines.
    verbose = root.level <= logging.DEBUG
    for name in ("kopf", "aiohttp.access"):
        logging.getLogger(name).setLevel(logging.NOTSET if verbose else max(root.level, logging.WARNING))
    logging.getLogger("kopf.objects").setLevel(root.level)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message_of(record: logging.LogRecord, limit: int = LIMIT) -> str:
    """The text of a record without its fields, on one line and not too long."""
    try:
        text = record.getMessage()
    except Exception:
        raise  # `logging` reports it
    except BaseException as error:
        if is_end(error):
            raise
        text = f"{record.msg} (an argument has no text: `{type(error).__name__}`)"
    return safe_text(text, limit)


def _json_value(value: object) -> object:
    """A field of a line in JSON. What is nested and too long, or not printable, becomes a text."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and value.bit_length() < _BITS):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, str):
        return safe_text(value)
    try:
        text = json.dumps(value, default=safe_text, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return safe_text(value)
    made = safe_text(text)
    return value if made == text else made


def _field(key: str, value: object) -> str:
    return f"  {safe_text(key)}={_quoted(value)}"


def _quoted(value: object) -> str:
    text = safe_text(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n\t') else text


def _traces(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    traces = [formatter.formatException(record.exc_info)] if record.exc_info else []
    traces += [formatter.formatStack(record.stack_info)] if record.stack_info else []
    return [safe_trace(text, LONGEST_TRACE) for text in traces]
