"""A control plane without Docker: etcd, kube-apiserver and kube-controller-manager on this machine.

>>> from pykb.envtest import ControlPlane
>>> with ControlPlane() as control_plane:  # doctest: +SKIP
...     print(control_plane.kubeconfig)
"""

from pykb.envtest.assets import Assets, find_assets, get_assets
from pykb.envtest.control_plane import ControlPlane

__all__ = ["Assets", "ControlPlane", "find_assets", "get_assets"]
