"""Tools for testing operators: fixtures with a real control plane, from the pytest plugin of this package.

Fixtures of the session:

- ``control_plane``: a control plane (``kubeconfig``, ``url``, ...), or the existing cluster that was asked for
- ``crds``: the project's ``config/crd/bases``, installed; the names of the definitions

Fixtures of one test:

- ``client``: a :class:`pykb.runtime.Client` as the administrator
- ``namespace``: the name of a new namespace; the test does not wait for its deletion
- ``run_manager``: runs reconcilers and webhooks: ``async with run_manager(register) as manager: ...``
- ``explorer``: looks for faults in memory and virtual time: ``explorer.run(register).check()``
- ``virtual_clock``: a clock that stands still until ``advance`` is called

For tests without a cluster, use ``pykb.runtime.fake.fake_client``,
``Manager(client=fake_client(...))``, and from this package: ``RecordedEvents`` as a reconciler's
recorder, ``call_handler`` for one kopf handler, ``eventually``, ``VirtualClock``,
``assert_round_trips`` for a converter, ``objects_of`` for properties of every object of a kind.

The async fixtures work under pytest-asyncio (both modes) and, without it, under anyio.
"""

from pykb._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
