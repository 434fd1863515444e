from pykb.envtest.assets import Assets as Assets
from pykb.envtest.assets import find_assets as find_assets
from pykb.envtest.assets import get_assets as get_assets
from pykb.envtest.control_plane import ControlPlane as ControlPlane
