"""The recipe of the sample `app`."""

from __future__ import annotations

from hack.samples.scaffolded import CONDITIONS, resync_every_30_seconds
from hack.samples.steps import create_api, init, own, pykb, replace

APP_EXAMPLE = '''
class AppSpec(Struct):
    """Desired state of App."""

    foo: str | None = None
    """An example field, to be replaced by what App needs."""
'''
APP = '''
class AppDeployment(Struct):
    """What runs."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the Deployment, and of its container."""

    image: str
    """The image of the container."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""


class AppService(Struct):
    """How it is reached."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """Name of the Service."""


class AppSpec(Struct):
    """Desired state of App."""

    deployment: AppDeployment
    """What runs."""

    service: AppService
    """How it is reached."""
'''
AVAILABLE = '''
    available_replicas: Int32 = 0
    """How many replicas of the Deployment are available."""
'''

STEPS = [
    init("--domain", "k8s.io", "--project-name", "app-operator"),
    create_api("appcontroller", "v1", "App", "--resource", "--controller"),
    replace(
        "app_operator/api/v1/app_types.py",
        ("import CustomResource, Field, Struct\n", "import CustomResource, Field, Int32, Struct\n"),
        ("from pykb.api import", "from typing import Annotated\n\nfrom pykb.api import"),
        (APP_EXAMPLE, APP),
        (CONDITIONS, CONDITIONS + AVAILABLE),
    ),
    resync_every_30_seconds("app_operator"),
    replace(
        "config/samples/appcontroller_v1_app.yaml",
        (
            "  foo: bar\n",
            "  deployment:\n    name: web\n    image: nginx:1.29\n    replicas: 2\n  service:\n    name: web\n",
        ),
    ),
    own("app_operator/controllers/app_controller.py", "tests/controllers/test_app_controller.py"),
    pykb("generate"),
]
