"""kopf handlers next to sharded controllers."""

import kopf

from pykb.runtime._kopf.handlers import operators
from pykb.runtime.options import ManagerOptions


def test_all_replicas_serve_admission_handlers_and_the_leader_runs_the_others():
    """The API server may call any replica. Handlers that react to objects are not divided."""
    registry = kopf.OperatorRegistry()

    @kopf.on.validate("apps", registry=registry)
    @kopf.on.create("apps", registry=registry)
    def handle(**_):
        pass

    made = operators(None, None, [registry], ManagerOptions(shards=4), webhooks=lambda: None, started=lambda: None)
    assert {operator.name: operator.needs_leader_election for operator in made} == {
        "kopf admission handlers": False,
        "kopf handlers": True,
    }
