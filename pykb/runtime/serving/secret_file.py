"""A secret as a file, for APIs that only read files. If possible, it is in memory and not written to a disk."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

_OWN_DESCRIPTORS = Path("/proc/self/fd")


@contextlib.contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file with this content. Only this process can read it, and it exists during the block.

    On Linux it is a file in memory: the root file system of a pod may be read-only, without a
    writable ``/tmp``. Elsewhere it is a temporary file with mode 0600.
    """
    if hasattr(os, "memfd_create") and _OWN_DESCRIPTORS.is_dir():
        with os.fdopen(os.memfd_create("pykb-secret"), "wb") as file:
            file.write(content)
            file.flush()
            yield str(_OWN_DESCRIPTORS / str(file.fileno()))
        return
    handle, name = tempfile.mkstemp(prefix="pykb-", suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)
