"""Calls a function in another process, for the sake of memory.

Once loaded, cryptography keeps 8 MiB, a tenth of an idle manager, and it is needed a few times a year.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

_PROGRAM = """
import json, sys
from pykb.serving._elsewhere import named
json.dump(named(sys.argv[1])(json.load(sys.stdin)), sys.stdout)
"""
_LIMIT = 60.0
"""Seconds."""


def named(name: str) -> Callable[[Json], Json]:
    """The function with this name: `package.module:function`."""
    module, _, function = name.partition(":")
    found: Callable[[Json], Json] = getattr(import_module(module), function)
    return found


def call(name: str, given: Json) -> Json:
    """Call a function that needs cryptography. If this process has loaded it already, call the function here.

    Args:
        name: `package.module:function`, a function from JSON to JSON.
        given: Its argument.
    """
    if "cryptography.x509" not in sys.modules and sys.executable:
        command = (sys.executable, "-c", _PROGRAM, name)
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            done = subprocess.run(
                command, input=json.dumps(given).encode(), check=True, capture_output=True, timeout=_LIMIT
            )
            answer: Json = json.loads(done.stdout)
            return answer
    return named(name)(given)
