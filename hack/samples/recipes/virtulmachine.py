"""The recipe of the sample `virtulmachine`."""

from __future__ import annotations

from hack.samples.scaffolded import SUBRESOURCE
from hack.samples.steps import create_api, create_webhook, init, own, pykb, replace

IMPORTED = "from pykb.api import CustomResource, Field, Struct"
EXAMPLE = '''
    foo: str | None = None
    """An example field, to be replaced by what VirtulMachine needs."""
'''
MACHINE = '''
    cpu: str
    """Number of virtual CPUs."""

    memory: Quantity | None = None
    """Size of the memory; 2Gi for each CPU when absent."""

    lifetime: timedelta | None = None
    """How long the machine runs before it is deleted; for ever when absent."""
'''
OBSERVED = '''
    """Observed state of VirtulMachine."""
'''
OBSERVED_MACHINE = '''
    """Observed state of VirtulMachine."""

    status: str | None = None
    """What the machine does at present."""
'''
COLUMNS = """
# +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.status`
# +kubebuilder:printcolumn:name=CPU,type=string,JSONPath=`.spec.cpu`
# +kubebuilder:selectablefield:JSONPath=`.spec.cpu`
# +kubebuilder:subresource:status
"""

STEPS = [
    init("--domain", "sealyun.com", "--project-name", "sealvm"),
    create_api("infra", "v1", "VirtulMachine", "--resource", "--controller"),
    replace(
        "sealvm/api/v1/virtulmachine_types.py",
        (IMPORTED, f"from datetime import timedelta\n\n{IMPORTED.replace('Field, ', 'Field, Quantity, ')}"),
        (EXAMPLE, MACHINE),
        (OBSERVED, OBSERVED_MACHINE),
        (SUBRESOURCE, COLUMNS),
    ),
    replace(
        "config/samples/infra_v1_virtulmachine.yaml",
        ("  foo: bar\n", '  cpu: "1"\n  memory: 2Gi\n  lifetime: 10s\n'),
    ),
    replace(
        "sealvm/__main__.py",
        ("VirtulMachineReconciler(manager.client)", "VirtulMachineReconciler(manager.client, Hypervisor(cpus=4))"),
        (
            "import VirtulMachineReconciler\n",
            "import VirtulMachineReconciler\nfrom sealvm.hypervisor import Hypervisor\n",
        ),
    ),
    create_webhook("infra", "v1", "VirtulMachine", "--defaulting", "--programmatic-validation"),
    own(
        "sealvm/controllers/virtulmachine_controller.py",
        "sealvm/hypervisor.py",
        "sealvm/webhooks/v1/virtulmachine_webhook.py",
        "tests/controllers/test_virtulmachine_controller.py",
        "tests/webhooks/v1/test_virtulmachine_webhook.py",
    ),
    pykb("generate"),
]
