"""Structured logs: text and JSON, the reconcile's identity, no secrets."""

import io
import json
import logging

import pytest

from pykb.runtime._logging import LogFormat, ReconcileContext, configure_logging, current_reconcile
from pykb.runtime.controller.reconcile import Request

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
