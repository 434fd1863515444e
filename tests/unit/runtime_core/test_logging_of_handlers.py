"""What kopf handlers log appears as what reconcilers log does."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import kopf
import pytest

from pykb.runtime._logging import configure_logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Logging is global: leave it as it was."""
    names = (None, "kopf", "kopf.objects", "aiohttp.access")
    root = logging.getLogger()
    handlers, levels = root.handlers[:], [logging.getLogger(name).level for name in names]
    yield
    root.handlers[:] = handlers
    for name, level in zip(names, levels, strict=True):
        logging.getLogger(name).setLevel(level)


def test_a_handlers_line_names_its_object_and_nothing_of_kopf() -> None:
    """A handler's own line is shown at INFO with kind, namespace and name; kopf's settings are not."""
    stream = io.StringIO()
    configure_logging(stream=stream)
    handled = {"apiVersion": "v1", "kind": "Box", "namespace": "default", "name": "sample", "uid": "1"}
    extra = {"settings": kopf.OperatorSettings(), "k8s_skip": False, "k8s_ref": handled}
    logging.getLogger("kopf.objects").info("reconciling", extra=extra)
    logging.getLogger("kopf._core.reactor").info("a step of the engine")
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("INFO    kopf.objects  reconciling  kind=Box  namespace=default  name=sample")
