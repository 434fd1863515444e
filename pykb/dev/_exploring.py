"""Runs the explorer beside the manager, in a process of its own: ``pykb dev --explore``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from pykb._regular_file import read_text
from pykb.dev.page._events import LONGEST_LINE
from pykb.dev.project import DevProject
from pykb.diagnostics.render import visible
from pykb.tools.process import describe_exit

LIMIT = timedelta(seconds=10)
"""How long it looks for faults. Saving again ends it."""

_SETTLE = timedelta(seconds=2)
"""How long a manager must have run. One with a mistake has ended by then."""

_FOUND = 1
"""The exit code of ``pykb explore`` with findings."""

_LARGEST_PAGE = LONGEST_LINE // 2
"""The most bytes of the page with the drawings. It is part of an event, and a larger one is left out."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What the explorer says.

    Attributes:
        state: ``running``, ``done``, or ``failed`` if it could not explore the project.
        findings: The findings, each with its code, its message and its replay.
        histories: How many histories were run.
        unfinished: The codes of which histories are left.
        message: Why it failed.
        html: The page with a drawing of each finding, ``#finding-1`` and so on. Empty without findings.
    """

    state: str
    findings: list[dict[str, str]] = field(default_factory=list)
    histories: int = 0
    unfinished: list[str] = field(default_factory=list)
    message: str = ""
    html: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the page gets it."""
        return {"at": time.time(), **asdict(self)}

    def lines(self) -> list[str]:
        """As the terminal shows it."""
        if self.state == "failed":
            return [visible(f"the explorer could not run: {self.message}; try `pykb explore`")]
        told = [
            f"{each['code']}: {each['message']} (`pykb explore --replay {each['replay']}`)" for each in self.findings
        ]
        rest = f", and {len(self.unfinished)} of its codes are not finished" if self.unfinished else ""
        found = f"{len(told)} finding{'s' * (len(told) != 1)}" if told else "no findings"
        return [*map(visible, told), f"the explorer has {found} in {self.histories} histories{rest}"]


async def explore(project: DevProject, is_alive: Callable[[], bool]) -> Explored | None:
    """Look for faults when the manager has run for a moment. ``None`` if it has ended until then."""
    await asyncio.sleep(_SETTLE.total_seconds())
    if not is_alive():
        return None
    calm = ("nice", "-n", "10") if shutil.which("nice") else ()
    with tempfile.TemporaryDirectory(prefix="pykb-") as folder:
        page = Path(folder) / "findings.html"
        options = ("--seconds", f"{LIMIT.total_seconds():g}", "--format", "json", "--html", str(page))
        process = await asyncio.create_subprocess_exec(
            *calm,
            *(project.python, "-P", "-m", "pykb", "explore", *options),
            cwd=project.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            written, errors = await process.communicate()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with the processes that run histories
            await process.wait()
            raise
        return _read(process.returncode or 0, written, errors, page)


def _read(code: int, written: bytes, errors: bytes, page: Path) -> Explored:
    try:
        told = orjson.loads(written)
        findings = [{key: str(each[key]) for key in ("code", "message", "replay")} for each in told["findings"]]
        histories, unfinished = sum(told["histories"].values()), [str(each) for each in told["unfinished"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        return Explored("failed", message=_first_message(errors) or describe_exit(code))
    if code not in (0, _FOUND) or (code == _FOUND and not findings):
        return Explored("failed", message=_first_message(errors) or describe_exit(code))
    html = ""
    if findings:
        with contextlib.suppress(OSError, ValueError):  # too large, or the disk was full: the findings are here
            html = read_text(page, most=_LARGEST_PAGE)
    return Explored("done", findings, histories, unfinished, html=html)


def _first_message(errors: bytes) -> str:
    """That of the first diagnostic."""
    try:
        return str(orjson.loads(errors)[0]["message"])
    except (ValueError, KeyError, TypeError, IndexError):
        return ""
