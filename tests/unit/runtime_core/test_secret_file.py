"""Secrets for those who read files only."""

import errno
import os
import ssl
import stat
import tempfile
from pathlib import Path

import pytest

from pykb.client.server import secret_file
from pykb.serving.tls import load_pair, self_signed


def test_it_can_be_read_as_long_as_the_block_lives():
    """The content is under the path; afterwards nothing is."""
    with secret_file(b"secret") as name:
        assert Path(name).read_bytes() == b"secret"
    assert not Path(name).exists()


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux only")
def test_nothing_is_written_to_a_disk(monkeypatch: pytest.MonkeyPatch):
    """A certificate can be loaded where no folder can be written to, as in a pod with a read-only root file system."""

    def refuse(*_: object, **__: object):
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, *self_signed(("localhost",)))


def test_elsewhere_it_is_private_and_removed(monkeypatch: pytest.MonkeyPatch):
    """Without files in memory it is a temporary one with mode 0600."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    with secret_file(b"secret") as name:
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
        assert Path(name).read_bytes() == b"secret"
    assert not Path(name).exists()
