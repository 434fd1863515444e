"""Stops a command in the middle of what it writes."""

import contextlib
from collections.abc import Iterator

import pytest

from pykb.files.durable import Folder


class Killed(BaseException):
    """Ends a command as SIGKILL does: nothing is undone."""


@contextlib.contextmanager
def stopping_after(files: int, error: type[BaseException]) -> Iterator[None]:
    """Raise an error in whatever applies a plan, before one more file gets into its place or is removed."""
    rename, remove, done = Folder.rename, Folder.remove, []

    def step(name: str) -> None:
        done.append(name)
        if len(done) == files + 1:
            raise error

    def rename_then(self: Folder, name: str, new: str, into: Folder | None = None) -> None:
        if into is not None:
            step(name)
        rename(self, name, new, into)

    def remove_then(self: Folder, name: str) -> None:
        if not name.startswith("."):  # a draft
            step(name)
        remove(self, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "rename", rename_then)
        patch.setattr(Folder, "remove", remove_then)
        yield


@contextlib.contextmanager
def killed_after(files: int) -> Iterator[None]:
    """Have the command inside be killed when some of its files are written."""
    with stopping_after(files, Killed), pytest.raises(Killed):
        yield
