"""An API server in memory. Programs import it as :mod:`pykb.runtime.fake`."""

from pykb.fake._admission import new_uid
from pykb.fake._server import FakeApiServer, fake_client

__all__ = ["FakeApiServer", "fake_client", "new_uid"]
