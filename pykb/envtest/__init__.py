"""A control plane without Docker: etcd, kube-apiserver and kube-controller-manager on this machine.

>>> from pykb.envtest import ControlPlane
>>> with ControlPlane() as control_plane:  # doctest: +SKIP
...     print(control_plane.kubeconfig)
"""

from pykb._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
