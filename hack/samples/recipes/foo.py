"""The recipe of the sample `foo`."""

from __future__ import annotations

from hack.samples.scaffolded import CONDITIONS, SUBRESOURCE, resync_every_30_seconds
from hack.samples.steps import create_api, init, own, pykb, replace

FOO_EXAMPLE = '''
    foo: str | None = None
    """An example field, to be replaced by what Foo needs."""
'''
FOO = '''
    deployment_name: Annotated[str, Field(min_length=1)]
    """Name of the Deployment that this Foo keeps."""

    replicas: Annotated[Int32 | None, Field(ge=1, le=10)] = None
    """How many replicas the Deployment has; left to the Deployment when absent."""
'''
AVAILABLE = '''
    available_replicas: Int32 = 0
    """How many replicas of the Deployment are available."""
'''
FOO_COLUMNS = """
# +kubebuilder:printcolumn:name=Deployment,type=string,JSONPath=`.spec.deploymentName`
# +kubebuilder:printcolumn:name=Available,type=integer,JSONPath=`.status.availableReplicas`
# +kubebuilder:subresource:status
"""

LAST_SETTING = """
markers = ["e2e: needs a cluster in which the operator's image can run"]
"""
ACCEPTED = """
[tool.pykb.explore]
ignore = [
  { field = "Deployment.spec.replicas", reason = "as in sample-controller, they are others' while the spec has none" },
  { field = "Deployment.spec.template", reason = "as in sample-controller, it belongs to others" },
]
"""

STEPS = [
    init("--domain", "k8s.io", "--project-name", "sample-controller"),
    create_api("samplecontroller", "v1alpha1", "Foo", "--resource", "--controller"),
    replace(
        "sample_controller/api/v1alpha1/foo_types.py",
        (
            "import CustomResource, Field, Struct\nfrom pykb.api.meta.v1 import Condition\n",
            "import CustomResource, Field, Int32, Struct\n",
        ),
        ("from pykb.api import", "from typing import Annotated\n\nfrom pykb.api import"),
        (FOO_EXAMPLE, FOO),
        (CONDITIONS, AVAILABLE),
        (SUBRESOURCE, FOO_COLUMNS),
    ),
    replace(
        "config/samples/samplecontroller_v1alpha1_foo.yaml",
        ("  foo: bar\n", "  deploymentName: example-foo\n  replicas: 1\n"),
    ),
    replace("pyproject.toml", (LAST_SETTING, LAST_SETTING + ACCEPTED)),
    resync_every_30_seconds("sample_controller"),
    own(
        "sample_controller/controllers/foo_controller.py",
        "sample_controller/report.py",
        "tests/controllers/test_foo_controller.py",
        "tests/test_report.py",
    ),
    pykb("generate"),
]
