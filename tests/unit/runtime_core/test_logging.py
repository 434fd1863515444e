"""Structured logs: text and JSON, the reconcile's identity, no secrets."""

import io
import json
import logging

import pytest
from pydantic import BaseModel, ValidationError

from pykb.api.safe_text import safe_trace
from pykb.runtime._logging import LogFormat, configure_logging
from pykb.runtime.records.context import ReconcileContext, current_reconcile
from pykb.runtime.requests.reconcile import Request

CONTEXT = ReconcileContext("widget", "4f6c", Request("default", "a"))


@pytest.fixture
def log():
    """Configure logging to a text, and put everything back afterwards."""
    root = logging.getLogger()
    names = ("kopf", "aiohttp.access")
    before = (root.handlers[:], root.level, {name: logging.getLogger(name).level for name in names})
    stream = io.StringIO()

    def configure(style, level="INFO"):
        configure_logging(level=level, style=style, stream=stream)
        return stream

    yield configure
    root.handlers[:], level, levels = before[0], before[1], before[2]
    root.setLevel(level)
    for name, old in levels.items():
        logging.getLogger(name).setLevel(old)


def lines(stream):
    """The lines as objects."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_have_zaps_names_the_reconcile_and_the_extra_fields(log):
    """One object a line, for machines."""
    stream = log(LogFormat.JSON)
    token = current_reconcile.set(CONTEXT)
    logging.getLogger("app").info("did %s", "it", extra={"size": 3, "path": object})
    current_reconcile.reset(token)
    (line,) = lines(stream)
    assert line["ts"].endswith("Z")
    del line["ts"]
    assert line == {
        "level": "info",
        "logger": "app",
        "msg": "did it",
        "controller": "widget",
        "namespace": "default",
        "name": "a",
        "reconcileID": "4f6c",
        "size": 3,
        "path": "<class 'object'>",
    }


def test_a_controller_adds_fields_of_its_own(log):
    """They come with every record of its reconciles, without secrets; a failure of theirs loses no record."""
    stream = log(LogFormat.JSON)
    for fields in (lambda: {"shard": 7, "api_token": "x"}, lambda: {}["none"]):
        token = current_reconcile.set(ReconcileContext("widget", "4f6c", Request("default", "a"), fields))
        logging.getLogger("app").info("did it")
        current_reconcile.reset(token)
    first, second = lines(stream)
    assert (first["shard"], first["api_token"]) == (7, "***")
    assert (second["msg"], second["logFieldsError"]) == ("did it", "KeyError: 'none'")


def test_text_lines_are_for_people(log):
    """Time, level, logger, message, then fields; what has blanks is quoted."""
    stream = log(LogFormat.TEXT)
    token = current_reconcile.set(CONTEXT)
    logging.getLogger("app").warning("careful", extra={"why": "two words", "n": 1})
    current_reconcile.reset(token)
    text = stream.getvalue()
    assert text.split(" ", 1)[1] == (
        'WARNING app  careful  controller=widget  namespace=default  name=a  reconcileID=4f6c  why="two words"  n=1\n'
    )


def test_a_traceback_follows_text_and_is_a_field_of_json(log):
    """Nothing of an error is lost in either form."""
    for style in (LogFormat.TEXT, LogFormat.RECONCILES, LogFormat.JSON):
        stream = log(style)
        logging.getLogger("app").error("failed", exc_info=ValueError("broken"))
    text, line = stream.getvalue().rsplit("\n{", 1)
    assert text.rstrip().endswith("ValueError: broken")
    assert "ValueError: broken" in json.loads("{" + line)["stacktrace"]


@pytest.mark.parametrize("name", ["token", "bearer_token", "Authorization", "password", "client_secret"])
@pytest.mark.parametrize("style", list(LogFormat))
def test_secrets_are_not_written(log, name, style):
    """Fields that are named like secrets are masked."""
    stream = log(style)
    logging.getLogger("app").info("login", extra={name: "hunter2"})
    assert "hunter2" not in stream.getvalue()
    assert "***" in stream.getvalue()


def test_kopfs_own_steps_are_quiet_unless_debugging(log):
    """Its warnings come through."""
    stream = log(LogFormat.TEXT)
    logging.getLogger("kopf.activities").info("Initial authentication has been initiated.")
    logging.getLogger("kopf.activities").warning("trouble")
    assert "Initial" not in stream.getvalue()
    assert "trouble" in stream.getvalue()


HOSTILE = ("\x1b[2J", "\r", "\x9b", "\u202e")


@pytest.mark.parametrize("style", list(LogFormat))
@pytest.mark.parametrize("sign", HOSTILE, ids=ascii)
@pytest.mark.parametrize("blank", ["", " "])
def test_no_record_controls_a_terminal(log, style, sign, blank):
    """Neither the message, nor a field, nor an error, nor the name of an object."""
    stream = log(style)
    token = current_reconcile.set(ReconcileContext("widget", "4f6c", Request("default", f"a{sign}{blank}b")))
    text = f"a{sign}{blank}b"
    shown = {"field": text, "nested": {"in": [text]}, text: "field"}
    logging.getLogger(f"app.{text}").error(text, extra=shown, exc_info=ValueError(text), stack_info=True)
    current_reconcile.reset(token)
    assert sign not in stream.getvalue()


def test_a_line_in_json_is_json(log):
    """There are no other numbers than those of JSON."""
    stream = log(LogFormat.JSON)
    logging.getLogger("app").info("rates", extra={"rate": float("nan"), "all": [float("inf")], "part": 0.5})
    (line,) = (json.loads(text, parse_constant=pytest.fail) for text in stream.getvalue().splitlines())
    assert (line["rate"], line["all"], line["part"]) == ("nan", "[inf]", 0.5)


def test_no_text_begins_a_line_of_its_own(log):
    """What looks like a record is one."""
    stream = log(LogFormat.TEXT)
    forged = "a\n2026-11-21T12:00:00.123Z INFO    app  forged"
    logging.getLogger("app").error(forged, extra={"field": forged, forged: "field"}, exc_info=ValueError(forged))
    assert len([line for line in stream.getvalue().splitlines() if not line.startswith("  ")]) == 1


@pytest.mark.parametrize("style", list(LogFormat))
def test_a_record_is_bounded(log, style):
    """However long its parts are."""
    stream = log(style)
    text = "x" * 7_000_000
    error = ValueError(text)
    error.__cause__ = ValueError(text)
    shown = {"field": text, "nested": {"in": [text]}, "many": list(range(10**6)), "number": 10**5000}
    logging.getLogger("app").error(text, extra=shown, exc_info=error)
    assert len(stream.getvalue()) < 100_000
    assert style is not LogFormat.JSON or lines(stream)[0]["level"] == "error"


class Password(BaseModel):
    """Wants a number."""

    password: int


@pytest.mark.parametrize("style", list(LogFormat))
def test_values_of_pydantic_are_in_no_record(log, style):
    """Not in a traceback of somebody else's record either, nor below another error."""
    stream = log(style)
    secret = "hunter" + str(2)
    try:
        try:
            Password(password=secret)
        except ValidationError as error:
            raise RuntimeError(f"cannot log in: {error}") from error
    except RuntimeError as error:
        logging.getLogger("kopf.objects").exception("Handler failed: %s", error, extra={"error": str(error)})  # noqa: TRY401 - kopf does so
        logging.getLogger("app").exception("nested", extra={"nested": {"errors": [str(error)]}})
    assert "hunter2" not in stream.getvalue()
    assert "should be a valid integer" in stream.getvalue()


@pytest.mark.parametrize("left", range(100))
def test_a_long_traceback_is_not_cut_within_a_value(left):
    """What is left of a value would not be known as one."""
    text = "x" * 200 + "[type=int_parsing, input_value='" + "hunter2" * 8 + "', input_type=str]" + "y" * left
    assert "unter" not in safe_trace(text, 120)


@pytest.mark.parametrize("style", list(LogFormat))
def test_what_has_no_text_loses_no_record(log, style):
    """A value may raise anything when it is asked for its text."""

    class Mute:
        def __str__(self):
            raise SystemExit(1)

        __repr__ = __str__

    stream = log(style)
    logging.getLogger("app").info("first %s", Mute())
    logging.getLogger("app").info("second", extra={"value": Mute(), "nested": {"a": Mute()}})
    assert "first" in stream.getvalue()
    assert "second" in stream.getvalue()
